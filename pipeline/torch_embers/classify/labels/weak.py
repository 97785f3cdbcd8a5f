"""Weak labels: votes of labelling functions on an item, from maintainers' labels, words and runs.

A labelling function (``data/labelling.toml``) votes for one class of one scheme, or abstains. Its weight is estimated
on gold labels (``label_model.py``). Weak labels are never stored as gold labels. Everything here is pure;
``weak_table.py`` keeps the table ``weak_labels``.
"""

from __future__ import annotations

from functools import cache
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, NamedTuple

from torch_embers import resources, toml_models
from torch_embers.classify import text as cleaning
from torch_embers.classify.embedding.vectors import rules_hash
from torch_embers.classify.labels.labelling_file import (
    ExecutionFunction,
    KeywordFunction,
    LabelFunction,
    LabellingFile,
)
from torch_embers.errors import InputError
from torch_embers.link.relations import contains_any
from torch_embers.taxonomy import ANY, Taxonomy, TaxonomyError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from torch_embers.classify.labels.labelling_file import Function
    from torch_embers.signature import Signature

FILE = "labelling.toml"
RULES_VERSION = 2
"""Raised whenever the code of this file or ``labelling_file.py`` changes a vote: all items are then labelled again."""
EXECUTION, LABEL = "execution", "label"
IMPLIED = "/"
"""Between the id of a function and the parent scheme in the name of the vote for the parent class."""


class WeakLabel(NamedTuple):
    """One vote of one function; a row of ``weak_labels`` without item and time."""

    scheme: str
    value: str
    function: str
    kind: str
    """label, keyword or execution."""
    evidence: str
    """The label, the words, or the run that decided."""


class Labeller:
    """The compiled functions; ``Labeller.load()`` gives the shipped ones."""

    def __init__(self, data: Mapping[str, Any], taxonomy: Taxonomy, digest: str = "") -> None:
        """Check and compile the parsed TOML.

        Raises:
            InputError: an entry is wrong; the message names it and its key.
        """
        file = toml_models.validate(LabellingFile, data, FILE)
        _check_classes(file, taxonomy)
        self.body_chars, self.evidence_chars = file.limits.body_chars, file.limits.evidence_chars
        self.functions = file.function
        self.digest = digest
        self._taxonomy = taxonomy
        self._by_label: dict[str, list[Function]] = {}
        for function in self.functions:
            for name in function.labels if isinstance(function, LabelFunction) else ():
                self._by_label.setdefault(name, []).append(function)
        keywords = [function for function in self.functions if isinstance(function, KeywordFunction)]
        self._keywords = sorted(keywords, key=lambda function: function.where == "body")

    @staticmethod
    @cache
    def load() -> Labeller:
        """Read the shipped ``data/labelling.toml`` once.

        Raises:
            InputError: the file is missing or an entry is wrong.
        """
        taxonomy = Taxonomy.load()
        digest = blake2b(resources.data_file(FILE).read_bytes(), digest_size=8)
        digest.update(f"{RULES_VERSION} {taxonomy.digest} {rules_hash()}".encode())
        return Labeller(resources.load_toml(FILE), taxonomy, digest.hexdigest())

    def names(self) -> dict[str, tuple[str, str, str]]:
        """Scheme, value and kind of every possible vote, by the name of its function."""
        votes = (vote for function in self.functions for vote in self._votes(function, ""))
        return {vote.function: (vote.scheme, vote.value, vote.kind) for vote in votes}

    def votes(self, title: str | None, body: str | None, labels: Iterable[str] | None) -> list[WeakLabel]:
        """The votes of labels and words on an item, each function at most once.

        Args:
            title: as the tracker has it.
            body: raw; it is cleaned here, so that forms and environment dumps do not vote.
            labels: the maintainers' labels.
        """
        hits: dict[Function, str] = {}
        for name in labels or ():
            for function in self._by_label.get(name.strip().lower(), ()):
                hits.setdefault(function, name)
        cleaned = cleaning.clean(body[: self.body_chars]) if body else ""
        texts = {"title": (title or "").lower(), "body": cleaned.lower()}
        for function in self._keywords:
            text = texts[function.where]
            if contains_any(text, function.needs) and (match := function.pattern.search(text)):
                hits[function] = match[0]
        return [vote for function, evidence in hits.items() for vote in self._votes(function, evidence)]

    def execution_votes(self, failure: Signature, declared: str, run: str) -> list[WeakLabel]:
        """The votes of a run that reproduced the bug of a case.

        Args:
            failure: what it showed.
            declared: consequence that the case declares; empty if it declares none.
            run: names the run; becomes the evidence.
        """
        functions = [f for f in self.functions if isinstance(f, ExecutionFunction) and _is_seen(f, failure, declared)]
        most = max((function.conditions for function in functions), default=0)
        return [vote for f in functions if f.conditions == most for vote in self._votes(f, run)]

    def _votes(self, function: Function, evidence: str) -> Iterator[WeakLabel]:
        """The vote of a function, and the vote for the class under which its scheme stands."""
        short = " ".join(evidence.split())[: self.evidence_chars]
        yield WeakLabel(function.scheme, function.value, function.id, function.kind, short)
        parent = self._taxonomy.scheme(function.scheme).parent
        if parent is not None and parent[1] != ANY:
            yield WeakLabel(*parent, f"{function.id}{IMPLIED}{parent[0]}", function.kind, short)


def _is_seen(function: ExecutionFunction, failure: Signature, declared: str) -> bool:
    return (
        function.signature == failure.kind
        and (not function.types or failure.type.lower() in function.types)
        and function.message in failure.message.lower()
        and (not function.declared or declared in function.declared)
    )


def _check_classes(file: LabellingFile, taxonomy: Taxonomy) -> None:
    named = [(f'function "{function.id}"', function.scheme, function.value) for function in file.function]
    for where, scheme, value in named:
        try:
            taxonomy.scheme(scheme).find(value)
        except TaxonomyError as error:
            raise InputError(f"data/{FILE}: {where}: {error}") from error
