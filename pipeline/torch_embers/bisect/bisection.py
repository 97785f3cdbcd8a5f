"""What a bisection found: in one sentence, in lines for a terminal, as Markdown to paste, as plain data."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pydantic import TypeAdapter

from torch_embers import templates
from torch_embers.bisect.commits import CommitRange
from torch_embers.verdicts.matrix import span

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from torch_embers.bisect.places import Place
    from torch_embers.bisect.search import BehaviourChange, History, Reply
    from torch_embers.bisect.sessions import Session
    from torch_embers.bisect.subjects import Subject

SHOWN_DETAIL = 160
SHOWN_FILES = 3
_COMMITS = TypeAdapter(CommitRange)


@dataclass(frozen=True, slots=True)
class Bisection:
    """What a bisection found.

    Attributes:
        places: the builds that were searched.
        history: what the search found.
        environments: where the builds that were asked ran: device, processor, CPU capability, system.
        session: under which the database has it.
        rated: whether hits measured a rate; with one run a build there is none, and no confidence.
        nightlies: the bisection over nightlies within the found range.
        commits: the commits of the found range, where a clone was given.
    """

    subject: Subject
    places: Sequence[Place]
    history: History
    environments: Sequence[str]
    session: Session
    rated: bool = True
    nightlies: Bisection | None = None
    commits: CommitRange | None = None

    @property
    def answered(self) -> bool:
        """Whether there is an answer."""
        return self.history.kind != "cannot tell"

    @property
    def last_change(self) -> tuple[Place, Place] | None:
        """The builds beside the last change; None where there is no answer or no change."""
        if not self.answered or not self.history.changes:
            return None
        change = self.history.changes[-1]
        return self.places[change.before], self.places[change.after]

    @property
    def innermost(self) -> Bisection:
        """The bisection over nightlies where it found a change, else this one."""
        return self.nightlies if self.nightlies and self.nightlies.last_change else self

    @property
    def sentence(self) -> str:
        """The answer in one sentence."""
        return sentence(self.history, [place.version for place in self.places], self.subject.what)

    @property
    def question(self) -> str:
        """What each build was asked, of the script of an item; else empty."""
        return self.subject.sides.question if self.subject.sides else ""

    @property
    def confidence(self) -> float | None:
        """The confidence to two digits, rounded down; None without a clean answer, a rate or an answer at all."""
        clean = any(reply.answer == "no" for reply in self.history.replies.values())
        if not (self.answered and self.rated and clean):
            return None
        return min(0.99, math.floor(round(100 * self.history.confidence, 6)) / 100)


# ---- the sentence --------------------------------------------------------------------------------------------------


def sentence(found: History, versions: Sequence[str], what: str = "bug") -> str:
    """The answer in one sentence.

    Args:
        found: the history.
        versions: by place.
        what: what it is about.
    """
    said = [_said(change, found, versions) for change in found.changes]
    rest = _undecided(found, versions)
    match found.kind:
        case "cannot tell":
            return f"Cannot tell: {found.reason}."
        case "always":
            return f"The {what} is there on every build that decides ({_tested(found, versions)}).{rest}"
        case "never":
            tested = _tested(found, versions)
            unseen = f"The {what} was not seen on any build that was tested ({tested})"
            return f"{unseen}; nothing shows that it can be seen here.{rest}"
        case "several":
            listed = ", ".join(span(versions[low : high + 1]) for low, high in found.ranges)
            return f"Not one range: the {what} is there on {listed}. It {', then it '.join(said)}.{rest}"
        case _:
            return f"The {what} {' and it '.join(said)}.{rest}"


def _undecided(found: History, versions: Sequence[str]) -> str:
    """The places that were run and decide nothing, but for those that stand beside their change."""
    beside = {place for change in found.changes for place in change.skipped}
    open_here = (place for place, reply in found.replies.items() if reply.answer == "unknown" and reply.runs)
    named = [_open(place, found, versions) for place in open_here if place not in beside]
    return f" But {'; '.join(named)}." if named else ""


def _open(place: int, found: History, versions: Sequence[str]) -> str:
    """Why a place has no answer."""
    reply = found.replies[place]
    if reply.runs:
        return f"{versions[place]} is undecided, {reply.hits} of {reply.runs} runs showed it"
    return f"{versions[place]} cannot be tested"


def _said(change: BehaviourChange, found: History, versions: Sequence[str]) -> str:
    """When the bug came or went; that it went does not say that somebody fixed it."""
    last, first = versions[change.before], versions[change.after]
    came = change.kind == "broken"
    if change.skipped:
        skipped = "; ".join(_open(place, found, versions) for place in change.skipped)
        return f"{'came' if came else 'went'} after {last} and no later than {first} ({skipped})"
    if came:
        return f"came with {first} ({last} is the last build without it)"
    return f"is gone since {first} ({last} is the last build with it)"


def _tested(found: History, versions: Sequence[str]) -> str:
    decided = [versions[place] for place, reply in found.replies.items() if reply.answer != "unknown"]
    return f"{len(decided)} of {len(versions)}: {', '.join(decided)}"


# ---- plain data ----------------------------------------------------------------------------------------------------


def as_table(made: Bisection) -> dict[str, Any]:
    """A bisection as plain data."""
    found, subject, versions = made.history, made.subject, [place.version for place in made.places]
    return {
        "subject": subject.name,
        "sibling_of": f"{subject.sibling_of[0]}#{subject.sibling_of[1]}" if subject.sibling_of else None,
        "items": [f"{repo}#{number}" for repo, number in subject.items],
        "answer": found.kind,
        "sentence": made.sentence,
        "question": made.question or None,
        "confidence": made.confidence,
        "reason": found.reason or None,
        "ranges": [[versions[low], versions[high]] for low, high in found.ranges] if made.answered else [],
        "changes": [
            {
                "kind": change.kind,
                "before": versions[change.before],
                "after": versions[change.after],
                "untestable": [versions[place] for place in change.skipped],
            }
            for change in (found.changes if made.answered else ())
        ],
        "builds": [
            {
                "version": versions[place],
                "commit": made.places[place].commit_known or None,
                "answer": reply.answer,
                "k": reply.hits,
                "n": reply.runs,
                "known_before": reply.known,
                "asked_on": reply.asked_on or None,
                "detail": reply.detail,
            }
            for place, reply in found.replies.items()
        ],
        "steps": [
            {"version": versions[step.place], "why": step.why, "answer": step.reply.answer} for step in found.steps
        ],
        "environment": list(made.environments),
        "script": subject.script.row() if subject.script else None,
        "nightlies": as_table(made.nightlies) if made.nightlies else None,
        "commits": _COMMITS.dump_python(made.commits, mode="json") if made.commits else None,
    }


# ---- for a terminal ------------------------------------------------------------------------------------------------


def lines(made: Bisection) -> Iterable[str]:
    """A bisection for a terminal."""
    found, sibling_of = made.history, made.subject.sibling_of
    related = f" (a sibling of #{sibling_of[1]})" if sibling_of else ""
    yield f"{made.subject.name}{related}: {made.sentence}"
    if made.question:
        yield made.question
    if made.answered:
        trust = "" if made.confidence is None else f"confidence at least {made.confidence:.2f}; "
        if not made.rated:
            trust = "no confidence, because each build was run once and taken at its word; "
        yield f"{trust}{len(found.asked)} of {len(made.places)} builds were run"
    for place, reply in found.replies.items():
        mark = {"yes": "X", "no": ".", "unknown": "-"}[reply.answer]
        yield f"  {mark} {made.places[place].version:10} {_how(reply)}: {reply.detail[:SHOWN_DETAIL]}"
    if made.nightlies:
        yield from (f"nightlies: {line}" if not line.startswith(" ") else line for line in lines(made.nightlies))
    if made.commits:
        own = made.commits
        yield f"{own.total} commits between {own.before} and {own.after} ({own.basis}); the likeliest:"
        for commit in own.likeliest:
            tie = "names the issue" if commit.names_the_issue else ", ".join(commit.words)
            pull = f" #{commit.pull}" if commit.pull else ""
            yield f"  {commit.sha[:12]}{pull} {commit.subject[:100]} [{tie}]"
            yield f"    touches {_shown(commit.files)}"


def _how(reply: Reply) -> str:
    if reply.known:
        return "known before"
    if reply.asked_on:
        return f"run here on {reply.asked_on}"
    return "run here" if reply.ran else "not run"


def _shown(files: Sequence[str]) -> str:
    """The first files of a commit, and how many more it touches."""
    named = ", ".join(files[:SHOWN_FILES]) or "no file"
    return f"{named} and {len(files) - SHOWN_FILES} more" if len(files) > SHOWN_FILES else named


# ---- to paste ------------------------------------------------------------------------------------------------------


def markdown(made: Bisection, repo: str) -> str:
    """A bisection to paste into an issue; a person posts it, embers never does.

    Args:
        made: the bisection.
        repo: repository of the commits.
    """
    replies = made.history.replies
    rows = [
        (place.version, place.commit_known[:10], one.answer, f"{one.hits}/{one.runs}", _how(one), one.detail)
        for place, one in ((made.places[number], one) for number, one in replies.items())
    ]
    page = templates.render(
        "bisect",
        "bisection.md",
        made=made,
        subject=made.subject,
        rows=rows,
        untested=[place.version for number, place in enumerate(made.places) if number not in replies],
        any_known=any(reply.known for reply in replies.values()),
        nightlies=markdown(made.nightlies, repo) if made.nightlies else "",
        commits=made.commits,
        repo=repo,
        shown=_shown,
    )
    return page.rstrip() + "\n"
