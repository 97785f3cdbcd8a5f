"""``data/relations.toml`` as objects: relations, and the compiled rules that recognise them in texts.

Before a rule runs, the parser replaces each reference (``#123``) by one private character, which keeps patterns short.
Patterns with an unbounded repetition are refused, so that no text can make a match slow.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache, cached_property
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field, ValidationInfo

from torch_embers import toml_models
from torch_embers.toml_models import Entry

FILE = "relations.toml"
TARGET = "\ue000"
"""Stands for a reference to an item in the text that rules see."""
COMMIT = "\ue001"
"""Stands for a reference to a commit."""
Kind = Literal["issue", "pull", "comment", "commit"]
KINDS: frozenset[Kind] = frozenset({"issue", "pull", "comment", "commit"})
MENTIONS = "mentions"
LANDS = "lands"

_LEAD = rf"(?:\[[^\]\[\n{TARGET}]{{1,120}}\]\(|[\[(<\"'*_]{{0,3}})"
_TAIL = rf"(?:\]\({TARGET}\))?[\])>*_]{{0,3}}"
_JOIN = (
    r"(?:[ \t]{0,2}(?:,|&|\+|\band\b)?[ \t]{0,2}(?:\band\b[ \t]{1,2})?(?:the[ \t]|pr[ \t])?"
    rf"[\[<\"'*_]{{0,3}}{TARGET}{_TAIL})"
)
_BUILT_IN = {
    "target": rf"{_LEAD}(?P<t>{TARGET})",
    "targets": rf"{_LEAD}(?P<t>{TARGET}{_TAIL}{_JOIN}{{0,30}})",
    "sha": rf"{_LEAD}(?P<t>{COMMIT})",
    "other": TARGET,
}
_PLACE = re.compile(r"\{([a-z_]+)\}")
_UNBOUNDED = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|([*+]|\{\d*,\})", re.DOTALL)


def contains_any(text: str, words: tuple[str, ...]) -> bool:
    """Whether one of the words is in the text; true where no words are given."""
    for word in words:  # a plain loop: `any` over a generator takes twice the time, and this runs for every rule
        if word in text:
            return True
    return not words


def unbounded(pattern: str) -> bool:
    """Whether a regular expression repeats anything without an upper bound."""
    return any(match[1] for match in _UNBOUNDED.finditer(pattern))


def bounded_pattern(pattern: str, flags: re.RegexFlag = re.NOFLAG) -> re.Pattern[str]:
    """Compile a regular expression.

    Raises:
        ValueError: it is malformed, or repeats something without an upper bound.
    """
    if unbounded(pattern):
        raise ValueError(f"every repetition needs an upper bound: {pattern}")
    try:
        return re.compile(pattern, flags)
    except re.error as error:
        raise ValueError(f"{error}: {pattern}") from error


def _pattern(text: str, info: ValidationInfo[dict[str, Any]]) -> re.Pattern[str]:
    """Put in the fragments of the file and compile."""
    fragments = {**info.context.get("fragments", {}), **_BUILT_IN}

    def fragment(match: re.Match[str]) -> str:
        if match[1] not in fragments:
            raise ValueError(f"no fragment is called {match[1]!r}")
        return str(fragments[match[1]])

    return bounded_pattern(_PLACE.sub(fragment, text), re.MULTILINE)


def _finds_a_reference(pattern: re.Pattern[str]) -> re.Pattern[str]:
    if "t" not in pattern.groupindex:
        raise ValueError("the pattern needs {target}, {targets} or {sha}")
    return pattern


def _guard(name: str, info: ValidationInfo[dict[str, Any]]) -> re.Pattern[str]:
    if name not in info.context.get("guards", {}):
        raise ValueError(f"no guard is called {name!r}")
    return _pattern(info.context["guards"][name], info)


def _known_relation(name: str, info: ValidationInfo[dict[str, Any]]) -> str:
    if name not in toml_models.names(info, "relation"):
        raise ValueError(f"no relation is called {name!r}")
    return name


Pattern = Annotated[re.Pattern[str], BeforeValidator(_pattern)]
Finder = Annotated[Pattern, AfterValidator(_finds_a_reference)]
Guard = Annotated[re.Pattern[str], BeforeValidator(_guard)]
RelationName = Annotated[str, AfterValidator(_known_relation)]


class Relation(Entry):
    """What one item can be to another."""

    name: str
    rank: int
    """The higher, the more specific; orders the branches of a chain."""
    strength: Literal["strong", "identity", "weak"]
    """Chains follow strong relations; identity: a commit is its pull request."""
    turning: bool
    """Whether a change was taken out, brought back or replaced."""
    forward: str
    """Words from the source to the target: ``#2 reverts #1``."""
    backward: str
    """Words from the target to the source: ``#1 reverted by #2``."""
    meaning: str


class RelationRule(Entry):
    """A phrase that states a relation."""

    id: str
    relation: RelationName
    pattern: Finder
    needs: tuple[str, ...] = ()
    where: Literal["title", "body"] | None = None
    kinds: frozenset[Kind] = KINDS
    inverse: bool = False
    closes: bool = False
    """The other references inside a match are part of a quoted title; later rules skip them."""
    unless: tuple[Guard, ...] = ()
    reason: str

    def applies(self, kinds: frozenset[Kind], *, title: bool) -> bool:
        """Whether the rule is for texts of these kinds and of this place."""
        return self.where != ("body" if title else "title") and not self.kinds.isdisjoint(kinds)


class Ignore(Entry):
    """A form that looks like a reference and is none."""

    id: str
    pattern: Finder
    needs: tuple[str, ...] = ()
    max_number: int | None = None
    reason: str


class Block(Entry):
    """Lines under a header, each of which names one item."""

    id: str
    relation: RelationName
    needs: tuple[str, ...] = ()
    header: Pattern
    line: Pattern
    target: Finder
    reason: str


class RelationLimits(Entry):
    """What one text may cost."""

    text_chars: int
    references: int


class Rulebook(Entry):
    """Everything in ``data/relations.toml``."""

    limits: RelationLimits
    fragments: Mapping[str, str] = Field(default_factory=dict)
    guards: Mapping[str, str] = Field(default_factory=dict)
    relation: tuple[Relation, ...]
    rules: tuple[RelationRule, ...] = Field(alias="rule")
    ignores: tuple[Ignore, ...] = Field((), alias="ignore")
    blocks: tuple[Block, ...] = Field((), alias="block")

    @cached_property
    def relations(self) -> dict[str, Relation]:
        """Relations by name, in the order of the file."""
        return {relation.name: relation for relation in self.relation}

    def words(self, relation: str, kind: Kind) -> tuple[str, ...]:
        """Words of which a text of this kind has one where a rule states the relation; none where a rule needs none."""
        needs = [r.needs for r in self.rules if r.relation == relation and not r.inverse and kind in r.kinds]
        return tuple(sorted({word for words in needs for word in words})) if all(needs) else ()


@cache
def load() -> Rulebook:
    """Read and compile the shipped rules.

    Raises:
        InputError: the file is missing, or an entry is wrong.
    """
    return toml_models.load(Rulebook, FILE)
