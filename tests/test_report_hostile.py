"""The report of databases and files that are hostile, odd or broken: an inert page, or one clear line."""

from __future__ import annotations

import json
import re
import shutil
from typing import TYPE_CHECKING, Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from report_data import HOSTILE, NUMBER, Page, hostile, inline
from support import assert_clean_error, run_embers
from torch_embers.cli import app
from torch_embers.errors import InputError
from torch_embers.report import command, folder, hunt_map, places, rendering, study_files
from torch_embers.store import writer
from torch_embers.store.store import Store

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

CASE = "pt84577_avg_pool3d_strided_out"
AT = "TIMESTAMP '2026-11-19 10:00'"
CALL: dict[str, Any] = dict.fromkeys(hunt_map.COLUMNS, "") | dict.fromkeys(hunt_map.COUNTS, 0)
CALL |= {"build": "2.15.0", "op": "add", "mode": "forward", "layout": "sliced", "tested": 1}


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory, catalog_template: Path) -> Path:
    """A small database with hostile texts."""
    return hostile(catalog_template, tmp_path_factory.mktemp("odd") / "e.duckdb")


def with_hostile_runs(connection: duckdb.DuckDBPyConnection) -> None:
    """Builds, bisections, commits, announcements, predictions and verdicts whose texts want to be more than text."""
    builds = [row[0] for row in connection.execute("SELECT build FROM builds ORDER BY version").fetchall()]
    for place, text in enumerate((*HOSTILE, "../../../outside", "")):
        values = {"t": text, "b": builds[place], "c": CASE, "n": place, "s": f"{place:040x}"}
        for change in (
            "UPDATE builds SET version = $t, name = $t, git_commit = $t, platform = $t WHERE build = $b",
            f"INSERT INTO bisections VALUES ($t, 1, $c, 0, {AT}, {AT}, $t, 0.5, $t, $t, $t, $t, 1)",
            "INSERT INTO bisection_commits VALUES ($t, 1, 0, $t, $t, $t, 1, [], [$t], [$t], false)",
            f"INSERT INTO bisection_steps VALUES ($t, 1, $t, 0, $t, 1, 1, 0.5, $t, {AT})",
            f"INSERT INTO announcements VALUES ($t, 1, $t, $t, $t, $t, {AT}, NULL, NULL)",
            f"INSERT INTO status_history VALUES ($t, 1, $t, $t, $t, $t, $t, {AT}, 'own', NULL)",
            "UPDATE verdicts SET verdict = $t, control = $t WHERE k = 0 AND hash(case_hash) % 6 = $n",
            f"INSERT INTO commits (repo, sha, subject, message, committed_at, source, fetched_at) "
            f"VALUES ('pytorch/pytorch', $s, $t, $t, {AT}, 'git', {AT})",
            "INSERT INTO links (repo, number, relation, target_repo, target_sha, evidence, found_in) "
            f"VALUES ('pytorch/pytorch', {NUMBER}, 'fixes', 'pytorch/pytorch', $s, $t, 'body')",
        ):
            connection.execute(change, {name: value for name, value in values.items() if f"${name}" in change})
    connection.execute(
        f"INSERT INTO bisections (session, number, subject, batch, started_at) VALUES ('x', 1, ?, 0, {AT})", [CASE]
    )
    connection.execute("UPDATE environments SET processor = ?, system = ?", [HOSTILE[0], HOSTILE[3]])
    connection.execute(
        "INSERT INTO predictions BY NAME SELECT 'pytorch/pytorch' AS repo, ? AS number, ? AS scheme, ? AS value, ? AS likeliest, "
        "'nan'::DOUBLE AS probability, false AS abstained, ? AS provenance, 'm' AS model, 'title' AS variant, 'h' AS text_hash, "
        f"'' AS votes_hash, repeat('[', 30000) AS explanation, {AT} AS predicted_at",
        [NUMBER, *HOSTILE[:1] * 4],
    )


def with_odd_items(connection: duckdb.DuckDBPyConnection) -> None:
    """A title of 10,000 characters, numbers that no tracker has, and nothing known of the rest."""
    connection.execute("UPDATE items SET title = repeat('x<b> ', 2000) WHERE number = ?", [NUMBER])
    for number in (0, -5):
        connection.execute("UPDATE items SET number = ? WHERE number = (SELECT max(number) FROM items)", [number])
    connection.execute("UPDATE items SET repo = '<b>/x' WHERE number = (SELECT max(number) FROM items)")
    connection.execute(
        "UPDATE items SET body = NULL, author = NULL, state = NULL, created_at = NULL, updated_at = NULL, labels = NULL "
        "WHERE number <> ?",
        [NUMBER],
    )


def without_builds(connection: duckdb.DuckDBPyConnection) -> None:
    """Items and cases alone."""
    for table in ("verdicts", "status_history", "environments", "builds"):
        connection.execute(f"DELETE FROM {table}")


def with_everything(connection: duckdb.DuckDBPyConnection) -> None:
    with_hostile_runs(connection)
    with_odd_items(connection)


@pytest.mark.slow
@pytest.mark.parametrize("change", [with_everything, without_builds])
def test_hostile_and_missing_rows_give_inert_pages(
    database: Path, tmp_path: Path, change: Callable[[duckdb.DuckDBPyConnection], None]
) -> None:
    odd, out = shutil.copy(database, tmp_path / "e.duckdb"), tmp_path / "below" / "site"
    with duckdb.connect(odd) as connection:
        change(connection)
    command.report(Store(odd), command.Request(out))
    assert list(inline({path: Page(path) for path in out.rglob("*.html")})) == []
    text = "".join(path.read_text(encoding="utf-8") for path in out.rglob("*.html"))
    assert "<script>globalThis" not in text
    assert "<img src=x" not in text
    assert "\u202e" not in text
    assert {path.name for path in tmp_path.iterdir()} == {"below", "e.duckdb"}
    assert all(re.fullmatch(r"[\w.-]+", path.name) for path in out.rglob("*"))
    page = (out / places.item_page("pytorch/pytorch", NUMBER)).read_text(encoding="utf-8")
    if change is without_builds:
        assert "No verdict yet" in page
    else:
        assert "x&lt;b&gt; " * 2000 in page
        assert "&lt;script&gt;globalThis.hit = 1&lt;/script&gt;</td><td" in page  # a step of a bisection


def without_rows(connection: duckdb.DuckDBPyConnection) -> None:
    """Tables alone."""
    for (table,) in connection.execute("SELECT table_name FROM duckdb_tables()").fetchall():
        if table != "schema_version":
            connection.execute(f"DELETE FROM {table}")


def with_items_alone(connection: duckdb.DuckDBPyConnection) -> None:
    without_builds(connection)
    for table in ("cases", "case_items", "runs", "predictions", "gold_labels", "links", "dispositions"):
        connection.execute(f"DELETE FROM {table}")


def with_verdicts_of_no_case(connection: duckdb.DuckDBPyConnection) -> None:
    for table in ("cases", "case_items"):
        connection.execute(f"DELETE FROM {table}")


def with_cases_of_no_item(connection: duckdb.DuckDBPyConnection) -> None:
    connection.execute("DELETE FROM items")


@pytest.mark.parametrize(
    ("change", "items", "cases"),
    [
        (without_rows, False, False),
        (with_items_alone, True, False),
        (with_verdicts_of_no_case, True, False),
        (with_cases_of_no_item, False, True),
    ],
)
def test_a_database_that_lacks_whole_kinds_of_rows_gives_every_page(
    database: Path, tmp_path: Path, change: Callable[[duckdb.DuckDBPyConnection], None], items: bool, cases: bool
) -> None:
    odd, out = shutil.copy(database, tmp_path / "e.duckdb"), tmp_path / "site"
    with duckdb.connect(odd) as connection:
        change(connection)
    done = command.report(Store(odd), command.Request(out, sqlite=tmp_path / "e.sqlite"))
    assert (done.items > 0) == items
    for address, _ in rendering.NAVIGATION:
        assert list(inline({out / address: Page(out / address)})) == []
    assert ("No verdicts yet" in (out / "index.html").read_text(encoding="utf-8")) == (not cases)


@pytest.mark.parametrize(
    "words", [["status"], ["funnel"], ["search", "conv"], ["list"], ["report"], ["export", "--to", "out"]]
)
def test_a_duckdb_file_of_somebody_else_is_one_line(tmp_path: Path, words: list[str]) -> None:
    path = tmp_path / "mine.duckdb"
    with duckdb.connect(path) as connection:
        connection.execute("CREATE TABLE x (a INTEGER)")
    done = CliRunner().invoke(app, [*words, "--database", str(path)])
    assert isinstance(done.exception, InputError)
    assert str(done.exception) == f"{path} holds no tables of embers: name its database, `embers mine` makes a new one"


def test_a_database_that_was_just_made_has_all_its_views(tmp_path: Path) -> None:
    writer.create(tmp_path / "e.duckdb")
    with Store(tmp_path / "e.duckdb").read() as connection:
        assert connection.execute("SELECT count(*) FROM candidates").fetchall() == [(0,)]


PRINTED = {
    "unseen": "\x1b[2J\x1b]0;owned\x07\x1b[31m\u202egnp.exe\u2066\u200b before\0after</pre><script>globalThis.hit = 1</script>",
    "long": "y" * 5_000_000 + "the end",
    "lines": "z\n" * 1_000_000 + "the end",
    "empty": "",
}
"""What runs may print: one each on another build."""


@pytest.mark.slow
def test_what_a_run_printed_is_shown_as_text_from_its_end(database: Path, tmp_path: Path) -> None:
    odd, out = shutil.copy(database, tmp_path / "e.duckdb"), tmp_path / "site"
    with duckdb.connect(odd) as connection:
        query = "SELECT build FROM verdicts JOIN cases USING (case_hash) WHERE name = ? ORDER BY build"
        builds = [row[0] for row in connection.execute(query, [CASE]).fetchall()]
        for place, printed in enumerate(PRINTED.values()):
            connection.execute(
                "INSERT INTO runs (case_hash, build, environment, planted, outcome, detail, ended, stdout, stderr, duration, "
                "ran_at, batch, attempt, profile, cpu, peak_memory, zygote, seed, guarantees) SELECT case_hash, build, "
                f"environment, false, 'reproduced', $d, $d, $t, $t, 0.1, {AT}, 0, 0, 'reviewed', 0, 0, '', 0, [] "
                "FROM verdicts JOIN cases USING (case_hash) WHERE name = $c AND build = $b LIMIT 1",
                {"t": printed, "d": printed[:300], "b": builds[place], "c": CASE},
            )
    command.report(Store(odd), command.Request(out))
    path = out / places.item_page("pytorch/pytorch", NUMBER)
    text = path.read_text(encoding="utf-8")
    assert list(inline({path: Page(path)})) == []
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2066-\u2069]", text)
    assert len(text) < 200_000
    assert "y" * 5_000 + "the end</pre>" in text
    assert "…\nz\nz\n" in text
    assert "beforeafter&lt;/pre&gt;&lt;script&gt;" in text


def test_a_database_that_is_missing_or_none_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "none.duckdb").write_text("<script>")
    for name in ("missing.duckdb", "none.duckdb"):
        done = run_embers("report", "--database", tmp_path / name, "--out", tmp_path / "site")
        assert_clean_error(done, 5, name)
        assert not (tmp_path / "site").exists()


def corrupt(path: Path) -> None:
    pq.write_table(pa.Table.from_pylist([CALL] * 1000), path, compression="zstd")
    body = bytearray(path.read_bytes())
    body[10:60] = b"\xff" * 50
    path.write_bytes(bytes(body))


def truncated(path: Path) -> None:
    pq.write_table(pa.Table.from_pylist([CALL]), path)
    path.write_bytes(path.read_bytes()[:-20])


def rows(**changed: Any) -> Callable[[Path], None]:
    return lambda path: pq.write_table(pa.Table.from_pylist([CALL, CALL | changed]), path)


@pytest.mark.parametrize(
    ("write", "said"),
    [
        (lambda path: path.write_bytes(b""), "cannot be read"),
        (truncated, "cannot be read"),
        (corrupt, "cannot be read"),
        (lambda path: pq.write_table(pa.table({"x": [1]}), path), "no column build"),
        (lambda path: pq.write_table(pa.Table.from_pylist([dict.fromkeys(CALL, "x")]), path), "cannot be read"),
        (rows(tested=None), "rows without a tested"),
        (rows(op=None), "rows without a op"),
        (lambda path: pq.write_table(pa.Table.from_pylist([CALL | {"tested": float("nan")}]), path), "cannot be read"),
    ],
)
def test_a_broken_coverage_map_is_one_line(tmp_path: Path, write: Callable[[Path], Any], said: str) -> None:
    write(tmp_path / hunt_map.FILE)
    with pytest.raises(InputError) as caught:
        hunt_map.read(tmp_path)
    assert said in str(caught.value)
    assert len(str(caught.value).splitlines()) == 1
    assert str(caught.value).endswith("`embers hunt coverage` writes it anew")


@pytest.mark.parametrize(
    "text",
    [
        "[" * 100_000,
        "[]",
        '{"as_of": "x", "items": Infinity, "figures": []}',
        '{"as_of": "x", "items": 3, "figures": 3}',
        '{"as_of": "x", "items": 3, "figures": [{"id": "t", "heading": "h"}]}',
        '{"as_of": "x", "items": 3, "figures": [{"id": "t", "heading": "h", "notes": 3}]}',
        "\x00",
    ],
)
def test_a_broken_study_is_one_line(tmp_path: Path, text: str) -> None:
    (tmp_path / study_files.SUMMARY).write_text(text)
    with pytest.raises(InputError, match="embers study") as caught:
        study_files.read(tmp_path)
    assert len(str(caught.value).splitlines()) == 1


def test_a_study_names_no_file_outside_its_folder(tmp_path: Path) -> None:
    study = tmp_path / "study"
    study.mkdir()
    (tmp_path / "secret.csv").write_text("a,b\n")
    figure = {"id": "../secret", "heading": "h", "notes": []}
    (study / study_files.SUMMARY).write_text(json.dumps({"as_of": "x", "items": 1, "figures": [figure]}))
    found = study_files.read(study)
    assert found is not None
    assert found.figures[0].files == []


def test_a_mark_of_endless_depth_keeps_what_is_in_the_folder(tmp_path: Path) -> None:
    (tmp_path / folder.MARK).write_text("[" * 100_000)
    (tmp_path / "mine").write_text("x")
    with pytest.raises(InputError, match="'mine' is no part of the report there"):
        folder.check(tmp_path)
