"""What the words in the tables mean: classes of the taxonomy, relations, verdicts, controls, statuses."""

from __future__ import annotations

import tomllib

import pyarrow as pa

from torch_embers import resources
from torch_embers.dataset import definitions
from torch_embers.taxonomy import Taxonomy

RELATIONS = "relations.toml"
COLUMNS = ("word_of", "word", "parent", "meaning", "rule")


def words() -> pa.Table:
    """Every word with its meaning; columns as the table ``vocabulary`` has them.

    Raises:
        InputError: one of the files that define words is missing or malformed.
    """
    rows: list[tuple[str | None, ...]] = [
        (scheme.name, entry.name, entry.parent_class, entry.definition, entry.rule)
        for scheme in Taxonomy.load().schemes.values()
        for entry in scheme.classes
    ]
    relations = resources.load_toml(RELATIONS)["relation"]
    rows += [("relation", entry["name"], None, entry["meaning"], None) for entry in relations]
    others = tomllib.loads(definitions.read("words.toml"))["vocabulary"]
    rows += [(kind, word, None, meaning, None) for kind, known in others.items() for word, meaning in known.items()]
    columns = [pa.array(column, pa.string()) for column in zip(*rows, strict=True)]
    return pa.Table.from_arrays(columns, names=COLUMNS)
