"""Reads data/dispositions.jsonl: why closed issues were closed, as annotators read it in their threads."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Literal

from pydantic import Field, ValidationError, model_validator

from torch_embers.errors import InputError
from torch_embers.store.records import Batch, Disposition
from torch_embers.toml_models import Entry

if TYPE_CHECKING:
    from torch_embers.store.records import Page

FILE = "dispositions.jsonl"
KIND = "catalog.dispositions"


class Line(Entry):
    """One line of the file."""

    repo: str = Field(pattern=r"[\w.-]+/[\w.-]+")
    number: int = Field(gt=0)
    disposition: Literal["fixed", "declined", "duplicate", "superseded", "stale", "unknown"]
    duplicate_of: int | None = Field(gt=0)
    evidence_kind: Literal["commit", "closing_pr", "comment", "state_reason", "event"] | None
    evidence: str = Field(min_length=1, max_length=300)
    evidence_ref: str | None
    evidence_date: str | None = Field(pattern=r"\d{4}-\d{2}-\d{2}")
    thread_read: Literal["whole", "partly", "no"]
    annotator_kind: Literal["automated", "human"]
    annotator: str = Field(min_length=1)
    confidence: float = Field(ge=0, le=1)
    read_on: str = Field(pattern=r"\d{4}-\d{2}-\d{2}")

    @model_validator(mode="after")
    def _is_consistent(self) -> Line:
        if (self.disposition == "duplicate") != (self.duplicate_of is not None):
            raise ValueError("duplicate_of goes with the disposition duplicate, and only with it")
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
    try:
        return Line.model_validate(json.loads(raw))
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        key = ".".join(map(str, first["loc"]))
        message = first["msg"].removeprefix("Value error, ")
        raise InputError(f"data/{FILE}: line {place}: {f'{key}: ' if key else ''}{message}") from error
    except ValueError as error:
        raise InputError(f"data/{FILE}: line {place}: no JSON: {error}") from error
