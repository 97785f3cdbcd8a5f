"""The verdicts that come with embers: in every mined database, beside own ones, never taken for them."""

from __future__ import annotations

import csv
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pandas as pd
import pytest

from helpers.rows import Item, put
from helpers.verdicts import registered
from support import assert_clean_error, case_of, execute, rows, run_embers
from torch_embers.builds.registry import environment_of
from torch_embers.builds.work import note_builds
from torch_embers.cases import bank, case, shipped_verdicts
from torch_embers.escaping import unguarded
from torch_embers.store.listing import CaseFilter, list_cases
from torch_embers.store.store import Store
from torch_embers.verdicts import matrix, shipped, shipped_mark
from torch_embers.verdicts.ledger import Ledger
from torch_embers.views.item_evidence import report_of

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from torch_embers.builds.registry import Registry

COMMITTED = shipped_verdicts.matrix()
COUNT = len(COMMITTED)
DECIDED = sum(row["verdict"] != "untestable" for row in COMMITTED)
SHIPPED = "FROM verdicts WHERE provenance = 'shipped'"
FIRST = COMMITTED[0]


@pytest.fixture
def mined(catalog_database: Path) -> Store:
    return Store(catalog_database)


def add_own(store: Store, verdict: str, processor: str = "AMD EPYC", of: Mapping[str, str] = FIRST) -> None:
    """An own verdict on a case and build of the shipped matrix, as a run on this machine would leave it."""
    device, _, capability, system = of["environment"].split(", ")
    build = f"{of['build']}+cpu@abc/py3.11/linux-x86_64"
    with store.writer("test") as writer, writer.transaction() as connection:
        connection.execute(
            "INSERT INTO builds VALUES (?, 'mine', ?, 'abc', 'release', 'linux-x86_64', '3.11.7', now())",
            [build, f"{of['build']}+cpu"],
        )
        connection.execute(
            "INSERT INTO environments (environment, device, system, processor, capability, threads, seen_at) "
            "VALUES ('mine', ?, ?, ?, ?, 1, now())",
            [device, system, processor, capability],
        )
        connection.execute(
            "INSERT INTO verdicts (case_hash, build, environment, profile, batch, verdict, flaky, k, n, control, control_k, "
            "control_n, detail, decided_at) SELECT case_hash, ?, 'mine', 'reviewed', 0, ?, false, 1, 1, 'none', 0, 0, '', "
            "now() FROM cases WHERE name = ? AND current",
            [build, verdict, of["case"]],
        )


def test_an_absence_is_claimed_by_what_a_second_batch_says(mined: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = "SELECT status, bool_and(contains(evidence, '; second batch absent 0/')) FROM statuses GROUP BY 1"
    both = dict(rows(mined.path, asked))
    assert (both["fixed"], both["open_but_absent"]) == (True, True)
    second = shipped_verdicts.second_batch("2.15.0")
    assert {one.hash for one in case.shipped()} >= second.keys()
    [seen] = [row["case_hash"] for row in second.values() if row["case"] == "pt141447_reflection_pad1d_four_axes"]
    [left] = [row["case_hash"] for row in second.values() if row["case"] == "pt83149_bfloat16_sum_transposed"]
    changed = {key: row | ({"verdict": "occurs"} if key == seen else {}) for key, row in second.items() if key != left}
    monkeypatch.setattr(shipped_verdicts, "second_batch", lambda _: changed)
    shipped.refresh(mined)
    status = dict(rows(mined.path, "SELECT number, status FROM statuses"))
    assert (status[141447], status[83149]) == ("regressed", "undecided_absent")


# ---- loading -------------------------------------------------------------------------------------------------------


def test_a_mined_database_holds_and_writes_all_shipped_verdicts(mined: Store, tmp_path: Path) -> None:
    assert rows(mined.path, f"SELECT count(*) {SHIPPED}") == [(COUNT,)]
    assert rows(mined.path, "SELECT count(*) FROM latest_verdicts") == [(COUNT,)]
    assert rows(mined.path, "SELECT count(*) FROM runs") == [(0,)]
    assert rows(mined.path, "SELECT DISTINCT device, processor, threads FROM environments") == [("cpu", "AMD EPYC", 1)]
    known = dict(rows(mined.path, "SELECT name, case_hash FROM cases WHERE current"))
    assert known == {one.name: one.hash for one in case.shipped()}
    assert rows(mined.path, "SELECT DISTINCT provenance FROM statuses") == [("shipped",)]
    assert rows(mined.path, "SELECT count(*) FROM announcements") == [(0,)]
    assert shipped.refresh(mined) == 0, "loading again changes nothing"
    assert run_embers("list", "--matrix", "--csv", tmp_path / "m.csv", "--database", mined.path).returncode == 0
    made = list(csv.DictReader((tmp_path / "m.csv").read_text().splitlines()))
    assert [row | {"seen": unguarded(row["seen"])} for row in made] == COMMITTED


def test_a_newer_matrix_replaces_shipped_verdicts_not_own_ones(mined: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    add_own(mined, "absent")
    newer = [row | {"verdict": "inconclusive"} for row in COMMITTED[:100]]
    monkeypatch.setattr(shipped_verdicts, "matrix", lambda: newer)
    assert shipped.refresh(mined) == 100
    assert rows(mined.path, f"SELECT verdict, count(*) {SHIPPED} GROUP BY 1") == [("inconclusive", 100)]
    assert rows(mined.path, "SELECT verdict FROM verdicts WHERE provenance = 'own'") == [("absent",)]


@pytest.mark.parametrize("damage", [{"k": "x"}, {"day": "never"}, {"environment": "cpu"}], ids=str)
def test_a_malformed_matrix_is_one_line_that_names_it(
    mined: Store, monkeypatch: pytest.MonkeyPatch, damage: dict[str, Any]
) -> None:
    monkeypatch.setattr(shipped_verdicts, "matrix", lambda: [FIRST | damage])
    execute(mined.path, "DELETE FROM link_scans WHERE origin = 'shipped'")  # the files themselves did not change
    done = run_embers("mine", "--source", "catalog", "--database", mined.path)
    assert_clean_error(done, 3, "analysis/results/verdicts.csv")
    assert rows(mined.path, f"SELECT count(*) {SHIPPED}") == [(COUNT,)]


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE items SET state = 'closed', state_reason = NULL",
        "DELETE FROM status_history WHERE status = 'open_and_occurs'",
        "UPDATE verdicts SET k = k + 1 WHERE verdict = 'occurs'",
        "UPDATE cases SET code = code || ' ' WHERE current",
        "DELETE FROM case_items WHERE number = 99638",
        "DELETE FROM link_scans WHERE origin = 'shipped'",
    ],
)
def test_what_changes_a_shipped_row_or_decides_about_one_is_noticed(mined: Store, change: str) -> None:
    assert shipped_mark.is_current(mined)
    execute(mined.path, change)
    assert not shipped_mark.is_current(mined)
    shipped.refresh(mined)
    assert shipped_mark.is_current(mined)
    if "SET state" in change:
        assert rows(mined.path, "SELECT count(*) FROM statuses WHERE status = 'open_and_occurs'") == [(0,)]


def test_a_database_of_another_repository_gets_no_cases_of_pytorch(tmp_path: Path) -> None:
    store = Store(tmp_path / "e.duckdb")
    with store.writer("test", create=True) as writer:
        put(writer, items=[Item("alice/bugs", 1, source="rest")])
    assert shipped_mark.is_current(store)
    assert shipped.refresh(store) == 0
    assert rows(store.path, "SELECT count(*) FROM cases") == [(0,)]


# ---- own beside shipped --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("processor", ["AMD EPYC", "AMD Ryzen"])
def test_an_own_verdict_replaces_the_shipped_one_or_elsewhere_stands_before_it(mined: Store, processor: str) -> None:
    add_own(mined, "absent", processor)
    both = [e for e in matrix.entries(mined) if (e.case, e.build) == (FIRST["case"], FIRST["build"])]
    assert [e.provenance for e in matrix.preferred(both)] == ["own"]
    assert (both[0].provenance, both[0].verdict) == ("own", "absent")
    if processor == "AMD EPYC":
        assert len(both) == 1
        return
    assert [(e.provenance, e.verdict) for e in both[1:]] == [("shipped", FIRST["verdict"])]
    assert both[0].place.startswith("cpu, AMD Ryzen")
    assert both[1].place == f"shipped, on {FIRST['environment']}"


@pytest.mark.parametrize(("own", "listed"), [("not_seen", "occurs"), ("absent", "absent")])
def test_a_list_shows_an_own_verdict_only_where_it_decides(mined: Store, own: str, listed: str) -> None:
    newest = next(row for row in COMMITTED if (row["build"], row["verdict"]) == ("2.15.0", "occurs"))
    add_own(mined, own, "AMD Ryzen", newest)
    [row] = list_cases(mined, CaseFilter(name=newest["case"]))
    assert row["verdict"] == listed


def test_commands_name_where_shipped_verdicts_are_from(mined: Store) -> None:
    for words in (("show", "84577"), ("show", "--paste", "84577"), ("list", "--matrix")):
        done = run_embers(*words, "--database", mined.path)
        assert done.returncode == 0
        assert "shipped, on cpu, AMD EPYC" in done.stdout


# ---- runs ----------------------------------------------------------------------------------------------------------


@pytest.fixture
def registry(tmp_path: Path) -> Registry:
    return registered(tmp_path / "builds", FIRST["build"])


def test_a_shipped_verdict_is_neither_known_nor_a_control_here(mined: Store, registry: Registry) -> None:
    one = case_of(name=FIRST["case"])
    build = registry.find(FIRST["build"])
    with mined.writer("test") as writer:
        with writer.transaction() as connection:
            bank.save(connection, [one])
            connection.execute(
                "UPDATE verdicts SET case_hash = ?, build = ?, verdict = 'occurs'", [one.hash, build.identity]
            )
        ledger = Ledger(mined, writer)
        environments = note_builds(writer, [(build, environment_of(build))])
        with writer.transaction() as connection:
            connection.execute("UPDATE verdicts SET environment = ?", [environments[build.identity]])
        assert ledger.verdicts([one], [build], environments, None) == {}
        assert ledger.seen_bad([one.hash]) == {}


def test_a_dataset_after_three_cases_has_all_shipped_verdicts_and_the_own_ones(
    mined: Store, registry: Registry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EMBERS_BUILDS_DIR", str(registry.folder))
    names = sorted({row["case"] for row in COMMITTED})[:3]
    done = run_embers("run", *names, "--build", FIRST["build"], "--database", mined.path)
    assert done.returncode == 0, done.stderr
    assert rows(mined.path, "SELECT count(*) FROM verdicts WHERE provenance = 'own'") == [(3,)]
    with mined.writer("test") as writer, writer.transaction() as connection:  # the others could not be tested
        first = "(SELECT case_hash FROM cases WHERE current AND name = ?)"
        connection.execute(
            f"UPDATE verdicts SET verdict = 'occurs' WHERE provenance = 'own' AND case_hash = {first}", names[:1]
        )
    done = run_embers("data", "export", "--dataset", tmp_path / "d", "--database", mined.path)
    assert f"verdicts: 1 own, {DECIDED:,} shipped" in done.stdout
    found = pd.read_parquet(tmp_path / "d" / "data" / "verdicts.parquet")
    assert found.provenance.value_counts().to_dict() == {"shipped": COUNT, "own": 3}
    assert set(found.query("provenance == 'own'").case) == set(names)
    places = pd.read_parquet(tmp_path / "d" / "data" / "environments.parquet")
    assert set(found.environment) == set(places.environment)
    sheet = (tmp_path / "d" / "DATASHEET.md").read_text()
    assert "1 rest on runs that the database holds" in sheet
    assert f"{COUNT - DECIDED + 2:,} more rows of that table are `untestable`" in sheet
    assert f"{DECIDED:,} came with embers" in sheet


def test_an_own_status_goes_before_the_shipped_one(mined: Store) -> None:
    [(repo, number, backend)] = rows(mined.path, "SELECT repo, number, backend FROM statuses ORDER BY ALL LIMIT 1")
    with mined.writer("test") as writer, writer.transaction() as connection:
        connection.execute(
            "INSERT INTO status_history VALUES (?, ?, ?, 'b', 'undecided', NULL, '', '2020-01-01', 'own', NULL)",
            [repo, number, backend],
        )
    assert shipped.refresh(mined) == 0
    asked = f"SELECT status, provenance FROM statuses WHERE number = {number} AND backend = '{backend}'"
    assert rows(mined.path, asked) == [("undecided", "own")]


def test_an_own_status_that_claims_too_much_by_now_is_withdrawn_and_kept_in_the_history(mined: Store) -> None:
    own = "SELECT i.number FROM case_items i JOIN cases c USING (case_hash) WHERE c.current AND list_contains(requires, 'cpu')"
    (sibling,), (same,) = rows(
        mined.path,
        f"SELECT min(number) FROM items JOIN ({own} AND relation = 'sibling') USING (number) "
        f"WHERE state = 'open' AND kind = 'issue' AND number NOT IN ({own} AND relation = 'same') "
        f"UNION ALL SELECT min(number) FROM items JOIN ({own} AND relation = 'same') USING (number) "
        "WHERE state = 'open' AND kind = 'issue'",
    )
    with mined.writer("test") as writer, writer.transaction() as connection:
        for place, number in enumerate((sibling, same), 1):
            connection.execute(
                "INSERT INTO status_history VALUES ('pytorch/pytorch', ?, 'cpu', 'b', 'open_but_absent', NULL, 'seen', "
                "'2020-01-01', 'own', ?)",
                [number, place],
            )
    shipped.refresh(mined)
    shipped.refresh(mined)
    asked = "SELECT number, status, previous, evidence FROM status_history WHERE provenance = 'own' ORDER BY written"
    assert rows(mined.path, asked) == [
        (sibling, "open_but_absent", None, "seen"),
        (same, "open_but_absent", None, "seen"),
        (sibling, "undecided_absent", "open_but_absent", "seen"),
    ]
    now = f"SELECT status FROM statuses WHERE number = {sibling} AND backend = 'cpu'"
    assert rows(mined.path, now) == [("undecided_absent",)]
    assert rows(mined.path, "SELECT count(*) FROM announcements") == [(0,)]


def test_the_database_says_the_newest_release_and_which_bisections_are_of_the_text_of_now(tmp_path: Any) -> None:
    store = Store(tmp_path / "e.duckdb")
    with store.writer("test", create=True) as writer:
        shipped.load(writer)
        with writer.transaction() as connection:
            name, saved = connection.execute(
                "SELECT name, saved_at FROM cases JOIN case_items USING (case_hash) WHERE number = 83149 AND current"
            ).fetchall()[0]
            for number, text, days in ((0, "Of now.", 1), (1, "Of an older text.", -1)):
                began = saved + timedelta(days=days)
                connection.execute(
                    "INSERT INTO bisections VALUES ('s', ?, ?, 0, ?, ?, 'fixed', 1, ?, '2.2.2', '2.3.1', 'tags', 700)",
                    [number, name, began, began + timedelta(days=9 * number), text],
                )
            connection.execute(
                "INSERT INTO bisection_commits VALUES ('s', 0, 0, 'aa', '', 'Mend', 9, [83149], [], ['a.cpp'], true)"
            )
    made = report_of(store, "pytorch/pytorch", 83149)
    assert made.answer is not None
    assert (made.answer.closable, made.answer.rule) == ("yes", "case_gone")
    assert [(found["text"], found["fixes"]) for found in made.bisections] == [("Of now.", [9])]
    with store.writer("test") as writer, writer.transaction() as connection:
        newest = "(SELECT build FROM builds WHERE version LIKE '2.15.0%')"
        of_case = "(SELECT case_hash FROM cases WHERE name = ?)"
        connection.execute(f"DELETE FROM verdicts WHERE build IN {newest} AND case_hash IN {of_case}", [name])
    left = report_of(store, "pytorch/pytorch", 83149).answer
    assert left is not None
    assert left.rule == "case_undecided"
