"""The citable dataset: what may be published and nothing else, the same bytes each time, whole or not at all."""

from __future__ import annotations

import errno
import hashlib
import io
import json
import os
import re
import shutil
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from helpers.dataset import PERSON, ROOT, SECRET, files_of, hostile, item, made, names, table  # noqa: F401 - fixtures
from helpers.rows import put
from support import assert_clean_error, assert_snapshot, run_embers
from torch_embers import escaping
from torch_embers.dataset import describe, encode, publish, sheets, table_definitions
from torch_embers.errors import InputError, StoreMissingError, StoreVersionError
from torch_embers.link import relations
from torch_embers.store.store import Store
from torch_embers.verdicts.status import STATUSES
from torch_embers.verdicts.verdict import VERDICTS
from torch_embers.version import __version__

# ---- what may be published -----------------------------------------------------------------------------------------


def test_every_column_of_the_database_is_published_or_withheld_with_a_reason(hostile: Store) -> None:
    query = "SELECT column_name FROM duckdb_columns() WHERE table_name = ? AND schema_name = 'main'"
    for entry in table_definitions.load():
        if entry.source:
            with hostile.read() as connection:
                known = {name for (name,) in connection.execute(query, [entry.source]).fetchall()}
            assert known - set(entry.columns) - set(entry.withheld) == set(), entry.name
            assert set(entry.withheld) - known == set(), entry.name
            assert all(entry.withheld.values()), entry.name


def test_no_body_comment_snippet_foreign_script_or_person_is_in_any_file(made: Path) -> None:
    texts = [body.decode("utf-8", "replace") for name, body in files_of(made).items() if not name.endswith(".parquet")]
    for name in names():
        about = pq.read_metadata(made / f"data/{name}.parquet").metadata
        texts.append(f"{table(made, name).to_dict('records')}{about}")
    assert not [text for text in texts if SECRET in text or PERSON in text]


def test_the_tables_hold_what_may_be_published(made: Path) -> None:
    """In the snapshot: nothing of the item that is gone, of cases that are not current or not by hand, of builds that nobody
    names and of older statuses; people and starts of interpreters as numbers, machines without the release of their kernel,
    of equal links one row, of a verdict the newest; texts guarded against spreadsheets, line ends and NUL made harmless.
    """
    files = sorted(path for path in (made / "data").glob("*.csv") if path.stem != "vocabulary")
    assert_snapshot("dataset.txt", "".join(f"# {path.name}\n{path.read_bytes().decode()}\n" for path in files))
    items = table(made, "items").set_index("number")
    assert list(items.title[[1, 6, 7, 11]]) == ["=HYPERLINK(1)", "'=quoted", "a\nb\nc", "nul\ufffd"], (
        "in Parquet as they are"
    )


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
        connection.execute("CREATE TEMP TABLE about AS SELECT 'pytorch/pytorch' AS repo")
        connection.execute(table_definitions.read("sql", "views.sql"))
        assert connection.execute("SELECT file_names(?)", [said]).fetchall() == [(published,)]


# ---- files ---------------------------------------------------------------------------------------------------------


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
                cells = [escaping.unguarded(cell) for cell in text[column.name]]
                assert cells == [escaping.visible(value or "") for value in values]
            elif pa.types.is_list(column.type):
                assert [json.loads(cell) if cell else None for cell in text[column.name]] == values


@given(st.text())
def test_a_guard_can_be_undone_and_nothing_begins_like_a_formula(text: str) -> None:
    guarded = escaping.guarded(text)
    assert escaping.unguarded(guarded) == text
    assert guarded[:1] not in {*"=+-@\t\r\n＝＋－＠"} - {""} or re.fullmatch(r"[+-][\d.eE+-]+\n?", guarded)


@given(st.lists(st.tuples(st.text(st.characters(exclude_characters="\r\0", exclude_categories=["Cs"])), st.integers())))
def test_any_text_comes_back_from_csv(rows: list[tuple[str, int]]) -> None:
    texts, places = [text for text, _ in rows], range(len(rows))
    body = encode.to_csv(pa.table({"text": pa.array(texts, pa.string()), "place": pa.array(places, pa.int32())}))
    read = pd.read_csv(io.BytesIO(body), keep_default_na=False, dtype=str, lineterminator="\n")
    seen = [escaping.unguarded(escaping.csv_text(text)) for text in texts]
    assert [escaping.unguarded(cell) for cell in read["text"]] == seen


# ---- descriptions --------------------------------------------------------------------------------------------------


def test_the_data_package_describes_every_column_of_every_table(made: Path) -> None:
    package: dict[str, Any] = json.loads((made / "datapackage.json").read_text())
    resources = {resource["path"]: resource for resource in package["resources"]}
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
    assert (described["dateModified"], described["datePublished"]) == ("2024-02-01", "2024-03-03")
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
    assert read.text.startswith(f"\n# {describe.TITLE}\n")
    data = read.data.to_dict()
    assert data["pretty_name"] == describe.TITLE
    assert data["license"] == "apache-2.0"
    assert {config["config_name"]: config["data_files"] for config in data["configs"]} == {
        name: [{"split": "train", "path": f"data/{name}.parquet"}]
        for name in names()
        if pq.read_metadata(made / "data" / f"{name}.parquet").num_rows
    }
    assert [config["config_name"] for config in data["configs"] if config.get("default")] == ["items"]


def test_every_word_is_explained_once(made: Path) -> None:
    words = table(made, "vocabulary")
    known = set(zip(words.word_of, words.word, strict=True))
    assert {("verdict", word) for word in VERDICTS} <= known
    assert {("status", word) for word in STATUSES} <= known
    assert {("relation", word) for word in relations.load().relations} <= known
    assert {("bug_type", "memory"), ("memory_type", "non_contiguous"), ("control", "injected")} <= known
    assert words.meaning.str.len().min() > 5


def test_keys_are_unique_and_references_lead_to_rows(made: Path) -> None:
    for entry in table_definitions.load():
        rows = table(made, entry.name)
        assert not rows.duplicated(list(entry.key)).any(), entry.name
        for column, other in entry.refers.items():
            assert set(rows[column]) <= set(table(made, other)[column]), (entry.name, column)


def test_no_place_of_a_template_is_left_open_and_no_table_is_broken_by_foreign_text(made: Path) -> None:
    assert (made / "LICENSE").read_text() == (ROOT / "LICENSE").read_text()
    for name in ("README.md", "DATASHEET.md", "CITATION.cff"):
        text = (made / name).read_text()
        assert not re.search(r"\$[a-z{]", text)
    sheet = (made / "DATASHEET.md").read_text()
    assert "1 of 2 labels come from programs" in sheet
    assert "\n- tests of merged fixes, as cases (`fix_test`): 1\n- cases of the user (`own`): 2\n" in sheet
    assert "\n- newest verdicts of tests of merged fixes: 1\n- newest verdicts of cases of the user: 0\n" in sheet
    assert all(f"| `{name}` | {len(table(made, name)):,} |" in sheet for name in names())
    for block in re.findall(r"(?:^\|.*\n)+", sheet, re.MULTILINE):
        assert len({line.count("|") for line in block.splitlines()}) == 1


def test_the_sheets_of_an_item_alone_say_what_there_is_not(tmp_path: Path) -> None:
    store = Store(tmp_path / "e.duckdb")
    with store.writer("test", create=True) as writer:
        put(writer, items=[item(1, "x")])
    publish.publish(store, tmp_path / "d")
    sheet = (tmp_path / "d" / "DATASHEET.md").read_text()
    for heading in ("Labels of the taxonomy", "Links", "Verdicts"):
        assert f"**{heading}**\n\nNone in this dataset.\n" in sheet
    assert "**How did predictions come about?** There are none" in sheet
    assert "None" not in sheet.replace("None in this dataset.", "")
    assert "0 cases, 0 verdicts on 0 releases." in (tmp_path / "d" / "README.md").read_text()


@pytest.mark.parametrize("text", ["a|b", "<script>", "[x](y)", "`x`", "two\nlines", "*b*", "&lt;"])
def test_foreign_text_stays_in_its_cell(text: str) -> None:
    assert not re.search(r"[|<>*`\n\[\]]", sheets.plain(text))


def test_the_citations_name_version_day_author_study_and_program(made: Path) -> None:
    project, dataset = (yaml.safe_load((place / "CITATION.cff").read_text()) for place in (ROOT, made))
    assert project["version"] == __version__
    assert (dataset["type"], dataset["date-released"]) == ("dataset", "2024-03-03")
    assert dataset["version"] == (made / "VERSION").read_text().split()[2]
    assert dataset["authors"] == project["authors"]
    study, program = dataset["references"]
    assert [study] == project["references"]
    assert (program["title"], program["version"]) == (project["title"], __version__)


def test_an_earlier_dataset_is_replaced_whole_and_a_link_stays_one(hostile: Store, made: Path, tmp_path: Path) -> None:
    shutil.copytree(made, tmp_path / "real")
    (tmp_path / "real" / "data" / "items.csv").write_text("spoilt")
    (tmp_path / "link").symlink_to("real")
    publish.publish(hostile, tmp_path / "link")
    assert (tmp_path / "link").is_symlink()
    assert files_of(tmp_path / "real") == files_of(made)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["link", "real"]


def test_others_can_read_the_dataset_as_the_umask_says(hostile: Store, tmp_path: Path) -> None:
    (tmp_path / "plain").mkdir()
    publish.publish(hostile, tmp_path / "d")
    assert (tmp_path / "d").stat().st_mode == (tmp_path / "plain").stat().st_mode


def test_a_folder_with_files_of_somebody_is_refused_and_left_alone(hostile: Store, made: Path, tmp_path: Path) -> None:
    (tmp_path / "own").mkdir()
    shutil.copytree(made, tmp_path / "d")
    for place, name, said in (("own", "thesis.tex", "no earlier dataset"), ("d", "data/notes.txt", r"data/notes\.txt")):
        (tmp_path / place / name).write_text("years of work")
        before = files_of(tmp_path / place)
        with pytest.raises(InputError, match=said):
            publish.publish(hostile, tmp_path / place)
        assert files_of(tmp_path / place) == before


@pytest.mark.parametrize("name", [".", "/", "x\0y", "n" * 300, "file", "file/below", "closed/d"])
def test_impossible_places_refused(hostile: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").write_text("x")
    (tmp_path / "closed").mkdir(mode=0o500)
    if name.startswith("closed") and os.geteuid() == 0:
        pytest.skip("root may write everywhere")
    with pytest.raises(InputError):
        publish.publish(hostile, Path(name))
    assert files_of(tmp_path) == {"file": b"x"}


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


def test_a_missing_empty_or_older_database_is_refused_with_advice(hostile: Store, tmp_path: Path) -> None:
    empty = Store(tmp_path / "e.duckdb")
    with empty.writer("test", create=True) as writer:
        put(writer, items=[item(1, "x", deleted_at="2024-02-02T00:00:00Z")])
    old = Store(shutil.copy(hostile.path, tmp_path / "old.duckdb"))
    with duckdb.connect(str(old.path)) as connection:
        connection.execute("UPDATE schema_version SET version = 52")
    for store, error, said in (
        (Store(tmp_path / "none.duckdb"), StoreMissingError, "embers mine"),
        (empty, InputError, "embers mine"),
        (old, StoreVersionError, "older embers"),
    ):
        with pytest.raises(error, match=said):
            publish.publish(store, tmp_path / "d")
        assert not (tmp_path / "d").exists()


def test_a_dataset_goes_without_the_options_of_single_tables(hostile: Store, tmp_path: Path) -> None:
    for other in (("--to", "out"), ("--format", "csv"), ("--table", "items")):
        done = run_embers("data", "export", "--dataset", tmp_path / "d", *other, "--database", hostile.path)
        assert_clean_error(done, 3, "leave out --to")
    assert not (tmp_path / "d").exists()
