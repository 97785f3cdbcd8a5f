"""``data/labelling.toml`` as models: labelling functions, how votes are combined, what each scheme uses them for."""

from __future__ import annotations

import re
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, StrictBool, StringConstraints, model_validator

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
Accuracy = Annotated[float, Field(ge=0.5, lt=1)]


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


class Use(Entry):
    """What the votes on a scheme are used for; set where it was measured to help."""

    scheme: str
    combined: StrictBool
    """Whether the votes on an item are combined with the probabilities of its text."""
    trained: StrictBool
    """Whether items without gold labels are learned from where maintainers' labels name their class."""
    weight: float = Field(1.0, gt=0, le=1)
    """Weight of such an item beside one with a gold label."""
    per_class: Count = 1
    """Most of them of a class."""
    drawn_weight: float = Field(1.0, gt=0)
    """Weight of an item that was drawn at random beside one that was chosen."""
    decides: frozenset[Literal["label", "keyword"]] = frozenset()
    """Kinds of votes that are the answer by themselves where a scheme's classes do not exclude each other: the model
    answers only for items without any."""
    confirmed: float | None = Field(None, gt=0, le=1)
    """Probability from which on the model's class is given, whatever its threshold, where maintainers' labels name that
    class and no other."""
    excludes: dict[str, frozenset[Prose]] = Field(default_factory=dict)
    """Class -> classes that a deciding vote for it denies."""
    suggested: StrictBool = False
    """Whether the model's answers for items without a deciding vote are suggestions."""
    silent_under: dict[str, Prose] = Field(default_factory=dict)
    """Scheme -> its class under which words and the model name nothing, and labels confirm nothing; where maintainers'
    labels decide, they still do."""
    reason: Prose

    @model_validator(mode="after")
    def _check(self) -> Use:
        if self.trained and not {"weight", "per_class"} <= self.model_fields_set:
            raise ValueError("trained needs weight and per_class")
        return self


class Limits(Entry):
    """How much of a text is read and kept."""

    body_chars: Count
    evidence_chars: Count


class Assumed(Entry):
    """Accuracies without gold labels, by kind of function."""

    label: Accuracy
    keyword: Accuracy
    execution: Accuracy


class Combining(Entry):
    """How votes add up."""

    gold_weight: float = Field(ge=0)
    interval: Accuracy
    assumed: Assumed


AnyFunction = Annotated[LabelFunction | KeywordFunction | ExecutionFunction, Field(discriminator="kind")]


class LabellingFile(Entry):
    """The whole file."""

    version: Literal[1]
    limits: Limits
    combining: Combining
    use: tuple[Use, ...] = ()
    function: tuple[AnyFunction, ...]

    _check = toml_models.distinct("function")
