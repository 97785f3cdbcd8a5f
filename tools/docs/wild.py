"""docs/wild-labels.md: how many items of each sample have which label, and how far two annotators agree."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from torch_embers.classify.labels import wild
from torch_embers.statistics.agreement import between
from torch_embers.taxonomy import Taxonomy

from .markdown import code, table

if TYPE_CHECKING:
    from torch_embers.classify.labels.wild import WildItem

EXCLUSIVE = ("bug_type", "memory_type", "consequence")
NOTHING = "none"


def issues() -> list[WildItem]:
    """The drawn items that are issues."""
    return [item for item in wild.load() if item.kind == "issue"]


def samples() -> str:
    """Items by sample and part."""
    rows = []
    for name in dict.fromkeys(item.sample for item in wild.load()):
        own = [item for item in wild.load() if item.sample == name]
        kept = [item for item in own if item.kind == "issue"]
        seen, part = Counter(item.seen for item in kept), Counter(item.part for item in kept)
        rows.append(
            [
                code(name),
                str(len(own)),
                str(len(kept)),
                *(str(part[half]) for half in ("development", "test", "recent")),
                *(str(seen[what]) for what in ("title", "body", "thread")),
                str(sum(item.adjudicated for item in kept)),
            ]
        )
    head = ["sample", "drawn", "issues", "development", "test", "recent", "title", "body", "thread", "a third decided"]
    return table(head, rows)


def classes() -> str:
    """Issues by class and sample, classes in the order of the taxonomy."""
    kept = issues()
    names = list(dict.fromkeys(item.sample for item in kept))
    rows = []
    for scheme in EXCLUSIVE:
        counted = Counter((item.sample, item.value(scheme)) for item in kept)
        for value in Taxonomy.load().scheme(scheme).names():
            numbers = [counted[name, value] for name in names]
            if any(numbers):
                rows.append([code(scheme), code(value), *map(str, numbers), str(sum(numbers))])
    return table(["scheme", "class", *map(code, names), "all"], rows)


def agreement() -> str:
    """Cohen's kappa of the two annotators on the issues, by scheme."""
    said = []
    for item in issues():
        for name, answer in (("first", item.first), ("second", item.second)):
            labels = dict(answer.labels)
            under_memory = [dict(one.labels).get("bug_type") == "memory" for one in (item.first, item.second)]
            asked = [scheme for scheme in EXCLUSIVE if scheme != "memory_type" or all(under_memory)]
            said += [(scheme, name, (item.sample, item.key), labels.get(scheme, NOTHING)) for scheme in asked]
    rows = [
        [
            code(pair.scheme),
            str(pair.items),
            str(pair.same),
            f"{pair.kappa.value:.2f} ({pair.kappa.low:.2f} to {pair.kappa.high:.2f})",
        ]
        for pair in between(said)
    ]
    return table(["scheme", "issues", "same answer", "kappa"], rows)
