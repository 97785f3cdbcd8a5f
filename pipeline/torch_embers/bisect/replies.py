"""From verdicts to replies of a search."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Protocol, cast

from torch_embers.bisect.search import Reply
from torch_embers.builds.registry import BuildError
from torch_embers.statistics.absence import lower_bound
from torch_embers.verdicts.verdict import Control, Decision

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch_embers.bisect.places import BuildList, Place
    from torch_embers.bisect.thresholds import SearchThresholds
    from torch_embers.builds.registry import Build
    from torch_embers.progress import Progress
    from torch_embers.statistics.absence import AbsenceRules
    from torch_embers.verdicts.matrix import MatrixEntry
    from torch_embers.verdicts.verdict import ControlKind, Verdict

NOT_INSTALLED = Reply("unknown", detail="not installed here", ran=False)


def missed(control: Control, runs: int, rules: AbsenceRules) -> float:
    """Probability that a bug with the hit rate of the control is missed in this many clean runs.

    Without a control that measures a rate it is the one that data/verdicts.toml asks for.
    """
    rate = lower_bound(control.hits, control.runs, rules.confidence) if control.kind == "build" else 0.0
    return (1 - rate) ** runs if rate > 0 else rules.miss


def reply_of(decision: Decision, rules: AbsenceRules, *, known: bool = False) -> Reply:
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


def pooled(batches: Sequence[Decision], rules: AbsenceRules) -> Reply:
    """What batches on one place say that were made until a hit was confirmed: a hit in two of them is.

    A hit that stays alone leaves the place undecided, however clean the other batches are.
    """
    hits, runs = sum(batch.hits for batch in batches), sum(batch.runs for batch in batches)
    if len(batches) == 1 or not hits:
        return reply_of(batches[-1], rules)
    shown = next(batch for batch in batches if batch.hits)
    if hits > 1:
        return Reply("yes", hits, runs, detail=f"occurs {hits}/{runs} ({shown.detail})")
    return Reply("unknown", hits, runs, detail=f"inconclusive {hits}/{runs} ({shown.detail})")


# ---- earlier verdicts ----------------------------------------------------------------------------------------------


def known_replies(places: Sequence[Place], entries: Sequence[MatrixEntry], rules: AbsenceRules) -> dict[int, Reply]:
    """What earlier verdicts say of places; where environments differ on one build, the bug is there.

    Clean runs without a control say nothing where another build is known to show the bug.
    """
    occurs = any(entry.verdict == "occurs" for entry in entries)
    position = {place.version: number for number, place in enumerate(places)}
    replies: dict[int, Reply] = {}
    for entry in entries:
        if entry.build not in position:
            continue
        control = Control(cast("ControlKind", entry.control), entry.control_build, entry.control_k, entry.control_n)
        verdict, rate = cast("Verdict", entry.verdict), entry.detectable_rate
        decision = Decision(verdict, entry.flaky, entry.k, entry.n, rate, control, entry.detail, None)
        reply = reply_of(decision, rules, known=True)
        if entry.verdict == "not_seen" and occurs:
            reply = replace(reply, answer="unknown", confidence=1.0)
        place = position[entry.build]
        replies[place] = _together(replies.get(place, reply), reply)
    return replies


def _together(one: Reply, other: Reply) -> Reply:
    """What two environments say of one build: one that decides counts, and a bug that one of them shows is there."""
    if other.answer in (one.answer, "unknown"):
        return one
    if one.answer == "unknown":
        return other
    shows = one if one.answer == "yes" else other
    said = ", clean in another environment"
    return shows if shows.detail.endswith(said) else replace(shows, detail=shows.detail + said)


# ---- new runs ------------------------------------------------------------------------------------------------------


class Measure(Protocol):
    """Makes one batch of runs."""

    def __call__(self, build: Build, /, *, fresh: bool) -> Decision:
        """Return the verdict of a build, with ``fresh`` of new runs although some are known.

        Raises:
            BuildError: the build is gone, or became another one.
        """


class Asker:
    """Asks by batches of runs, again where one hit stands alone.

    A build that goes away while it is asked about has no answer: the search goes on with the others.

    Args:
        progress: is told which build had no answer, and why.
    """

    def __init__(
        self, measure: Measure, builds: BuildList, search: SearchThresholds, rules: AbsenceRules, progress: Progress
    ) -> None:
        self._measure, self._builds, self._search, self._rules = measure, builds, search, rules
        self._progress = progress

    def __call__(self, place: int, /, *, fresh: bool) -> Reply:
        """Ask about a place, with ``fresh`` in new runs."""
        build = self._builds.of(place)
        if build is None or (decision := self._measured(build, fresh=fresh)) is None:
            return NOT_INSTALLED
        batches = [decision]
        for _ in range(self._search.repeats if (decision.verdict, decision.hits) == ("inconclusive", 1) else 0):
            if sum(batch.hits for batch in batches) > 1:
                break
            batches.append(self._measured(build, fresh=True) or decision)
        return pooled(batches, self._rules)

    def _measured(self, build: Build, *, fresh: bool) -> Decision | None:
        try:
            return self._measure(build, fresh=fresh)
        except BuildError as error:
            self._progress.said(f"{error}; the search goes on without it")
            return None
