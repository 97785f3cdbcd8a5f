"""A bisection in words: one sentence, lines for a terminal, Markdown to paste, plain data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from torch_embers.builds.registry import environment_of, environment_text
from torch_embers.escaping import item_link
from torch_embers.escaping import markdown as escaped

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from torch_embers.run.bisect.commits import CommitRange
    from torch_embers.run.bisect.places import Place
    from torch_embers.run.bisect.search import Change, History
    from torch_embers.run.script import Script

SHOWN_DETAIL = 160


@dataclass(frozen=True, slots=True)
class Bisection:
    """What a bisection found.

    Attributes:
        subject: the case, script or predicate.
        items: (repository, number) that the case belongs to.
        script: what ran, of a case.
        history: what the search found.
        threads: that a run had.
        commits: the commits of the found range, where a clone was given.
        nightlies: the bisection over nightlies within the found range.
    """

    subject: str
    items: tuple[tuple[str, int], ...]
    places: Sequence[Place]
    history: History
    threads: int = 1
    script: Script | None = None
    commits: CommitRange | None = None
    nightlies: Bisection | None = None

    @property
    def told(self) -> bool:
        """Whether there is an answer."""
        return self.history.kind != "cannot tell"

    @property
    def sentence(self) -> str:
        """The answer in one sentence."""
        return sentence(self.history, [place.version for place in self.places])

    @property
    def environments(self) -> list[str]:
        """Where the builds that were asked ran: device, processor, CPU capability, system."""
        asked = [self.places[step.place].build for step in self.history.steps]
        return sorted({environment_text(environment_of(build, self.threads)) for build in asked if build})


def sentence(found: History, versions: Sequence[str]) -> str:
    """The answer in one sentence.

    Args:
        found: the history.
        versions: by place.
    """
    said = [_said(change, versions) for change in found.changes]
    match found.kind:
        case "cannot tell":
            return f"Cannot tell: {found.reason}."
        case "always":
            return f"The bug is there on every tested build ({_tested(found, versions)})."
        case "never":
            tested = _tested(found, versions)
            return (
                f"The bug was not seen on any build that was tested ({tested}); nothing shows that it can be seen here."
            )
        case "several":
            listed = ", ".join(_range(low, high, versions) for low, high in found.ranges)
            return f"Not one range: the bug is there on {listed}. It was {', then '.join(said)}."
        case _:
            return f"The bug was {' and '.join(said)}."


def _said(change: Change, versions: Sequence[str]) -> str:
    last, first = versions[change.before], versions[change.after]
    if change.skipped:
        skipped = ", ".join(versions[place] for place in change.skipped)
        return f"{change.kind} after {last} and no later than {first} ({skipped} cannot be tested)"
    side = "without" if change.kind == "broken" else "with"
    return f"{change.kind} in {first} ({last} is the last build {side} it)"


def _range(low: int, high: int, versions: Sequence[str]) -> str:
    return versions[low] if low == high else f"{versions[low]} to {versions[high]}"


def _tested(found: History, versions: Sequence[str]) -> str:
    decided = [versions[place] for place, reply in found.replies.items() if reply.answer != "unknown"]
    return f"{len(decided)} of {len(versions)}: {', '.join(decided)}"


def as_table(made: Bisection) -> dict[str, Any]:
    """A bisection as plain data."""
    found, versions = made.history, [place.version for place in made.places]
    shows = made.told
    return {
        "subject": made.subject,
        "items": [f"{repo}#{number}" for repo, number in made.items],
        "answer": found.kind,
        "sentence": made.sentence,
        "confidence": round(found.confidence, 4) if shows else None,
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
                "detail": reply.detail,
            }
            for place, reply in found.replies.items()
        ],
        "steps": [
            {"version": versions[step.place], "why": step.why, "answer": step.reply.answer} for step in found.steps
        ],
        "environment": made.environments,
        "script": made.script.row() if made.script else None,
        "nightlies": as_table(made.nightlies) if made.nightlies else None,
        "commits": made.commits.row() if made.commits else None,
    }


def lines(made: Bisection) -> Iterable[str]:
    """A bisection for a terminal."""
    yield f"{made.subject}: {made.sentence}"
    found = made.history
    if made.told:
        asked = len({step.place for step in found.steps})
        yield f"confidence at least {found.confidence:.2f}; {asked} of {len(made.places)} builds were run"
    for place, reply in found.replies.items():
        mark = {"yes": "X", "no": ".", "unknown": "-"}[reply.answer]
        how = "known before" if reply.known else "run here"
        yield f"  {mark} {made.places[place].version:10} {how}: {reply.detail[:SHOWN_DETAIL]}"
    if made.nightlies:
        yield from (f"nightlies: {line}" if not line.startswith(" ") else line for line in lines(made.nightlies))
    if made.commits:
        yield from made.commits.lines()


def markdown(made: Bisection) -> str:
    """A bisection to paste into an issue; a person posts it, embers never does."""
    found = made.history
    head = f"**{escaped(made.sentence, 600)}**"
    out = [head, ""]
    if made.items:
        out += [f"About {', '.join(item_link(*item) for item in made.items)}.", ""]
    out += [
        "| build | commit | bug | runs that showed it | how it is known | what was seen |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for place, reply in found.replies.items():
        own = made.places[place]
        cells = (
            own.version,
            own.commit_known[:10],
            reply.answer,
            f"{reply.hits}/{reply.runs}",
            "known before" if reply.known else "run here",
            reply.detail,
        )
        out.append("| " + " | ".join(escaped(cell, SHOWN_DETAIL) for cell in cells) + " |")
    out.append("")
    if made.told:
        out += [f"Confidence at least {found.confidence:.2f}: the product over all clean answers it rests on.", ""]
    out += [f"Environment: {escaped(text)}" for text in made.environments]
    out += ["", *_limits(made)]
    if made.script:
        out += ["", f"Script: {escaped(made.script.place)}", "", made.script.markdown()]
    if made.nightlies:
        out += ["", "Nightlies:", "", markdown(made.nightlies)]
    if made.commits:
        out += ["", made.commits.markdown()]
    return "\n".join(out).rstrip() + "\n"


def _limits(made: Bisection) -> list[str]:
    """What the answer does not say."""
    found = made.history
    untested = [place.version for n, place in enumerate(made.places) if n not in found.replies]
    said = ["What this does not say:", ""]
    if untested:
        said.append(f"- Not tested, taken to be like their neighbours: {', '.join(untested)}.")
    if any(reply.known for reply in found.replies.values()):
        said.append("- Builds marked `known before` rest on earlier verdicts, perhaps of another machine.")
    said.append("- It holds for the environment above: another processor or device may take another kernel.")
    said.append("- A change that makes the bug rarer than the clean runs could show would pass for its fix.")
    return said
