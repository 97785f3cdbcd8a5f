"""`embers research perf`: builds in turn, changes that stayed, and what could not be timed."""

from __future__ import annotations

import random
import sys
import time
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from support import eventually
from torch_embers.oracles import timing
from torch_embers.perf import comparison
from torch_embers.perf import measure as perf
from torch_embers.perf import timed_cases as perf_cases
from torch_embers.progress import Silent

LIMITS = perf.PerfRules.load().limits


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


def test_equal_builds_show_no_change_and_say_what_could_have_been_seen() -> None:
    (last,) = comparison.lines(timed(a=1, b=1, c=1, d=1))
    assert last.startswith("1 of 1 without a change that stayed; half of the comparisons could have seen")


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
    assert (comparison.exit_code(made) == 10) is any(verdict == "slower" for verdict, *_ in found)


def test_every_shipped_call_runs_on_the_torch_of_this_environment() -> None:
    pytest.importorskip("torch")
    short = LIMITS.model_copy(update={"chunk_seconds": 0.0004, "chunks": 1})
    answers = dict(perf._answers(sys.executable, perf._script(perf.PerfRules.load().call, short), 300))
    assert set(answers) == {call.name for call in perf.PerfRules.load().call}
    assert not [answer for answer in answers.values() if isinstance(answer, str)]


def test_a_row_per_call_and_build_and_a_picture_are_written(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    made = timed(a=1, b=1, c=1.5, d=1.5)
    comparison.save(made, tmp_path / "perf.csv", tmp_path / "perf.svg")
    table = (tmp_path / "perf.csv").read_text(encoding="utf-8").splitlines()
    assert table[0].startswith("call,build,seconds,ratio,low,high,verdict,visible,")
    assert len(table) == 5
    assert table[1].split(",")[6] == "baseline"
    assert table[4].split(",")[6] == "slower"
    assert "2.2.2" in (tmp_path / "perf.svg").read_text(encoding="utf-8")
    assert (tmp_path / "perf.png").stat().st_size > 10_000
    comparison.save(timed_cases(a=(1, 1), b=(6, 1), c=(6, 1), d=(6, 1)), tmp_path / "c.csv", tmp_path / "c.svg")
    head, *rest = (tmp_path / "c.csv").read_text(encoding="utf-8").splitlines()
    assert head == "case,build,affected,otherwise,ratio,low,high,verdict,visible"
    assert len(rest) == 4
    assert "pt1_case" in (tmp_path / "c.svg").read_text(encoding="utf-8")


def test_a_script_finds_the_modules_beside_it(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    (tmp_path / "helper.py").write_text("VALUE = 1", encoding="utf-8")
    (tmp_path / "main.py").write_text("import helper, sys\nsys.stdout.buffer.write(b'\\xff')", encoding="utf-8")
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
def test_a_hostile_script_is_one_clean_line_and_leaves_nothing(
    tmp_path: Path, code: str, limit: int, said: str | None
) -> None:
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


def timed_cases(**by_build: tuple[float, float]) -> perf.Timed:
    """Pairs of seconds of one case with the noise of a machine, shared by both ways."""
    draw = random.Random(2)
    names = [build.name for build in BUILDS]
    times: dict[str, list[float]] = {}
    otherwise: dict[str, list[float]] = {}
    for name, (slow, fast) in zip(names, by_build.values(), strict=True):
        load = [draw.uniform(1, 3) for _ in range(8)]
        times[name] = [slow * by * draw.lognormvariate(0, 0.02) for by in load]
        otherwise[name] = [fast * by for by in load]
    return perf.Timed(names, {"pt1_case": times}, [], LIMITS.margin, otherwise={"pt1_case": otherwise})


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
    assert comparison.exit_code(made) == 10
    first, second, _ = comparison.lines(made)
    assert first.startswith("pt1_case: since 2.1.2, against 2.0.1: slower")
    assert second.startswith("pt1_case on 2.3.1, beside its workaround: slower")


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
    assert answers == {"a": timing.Sample(2.0, {}, 1.0), "b": "not here", "": "exit status 3"}
    build: Any = SimpleNamespace(name="2.0.1", python=sys.executable)
    timed = perf_cases.time_cases([build], [*cases, case("d", told)], LIMITS, 6, Silent())
    assert timed.pairs("a") == {"2.0.1": [(2.0, 1.0)] * 6}
    assert timed.failed == [
        ("b", "2.0.1", "not here"),
        ("c", "2.0.1", "exit status 3"),
        ("d", "2.0.1", "exit status 3"),
    ]
