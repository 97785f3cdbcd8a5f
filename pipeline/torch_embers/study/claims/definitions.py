"""What the study claims, as data: data/claims.toml read and checked.

A claim is one number that the paper prints. Our figure beside it has one of four origins, which are never mixed up:
``database`` (a query of analysis/claims), ``paper`` (arithmetic on other numbers that the paper prints, or a count of
its tables), ``known`` (a fact from elsewhere, with its source), or ``geometry`` (what a shape decides). A claim without
a figure names the data that is missing.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, StrictFloat, StrictInt, field_validator, model_validator

from torch_embers import resources, toml_models
from torch_embers.errors import InputError
from torch_embers.study.claims import consistency

DEFINITIONS = "claims.toml"
RULES = {
    "equal": "our figure must lie within the tolerance: half a unit of the last printed place where none is given",
    "share": "the printed share must lie in Wilson's 95 % interval of ours; only for nearly the whole tracker",
    "lower_bound": "a selected sample holds too few items at most: more than printed differs, fewer cannot be compared",
    "upper_bound": "our figure is the largest possible: a larger printed one differs, a smaller one cannot be compared",
    "shown": "items of a selected sample exist: our figure must reach the printed one, or it cannot be compared",
    "majority": "Wilson's interval of our share must lie above half; only for nearly the whole tracker",
    "none": "nothing is compared; the entry names what is missing",
}
"""How a printed number and our figure are compared."""
ORIGINS = ("query", "formula", "known", "classes")
Text = Annotated[str, Field(min_length=1)]


class Claim(toml_models.Entry):
    """One number that the paper prints; data/claims.toml says what each key means."""

    id: Text
    section: Text
    place: Text
    states: Text
    explains: Text
    number: StrictInt | StrictFloat = Field(alias="printed")
    decimals: int | None = None
    unit: Text
    kind: Literal["count", "share", "ratio", "time", "loc", "year", "size"]
    rule: str
    tolerance: int | float | None = None
    query: str | None = None
    formula: tuple[Any, ...] | None = None
    known: int | float | None = None
    classes: tuple[str, ...] | None = None
    parameters: dict[str, Any] = Field(default_factory=dict)
    source: str = ""
    missing: str = ""
    definition: str = ""
    census: Literal["", "patches", "lines", "majority", "leaders"] = ""
    checks: tuple[dict[str, Any], ...] = ()

    @field_validator("rule")
    @classmethod
    def _known_rule(cls, rule: str) -> str:
        if rule not in RULES:
            raise ValueError(f"{rule!r} is none of {', '.join(RULES)}")
        return rule

    @model_validator(mode="after")
    def _one_figure(self) -> Claim:
        origins = [origin for origin in ORIGINS if getattr(self, origin) is not None]
        if len(origins) > 1:
            raise ValueError(f"more than one of {', '.join(origins)}")
        if origins in ([], ["query"]) and not self.missing:
            raise ValueError("`missing` must say what is missing")
        if origins == ["known"] and not self.source:
            raise ValueError("`known` needs a `source`")
        return self

    @property
    def printed(self) -> consistency.Printed:
        """The printed number with its decimals."""
        return consistency.printed(self.number, self.decimals)

    @property
    def value(self) -> float:
        """The printed number."""
        return float(self.number)


class Reference(toml_models.Entry):
    """An entry of the paper's list of references that is a thread of pytorch/pytorch."""

    ref: int
    number: int


class Limits(toml_models.Entry):
    """Shares from which on a database counts as the whole tracker, and a sample as labelled."""

    census: float
    census_reason: str
    labelled: float
    labelled_reason: str


class Experiment(toml_models.Entry):
    """The tensor that the paper permutes, and the memory of its machine."""

    shape: tuple[int, ...]
    shape_reason: str
    element_bytes: int
    element_bytes_reason: str
    gigabytes_per_second: float
    gigabytes_per_second_reason: str


class PaperClaims(toml_models.Entry):
    """Everything of data/claims.toml."""

    version: int
    claims: tuple[Claim, ...] = Field(alias="claim")
    references: tuple[Reference, ...] = Field(alias="reference")
    limits: Limits
    experiment: Experiment

    _distinct = toml_models.distinct("claims")

    def value(self, name: str | float) -> consistency.Printed:
        """The printed number of a claim, or a number itself.

        Raises:
            InputError: no claim has this id.
        """
        if not isinstance(name, str):
            return consistency.printed(name)
        for claim in self.claims:
            if claim.id == name:
                return claim.printed
        raise InputError(f"data/{DEFINITIONS}: {name!r} is no claim")


def parse(data: dict[str, Any]) -> PaperClaims:
    """Check the parsed file.

    Raises:
        InputError: an entry is malformed, or two have one id.
    """
    return toml_models.validate(PaperClaims, data, DEFINITIONS)


def load() -> PaperClaims:
    """Read data/claims.toml.

    Raises:
        InputError: the file is missing or malformed.
    """
    return parse(resources.load_toml(DEFINITIONS))
