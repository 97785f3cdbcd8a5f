"""What a mine did."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch_embers.link.update_links import LinkCounts


@dataclass(slots=True)
class Report:
    """What a mine did."""

    source: str
    repo: str
    items: int = 0
    comments: int = 0
    events: int = 0
    commits: int = 0
    rejects: int = 0
    absent: int = 0
    """Numbers that turned out to be no item any more."""
    failed: dict[int, str] = field(default_factory=dict)
    """Items that were not answered whole, with the reason; the next mine asks for them again."""
    stopped: str = ""
    """Why it ended early though nothing failed (the budget)."""
    notes: list[str] = field(default_factory=list)
    seconds: float = 0.0
    links: LinkCounts | None = None
