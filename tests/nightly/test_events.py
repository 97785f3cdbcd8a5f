"""What a re-check announces: the releases replayed in order, gaps, a planted regression, flapping, clocks."""

from __future__ import annotations

import shutil
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from helpers.events import RELEASES, SHIPPED, Verdicts, cases, check, known, sealed, store  # noqa: F401 - fixtures
from support import rows
from torch_embers.errors import InputError
from torch_embers.run import state
from torch_embers.run.status import reported, tracked_items
from torch_embers.store.store import Store

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from torch_embers.repro.case import Case


def replay(store: Store, cases: Sequence[Case], verdicts: Verdicts) -> list[tuple[str, int, str, str]]:
    """What re-checks of each release in turn announce: release, item, backend, kind."""
    told = []
    for place, release in enumerate(RELEASES, 1):
        result = check(store, cases, verdicts, RELEASES[:place])
        told += [(release, change.number, change.backend, str(change.kind)) for change in result.news]
    return told


def of_matrix(store: Store, cases: Sequence[Case], verdicts: Verdicts) -> list[tuple[str, int, str, str]]:
    """The same, read from the columns of the matrix: where an item's bug goes, comes back, or is there although fixed."""
    with store.read() as connection:
        items = tracked_items(connection)
    columns: dict[tuple[str, int, str], list[Case]] = defaultdict(list)
    for case in cases:
        for repo, number in reported(case, items):
            columns[repo, number, case.device].append(case)
    told = []
    for (repo, number, backend), own in columns.items():
        item = items.get((repo, number))
        last: dict[str, str] = {}
        before, was_gone = None, set()
        for release in RELEASES:
            now = {case.name: verdicts[case.name, release] for case in own}
            last |= {name: verdict for name, verdict in now.items() if verdict in ("occurs", "absent")}
            here = {name for name, verdict in now.items() if verdict == "occurs"}
            mine = {
                case.name
                for case in own
                if case.relations[repo, number] == "same" and case.origin in ("curated", "fix_test")
            }
            may_claim = item is not None and not item.is_pull and (item.state == "open" or item.was_fixed)
            testable = {name for name, verdict in now.items() if verdict != "untestable"}
            is_gone = (
                bool(testable) and all(now[name] == "absent" for name in testable) and set(last.values()) == {"absent"}
            )
            back = bool(here & mine & was_gone)
            if here and before != "there":
                if back and may_claim:
                    told.append((release, number, backend, "regressed"))
                elif item and item.was_fixed and here & mine:
                    told.append((release, number, backend, "closed_but_occurs"))
            elif (
                is_gone
                and before == "there"
                and item
                and may_claim
                and any(_occurred(verdicts, n, release) for n in mine)
            ):
                told.append((release, number, backend, "fixed" if item.state == "closed" else "open_but_absent"))
            before = "there" if here else "gone" if is_gone else before
            was_gone |= {
                name for name, verdict in now.items() if verdict == "absent" and _occurred(verdicts, name, release)
            }
    return sorted(told)


def _occurred(verdicts: Verdicts, name: str, release: str) -> bool:
    return any(verdicts[name, older] == "occurs" for older in RELEASES[: RELEASES.index(release)])


def test_releases_replayed_in_order_announce_what_the_matrix_says_and_nothing_else(
    store: Store, cases: list[Case]
) -> None:
    told = replay(store, cases, SHIPPED)
    assert sorted(told) == of_matrix(store, cases, SHIPPED)
    assert len(RELEASES) == 17
    assert len(told) > 60
    assert rows(store.path, "SELECT count(*) FROM announcements") == [(len(told),)]
    assert check(store, cases, SHIPPED, RELEASES).news == []


FIXED = ["occurs"] * 5 + ["absent"] * 12
"""The column of a case of a closed item that was fixed in the sixth release."""


PLANTED: list[tuple[dict[int, str], list[str]]] = [
    ({}, ["fixed"]),
    (dict.fromkeys(range(12, 17), "occurs"), ["fixed", "regressed"]),
    ({12: "occurs", 13: "occurs"}, ["fixed", "regressed", "fixed"]),
    (dict.fromkeys(range(12, 17), "occurs") | {13: "untestable"}, ["fixed", "regressed"]),
    (dict.fromkeys([9, 11, 13], "untestable"), ["fixed"]),
    (dict.fromkeys([9, 11, 13], "inconclusive"), ["fixed"]),
    (dict.fromkeys([9, 11, 13], "changed"), ["fixed"]),
    (dict.fromkeys([2, 4], "control_failed"), ["fixed"]),
    (dict.fromkeys([7, 9, 11, 13], "occurs"), ["fixed", "regressed", "fixed", "flapping"]),
]
"""What is planted into the column, by place, and what is announced of it beside the bug of the first release."""


def test_a_planted_change_is_announced_once_and_a_gap_never(store: Store, cases: list[Case]) -> None:
    planted = list(zip(fixed_cases(store, cases), PLANTED, strict=False))
    assert len(planted) == len(PLANTED)
    verdicts = {
        (case.name, release): changed.get(place, FIXED[place])
        for (case, _), (changed, _) in planted
        for place, release in enumerate(RELEASES)
    }
    told = replay(store, [case for (case, _), _ in planted], verdicts)
    assert len(set(told)) == len(told)
    for (_, number), (_, kinds) in planted:
        own = [kind for _, found, _, kind in told if found == number and kind != "closed_but_occurs"]
        assert own == kinds


def fixed_cases(store: Store, cases: list[Case]) -> Iterator[tuple[Case, int]]:
    """Cases of one issue that was closed as fixed, no two of one issue."""
    with store.read() as connection:
        items = tracked_items(connection)
    seen = set()
    for case in cases:
        key = case.issues[0] if len(case.issues) == 1 else None
        if key in items and items[key].was_fixed and key not in seen and case.relations[key] == "same":
            seen.add(key)
            yield case, key[1]


def test_neither_a_build_that_vanishes_nor_a_clock_set_back_repeats_an_announcement(
    store: Store, cases: list[Case]
) -> None:
    case, _ = next(fixed_cases(store, cases))
    column = [*FIXED[:8], *["occurs"] * 9]
    verdicts = {(case.name, release): verdict for release, verdict in zip(RELEASES, column, strict=True)}

    def kinds(releases: Sequence[str]) -> list[str | None]:
        return [change.kind for change in check(store, [case], verdicts, releases).news]

    assert kinds(RELEASES[:8]) == ["fixed"]
    with store.writer("test") as writer, writer.transaction() as connection:  # the clock was a year ahead
        connection.execute(
            "UPDATE status_history SET decided_at = decided_at + INTERVAL 1 YEAR WHERE provenance = 'own'"
        )
        connection.execute("UPDATE announcements SET announced_at = announced_at + INTERVAL 1 YEAR")
    assert kinds(RELEASES[:9]) == ["regressed"]
    assert kinds(RELEASES[:9]) == []
    assert kinds([*RELEASES[:5], *RELEASES[8:10]]) == [], "the builds on which it was gone are gone"
    assert kinds(RELEASES[:10]) == []


def test_a_state_carries_what_is_known_to_another_database_and_nothing_is_announced_twice(
    store: Store, cases: list[Case], tmp_path: Path
) -> None:
    case, _ = next(fixed_cases(store, cases))
    verdicts = {(case.name, release): verdict for release, verdict in zip(RELEASES, FIXED, strict=True)}
    other = Store(Path(shutil.copy(store.path, tmp_path / "other.duckdb")))
    assert [change.kind for change in check(store, [case], verdicts, RELEASES).news] == ["fixed"]
    folder = tmp_path / "state"
    state.save(store, folder)
    with other.writer("test") as writer:
        assert state.load(writer, tmp_path / "none") == 0
        assert state.load(writer, folder) == 2
        assert state.load(writer, folder) == 0, "what is there already is not added again"
    assert check(other, [case], verdicts, RELEASES).news == []
    state.save(other, folder)
    assert sorted(path.name for path in tmp_path.iterdir() if path.name.startswith(".")) == []
    for name, content, said in (
        ("announcements.parquet", b"x", "not as it was written"),
        ("runs.parquet", None, "missing"),
        ("state.json", b"[]", "not what embers writes"),
        ("state.json", b'{"format": "x", "version": 1, "tables": {}}', "not what embers writes"),
    ):
        bad = Path(shutil.copytree(folder, tmp_path / f"bad-{len(list(tmp_path.iterdir()))}"))
        if content is None:
            (bad / name).unlink()
        else:
            (bad / name).write_bytes(content)
        with other.writer("test") as writer, pytest.raises(InputError, match=said):
            state.load(writer, bad)


def test_a_state_without_a_column_that_may_be_empty_is_taken(known: Store, tmp_path: Path) -> None:
    with known.writer("test") as writer, writer.transaction() as connection:
        connection.execute("ALTER TABLE announcements ADD COLUMN later VARCHAR")
    state.save(known, tmp_path / "made")
    older = sealed(tmp_path / "made", tmp_path / "older", "announcements", lambda table: table.drop_columns(["later"]))
    with known.writer("test") as writer:
        assert state.load(writer, older) == 0, "what is known is not added again with an empty column"
        with writer.transaction() as connection:
            connection.execute("DELETE FROM announcements")
        assert state.load(writer, older) == 1
    assert rows(known.path, "SELECT number, later FROM announcements") == [(1, None)]
