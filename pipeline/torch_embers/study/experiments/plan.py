"""How much is measured, and with which numbers: data/experiments.toml, typed."""

from __future__ import annotations

from typing import TypeVar

from torch_embers import resources, toml_models
from torch_embers.errors import InputError

DEFINITIONS = "experiments.toml"
PROFILES = ("default", "quick")


class Plan(toml_models.Entry):
    """How much is measured. Each field is an entry of ``[settings]``, where its reason stands."""

    images: int
    repeats: int
    step_repeats: int
    batches: tuple[int, ...]
    rounds: int
    whole_dimension: int
    whole_repeats: int
    power_dimension: int
    large_megabytes: int
    orders_per_place: int
    sample_repeats: int
    series_seconds: float
    memory_part: float
    untouched_calls: int
    confidence: float


class Chain(toml_models.Entry):
    """Numbers of the augmentation chain. Each field is an entry of ``[chain]``."""

    padding: int
    first_size: int
    second_size: int
    flip: float
    degrees: float
    jitter: float
    hue: float
    weights: tuple[float, ...]
    mean: tuple[float, ...]
    deviation: tuple[float, ...]


class Printed(toml_models.Entry):
    """What the paper printed. Each field is an entry of ``[printed]``; times in seconds."""

    aware_seconds: float
    default_seconds: float
    images: int
    side: int
    two: float
    four: float
    five: float


Model = TypeVar("Model", bound=toml_models.Entry)


def plan(profile: str = "default") -> Plan:
    """How much is measured under ``default`` or ``quick``.

    Raises:
        InputError: there is no such profile, or data/experiments.toml is malformed.
    """
    if profile not in PROFILES:
        raise InputError(f"there are no settings {profile!r}: use one of {', '.join(PROFILES)}")
    return _read(Plan, "settings", profile)


def chain() -> Chain:
    """The numbers of the augmentation chain.

    Raises:
        InputError: data/experiments.toml is malformed.
    """
    return _read(Chain, "chain", "value")


def printed() -> Printed:
    """What the paper printed.

    Raises:
        InputError: data/experiments.toml is malformed.
    """
    return _read(Printed, "printed", "value")


def _read(model: type[Model], section: str, key: str) -> Model:
    """One of the values that each entry of a section has beside its reason."""
    entries = resources.load_toml(DEFINITIONS).get(section, {})
    values = {name: entry[key] for name, entry in entries.items() if key in entry}
    return toml_models.validate(model, values, f"{DEFINITIONS}: {section}")
