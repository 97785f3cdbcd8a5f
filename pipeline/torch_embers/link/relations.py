"""``data/relations.toml`` as objects: relations, and the rules by which texts state them, compiled once.

A rule never sees ``#123``: the parser puts one private character in the place of each reference, so that patterns stay
short, and this module refuses any pattern with an unbounded repetition, so that no text can make a match slow.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

from torch_embers import resources
from torch_embers.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Mapping

FILE = "relations.toml"
TARGET = "\ue000"
"""Stands for a reference to an item in the text that rules see."""
COMMIT = "\ue001"
"""Stands for a reference to a commit."""
KINDS = frozenset({"issue", "pull", "comment", "commit"})
MENTIONS = "mentions"

_FLAGS = re.MULTILINE
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


@dataclass(frozen=True, slots=True)
class Relation:
    """What one item can be to another."""

    name: str
    rank: int
    """The higher, the more it says; orders branches of a chain."""
    strength: str
    """strong (followed by chains), identity (a commit is its pull request) or weak."""
    turning: bool
    """Whether it tells of a change taken out, brought back or replaced."""
    forward: str
    """Words from the source to the target: ``#2 reverts #1``."""
    backward: str
    """Words from the target to the source: ``#1 reverted by #2``."""


@dataclass(frozen=True, slots=True)
class Rule:
    """A phrase that states a relation."""

    id: str
    relation: str
    pattern: re.Pattern[str]
    needs: tuple[str, ...]
    titles: bool
    bodies: bool
    kinds: frozenset[str]
    inverse: bool
    closes: bool
    """The other references inside a match belong to a quoted title and say nothing to later rules."""
    unless: tuple[re.Pattern[str], ...]

    def applies(self, text: str, kinds: frozenset[str], *, title: bool) -> bool:
        """Whether the pattern is worth running on this text (a cheap test)."""
        if not (self.titles if title else self.bodies) or self.kinds.isdisjoint(kinds):
            return False
        return contains_any(text, self.needs)


@dataclass(frozen=True, slots=True)
class Ignore:
    """A form that looks like a reference and is none."""

    id: str
    pattern: re.Pattern[str]
    needs: tuple[str, ...]
    max_number: int | None


@dataclass(frozen=True, slots=True)
class Block:
    """Lines under a header, each of which names one item."""

    id: str
    relation: str
    needs: tuple[str, ...]
    header: re.Pattern[str]
    line: re.Pattern[str]
    target: re.Pattern[str]


@dataclass(frozen=True, slots=True)
class Rulebook:
    """Everything in ``data/relations.toml``."""

    relations: Mapping[str, Relation]
    rules: tuple[Rule, ...]
    ignores: tuple[Ignore, ...]
    blocks: tuple[Block, ...]
    digest: str
    """Hash of the file: texts are parsed again when it changes."""


def contains_any(text: str, words: tuple[str, ...]) -> bool:
    """Whether one of the words is in the text; true where no word is asked for."""
    for word in words:  # a plain loop: `any` over a generator takes twice the time, and this runs for every rule
        if word in text:
            return True
    return not words


def unbounded(pattern: str) -> bool:
    """Whether a regular expression repeats anything without an upper bound."""
    return any(match[1] for match in _UNBOUNDED.finditer(pattern))


@cache
def load() -> Rulebook:
    """Read and compile the shipped rules.

    Raises:
        InputError: the file is missing, or an entry is wrong; the message names the entry.
    """
    text = resources.data_file(FILE).read_bytes()
    return build(resources.load_toml(FILE), blake2b(text, digest_size=8).hexdigest())


def build(data: Mapping[str, Any], digest: str = "") -> Rulebook:
    """Compile the parsed TOML.

    Raises:
        InputError: unknown relation, fragment, guard or kind, a bad or unbounded pattern, or a missing key.
    """
    compiler = _Compiler(data.get("fragments", {}), data.get("guards", {}))
    try:
        relations = {entry["name"]: _relation(entry) for entry in data["relation"]}
        rules = tuple(compiler.rule(entry) for entry in data["rule"])
        ignores = tuple(compiler.ignore(entry) for entry in data.get("ignore", ()))
        blocks = tuple(compiler.block(entry) for entry in data.get("block", ()))
    except KeyError as error:
        raise InputError(f"{FILE}: an entry lacks the key {error}") from error
    named = [(rule.id, rule.relation) for rule in rules] + [(block.id, block.relation) for block in blocks]
    for name, relation in named:
        if relation not in relations:
            raise InputError(f"{FILE}: {name!r} names the unknown relation {relation!r}")
    return Rulebook(relations, rules, ignores, blocks, digest)


def _relation(entry: Mapping[str, Any]) -> Relation:
    return Relation(
        entry["name"],
        entry["rank"],
        entry["strength"],
        entry["turning"],
        entry["forward"],
        entry["backward"],
    )


class _Compiler:
    def __init__(self, fragments: Mapping[str, str], guards: Mapping[str, str]) -> None:
        self._fragments = {**fragments, **_BUILT_IN}
        self._guards = {name: self.pattern(f"guard {name}", text) for name, text in guards.items()}

    def pattern(self, where: str, text: str) -> re.Pattern[str]:
        expanded = self._expand(where, text)
        if unbounded(expanded):
            raise InputError(f"{FILE}: {where}: every repetition needs an upper bound: {text}")
        try:
            return re.compile(expanded, _FLAGS)
        except re.error as error:
            raise InputError(f"{FILE}: {where}: {error}: {text}") from error

    def finder(self, where: str, text: str) -> re.Pattern[str]:
        """Compile a pattern that must find a reference."""
        pattern = self.pattern(where, text)
        if "t" not in pattern.groupindex:
            raise InputError(f"{FILE}: {where}: the pattern needs {{target}}, {{targets}} or {{sha}}: {text}")
        return pattern

    def _expand(self, where: str, text: str) -> str:
        def fragment(match: re.Match[str]) -> str:
            if match[1] not in self._fragments:
                raise InputError(f"{FILE}: {where}: no fragment is called {match[1]!r}")
            return self._fragments[match[1]]

        return _PLACE.sub(fragment, text)

    def rule(self, entry: Mapping[str, Any]) -> Rule:
        name = entry["id"]
        kinds = frozenset(entry.get("kinds", KINDS))
        place = entry.get("where")
        guards = entry.get("unless", [])
        if not kinds <= KINDS or place not in (None, "title", "body"):
            raise InputError(f"{FILE}: {name!r}: kinds are {sorted(KINDS)}, where is title or body")
        if unknown := [guard for guard in guards if guard not in self._guards]:
            raise InputError(f"{FILE}: {name!r} names the unknown guard {unknown[0]!r}")
        return Rule(
            id=name,
            relation=entry["relation"],
            pattern=self.finder(name, entry["pattern"]),
            needs=tuple(entry.get("needs", ())),
            titles=place != "body",
            bodies=place != "title",
            kinds=kinds,
            inverse=entry.get("inverse", False),
            closes=entry.get("closes", False),
            unless=tuple(self._guards[guard] for guard in guards),
        )

    def ignore(self, entry: Mapping[str, Any]) -> Ignore:
        pattern = self.finder(entry["id"], entry["pattern"])
        return Ignore(entry["id"], pattern, tuple(entry.get("needs", ())), entry.get("max_number"))

    def block(self, entry: Mapping[str, Any]) -> Block:
        name = entry["id"]
        header, line = (self.pattern(name, entry[key]) for key in ("header", "line"))
        target = self.finder(name, entry["target"])
        return Block(name, entry["relation"], tuple(entry.get("needs", ())), header, line, target)
