"""Weak labels: what maintainers' labels, words and runs suggest about an item, and how far each can be believed.

A labelling function (``data/labelling.toml``) says one class of one scheme, or nothing. None of them is trusted for
what it is: gold says how often each was right, and a naive-Bayes vote adds up what that is worth. Nothing here is gold,
and nothing here is ever written as gold.

``votes``, ``execution_votes``, ``estimate`` and ``combine`` are pure; ``label_items`` keeps the table ``weak_labels``.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from functools import cache
from hashlib import blake2b
from statistics import NormalDist
from typing import TYPE_CHECKING, Any, TypeVar

import pyarrow as pa

from torch_embers import resources
from torch_embers.classify import text as cleaning
from torch_embers.classify.taxonomy import ANY, Taxonomy, TaxonomyError
from torch_embers.classify.vectors import rules_hash
from torch_embers.errors import InputError
from torch_embers.link.relations import contains_any, unbounded
from torch_embers.mine.pages import now_utc

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

    import duckdb

    from torch_embers.store.store import Store, Writer

FILE = "labelling.toml"
VERSION = 1
KINDS = ("label", "keyword", "execution")
PLACES = ("title", "body")
SIGNATURES = frozenset({"exception", "signal", "assertion", "mismatch", "hang", "memory", "slow"})
EXECUTION = "execution"
IMPLIED = "/"
"""Between the id of a function and the parent scheme in the name of the vote for the parent class."""
BATCH = 5_000
SCAN_ORIGIN = "weak_labels"
"""Under this name ``link_scans`` remembers which items were labelled, in which state and by which rules."""
ANNOTATOR_RANK = {"human": 2, "paper": 1, "automated": 0}
"""Who is heard first where annotators differ."""
LEAST_PRIOR = 1e-4
"""No class is impossible."""

Gold = Mapping[str, frozenset[str]]
"""Classes of one item by scheme; one class where the scheme is exclusive."""

ItemKey = TypeVar("ItemKey", bound=Hashable)
"""Whatever tells items apart: a number, or (repo, number)."""

_ID = re.compile(r"[a-z0-9][a-z0-9-]{0,60}")
_CAPITALS = re.compile(r"[A-Z]")
_ESCAPE = re.compile(r"\\.", re.DOTALL)
_NOT_RE2 = re.compile(r"\(\?(?!:|m\))|\\[1-9Z]|[}?]\+")
_ALLOWED = {
    "label": frozenset({"labels"}),
    "keyword": frozenset({"where", "needs", "pattern"}),
    "execution": frozenset({"signature", "types"}),
}
_COMMON = frozenset({"id", "scheme", "value", "kind", "reason"})


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
class Accuracy:
    """How often a function was right on gold."""

    right: int
    total: int
    interval: tuple[float, float]
    """Wilson interval of right / total; (0, 1) without gold."""
    base: float
    """Share of its class among all gold answers to its scheme: what guessing that class would reach there."""
    weight: float
    """What one vote adds to the log-odds of its class: measured against ``base``, drawn to the assumed accuracy where
    gold is thin, and never below 0."""


@dataclass(frozen=True, slots=True)
class Labelled:
    """What ``label_items`` did."""

    items: int
    """Items that were new or changed, in content, labels or rules."""
    labels: int
    """Weak labels that they have now."""
    total: int
    """Rows in the table afterwards."""


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
            self.functions = tuple(_function(entry, taxonomy) for entry in data["function"])
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            raise InputError(f"{FILE}: an entry lacks a key or has a value of another kind: {error}") from error
        if not all(0.5 <= share < 1 for share in (*self.assumed.values(), self.interval)):
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

    def execution_votes(self, signature: str, kind_of_it: str, run: str) -> list[WeakLabel]:
        """What one run says that showed its declared signature; see the function of the same name."""
        shown = kind_of_it.lower()
        return self._all_votes(
            {f: run for f in self.functions if f.signature == signature and (not f.types or shown in f.types)}
        )

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


def execution_votes(signature: str, type_: str, run: str) -> list[WeakLabel]:
    """What a run says that showed its declared signature.

    Args:
        signature: exception, signal, assertion, mismatch, hang, memory or slow.
        type_: the signal, the type of the exception or its like; empty where there is none.
        run: names the run; becomes the evidence.
    """
    return Labeller.load().execution_votes(signature, type_, run)


# ---- accuracy on gold ----------------------------------------------------------------------------------------------


def gold_answers(rows: Iterable[tuple[ItemKey, str, str, str, str]]) -> dict[ItemKey, dict[str, frozenset[str]]]:
    """One answer per item and scheme from the labels of several annotators.

    Humans are heard before the paper, the paper before automated annotators. Where the annotators of the highest kind
    disagree there is no answer: such an item measures nothing.

    Args:
        rows: (item, scheme, value, kind of annotator, annotator).
    """
    said: dict[tuple[ItemKey, str], dict[tuple[int, str], set[str]]] = {}
    for item, scheme, value, kind, annotator in rows:
        by = (ANNOTATOR_RANK.get(kind, 0), annotator)
        said.setdefault((item, scheme), {}).setdefault(by, set()).add(value)
    answers: dict[ItemKey, dict[str, frozenset[str]]] = {}
    for (item, scheme), opinions in said.items():
        best = max(rank for rank, _ in opinions)
        heard = {frozenset(values) for (rank, _), values in opinions.items() if rank == best}
        if len(heard) == 1:
            answers.setdefault(item, {})[scheme] = heard.pop()
    return answers


def read_gold(store: Store) -> dict[tuple[str, int], dict[str, frozenset[str]]]:
    """``gold_answers`` of the database, by (repo, number); backends are those of the catalog."""
    with store.read() as connection:
        rows = connection.execute(_GOLD).fetchall()
    return gold_answers(((repo, number), *rest) for repo, number, *rest in rows)


def wilson(right: int, total: int, share: float = 0.95) -> tuple[float, float]:
    """Wilson interval of a proportion: (lower, upper); (0, 1) where nothing was counted."""
    if total <= 0:
        return 0.0, 1.0
    z = NormalDist().inv_cdf(0.5 + share / 2)
    rate, spread = right / total, z * z / total
    middle = (rate + spread / 2) / (1 + spread)
    half = z * math.sqrt(rate * (1 - rate) / total + spread / (4 * total)) / (1 + spread)
    return 0.0 if right == 0 else middle - half, 1.0 if right == total else middle + half


def estimate(
    votes: Mapping[ItemKey, Iterable[WeakLabel]], gold: Mapping[ItemKey, Gold], labeller: Labeller | None = None
) -> dict[str, Accuracy]:
    """How often each function is right where gold has an answer to its scheme.

    A scheme that does not apply to an item (memory_type of a bug in the loader) has no answer there, so accuracies of
    memory_type hold for memory bugs; whether it is one, the function's vote for bug_type says, measured by itself.

    Returns every declared function, those that gold never met with the assumed accuracy of their kind.
    """
    labeller = labeller or Labeller.load()
    answers: Counter[str] = Counter()
    classes: Counter[tuple[str, str]] = Counter()
    for answer in gold.values():
        answers.update(answer.keys())
        classes.update((scheme, value) for scheme, values in answer.items() for value in values)
    right: Counter[str] = Counter()
    total: Counter[str] = Counter()
    for item, given in votes.items():
        for vote in set(given):
            if truth := gold.get(item, {}).get(vote.scheme):
                total[vote.function] += 1
                right[vote.function] += vote.value in truth
    return {
        name: _accuracy(labeller, kind, (right[name], total[name]), (classes[scheme, value], answers[scheme]))
        for name, (scheme, value, kind) in labeller.names().items()
    }


def _accuracy(labeller: Labeller, kind: str, votes: tuple[int, int], gold: tuple[int, int]) -> Accuracy:
    """Accuracy from (right, all) votes and (this class, all) answers.

    What a vote is worth is how much it moves the odds: a function that is right 60 times of 100 is worth nothing where
    60 of 100 items have its class anyway. Half a vote is added on each side, so that nothing is certain.
    """
    right, total = votes
    base = (gold[0] + 0.5) / (gold[1] + 1)
    measured = _logit((right + 0.5) / (total + 1)) - _logit(base)
    trust = total / (total + labeller.gold_weight)
    weight = trust * measured + (1 - trust) * _logit(labeller.assumed[kind])
    return Accuracy(right, total, wilson(right, total, labeller.interval), base, max(0.0, weight))


def class_priors(gold: Mapping[ItemKey, Gold], scheme: str, taxonomy: Taxonomy | None = None) -> dict[str, float]:
    """Share of each class among gold answers to a scheme, with one answer added for each class.

    Gold is chosen, not sampled: these are the shares of the catalog, not of the tracker.
    """
    entry = (taxonomy or Taxonomy.load()).scheme(scheme)
    answers = [answer[scheme] for answer in gold.values() if scheme in answer]
    counts = Counter(value for values in answers for value in values)
    options = len(entry.names()) if entry.exclusive else 2
    return {name: (counts[name] + 1) / (len(answers) + options) for name in entry.names()}


# ---- the vote ------------------------------------------------------------------------------------------------------


def combine(
    votes: Iterable[WeakLabel],
    accuracies: Mapping[str, Accuracy],
    priors: Mapping[str, float],
    *,
    exclusive: bool = True,
    labeller: Labeller | None = None,
) -> dict[str, float]:
    """Probability of each class of one scheme, from the votes of one item.

    Log-odds add up as in naive Bayes, but functions that read the same text repeat each other: each further vote for a
    class counts less than the one before, and all together no more than a cap. Where a run has spoken, texts and
    labels are silent, and how frequent a class is elsewhere does not matter.

    Args:
        votes: of one scheme.
        accuracies: from ``estimate``; a function that is missing there counts by the assumed accuracy of its kind.
        priors: of every class, any positive scale; for ``exclusive=False`` probabilities, each by itself.
        exclusive: whether exactly one class holds; otherwise each class gets a probability of its own.
        labeller: other rules of combining than the shipped ones.

    Raises:
        InputError: votes of several schemes, a class without a prior, no usable priors.
    """
    labeller = labeller or Labeller.load()
    cast = {(vote.function, vote.value): vote for vote in votes}.values()
    _check_votes(cast, priors)
    runs = [vote for vote in cast if vote.kind == EXECUTION]
    counted = runs if runs and exclusive else list(cast)
    weights: dict[str, list[float]] = {}
    for vote in counted:
        known = accuracies.get(vote.function)
        weights.setdefault(vote.value, []).append(known.weight if known else _logit(labeller.assumed[vote.kind]))
    evidence = {value: _sum(found, labeller.further_vote) for value, found in weights.items()}
    if not runs:
        evidence = {value: min(found, labeller.text_cap) for value, found in evidence.items()}
    if not exclusive:
        return {
            name: _share(_logit(min(max(prior, LEAST_PRIOR), 1 - LEAST_PRIOR)) + evidence.get(name, 0.0))
            for name, prior in priors.items()
        }
    whole = sum(priors.values())
    scores = {
        name: (0.0 if runs else math.log(max(prior / whole, LEAST_PRIOR))) + evidence.get(name, 0.0)
        for name, prior in priors.items()
    }
    top = max(scores.values())
    odds = {name: math.exp(score - top) for name, score in scores.items()}
    return {name: value / sum(odds.values()) for name, value in odds.items()}


def _check_votes(votes: Collection[WeakLabel], priors: Mapping[str, float]) -> None:
    if len({vote.scheme for vote in votes}) > 1:
        raise InputError("votes of several schemes cannot be combined: combine each scheme by itself")
    if unknown := sorted({vote.value for vote in votes} - set(priors)):
        raise InputError(f"there is no prior for class {unknown[0]!r}")
    whole = sum(priors.values())
    if not (math.isfinite(whole) and whole > 0 and min(priors.values()) >= 0):
        raise InputError("priors must be numbers of 0 or more, not all of them 0")


def _sum(weights: Iterable[float], further: float) -> float:
    return sum(weight * further**place for place, weight in enumerate(sorted(weights, reverse=True)))


def _logit(share: float) -> float:
    return math.log(share / (1 - share))


def _share(log_odds: float) -> float:
    return 1 / (1 + math.exp(-log_odds))


# ---- the table -----------------------------------------------------------------------------------------------------

_GOLD = """
    SELECT repo, number, scheme, value, annotator_kind, annotator FROM gold_labels
    UNION ALL
    SELECT repo, number, 'backend', unnest(backends), 'automated', 'catalog' FROM catalog"""

_PENDING = """
    SELECT i.rowid, i.state_hash FROM (
        SELECT rowid, repo, number,
               md5(coalesce(content_hash, '') || chr(30) || coalesce(array_to_string(labels, chr(31)), '') || $rules)
                   AS state_hash
        FROM items
    ) i LEFT JOIN link_scans s ON s.origin = $origin AND s.repo = i.repo AND s.id = i.number::VARCHAR
    WHERE s.content_hash IS DISTINCT FROM i.state_hash ORDER BY i.rowid"""

_TEXTS = """
    SELECT rowid, repo, number, title, left(body, $chars), labels FROM items
    WHERE rowid BETWEEN $first AND $last AND rowid IN (SELECT unnest($places)) ORDER BY rowid"""

_GONE = """
    SELECT DISTINCT id FROM link_scans s WHERE origin = $origin
    AND NOT EXISTS (FROM items i WHERE i.repo = s.repo AND i.number::VARCHAR = s.id)"""

_FORGET_GONE = (
    "DELETE FROM weak_labels w WHERE NOT EXISTS (FROM items i WHERE i.repo = w.repo AND i.number = w.number)",
    """DELETE FROM link_scans WHERE origin = $origin
       AND NOT EXISTS (FROM items i WHERE i.repo = link_scans.repo AND i.number::VARCHAR = link_scans.id)""",
)

_REPLACE = (
    """DELETE FROM weak_labels w USING todo t
       WHERE w.repo = t.repo AND w.number = t.number AND w.kind <> 'execution'""",
    """DELETE FROM link_scans s USING todo t
       WHERE s.origin = $origin AND s.repo = t.repo AND s.id = t.number::VARCHAR""",
    "INSERT INTO link_scans SELECT repo, $origin, number::VARCHAR, state_hash FROM todo",
    """INSERT INTO weak_labels (repo, number, scheme, value, function, kind, evidence, labelled_at)
       SELECT repo, number, scheme, value, function, kind, evidence, $moment::TIMESTAMP FROM fresh""",
)

_TODO = pa.schema([("repo", pa.string()), ("number", pa.int32()), ("state_hash", pa.string())])
_ROWS = pa.schema(
    [("repo", pa.string()), ("number", pa.int32())]
    + [(name, pa.string()) for name in ("scheme", "value", "function", "kind", "evidence")]
)


def label_items(store: Store, writer: Writer, progress: Callable[[int, int], None] | None = None) -> Labelled:
    """Bring ``weak_labels`` up to date with the items whose content or labels changed, or all after a change of rules.

    Works in batches, each committed whole: stop it at any time, the next call goes on. Rows of kind execution come
    from runs and are left alone.

    Args:
        store: the database.
        writer: its writer, held by the caller: places in the table are remembered between reads.
        progress: called with (items done, items in all) after each batch.

    Raises:
        StoreError: the database cannot be read or written.
        InputError: data/labelling.toml or another rule file is wrong.
    """
    labeller = Labeller.load()
    with store.read() as connection:
        parameters = {"rules": labeller.digest, "origin": SCAN_ORIGIN}
        places = connection.execute(_PENDING, parameters).fetchall()
        gone = connection.execute(_GONE, {"origin": SCAN_ORIGIN}).fetchall()
    if gone:
        with writer.transaction() as connection:
            for statement in _FORGET_GONE:
                _execute(connection, statement, {"origin": SCAN_ORIGIN})
    made = 0
    for start in range(0, len(places), BATCH):
        made += _label_batch(store, writer, labeller, dict(places[start : start + BATCH]))
        if progress is not None:
            progress(min(start + BATCH, len(places)), len(places))
    with store.read() as connection:
        [(total,)] = connection.execute("SELECT count(*) FROM weak_labels").fetchall()
    return Labelled(len(places), made, int(total))


def _label_batch(store: Store, writer: Writer, labeller: Labeller, hashes: Mapping[int, str]) -> int:
    bounds = {"first": min(hashes), "last": max(hashes), "places": list(hashes), "chars": labeller.body_chars}
    with store.read() as connection:
        texts = connection.execute(_TEXTS, bounds).fetchall()
    todo = [(repo, number, hashes[place]) for place, repo, number, *_ in texts]
    fresh = [
        (repo, number, vote.scheme, vote.value, vote.function, vote.kind, vote.evidence)
        for _, repo, number, title, body, labels in texts
        for vote in labeller.votes(title, body, labels)
    ]
    with writer.transaction() as connection:
        connection.register("todo", _table(_TODO, todo))
        connection.register("fresh", _table(_ROWS, fresh))
        for statement in _REPLACE:
            _execute(connection, statement, {"origin": SCAN_ORIGIN, "moment": now_utc()})
        for name in ("todo", "fresh"):
            connection.unregister(name)
    return len(fresh)


def _execute(connection: duckdb.DuckDBPyConnection, statement: str, parameters: Mapping[str, str]) -> None:
    """Run a statement with those of the parameters that it names: DuckDB refuses others."""
    connection.execute(statement, {name: value for name, value in parameters.items() if f"${name}" in statement})


def _table(schema: pa.Schema, rows: Sequence[tuple[Any, ...]]) -> pa.Table:
    columns = zip(*rows, strict=True) if rows else [()] * len(schema)
    return pa.table([pa.array(column, kind) for column, kind in zip(columns, schema.types, strict=True)], schema=schema)


# ---- reading the functions -----------------------------------------------------------------------------------------


@cache
def _shipped() -> Labeller:
    taxonomy = Taxonomy.load()
    digest = blake2b(digest_size=8)
    for path in (resources.data_file(FILE), resources.package_file("classify", "weak.py")):
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
            return Function(name, scheme, value, kind, signature=signature, types=lower)


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
