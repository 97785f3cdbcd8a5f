"""Reads data/dispositions.jsonl: why closed issues were closed, as annotators read it in their threads."""

from __future__ import annotations

import json
import re
from datetime import date
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import BeforeValidator, Field, StrictFloat, StrictInt, ValidationError, model_validator

from torch_embers.errors import InputError
from torch_embers.store.records import Batch, Disposition
from torch_embers.toml_models import Entry

if TYPE_CHECKING:
    from torch_embers.store.records import Page

FILE = "dispositions.jsonl"
KIND = "catalog.dispositions"


_DAY = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)
_REFERENCE = r"^(?:(?:[\w.-]+/[\w.-]+)?#[1-9][0-9]*|[0-9a-f]{7,40}|https://\S+)$"


def _day(value: object) -> object:
    """A day of the calendar; the form alone admits the 45th."""
    if isinstance(value, str):
        if _DAY.fullmatch(value) is None:
            raise ValueError(f"{value!r} is no day of the form 2024-01-31")
        date.fromisoformat(value)
    return value


Day = Annotated[str, BeforeValidator(_day)]


class Line(Entry):
    """One line of the file."""

    repo: str = Field(pattern=r"^[\w.-]+/[\w.-]+$")
    number: StrictInt = Field(gt=0, lt=1 << 31)
    disposition: Literal["fixed", "declined", "duplicate", "superseded", "stale", "unknown"]
    duplicate_of: StrictInt | None = Field(gt=0, lt=1 << 31)
    evidence_kind: Literal["commit", "closing_pr", "comment", "state_reason", "event"] | None
    evidence: str = Field(min_length=1, max_length=300)
    evidence_ref: str | None = Field(pattern=_REFERENCE)
    evidence_date: Day | None
    thread_read: Literal["whole", "partly", "no"]
    annotator_kind: Literal["automated", "human"]
    annotator: str = Field(min_length=1)
    confidence: StrictFloat | StrictInt = Field(ge=0, le=1)
    read_on: Day

    @model_validator(mode="after")
    def _is_consistent(self) -> Line:
        if (self.disposition == "duplicate") != (self.duplicate_of is not None):
            raise ValueError("duplicate_of goes with the disposition duplicate, and only with it")
        if self.duplicate_of == self.number:
            raise ValueError("duplicate_of names the issue itself")
        if self.disposition != "unknown" and self.evidence_kind is None:
            raise ValueError(f"disposition {self.disposition} without evidence_kind: say unknown, or what shows it")
        return self


def read_dispositions(page: Page) -> Batch:
    """Turn the lines of the file into records.

    Raises:
        InputError: a line is wrong; the message names it and its key.
    """
    batch = Batch()
    seen: dict[tuple[str, int, str], int] = {}
    for place, raw in enumerate(page.body.splitlines(), start=1):
        line = _line(raw, place)
        key = (line.repo, line.number, line.annotator)
        if key in seen:
            raise InputError(f"data/{FILE}: line {place}: {line.repo}#{line.number} stands in line {seen[key]}, too")
        seen[key] = place
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
