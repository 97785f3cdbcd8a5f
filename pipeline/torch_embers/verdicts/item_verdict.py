"""Which verdict is said of an item, and of what it speaks: of the report's own input, or of another. Pure.

Runs of another input say nothing of the report, so wherever one line stands for an item, it says which of both it is.
``store/item_verdicts.sql`` answers the same for lists; a test holds both to the same answers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from torch_embers.verdicts.matrix import deciding
from torch_embers.verdicts.status import OWN_REPORT

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from torch_embers.verdicts.matrix import MatrixEntry

SpeaksOf = Literal["report", "another_input", "not_compared"]


def speaks_of(relation: str | None, origin: str) -> SpeaksOf:
    """What the runs of a case say something about."""
    if relation == "same" and origin in OWN_REPORT:
        return "report"
    return "another_input" if relation == "sibling" else "not_compared"


@dataclass(frozen=True, slots=True)
class ItemVerdict:
    """The verdict that is said of an item.

    Attributes:
        entry: of all its verdicts the one that decides; where a case is the report's own and can be tested, of such.
        speaks_of: what it speaks of.
        also_occurs: whether another case occurs there, while the report's own does not.
    """

    entry: MatrixEntry
    speaks_of: SpeaksOf
    also_occurs: bool = False

    @property
    def mark(self) -> str:
        """What stands beside the verdict; empty where it is of the report's own input and no other case occurs."""
        if self.also_occurs:
            return "another input occurs"
        return "" if self.speaks_of == "report" else self.speaks_of.replace("_", " ")

    @property
    def text(self) -> str:
        """The verdict with its mark."""
        return f"{self.entry.verdict} ({self.mark})" if self.mark else self.entry.verdict


def item_verdict(cases: Iterable[Mapping[str, str | None]], verdicts: Sequence[MatrixEntry]) -> ItemVerdict:
    """What the verdicts of an item's cases say of it together.

    Args:
        cases: name, origin and relation of each case of the item.
        verdicts: of these cases, at least one; one that is of none of them was compared with nothing.
    """
    of = {case["name"]: speaks_of(case["relation"], case["origin"] or "") for case in cases}
    own = [e for e in verdicts if of.get(e.case) == "report" and e.verdict != "untestable"]
    entry = deciding(own or verdicts)
    also = bool(own) and entry.verdict != "occurs" and any(e.verdict == "occurs" for e in verdicts)
    return ItemVerdict(entry, of.get(entry.case, "not_compared"), also)
