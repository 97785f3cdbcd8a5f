"""What `embers classify`, `similar` and `search` do; heavy packages are imported only when one of them runs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from torch_embers.errors import StoreMissingError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from torch_embers.classify.evaluate import Report
    from torch_embers.classify.metrics import Interval
    from torch_embers.classify.search import Hit
    from torch_embers.classify.stage import Explanation, Labelled
    from torch_embers.store.store import Store

LEAST_SHARED = 10
"""Items that two annotators must share before their agreement says anything."""


class Progress(Protocol):
    """Who watches the stage."""

    def expects(self, total: int) -> None:
        """How many items there are to do."""

    def advanced(self, count: int) -> None:
        """So many more are done."""

    def said(self, text: str) -> None:
        """Something worth a line."""


def own_folder(store: Store) -> Path:
    """Where a classifier trained on this database is kept."""
    return store.path.with_name(store.path.stem + ".model")


def folder_of(store: Store, model: Path | None) -> Path:
    """Folder of the classifier to use: the named one, else the user's own, else the shipped one.

    Raises:
        ModelError: there is none.
    """
    from torch_embers.classify.bundle import FILE, shipped_folder

    if model is not None:
        return model
    own = own_folder(store)
    return own if (own / FILE).is_file() else shipped_folder()


def run(store: Store, model: Path | None, variant: str, progress: Progress, *, train: bool) -> Labelled:
    """Train where asked to, then label everything that is new.

    Raises:
        EmbersError: no database, no model, packages missing.
    """
    from torch_embers.classify import stage
    from torch_embers.classify.bundle import Bundle
    from torch_embers.classify.embed import load_embedder

    if not store.exists():
        raise StoreMissingError(f"no database at {store.path}: run `embers mine` first")
    embedder = load_embedder()
    with store.writer("embers classify") as writer:
        if train:
            target = model or own_folder(store)
            chosen: Any = variant
            trained = stage.train(store, writer, embedder, chosen, target.name, progress.said)
            trained.bundle.save(target)
            for scheme, rare in trained.left_out.items():
                if rare:
                    named = ", ".join(f"{value} ({count})" for value, count in sorted(rare.items()))
                    progress.said(f"{scheme}: too few labelled items of {named}")
            model = target
        bundle = Bundle.load(folder_of(store, model))
        return stage.classify(store, writer, bundle, embedder, progress=progress.advanced, expects=progress.expects)


def evaluate_gold(store: Store, variant: str, progress: Progress) -> tuple[list[Report], list[Agreement]]:
    """Cross-validate each scheme on the gold labels of the database, and say how annotators agree.

    Groups (near-duplicates, and what links join) are held out whole. The text is the item's own: never a summary.

    Raises:
        InputError: no gold labels.
        EmbersError: no database, packages missing.
    """
    from torch_embers.classify import gold, protocols, stage
    from torch_embers.classify.embed import load_embedder
    from torch_embers.classify.vectors import text_batches
    from torch_embers.errors import InputError

    labelled = gold.load(store)
    if not labelled:
        raise InputError("no gold labels in the database: `embers mine --source catalog` brings the catalog's")
    embedder = load_embedder()
    chosen: Any = variant
    with store.writer("embers evaluate"):
        texts = {(t.repo, t.number): t.text for batch in text_batches(store, chosen) for t in batch if t.text_hash}
    bodies = _with_body(store)
    reports = []
    for scheme in stage.SCHEMES:
        items = [
            protocols.GoldItem(
                g.number, g.labels[scheme], texts[g.repo, g.number], g.created_at, (g.repo, g.number) in bodies
            )
            for g in labelled
            if scheme in g.labels and (g.repo, g.number) in texts
        ]
        progress.said(f"{scheme}: {len(items)} labelled items")
        reports.append(protocols.gold(scheme, items, embedder.encode, protocols.gold_groups(items, _related(store))))
    return reports, _agreements(store, stage.SCHEMES)


def _with_body(store: Store) -> set[tuple[str, int]]:
    with store.read() as connection:
        return set(connection.execute("SELECT repo, number FROM items WHERE body <> ''").fetchall())


def _related(store: Store) -> dict[int, list[int]]:
    """Items that links join: they tell of the same bug and must be held out together."""
    with store.read() as connection:
        rows = connection.execute(
            "SELECT number, list(DISTINCT target_number) FROM links WHERE number IS NOT NULL "
            "AND target_number IS NOT NULL AND relation <> 'mentions' GROUP BY number"
        ).fetchall()
    return {int(number): list(others) for number, others in rows}


@dataclass(frozen=True, slots=True)
class Agreement:
    """Cohen's kappa of two annotators on the items that both labelled."""

    scheme: str
    one: str
    other: str
    kappa: Interval
    items: int


def _agreements(store: Store, schemes: Sequence[str]) -> list[Agreement]:
    """Agreement of every two annotators that share at least ten items."""
    from itertools import combinations

    from torch_embers.classify.metrics import kappa

    with store.read() as connection:
        rows = connection.execute(
            "SELECT scheme, annotator_kind || ':' || annotator, repo, number, value FROM gold_labels ORDER BY ALL"
        ).fetchall()
    said: dict[tuple[str, str], dict[tuple[str, int], str]] = {}
    for scheme, annotator, repo, number, value in rows:
        said.setdefault((scheme, annotator), {})[repo, number] = value
    found = []
    for (one_scheme, one), (other_scheme, other) in combinations(sorted(said), 2):
        both = sorted(said[one_scheme, one].keys() & said[other_scheme, other].keys())
        if one_scheme != other_scheme or one_scheme not in schemes or len(both) < LEAST_SHARED:
            continue
        first = [said[one_scheme, one][key] for key in both]
        second = [said[other_scheme, other][key] for key in both]
        found.append(Agreement(one_scheme, one, other, kappa(first, second, both), len(both)))
    return found


def evaluate_files(
    train: Path, test: Path | None, text_columns: Sequence[str], label_column: str, group_column: str | None
) -> Report:
    """Run the same machinery on labelled texts of CSV files.

    Raises:
        InputError: a file or column is missing, or there is too little to learn from.
    """
    from torch_embers.classify.embed import load_embedder
    from torch_embers.classify.evaluate import evaluate_tables, read_table
    from torch_embers.classify.splits import join_groups, near_duplicates

    first = read_table(train, text_columns, label_column, group_column)
    second = read_table(test, text_columns, label_column, group_column) if test else None
    texts = [*first.texts, *(second.texts if second else ())]
    named = [*first.groups, *(second.groups if second else ())]
    own = [group if group is not None else f"row {place}" for place, group in enumerate(named)]
    groups = join_groups(near_duplicates(texts).tolist(), own)
    return evaluate_tables(first, second, load_embedder().encode, groups.tolist())


def explain(store: Store, repo: str, number: int, model: Path | None) -> Explanation:
    """Why an item has its labels.

    Raises:
        EmbersError: the item is unknown or not classified.
    """
    from torch_embers.classify import stage
    from torch_embers.classify.bundle import Bundle

    return stage.explain(store, Bundle.load(folder_of(store, model)), repo, number)


def similar(store: Store, repo: str, number: int, k: int) -> list[Hit]:
    """Items nearest to an item.

    Raises:
        InputError: the item is unknown or has no vector.
    """
    from torch_embers.classify import search as searching

    return searching.similar(store, repo, number, k, variant=_variant(store))


def search(store: Store, text: str, k: int) -> list[Hit]:
    """Items nearest to some words.

    Raises:
        InputError: no words, or nothing was embedded yet.
    """
    from torch_embers.classify import search as searching

    return searching.search(store, text, k, variant=_variant(store))


def _variant(store: Store) -> Any:
    """The text variant that most items were embedded with."""
    from torch_embers.classify.vectors import VARIANT, has_tables

    with store.read() as connection:
        if not has_tables(connection):
            return VARIANT
        rows = connection.execute(
            "SELECT variant FROM model_texts GROUP BY ALL ORDER BY count(*) DESC, variant LIMIT 1"
        ).fetchall()
    return rows[0][0] if rows else VARIANT
