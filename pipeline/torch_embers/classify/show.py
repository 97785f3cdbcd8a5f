"""What `embers classify` prints."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING

from torch_embers.classify.model import LEVELS
from torch_embers.console import plain, stdout

if TYPE_CHECKING:
    from torch_embers.classify.explain import Explanation, LabelReasons
    from torch_embers.classify.stage import Labelled

HOW = {
    "out_of_fold": ", by a model that was trained without it",
    "execution": ", shown by a run",
    "only_class": ", the only class there",
}
"""Origin of a label, in words; nothing for the model alone."""


def print_labelled(done: Labelled) -> None:
    """Print what the classification stage did, and what is labelled now: classes with their confidences, examples."""
    out = stdout()
    out.print(f"{done.items:,} items labelled, {done.embedded:,} texts embedded")
    by_scheme: dict[str, dict[str, Counter[str]]] = defaultdict(lambda: defaultdict(Counter))
    for scheme, value, confidence, count in done.counts:
        by_scheme[scheme][value][confidence] += count
    for scheme, classes in by_scheme.items():
        out.print(f"\n{scheme:<26} {'labels':>7} " + " ".join(f"{level:>7}" for level in reversed(LEVELS)))
        for value, counts in classes.items():
            levels = " ".join(f"{counts[level]:>7,}" for level in reversed(LEVELS))
            out.print(f"  {value:<24} {counts.total():>7,} {levels}", markup=False)
    if done.examples:
        out.print("\nfor example:")
    for repo, number, title, scheme, value, probability, confidence in done.examples:
        said = f"  {repo}#{number} {scheme} {value} ({probability:.2f}, {confidence}): {title}"
        out.print(plain(said), markup=False, no_wrap=True, overflow="ellipsis")


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


def _print_label(label: LabelReasons) -> None:
    out = stdout()
    how = HOW.get(label.provenance, "")
    out.print(
        f"{label.scheme}: {plain(label.value)}, probability {label.probability:.2f}, confidence {label.confidence}{how}"
    )
    if label.terms:
        out.print(f"    terms: {plain(', '.join(f'{one.term} {one.weight:+.2f}' for one in label.terms))}")
    for vote in label.votes:
        worth = " decides" if vote.kind == "execution" else ""
        out.print(f"    vote: {plain(vote.value)}{worth} by {plain(vote.function)} ({plain(vote.evidence)})")
