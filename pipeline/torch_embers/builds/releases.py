"""Of which commit each measured release was built (data/releases.toml)."""

from __future__ import annotations

from functools import cache
from typing import Annotated

from pydantic import StringConstraints

from torch_embers import toml_models

FILE = "releases.toml"


class Releases(toml_models.Entry):
    """The whole file.

    Attributes:
        source: where the commits were read.
        git_commit: the commit of each release, as its wheel names it.
    """

    source: str
    git_commit: dict[str, Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{40}$")]]

    @staticmethod
    @cache
    def load() -> Releases:
        """Read the shipped file once.

        Raises:
            InputError: the file is missing or an entry is wrong.
        """
        return toml_models.load(Releases, FILE)


def commit_of(release: str) -> str | None:
    """The commit that a release was built of; None where nobody read it.

    Raises:
        InputError: the shipped file is missing or wrong.
    """
    return Releases.load().git_commit.get(release)
