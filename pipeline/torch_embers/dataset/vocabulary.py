"""What the words in the tables mean: classes of the taxonomy, relations, verdicts, controls, statuses."""

from __future__ import annotations

import tomllib
from typing import TYPE_CHECKING

import pyarrow as pa

from torch_embers import resources
from torch_embers.dataset import definitions
from torch_embers.taxonomy import Taxonomy

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

RELATIONS = "relations.toml"
COLUMNS = ("word_of", "word", "parent", "meaning", "rule")


def words() -> pa.Table:
    """Every word with its meaning; columns as the table ``vocabulary`` has them.

    Raises:
        InputError: one of the files that define words is missing or malformed.
    """
    rows = [*_classes(), *_relations(), *_others()]
    return pa.Table.from_pylist(rows, pa.schema([(name, pa.string()) for name in COLUMNS]))


def _row(
    word_of: str, word: str, meaning: str, parent: str | None = None, rule: str | None = None
) -> dict[str, str | None]:
    return dict(zip(COLUMNS, (word_of, word, parent, meaning, rule), strict=True))


def _classes() -> Iterator[Mapping[str, str | None]]:
    for scheme in Taxonomy.load().schemes.values():
        for entry in scheme.classes:
            yield _row(scheme.name, entry.name, entry.definition, entry.parent_class, entry.rule)


def _relations() -> Iterator[Mapping[str, str | None]]:
    for entry in resources.load_toml(RELATIONS)["relation"]:
        yield _row("relation", entry["name"], entry["meaning"])


def _others() -> Iterator[Mapping[str, str | None]]:
    known = tomllib.loads(definitions.read("words.toml"))["vocabulary"]
    return (_row(word_of, word, meaning) for word_of, entries in known.items() for word, meaning in entries.items())
