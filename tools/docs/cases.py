"""docs/cases.md: the cases of data/cases and the issues that have none."""

from __future__ import annotations

from collections import Counter
from functools import cache
from typing import TYPE_CHECKING

from packaging.version import Version

from torch_embers.repro import case as case_files
from torch_embers.repro.case import DEVICES, shipped

from .markdown import cell, code, fenced, issue_link, table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch_embers.repro.case import Case

EXAMPLE_CASE = "pt83149_bfloat16_sum_transposed"


@cache
def bank() -> tuple[Case, ...]:
    """The cases of data/cases."""
    return tuple(shipped())


@cache
def _measured() -> list[Version]:
    """Every version that a case was measured on, as far as the cases tell, oldest first."""
    texts = {text for case in bank() for text in (*case.known_bad, *([case.fixed_in] if case.fixed_in else []))}
    return sorted(map(Version, texts))


def ranges(versions: Sequence[str], known: Sequence[Version]) -> str:
    """Versions in words, neighbours of ``known`` as a range: ``1.13.1, 2.1.2 to 2.3.1``."""
    places = sorted(known.index(Version(version)) for version in versions)
    runs: list[list[int]] = []
    for place in places:
        if runs and runs[-1][-1] == place - 1:
            runs[-1].append(place)
        else:
            runs.append([place])
    return ", ".join(str(known[r[0]]) + (f" to {known[r[-1]]}" if len(r) > 1 else "") for r in runs)


def _class(case: Case) -> str:
    return case.labels.get("memory_type") or case.labels.get("bug_type", "")


def case_example() -> str:
    """A whole case file."""
    [case] = [case for case in bank() if case.name == EXAMPLE_CASE]
    return fenced(case.code, "python")


def case_list() -> str:
    """Every case with its facts."""
    rows = [
        (
            f"[`{case.name}`](../data/cases/{case.name}.py)",
            ", ".join(issue_link(*issue) for issue in case.issues),
            code(_class(case)),
            ", ".join(code(need) for need in case.needs),
            ranges(case.known_bad, _measured()),
            case.fixed_in or "",
        )
        for case in sorted(bank(), key=lambda one: (one.issues[0][1] if one.issues else 0, one.name))
    ]
    return table(("case", "items", "class", "needs", "occurs on", "gone from"), rows)


def counted() -> str:
    """How many cases there are, by class and by the device that they need."""
    devices = list(DEVICES)
    counts = Counter((_class(case), case.device) for case in bank())
    classes = sorted({name for name, _ in counts}, key=lambda name: (-sum(counts[name, d] for d in devices), name))
    rows = [
        (code(n), *(str(counts[n, d] or "") for d in devices), str(sum(counts[n, d] for d in devices))) for n in classes
    ]
    total = Counter(case.device for case in bank())
    rows.append(("all", *(str(total[device]) for device in devices), str(len(bank()))))
    return table(("class", *(f"{device}:" for device in devices), "cases:"), rows)


def uncovered() -> str:
    """Issues that have no case for a stated reason."""
    rows = [(issue_link(*item), cell(reason)) for item, reason in sorted(case_files.uncovered().items())]
    return table(("issue", "why it has no case"), rows)
