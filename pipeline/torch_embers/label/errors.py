"""Labels of annotators that are probably wrong: a model that had not seen the item says otherwise, and is sure."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from torch_embers.console import plain, stdout
from torch_embers.taxonomy import Taxonomy

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch_embers.store.store import Store

_SUSPECTS = """
    SELECT g.repo, g.number, coalesce(i.title, ''), g.scheme, g.value, g.annotator_kind || ':' || g.annotator, p.value,
           p.probability
    FROM gold_labels g JOIN predictions p USING (repo, number, scheme) LEFT JOIN items i USING (repo, number)
    WHERE p.provenance = 'out_of_fold' AND list_contains($schemes, scheme) AND NOT EXISTS (
        FROM gold_labels a WHERE a.repo = g.repo AND a.number = g.number AND a.scheme = g.scheme AND a.value = p.value)
    ORDER BY p.probability DESC, repo, number, scheme"""


class Suspect(NamedTuple):
    """A gold label that is probably wrong."""

    repo: str
    number: int
    title: str
    scheme: str
    given: str
    by: str
    """Who gave it, as kind:name."""
    suggested: str
    probability: float
    """Of the suggested class."""


def suspects(store: Store, schemes: Sequence[str] = ()) -> list[Suspect]:
    """The gold labels that no annotator's and no unseeing model's class agrees with, the surest first.

    Args:
        store: the database, after `embers classify`.
        schemes: only these; all whose classes exclude each other when none is named.

    Raises:
        TaxonomyError: no such scheme.
        StoreError: the database cannot be read.
    """
    taxonomy = Taxonomy.load()
    exclusive = [name for name, scheme in taxonomy.schemes.items() if scheme.exclusive]
    wanted = [taxonomy.scheme(name).name for name in schemes] or exclusive
    with store.read() as connection:
        return [Suspect(*row) for row in connection.execute(_SUSPECTS, {"schemes": wanted}).fetchall()]


def print_suspects(store: Store, schemes: Sequence[str], limit: int) -> None:
    """Print the labels of annotators that are probably wrong, the surest first."""
    found, out = suspects(store, schemes), stdout()
    for one in found[:limit]:
        named = f"{one.repo}#{one.number} {one.scheme}: {one.given} ({one.by}), suggested {one.suggested}"
        out.print(f"{plain(named)} ({one.probability:.2f}): {plain(one.title)}")
    out.print(f"{min(limit, len(found)):,} of {len(found):,} gold labels that are probably wrong")
