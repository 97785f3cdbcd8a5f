"""What a re-check announces: the releases replayed in order, gaps, a planted regression, flapping, clocks."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from helpers.verdicts import build_of, cell_of, decision_of
from support import assert_snapshot, execute, rows
from torch_embers.cases import bank, shipped_verdicts
from torch_embers.progress import Silent
from torch_embers.recheck import recheck as rechecking
from torch_embers.store.store import Store
from torch_embers.verdicts.status import tracked_items

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from torch_embers.cases.case import Case
    from torch_embers.verdicts.ledger import Cell

Verdicts = dict[tuple[str, str], Any]
"""Verdict by case and release."""
SHIPPED: Verdicts = {(row["case"], row["build"]): row["verdict"] for row in shipped_verdicts.matrix()}
WHERE = {"system": "Linux", "device": "cpu", "device_name": None, "capability": "AVX512"}
RELEASES = sorted({release for _, release in SHIPPED}, key=lambda text: [int(part) for part in text.split(".")])


@pytest.fixture
def store(catalog_database: Path) -> Store:
    return Store(catalog_database)


@pytest.fixture
def cases(store: Store) -> list[Case]:
    return [case for case in bank.load(store) if (case.name, RELEASES[0]) in SHIPPED]


class Known:
    """An executor that knows every verdict and runs nothing."""

    ledger = SimpleNamespace(open_batch=lambda *_: 0)

    def __init__(self, verdicts: Verdicts, processor: str) -> None:
        self.verdicts = verdicts
        self.processor = processor

    def __call__(self, *_: object, **__: object) -> Known:
        return self

    def confirming(self, request: Any, _since: Any) -> Any:
        return request

    def sweep(self, request: Any) -> Iterator[Cell]:
        for build in request.builds:
            for case in request.cases:
                cell = cell_of(case, build, decision_of(self.verdicts[case.name, build.name]))
                yield replace(cell, where={**WHERE, "processor": self.processor})


def rechecked(
    store: Store, cases: Sequence[Case], verdicts: Verdicts, releases: Sequence[str], processor: str = "AMD EPYC"
) -> rechecking.Recheck:
    """A re-check against the last of these releases."""
    builds = [build_of(release) for release in releases]
    request = rechecking.RecheckRequest("all", builds[-1], builds, builds, 7.0)
    machine: Any = None
    with pytest.MonkeyPatch.context() as patch, store.writer("test") as writer:
        patch.setattr(rechecking, "Executor", Known(verdicts, processor))
        patch.setattr(rechecking.snapshot, "environment_of", lambda *_: {**WHERE, "processor": processor})
        result = rechecking.recheck(store, writer, machine, cases, request, Silent())
        rechecking.mark_told(writer)
        return result


def check(
    store: Store, cases: Sequence[Case], verdicts: Verdicts, releases: Sequence[str]
) -> Sequence[rechecking.StatusChange]:
    """What a re-check against the last of these releases announces."""
    return rechecked(store, cases, verdicts, releases).news


def replay(store: Store, cases: Sequence[Case], verdicts: Verdicts) -> list[tuple[str, int, str, str]]:
    """What re-checks of each release in turn announce: release, item, backend, kind."""
    told = []
    for place, release in enumerate(RELEASES, 1):
        news = check(store, cases, verdicts, RELEASES[:place])
        told += [(release, change.number, change.backend, str(change.kind)) for change in news]
    return told


def test_releases_replayed_in_order_announce_each_change_of_the_matrix_once(store: Store, cases: list[Case]) -> None:
    told = replay(store, cases, SHIPPED)
    assert_snapshot("announcements.txt", "".join(f"{' '.join(map(str, one))}\n" for one in sorted(told)))
    assert rows(store.path, "SELECT count(*) FROM announcements") == [(len(told),)]
    assert check(store, cases, SHIPPED, RELEASES) == []


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


def test_neither_a_lost_build_nor_a_clock_set_back_repeats_an_announcement(store: Store, cases: list[Case]) -> None:
    case, _ = next(fixed_cases(store, cases))
    column = [*FIXED[:8], *["occurs"] * 9]
    verdicts = {(case.name, release): verdict for release, verdict in zip(RELEASES, column, strict=True)}

    def kinds(releases: Sequence[str]) -> list[str | None]:
        return [change.kind for change in check(store, [case], verdicts, releases)]

    assert kinds(RELEASES[:8]) == ["fixed"]
    execute(
        store.path,
        "UPDATE status_history SET decided_at = decided_at + INTERVAL 1 YEAR WHERE provenance = 'own'",
        "UPDATE announcements SET announced_at = announced_at + INTERVAL 1 YEAR",
    )  # the clock was a year ahead
    assert kinds(RELEASES[:9]) == ["regressed"]
    assert kinds(RELEASES[:9]) == []
    assert kinds([*RELEASES[:5], *RELEASES[8:10]]) == [], "the builds on which it was gone are gone"
    assert kinds(RELEASES[:10]) == []


STATUSES = "SELECT repo, number, backend, status FROM statuses"


@pytest.mark.parametrize("processor", ["AMD EPYC", "Intel"])
def test_clean_runs_without_a_control_leave_the_statuses_of_shipped_verdicts_as_they_are(
    store: Store, cases: list[Case], processor: str
) -> None:
    bare = {key: "not_seen" if verdict == "absent" else verdict for key, verdict in SHIPPED.items()}
    before = {tuple(key): status for *key, status in rows(store.path, STATUSES)}
    gone = {key: status for key, status in before.items() if status in ("fixed", "undecided_absent", "open_but_absent")}
    made = rechecked(store, cases, bare, RELEASES[-1:], processor)
    if processor != "AMD EPYC":  # that a bug was gone for a while is known of the other processor alone
        before = {key: "open_and_occurs" if status == "regressed" else status for key, status in before.items()}
    assert {tuple(key): status for *key, status in rows(store.path, STATUSES)} == before
    assert {key: kept.status for key, kept in made.kept.items()} == gone
    assert {change.status.rpartition("_")[2] for change in made.news} <= {"occurs", "regressed"}
    assert made.counts == Counter(before.values())
    assert f"{Counter(gone.values())['fixed']} fixed (shipped, derived for 2.15.0; no build here" in made.undecided


def test_older_verdicts_of_this_processor_count_although_their_builds_are_not_asked_for(
    store: Store, cases: list[Case]
) -> None:
    before = {(number, backend): status for _, number, backend, status in rows(store.path, STATUSES)}
    elsewhere = rechecked(store, cases, SHIPPED, RELEASES[-1:], "Intel")
    assert [change for change in elsewhere.news if change.kind == "fixed"] == []
    here = rechecked(store, cases, SHIPPED, RELEASES[-1:])
    fixed = {(change.number, change.backend) for change in here.news if change.kind == "fixed"}
    assert fixed >= {key for key, status in before.items() if status == "fixed"}
    # clean on the newest release alone, a bug waits for the second batch of runs, which this re-check is
    assert {before[key] for key in fixed} == {"fixed", "undecided_absent"}
