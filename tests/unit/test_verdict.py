"""Outcomes, numbers of runs, verdicts, batch: the rules of data/verdicts.toml."""

from __future__ import annotations

import itertools
import math
import random
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers.verdicts import build_of, cell_of
from support import case_of
from torch_embers.recheck.recheck import evidence_line
from torch_embers.signature import parse_family
from torch_embers.statistics.absence import AbsenceRules, lower_bound, runs_needed
from torch_embers.statistics.intervals import detectable_rate
from torch_embers.verdicts.batch import Batch, cannot_run_here, control_builds, control_releases
from torch_embers.verdicts.verdict import (
    OUTCOMES,
    VERDICTS,
    Control,
    Observation,
    Outcome,
    decide,
    observe,
    planned,
    was_hindered,
)

if TYPE_CHECKING:
    from torch_embers.cases.case import Case

RULES = AbsenceRules.load()
MISMATCH = parse_family("mismatch")


@dataclass(frozen=True)
class Ended:
    exit_code: int | None = 0
    signal: int | None = None
    ended: str = "exited"
    detail: str = ""
    stdout: str = ""
    stderr: str = ""
    duration: float = 0.1
    waited: float = 0.0


@dataclass(frozen=True)
class Declared:
    oracle: str = "self"
    signature: Any = MISMATCH


def traceback(line: str) -> str:
    return f'Traceback (most recent call last):\n  File "x.py", line 1, in <module>\n{line}\n'


def failing(family: str) -> Declared:
    return Declared("exception", parse_family(family))


# ---- one run -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("declared", "run", "outcome"),
    [
        # a case that judges itself is believed by its exit code alone
        (Declared(), Ended(0, stdout="equal\n"), "not_reproduced"),
        (Declared(), Ended(1, stdout="off by 3\n"), "reproduced"),
        (Declared(), Ended(125, stdout="no such API\n"), "cannot_run"),
        (Declared(), Ended(1, stdout="", stderr=""), "different_failure"),
        (Declared(), Ended(1, stdout="x", stderr=traceback("RuntimeError: boom")), "different_failure"),
        (Declared(), Ended(1, stderr=traceback("ModuleNotFoundError: No module named 'scipy'")), "cannot_run"),
        (Declared(), Ended(1, stdout="x", stderr=traceback("MemoryError")), "cannot_run"),
        (Declared(), Ended(2, stdout="usage"), "different_failure"),
        (Declared(), Ended(None, 11, "signalled"), "different_failure"),
        (Declared(), Ended(None, 9, "timeout"), "timeout"),
        (Declared(), Ended(None, 9, "memory"), "out_of_memory"),
        (Declared(), Ended(None, None, "sandbox_error"), "sandbox_error"),
        (Declared(), Ended(None, 9, "output"), "different_failure"),
        (Declared(), Ended(0, stdout="REPRODUCED: exit code 1\nreproduced\n"), "not_reproduced"),
        # a case may be judged by its signature
        (failing("RuntimeError: boom"), Ended(1, stderr=traceback("RuntimeError: boom 3")), "reproduced"),
        (failing("RuntimeError: boom"), Ended(1, stderr=traceback("RuntimeError: other")), "different_failure"),
        (failing("ImportError"), Ended(1, stderr=traceback("ImportError: cannot import")), "reproduced"),
        (failing("RuntimeError"), Ended(1, stderr=traceback("FileNotFoundError: no x")), "cannot_run"),
        (failing("SIGSEGV"), Ended(None, 11, "signalled"), "reproduced"),
        (failing("SIGSEGV"), Ended(None, 6, "signalled"), "different_failure"),
        (failing("SIGSEGV"), Ended(0), "not_reproduced"),
        (failing("hang"), Ended(None, 9, "timeout"), "reproduced"),
        (failing("memory"), Ended(None, 9, "memory"), "reproduced"),
        (failing("RuntimeError"), Ended(None, 9, "timeout"), "timeout"),
        (Declared("self", parse_family(["mismatch", "SIGSEGV"])), Ended(None, 11, "signalled"), "reproduced"),
    ],
)
def test_a_run_is_judged_by_exit_code_or_signature(declared: Declared, run: Ended, outcome: Outcome) -> None:
    assert observe(declared, run).outcome == outcome


@given(
    st.sampled_from(["self", "exception", "signal"]),
    st.one_of(st.none(), st.integers(0, 255)),
    st.one_of(st.none(), st.integers(1, 31)),
    st.sampled_from(["exited", "signalled", "timeout", "memory", "output", "sandbox_error", "anything"]),
    st.text(max_size=60),
    st.text(max_size=60),
)
def test_every_end_has_an_outcome(
    oracle: str, code: int | None, number: int | None, ended: str, out: str, err: str
) -> None:
    said = observe(Declared(oracle), Ended(code, number, ended, "", out, err))
    assert said.outcome in OUTCOMES


BUSY = {"duration": 21.0, "waited": 9.0}
HANG = parse_family("hang")


@pytest.mark.parametrize(
    ("run", "signature", "hindered"),
    [
        (Ended(125, **BUSY), MISMATCH, True),  # a child's alarm may have rung
        (Ended(125, duration=21.0, waited=0.3), MISMATCH, False),  # a quiet machine
        (Ended(125, duration=0.2, waited=0.1), MISMATCH, False),  # too short for an alarm
        (Ended(1, stdout="off by 3", **BUSY), MISMATCH, False),  # a wrong value is one at any load
        (Ended(1, stdout="no answer in 3 s", **BUSY), HANG, True),  # a hang by the case's clock
        (Ended(0, **BUSY), HANG, False),
        (Ended(None, 9, "timeout", duration=180.0, waited=130.0), MISMATCH, True),  # most time was not its own
        (Ended(None, 9, "timeout", duration=90.0, waited=30.0), MISMATCH, False),  # it had its whole limit
        (Ended(None, 9, "memory", **BUSY), MISMATCH, False),  # memory does not depend on load
    ],
)
def test_a_run_is_hindered_only_where_time_ended_it_on_a_busy_machine(run: Any, signature: Any, hindered: bool) -> None:
    case = case_of(signature=[str(one) for one in signature], timeout=60)
    assert was_hindered(case, run, RULES) is hindered
    batch = Batch(case, BUILD, "e", 0)
    again = [True, True, False, True] if hindered else [False] * 4
    assert [batch.makes_again(run, RULES) for _ in range(4)] == again, "twice, and then it counts"


# ---- how many runs -------------------------------------------------------------------------------------------------


def test_the_number_of_runs_follows_from_the_control() -> None:
    assert [runs_needed(k, k, RULES) for k in (1, 3, 10)] == [90, 11, 4]
    assert runs_needed(0, 10, RULES) is None
    by_hits = [needed for hits in range(1, 11) if (needed := runs_needed(hits, 10, RULES))]
    assert len(by_hits) == 10
    assert by_hits == sorted(by_hits, reverse=True)


@given(st.integers(1, 30), st.integers(1, 30))
def test_the_bound_is_that_of_clopper_and_pearson(hits: int, more: int) -> None:
    runs = max(hits, more)
    bound = lower_bound(hits, runs, 0.95)
    tail = sum(math.comb(runs, i) * bound**i * (1 - bound) ** (runs - i) for i in range(hits, runs + 1))
    assert tail == pytest.approx(0.05, abs=1e-9)
    assert 0 < bound < hits / runs or hits == runs


@given(st.integers(1, 200))
def test_a_bug_at_the_detectable_rate_is_missed_once_in_a_hundred(runs: int) -> None:
    assert (1 - detectable_rate(runs, RULES.miss)) ** runs == pytest.approx(RULES.miss)


# ---- verdicts ------------------------------------------------------------------------------------------------------


def seen(*outcomes: str) -> list[Observation]:
    return [Observation(o, None, o) for o in outcomes]  # type: ignore[arg-type]


BUILD_CONTROL = Control("build", "old", 10, 10)


@pytest.mark.parametrize(
    ("outcomes", "control", "verdict"),
    [
        (["reproduced"] * 3, Control(), "occurs"),
        (["reproduced", "not_reproduced", "reproduced"], Control(), "occurs"),
        (["reproduced", *["not_reproduced"] * 11], Control(), "inconclusive"),
        (["not_reproduced"] * 4, BUILD_CONTROL, "absent"),
        (["not_reproduced"] * 10, Control(), "not_seen"),
        (["not_reproduced"] * 10, Control("injected", "b", 3, 3), "not_seen"),
        (["not_reproduced"] * 10, Control("injected", "b", 0, 3), "control_failed"),
        (["not_reproduced"] * 10, Control("build", "old", 0, 10), "control_failed"),
        (["different_failure"] * 4, BUILD_CONTROL, "changed"),
        (["different_failure", *["not_reproduced"] * 5], BUILD_CONTROL, "inconclusive"),
        (["cannot_run"] * 3, BUILD_CONTROL, "untestable"),
        (["timeout"] * 4, BUILD_CONTROL, "inconclusive"),
        (["sandbox_error"] * 4, BUILD_CONTROL, "inconclusive"),
        (["out_of_memory", *["not_reproduced"] * 3], BUILD_CONTROL, "inconclusive"),
        ([], BUILD_CONTROL, "inconclusive"),
    ],
)
def test_runs_and_control_give_the_verdict(outcomes: list[str], control: Control, verdict: str) -> None:
    assert decide(seen(*outcomes), control, planned(control, RULES), RULES).verdict == verdict


def test_beside_an_injected_fault_no_rate_is_claimed_and_it_is_told_with_what_it_is_worth() -> None:
    clean = seen(*["not_reproduced"] * 10)
    made = decide(clean, Control("injected", "b", 3, 3), 10, RULES)
    assert made.detectable_rate is None
    line = evidence_line(cell_of(case_of(), BUILD, made))
    assert "injected fault noticed 3/3, which shows only that the check can fail" in line
    assert "a hit rate above" not in line
    failed = decide(clean, Control("injected", "b", 0, 3), 10, RULES)
    assert "control_failed 0/10, injected fault not noticed (0/3): mend the case" in evidence_line(
        cell_of(case_of(), BUILD, failed)
    )
    assert decide(clean, BUILD_CONTROL, 4, RULES).detectable_rate == pytest.approx(detectable_rate(10, RULES.miss))


@given(
    st.lists(st.sampled_from(OUTCOMES), max_size=30), st.integers(0, 10), st.sampled_from(["build", "injected", "none"])
)
def test_absence_is_never_claimed_beside_a_hit_or_without_a_control(outcomes: list[str], hits: int, kind: Any) -> None:
    control = Control(kind, "b", hits, 10)
    made = decide(seen(*outcomes), control, planned(control, RULES), RULES)
    assert made.verdict in VERDICTS
    if made.verdict == "absent":
        assert made.hits == 0
        assert kind == "build"
        needed = runs_needed(hits, 10, RULES)
        assert needed is not None
        assert made.runs >= needed
    if outcomes.count("reproduced") > 1:
        assert made.verdict == "occurs"
        assert made.flaky == (made.hits < made.runs)


# ---- batch --------------------------------------------------------------------------------------------------------

BUILD = build_of("2.0.1")


def play(one: Batch, outcome: Any, rules: AbsenceRules = RULES) -> int:
    """Run a batch to its end; return how many zygotes it used."""
    used = 0
    for turn in range(one.turns(rules)):
        one.begin_turn()
        before = len(one.seen)
        while one.wants(turn, rules):
            one.take(Observation(outcome(), None, ""), rules)
        used += len(one.seen) > before
    return used


def new_batch(case: Case | None = None, control: Control = BUILD_CONTROL) -> Batch:
    made = Batch(case or case_of(), BUILD, "env", 0)
    made.plan(control, RULES)
    return made


@pytest.mark.parametrize(
    ("outcomes", "made", "verdict"),
    [
        ("reproduced", 3, "occurs"),
        ("not_reproduced", planned(BUILD_CONTROL, RULES), "absent"),
        ("cannot_run", 3, "untestable"),
        ("timeout", RULES.most_timeouts, "inconclusive"),
        ("reproduced timeout timeout reproduced reproduced", 5, "occurs"),
    ],
)
def test_a_series_is_spread_over_three_zygotes_and_ends_early_only_where_more_runs_tell_nothing(
    outcomes: str, made: int, verdict: str
) -> None:
    one, source = new_batch(), itertools.cycle(outcomes.split())
    assert play(one, lambda: next(source)) == (1 if outcomes == "timeout" else 3)
    assert (len(one.seen), one.decide(RULES).verdict) == (made, verdict)


@pytest.mark.parametrize(("hits", "starts"), [(10, 4), (9, 5), (5, 19), (2, RULES.layout_most)])
def test_fresh_starts_are_counted_where_a_failure_depends_on_the_layout_of_memory(hits: int, starts: int) -> None:
    one = new_batch(case_of(signature=["SIGSEGV", "SIGABRT"]), Control("build", "old", hits, 10))
    assert play(one, lambda: "not_reproduced") == starts
    assert one.made == starts * RULES.layout_forks
    made = one.decide(RULES)
    assert made.runs == starts
    assert made.detectable_rate == detectable_rate(starts, RULES.miss)
    assert made.verdict == ("absent" if starts < RULES.layout_most else "not_seen")


def test_a_start_is_a_hit_where_one_of_its_forks_hits_and_those_that_were_cut_short_do_not_count() -> None:
    outcomes = iter(["not_reproduced", "not_reproduced", "reproduced", "reproduced", "not_reproduced", "reproduced"])
    one = new_batch(case_of(signature="SIGSEGV"))
    assert play(one, lambda: next(outcomes)) == 3
    assert (one.decide(RULES).hits, one.decide(RULES).runs, one.made) == (3, 3, 6)
    one = new_batch(case_of(signature="SIGSEGV"))
    clean, hit = Observation("not_reproduced", None, ""), Observation("reproduced", None, "")
    first, second, third = (one.seed(turn, 0) for turn in range(3))
    one.recall([(first, clean), (first + 1, clean), (first + 2, clean), (second + 3, hit), (third + 4, clean)], RULES)
    assert one.made == 5
    assert [seen.outcome for seen in one.seen] == ["not_reproduced", "reproduced"]
    other = new_batch()
    other.recall([(first, clean), (first + 1, hit)], RULES)
    assert len(other.seen) == 2


@pytest.mark.parametrize("signature", ["mismatch", "SIGSEGV"])
def test_a_control_batch_has_a_fixed_size_whatever_it_sees_but_time_limits(signature: str) -> None:
    for outcome in OUTCOMES:
        one = Batch(case_of(signature=signature), BUILD, "env", 0)
        one.plan_control(RULES)
        play(one, lambda outcome=outcome: outcome)
        expected = RULES.most_timeouts if outcome == "timeout" else RULES.control_batch
        assert len(one.seen) == expected, outcome
        assert one.made == expected or (signature, outcome) != ("SIGSEGV", "reproduced"), "as many starts as runs"


def test_a_bug_that_shows_in_three_of_ten_runs_is_found_and_called_flaky() -> None:
    generator = random.Random(7)
    made = []
    for _ in range(200):
        one = new_batch(control=Control("build", "old", 3, 10))
        play(one, lambda: "reproduced" if generator.random() < 0.3 else "not_reproduced")
        made.append(one.decide(RULES))
    assert sum(one.verdict == "occurs" for one in made) >= 195
    assert sum(one.flaky for one in made) >= 150


@given(st.lists(st.sampled_from(OUTCOMES), min_size=200, max_size=200), st.integers(1, 10))
def test_a_batch_always_ends_and_an_interrupted_one_goes_on(outcomes: list[str], hits: int) -> None:
    source = iter(outcomes)
    one = new_batch(control=Control("build", "old", hits, 10))
    play(one, lambda: next(source))
    assert len(one.seen) <= one.planned + RULES.confirmations
    assert one.is_settled(RULES)
    resumed = new_batch(control=Control("build", "old", hits, 10))
    resumed.seen = one.seen[: len(one.seen) // 2]
    rest = iter(outcomes[len(resumed.seen) :])
    play(resumed, lambda: next(rest))
    assert resumed.is_settled(RULES)


VERSIONS = ("1.13.1", "2.0.1", "2.1.2", "2.2.2")


def test_controls_are_builds_that_are_known_to_show_the_bug_and_as_few_as_will_do() -> None:
    builds = [build_of(v) for v in VERSIONS]
    one = case_of(known_bad=["1.13.1", "2.0.1"])
    two = case_of(known_bad=["2.0.1", "2.1.2", "2.2.2"], consequence="crash")
    other = case_of(known_bad=[], consequence="hang")
    alone = control_builds([one], builds, {})
    assert alone[one.hash].version == "2.0.1"
    together = control_builds([one, two, other], builds, {other.hash: {builds[0].identity}})
    assert {h: b.version for h, b in together.items()} == {one.hash: "2.0.1", two.hash: "2.0.1", other.hash: "1.13.1"}
    assert control_builds([other], builds, {}) == {}
    bad = (["1.13.1", "2.0.1"], ["2.0.1"], ["2.9.1", "2.10.0"], [])
    assert control_releases([case_of(known_bad=known) for known in bad]) == {"2.0.1": 2, "2.10.0": 1}


@given(st.lists(st.sets(st.sampled_from(VERSIONS)), max_size=8))
def test_every_case_with_a_known_bad_build_gets_one_of_its_own(bad: list[set[str]]) -> None:
    builds = [build_of(v) for v in VERSIONS]
    cases = [case_of(known_bad=sorted(v), timeout=place + 1) for place, v in enumerate(bad)]
    chosen = control_builds(cases, builds, {})
    for case, versions in zip(cases, bad, strict=True):
        assert (case.hash in chosen) == bool(versions)
        assert not versions or chosen[case.hash].version in versions


def test_a_case_is_not_tried_where_its_needs_are_not_met() -> None:
    assert cannot_run_here(case_of(requires=["mps"]), BUILD) == "no mps here"
    assert "torch>=2.1" in (cannot_run_here(case_of(requires=["cpu", "torch>=2.1"]), BUILD) or "")
    assert "GiB of memory" in (cannot_run_here(case_of(requires=["cpu", "memory>=100000GiB"]), BUILD) or "")
    assert cannot_run_here(case_of(), BUILD) is None
