"""The report of databases and files that are hostile, odd or broken: an inert page, or one clear line."""

from __future__ import annotations

import re
import shutil
from typing import TYPE_CHECKING

import duckdb
import pytest

from report_data import CASE, HOSTILE, NUMBER, Page, hostile_database, inline  # noqa: F401 - a fixture
from torch_embers.report import places, rendering, write_report
from torch_embers.store.store import Store

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

AT = "TIMESTAMP '2026-11-19 10:00'"


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
        "INSERT INTO predictions BY NAME SELECT 'pytorch/pytorch' AS repo, ? AS number, ? AS scheme, ? AS value, "
        "'nan'::DOUBLE AS probability, 'low' AS confidence, ? AS provenance, 'm' AS model, 'h' AS text_hash, "
        f"'' AS votes_hash, repeat('[', 30000) AS explanation, {AT} AS predicted_at",
        [NUMBER, *HOSTILE[:1] * 3],
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


@pytest.mark.parametrize("changes", [(with_hostile_runs, with_odd_items), (without_builds,)])
def test_hostile_and_missing_rows_give_inert_pages(
    hostile_database: Path, tmp_path: Path, changes: tuple[Callable[[duckdb.DuckDBPyConnection], None], ...]
) -> None:
    odd, out = shutil.copy(hostile_database, tmp_path / "e.duckdb"), tmp_path / "below" / "site"
    with duckdb.connect(odd) as connection:
        for change in changes:
            change(connection)
    write_report.report(Store(odd), write_report.Request(out))
    assert list(inline({path: Page(path) for path in out.rglob("*.html")})) == []
    text = "".join(path.read_text(encoding="utf-8") for path in out.rglob("*.html"))
    assert "<script>globalThis" not in text
    assert "&lt;script&gt;globalThis.hit" in text
    assert "{{ 7 * 7 }}" in text  # templates are not made of data
    assert "<img src=x" not in text
    assert "\u202e" not in text
    assert {path.name for path in tmp_path.iterdir()} == {"below", "e.duckdb"}
    assert all(re.fullmatch(r"[\w.-]+", path.name) for path in out.rglob("*"))
    page = (out / places.item_page("pytorch/pytorch", NUMBER)).read_text(encoding="utf-8")
    if without_builds in changes:
        assert "No verdict yet" in page
    else:
        assert "x&lt;b&gt; " * 59 in page  # cut at the 300 characters of data/report.toml
        assert "&lt;script&gt;globalThis.hit = 1&lt;/script&gt;</td><td" in page  # a step of a bisection


ABSENT = {
    "everything": None,
    "cases and verdicts": (
        *("verdicts", "status_history", "environments", "builds", "cases", "case_items", "runs", "predictions"),
        *("gold_labels", "links", "dispositions"),
    ),
    "cases": ("cases", "case_items"),
    "items": ("items",),
}


@pytest.mark.parametrize("absent", ABSENT)
def test_a_database_without_whole_kinds_of_rows_gives_all(hostile_database: Path, tmp_path: Path, absent: str) -> None:
    odd, out = shutil.copy(hostile_database, tmp_path / "e.duckdb"), tmp_path / "site"
    with duckdb.connect(odd) as connection:
        known = [name for (name,) in connection.execute("SELECT table_name FROM duckdb_tables()").fetchall()]
        for table in ABSENT[absent] or (name for name in known if name != "schema_version"):
            connection.execute(f"DELETE FROM {table}")
    done = write_report.report(Store(odd), write_report.Request(out, sqlite=tmp_path / "e.sqlite"))
    assert (done.items > 0) == (absent not in ("everything", "items"))
    for address, _ in rendering.NAVIGATION:
        assert list(inline({out / address: Page(out / address)})) == []
    assert ("No verdicts yet" in (out / "index.html").read_text(encoding="utf-8")) == (absent != "items")


PRINTED = {
    "unseen": "\x1b[2J\x1b]0;owned\x07\x1b[31m\u202egnp.exe\u2066\u200b before\0after</pre><script>globalThis.hit = 1</script>",
    "long": "y" * 5_000_000 + "the end",
    "lines": "z\n" * 1_000_000 + "the end",
    "empty": "",
}
"""What runs may print: one each on another build."""


def test_what_a_run_printed_is_shown_as_text_from_its_end(hostile_database: Path, tmp_path: Path) -> None:
    odd, out = shutil.copy(hostile_database, tmp_path / "e.duckdb"), tmp_path / "site"
    with duckdb.connect(odd) as connection:
        query = "SELECT build FROM verdicts JOIN cases USING (case_hash) WHERE name = ? ORDER BY build"
        builds = [row[0] for row in connection.execute(query, [CASE]).fetchall()]
        for place, printed in enumerate(PRINTED.values()):
            connection.execute(
                "INSERT INTO runs (case_hash, build, environment, injected, outcome, detail, ended, stdout, stderr, duration, "
                "ran_at, batch, attempt, profile, cpu, peak_memory, zygote, seed, guarantees) SELECT case_hash, build, "
                f"environment, false, 'reproduced', $d, $d, $t, $t, 0.1, {AT}, 0, 0, 'reviewed', 0, 0, '', 0, [] "
                "FROM verdicts JOIN cases USING (case_hash) WHERE name = $c AND build = $b LIMIT 1",
                {"t": printed, "d": printed[:300], "b": builds[place], "c": CASE},
            )
    write_report.report(Store(odd), write_report.Request(out))
    path = out / places.item_page("pytorch/pytorch", NUMBER)
    text = path.read_text(encoding="utf-8")
    assert list(inline({path: Page(path)})) == []
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2066-\u2069]", text)
    assert len(text) < 200_000
    assert "y" * 5_000 + "the end</pre>" in text
    assert "…\nz\nz\n" in text
    assert "beforeafter&lt;/pre&gt;&lt;script&gt;" in text
