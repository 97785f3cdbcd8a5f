"""How often a bisection over releases is right: `python bench/bisection.py [--draws 20]`, written to bench/bisection.json.

The ground truth is the shipped matrix: every case whose verdict changes over the releases. A simulated asker stands
for the sandbox: where the bug is there, each run shows it at the hit rate; the number of runs, the control and the
verdict follow run/verdict.py, as in a real bisection. A share of the builds cannot be tested. Nothing is executed.
"""

from __future__ import annotations

import argparse
import json
import random
import time
from collections import Counter
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from statistics import mean
from typing import TYPE_CHECKING

from packaging.version import Version

from torch_embers.repro import shipped_matrix
from torch_embers.run.bisect import rules as bisect_rules
from torch_embers.run.bisect.replies import Patient
from torch_embers.run.bisect.search import Reply, search
from torch_embers.run.verdict import Control, Decision, Observation, Rules, decide, planned
from torch_embers.statistics.intervals import wilson

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch_embers.run.bisect.rules import SearchRules
    from torch_embers.run.bisect.search import History

OUT = Path(__file__).with_suffix(".json")
LETTERS = {"occurs": "Y", "absent": "n"}
RATES, UNTESTABLE, ROUNDS = (1.0, 0.7, 0.3), (0.0, 0.2), 20
HIT, MISS = Observation("reproduced", None, ""), Observation("not_reproduced", None, "")
CANNOT = Observation("cannot_run", None, "cannot be tested")
RETURNING = 200
"""Drawn histories in which the bug comes back; the matrix has none."""
VALIDATIONS = (0, 2, 4, 8)
"""Builds asked at random outside the range found, for the histories that come back."""


@dataclass(frozen=True, slots=True)
class Row:
    """One condition: what came of all bisections under it."""

    histories: str
    hint: bool
    rate: float
    untestable: float
    validation: int
    trials: int
    right: int
    abstained: int
    wrong: int
    asked: float
    runs: float
    log2: float
    seconds: float


class Simulated:
    """A build list that answers as the sandbox would."""

    def __init__(self, truth: str, rate: float, rules: Rules, large: int, draw: random.Random) -> None:
        self._truth, self._rate, self._rules, self._large, self._draw = truth, rate, rules, large, draw
        self._shown: list[int] = []
        self._control: dict[bool, Control] = {}
        self.runs = 0

    def __call__(self, place: int, /, *, fresh: bool, large: bool) -> Decision:
        del fresh  # every batch is drawn anew
        if self._truth[place] not in "Yn":
            return decide([CANNOT], Control(), 1, self._rules)
        control = self._controlled(large=large)
        wanted = planned(control, self._rules)
        seen: list[Observation] = []
        while len(seen) < wanted + (self._rules.confirmations if HIT in seen else 0):
            seen.append(self._run(place))
            if seen.count(HIT) > self._rules.confirmations:
                break
        decision = decide(seen, control, wanted, self._rules)
        if decision.verdict == "occurs":
            self._shown.append(place)
        return decision

    def _controlled(self, *, large: bool) -> Control:
        if self._shown and large not in self._control:
            size = self._large if large else self._rules.control_batch
            hits = sum(self._run(self._shown[0]) is HIT for _ in range(size))
            self._control[large] = Control("build", str(self._shown[0]), hits, size)
        return self._control.get(large, Control())

    def _run(self, place: int) -> Observation:
        self.runs += 1
        return HIT if self._truth[place] == "Y" and self._draw.random() < self._rate else MISS


def changing() -> dict[str, str]:
    """The history of every case whose verdict changes: a letter a release, ``-`` where it cannot be tested."""
    cells: dict[str, dict[str, str]] = {}
    for row in shipped_matrix.matrix():
        cells.setdefault(row["case"], {})[row["build"]] = LETTERS.get(row["verdict"], "-")
    releases = sorted({build for seen in cells.values() for build in seen}, key=Version)
    told = {case: "".join(seen.get(build, "-") for build in releases) for case, seen in cells.items()}
    return {case: text for case, text in told.items() if len(set(text) - {"-"}) > 1}


def returning(draw: random.Random) -> dict[str, str]:
    """Histories of 17 releases with two or three ranges that show the bug."""
    made: dict[str, str] = {}
    while len(made) < RETURNING:
        edges = sorted(draw.sample(range(1, 17), draw.choice((2, 3, 4))))
        bad, text = True, ""
        for low, high in zip([0, *edges], [*edges, 17], strict=True):
            text += ("Y" if bad else "n") * (high - low)
            bad = not bad
        made[f"returning-{len(made)}"] = text
    return made


def ranges(text: str) -> list[tuple[int, int]]:
    """First and last place of each range that shows the bug; what cannot be tested is passed over."""
    found: list[tuple[int, int]] = []
    bad = False
    for place, letter in enumerate(text):
        if letter == "Y":
            found = [*found[:-1], (found[-1][0], place)] if bad else [*found, (place, place)]
        bad = letter == "Y" if letter in "Yn" else bad
    return found


def graded(found: History, testable: str) -> str:
    """Right where the ranges are those of the truth as far as it can be tested, wrong where others are told."""
    if found.kind == "cannot tell":
        return "abstained"
    return "right" if list(found.ranges) == ranges(testable) else "wrong"


def bisected(
    truth: str, rate: float, untestable: float, draw: random.Random, own: SearchRules, *, hint: bool
) -> tuple[str, int, int]:
    """One bisection: its grade, builds asked, runs made."""
    rules = Rules.load()
    testable = "".join("-" if draw.random() < untestable else letter for letter in truth)
    asked = Simulated(testable, rate, rules, own.flaky_control_batch, draw)
    static: dict[int, Reply] = {place: Reply("unknown", known=True) for place, c in enumerate(truth) if c == "-"}
    said = [place for place in reversed(range(len(truth))) if truth[place] == "Y"] if hint else []
    found = search(len(truth), Patient(asked, own, rules), own, draw.choice, known=static, said_bad=said)
    return graded(found, testable), len({step.place for step in found.steps}), asked.runs


def measured(
    name: str,
    histories: Sequence[str],
    rate: float,
    untestable: float,
    draws: int,
    *,
    hint: bool,
    validation: int | None = None,
) -> Row:
    """All histories under one condition."""
    own = bisect_rules.load().search
    own = own if validation is None else own.model_copy(update={"validation": validation})
    draw = random.Random(f"{name} {rate} {untestable} {hint}")
    began = time.perf_counter()
    done = [bisected(truth, rate, untestable, draw, own, hint=hint) for truth in histories for _ in range(draws)]
    grades = Counter(grade for grade, *_ in done)
    return Row(
        name,
        hint,
        rate,
        untestable,
        own.validation,
        len(done),
        grades["right"],
        grades["abstained"],
        grades["wrong"],
        round(mean(asked for _, asked, _ in done), 2),
        round(mean(runs for *_, runs in done), 1),
        round(mean((len(truth.strip("-")) - 2).bit_length() for truth in histories), 2),
        round((time.perf_counter() - began) / len(done), 5),
    )


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure how often a simulated bisection is right.")
    parser.add_argument("--draws", type=int, default=ROUNDS, help="bisections of each history under each condition")
    draws = parser.parse_args().draws
    truth, back = changing(), returning(random.Random(1))
    conditions = [(rate, share) for rate in RATES for share in UNTESTABLE]
    rows = [
        measured("matrix", list(truth.values()), *c, draws, hint=hint) for hint in (True, False) for c in conditions
    ]
    came_back = list(back.values())
    rows += [measured("returning", came_back, 1.0, 0.0, draws, hint=True, validation=n) for n in VALIDATIONS]
    for row in rows:
        low, high = wilson(row.right, row.trials)
        print(f"{row.histories} validation={row.validation} hint={row.hint} rate={row.rate} untestable={row.untestable}: right {row.right / row.trials:.1%}"
              f" ({low:.1%} to {high:.1%}), abstained {row.abstained}, wrong {row.wrong}, asked {row.asked}, runs {row.runs}")  # fmt: skip
    made = {"made_at": datetime.now(UTC).date().isoformat(), "cases": len(truth), "draws": draws}
    OUT.write_text(json.dumps(made | {"rows": [asdict(row) for row in rows]}, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
