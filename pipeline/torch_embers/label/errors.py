"""Labels of annotators that are probably wrong: a model that had not seen the item says otherwise, and is sure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_embers.console import plain, stdout
from torch_embers.taxonomy import Taxonomy

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch_embers.store.store import Store

_SUSPECTS = """
    SELECT format('{}#{} {}: {} ({}:{}), suggested {}', g.repo, g.number, g.scheme, g.value, g.annotator_kind,
        g.annotator, p.value), p.probability, coalesce(i.title, '')
    FROM gold_labels g JOIN predictions p USING (repo, number, scheme) LEFT JOIN items i USING (repo, number)
    WHERE p.provenance = 'out_of_fold' AND list_contains($schemes, scheme) AND NOT EXISTS (
        FROM gold_labels a WHERE a.repo = g.repo AND a.number = g.number AND a.scheme = g.scheme AND a.value = p.value)
    ORDER BY p.probability DESC, repo, number, scheme"""


def print_suspects(store: Store, schemes: Sequence[str], limit: int) -> None:
    """Print the gold labels that no annotator's and no unseeing model's class agrees with, the surest first.

    Args:
        store: the database, after `embers classify`.
        schemes: only these; all whose classes exclude each other when none is named.
        limit: the most labels.

    Raises:
        TaxonomyError: no such scheme.
        StoreError: the database cannot be read.
    """
    taxonomy = Taxonomy.load()
    exclusive = [name for name, scheme in taxonomy.schemes.items() if scheme.exclusive]
    wanted = [taxonomy.scheme(name).name for name in schemes] or exclusive
    with store.read() as connection:
        found = connection.execute(_SUSPECTS, {"schemes": wanted}).fetchall()
    for said, probability, title in found[:limit]:
        stdout().print(f"{plain(said)} ({probability:.2f}): {plain(title)}")
    stdout().print(f"{min(limit, len(found)):,} of {len(found):,} gold labels that are probably wrong")
