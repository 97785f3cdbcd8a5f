"""Sweeps and re-checks on small fake builds at night: busy machines, flaky bugs, changed cases, old verdicts, what is no news."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from helpers.executor import (  # noqa: F401 - fixtures
    BAD,
    FIXED,
    GOOD,
    NEW,
    check_again,
    fixed_case,
    home,
    put_item,
    registry,
    store,
    sweep,
    verdicts,
)
from support import case_of, execute, fake_python, rows
from torch_embers.builds.registry import BuildError, Registry
from torch_embers.builds.work import Machine
from torch_embers.progress import Silent
from torch_embers.sandbox.runner import drive
from torch_embers.verdicts import schedule
from torch_embers.verdicts.executor import Executor, SweepRequest
from torch_embers.verdicts.matrix import entries

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from torch_embers.sandbox.runner import Attempt, RunResult, Worker
    from torch_embers.store.store import Store


def test_a_run_that_a_busy_machine_hindered_is_made_again_and_not_stored(
    store: Store, registry: Registry, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = []

    def busy(workers: Sequence[Worker], feed: Callable[[Worker], Attempt | None]) -> Iterator[tuple[Worker, RunResult]]:
        """Every third run is the first that is not hindered."""
        for worker, result in drive(workers, feed):
            made.append(result)
            hindered = replace(result, exit_code=125, stdout="the child was killed", duration=20.0, waited=15.0)
            yield worker, result if len(made) % 3 == 0 else hindered

    monkeypatch.setattr(schedule, "drive", busy)
    cells = sweep(store, registry, [fixed_case(known_bad=[BAD])], [NEW])
    assert verdicts(cells) == {("pt1_example", NEW): "absent"}
    assert rows(store.path, "SELECT outcome, count(*) FROM runs GROUP BY outcome ORDER BY outcome") == [
        ("not_reproduced", 4),
        ("reproduced", 10),
    ]
    assert len(made) == 3 * 14


def test_a_changed_case_is_run_anew_and_its_old_verdicts_stay(store: Store, registry: Registry) -> None:
    sweep(store, registry, [fixed_case((BAD, GOOD, NEW))], [NEW])
    cells = sweep(store, registry, [fixed_case()], [NEW])
    assert cells["pt1_example", NEW].fresh
    assert rows(store.path, "SELECT count(*) FROM verdicts") == [(2,)]
    assert [e.verdict for e in entries(store)] == ["not_seen"]


def test_a_build_that_vanishes_is_one_line_and_what_was_done_stays(tmp_path: Path, store: Store, home: Path) -> None:
    other = Registry(tmp_path / "registry")
    python = fake_python(tmp_path / "gone", "2.3.1")
    other.register(Path(Registry(home / "registry").find(GOOD).python))
    other.register(python)
    shutil.rmtree(python.parent.parent)
    with store.writer("test", create=True) as writer, pytest.raises(BuildError, match="is no program") as caught:
        executor = Executor(store, writer, Machine(other), Silent())
        chosen = [other.find(GOOD), other.find("2.3.1")]
        list(executor.sweep(SweepRequest([fixed_case()], chosen, chosen)))
    assert "\n" not in str(caught.value)
    assert rows(store.path, "SELECT count(*) FROM verdicts") == [(1,)]


def test_items_with_the_same_script_are_announced_with_the_same_evidence(store: Store, registry: Registry) -> None:
    for number in (1, 2):
        put_item(store, number, "closed")
    code = FIXED.format(bad=[BAD, GOOD, NEW])
    cases = [
        case_of(code, f"pt{n}_same", issues=[f"pytorch/pytorch#{n}"], known_bad=[BAD], relation="same") for n in (1, 2)
    ]
    assert cases[0].hash == cases[1].hash
    news = check_again(store, registry, cases).news
    assert {change.number: [line[:20] for line in change.evidence] for change in news} == {
        1: ["pt1_same: occurs 3/3"],
        2: ["pt2_same: occurs 3/3"],
    }
    assert [[script.name for script in change.scripts] for change in news] == [["pt1_same"], ["pt2_same"]]


def test_a_verdict_that_is_too_old_is_reached_again_by_a_fresh_batch(store: Store, registry: Registry) -> None:
    put_item(store, 1, "open")
    case = fixed_case((BAD, GOOD, NEW))
    check_again(store, registry, [case])
    with store.writer("test", create=True) as writer, writer.transaction() as connection:
        for table, column in (("runs", "ran_at"), ("verdicts", "decided_at")):
            connection.execute(f"UPDATE {table} SET {column} = {column} - INTERVAL 8 DAY")
    found = check_again(store, registry, [case])
    assert found.fresh == 1, "only on the reference build: released builds do not change"
    assert found.news == []
    assert rows(store.path, "SELECT max(batch) FROM verdicts") == [(2,)]


def test_a_fix_that_stands_beside_its_issue_is_not_told_a_second_time(store: Store, registry: Registry) -> None:
    put_item(store, 1, "closed")
    put_item(store, 2, "closed")
    execute(store.path, "UPDATE items SET kind = 'pull' WHERE number = 2")
    case = fixed_case((BAD,), known_bad=[BAD], issues=["pytorch/pytorch#1", "pytorch/pytorch#2"])
    assert [c.number for c in check_again(store, registry, [case]).news] == [1]
    alone = fixed_case((BAD,), known_bad=[BAD], issues=["pytorch/pytorch#2"], timeout=50)
    found = check_again(store, registry, [alone])
    assert ([(c.number, c.status) for c in found.changes], found.news) == ([(2, "undecided_absent")], [])


def test_only_items_in_the_wanted_state_are_checked(store: Store, registry: Registry) -> None:
    put_item(store, 1, "open")
    assert check_again(store, registry, [fixed_case()], only="closed").cells == ()
    assert check_again(store, registry, [fixed_case()], only="open").counts == {"open_but_absent": 1}
    put_item(store, 2, "closed")
    both = fixed_case((BAD,), known_bad=[BAD], issues=["pytorch/pytorch#1", "pytorch/pytorch#2"])
    assert check_again(store, registry, [both], only="closed").counts == {"fixed": 1}
    assert check_again(store, registry, [both], only="closed").fresh == 0, "the absence on the other is not asked for"


def test_a_sweep_that_goes_on_has_the_controls_that_it_began_with(store: Store, registry: Registry) -> None:
    """Of the case that is left alone the newer build would serve as well."""
    several, one = fixed_case(known_bad=[BAD]), fixed_case((BAD, GOOD), known_bad=[BAD, GOOD], consequence="crash")
    first = sweep(store, registry, [several, one], [NEW])
    with store.writer("test") as writer, writer.transaction() as connection:
        connection.execute("DELETE FROM verdicts WHERE case_hash = ?", [one.hash])
    again = sweep(store, registry, [several, one], [NEW])
    assert {cell.decision.control.build for cell in (*first.values(), *again.values())} == {registry.find(BAD).identity}
    assert rows(store.path, "SELECT DISTINCT build FROM runs WHERE build LIKE '2.1.2%'") == []
