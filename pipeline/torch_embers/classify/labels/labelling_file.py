"""``data/labelling.toml`` as models: labelling functions and how much of a text they read."""

from __future__ import annotations

import re
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, StringConstraints

from torch_embers import toml_models
from torch_embers.link.relations import bounded_pattern
from torch_embers.toml_models import Entry

_CAPITALS = re.compile(r"[A-Z]")
_ESCAPE = re.compile(r"\\.", re.DOTALL)
_NOT_RE2 = re.compile(r"\(\?(?!:|m\))|\\[1-9Z]|[}?]\+")


def _checked(pattern: re.Pattern[str]) -> re.Pattern[str]:
    """A pattern within the limits that the file states; in it letters are those of ASCII."""
    text = pattern.pattern
    if _NOT_RE2.search(text):
        raise ValueError(f"no look-around, back-reference or other form that RE2 lacks: {text}")
    if _CAPITALS.search(_ESCAPE.sub("", text)):
        raise ValueError(f"patterns see lower case only: {text}")
    return bounded_pattern(text, re.ASCII)


Id = Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9-]{0,60}$")]
Prose = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]
Lowered = Annotated[Prose, AfterValidator(str.lower)]
Pattern = Annotated[re.Pattern[str], AfterValidator(_checked)]
Count = Annotated[int, Field(strict=True, gt=0)]


class Function(Entry):
    """A labelling function."""

    id: Id
    kind: str
    scheme: str
    value: str
    reason: Prose


class LabelFunction(Function):
    """Votes for items with one of the maintainers' labels."""

    kind: Literal["label"]
    labels: frozenset[Lowered] = Field(min_length=1)


class KeywordFunction(Function):
    """Votes for items whose title or cleaned body, in lower case, matches a pattern."""

    kind: Literal["keyword"]
    where: Literal["title", "body"]
    pattern: Pattern
    needs: tuple[Annotated[Prose, StringConstraints(pattern=r"^[^A-Z]*$")], ...] = Field(min_length=1)
    """Words of which one must be in the text: a cheap test before the pattern."""


class ExecutionFunction(Function):
    """Votes for items whose bug a run has reproduced."""

    kind: Literal["execution"]
    signature: Literal["exception", "signal", "assertion", "mismatch", "hang", "memory", "slow"]
    types: frozenset[Lowered] = frozenset()
    message: Annotated[str, AfterValidator(str.lower)] = ""
    declared: frozenset[Prose] = frozenset()

    @property
    def conditions(self) -> int:
        """Number of conditions beside the signature: of several functions that match a run, those with most vote."""
        return bool(self.types) + bool(self.message) + bool(self.declared)


class LabellingLimits(Entry):
    """How much of a text is read and kept."""

    body_chars: Count
    evidence_chars: Count


AnyFunction = Annotated[LabelFunction | KeywordFunction | ExecutionFunction, Field(discriminator="kind")]


class LabellingFile(Entry):
    """The whole file."""

    version: Literal[1]
    limits: LabellingLimits
    function: tuple[AnyFunction, ...]

    _check = toml_models.distinct("function")
