"""What `embers classify` and `embers data label --errors` print."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_embers.console import plain, stdout

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch_embers.classify.explain import Explanation, LabelReasons
    from torch_embers.classify.stage import Labelled
    from torch_embers.classify.suspects import Suspect

HOW = {
    "out_of_fold": ", trained without it",
    "out_of_fold+votes": ", trained without it, votes counted",
    "model+votes": ", votes counted",
    "votes": ", named by a label or the title",
    "execution": ", shown by a run",
    "only_class": ", the only class there",
}
"""Origin of a label, in words; nothing for the model alone."""


def print_labelled(done: Labelled) -> None:
    """Print what the classification stage did."""
    out = stdout()
    out.print(f"{done.items:,} items labelled, {done.embedded:,} texts embedded")
    for scheme, answered in done.answered.items():
        out.print(f"{scheme}: {answered:,} labels, {done.abstained[scheme]:,} abstentions")
    if done.executed:
        out.print(f"{done.executed:,} labels were decided by runs")


def print_explanation(found: Explanation, repo: str, number: int) -> None:
    """Print why an item has its labels."""
    out = stdout()
    out.print(f"{plain(repo)}#{number} {plain(found.title)}")
    for label in found.labels:
        _print_label(label)
    if found.neighbours:
        out.print("nearest labelled items:")
    for hit, labels in found.neighbours:
        given = ", ".join(f"{scheme}={value}" for scheme, value in labels.items())
        out.print(f"    {hit.score:.2f} #{hit.number} {plain(hit.title)} [{plain(given)}]", markup=False)


def answer(value: str | None, likeliest: str) -> str:
    """What the classifier says in a scheme: its class, or where it abstains the likeliest one as a suggestion."""
    return value or f"no answer (suggestion: {likeliest})"


def _print_label(label: LabelReasons) -> None:
    out = stdout()
    said = answer(label.value, label.likeliest)
    how = HOW.get(label.provenance, "")
    out.print(f"{label.scheme}: {plain(said)}, probability {label.probability:.2f}{how}")
    if label.terms:
        out.print(f"    terms: {plain(', '.join(f'{one.term} {one.weight:+.2f}' for one in label.terms))}")
    for vote, weight in label.votes:
        worth = "decides" if vote.kind == "execution" else "not counted"
        if weight is not None:
            worth = f"{weight:+.2f}"
        out.print(f"    vote: {plain(vote.value)} {worth} by {plain(vote.function)} ({plain(vote.evidence)})")
    if label.learned is not None:
        out.print(f"    learned from: {plain(label.learned.label)} by {plain(label.learned.source)}")


def print_suspects(found: Sequence[Suspect], limit: int) -> None:
    """Print the labels that are probably wrong, the most certain first."""
    out = stdout()
    for one in found[:limit]:
        named = f"{one.repo}#{one.number} {one.scheme}: {one.given} ({one.by}), suggested {one.suggested}"
        out.print(f"{plain(named)}, margin {one.margin:.2f}: {plain(one.title)}")
    out.print(
        f"{min(limit, len(found)):,} of {len(found):,} gold labels that are probably wrong, by held-out predictions"
    )
