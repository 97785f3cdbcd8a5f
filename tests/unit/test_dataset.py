"""The citable dataset: what may be published and nothing else, the same bytes each time, whole or not at all."""

from __future__ import annotations

import errno
import hashlib
import io
import json
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers.dataset import GONE, PERSON, REPO, ROOT, SECRET, files_of, hostile, item, made, names, run, table  # noqa: F401 - fixtures
from torch_embers import escaping
from torch_embers.dataset import card, collect, counted, definitions, encode, folder, metadata, publish
from torch_embers.errors import InputError, StoreMissingError
from torch_embers.link import relations
from torch_embers.run.status import STATUSES
from torch_embers.run.verdict import VERDICTS
from torch_embers.store.records import Batch
from torch_embers.store.store import Store

if TYPE_CHECKING:
    from collections.abc import Mapping


# ---- what may be published -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("entry", [e for e in definitions.load() if e.source], ids=lambda entry: entry.name)
def test_every_column_of_the_database_is_published_or_withheld_with_a_reason(
    hostile: Store, entry: definitions.PublishedTable
) -> None:
    with hostile.read() as connection:
        rows = connection.execute(
            "SELECT column_name FROM duckdb_columns() WHERE table_name = ? AND schema_name = 'main'", [entry.source]
        ).fetchall()
    known = {name for (name,) in rows}
    assert known - set(entry.columns) - set(entry.withheld) == set()
    assert set(entry.withheld) - known == set()
    assert all(entry.withheld.values())


def test_no_body_comment_snippet_foreign_script_or_person_is_in_any_file(made: Path) -> None:
    texts = [body.decode("utf-8", "replace") for name, body in files_of(made).items() if not name.endswith(".parquet")]
    texts += [
        str(table(made, name).to_dict("records")) + str(pq.read_metadata(made / f"data/{name}.parquet").metadata)
        for name in names()
    ]
    for text in texts:
        assert SECRET not in text
        assert PERSON not in text


def test_items_that_the_tracker_no_longer_shows_are_in_no_table(made: Path) -> None:
    for name in names():
        rows = table(made, name)
        for column in ("number", "target_number"):
            assert column not in rows or GONE not in set(rows[column])


def test_people_who_labelled_are_numbered_and_programs_named(made: Path) -> None:
    assert list(table(made, "labels").annotator) == ["person-1", "robot|1"]


def test_only_current_cases_by_hand_are_published(made: Path) -> None:
    assert list(table(made, "cases").case) == ["pt1_case"]
    assert table(made, "case_items").values.tolist() == [["pt1_case", REPO, 1, "same"]]


def test_machines_of_a_kind_are_one_environment_and_the_newest_verdict_counts(made: Path) -> None:
    assert list(table(made, "environments").system) == ["Linux 6.18"]
    verdicts = table(made, "verdicts").set_index("release")
    assert list(verdicts.verdict) == ["occurs", "absent"]
    assert bool(verdicts.flaky["2.9.1"])
    assert verdicts.detail["2.9.1"] == "newer"


@pytest.mark.parametrize(
    ("said", "published"),
    [
        ('at "/home/me/torch/x.cpp":7', 'at "x.cpp":7'),
        ("No such file: /tmp/a.bin", "No such file: a.bin"),
        ("see https://example.org/a/b", "see https://example.org/a/b"),
        ("CPU/CUDA/MKLDNN, and/or 1/2", "CPU/CUDA/MKLDNN, and/or 1/2"),
    ],
)
def test_of_absolute_paths_only_the_file_name_stays(hostile: Store, said: str, published: str) -> None:
    with hostile.read() as connection:
        connection.execute(definitions.read("sql", "views.sql"))
        assert connection.execute("SELECT file_names(?)", [said]).fetchall() == [(published,)]


def test_runs_are_those_of_published_cases_and_their_starts_are_numbered(made: Path) -> None:
    runs = table(made, "runs")
    assert runs[["case", "attempt", "outcome", "start"]].values.tolist() == [
        ["pt1_case", 0, "reproduced", 2],
        ["pt1_case", 1, "reproduced", 1],
    ]
    assert runs.detail[0] == 'at "x.py":1'


def test_builds_are_those_that_are_spoken_of_in_order_of_release(made: Path) -> None:
    builds = table(made, "builds")
    assert list(zip(builds.position, builds.release, strict=True)) == [(1, "2.9.1"), (2, "2.10.0")]
    assert pd.isna(builds.git_commit[1])


def test_equal_links_are_one_row_that_tells_how_often(made: Path) -> None:
    links = table(made, "links")
    assert links[links.evidence == "text"].places.tolist() == [2]


def test_only_the_newest_status_is_published(made: Path) -> None:
    assert table(made, "statuses").status.tolist() == ["fixed"]


# ---- files ---------------------------------------------------------------------------------------------------------


def test_the_same_database_gives_the_same_bytes(hostile: Store, made: Path, tmp_path: Path) -> None:
    publish.publish(hostile, tmp_path / "again")
    assert files_of(tmp_path / "again") == files_of(made)


def test_the_checksums_name_every_other_file_and_hold(made: Path) -> None:
    lines = (made / folder.SUMS).read_text().splitlines()
    told = {name: digest for digest, _, name in (line.partition("  ") for line in lines)}
    files = files_of(made)
    assert set(told) == set(files) - {folder.SUMS}
    assert all(hashlib.sha256(files[name]).hexdigest() == digest for name, digest in told.items())


@pytest.mark.skipif(shutil.which("sha256sum") is None, reason="no sha256sum here")
def test_sha256sum_accepts_the_checksums(made: Path) -> None:
    done = subprocess.run(["sha256sum", "--check", "--strict", "--quiet", folder.SUMS], cwd=made, capture_output=True)
    assert done.returncode == 0, done.stderr


def test_the_two_lines_of_the_readme_load_the_verdicts(made: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(made)
    [code] = re.findall(r"```python\n(.*?)\n```", (made / "README.md").read_text(), re.DOTALL)
    assert len(code.splitlines()) == 2
    found: dict[str, Any] = {}
    exec(code, found)
    assert len(found["verdicts"]) == 2


def test_csv_and_parquet_hold_the_same_rows(made: Path) -> None:
    for name in names():
        typed = pq.read_table(made / "data" / f"{name}.parquet")
        text = pd.read_csv(
            made / "data" / f"{name}.csv", keep_default_na=False, dtype=str, na_filter=False, lineterminator="\n"
        )
        assert list(text) == typed.column_names
        for column in typed.schema:
            values = typed[column.name].to_pylist()
            if pa.types.is_string(column.type):
                assert [escaping.unguarded(cell) for cell in text[column.name]] == [
                    escaping.visible(v or "") for v in values
                ]
            elif pa.types.is_list(column.type):
                assert [json.loads(cell) if cell else None for cell in text[column.name]] == values


def test_texts_that_a_spreadsheet_would_execute_are_guarded_in_csv_and_whole_in_parquet(made: Path) -> None:
    rows = pd.read_csv(made / "data" / "items.csv", keep_default_na=False).set_index("number")
    assert rows.title[1] == "'=HYPERLINK(1)"
    assert rows.title[6] == "''=quoted"
    assert table(made, "items").title[0] == "=HYPERLINK(1)"


def test_line_ends_and_nul_of_strangers_cannot_break_a_reader(made: Path) -> None:
    titles = table(made, "items").set_index("number").title
    assert titles[7] == "a\nb\nc"
    assert titles[11] == "nul\ufffd"
    assert b"\r" not in (made / "data" / "items.csv").read_bytes()


@given(st.text())
def test_a_guard_can_be_undone_and_nothing_begins_like_a_formula(text: str) -> None:
    guarded = escaping.guarded(text)
    assert escaping.unguarded(guarded) == text
    assert guarded[:1] not in {*"=+-@\t\r\n＝＋－＠"} - {""} or re.fullmatch(r"[+-][\d.eE+-]+\n?", guarded)


@given(st.lists(st.tuples(st.text(st.characters(exclude_characters="\r\0", exclude_categories=["Cs"])), st.integers())))
def test_any_text_comes_back_from_csv(rows: list[tuple[str, int]]) -> None:
    texts = [text for text, _ in rows]
    body = encode.to_csv(
        pa.table({"text": pa.array(texts, pa.string()), "place": pa.array(range(len(rows)), pa.int32())})
    )
    read = pd.read_csv(io.BytesIO(body), keep_default_na=False, dtype=str, lineterminator="\n")
    seen = [escaping.unguarded(escaping.csv_text(text)) for text in texts]
    assert [escaping.unguarded(cell) for cell in read["text"]] == seen


def test_parquet_files_describe_their_columns_and_name_the_dataset(made: Path) -> None:
    schema = pq.read_schema(made / "data" / "items.parquet")
    assert schema.field("created_at").type == collect.MOMENT
    assert all(field.metadata[b"description"] for field in schema)
    version = (made / "VERSION").read_text().splitlines()[0].split()[-1]
    assert schema.metadata[b"dataset"].decode() == version


# ---- descriptions --------------------------------------------------------------------------------------------------


def package(made: Path) -> Mapping[str, Any]:
    loaded: dict[str, Any] = json.loads((made / "datapackage.json").read_text())
    return loaded


def test_the_data_package_describes_every_column_of_every_table(made: Path) -> None:
    resources = {resource["path"]: resource for resource in package(made)["resources"]}
    assert set(resources) == {f"data/{name}.csv" for name in names()}
    for path, resource in resources.items():
        body = (made / path).read_bytes()
        fields = resource["schema"]["fields"]
        assert body.decode().splitlines()[0].split(",") == [field["name"] for field in fields]
        assert all(field["description"] and field["type"] for field in fields)
        assert resource["bytes"] == len(body)
        assert resource["hash"] == f"sha256:{hashlib.sha256(body).hexdigest()}"
        assert re.fullmatch(r"[a-z0-9-]+", resource["name"])


def test_croissant_describes_every_column_of_every_parquet_file(made: Path) -> None:
    described = json.loads((made / "croissant.json").read_text())
    files = {entry["@id"]: entry for entry in described["distribution"]}
    assert set(files) == {f"data/{name}.parquet" for name in names()}
    for path, entry in files.items():
        assert entry["sha256"] == hashlib.sha256((made / path).read_bytes()).hexdigest()
    ids = {field["@id"] for records in described["recordSet"] for field in records["field"]}
    for records in described["recordSet"]:
        schema = pq.read_schema(made / "data" / f"{records['name']}.parquet")
        assert [field["source"]["extract"]["column"] for field in records["field"]] == schema.names
        lists = {field["name"] for field in records["field"] if field.get("repeated")}
        assert lists == {field.name for field in schema if pa.types.is_list(field.type)}
        others = [field["references"]["field"]["@id"] for field in records["field"] if "references" in field]
        assert {*others, *(key["@id"] for key in records.get("key", ()))} <= ids


def test_the_hub_reads_the_readme_as_a_card_with_a_configuration_for_each_table_that_has_rows(made: Path) -> None:
    hub = pytest.importorskip("huggingface_hub")
    read = hub.DatasetCard.load(made / "README.md")
    assert read.text.startswith(f"\n# {metadata.TITLE}\n")
    data = read.data.to_dict()
    assert data["pretty_name"] == metadata.TITLE
    assert data["license"] == "apache-2.0"
    assert {config["config_name"]: config["data_files"] for config in data["configs"]} == {
        name: [{"split": "train", "path": f"data/{name}.parquet"}]
        for name in names()
        if pq.read_metadata(made / "data" / f"{name}.parquet").num_rows
    }
    assert [config["config_name"] for config in data["configs"] if config.get("default")] == ["items"]


@pytest.mark.parametrize(
    ("rows", "size"), [(0, "n<1K"), (999, "n<1K"), (1_000, "1K<n<10K"), (9_999_999, "1M<n<10M"), (10**7, "n>10M")]
)
def test_a_card_names_the_size_as_the_hub_does(rows: int, size: str) -> None:
    assert card.size_of(rows) == size


def test_the_licence_lies_beside_the_data(made: Path) -> None:
    assert (made / "LICENSE").read_text() == (ROOT / "LICENSE").read_text()


def test_descriptions_come_from_the_database_unless_the_dataset_has_its_own(made: Path, hostile: Store) -> None:
    with hostile.read() as connection:
        comments = definitions.comments(connection)
    items = next(r for r in package(made)["resources"] if r["name"] == "items")
    told = {field["name"]: field["description"] for field in items["schema"]["fields"]}
    assert told["state"] == comments["items", "state"]
    assert told["labels"] != comments["items", "labels"]


def test_every_word_is_explained_once(made: Path) -> None:
    words = table(made, "vocabulary")
    known = set(zip(words.word_of, words.word, strict=True))
    assert {("verdict", word) for word in VERDICTS} <= known
    assert {("status", word) for word in STATUSES} <= known
    assert {("relation", word) for word in relations.load().relations} <= known
    assert {("bug_type", "memory"), ("memory_type", "non_contiguous"), ("control", "planted")} <= known
    assert words.meaning.str.len().min() > 5


def test_keys_are_unique_and_references_lead_to_rows(made: Path) -> None:
    for entry in definitions.load():
        rows = table(made, entry.name)
        assert not rows.duplicated(list(entry.key)).any(), entry.name
        for column, other in entry.refers.items():
            assert set(rows[column]) <= set(table(made, other)[column]), (entry.name, column)


def test_the_datasheet_counts_what_is_in_the_tables(made: Path) -> None:
    sheet = (made / "DATASHEET.md").read_text()
    for name in names():
        assert f"| `{name}` | {len(table(made, name)):,} |" in sheet
    assert "- cases with scripts that were extracted from reports or synthesized: 1" in sheet
    assert "- items that the tracker no longer shows: 1" in sheet
    assert "agreement is unknown" in sheet
    assert "person-1 (human; 1 labels): A person" in sheet
    assert "1 of 2 labels come from programs" in sheet


def test_no_place_of_a_template_is_left_open_and_no_table_is_broken_by_foreign_text(made: Path) -> None:
    for name in ("README.md", "DATASHEET.md", "CITATION.cff"):
        text = (made / name).read_text()
        assert not re.search(r"\$[a-z{]", text)
    for block in re.findall(r"(?:^\|.*\n)+", (made / "DATASHEET.md").read_text(), re.MULTILINE):
        assert len({line.count("|") for line in block.splitlines()}) == 1


@pytest.mark.parametrize("text", ["a|b", "<script>", "[x](y)", "`x`", "two\nlines", "*b*", "&lt;"])
def test_foreign_text_stays_in_its_cell(text: str) -> None:
    assert not re.search(r"[|<>*`\n\[\]]", counted.plain(text))


def citation_of(text: str) -> dict[str, Any]:
    """The file as the subset of YAML that it uses: keys at the left edge with a value or a list below."""
    yaml = pytest.importorskip("yaml")
    loaded: dict[str, Any] = yaml.safe_load(text)
    return loaded


@pytest.mark.parametrize("kind", ["dataset", "software"])
def test_citations_have_what_the_citation_file_format_asks_for(kind: str, made: Path) -> None:
    text = (made / "CITATION.cff").read_text() if kind == "dataset" else metadata.project_citation()
    known = citation_of(text)
    assert known["cff-version"] == "1.2.0"
    assert known["type"] == kind
    assert known["authors"] == [{"name": "The embers authors"}]
    assert all(isinstance(known[key], str) and known[key] for key in ("message", "title", "version", "abstract"))
    assert known["license"] == "Apache-2.0"
    assert all({"type", "title", "authors"} <= set(reference) for reference in known["references"])


def test_the_citation_of_the_project_is_current() -> None:
    assert (ROOT / "CITATION.cff").read_text() == metadata.project_citation(), (
        "python -c 'from torch_embers.dataset import metadata; print(metadata.project_citation(), end=\"\")' > CITATION.cff"
    )


def test_one_disposition_per_closed_issue_is_published_and_no_name_of_a_person(made: Path) -> None:
    rows = table(made, "item_dispositions")
    assert not rows.duplicated(["repo", "number"]).any()
    assert set(rows.disposition) <= {"fixed", "declined", "duplicate", "superseded", "stale", "unknown"}
    people = rows[rows.annotator_kind == "human"]
    assert people.annotator.str.fullmatch(r"person-\d+").all()


def test_an_empty_folder_is_filled(hostile: Store, made: Path, tmp_path: Path) -> None:
    (tmp_path / "d").mkdir()
    publish.publish(hostile, tmp_path / "d")
    assert files_of(tmp_path / "d") == files_of(made)


def test_a_link_to_a_folder_stays_a_link(hostile: Store, tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    publish.publish(hostile, tmp_path / "link")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real" / "VERSION").is_file()


def test_others_can_read_the_dataset_as_the_umask_says(hostile: Store, tmp_path: Path) -> None:
    (tmp_path / "plain").mkdir()
    publish.publish(hostile, tmp_path / "d")
    assert (tmp_path / "d").stat().st_mode == (tmp_path / "plain").stat().st_mode


def test_a_folder_with_other_files_is_refused_and_left_alone(hostile: Store, tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("years of work")
    with pytest.raises(InputError, match="no earlier dataset"):
        publish.publish(hostile, tmp_path)
    assert files_of(tmp_path) == {"thesis.tex": b"years of work"}


def test_a_dataset_that_somebody_added_to_is_refused(hostile: Store, made: Path, tmp_path: Path) -> None:
    shutil.copytree(made, tmp_path / "d")
    (tmp_path / "d" / "data" / "notes.txt").write_text("mine")
    with pytest.raises(InputError, match=r"data/notes\.txt"):
        publish.publish(hostile, tmp_path / "d")
    assert (tmp_path / "d" / "data" / "notes.txt").read_text() == "mine"


def test_a_file_or_a_place_below_a_file_is_refused(hostile: Store, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(InputError, match="is a file"):
        publish.publish(hostile, tmp_path / "file")
    with pytest.raises(InputError, match=r"--dataset|cannot be written"):
        publish.publish(hostile, tmp_path / "file" / "below")
    assert (tmp_path / "file").read_text() == "x"


@pytest.mark.parametrize("name", [".", "/", "x\0y", "n" * 300])
def test_impossible_places_are_refused(
    hostile: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError):
        publish.publish(hostile, Path(name))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_cannot_be_written_is_refused(hostile: Store, tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(InputError, match="cannot be written"):
        publish.publish(hostile, tmp_path / "d")


def test_a_failed_exchange_puts_the_earlier_dataset_back(
    hostile: Store, made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(made, tmp_path / "d")
    really = Path.rename

    def fails(path: Path, target: Path) -> Path:
        if path.name == "new":
            raise OSError(errno.EBUSY, "busy")
        return really(path, target)

    monkeypatch.setattr(Path, "rename", fails)
    with pytest.raises(InputError, match="busy"):
        publish.publish(hostile, tmp_path / "d")
    assert files_of(tmp_path / "d") == files_of(made)


# ---- the database and the command ----------------------------------------------------------------------------------


def test_without_a_database_one_is_told_how_to_get_it(tmp_path: Path) -> None:
    with pytest.raises(StoreMissingError, match="embers mine"):
        publish.publish(Store(tmp_path / "none.duckdb"), tmp_path / "d")
    assert not (tmp_path / "d").exists()


def test_an_empty_database_has_nothing_to_publish(tmp_path: Path) -> None:
    store = Store(tmp_path / "e.duckdb")
    with store.writer("test", create=True) as writer:
        writer.commit(Batch(items=[item(1, "x", deleted_at="2024-02-02T00:00:00Z")]))
    with pytest.raises(InputError, match="embers mine"):
        publish.publish(store, tmp_path / "d")
    assert not (tmp_path / "d").exists()


def test_a_database_of_an_older_embers_is_refused_with_advice(hostile: Store, tmp_path: Path) -> None:
    store = Store(tmp_path / "old.duckdb")
    shutil.copy(hostile.path, store.path)
    with duckdb.connect(str(store.path)) as connection:
        connection.execute("DELETE FROM schema_version WHERE version > 1")
    with pytest.raises(InputError, match="older embers"):
        publish.publish(store, tmp_path / "d")


@pytest.mark.parametrize("other", [("--to", "out"), ("--format", "csv"), ("--table", "items")])
def test_a_dataset_goes_without_the_options_of_single_tables(
    hostile: Store, tmp_path: Path, capsys: pytest.CaptureFixture[str], other: tuple[str, str]
) -> None:
    assert run("export", "--dataset", str(tmp_path / "d"), *other, "--database", str(hostile.path)) == 3
    assert "leave out --to" in capsys.readouterr().err
    assert not (tmp_path / "d").exists()


def test_an_export_to_nowhere_shows_the_usage(hostile: Store, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("export", "--database", str(hostile.path)) == 2
    assert "--dataset" in capsys.readouterr().err
