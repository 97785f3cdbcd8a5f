"""``data/taxonomy.toml`` as objects: schemes, their classes, and when a scheme applies; checked on load.

A class is named by its scheme and value, and where one value stands under several classes of the parent scheme
(``programming`` is a sub-type of three memory types) also by that parent class.
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
    from collections.abc import Iterator, Mapping, Sequence

FILE = "taxonomy.toml"
VERSION = 1
ANY = "*"
"""As the value of a scheme's parent: each class names its own parent class."""

_NAME = re.compile(r"[a-z][a-z0-9_]{0,40}")
_SHARE = re.compile(r"\d{1,2}(?:\.\d)?%")
_SCHEME_KEYS = frozenset({"name", "definition", "exclusive", "parent", "order", "numbers", "class"})
_CLASS_TEXTS = ("name", "definition", "rule", "source")
_CLASS_KEYS = frozenset({*_CLASS_TEXTS, "precedence", "parent_class", "paper_name", "paper_count", "paper_share"})


class TaxonomyError(InputError):
    """The taxonomy file is malformed, or a label is none of its classes."""


@dataclass(frozen=True, slots=True)
class ClassDef:
    """One class of a scheme."""

    name: str
    definition: str
    rule: str
    """How to decide for or against it."""
    paper_count: int | None
    """Bugs of this class in the study, where it gives a number."""
    paper_share: str | None
    """The study's own percentage, as printed (``30.2%``)."""
    parent_class: str | None
    """Class of the parent scheme under which it stands; only where classes of one scheme differ in that."""
    precedence: int = 0
    """Rank among its siblings; 1 is looked at first."""
    paper_name: str | None = None
    """How the study writes it; ``None`` where the class is ours."""
    source: str = ""
    """Where in the study the class and its number stand."""


@dataclass(frozen=True, slots=True)
class Scheme:
    """A question about an item and its possible answers, in order of precedence."""

    name: str
    definition: str
    exclusive: bool
    """Whether exactly one class holds; otherwise any number."""
    classes: tuple[ClassDef, ...]
    parent: tuple[str, str] | None
    """(scheme, value) under which this scheme applies; the value ``*`` stands for each class's own ``parent_class``."""
    order: str = ""
    """What precedence means here."""
    numbers: str = ""
    """What the study counts here."""

    def names(self) -> tuple[str, ...]:
        """Values of the scheme, each once, in order of precedence."""
        return tuple(dict.fromkeys(entry.name for entry in self.classes))

    def under(self, parent_class: str | None) -> tuple[ClassDef, ...]:
        """Classes that may be chosen where the parent scheme's answer is ``parent_class``."""
        return tuple(entry for entry in self.classes if entry.parent_class in (None, parent_class))

    def find(self, value: str, parent_class: str | None = None) -> ClassDef:
        """Return a class by its value, and by its parent class where the value alone leaves it open.

        Raises:
            TaxonomyError: no such class, or several and no parent class given.
        """
        found = [entry for entry in self.classes if entry.name == value]
        if parent_class is not None:
            found = [entry for entry in found if entry.parent_class in (None, parent_class)]
        if len(found) == 1:
            return found[0]
        place = f" under {parent_class!r}" if parent_class else ""
        if found:
            parents = ", ".join(str(entry.parent_class) for entry in found)
            raise TaxonomyError(f"{self.name} {value!r} stands under several classes ({parents}): name one")
        known = ", ".join(dict.fromkeys(entry.name for entry in self.under(parent_class))) or "none"
        raise TaxonomyError(f"{value!r} is no class of {self.name}{place} (known: {known})")


@dataclass(frozen=True, slots=True)
class Taxonomy:
    """All schemes, parents before children."""

    schemes: dict[str, Scheme]
    digest: str = ""
    """Changes whenever the file does; part of what a model or a prediction was made with."""

    @staticmethod
    def load() -> Taxonomy:
        """Read the shipped ``data/taxonomy.toml`` once.

        Raises:
            TaxonomyError: an entry is wrong; the message names scheme, class and key.
            InputError: the file is missing or no TOML.
        """
        return _shipped()

    def scheme(self, name: str) -> Scheme:
        """Return a scheme by its name.

        Raises:
            TaxonomyError: there is none of that name.
        """
        if name not in self.schemes:
            raise TaxonomyError(f"there is no scheme {name!r} (known: {', '.join(self.schemes)})")
        return self.schemes[name]

    def applies(self, name: str, labels: Mapping[str, str]) -> bool:
        """Whether a scheme is to be answered for an item with these labels (scheme -> value)."""
        parent = self.scheme(name).parent
        if parent is None:
            return True
        scheme, value = parent
        if scheme not in labels:
            return False
        if value == ANY:
            return bool(self.scheme(name).under(labels[scheme]))
        return labels[scheme] == value

    def problems(self, labels: Sequence[tuple[str, str]]) -> list[str]:
        """Say what is wrong with the labels that one annotator gave one item; an empty list if nothing is.

        Args:
            labels: (scheme, value) pairs, in any order.
        """
        chosen = dict(labels)
        return [
            message
            for number, (scheme, value) in enumerate(labels)
            if (message := self._problem(scheme, value, chosen, labels[:number]))
        ]

    def _problem(
        self, scheme: str, value: str, chosen: Mapping[str, str], earlier: Sequence[tuple[str, str]]
    ) -> str | None:
        try:
            entry = self.scheme(scheme)
            parent = entry.parent
            entry.find(value, chosen.get(parent[0]) if parent and parent[1] == ANY else None)
            if not self.applies(scheme, chosen):
                wanted = " or ".join(self._parents_of(entry, value))
                return f"{scheme} {value!r} applies only under {wanted}"
        except TaxonomyError as error:
            return str(error)
        if entry.exclusive and any(name == scheme for name, _ in earlier):
            return f"{scheme} is given twice"
        return None

    @staticmethod
    def _parents_of(scheme: Scheme, value: str) -> list[str]:
        if scheme.parent is None:
            return []
        name, parent_value = scheme.parent
        if parent_value != ANY:
            return [f"{name} {parent_value!r}"]
        return [f"{name} {entry.parent_class!r}" for entry in scheme.classes if entry.name == value]


def parse(data: Mapping[str, Any], digest: str = "") -> Taxonomy:
    """Check parsed TOML and turn it into a taxonomy.

    Raises:
        TaxonomyError: an entry is wrong; the message names scheme, class and key.
    """
    if data.get("version") != VERSION:
        raise TaxonomyError(f"{FILE}: version {data.get('version')!r} is not {VERSION}, the one this embers reads")
    schemes: dict[str, Scheme] = {}
    for entry in _tables(data, "scheme", FILE):
        scheme = _scheme(entry, schemes)
        if scheme.name in schemes:
            raise TaxonomyError(f"{FILE}: scheme {scheme.name!r} stands twice")
        schemes[scheme.name] = scheme
    return Taxonomy(schemes, digest)


@cache
def _shipped() -> Taxonomy:
    data = resources.load_toml(FILE)
    return parse(data, blake2b(resources.data_file(FILE).read_bytes(), digest_size=8).hexdigest())


def _tables(data: Mapping[str, Any], key: str, place: str) -> Iterator[Mapping[str, Any]]:
    entries = data.get(key)
    if not isinstance(entries, list) or not entries or not all(isinstance(entry, dict) for entry in entries):
        raise TaxonomyError(f"{place}: at least one [[{key}]] is needed")
    yield from entries


def _text(entry: Mapping[str, Any], key: str, place: str) -> str:
    value = entry.get(key)
    if not isinstance(value, str) or not value.strip():
        raise TaxonomyError(f"{place}: {key} must be a text that says something")
    return value.strip()


def _name(entry: Mapping[str, Any], place: str) -> str:
    name = _text(entry, "name", place)
    if not _NAME.fullmatch(name):
        raise TaxonomyError(f"{place}: the name {name!r} must be lower case with underscores")
    return name


def _refuse_unknown(entry: Mapping[str, Any], known: frozenset[str], place: str) -> None:
    if unknown := sorted(set(entry) - known):
        raise TaxonomyError(f"{place}: unknown key {unknown[0]!r}")


def _scheme(entry: Mapping[str, Any], earlier: Mapping[str, Scheme]) -> Scheme:
    name = _name(entry, f"{FILE}: a scheme")
    place = f"{FILE}: scheme {name}"
    _refuse_unknown(entry, _SCHEME_KEYS, place)
    if not isinstance(exclusive := entry.get("exclusive"), bool):
        raise TaxonomyError(f"{place}: exclusive must be true or false")
    parent = _parent(entry, earlier, place)
    classes = [_class(part, name) for part in _tables(entry, "class", place)]
    for part in classes:
        _check_parent_class(part, parent, earlier, place)
    _check_unique(classes, place)
    rank = {parent_class: at for at, parent_class in enumerate(_parent_order(parent, earlier))}
    classes.sort(key=lambda part: (rank.get(part.parent_class, -1), part.precedence))
    return Scheme(
        name,
        _text(entry, "definition", place),
        exclusive,
        tuple(classes),
        parent,
        _text(entry, "order", place),
        " ".join(_text(entry, "numbers", place).split()),
    )


def _parent(entry: Mapping[str, Any], earlier: Mapping[str, Scheme], place: str) -> tuple[str, str] | None:
    match entry.get("parent"):
        case None:
            return None
        case [str(scheme), str(value)] if scheme in earlier:
            if value != ANY and value not in earlier[scheme].names():
                raise TaxonomyError(f"{place}: parent {value!r} is no class of {scheme}")
            return scheme, value
        case _:
            raise TaxonomyError(f"{place}: parent must be [scheme, value] of a scheme further up")


def _parent_order(parent: tuple[str, str] | None, earlier: Mapping[str, Scheme]) -> tuple[str | None, ...]:
    return earlier[parent[0]].names() if parent and parent[1] == ANY else ()


def _class(entry: Mapping[str, Any], scheme: str) -> ClassDef:
    name = _name(entry, f"{FILE}: a class of {scheme}")
    place = f"{FILE}: {scheme} {name}"
    _refuse_unknown(entry, _CLASS_KEYS, place)
    _, definition, rule, source = (_text(entry, key, place) for key in _CLASS_TEXTS)
    count, share, precedence = entry.get("paper_count"), entry.get("paper_share"), entry.get("precedence")
    if count is not None and (type(count) is not int or count < 0):
        raise TaxonomyError(f"{place}: paper_count must be a whole number, not {count!r}")
    if share is not None and not (isinstance(share, str) and _SHARE.fullmatch(share)):
        raise TaxonomyError(f"{place}: paper_share must look like 30.2%, not {share!r}")
    if type(precedence) is not int or precedence < 1:
        raise TaxonomyError(f"{place}: precedence must be a whole number from 1")
    paper_name = _text(entry, "paper_name", place) if "paper_name" in entry else None
    if paper_name is None and (count is not None or share is not None):
        raise TaxonomyError(f"{place}: a number of the paper needs paper_name")
    parent_class = _text(entry, "parent_class", place) if "parent_class" in entry else None
    return ClassDef(name, definition, rule, count, share, parent_class, precedence, paper_name, source)


def _check_parent_class(
    entry: ClassDef, parent: tuple[str, str] | None, earlier: Mapping[str, Scheme], place: str
) -> None:
    if parent is None or parent[1] != ANY:
        if entry.parent_class is not None:
            raise TaxonomyError(f'{place}: class {entry.name}: parent_class needs parent = [scheme, "*"]')
    elif entry.parent_class is None:
        raise TaxonomyError(f"{place}: class {entry.name}: parent_class is missing")
    elif entry.parent_class not in earlier[parent[0]].names():
        raise TaxonomyError(f"{place}: class {entry.name}: {entry.parent_class!r} is no class of {parent[0]}")


def _check_unique(classes: Sequence[ClassDef], place: str) -> None:
    """Neither a name nor a precedence may stand twice among siblings, and precedences count up from 1."""
    siblings: dict[str | None, list[ClassDef]] = {}
    for entry in classes:
        siblings.setdefault(entry.parent_class, []).append(entry)
    for group in siblings.values():
        names = [entry.name for entry in group]
        if twice := sorted({name for name in names if names.count(name) > 1}):
            raise TaxonomyError(f"{place}: class {twice[0]!r} stands twice")
        if sorted(entry.precedence for entry in group) != list(range(1, len(group) + 1)):
            raise TaxonomyError(f"{place}: precedences of {', '.join(names)} must be 1 to {len(group)}, each once")
