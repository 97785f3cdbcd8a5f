"""Which tables and figures there are: data/figures.toml, read and checked."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from torch_embers import toml_models

DEFINITIONS = "figures.toml"
FOLDERS = {"table": "tables", "figure": "figures"}
"""Folder of the queries, below analysis/, of each kind."""
Text = Annotated[str, Field(min_length=1)]


class FigureDefinition(toml_models.Entry):
    """One table or figure; data/figures.toml says what each key means."""

    id: Text
    kind: Literal["table", "figure"]
    counts: Literal["samples", "candidates", "cases", "labels", "fixes", "nobody"]
    paper: str = ""
    title: Text
    question: Text
    derive: Literal["plain", "shares", "chosen", "kappa", "corrected", "differences", "trends", "survival"]
    draw: Literal["", "shares", "stacked", "parts", "breakdown", "heat", "lines", "multiples", "sizes", "curves"] = ""
    group: str = ""
    event: str = ""
    printed: dict[str, float] = Field(default_factory=dict)
    claims: dict[str, str] = Field(default_factory=dict)
    empty: Text
    reason: Text

    @model_validator(mode="after")
    def _fits(self) -> FigureDefinition:
        if (self.kind == "figure") != bool(self.draw):
            raise ValueError("`draw` is for figures, and every figure needs it")
        if self.derive == "survival" and not self.event:
            raise ValueError("`event` is missing")
        return self

    @property
    def query(self) -> tuple[str, str]:
        """Its query: folder and file below analysis/."""
        return FOLDERS[self.kind], f"{self.id}.sql"

    @property
    def heading(self) -> str:
        """Title with its place in the paper."""
        return f"{self.paper}: {self.title}" if self.paper else self.title


class _File(toml_models.Entry):
    figure: tuple[FigureDefinition, ...]
    _distinct = toml_models.distinct("figure")


def load() -> tuple[FigureDefinition, ...]:
    """Read data/figures.toml.

    Raises:
        InputError: the file is malformed, or two entries have one id.
    """
    return toml_models.load(_File, DEFINITIONS).figure
