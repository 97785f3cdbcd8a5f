"""Items by the words that they share with a query (``words.sql``)."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from torch_embers import resources

if TYPE_CHECKING:
    from collections.abc import Sequence

    import duckdb

    from torch_embers.search.rules import SearchRules

_WORD = re.compile(r"[^\W_]+")
"""What ``words.sql`` splits texts into: letters and digits, so that ``conv_transpose2d`` is two words on both sides."""
_NAME = re.compile(r"\w+")
"""Words with the underscores between and around them: one pass, also over a megabyte without a blank."""


class Scored(NamedTuple):
    """An item with the sum of its words' weights."""

    repo: str
    number: int
    title: str
    score: float


def query_words(text: str, most: int) -> list[str]:
    """The first ``most`` different words of a text, then the first ``most`` names with underscores, in lower case."""
    words = dict.fromkeys(word.lower() for word in _WORD.findall(text))
    found = (name.strip("_").lower() for name in _NAME.findall(text))
    names = dict.fromkeys(name for name in found if "_" in name)
    return [*list(words)[:most], *list(names)[:most]]


def by_words(
    connection: duckdb.DuckDBPyConnection,
    words: Sequence[str],
    rules: SearchRules,
    *,
    repo: str = "",
    among: Sequence[str] | None = None,
    but: str = "",
) -> list[Scored]:
    """The items that share words with a query, best first; an item without a shared word is no hit.

    Args:
        connection: to read from.
        words: of the query, in lower case, as ``query_words`` gives them.
        rules: how words count, and how many items come back.
        repo: only items of this repository are counted and found; empty for all.
        among: only these, as owner/name#number.
        but: an item that is left out, as owner/name#number.
    """
    query = resources.package_file("search", "words.sql").read_text(encoding="utf-8")
    parameters = {
        "words": [word for word in words if "_" not in word],
        "names": [word for word in words if "_" in word],
        "repo": repo,
        "everything": among is None,
        "among": list(among or ()),
        "but": but,
        "weight_of_title": rules.words.weight_of_title,
        "body_chars": rules.words.body_chars,
        "saturation": rules.words.saturation,
        "length": rules.words.length,
        "rarity": rules.words.rarity,
        "depth": rules.fusion.depth,
    }
    return [Scored(*row) for row in connection.execute(query, parameters).fetchall()]
