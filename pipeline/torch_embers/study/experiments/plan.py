"""How much is measured, and with which numbers: data/experiments.toml, typed."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

from torch_embers import resources
from torch_embers.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Mapping

DEFINITIONS = "experiments.toml"
PROFILES = ("default", "quick")


@dataclass(frozen=True, slots=True)
class Plan:
    """How much is measured. Each field is an entry of ``[settings]``, where its reason stands."""

    images: int
    repeats: int
    step_repeats: int
    batches: tuple[int, ...]
    rounds: int
    whole_dimension: int
    whole_repeats: int
    power_dimension: int
    large_megabytes: float
    orders_per_place: int
    sample_repeats: int
    series_seconds: float
    memory_part: float
    untouched_calls: int
    confidence: float


@dataclass(frozen=True, slots=True)
class Chain:
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


@dataclass(frozen=True, slots=True)
class Printed:
    """What the paper printed. Each field is an entry of ``[printed]``; times in seconds."""

    aware_seconds: float
    default_seconds: float
    images: int
    side: int
    two: float
    four: float
    five: float


def plan(profile: str = "default") -> Plan:
    """How much is measured under ``default`` or ``quick``.

    Raises:
        InputError: there is no such profile, or data/experiments.toml is incomplete.
    """
    if profile not in PROFILES:
        raise InputError(f"there are no settings {profile!r}: use one of {', '.join(PROFILES)}")
    return Plan(**_entries("settings", profile, Plan))


def chain() -> Chain:
    """The numbers of the augmentation chain.

    Raises:
        InputError: data/experiments.toml is incomplete.
    """
    return Chain(**_entries("chain", "value", Chain))


def printed() -> Printed:
    """What the paper printed.

    Raises:
        InputError: data/experiments.toml is incomplete.
    """
    return Printed(**_entries("printed", "value", Printed))


def _entries(section: str, key: str, kind: type) -> Mapping[str, Any]:
    found = resources.load_toml(DEFINITIONS).get(section, {})
    try:
        values = {field.name: found[field.name][key] for field in fields(kind)}
    except (KeyError, TypeError) as error:
        raise InputError(f"data/{DEFINITIONS}: [{section}] lacks {error}; each entry has {key} and reason") from error
    return {name: tuple(value) if isinstance(value, list) else value for name, value in values.items()}
