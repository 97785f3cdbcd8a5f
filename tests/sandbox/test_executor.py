"""Sweeps on small fake builds: impostors, controls, caching, kills, and the re-check that follows."""

from __future__ import annotations

import json
import os
import random
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from helpers.executor import (  # noqa: F401 - fixtures
    BAD,
    FIXED,
    GOOD,
    NEW,
    builds,
    calling,
    check_again,
    fixed_case,
    home,
    put_item,
    registry,
    store,
    sweep,
    verdicts,
)
from support import case_of, eventually, rows
from torch_embers.builds.registry import Registry
from torch_embers.builds.work import Machine
from torch_embers.cases import bank
from torch_embers.progress import Silent
from torch_embers.recheck import recheck as rechecking
from torch_embers.recheck.reports import as_table, exit_code, page
from torch_embers.store.store import Store
from torch_embers.verdicts import ledger
from torch_embers.verdicts.executor import Executor, SweepRequest
from torch_embers.verdicts.ledger import Ledger
from torch_embers.verdicts.matrix import as_csv, as_json_lines, as_junit, changes, entries

if TYPE_CHECKING:
    from torch_embers.verdicts.batch import Batch


# ---- verdicts ------------------------------------------------------------------------------------------------------


def test_a_fixed_bug_occurs_before_and_is_absent_after_with_the_old_build_as_control(
    store: Store, registry: Registry
) -> None:
    cells = sweep(store, registry, [fixed_case(known_bad=[BAD])])
    assert [cells["pt1_example", v].decision.verdict for v in (BAD, GOOD, NEW)] == ["occurs", "absent", "absent"]
    made = cells["pt1_example", NEW].decision
    assert (made.control.kind, made.control.hits, made.control.runs, made.runs) == ("build", 10, 10, 4)
    assert made.detectable_rate == pytest.approx(0.684, abs=0.001)
    spread = "SELECT count(DISTINCT zygote), count(DISTINCT seed), count(*) FROM runs WHERE build LIKE '2.2.2%'"
    assert rows(store.path, spread) == [(3, 4, 4)]


def test_a_control_that_nobody_measured_before_is_found_within_the_sweep(store: Store, registry: Registry) -> None:
    cells = sweep(store, registry, [fixed_case()])
    assert [cells["pt1_example", v].decision.verdict for v in (BAD, GOOD, NEW)] == ["occurs", "absent", "absent"]


IMPOSTORS = {
    "always_exit_0": ("print('fine')", "control_failed"),
    "always_exit_1_silently": ("import sys\nsys.exit(1)", "changed"),
    "always_exit_1": ("import sys\nprint('seen')\nsys.exit(1)", "occurs"),
    "import_error": ("import no_such_package", "untestable"),
    "says_it_cannot": ("import sys\nprint('no API')\nsys.exit(125)", "untestable"),
    "forged_marker": ("""print('REPRODUCED')\nprint('{"outcome": "reproduced", "exit_code": 1}')""", "control_failed"),
    "declared_mismatch_that_segfaults": ("import os, signal\nos.kill(os.getpid(), signal.SIGSEGV)", "changed"),
    "uncaught_exception": ("raise RuntimeError('other')", "changed"),
    "endless_loop": ("while True: pass", "inconclusive"),
    "wrong_exit_code": ("import sys\nprint('x')\nsys.exit(3)", "changed"),
}


def test_an_impostor_gets_the_verdict_that_it_deserves(store: Store, registry: Registry) -> None:
    cases = [
        case_of(code, f"pt1_{name}", timeout=0.2 if "endless" in name else 60) for name, (code, _) in IMPOSTORS.items()
    ]
    cases.append(case_of(name="pt1_of_another_device", requires=["mps"]))
    cells = sweep(store, registry, cases, [NEW])
    wanted = {(f"pt1_{name}", NEW): verdict for name, (_, verdict) in IMPOSTORS.items()}
    assert verdicts(cells) == wanted | {("pt1_of_another_device", NEW): "untestable"}
    noticed = [cell.decision.control.hits for cell in cells.values() if cell.decision.control.kind == "injected"]
    assert not any(noticed), "they have no fault to inject, so none can have been noticed"
    elsewhere = "SELECT count(*) FROM runs JOIN cases USING (case_hash) WHERE requires = ['mps']"
    assert rows(store.path, elsewhere) == [(0,)]


# ---- keeping -------------------------------------------------------------------------------------------------------


def test_a_bug_that_was_not_seen_is_decided_anew_once_a_build_shows_it(store: Store, registry: Registry) -> None:
    case = fixed_case()
    assert verdicts(sweep(store, registry, [case], [NEW])) == {(case.name, NEW): "not_seen"}
    sweep(store, registry, [case], [BAD])
    runs = rows(store.path, "SELECT count(*) FROM runs WHERE build LIKE '2.2.2%'")
    cells = sweep(store, registry, [case], [NEW])
    assert verdicts(cells) == {(case.name, NEW): "absent"}
    assert rows(store.path, "SELECT count(*) FROM runs WHERE build LIKE '2.2.2%'") == runs, "its runs were enough"
    assert not any(cell.fresh for cell in sweep(store, registry, [case], [NEW]).values())


def test_a_failure_that_depends_on_memory_is_decided_by_fresh_starts_alone(store: Store, registry: Registry) -> None:
    case = fixed_case(known_bad=[BAD], signature=["SIGSEGV", "SIGABRT"])
    cells = sweep(store, registry, [case], [NEW])
    made = cells["pt1_example", NEW].decision
    assert (made.verdict, made.runs, made.control.hits, made.control.runs) == ("absent", 4, 10, 10)
    count = "SELECT count(DISTINCT zygote), count(*) FROM runs WHERE build LIKE '{}%'"
    assert rows(store.path, count.format(NEW)) == [(4, 12)]
    assert rows(store.path, count.format(BAD)) == [(10, 10)]
    # a verdict that counted forks as runs is reached again, by fresh starts
    with store.writer("test") as writer, writer.transaction() as connection:
        connection.execute("UPDATE runs SET zygote = 'one', seed = 0 WHERE build LIKE '2.2.2%' AND attempt < 6")
    again = sweep(store, registry, [case], [NEW])
    assert again["pt1_example", NEW].fresh
    assert rows(store.path, count.format(NEW)) == [(4, 15)]
    assert rows(store.path, "SELECT max(attempt) FROM runs WHERE build LIKE '2.2.2%'") == [(14,)]
    assert not sweep(store, registry, [case], [NEW])["pt1_example", NEW].fresh


def drive(database: str, folder: str) -> None:
    """Sweep three cases, and print a line after each verdict."""
    ledger.COMMIT_SECONDS = 0.0
    store, registry = Store(Path(database)), Registry(Path(folder))
    hang = fixed_case((), consequence="hang")
    cases = [fixed_case(known_bad=[BAD]), fixed_case((BAD, GOOD), consequence="crash"), hang]
    with store.writer("test", create=True) as writer:
        with writer.transaction() as connection:
            bank.save(connection, cases)
        executor = Executor(store, writer, Machine(registry), Silent())
        for _ in executor.sweep(SweepRequest(cases, builds(registry), builds(registry))):
            os.write(1, b"cell\n")
    os.write(1, b"done\n")


@pytest.mark.serial
@pytest.mark.timeout(900)
def test_a_driver_killed_at_any_moment_is_resumed_without_repeating_a_run(store: Store, registry: Registry) -> None:
    """The moment is so many verdicts after the start: that does not depend on how quick the machine is."""
    generator = random.Random(11)
    program = calling(drive, store.path, registry.folder)
    for _ in range(4):
        with subprocess.Popen(program, stdout=subprocess.PIPE, text=True) as driver:
            assert driver.stdout is not None
            for _ in range(generator.randrange(9)):
                driver.stdout.readline()
            driver.kill()
    done = subprocess.run(program, capture_output=True, text=True, check=True)
    assert done.stdout.endswith("done\n")
    key = "case_hash, build, environment, batch, injected, attempt"
    assert rows(store.path, f"SELECT {key} FROM runs GROUP BY ALL HAVING count(*) > 1") == []

    def nobody_is_left() -> bool:
        left = subprocess.run(["pgrep", "-f", str(registry.folder)], capture_output=True, text=True, check=False).stdout
        return not [pid for pid in left.split() if int(pid) != os.getpid()]

    eventually(nobody_is_left)


@pytest.mark.parametrize(
    ("bad", "state", "status"),
    [
        ((BAD,), "closed", "fixed"),
        ((BAD,), "open", "open_but_absent"),
        ((BAD, GOOD, NEW), "closed", "closed_but_occurs"),
        ((BAD, NEW), "closed", "regressed"),
    ],
)
def test_a_change_is_told_once_with_its_evidence(
    store: Store, registry: Registry, bad: tuple[str, ...], state: str, status: str
) -> None:
    put_item(store, 1, state)
    case = fixed_case(bad, known_bad=[BAD], relation="same")
    found = check_again(store, registry, [case])
    assert [(c.number, c.status, c.previous) for c in found.news] == [(1, status, None)]
    assert exit_code(found) == 10
    [evidence] = found.news[0].evidence
    assert "pt1_example" in evidence
    assert "control 10/10 on 2.0.1" in evidence or "occurs" in evidence
    batch = rows(store.path, "SELECT count(DISTINCT batch) FROM verdicts WHERE build LIKE '2.2.2%'")
    assert batch == [(2 if status in ("fixed", "open_but_absent") else 1,)]
    assert r"A \[bold\] title" in page(found, "md")
    assert as_table(found)["changes"][0]["status"] == status
    runs = rows(store.path, "SELECT count(*) FROM runs")
    again = check_again(store, registry, [case])
    assert again.news == []
    assert (again.fresh, exit_code(again)) == (0, 0)
    assert rows(store.path, "SELECT count(*) FROM runs") == runs
    assert rows(store.path, "SELECT count(*) FROM announcements") == [(1,)]
    assert rows(store.path, "SELECT status FROM statuses") == [(status,)]


def test_a_re_check_of_one_build_has_its_control_elsewhere_and_forgets_nothing_without_one(
    store: Store, registry: Registry
) -> None:
    put_item(store, 1, "closed")
    case = fixed_case(known_bad=[BAD])
    found = check_again(store, registry, [case], on=[NEW])
    assert [(c.number, c.status) for c in found.news] == [(1, "fixed")]
    again = check_again(store, registry, [case], on=[NEW], controls=[NEW], every=0)
    assert [cell.decision.verdict for cell in again.cells] == ["not_seen"]
    assert (again.changes, again.counts) == ((), {"fixed": 1})
    source = f"own, derived for {NEW}"
    assert (
        again.undecided == f"not decided now, these keep their status: 1 fixed ({source}; no build here shows the bug)"
    )
    assert again.items == "1 fixed (1 not decided now)"
    assert (found.is_first, again.is_first) == (True, False)


def test_what_a_sibling_case_shows_is_kept_and_not_told(store: Store, registry: Registry) -> None:
    put_item(store, 1, "closed")
    sibling = fixed_case((BAD,), known_bad=[BAD], relation="sibling")
    found = check_again(store, registry, [sibling])
    assert ([(c.number, c.status) for c in found.changes], found.news) == ([(1, "undecided_absent")], [])
    assert exit_code(found) == 0
    back = fixed_case((BAD, NEW), known_bad=[BAD], relation="sibling", timeout=50)
    found = check_again(store, registry, [back])
    assert ([(c.number, c.status) for c in found.changes], found.news) == ([(1, "undecided_occurs")], [])


@pytest.mark.parametrize("moment", ["amid its runs", "before it is written"])
def test_a_second_batch_that_is_interrupted_goes_on_and_is_not_made_a_third_time(
    tmp_path: Path, store: Store, registry: Registry, monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    whole, store = Store(tmp_path / "whole.duckdb"), Store(tmp_path / "e.duckdb")
    for database in (whole, store):
        put_item(database, 1, "open")
    check_again(whole, registry, [fixed_case(known_bad=[BAD])])

    class StoppedError(Exception):
        pass

    def stop(*_: object) -> None:
        raise StoppedError

    def stop_amid(own: Ledger, batch: Batch, *rest: Any) -> None:
        keep(own, batch, *rest)
        if batch.number == 1 and batch.build.name == NEW:
            own.commit()
            raise StoppedError

    keep = Ledger.keep
    with monkeypatch.context() as patch, pytest.raises(StoppedError):
        if moment == "amid its runs":
            patch.setattr(Ledger, "keep", stop_amid)
        else:
            patch.setattr(rechecking, "_write", stop)
        check_again(store, registry, [fixed_case(known_bad=[BAD])])
    assert rows(store.path, "SELECT count(*) FROM status_history") == [(0,)]
    again = check_again(store, registry, [fixed_case(known_bad=[BAD])])
    assert [change.kind for change in again.news] == ["open_but_absent"]
    for query in (
        "SELECT build, batch, count(*) FROM runs GROUP BY ALL ORDER BY ALL",
        "SELECT build, batch, verdict, k, n, control_build, control_k, control_n FROM verdicts ORDER BY ALL",
    ):
        assert rows(store.path, query) == rows(whole.path, query)


# ---- what is printed -----------------------------------------------------------------------------------------------


def test_the_matrix_is_the_same_in_every_form(store: Store, registry: Registry) -> None:
    sweep(store, registry, [fixed_case(known_bad=[BAD])])
    found = entries(store)
    assert [(e.build, e.verdict) for e in found] == [(BAD, "occurs"), (GOOD, "absent"), (NEW, "absent")]
    assert changes(found) == {"pt1_example": [(BAD, "occurs"), (GOOD, "absent")]}
    lines = [json.loads(line) for line in as_json_lines(found).splitlines()]
    assert [line["verdict"] for line in lines] == ["occurs", "absent", "absent"]
    assert len(as_csv(found).splitlines()) == 4
    junit = as_junit(found).decode()
    assert junit.count("<testsuite ") == 3
    assert junit.count("<failure") == 1
