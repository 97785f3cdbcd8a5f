"""Timelines in the database: derived from observations, read back, shipped and loaded again."""

from __future__ import annotations

import csv
from typing import TYPE_CHECKING, Any

import pytest

from helpers.timeline_rows import NOON, REPO, put
from torch_embers.errors import InputError
from torch_embers.store import rows
from torch_embers.store.store import Store
from torch_embers.timeline import stored, update_timelines

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from torch_embers.timeline.model import Segment, Timeline

CRASH = {"ending": "signal", "what": "SIGSEGV"}
ERROR = {"ending": "exception", "what": "ValueError", "message": "expected two dimensions of the input"}
BODY = (
    "It dies with a segmentation fault.\n\n### Expected behavior\n\nValueError: expected two dimensions of the input\n"
)


def observe(database: Path, script: str, seen: Mapping[str, Mapping[str, Any]], times: int = 1, **more: Any) -> None:
    """So many runs on each release, by release."""
    row = {
        "script": script, "environment": "e", "seed": 0, "batch": 1, "ending": "ok", "what": "", "message": "",
        "frame": "", "printed": "", "threads": 2, "zygote": "", "duration": 1.0, "guarantees": [], "ran_at": NOON,
    }  # fmt: skip
    made = [
        row | {"build": version, "version": f"{version}+cpu", "attempt": attempt} | how | more
        for version, how in seen.items()
        for attempt in range(times)
    ]
    with Store(database).writer("test") as writer, writer.transaction() as connection:
        rows.append(connection, "observations", made)


def say(database: Path, statement: str, *values: object) -> None:
    with Store(database).writer("test") as writer, writer.transaction() as connection:
        connection.execute(statement, list(values))


def derived(database: Path, items: Sequence[tuple[str, int]] | None = None) -> int:
    with Store(database).writer("test") as writer:
        return update_timelines.refresh(writer, items)


def of(database: Path, number: int) -> Timeline:
    with Store(database).read() as connection:
        found = stored.timeline_of(connection, REPO, number)
    assert found is not None
    return found


@pytest.fixture
def crashed(database: Path) -> Path:
    script = put(database, 5)
    say(database, "UPDATE items SET body = ?", BODY)
    observe(database, script, {"2.5.1": CRASH, "2.6.0": CRASH, "2.10.0": ERROR, "2.9.1": ERROR})
    return database


def test_rows_follow_from_observations_and_the_text(crashed: Path) -> None:
    assert derived(crashed) == 2
    timeline = of(crashed, 5)
    assert [(one.versions, one.ending, one.match, one.flip, one.confirmed) for one in timeline.segments] == [
        (("2.5.1", "2.6.0"), "signal", "as_reported", None, False),
        (("2.9.1", "2.10.0"), "exception", "as_expected", "ending", False),
    ]
    assert "segmentation fault" in timeline.segments[0].evidence
    derived(crashed)
    assert of(crashed, 5) == timeline


@pytest.mark.parametrize("script", ["another", None])
def test_a_timeline_of_another_script_than_the_report_now_gives_is_not_told(crashed: Path, script: str | None) -> None:
    derived(crashed)
    say(crashed, "UPDATE scripts SET script = ?", script)
    with Store(crashed).read() as connection:
        assert stored.timeline_of(connection, REPO, 5) is None


def test_only_the_items_that_are_asked_for_are_derived_anew(crashed: Path) -> None:
    derived(crashed)
    say(crashed, "UPDATE items SET body = 'nothing'")
    derived(crashed, [(REPO, 6)])
    assert of(crashed, 5).segments[0].match == "as_reported"
    derived(crashed, [(REPO, 5)])
    assert of(crashed, 5).segments[0].match == "other"


def test_an_absence_is_confirmed_by_enough_runs_in_both_batches(crashed: Path) -> None:
    derived(crashed)
    script = of(crashed, 5).script
    observe(crashed, script, {"2.6.0": CRASH}, 9)
    observe(crashed, script, {"2.10.0": ERROR}, 3)
    observe(crashed, script, {"2.10.0": ERROR}, 3, batch=2)
    derived(crashed)
    assert not of(crashed, 5).segments[1].confirmed  # ten hits of ten ask for four clean runs in each
    observe(crashed, script, {"2.10.0": ERROR}, batch=2)
    derived(crashed)
    assert of(crashed, 5).segments[1].confirmed


@pytest.mark.parametrize(
    ("release", "at_fix"), [("2.7.0", True), ("2.9.0", True), ("2.10.0", False), ("2.6.0", False), ("2.12.0", None)]
)
def test_a_flip_is_at_the_release_with_the_fix_or_not(crashed: Path, release: str, at_fix: bool | None) -> None:
    say(crashed, "INSERT INTO catalog (repo, number, summary, backends, affected_versions, fixed_versions) "
        "VALUES (?, 5, 's', [], [], [?])", REPO, release)  # fmt: skip
    derived(crashed)
    assert [one.at_fix for one in of(crashed, 5).segments] == [None, at_fix]


def test_the_release_of_the_commit_goes_before_those_of_the_catalog() -> None:
    known_fix = update_timelines.known_fix
    assert str(known_fix("2.1.0", ["1.0.0"])) == "2.1.0"
    assert str(known_fix(None, ["2.10.0", "2.9.1"])) == "2.9.1"
    assert known_fix(None, None) is None


def test_what_cannot_run_is_no_clean_run(crashed: Path) -> None:
    derived(crashed)
    script = of(crashed, 5).script
    observe(crashed, script, {"2.6.0": CRASH}, 9)
    for batch in (1, 2):
        observe(crashed, script, {"2.10.0": {"ending": "cannot_run", "what": "needs the network"}}, 10, batch=batch)
    derived(crashed)
    assert not of(crashed, 5).segments[1].confirmed


def test_a_rare_crash_asks_for_more_runs_than_the_certain_one_before_it(crashed: Path) -> None:
    derived(crashed)
    script = of(crashed, 5).script
    observe(crashed, script, {"2.6.0": CRASH, "2.7.1": CRASH}, 9)
    observe(crashed, script, {"2.7.1": ERROR}, 9)
    for batch in (1, 2):
        observe(crashed, script, {"2.10.0": ERROR}, 15, batch=batch)
    derived(crashed)
    newest = of(crashed, 5).segments[-1]
    assert newest.confirmed  # nine of eighteen ask for fourteen
    observe(crashed, script, {"2.7.1": ERROR}, 60)
    derived(crashed)
    assert not of(crashed, 5).segments[-1].confirmed


def test_the_newest_runs_decide_between_two_environments(crashed: Path) -> None:
    derived(crashed)
    script = of(crashed, 5).script
    for environment, day in (("a", "2025-01-01"), ("z", "2026-12-01")):
        observe(crashed, script, {"2.10.0": ERROR}, environment=environment, ran_at=day)
        derived(crashed)
        assert of(crashed, 5).environment == ("e" if environment == "a" else "z")


def test_a_script_about_another_device_has_no_match(database: Path) -> None:
    script = put(database, 5, device="cuda")
    say(database, "UPDATE items SET body = ?", BODY)
    observe(database, script, {"2.6.0": CRASH})
    derived(database)
    assert (of(database, 5).device, of(database, 5).segments[0].match) == ("cuda", None)


def test_runs_in_two_environments_are_two_timelines(crashed: Path) -> None:
    script = put(crashed, 6, code="print(1)\n")
    observe(crashed, script, {"2.6.0": CRASH})
    observe(crashed, script, {"2.7.1": ERROR}, environment="f")
    derived(crashed)
    with Store(crashed).read() as connection:
        found = connection.execute("SELECT environment, flip FROM timelines WHERE number = 6 ORDER BY ALL").fetchall()
    assert found == [("e", None), ("f", None)]


def ship(database: Path, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Write the shipped file of a database, and let this embers come with it."""
    place = {"device": "cpu", "system": "Linux", "processor": "Intel(R) X", "capability": "AVX2", "threads": 1}
    with Store(database).writer("test") as writer, writer.transaction() as connection:
        rows.append(connection, "environments", [place | {"environment": "e", "seen_at": NOON}])
    with Store(database).read() as connection:
        stored.write(connection, path)
    monkeypatch.setattr(stored.resources, "analysis_text", lambda *_: path.read_text(encoding="utf-8"))


def test_the_shipped_file_holds_facts_alone_and_comes_back(
    crashed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    derived(crashed)
    path = tmp_path / "timelines.csv"
    ship(crashed, path, monkeypatch)
    first = next(csv.DictReader(path.open(encoding="utf-8")))
    assert (first["number"], first["versions"], first["match"]) == ("5", "2.5.1 2.6.0", "as_reported")
    assert "dimensions" not in path.read_text(encoding="utf-8")
    own = of(crashed, 5)
    with Store(crashed).writer("test") as writer, writer.transaction() as connection:
        stored.load(connection)
    assert of(crashed, 5) == own  # an own one goes before it
    say(crashed, "DELETE FROM timelines WHERE provenance = 'own'")

    def facts(one: Segment) -> tuple[Any, ...]:
        return one.versions, one.ending, one.what, one.runs, one.confirmed, one.match, one.flip, one.at_fix

    shipped = of(crashed, 5)
    assert shipped.provenance == "shipped"
    assert list(map(facts, shipped.segments)) == list(map(facts, own.segments))


def test_a_shipped_file_that_is_damaged_is_named(
    crashed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    derived(crashed)
    path = tmp_path / "timelines.csv"
    ship(crashed, path, monkeypatch)
    path.write_text(path.read_text(encoding="utf-8").replace("false", "perhaps"), encoding="utf-8")
    with (
        Store(crashed).writer("test") as writer,
        pytest.raises(InputError, match="take this file from the release again"),
        writer.transaction() as connection,
    ):
        stored.load(connection)
