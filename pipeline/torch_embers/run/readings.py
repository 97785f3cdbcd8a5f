"""What second readers say of a case beside the thread of its item (data/case_reviews.jsonl)."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache

from torch_embers import resources

FILE = "case_reviews.jsonl"
_THREADS = {"whole": "with the whole thread", "partly": "with a part of the thread", "no": "without the thread"}


@dataclass(frozen=True, slots=True)
class Reading:
    """One reading.

    Attributes:
        answer: faithful, sibling, wrong or unsure.
        reason: what the report does and what the case does.
        doubt: how the case may answer another question than the report; empty where the reader saw no such way.
        decides: whether runs of the case may speak of the item. A case that stands for the report only in part may not.
        thread_read: whole, partly or no.
        annotator_kind: automated or human.
        read_on: the day.
    """

    answer: str
    reason: str
    doubt: str
    decides: bool
    thread_read: str
    annotator_kind: str
    annotator: str
    read_on: str

    @property
    def source(self) -> str:
        """Who read, and how much of the thread."""
        who = "an automated annotator" if self.annotator_kind == "automated" else "a person"
        return f"{who} ({self.annotator}, {_THREADS[self.thread_read]}, {self.read_on})"

    @property
    def text(self) -> str:
        """What was compared, what is doubted, and by whom, in sentences."""
        doubt = f" Doubt: {self.doubt.rstrip('.')}." if self.doubt else ""
        return f"{self.reason.rstrip('.')}.{doubt} Read by {self.source}."


def readings_of(repo: str, number: int) -> dict[str, Reading]:
    """The newest reading of each case of an item, by the name of the case.

    Raises:
        InputError: the file is missing from this installation.
    """
    return dict(_all_readings().get((repo, number), {}))


@cache
def _all_readings() -> dict[tuple[str, int], dict[str, Reading]]:
    """The file, by item; later lines replace earlier ones of the same case."""
    found: dict[tuple[str, int], dict[str, Reading]] = {}
    for line in resources.data_file(FILE).read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        found.setdefault((row["repo"], row["number"]), {})[row["case"]] = Reading(
            row["answer"],
            row["reason"],
            row["other_cause"] or "",
            row.get("decides", True),
            row["thread_read"],
            row["annotator_kind"],
            row["annotator"],
            row["read_on"],
        )
    return found
