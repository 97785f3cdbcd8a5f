"""Of which commit each measured release was built (data/releases.toml)."""

from __future__ import annotations

from functools import cache
from typing import Annotated

from pydantic import StringConstraints

from torch_embers import toml_models

FILE = "releases.toml"


class _File(toml_models.Entry):
    source: str
    git_commit: dict[str, Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{40}$")]]


@cache
def _commits() -> dict[str, str]:
    return toml_models.load(_File, FILE).git_commit


def commit_of(release: str) -> str | None:
    """The commit that a release was built of, as its wheel names it; None where nobody read it.

    Raises:
        InputError: the shipped file is missing or wrong.
    """
    return _commits().get(release)
