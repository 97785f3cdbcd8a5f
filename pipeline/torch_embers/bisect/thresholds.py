"""The numbers of data/bisect.toml."""

from __future__ import annotations

from functools import cache

from pydantic import Field

from torch_embers.toml_models import Entry, Explained
from torch_embers.toml_models import load as load_file


class SearchThresholds(Explained):
    """``[search]``: how a search asks, confirms and abstains."""

    validation: int = Field(ge=0)
    confirm: int = Field(ge=0, le=5)
    exhaustive: int = Field(ge=0)
    level: float = Field(gt=0, lt=1)
    flaky_control_batch: int = Field(gt=0)
    repeats: int = Field(ge=0)


class ScriptThresholds(Explained):
    """``[script]``: runs of anybody's script or predicate."""

    runs: int = Field(gt=0)
    seconds: float = Field(gt=0)


class WheelNames(Explained):
    """``[nightly]``: by system, names that the wheel of a nightly may have."""

    wheels: dict[str, tuple[str, ...]]


class CommitThresholds(Explained):
    """``[commits]``: how commits of a range are ranked."""

    shown: int = Field(gt=0)
    path_weight: float = Field(gt=0)
    ignored: tuple[str, ...]


class Thresholds(Entry):
    """The whole file."""

    search: SearchThresholds
    script: ScriptThresholds
    nightly: WheelNames
    commits: CommitThresholds


@cache
def load() -> Thresholds:
    """Read the file.

    Raises:
        InputError: it is missing or an entry is wrong.
    """
    return load_file(Thresholds, "bisect.toml")
