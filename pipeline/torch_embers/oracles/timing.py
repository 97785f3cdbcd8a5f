"""TimingOracle: says whether a script is slower on one build than on another, and what difference could be seen.

Runs are made in pairs, each run in a fresh process, the two builds in turn and the order changed from pair to pair, so
that a machine that gets slower meanwhile slows both. What is timed is the script after ``import torch``. The ratio of
the medians has an interval from a bootstrap over pairs. "No difference" is only said together with the size that would
have been seen.
"""

from __future__ import annotations

import json
import math
import random
import statistics
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Callable, Dict, List, Mapping, NamedTuple, Optional, Sequence, Tuple

from torch_embers.oracles import bounded, counters
from torch_embers.oracles.finding import Finding

PAIRS = 15
"""Pairs by default; fewer than six give no interval at 95 %."""
FEWEST = 6
MARGIN = 0.05
"""A ratio closer to 1 is no finding, however narrow its interval: processes differ by the layout of their memory."""
RESAMPLES = 2000
_CONFIDENCE = 0.95
MARK = "embers-seconds "
"""What a line of a timed program begins with that says something; the rest is JSON."""
_HARNESS = (
    Path(counters.__file__).read_text(encoding="utf-8")
    + """
import json, os, sys, time, runpy
import torch
sys.argv = sys.argv[1:]
sys.path[0] = os.path.dirname(os.path.abspath(sys.argv[0]))
counting = Counters()
before = counting.read()
start = time.perf_counter()
try:
    runpy.run_path(sys.argv[0], run_name="__main__")
except SystemExit as end:
    if end.code not in (None, 0):
        raise
spent, after = time.perf_counter() - start, counting.read()
print()
print(%r + json.dumps([spent, {name: after[name] - before[name] for name in after}]))
"""
    % MARK
)


class Sample(NamedTuple):
    """One process.

    Attributes:
        seconds: that it took.
        counted: what the counters of the machine say of them.
        otherwise: of a case that times itself, seconds of its workaround.
    """

    seconds: float
    counted: Dict[str, float]
    otherwise: Optional[float] = None


class TimingError(RuntimeError):
    """A run failed or told no time; the message says which."""


@dataclass(frozen=True)
class TimingReport:
    """Two builds compared.

    Attributes:
        verdict: ``slower``, ``faster`` or ``no difference shown``, of the second build.
        ratio: median time on the second build over that on the first.
        low: lower end of the interval of the ratio.
        high: upper end.
        visible: smallest relative difference that these runs could have shown.
        first: seconds per run on the first build.
        second: seconds per run on the second build.
    """

    verdict: str
    ratio: float
    low: float
    high: float
    visible: float
    first: Tuple[float, ...]
    second: Tuple[float, ...]

    def text(self) -> str:
        """The report in plain words."""
        figures = "ratio %.3f, 95 %% interval %.3f to %.3f" % (self.ratio, self.low, self.high)
        figures += ", %d pairs" % len(self.first)
        if self.verdict == "no difference shown":
            return "no difference shown (could have seen %.0f %%): %s" % (math.ceil(100 * self.visible), figures)
        return "%s: %s" % (self.verdict, figures)


def interval(first: Sequence[float], second: Sequence[float], seed: int = 0) -> Tuple[float, float, float]:
    """Ratio of the medians and its bootstrap interval; pairs are drawn, not single runs.

    Raises:
        ValueError: fewer than six pairs, or not as many runs on both sides.
    """
    if len(first) != len(second) or len(first) < FEWEST:
        raise ValueError("an interval needs at least %d pairs, not %d and %d runs" % (FEWEST, len(first), len(second)))
    draw = random.Random(seed)  # noqa: S311 - resampling, no secret
    places = range(len(first))
    ratios = []
    for _ in range(RESAMPLES):
        chosen = draw.choices(places, k=len(first))
        ratios.append(statistics.median(second[i] for i in chosen) / statistics.median(first[i] for i in chosen))
    ratios.sort()
    cut = int(RESAMPLES * (1 - _CONFIDENCE) / 2)
    return statistics.median(second) / statistics.median(first), ratios[cut], ratios[-1 - cut]


def judge_times(first: Sequence[float], second: Sequence[float], margin: float = MARGIN, seed: int = 0) -> TimingReport:
    """What two sets of times say.

    Args:
        first: seconds per run on the first build.
        second: seconds per run on the second build, in the same order of pairs.
        margin: relative difference that is not called one.
        seed: of the bootstrap.
    """
    ratio, low, high = interval(first, second, seed)
    verdict = "slower" if low > 1 + margin else "faster" if high < 1 / (1 + margin) else "no difference shown"
    visible = max(ratio / low, high / ratio) * (1 + margin) - 1
    return TimingReport(verdict, ratio, low, high, visible, tuple(first), tuple(second))


class TimingOracle:
    """Times one script on two builds.

    Args:
        first: interpreter of the build that is known to be fast.
        second: interpreter of the build in question.
        pairs: how many runs on each.
        margin: relative difference that is not called one.
        timeout: seconds that one run may take.

    Attributes:
        findings: one per script that is slower on the second build.
    """

    def __init__(
        self, first: str, second: str, pairs: int = PAIRS, margin: float = MARGIN, timeout: float = 600.0
    ) -> None:
        if pairs < FEWEST:
            raise ValueError("an interval needs at least %d pairs, not %d" % (FEWEST, pairs))
        self._builds, self._pairs, self._margin, self._timeout = (first, second), pairs, margin, timeout
        self.findings: List[Finding] = []

    def check(self, script: str, *arguments: str, run: Optional[Callable[[str], float]] = None) -> TimingReport:
        """Time a script; ``run`` gets an interpreter and returns seconds, for runs in a sandbox.

        Raises:
            TimingError: a run failed.
        """
        timed = run or (lambda python: seconds(python, script, arguments, self._timeout))
        times: Tuple[List[float], List[float]] = ([], [])
        for build in (0, 1):
            timed(self._builds[build])  # files of the build come from the disk once
        for pair in range(self._pairs):
            for build in (0, 1) if pair % 2 == 0 else (1, 0):
                times[build].append(timed(self._builds[build]))
        report = judge_times(times[0], times[1], self._margin)
        if report.verdict == "slower":
            message = "%s is slower on the second build: %s" % (Path(script).name, report.text())
            self.findings.append(Finding("timing", Path(script).name, "", "slow", message, place="time"))
        return report


def seconds(python: str, script: str, arguments: Sequence[str], timeout: float) -> float:
    """Time of a script in a fresh process, without the import of torch.

    Raises:
        TimingError: it failed, or ran too long.
    """
    return sample(python, script, arguments, timeout).seconds


def sample(python: str, script: str, arguments: Sequence[str], timeout: float) -> Sample:
    """Time of a script in a fresh process and what was counted meanwhile, without the import of torch.

    Raises:
        TimingError: it failed, or ran too long.
    """
    told, why = ask([python, "-c", _HARNESS, script, *arguments], timeout)
    if why:
        raise TimingError("%s failed on %s: %s" % (script, python, why))
    return Sample(*told[-1])


def ask(
    command: Sequence[str], timeout: float, text: str = "", env: Optional[Mapping[str, str]] = None
) -> Tuple[List[Any], str]:
    """Run a program that times something: what it said behind the mark, and why it did not end well, if it did not.

    Args:
        command: program and arguments.
        timeout: seconds.
        text: what it reads from its standard input.
        env: its environment; None for this one.
    """
    try:
        done = bounded.run(command, timeout, text, env)
    except OSError as error:  # the build went while others were timed
        return [], "%s: %s" % (command[0], error.strerror or error)
    told = []
    for line in done.out.splitlines():
        if line.startswith(MARK):
            with suppress(ValueError):
                told.append(json.loads(line[len(MARK) :]))
    if done.code is None:
        return told, "ran longer than %g s" % timeout
    last = (done.err.strip().splitlines() or ["exit status %d" % done.code])[-1][:200]
    return told, last if done.code or not told else ""
