"""``data/taxonomy.toml`` as objects: schemes, their classes, and when a scheme applies; checked on load.

A class is named by its scheme and value, and where one value stands under several classes of the parent scheme
(``programming`` is a sub-type of three memory types) also by that parent class.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from hashlib import blake2b
from itertools import groupby
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import AfterValidator, Field, StrictBool, StrictInt, StringConstraints, model_validator

from torch_embers import resources, toml_models
from torch_embers.errors import InputError
from torch_embers.toml_models import Entry

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

FILE = "taxonomy.toml"
ANY = "*"
"""As the value of a scheme's parent: each class names its own parent class."""

Name = Annotated[str, StringConstraints(strip_whitespace=True, pattern=r"^[a-z][a-z0-9_]{0,40}$")]
Prose = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]


class TaxonomyError(InputError):
    """A scheme or a label is none of the taxonomy."""


class ClassDef(Entry):
    """One class of a scheme."""

    name: Name
    definition: Prose
    rule: Prose
    """How to decide for or against it."""
    source: Prose
    """Where in the study the class and its number stand."""
    precedence: StrictInt = Field(ge=1)
    """Rank among its siblings; 1 is looked at first."""
    aliases: tuple[Annotated[str, StringConstraints(pattern=r"^[a-z]+( [a-z]+)*$")], ...] = ()
    """Other names by which people look for it: lower case, words separated by blanks."""
    parent_class: Prose | None = None
    """Class of the parent scheme under which it stands; only where classes of one scheme differ in that."""
    paper_name: Prose | None = None
    """How the study writes it; ``None`` where the class is ours."""
    paper_count: StrictInt | None = Field(None, ge=0)
    """Bugs of this class in the study, where it gives a number."""
    paper_share: str | None = Field(None, pattern=r"^\d{1,2}(\.\d)?%$")
    """The study's own percentage, as printed (``30.2%``)."""

    @model_validator(mode="after")
    def _check(self) -> ClassDef:
        if self.paper_name is None and (self.paper_count is not None or self.paper_share is not None):
            raise ValueError("a number of the paper needs paper_name")
        return self


class Scheme(Entry):
    """A question about an item and its possible answers, in order of precedence."""

    name: Name
    definition: Prose
    exclusive: StrictBool
    """Whether exactly one class holds; otherwise any number."""
    parent: tuple[str, str] | None = None
    """(scheme, value) under which this scheme applies; the value ``*`` stands for each class's own ``parent_class``."""
    order: Prose
    """What precedence means here."""
    numbers: Annotated[Prose, AfterValidator(lambda text: " ".join(text.split()))]
    """What the study counts here."""
    classes: tuple[ClassDef, ...] = Field(alias="class", min_length=1)

    @model_validator(mode="after")
    def _check(self) -> Scheme:
        by_parent = self.parent is not None and self.parent[1] == ANY
        for entry in self.classes:
            if (entry.parent_class is not None) != by_parent:
                problem = "parent_class is missing" if by_parent else 'parent_class needs parent = [scheme, "*"]'
                raise ValueError(f"class {entry.name}: {problem}")
        return self

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
        matches = [entry for entry in self.classes if entry.name == value]
        if parent_class is not None:
            matches = [entry for entry in matches if entry.parent_class in (None, parent_class)]
        if len(matches) == 1:
            return matches[0]
        place = f" under {parent_class!r}" if parent_class else ""
        if matches:
            parents = ", ".join(str(entry.parent_class) for entry in matches)
            raise TaxonomyError(f"{self.name} {value!r} stands under several classes ({parents}): name one")
        known = ", ".join(dict.fromkeys(entry.name for entry in self.under(parent_class))) or "none"
        raise TaxonomyError(f"{value!r} is no class of {self.name}{place} (known: {known})")


def _under(entry: ClassDef) -> str:
    return entry.parent_class or ""


class TaxonomyFile(Entry):
    """The whole file."""

    version: Literal[1]
    schemes: tuple[Scheme, ...] = Field(alias="scheme", min_length=1)

    @model_validator(mode="after")
    def _check(self) -> TaxonomyFile:
        earlier: dict[str, Scheme] = {}
        for scheme in self.schemes:
            if scheme.name in earlier:
                raise ValueError(f"scheme {scheme.name!r} stands twice")
            if scheme.parent is not None:
                _check_parent(scheme, *scheme.parent, earlier)
            _check_siblings(scheme)
            earlier[scheme.name] = scheme
        return self


def _check_parent(scheme: Scheme, parent: str, value: str, earlier: Mapping[str, Scheme]) -> None:
    if parent not in earlier:
        raise ValueError(f"scheme {scheme.name}: parent must be [scheme, value] of a scheme further up")
    for name in [value] if value != ANY else [_under(entry) for entry in scheme.classes]:
        if name not in earlier[parent].names():
            raise ValueError(f"scheme {scheme.name}: parent {name!r} is no class of {parent}")


def _check_siblings(scheme: Scheme) -> None:
    """Among the classes under one parent class no name is repeated, and precedences count up from 1."""
    for _, siblings in groupby(sorted(scheme.classes, key=_under), _under):
        group = list(siblings)
        names = [entry.name for entry in group]
        if twice := sorted({name for name in names if names.count(name) > 1}):
            raise ValueError(f"scheme {scheme.name}: class {twice[0]!r} stands twice")
        if sorted(entry.precedence for entry in group) != list(range(1, len(group) + 1)):
            raise ValueError(f"scheme {scheme.name}: precedences of {', '.join(names)} must be 1 to {len(group)}")


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
            InputError: the file is missing, no TOML, or an entry is wrong.
        """
        return _shipped()

    @property
    def aliases(self) -> dict[str, str]:
        """Other names of classes -> ``scheme=value``."""
        return {
            alias: f"{scheme.name}={entry.name}"
            for scheme in self.schemes.values()
            for entry in scheme.classes
            for alias in entry.aliases
        }

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
    """Check parsed TOML and turn it into a taxonomy, classes in order of their parent class and precedence.

    Raises:
        InputError: an entry is wrong; the message names scheme, class and key.
    """
    schemes: dict[str, Scheme] = {}
    for scheme in toml_models.validate(TaxonomyFile, data, FILE).schemes:
        parents = schemes[scheme.parent[0]].names() if scheme.parent and scheme.parent[1] == ANY else ("",)
        ordered = sorted(scheme.classes, key=lambda entry: (parents.index(_under(entry)), entry.precedence))
        schemes[scheme.name] = scheme.model_copy(update={"classes": tuple(ordered)})
    return Taxonomy(schemes, digest)


@cache
def _shipped() -> Taxonomy:
    data = resources.load_toml(FILE)
    return parse(data, blake2b(resources.data_file(FILE).read_bytes(), digest_size=8).hexdigest())
