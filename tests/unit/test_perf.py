"""`embers research perf`: builds in turn, changes that stayed, and what could not be timed."""

from __future__ import annotations

import ast
import itertools
import mmap
import random
import sys
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from torch_embers.cases.case import shipped
from torch_embers.errors import InputError
from torch_embers.oracles import counters, timing
from torch_embers.perf import comparison, timed_cases
from torch_embers.perf import measure as perf
from torch_embers.progress import Silent

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

LIMITS = perf.PerfRules.load().limits


BUILDS: Any = [
    SimpleNamespace(name=name, version=name, python=name, identity=name)
    for name in ("2.0.1", "2.1.2", "2.2.2", "2.3.1")
]


def test_a_small_margin_lets_a_small_difference_be_seen() -> None:
    draw = random.Random(2)
    even, more = ([size * draw.lognormvariate(0, 0.005) for _ in range(15)] for size in (1.0, 1.06))
    assert timing.judge_times(even, more, 0.1).verdict == "no difference shown"
    assert timing.judge_times(even, more, 0.03).verdict == "slower"
    seen = timing.judge_times(even, even[::-1], 0.0)
    assert seen.visible < 0.03, "with a margin of 10 % no difference below that can be shown"
    assert timing.judge_times(even, even[::-1], 0.1).visible > 0.1


@pytest.mark.skipif(sys.platform != "linux", reason="the account of a thread is Linux's")
def test_counters_that_the_machine_lacks_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(counters.platform, "machine", lambda: "riscv64")
    counting = counters.Counters()
    before = counting.read()
    with mmap.mmap(-1, 16 << 20) as fresh:  # no allocator has these pages already
        fresh.write(b"x" * len(fresh))
        after = counting.read()
    assert set(after) == set(counters.SOFTWARE)
    assert after["page_faults"] > before["page_faults"]


def test_what_was_counted_stands_beside_the_times_and_every_round_is_kept() -> None:
    faults = itertools.cycle((2.0, 9.0, 2.0, 2.0, 1.0))

    def run(build: Any) -> Iterator[tuple[str, perf.Answer]]:
        counted = {"page_faults": next(faults)} if build.name != "2.0.1" else {}
        yield "call", timing.Sample(1.0, counted)

    made = perf.take_turns(BUILDS, 6, 0.1, run, Silent())
    rows = {row["build"]: row for row in made.rows()}
    assert (rows["2.3.1"]["page_faults"], rows["2.3.1"]["cycles"], rows["2.0.1"]["page_faults"]) == (2.0, None, None)
    assert made.table()["rounds"]["call"]["2.3.1"] == [1.0] * 6
    assert comparison.as_csv(made).splitlines()[0].endswith(",instructions,cycles,page_faults,context_switches")


def test_builds_take_turns_and_one_that_fails_or_dies_is_left_out_of_those_calls_with_its_reason() -> None:
    order: list[str] = []

    def run(build: Any) -> Iterator[tuple[str, perf.Answer]]:
        order.append(build.name)
        yield "first", ("no such operator" if build.name == "2.0.1" and len(order) > 4 else timing.Sample(1.0, {}))
        if build.name == "2.1.2" and order.count("2.1.2") == 3:
            yield "all calls", "killed"
        else:
            yield "second", timing.Sample(1.0, {})

    made = perf.take_turns(BUILDS, 6, 0.1, run, Silent())
    assert all(sorted(order[place : place + 4]) == sorted({b.name for b in BUILDS}) for place in range(0, 24, 4))
    assert order[:4] != order[4:8]
    assert made.failed == [("first", "2.0.1", "no such operator"), ("all calls", "2.1.2", "killed")]
    assert set(made.times["first"]) == {"2.1.2", "2.2.2", "2.3.1"}
    assert set(made.times["second"]) == {"2.0.1", "2.2.2", "2.3.1"}
    assert comparison.lines(made)


def test_an_unknown_call_and_a_single_build_are_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no call 'frobnicate'"):
        perf.PerfRules.load().chosen(["frobnicate"])
    monkeypatch.setattr(comparison, "chosen_builds", lambda *_: BUILDS[:1])
    with pytest.raises(InputError, match=r"needs two builds, and there is 2\.0\.1"):
        comparison.run(None, (), (), (), None)
    monkeypatch.setattr(comparison, "chosen_builds", lambda *_: BUILDS)
    with pytest.raises(InputError, match="no script"):
        comparison.run(tmp_path / "none.py", (), (), (), None)
    with pytest.raises(InputError, match="give one of a script"):
        comparison.run(tmp_path / "none.py", (), (), ("add",), None)


def test_a_call_that_is_newer_than_a_build_is_a_row_with_the_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(comparison, "chosen_builds", lambda *_: BUILDS[:2])
    monkeypatch.setattr(perf, "_answers", lambda *_: [("new", timing.Sample(1.0, {}))])
    new = perf.TimedCall(name="new", setup="", call="", needs="2.1")
    made = perf.time_calls(BUILDS[:2], [new], LIMITS, 6, Silent())
    assert set(made.times["new"]) == {"2.1.2"}
    assert made.failed == [("new", "2.0.1", "needs 2.1 or newer")]
    monkeypatch.setattr(perf.PerfRules, "chosen", lambda *_: [new.model_copy(update={"needs": "2.2"})])
    with pytest.raises(InputError, match=r"nothing could be timed: new on 2\.\d\.\d: needs 2\.2 or newer"):
        comparison.run(None, (), (), ("new",), None)


def test_what_a_library_prints_beside_the_times_is_passed_over(tmp_path: Path) -> None:
    python = tmp_path / "python"
    python.write_text(
        '#!/bin/sh\nprintf \'[W NNPACK.cpp:64] \\377\\n[rank0]\\n[]\\n[1, 2]\\n["x", 3]\\nembers-seconds ["mm", [0.5, {}]]\\n\'\n'
    )
    python.chmod(0o755)
    assert list(perf._answers(str(python), "", 60)) == [("mm", timing.Sample(0.5, {}))]


def test_a_script_that_failed_is_not_run_there_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def sample(python: str, *_: Any) -> timing.Sample:
        asked.append(python)
        if python == "2.0.1":
            raise timing.TimingError("x.py ran longer than 300 s on 2.0.1")
        if python == "2.1.2":
            raise timing.TimingError("x.py failed on 2.1.2: Permission denied")
        return timing.Sample(1.0, {})

    monkeypatch.setattr(timing, "sample", sample)
    script = tmp_path / "x.py"
    script.write_text("")
    made = perf.time_script(BUILDS, script, (), LIMITS, 6, Silent())
    assert [asked.count(build.name) for build in BUILDS] == [1, 1, 6, 6]
    assert sorted(build for _, build, _ in made.failed) == ["2.0.1", "2.1.2"]
    assert set(made.times["x.py"]) == {"2.2.2", "2.3.1"}


def test_this_environment_is_not_timed_beside_the_same_build_unless_named(monkeypatch: pytest.MonkeyPatch) -> None:
    own = [SimpleNamespace(name="2.3.1", identity="a"), SimpleNamespace(name="current", identity="a")]
    other = SimpleNamespace(name="2.2.2", identity="b")
    once: Any = comparison._each_once
    assert [build.name for build in once([other, *own], ["all"])] == ["2.2.2", "2.3.1"]
    assert [build.name for build in once([other, *own], [])] == ["2.2.2", "2.3.1"]
    assert [build.name for build in once(own, ["2.3.1", "current"])] == ["2.3.1", "current"]
    assert [build.name for build in once([other, own[1]], ["all"])] == ["2.2.2", "current"]
    monkeypatch.setattr(comparison, "chosen_builds", lambda *_: own)
    with pytest.raises(InputError, match=r"needs two builds, and there is 2\.3\.1"):
        comparison.run(None, (), (), (), None)


@pytest.mark.parametrize(
    ("status", "output", "answer"),
    [
        (1, "times: 0.002 s affected, 1e-05 s otherwise\nseen", timing.Sample(0.002, {}, 1e-05)),
        (0, "times: 1 s affected, 2 s otherwise\nseen", timing.Sample(1.0, {}, 2.0)),
        (125, "times: 1 s affected, 2 s otherwise\nno CUDA device here", "no CUDA device here"),
        (1, "seen", "exit status 1, no times: seen"),
        (139, "times: 1 s affected, 2 s otherwise\nseen", "exit status 139, no times: seen"),
        (0, "", "exit status 0, no times: no output"),
    ],
)
def test_a_case_is_believed_where_it_ends_well_and_tells_both_times(status: int, output: str, answer: Any) -> None:
    assert timed_cases.read(status, output) == answer


def test_every_timing_case_prints_the_times_that_it_judges_by() -> None:
    for case in shipped("timing"):
        ast.parse(case.code, feature_version=(3, 8))
        assert "torch_embers" not in case.code, case.name
        assert case.signature_texts == ("slow",), case.name
        assert case.labels["consequence"] == "performance", case.name
        assert 'print("times: %.3g s affected, %.3g s otherwise"' in case.code or "print(times)" in case.code
