"""Weak labels: what maintainers' labels, words and runs suggest about an item.

A labelling function (``data/labelling.toml``) says one class of one scheme, or nothing. None of them is trusted for
what it is: gold says how often each was right (``label_model.py``). Nothing here is gold, and nothing here is ever
written as gold. Everything here is pure; ``weak_table.py`` keeps the table ``weak_labels``.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from functools import cache
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

from torch_embers import resources
from torch_embers.classify import text as cleaning
from torch_embers.classify.embedding.vectors import rules_hash
from torch_embers.errors import InputError
from torch_embers.link.relations import contains_any, unbounded
from torch_embers.taxonomy import ANY, Taxonomy, TaxonomyError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

FILE = "labelling.toml"
VERSION = 1
KINDS = ("label", "keyword", "execution")
PLACES = ("title", "body")
SIGNATURES = frozenset({"exception", "signal", "assertion", "mismatch", "hang", "memory", "slow"})
EXECUTION = "execution"
IMPLIED = "/"
"""Between the id of a function and the parent scheme in the name of the vote for the parent class."""
_ID = re.compile(r"[a-z0-9][a-z0-9-]{0,60}")
_CAPITALS = re.compile(r"[A-Z]")
_ESCAPE = re.compile(r"\\.", re.DOTALL)
_NOT_RE2 = re.compile(r"\(\?(?!:|m\))|\\[1-9Z]|[}?]\+")
_ALLOWED = {
    "label": frozenset({"labels"}),
    "keyword": frozenset({"where", "needs", "pattern"}),
    "execution": frozenset({"signature", "types", "message", "declared"}),
}
_COMMON = frozenset({"id", "scheme", "value", "kind", "reason"})
_USE = frozenset({"scheme", "combined", "taught", "least", "weight", "per_class", "reason"})


@dataclass(frozen=True, slots=True)
class WeakLabel:
    """One vote of one function; a row of ``weak_labels`` without item and time."""

    scheme: str
    value: str
    function: str
    kind: str
    """label, keyword or execution."""
    evidence: str
    """The label, the words, or the run that decided."""


@dataclass(frozen=True, slots=True)
class Shown:
    """What a run showed that reproduced the bug of a case."""

    signature: str
    """exception, signal, assertion, mismatch, hang, memory or slow."""
    type: str = ""
    """The signal, or the class of the exception."""
    message: str = ""
    declared: str = ""
    """Consequence that the case declares; empty where nobody said."""


@dataclass(frozen=True, slots=True)
class Use:
    """What the votes on a scheme are used for; set where it was measured to help."""

    scheme: str
    combined: bool
    """Whether the votes on an item are combined with what the model says of its text."""
    taught: bool
    """Whether items without gold are learned from."""
    least: float = 1.0
    """Probability from which on such an item is sure enough."""
    weight: float = 0.0
    """How much it counts beside an item with gold, times its probability."""
    per_class: float = 0.0
    """At most so many of them for each gold item of their class."""


@dataclass(frozen=True, slots=True)
class Function:
    """A labelling function as the file declares it."""

    id: str
    scheme: str
    value: str
    kind: str
    labels: frozenset[str] = frozenset()
    place: str = ""
    pattern: re.Pattern[str] | None = None
    needs: tuple[str, ...] = ()
    signature: str = ""
    types: frozenset[str] = frozenset()
    message: str = ""
    declared: frozenset[str] = frozenset()

    def sees(self, shown: Shown) -> bool:
        """Whether it has something to say of a run."""
        return (
            self.signature == shown.signature
            and (not self.types or shown.type.lower() in self.types)
            and self.message in shown.message.lower()
            and (not self.declared or shown.declared in self.declared)
        )

    @property
    def narrowness(self) -> int:
        """How many conditions it has beyond the signature: where several functions see a run, the narrowest speak."""
        return bool(self.types) + bool(self.message) + bool(self.declared)

    def votes(self, evidence: str, parent: tuple[str, str] | None) -> Iterator[WeakLabel]:
        """Its vote, and the vote for the class under which its scheme stands."""
        yield WeakLabel(self.scheme, self.value, self.id, self.kind, evidence)
        if parent is not None:
            yield WeakLabel(*parent, f"{self.id}{IMPLIED}{parent[0]}", self.kind, evidence)


class Labeller:
    """The compiled functions; ``Labeller.load()`` gives the shipped ones."""

    def __init__(self, data: Mapping[str, Any], taxonomy: Taxonomy, digest: str = "") -> None:
        """Compile the parsed TOML.

        Raises:
            InputError: another version; an unknown key, kind, scheme or class; an id or reason that is missing or
                stands twice; a pattern that is bad, unbounded, beyond RE2 or in capitals. The message names the
                function.
        """
        if data.get("version") != VERSION:
            raise InputError(f"{FILE}: version {data.get('version')!r} is not {VERSION}, the one this embers reads")
        try:
            limits, combining = data["limits"], data["combining"]
            self.body_chars, self.evidence_chars = int(limits["body_chars"]), int(limits["evidence_chars"])
            self.gold_weight, self.further_vote = float(combining["gold_weight"]), float(combining["further_vote"])
            self.text_cap, self.interval = float(combining["text_cap"]), float(combining["interval"])
            self.assumed = {kind: float(combining["assumed"][kind]) for kind in KINDS}
            self.annotator = float(combining["assumed"]["annotator"])
            self.functions = tuple(_function(entry, taxonomy) for entry in data["function"])
            self.uses = {entry["scheme"]: _use(entry, taxonomy) for entry in data.get("use", ())}
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            raise InputError(f"{FILE}: an entry lacks a key or has a value of another kind: {error}") from error
        if not all(0.5 <= share < 1 for share in (*self.assumed.values(), self.annotator, self.interval)):
            raise InputError(f"{FILE}: assumed accuracies and the interval lie between 0.5 and 1")
        if twice := [name for name, count in Counter(f.id for f in self.functions).items() if count > 1]:
            raise InputError(f"{FILE}: function {twice[0]!r} stands twice")
        self.digest = digest
        self._taxonomy = taxonomy
        self._by_label: dict[str, list[Function]] = {}
        for function in self.functions:
            for name in function.labels:
                self._by_label.setdefault(name, []).append(function)
        self._by_place = {place: [f for f in self.functions if f.place == place] for place in PLACES}

    @staticmethod
    def load() -> Labeller:
        """Read the shipped ``data/labelling.toml`` once.

        Raises:
            InputError: the file is missing or an entry is wrong.
        """
        return _shipped()

    def parent(self, scheme: str) -> tuple[str, str] | None:
        """The one class under which a scheme stands, if there is one."""
        parent = self._taxonomy.scheme(scheme).parent
        return None if parent is None or parent[1] == ANY else parent

    def names(self) -> dict[str, tuple[str, str, str]]:
        """Scheme, value and kind of every vote there can be, by the name of its function."""
        parts = (vote for function in self.functions for vote in function.votes("", self.parent(function.scheme)))
        return {vote.function: (vote.scheme, vote.value, vote.kind) for vote in parts}

    def votes(self, title: str | None, body: str | None, labels: Iterable[str] | None) -> list[WeakLabel]:
        """What labels and words say of an item, each function at most once."""
        hits: dict[Function, str] = {}
        for name in labels or ():
            for function in self._by_label.get(name.strip().lower(), ()):
                hits.setdefault(function, name)
        said = {"title": title or "", "body": cleaning.clean(body[: self.body_chars]) if body else ""}
        for place, functions in self._by_place.items():
            hits |= _words(said[place].lower(), functions)
        return self._all_votes(hits)

    def execution_votes(self, shown: Shown, run: str) -> list[WeakLabel]:
        """What a run says that reproduced the bug of a case.

        Args:
            shown: what it showed.
            run: names the run; becomes the evidence.
        """
        seen = [function for function in self.functions if function.kind == EXECUTION and function.sees(shown)]
        narrowest = max((function.narrowness for function in seen), default=0)
        return self._all_votes({function: run for function in seen if function.narrowness == narrowest})

    def _all_votes(self, hits: Mapping[Function, str]) -> list[WeakLabel]:
        return [
            vote
            for function, evidence in hits.items()
            for vote in function.votes(" ".join(evidence.split())[: self.evidence_chars], self.parent(function.scheme))
        ]


def _words(said: str, functions: Iterable[Function]) -> dict[Function, str]:
    found = {}
    for function in functions:
        if function.pattern and contains_any(said, function.needs) and (hit := function.pattern.search(said)):
            found[function] = hit[0]
    return found


# ---- votes ---------------------------------------------------------------------------------------------------------


def votes(title: str | None, body: str | None, labels: Iterable[str] | None) -> list[WeakLabel]:
    """What the maintainers' labels and the words of an item say about its classes.

    Args:
        title: as the tracker has it.
        body: raw; it is cleaned here, so that forms and environment dumps do not vote.
        labels: the maintainers' labels.
    """
    return Labeller.load().votes(title, body, labels)


# ---- reading the functions -----------------------------------------------------------------------------------------


@cache
def _shipped() -> Labeller:
    taxonomy = Taxonomy.load()
    digest = blake2b(digest_size=8)
    for path in (resources.data_file(FILE), resources.package_file("classify", "labels", "weak.py")):
        digest.update(path.read_bytes())
    digest.update(f"{taxonomy.digest} {rules_hash()}".encode())
    return Labeller(resources.load_toml(FILE), taxonomy, digest.hexdigest())


def _function(entry: Mapping[str, Any], taxonomy: Taxonomy) -> Function:
    name, kind = entry["id"], entry["kind"]
    place = f"{FILE}: {name}"
    if not _ID.fullmatch(name):
        raise InputError(f"{place}: an id has lower case, digits and hyphens")
    if kind not in KINDS:
        raise InputError(f"{place}: kind {kind!r} is none of {', '.join(KINDS)}")
    if unknown := sorted(set(entry) - _COMMON - _ALLOWED[kind]):
        raise InputError(f"{place}: a function of kind {kind} has no key {unknown[0]!r}")
    if not str(entry.get("reason", "")).strip():
        raise InputError(f"{place}: a reason is missing")
    scheme, value = entry["scheme"], entry["value"]
    _check_class(taxonomy, scheme, value, place)
    match kind:
        case "label":
            labels = frozenset(label.lower() for label in _texts(entry, "labels", place))
            return Function(name, scheme, value, kind, labels=labels)
        case "keyword":
            pattern, needs = _pattern(entry["pattern"], place), _texts(entry, "needs", place)
            if entry["where"] not in PLACES or any(need != need.lower() for need in needs):
                raise InputError(f"{place}: where is title or body, needs are in lower case")
            return Function(name, scheme, value, kind, place=entry["where"], pattern=pattern, needs=needs)
        case _:
            if (signature := entry["signature"]) not in SIGNATURES:
                raise InputError(f"{place}: signature {signature!r} is none of {', '.join(sorted(SIGNATURES))}")
            types = _texts(entry, "types", place) if "types" in entry else ()
            lower = frozenset(part.lower() for part in types)
            declared = _texts(entry, "declared", place) if "declared" in entry else ()
            return Function(
                name,
                scheme,
                value,
                kind,
                signature=signature,
                types=lower,
                message=str(entry.get("message", "")).lower(),
                declared=frozenset(declared),
            )


def _use(entry: Mapping[str, Any], taxonomy: Taxonomy) -> Use:
    """Read what the votes on a scheme are used for.

    Raises:
        InputError: an unknown key or scheme, no reason, a number out of range.
    """
    scheme = entry["scheme"]
    place = f"{FILE}: use of {scheme}"
    if scheme not in taxonomy.schemes:
        raise InputError(f"{place}: there is no such scheme")
    if unknown := sorted(set(entry) - _USE):
        raise InputError(f"{place}: unknown key {unknown[0]!r}")
    if not str(entry.get("reason", "")).strip():
        raise InputError(f"{place}: a reason is missing")
    if not isinstance(entry["combined"], bool) or not isinstance(entry["taught"], bool):
        raise InputError(f"{place}: combined and taught are true or false")
    if not entry["taught"]:
        return Use(scheme, entry["combined"], taught=False)
    least, weight, per_class = float(entry["least"]), float(entry["weight"]), float(entry["per_class"])
    if not (0 < least < 1 and 0 < weight <= 1 and per_class > 0):
        raise InputError(f"{place}: least and weight are shares above 0, per_class is above 0")
    return Use(scheme, entry["combined"], taught=True, least=least, weight=weight, per_class=per_class)


def _check_class(taxonomy: Taxonomy, scheme: str, value: str, place: str) -> None:
    try:
        taxonomy.scheme(scheme).find(value)
    except TaxonomyError as error:
        raise InputError(f"{place}: {error}") from error


def _texts(entry: Mapping[str, Any], key: str, place: str) -> tuple[str, ...]:
    found = entry[key]
    if not isinstance(found, list) or not found or not all(isinstance(part, str) and part.strip() for part in found):
        raise InputError(f"{place}: {key} must be a list of texts")
    return tuple(found)


def _pattern(pattern: str, place: str) -> re.Pattern[str]:
    if unbounded(pattern):
        raise InputError(f"{place}: every repetition needs an upper bound: {pattern}")
    if _NOT_RE2.search(pattern):
        raise InputError(f"{place}: no look-around, back-reference or other form that RE2 lacks: {pattern}")
    if _CAPITALS.search(_ESCAPE.sub("", pattern)):
        raise InputError(f"{place}: patterns see lower case only: {pattern}")
    try:
        return re.compile(pattern, re.ASCII)
    except re.error as error:
        raise InputError(f"{place}: {error}: {pattern}") from error
