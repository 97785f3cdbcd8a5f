"""`embers perf`: builds in turn, changes that stayed, and what could not be timed."""

from __future__ import annotations

import random
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from torch_embers.errors import InputError
from torch_embers.progress import Silent
from torch_embers.run import perf, perf_command

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

LIMITS = perf.Rules.load().limits
BUILDS: Any = [SimpleNamespace(name=name, version=name, python=name) for name in ("2.0.1", "2.1.2", "2.2.2", "2.3.1")]


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


def test_builds_take_turns_and_one_that_fails_is_left_out_with_its_reason() -> None:
    order: list[str] = []

    def run(build: Any) -> Iterator[tuple[str, float | str]]:
        order.append(build.name)
        yield "call", ("no such operator" if build.name == "2.0.1" and len(order) > 4 else 1.0)

    made = perf._turns(BUILDS, 6, 0.1, run, Silent())
    assert all(sorted(order[place : place + 4]) == sorted({b.name for b in BUILDS}) for place in range(0, 24, 4))
    assert order[:4] != order[4:8]
    assert made.failed == [("call", "2.0.1", "no such operator")]
    assert set(made.times["call"]) == {"2.1.2", "2.2.2", "2.3.1"}


@pytest.mark.slow
def test_every_shipped_call_runs_on_the_torch_of_this_environment() -> None:
    import sys

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
    with pytest.raises(InputError, match="leave out the script"):
        perf_command.run(tmp_path / "none.py", (), (), ("add",), None)


def test_a_row_per_call_and_build_and_a_picture_are_written(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    made = timed(a=1, b=1, c=1.5, d=1.5)
    perf_command.save(made, tmp_path / "perf.csv", tmp_path / "perf.svg")
    table = (tmp_path / "perf.csv").read_text(encoding="utf-8").splitlines()
    assert table[0] == "call,build,seconds,ratio,low,high,verdict,visible"
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

    made = perf._turns(BUILDS, 6, 0.1, run, Silent())
    assert set(made.times["first"]) == {build.name for build in BUILDS}
    assert set(made.times["second"]) == {"2.0.1", "2.2.2", "2.3.1"}
    assert made.failed == [("all calls", "2.1.2", "killed")]
    assert perf_command.lines(made)


def test_a_script_finds_the_modules_beside_it(tmp_path: Path) -> None:
    import sys

    pytest.importorskip("torch")
    (tmp_path / "helper.py").write_text("VALUE = 1", encoding="utf-8")
    (tmp_path / "main.py").write_text("import helper, sys\nsys.stdout.buffer.write(b'\\xff')", encoding="utf-8")
    from torch_embers.oracles import timing

    assert timing.seconds(sys.executable, str(tmp_path / "main.py"), (), 120) >= 0
