"""What the paper claims, as data: data/claims.toml read and checked. A claim is one number that the paper prints."""

from __future__ import annotations

from decimal import Decimal
from typing import Annotated, Any, Literal

from pydantic import Field, StrictFloat, StrictInt, model_validator

from torch_embers import toml_models
from torch_embers.errors import InputError

DEFINITIONS = "claims.toml"
Text = Annotated[str, Field(min_length=1)]


class Check(toml_models.Entry):
    """Whether a printed number can be right at all; one that ``decides`` shows that it is impossible."""

    check: Text
    holds: bool
    decides: bool = False
    text: Text


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
    rule: Literal["equal", "share", "lower_bound", "upper_bound", "shown", "majority", "none"]
    tolerance: int | float | None = None
    query: str | None = None
    parameters: dict[str, Any] = Field(default_factory=dict)
    ours: int | float | None = None
    basis: Literal["paper", "known", "geometry"] | None = None
    formula: str = ""
    source: str = ""
    missing: str = ""
    definition: str = ""
    checks: tuple[Check, ...] = ()

    @model_validator(mode="after")
    def _one_figure(self) -> Claim:
        if self.query is not None and self.ours is not None:
            raise ValueError("more than one of query, ours")
        if self.ours is None and not self.missing:
            raise ValueError("`missing` must say what is missing")
        if self.ours is not None and not (self.source if self.basis == "known" else self.basis and self.formula):
            raise ValueError("`ours` needs a `basis`, and a `source` where it is known, else a `formula`")
        return self

    @property
    def value(self) -> float:
        """The printed number."""
        return float(self.number)

    @property
    def places(self) -> int:
        """Decimals with which it is printed."""
        written = -int(Decimal(str(self.number)).as_tuple().exponent)
        return max(0, written) if self.decimals is None else self.decimals

    @property
    def half_unit(self) -> float:
        """Half a unit of the last printed place."""
        return 0.5 / 10.0**self.places

    @property
    def failed(self) -> tuple[Check, ...]:
        """Checks that do not hold."""
        return tuple(check for check in self.checks if not check.holds)


class ClaimSource(toml_models.Entry):
    """An entry of the paper's list of references that is a thread of pytorch/pytorch."""

    ref: int
    number: int


class Thresholds(toml_models.Explained):
    """Shares from which on a database counts as the whole tracker, and a sample as labelled."""

    census: float
    labelled: float


class PaperClaims(toml_models.Entry):
    """Everything of data/claims.toml."""

    version: int
    claims: tuple[Claim, ...] = Field(alias="claim")
    references: tuple[ClaimSource, ...] = Field(alias="reference")
    limits: Thresholds

    _distinct = toml_models.distinct("claims")

    def value(self, name: str) -> float:
        """The printed number of a claim.

        Raises:
            InputError: no claim has this id.
        """
        for claim in self.claims:
            if claim.id == name:
                return claim.value
        raise InputError(f"data/{DEFINITIONS}: {name!r} is no claim")


def load() -> PaperClaims:
    """Read data/claims.toml.

    Raises:
        InputError: the file is missing or malformed, or two entries have one id.
    """
    return toml_models.load(PaperClaims, DEFINITIONS)
