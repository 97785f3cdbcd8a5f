"""From verdicts to replies of a search: pure."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Protocol

from torch_embers.bisect.search import Reply
from torch_embers.statistics.absence import lower_bound

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch_embers.bisect.rules import SearchRules
    from torch_embers.statistics.absence import Rules
    from torch_embers.verdicts.verdict import Control, Decision


def missed(control: Control, runs: int, rules: Rules) -> float:
    """Probability that a bug with the hit rate of the control is missed in this many clean runs.

    Without a control that measures a rate it is the one that data/verdicts.toml asks for.
    """
    rate = lower_bound(control.hits, control.runs, rules.confidence) if control.kind == "build" else 0.0
    return (1 - rate) ** runs if rate > 0 else rules.miss


def reply_of(decision: Decision, rules: Rules, *, known: bool = False) -> Reply:
    """What a verdict says to a search.

    ``not_seen`` without any build that shows the bug is a clean answer, as good as that can be; with a control that
    hits too rarely it is none.
    """
    said = f"{decision.verdict} {decision.hits}/{decision.runs}" + (f" ({decision.detail})" if decision.detail else "")
    match decision.verdict:
        case "occurs":
            return Reply("yes", decision.hits, decision.runs, 1.0, said, known)
        case "absent":
            chance = 1 - missed(decision.control, decision.runs, rules)
            return Reply("no", decision.hits, decision.runs, chance, said, known)
        case "not_seen" if decision.control.kind != "build":
            return Reply("no", decision.hits, decision.runs, 1 - rules.miss, f"{said}, without a control", known)
        case _:
            return Reply("unknown", decision.hits, decision.runs, 1.0, said, known)


NOT_INSTALLED = Reply("unknown", detail="not installed here", ran=False)


def pooled(batches: Sequence[Decision], rules: Rules) -> Reply:
    """What batches on one place say that were made until a hit was confirmed: a hit in two of them is.

    A hit that stays alone leaves the place undecided, however clean the other batches are.
    """
    last = reply_of(batches[-1], rules)
    hits, runs = sum(batch.hits for batch in batches), sum(batch.runs for batch in batches)
    if len(batches) == 1 or not hits:
        return last
    shown = next(batch for batch in batches if batch.hits)
    verdict = "occurs" if hits > 1 else "inconclusive"
    return replace(
        last,
        answer="yes" if hits > 1 else "unknown",
        hits=hits,
        runs=runs,
        confidence=1.0,
        detail=f"{verdict} {hits}/{runs} ({shown.detail})",
    )


def needs_larger_control(decision: Decision) -> bool:
    """Whether a build was clean, but its control hits too rarely to show an absence."""
    return decision.verdict == "not_seen" and decision.control.kind == "build"


def is_unconfirmed(decision: Decision) -> bool:
    """Whether a single hit decided nothing: another batch may."""
    return decision.verdict == "inconclusive" and decision.hits == 1


class Measure(Protocol):
    """Makes one batch of runs."""

    def __call__(self, place: int, /, *, fresh: bool, large: bool) -> Decision | None:
        """Return the verdict of a place; None where there is no build to run.

        Args:
            place: in the list of builds.
            fresh: make new runs although some are known.
            large: with a control batch of the size for flaky cases.
        """


class AskBatch(Protocol):
    """Asks about one place, where it matters whether stored runs would do."""

    def __call__(self, place: int, /, *, fresh: bool = False) -> Reply:
        """Return what runs show there; new runs with ``fresh``, and whenever the place was asked before."""


class Patient:
    """Asks by batches of runs: a larger control where the first hits too rarely, again where one hit stands alone."""

    def __init__(self, measure: Measure, search: SearchRules, rules: Rules) -> None:
        self._measure, self._search, self._rules = measure, search, rules
        self._large = False
        self._asked: set[int] = set()

    def __call__(self, place: int, /, *, fresh: bool = False) -> Reply:
        """Ask about a place; the second time in new runs."""
        decision = self._measure(place, fresh=fresh or place in self._asked, large=self._large)
        self._asked.add(place)
        if decision is None:
            return NOT_INSTALLED
        if needs_larger_control(decision) and not self._large:
            self._large = True
            decision = self._measure(place, fresh=True, large=True) or decision
        batches = [decision]
        for _ in range(self._search.repeats if is_unconfirmed(decision) else 0):
            if sum(batch.hits for batch in batches) > 1:
                break
            batches.append(self._measure(place, fresh=True, large=self._large) or decision)
        return pooled(batches, self._rules)
