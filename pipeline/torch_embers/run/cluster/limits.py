"""The numbers of ``data/cluster.toml``."""

from __future__ import annotations

from functools import cache

from pydantic import Field

from torch_embers.toml_models import Entry, Explained, load


class Limits(Explained):
    """Sizes of tasks, and patience."""

    least_cases: int = Field(gt=0)
    most_cases: int = Field(gt=0)
    most_attempts: int = Field(gt=0)
    texts: int = Field(gt=0)
    tasks_per_cpu: float = Field(gt=0)
    memory: int = Field(gt=0)
    losses: int = Field(gt=0)
    answer_seconds: float = Field(gt=0)
    node_seconds: float = Field(gt=0)
    empty_seconds: float = Field(ge=0)
    look_seconds: float = Field(gt=0)
    object_store: int = Field(gt=0)


class _File(Entry):
    limits: Limits


@cache
def limits() -> Limits:
    """Read the file.

    Raises:
        InputError: it is missing or an entry is wrong.
    """
    return load(_File, "cluster.toml").limits
