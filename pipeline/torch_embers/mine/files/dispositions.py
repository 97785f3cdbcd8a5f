"""Reads data/dispositions.jsonl: why closed issues were closed, as annotators read it in their threads."""

from __future__ import annotations

import json
import re
from datetime import date
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import BeforeValidator, Field, StrictFloat, StrictInt, ValidationError, model_validator

from torch_embers.errors import InputError
from torch_embers.normalize import naive_utc
from torch_embers.store.records import Batch, Disposition
from torch_embers.toml_models import Entry

if TYPE_CHECKING:
    from collections.abc import Mapping

    from torch_embers.store.records import Page

FILE = "dispositions.jsonl"
KIND = "catalog.dispositions"


FIRST_DAY = date(2016, 1, 1)
"""Before every tracker that is read: PyTorch's first commit is of 2016. An earlier day is a mistake."""
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)
_REFERENCE = r"^(?:(?:[\w.-]+/[\w.-]+)?#[1-9][0-9]*|[0-9a-f]{7,40}|https://\S+)$"


def _day(value: object) -> object:
    """A day of the calendar; the form alone admits the 45th."""
    if isinstance(value, str):
        if _DAY.fullmatch(value) is None:
            raise ValueError(f"{value!r} is no day of the form 2024-01-31")
        today = naive_utc().date()
        if not FIRST_DAY <= date.fromisoformat(value) <= today:
            raise ValueError(f"{value} is not between {FIRST_DAY} and today, {today} by the clock of this machine")
    return value


def _one_line(value: object) -> object:
    """Words that stand in a cell of a table: more lines or a bar would break it."""
    if isinstance(value, str):
        if not value.strip() or value != value.strip():
            raise ValueError("blank, or with a blank at an end")
        if "|" in value or not value.isprintable():
            raise ValueError("a line feed, another control character or a bar: it stands in tables")
    return value


Day = Annotated[str, BeforeValidator(_day)]
Words = Annotated[str, BeforeValidator(_one_line)]
NOT_REPRODUCED = "not_reproduced"
"""Kind of evidence that an issue was closed because somebody could not reproduce it: why it was gone stays unknown."""
OF_TRACKER = ("state_reason", "event")
"""Kinds of evidence that are seen without the thread."""
OF_CODE = ("closing_pr", "commit")
"""Kinds of evidence that are seen without the thread where they are named and dated."""


_UNFIT = re.compile(r"[\x00-\x20\x7f-\x9f|<>\"'`\u2028\u2029\u202a-\u202e\u2066-\u2069]")
"""What no reference has, and what a page or a terminal could take for more than text."""


class Line(Entry):
    """One line of the file."""

    repo: str = Field(pattern=r"^[A-Za-z\d][\w-]*/[\w.-]*\w[\w.-]*$")
    number: StrictInt = Field(gt=0, lt=1 << 31)
    disposition: Literal["fixed", "declined", "duplicate", "superseded", "stale", "unknown"]
    duplicate_of: StrictInt | None = Field(gt=0, lt=1 << 31)
    evidence_kind: Literal["commit", "closing_pr", "comment", "state_reason", "event", "not_reproduced"] | None
    evidence: Words = Field(max_length=300)
    evidence_ref: str | None = Field(pattern=_REFERENCE)
    evidence_date: Day | None
    thread_read: Literal["whole", "partly", "no"]
    annotator_kind: Literal["automated", "human"]
    annotator: Words
    confidence: StrictFloat | StrictInt = Field(ge=0, le=1)
    read_on: Day

    @model_validator(mode="after")
    def _is_consistent(self) -> Line:
        if (self.disposition == "duplicate") != (self.duplicate_of is not None):
            raise ValueError("duplicate_of goes with the disposition duplicate, and only with it")
        if self.duplicate_of == self.number:
            raise ValueError("duplicate_of names the issue itself")
        if self.evidence_ref is not None and self.evidence_ref == f"#{self.number}":
            raise ValueError("evidence_ref names the issue itself")
        if self.evidence_ref is not None and _UNFIT.search(self.evidence_ref):
            raise ValueError("evidence_ref holds a control character, a bar, a quote or an angle bracket")
        if self.evidence_date is not None and self.evidence_date > self.read_on:
            raise ValueError(f"evidence_date {self.evidence_date} is later than read_on {self.read_on}")
        if self.disposition == "unknown":
            self._check_unknown()
            return self
        if self.evidence_kind == NOT_REPRODUCED:
            raise ValueError(f"disposition {self.disposition} with evidence_kind {NOT_REPRODUCED}: say unknown")
        if self.evidence_kind is None:
            raise ValueError(f"disposition {self.disposition} without evidence_kind: say unknown, or what shows it")
        if not self.confidence:
            raise ValueError(f"disposition {self.disposition} with confidence 0: say unknown")
        if self.disposition == "fixed" and self.evidence_ref is None and self.evidence_date is None:
            raise ValueError(
                "disposition fixed with neither evidence_ref nor evidence_date: say unknown, or what fixed it"
            )
        if self.thread_read == "no" and not self._is_seen_outside:
            raise ValueError(
                f"disposition {self.disposition} by {self.evidence_kind} with thread_read no: say unknown, or name the "
                "state_reason, the event, or the pull request or commit with its day"
            )
        return self

    def _check_unknown(self) -> None:
        if self.evidence_kind not in (None, NOT_REPRODUCED):
            raise ValueError(f"disposition unknown with evidence_kind {self.evidence_kind}: nothing shows it")
        if self.evidence_kind and (self.evidence_ref is None or self.thread_read == "no"):
            raise ValueError(f"evidence_kind {NOT_REPRODUCED} without a sentence that was read: name its address")

    @property
    def _is_seen_outside(self) -> bool:
        """Whether the evidence can be seen without the thread."""
        is_dated = self.evidence_ref is not None and self.evidence_date is not None
        return self.evidence_kind in OF_TRACKER or (self.evidence_kind in OF_CODE and is_dated)


def read_dispositions(page: Page, opened: Mapping[tuple[str, int], str] = MappingProxyType({})) -> Batch:
    """Turn the lines of the file into records.

    Args:
        page: the file.
        opened: the day on which items were opened, where that is known: no evidence is older.

    Raises:
        InputError: a line is wrong; the message names it and its key.
    """
    batch = Batch()
    seen: dict[tuple[str, int, str], int] = {}
    for place, raw in enumerate(page.body.splitlines(), start=1):
        line = _line(raw, place)
        key = (line.repo.lower(), line.number, line.annotator)
        if key in seen:
            raise InputError(f"data/{FILE}: line {place}: {line.repo}#{line.number} stands in line {seen[key]}, too")
        seen[key] = place
        first = opened.get((line.repo, line.number), "")
        if line.evidence_date and line.evidence_date < first:
            raise InputError(
                f"data/{FILE}: line {place}: evidence_date: {line.evidence_date} is before {line.repo}#{line.number} "
                f"was opened, on {first}"
            )
        batch.dispositions.append(Disposition(**line.model_dump(exclude={"thread_read", "read_on"}), **page.stamp))
    return batch


def _line(raw: bytes, place: int) -> Line:
    where = f"data/{FILE}: line {place}"
    try:
        return Line.model_validate(json.loads(raw, object_pairs_hook=_once))
    except RecursionError as error:
        raise InputError(f"{where}: no JSON: nested too deeply") from error
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        key = ".".join(map(str, first["loc"]))
        message = first["msg"].removeprefix("Value error, ")
        raise InputError(f"{where}: {f'{key}: ' if key else ''}{message}") from error
    except ValueError as error:
        raise InputError(f"{where}: no JSON: {error}") from error


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """The keys of an object; JSON's reader would keep the last of two silently."""
    made = dict(pairs)
    if len(made) < len(pairs):
        twice = next(key for place, (key, _) in enumerate(pairs) if key in dict(pairs[:place]))
        raise ValueError(f"key {twice!r} stands there twice")
    return made
