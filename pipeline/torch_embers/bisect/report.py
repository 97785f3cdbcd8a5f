"""A bisection in words: one sentence, lines for a terminal, Markdown to paste, plain data."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from torch_embers.escaping import item_link
from torch_embers.escaping import markdown as escaped
from torch_embers.verdicts.matrix import span

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from torch_embers.bisect.commits import CommitRange
    from torch_embers.bisect.places import Place
    from torch_embers.bisect.search import Change, History, Reply
    from torch_embers.verdicts.script_excerpt import Script

SHOWN_DETAIL = 160
SHOWN_COMMAND = 2_000
SubjectKind = Literal["case", "behaviour", "script", "predicate", "speed"]


class Words(NamedTuple):
    """What a history is about, and what was counted."""

    what: str
    unit: str


BUG = Words("bug", "runs")
SLOW = Words("slow-down", "comparisons")


@dataclass(frozen=True, slots=True)
class Bisection:
    """What a bisection found.

    Attributes:
        subject: the case, script, predicate or call.
        kind: which of these it is.
        sibling_of: the item that was asked for, where the case shows a related bug and not its own.
        items: (repository, number) that the case belongs to.
        script: what ran, of a case.
        history: what the search found.
        environments: where the builds that were asked ran: device, processor, CPU capability, system.
        rated: whether hits measured a rate; with one run a build there is none, and no confidence.
        commits: the commits of the found range, where a clone was given.
        nightlies: the bisection over nightlies within the found range.
        session: key and number under which the database has it.
        words: what the answer speaks of.
        question: of a script of a report, what each build was asked.
    """

    subject: str
    items: tuple[tuple[str, int], ...]
    places: Sequence[Place]
    history: History
    environments: Sequence[str] = ()
    script: Script | None = None
    commits: CommitRange | None = None
    nightlies: Bisection | None = None
    kind: SubjectKind = "case"
    sibling_of: tuple[str, int] | None = None
    rated: bool = True
    session: tuple[str, int] = ("", 0)
    words: Words = BUG
    question: str = ""

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
        return sentence(self.history, [place.version for place in self.places], self.words)

    @property
    def run_places(self) -> set[int]:
        """Where runs were made for this search; a build that is not installed has none."""
        return run_places(self.history)

    @property
    def confidence(self) -> float | None:
        """The confidence to two digits, rounded down; None without a clean answer, a rate or an answer at all."""
        clean = any(reply.answer == "no" for reply in self.history.replies.values())
        if not (self.answered and self.rated and clean):
            return None
        return min(0.99, math.floor(round(100 * self.history.confidence, 6)) / 100)


def run_places(found: History) -> set[int]:
    """Where a search had runs made."""
    return {step.place for step in found.steps if step.reply.ran}


def sentence(found: History, versions: Sequence[str], words: Words = BUG) -> str:
    """The answer in one sentence.

    Args:
        found: the history.
        versions: by place.
        words: what it is about.
    """
    what = words.what
    said = [_said(change, found, versions, words) for change in found.changes]
    rest = _undecided(found, versions, words)
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


def _undecided(found: History, versions: Sequence[str], words: Words) -> str:
    """The places that were run and decide nothing, but for those that stand beside their change."""
    beside = {place for change in found.changes for place in change.skipped}
    open_here = (place for place, reply in found.replies.items() if reply.answer == "unknown" and reply.runs)
    named = [_open(place, found, versions, words) for place in open_here if place not in beside]
    return f" But {'; '.join(named)}." if named else ""


def _open(place: int, found: History, versions: Sequence[str], words: Words) -> str:
    """Why a place has no answer."""
    reply = found.replies[place]
    if reply.runs:
        return f"{versions[place]} is undecided, {reply.hits} of {reply.runs} {words.unit} showed it"
    return f"{versions[place]} cannot be tested"


def _said(change: Change, found: History, versions: Sequence[str], words: Words) -> str:
    """When the bug came or went; that it went does not say that somebody fixed it."""
    last, first = versions[change.before], versions[change.after]
    came = change.kind == "broken"
    if change.skipped:
        skipped = "; ".join(_open(place, found, versions, words) for place in change.skipped)
        return f"{'came' if came else 'went'} after {last} and no later than {first} ({skipped})"
    if came:
        return f"came with {first} ({last} is the last build without it)"
    return f"is gone since {first} ({last} is the last build with it)"


def _tested(found: History, versions: Sequence[str]) -> str:
    decided = [versions[place] for place, reply in found.replies.items() if reply.answer != "unknown"]
    return f"{len(decided)} of {len(versions)}: {', '.join(decided)}"


def as_table(made: Bisection) -> dict[str, Any]:
    """A bisection as plain data."""
    found, versions = made.history, [place.version for place in made.places]
    shows = made.answered
    return {
        "subject": made.subject,
        "sibling_of": f"{made.sibling_of[0]}#{made.sibling_of[1]}" if made.sibling_of else None,
        "items": [f"{repo}#{number}" for repo, number in made.items],
        "answer": found.kind,
        "sentence": made.sentence,
        "question": made.question or None,
        "confidence": made.confidence,
        "reason": found.reason or None,
        "ranges": [[versions[low], versions[high]] for low, high in found.ranges] if shows else [],
        "changes": [
            {
                "kind": change.kind,
                "before": versions[change.before],
                "after": versions[change.after],
                "untestable": [versions[place] for place in change.skipped],
            }
            for change in (found.changes if shows else ())
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
        "script": made.script.row() if made.script else None,
        "nightlies": as_table(made.nightlies) if made.nightlies else None,
        "commits": made.commits.row() if made.commits else None,
    }


def lines(made: Bisection) -> Iterable[str]:
    """A bisection for a terminal."""
    related = f" (a sibling of #{made.sibling_of[1]})" if made.sibling_of else ""
    yield f"{made.subject}{related}: {made.sentence}"
    found = made.history
    if made.question:
        yield made.question
    if made.answered:
        yield f"{_trust(made)}{len(made.run_places)} of {len(made.places)} builds were run"
    for place, reply in found.replies.items():
        mark = {"yes": "X", "no": ".", "unknown": "-"}[reply.answer]
        yield f"  {mark} {made.places[place].version:10} {_how(reply)}: {reply.detail[:SHOWN_DETAIL]}"
    if made.nightlies:
        yield from (f"nightlies: {line}" if not line.startswith(" ") else line for line in lines(made.nightlies))
    if made.commits:
        yield from made.commits.lines()


def _trust(made: Bisection) -> str:
    if not made.rated:
        return "no confidence, because each build was run once and taken at its word; "
    return "" if made.confidence is None else f"confidence at least {made.confidence:.2f}; "


def _how(reply: Reply) -> str:
    if reply.known:
        return "known before"
    if reply.asked_on:
        return f"run here on {reply.asked_on}"
    return "run here" if reply.ran else "not run"


def markdown(made: Bisection) -> str:
    """A bisection to paste into an issue; a person posts it, embers never does."""
    found = made.history
    head = f"**{escaped(made.sentence, 600)}**"
    out = [head, ""]
    if made.items:
        out += [f"About {', '.join(item_link(*item) for item in made.items)}.", ""]
    if made.sibling_of:
        out += [f"The case is a sibling of {item_link(*made.sibling_of)}: it shows a related bug, not that one.", ""]
    if made.kind == "speed":
        out += [f"Time of {escaped(made.subject, SHOWN_COMMAND)}; {_HELD[bool(made.items)]}", ""]
    elif made.question:
        out += [escaped(made.question, SHOWN_COMMAND), ""]
    elif made.kind != "case":
        what = "Script" if made.kind == "script" else "Command (0 is good, 125 skips, any other is bad)"
        out += [f"{what}: {escaped(made.subject, SHOWN_COMMAND)}", ""]
    out += [
        f"| build | commit | {made.words.what} | {made.words.unit} that showed it | how it is known | what was seen |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for place, reply in found.replies.items():
        own = made.places[place]
        cells = (
            own.version,
            own.commit_known[:10],
            reply.answer,
            f"{reply.hits}/{reply.runs}",
            _how(reply),
            reply.detail,
        )
        out.append("| " + " | ".join(escaped(cell, SHOWN_DETAIL) for cell in cells) + " |")
    out.append("")
    if made.answered and not made.rated:
        out += ["No confidence: each build was run once and taken at its word.", ""]
    elif made.confidence is not None:
        out += [f"Confidence at least {made.confidence:.2f}: the product over all clean answers it rests on.", ""]
    out += [f"Environment: {escaped(text)}" for text in made.environments]
    out += ["", *_limits(made)]
    if made.script:
        out += ["", f"Script: {escaped(made.script.place)}", "", made.script.markdown()]
    if made.nightlies:
        out += ["", "Nightlies:", "", markdown(made.nightlies)]
    if made.commits:
        out += ["", made.commits.markdown()]
    return "\n".join(out).rstrip() + "\n"


_HELD = {
    True: "it is held against its workaround on the same build.",
    False: "it is held against the same call on the good build, in processes that take turns.",
}


def _limits(made: Bisection) -> list[str]:
    """What the answer does not say."""
    found = made.history
    untested = [place.version for n, place in enumerate(made.places) if n not in found.replies]
    said = ["What this does not say:", ""]
    if untested:
        said.append(f"- Not tested, taken to be like their neighbours: {', '.join(untested)}.")
    if any(reply.known for reply in found.replies.values()):
        said.append("- Builds marked `known before` rest on earlier verdicts, perhaps of another machine.")
    if made.environments:
        said.append("- It holds for the environment above: another processor or device may take another kernel.")
    if made.kind == "speed":
        said.append("- One size and one thread were timed: at other sizes the ratio may be another.")
    else:
        said.append("- A change that makes the bug rarer than the clean runs could show would pass for its fix.")
    return said
