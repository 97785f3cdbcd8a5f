"""What the study claims, as data: data/claims.toml read and checked.

A claim is one number that the paper prints. Our figure beside it has one of four origins, which are never mixed up:
``database`` (a query of analysis/claims), ``paper`` (arithmetic on other numbers that the paper prints, or a count of
its tables), ``known`` (a fact from elsewhere, with its source), or ``geometry`` (what a shape decides). A claim without
a figure names the data that is missing.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from torch_embers import resources
from torch_embers.errors import InputError
from torch_embers.study.claims.consistency import Printed, printed

DEFINITIONS = "claims.toml"
RULES = {
    "equal": "our figure must lie within the tolerance: half a unit of the last printed place where none is given",
    "share": "the printed share must lie in Wilson's 95 % interval of ours; only a nearly whole database carries that",
    "lower_bound": "a selected database can only hold too few: more of it than printed differs, less says nothing",
    "upper_bound": "there can be no more than our figure: a larger printed one differs, a smaller one says nothing",
    "shown": "what a selected database shows exists: our figure must reach the printed one, or nothing is said",
    "majority": "Wilson's interval of our share must lie above half; only a nearly complete database carries that",
    "none": "nothing is compared; the entry names what is missing",
}
"""How a printed number and our figure are compared."""
KINDS = ("count", "share", "ratio", "time", "loc", "year", "size")
ORIGINS = ("query", "formula", "known", "classes")


@dataclass(frozen=True, slots=True)
class Claim:
    """One number that the paper prints."""

    id: str
    section: str
    place: str
    states: str
    explains: str
    printed: Printed
    unit: str
    kind: str
    rule: str
    tolerance: float | None
    origin: str
    figure: Any
    parameters: dict[str, Any]
    source: str
    missing: str
    checks: tuple[dict[str, Any], ...]

    @property
    def value(self) -> float:
        """The printed number."""
        return float(self.printed.value)


@dataclass(frozen=True, slots=True)
class Reference:
    """An entry of the paper's list of references that is a thread of pytorch/pytorch."""

    ref: int
    number: int


@dataclass(frozen=True, slots=True)
class Study:
    """Everything of data/claims.toml."""

    claims: tuple[Claim, ...]
    references: tuple[Reference, ...]
    census: float
    labelled: float
    experiment: dict[str, Any] = field(default_factory=dict)

    def value(self, name: str | float) -> Printed:
        """The printed number of a claim, or a number itself.

        Raises:
            InputError: no claim has this id.
        """
        if not isinstance(name, str):
            return printed(name)
        for claim in self.claims:
            if claim.id == name:
                return claim.printed
        raise InputError(f"data/{DEFINITIONS}: {name!r} is no claim")


def _claim(entry: dict[str, Any]) -> Claim:
    name = entry.get("id", "?")
    origins = [origin for origin in ORIGINS if origin in entry]
    faults = [f"`{key}` is missing" for key in ("section", "place", "states", "explains", "unit") if not entry.get(key)]
    faults += [] if entry.get("kind") in KINDS else [f"`kind` is none of {', '.join(KINDS)}"]
    faults += [] if entry.get("rule") in RULES else [f"`rule` is none of {', '.join(RULES)}"]
    faults += [] if isinstance(entry.get("printed"), int | float) else ["`printed` is no number"]
    faults += [] if len(origins) <= 1 else [f"more than one of {', '.join(origins)}"]
    faults += (
        ["`missing` must say what is missing"]
        if not entry.get("missing") and "known" not in entry and (not origins or origins == ["query"])
        else []
    )
    faults += ["`known` needs a `source`"] if "known" in entry and not entry.get("source") else []
    if faults:
        raise InputError(f"data/{DEFINITIONS}: claim {name!r}: {'; '.join(faults)}")
    origin = origins[0] if origins else ""
    return Claim(
        id=str(name),
        section=str(entry["section"]),
        place=str(entry["place"]),
        states=str(entry["states"]),
        explains=str(entry["explains"]),
        printed=printed(entry["printed"], entry.get("decimals")),
        unit=str(entry["unit"]),
        kind=str(entry["kind"]),
        rule=str(entry["rule"]),
        tolerance=entry.get("tolerance"),
        origin=origin,
        figure=entry[origin] if origin else None,
        parameters=dict(entry.get("parameters", {})),
        source=str(entry.get("source", "")),
        missing=str(entry.get("missing", "")),
        checks=tuple(entry.get("checks", ())),
    )


def parse(data: dict[str, Any]) -> Study:
    """Read the parsed file.

    Raises:
        InputError: an entry is malformed, or two have one id.
    """
    try:
        claims = tuple(_claim(entry) for entry in data["claim"])
        references = tuple(Reference(int(r["ref"]), int(r["number"])) for r in data["reference"])
        limits = data["limits"]
        study = Study(claims, references, float(limits["census"]), float(limits["labelled"]), dict(data["experiment"]))
    except KeyError as error:
        raise InputError(f"data/{DEFINITIONS}: entry {error} is missing") from error
    names = [claim.id for claim in claims]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise InputError(f"data/{DEFINITIONS}: more than one claim is called {', '.join(twice)}")
    return study


def load() -> Study:
    """Read data/claims.toml.

    Raises:
        InputError: the file is missing or malformed.
    """
    return parse(resources.load_toml(DEFINITIONS))
