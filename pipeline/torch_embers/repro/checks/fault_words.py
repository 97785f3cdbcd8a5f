"""Names that the rule of injected faults goes by, and cases that stand although it refuses them."""

from __future__ import annotations

from functools import cache
from typing import Annotated

from pydantic import StringConstraints

from torch_embers.toml_models import Entry, Explained, load

RULES = "injected_faults.toml"

Stated = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]


class Words(Explained):
    """Names of calls and of results, by what they mean for a fault; the file has the reasons."""

    leaving: frozenset[str]
    constructors: frozenset[str]
    arranging: frozenset[str]
    comparing: frozenset[str]
    reporting: frozenset[str]
    saying: frozenset[str]
    references: frozenset[str]


class Exemption(Entry):
    """A case that the rule refuses and that stands all the same."""

    case: Stated
    reason: Stated


class _File(Entry):
    words: Words
    exception: tuple[Exemption, ...] = ()


@cache
def rules() -> Words:
    """The names.

    Raises:
        InputError: the file is missing or an entry is wrong.
    """
    return load(_File, RULES).words


def exemptions() -> dict[str, str]:
    """The reason by case of each exception of the file.

    Raises:
        InputError: the file is missing or an entry is wrong.
    """
    return {entry.case: entry.reason for entry in load(_File, RULES).exception}
