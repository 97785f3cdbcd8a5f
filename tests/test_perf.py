"""`embers perf`: builds in turn, changes that stayed, and what could not be timed."""

from __future__ import annotations

import ast
import itertools
import mmap
import os
import random
import struct
import sys
import time
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from support import eventually
from torch_embers.errors import InputError
from torch_embers.oracles import counters, timing
from torch_embers.progress import Silent
from torch_embers.repro.checks import injected_faults
from torch_embers.run import perf, perf_cases, perf_command

if TYPE_CHECKING:
    from collections.abc import Iterator

LIMITS = perf.Rules.load().limits
BUILDS: Any = [
    SimpleNamespace(name=name, version=name, python=name, identity=name)
    for name in ("2.0.1", "2.1.2", "2.2.2", "2.3.1")
]


def timed(**by_build: float) -> perf.Timed:
    """Times of one call with the noise of a machine: two per cent."""
    draw = random.Random(1)
    names = [build.name for build in BUILDS]
    rounds = {
        name: [seconds * draw.lognormvariate(0, 0.02) for _ in range(8)]
        for name, seconds in zip(names, by_build.values(), strict=True)
    }
    return perf.Timed(names, {"call": rounds}, [], LIMITS.margin)


@pytest.mark.parametrize(
    ("seconds", "found"),
    [
        ((1.0, 1.0, 1.5, 1.5), [("slower", "2.2.2", "2.1.2")]),
        ((1.0, 1.0, 1.0, 0.5), [("faster", "2.3.1", "2.2.2")]),
        ((1.0, 1.5, 1.0, 1.0), [("faster", "2.2.2", "2.1.2")]),  # the slow build is the exception
        ((1.0, 1.02, 1.0, 1.03), []),
        ((1.0, 1.5, 2.5, 2.5), [("slower", "2.2.2", "2.1.2"), ("slower", "2.1.2", "2.0.1")]),
    ],
)
def test_a_change_counts_when_every_newer_build_has_it(seconds: Any, found: Any) -> None:
    made = timed(**{f"b{place}": value for place, value in enumerate(seconds)})
    steps = [(step.report.verdict, step.since, step.before) for step in made.steps()]
    assert sorted(steps) == sorted(found)
    assert (perf_command.exit_code(made) == 10) is any(verdict == "slower" for verdict, *_ in found)


def test_equal_builds_show_no_change_and_say_what_could_have_been_seen() -> None:
    (last,) = perf_command.lines(timed(a=1, b=1, c=1, d=1))
    assert last.startswith("1 of 1 without a change that stayed; half of the comparisons could have seen")


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


def test_hardware_counters_are_read_where_the_kernel_gives_them(monkeypatch: pytest.MonkeyPatch) -> None:
    files = dict.fromkeys(counters.HARDWARE.values(), 0)
    for event in files:
        files[event], end = os.pipe()
        os.write(end, struct.pack("Q", 1000 + event))
        os.close(end)
    monkeypatch.setattr(counters, "_opened", files.get)
    counting = counters.Counters()
    counted = counting.read()
    counting.close()
    assert (counted["instructions"], counted["cycles"]) == (1001, 1000)


def test_what_was_counted_stands_beside_the_times_and_every_round_is_kept() -> None:
    faults = itertools.cycle((2.0, 9.0, 2.0, 2.0, 1.0))

    def run(build: Any) -> Iterator[tuple[str, perf.Answer]]:
        counted = {"page_faults": next(faults)} if build.name != "2.0.1" else {}
        yield "call", timing.Sample(1.0, counted)

    made = perf.take_turns(BUILDS, 6, 0.1, run, Silent())
    rows = {row["build"]: row for row in made.rows()}
    assert (rows["2.3.1"]["page_faults"], rows["2.3.1"]["cycles"], rows["2.0.1"]["page_faults"]) == (2.0, None, None)
    assert made.table()["rounds"]["call"]["2.3.1"] == [1.0] * 6
    assert perf_command.as_csv(made).splitlines()[0].endswith(",instructions,cycles,page_faults,context_switches")


def test_builds_take_turns_and_one_that_fails_is_left_out_with_its_reason() -> None:
    order: list[str] = []

    def run(build: Any) -> Iterator[tuple[str, float | str]]:
        order.append(build.name)
        yield "call", ("no such operator" if build.name == "2.0.1" and len(order) > 4 else 1.0)

    made = perf.take_turns(BUILDS, 6, 0.1, run, Silent())
    assert all(sorted(order[place : place + 4]) == sorted({b.name for b in BUILDS}) for place in range(0, 24, 4))
    assert order[:4] != order[4:8]
    assert made.failed == [("call", "2.0.1", "no such operator")]
    assert set(made.times["call"]) == {"2.1.2", "2.2.2", "2.3.1"}


@pytest.mark.slow
def test_every_shipped_call_runs_on_the_torch_of_this_environment() -> None:
    pytest.importorskip("torch")
    short = LIMITS.model_copy(update={"chunk_seconds": 0.0004, "chunks": 1})
    answers = perf._answers(sys.executable, perf._script(perf.Rules.load().call, short), 300)
    assert set(answers) == {call.name for call in perf.Rules.load().call}
    assert not [answer for answer in answers.values() if isinstance(answer, str)]


def test_an_unknown_call_and_a_single_build_are_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no call 'frobnicate'"):
        perf.Rules.load().chosen(["frobnicate"])
    monkeypatch.setattr(perf_command, "chosen_builds", lambda *_: BUILDS[:1])
    with pytest.raises(InputError, match=r"needs two builds, and there is 2\.0\.1"):
        perf_command.run(None, (), (), (), None)
    monkeypatch.setattr(perf_command, "chosen_builds", lambda *_: BUILDS)
    with pytest.raises(InputError, match="no script"):
        perf_command.run(tmp_path / "none.py", (), (), (), None)
    with pytest.raises(InputError, match="give one of a script"):
        perf_command.run(tmp_path / "none.py", (), (), ("add",), None)


def test_a_row_per_call_and_build_and_a_picture_are_written(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    made = timed(a=1, b=1, c=1.5, d=1.5)
    perf_command.save(made, tmp_path / "perf.csv", tmp_path / "perf.svg")
    table = (tmp_path / "perf.csv").read_text(encoding="utf-8").splitlines()
    assert table[0].startswith("call,build,seconds,ratio,low,high,verdict,visible,")
    assert len(table) == 5
    assert table[1].split(",")[6] == "baseline"
    assert table[4].split(",")[6] == "slower"
    assert "2.2.2" in (tmp_path / "perf.svg").read_text(encoding="utf-8")
    assert (tmp_path / "perf.png").stat().st_size > 10_000


def test_a_process_that_dies_midway_costs_its_build_those_calls_alone() -> None:
    order: list[str] = []

    def run(build: Any) -> Iterator[tuple[str, float | str]]:
        order.append(build.name)
        yield "first", 1.0
        if build.name == "2.1.2" and order.count("2.1.2") == 3:
            yield "all calls", "killed"
        else:
            yield "second", 1.0

    made = perf.take_turns(BUILDS, 6, 0.1, run, Silent())
    assert set(made.times["first"]) == {build.name for build in BUILDS}
    assert set(made.times["second"]) == {"2.0.1", "2.2.2", "2.3.1"}
    assert made.failed == [("all calls", "2.1.2", "killed")]
    assert perf_command.lines(made)


def test_what_a_library_prints_beside_the_times_is_passed_over(tmp_path: Path) -> None:
    python = tmp_path / "python"
    python.write_text(
        '#!/bin/sh\nprintf \'[W NNPACK.cpp:64] \\377\\n[rank0]\\n[]\\n[1, 2]\\n["x", 3]\\n["mm", [0.5, {}]]\\n\'\n'
    )
    python.chmod(0o755)
    assert perf._answers(str(python), "", 60) == {"mm": timing.Sample(0.5, {})}


@pytest.mark.slow
def test_a_script_finds_the_modules_beside_it(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    (tmp_path / "helper.py").write_text("VALUE = 1", encoding="utf-8")
    (tmp_path / "main.py").write_text("import helper, sys\nsys.stdout.buffer.write(b'\\xff')", encoding="utf-8")
    from torch_embers.oracles import timing

    assert timing.seconds(sys.executable, str(tmp_path / "main.py"), (), 120) >= 0


HOSTILE = {
    "floods": ("import sys\nfor _ in range(40): sys.stdout.write('x' * (1 << 20))", 0, None),
    "floods one line": ("import sys\nwhile True: sys.stdout.write('x' * (1 << 20))", 2, "ran longer than 2 s"),
    "forks and leaves a child": (
        "import subprocess, sys\nsubprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'])",
        0,
        None,
    ),
    "forks and ends in the child": ("import os, time\nif os.fork() == 0: time.sleep(600)", 0, None),
    "never ends": ("while True: pass", 2, "ran longer than 2 s"),
    "waits for input": ("input()", 0, "EOFError: EOF when reading a line"),
    "dies": ("import os, signal\nos.kill(os.getpid(), signal.SIGSEGV)", 0, "exit status -11"),
    "ends early without a word": ("import os\nos._exit(0)", 0, "exit status 0"),
    "says a time of its own": ("print('embers-seconds nan')", 0, None),
}


def _read(place: Path) -> str:
    with suppress(OSError):  # of another user, or gone
        return place.read_text(errors="replace")
    return ""


@pytest.mark.parametrize(("code", "limit", "said"), HOSTILE.values(), ids=HOSTILE)
def test_a_script_that_floods_forks_or_never_ends_is_one_clean_line_and_leaves_nothing(
    tmp_path: Path, code: str, limit: int, said: str | None
) -> None:
    from torch_embers.oracles import timing

    (tmp_path / "torch.py").write_text("")  # the import of torch is not what is tested
    script = tmp_path / "script.py"
    script.write_text(code)
    python = tmp_path / "python"
    python.write_text(f'#!/bin/sh\nPYTHONPATH={tmp_path} exec {sys.executable} "$@"\n')
    python.chmod(0o755)
    began = time.monotonic()
    if said is None:
        assert 0 <= timing.seconds(str(python), str(script), (), 120) < 120
    else:
        with pytest.raises(timing.TimingError) as caught:
            timing.seconds(str(python), str(script), (), limit or 120)
        assert said in str(caught.value)
        assert len(str(caught.value).splitlines()) == 1
    assert time.monotonic() - began < 100, "nobody waited for a child"
    eventually(  # what was killed needs a moment to go
        lambda: not any(f"PYTHONPATH={tmp_path}" in _read(place) for place in Path("/proc").glob("[0-9]*/environ"))
    )


def test_a_script_that_failed_on_a_build_is_not_run_there_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []

    def sample(python: str, *_: Any) -> timing.Sample:
        asked.append(python)
        if python == "2.0.1":
            raise timing.TimingError("x.py ran longer than 300 s on 2.0.1")
        if python == "2.1.2":
            raise PermissionError(13, "Permission denied")
        return timing.Sample(1.0, {})

    monkeypatch.setattr(timing, "sample", sample)
    script = tmp_path / "x.py"
    script.write_text("")
    made = perf.time_script(BUILDS, script, (), LIMITS, 6, Silent())
    assert [asked.count(build.name) for build in BUILDS] == [1, 1, 6, 6]
    assert sorted(build for _, build, _ in made.failed) == ["2.0.1", "2.1.2"]
    assert set(made.times["x.py"]) == {"2.2.2", "2.3.1"}


def test_the_torch_of_this_environment_is_not_timed_beside_the_same_build_unless_it_is_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    own = [SimpleNamespace(name="2.3.1", identity="a"), SimpleNamespace(name="current", identity="a")]
    other = SimpleNamespace(name="2.2.2", identity="b")
    once: Any = perf_command._each_once
    assert [build.name for build in once([other, *own], ["all"])] == ["2.2.2", "2.3.1"]
    assert [build.name for build in once([other, *own], [])] == ["2.2.2", "2.3.1"]
    assert [build.name for build in once(own, ["2.3.1", "current"])] == ["2.3.1", "current"]
    assert [build.name for build in once([other, own[1]], ["all"])] == ["2.2.2", "current"]
    monkeypatch.setattr(perf_command, "chosen_builds", lambda *_: own)
    with pytest.raises(InputError, match=r"needs two builds, and there is 2\.3\.1"):
        perf_command.run(None, (), (), (), None)


# ---- cases beside their workarounds ------------------------------------------------------------------------------


def timed_cases(**by_build: tuple[float, float]) -> perf_cases.TimedCases:
    """Pairs of seconds of one case with the noise of a machine, shared by both ways."""
    draw = random.Random(2)
    names = [build.name for build in BUILDS]
    pairs: dict[str, list[tuple[float, float]]] = {}
    for name, (slow, fast) in zip(names, by_build.values(), strict=True):
        load = [draw.uniform(1, 3) for _ in range(8)]
        pairs[name] = [(slow * by * draw.lognormvariate(0, 0.02), fast * by) for by in load]
    return perf_cases.TimedCases(names, {"pt1_case": pairs}, [], LIMITS.margin)


def test_a_case_is_slow_beside_its_workaround_whatever_the_load_and_the_change_is_found() -> None:
    made = timed_cases(a=(1.0, 1.0), b=(6.0, 1.0), c=(6.0, 1.0), d=(12.0, 2.0))
    rows = {row["build"]: row for row in made.rows()}
    assert {build: row["verdict"] for build, row in rows.items()} == {
        "2.0.1": "no difference shown",
        "2.1.2": "slower",
        "2.2.2": "slower",
        "2.3.1": "slower",
    }
    assert rows["2.3.1"]["ratio"] == pytest.approx(6, rel=0.05)
    assert rows["2.3.1"]["low"] > 5
    assert [(step.report.verdict, step.since, step.before) for step in made.steps()] == [("slower", "2.1.2", "2.0.1")]
    assert perf_command.exit_code(made) == 10
    first, second, _ = perf_command.lines(made)
    assert first.startswith("pt1_case: since 2.1.2, against 2.0.1: slower")
    assert second.startswith("pt1_case on 2.3.1, beside its workaround: slower")


@pytest.mark.parametrize(
    ("status", "output", "answer"),
    [
        (1, "times: 0.002 s affected, 1e-05 s otherwise\nseen", (0.002, 1e-05)),
        (0, "times: 1 s affected, 2 s otherwise\nseen", (1.0, 2.0)),
        (125, "times: 1 s affected, 2 s otherwise\nno CUDA device here", "no CUDA device here"),
        (1, "seen", "exit status 1, no times: seen"),
        (139, "times: 1 s affected, 2 s otherwise\nseen", "exit status 139, no times: seen"),
        (0, "", "exit status 0, no times: no output"),
    ],
)
def test_a_case_is_believed_where_it_ends_well_and_tells_both_times(status: int, output: str, answer: Any) -> None:
    assert perf_cases.read(status, output) == answer


def test_cases_about_time_are_chosen_by_name_or_number_and_no_other() -> None:
    repo = "pytorch/pytorch"
    assert [case.name for case in perf_cases.chosen("122191", repo)] == ["pt122191_std_mean_together"]
    assert len(perf_cases.chosen("73328", repo)) == 2
    with pytest.raises(InputError, match="no script and no case about time '83149'"):
        perf_cases.chosen("83149", repo)
    with pytest.raises(InputError, match="no script and no case about time 'frobnicate'"):
        perf_cases.chosen("frobnicate", repo)


def test_all_cases_of_a_build_run_in_one_process_and_a_dead_one_costs_only_what_comes_after(tmp_path: Path) -> None:
    def case(name: str, code: str) -> Any:
        return SimpleNamespace(name=name, code=code)

    told = "print('times: 2 s affected, 1 s otherwise')"
    cases = [
        case("a", told),
        case("b", "import sys\nprint('not here')\nsys.exit(125)"),
        case("c", "import os; os._exit(3)"),
    ]
    answers = perf_cases._answers(sys.executable, [*cases, case("d", told)], 60)
    assert answers == {"a": (2.0, 1.0), "b": "not here", "": "exit status 3"}
    build: Any = SimpleNamespace(name="2.0.1", python=sys.executable)
    timed = perf_cases.time_cases([build], [*cases, case("d", told)], LIMITS, 6, Silent())
    assert timed.pairs == {"a": {"2.0.1": [(2.0, 1.0)] * 6}}
    assert timed.failed == [
        ("b", "2.0.1", "not here"),
        ("c", "2.0.1", "exit status 3"),
        ("d", "2.0.1", "exit status 3"),
    ]


def test_a_picture_of_cases_and_a_table_are_written(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    perf_command.save(timed_cases(a=(1, 1), b=(6, 1), c=(6, 1), d=(6, 1)), tmp_path / "c.csv", tmp_path / "c.svg")
    head, *rest = (tmp_path / "c.csv").read_text(encoding="utf-8").splitlines()
    assert head == "case,build,affected,otherwise,ratio,low,high,verdict,visible"
    assert len(rest) == 4
    assert "pt1_case" in (tmp_path / "c.svg").read_text(encoding="utf-8")


@pytest.mark.parametrize("case", perf_cases.all_timed(), ids=lambda case: case.name)
def test_every_timing_case_prints_the_times_that_it_judges_by(case: Any) -> None:
    ast.parse(case.code, feature_version=(3, 8))
    assert "torch_embers" not in case.code
    assert case.signature_texts == ("slow",)
    assert not injected_faults.breaches(case.code)
    assert case.labels["consequence"] == "performance"
    assert 'print("times: %.3g s affected, %.3g s otherwise"' in case.code or "print(times)" in case.code
