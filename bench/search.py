"""Measure `embers similar` on pairs of items that the tracker itself connects: by meaning, by words, and both together.

    embers mine --source catalog -d search.duckdb; embers mine --source jsonl COMMITS REPORTS ... -d search.duckdb
    embers classify -d search.duckdb
    python bench/search.py --database search.duckdb

Pairs: an issue and another that it, the catalog or a comment names (`related`, both ways); two issues that one pull request fixes
(`same fix`, both ways); an issue and the pull request that fixes it (`fix`; at most ``MOST_FIXES``, drawn with a seed). The place of the
partner counts among items of its kind alone. The numbers of data/search.toml were chosen among three values each on most of these
pairs, so the figures of `together` are a little favourable. Written to bench/search.json.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from torch_embers.classify.embedding import nearest
from torch_embers.search import command
from torch_embers.store.store import Store

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from torch_embers.search.command import Hit

RESULTS = Path(__file__).parent / "search.json"
REPO = "pytorch/pytorch"
MOST_FIXES = 150
SEED = 15
WITHIN = 10
_LINKED = """
    SELECT DISTINCT l.number, l.target_number FROM links l
    JOIN items a ON a.repo = l.repo AND a.number = l.number JOIN items b ON b.repo = l.target_repo AND b.number = l.target_number
    WHERE l.repo = $repo AND l.target_repo = $repo AND a.number <> b.number AND a.title IS NOT NULL AND b.title IS NOT NULL
      AND a.kind = $kind AND b.kind = 'issue' AND l.relation IN (SELECT unnest($relations))"""

Pair = tuple[int, int]


def pairs(store: Store) -> dict[str, tuple[str, list[Pair]]]:
    """Kind of the partner, and pairs of query and partner, by name."""
    with store.read() as connection:
        asked = {"repo": REPO}
        named = connection.execute(
            _LINKED, asked | {"kind": "issue", "relations": ["mentions", "duplicates", "supersedes"]}
        ).fetchall()
        fixes = connection.execute(_LINKED, asked | {"kind": "pull", "relations": ["fixes"]}).fetchall()
    by_pull: dict[int, set[int]] = {}
    for pull, issue in fixes:
        by_pull.setdefault(pull, set()).add(issue)
    same = {(one, two) for fixed in by_pull.values() for one in fixed for two in fixed if one != two}
    related = {tuple(pair) for pair in named} | {(two, one) for one, two in named}
    drawn = sorted((issue, pull) for pull, issue in fixes)
    random.Random(SEED).shuffle(drawn)
    return {
        "related": ("issue", sorted(related)),
        "same fix": ("issue", sorted(same)),
        "fix": ("pull", sorted(drawn[:MOST_FIXES])),
    }


def place(hits: Iterable[int], partner: int) -> int:
    """The partner's place, first is 1; 0 where it is not among the hits."""
    return next((rank for rank, number in enumerate(hits, start=1) if number == partner), 0)


def orders(found: Sequence[Hit]) -> dict[str, list[int]]:
    """The same hits by meaning alone, by words alone, and together."""
    meant = sorted((hit for hit in found if hit.cosine is not None), key=lambda hit: (-(hit.cosine or 0), hit.number))
    shared = sorted((hit for hit in found if hit.words is not None), key=lambda hit: (-(hit.words or 0), hit.number))
    return {
        way: [hit.number for hit in hits] for way, hits in (("meaning", meant), ("words", shared), ("together", found))
    }


def measure(store: Store) -> list[dict[str, object]]:
    """A row per kind of pair and way."""
    with store.read() as connection:
        kinds = dict(connection.execute("SELECT number, kind FROM items WHERE repo = ?", [REPO]).fetchall())
    rows: list[dict[str, object]] = []
    for name, (kind, wanted) in pairs(store).items():
        places: dict[str, list[int]] = {}
        for number, pair in enumerate(wanted, start=1):
            found = [
                hit for hit in command.similar(store, REPO, pair[0], nearest.MOST).hits if kinds.get(hit.number) == kind
            ]
            for way, numbers in orders(found).items():
                places.setdefault(way, []).append(place(numbers, pair[1]))
            print(f"\r{name}: {number} of {len(wanted)}", end="", flush=True)
        print()
        for way, ranks in places.items():
            rows.append(
                {
                    "pairs": name,
                    "way": way,
                    "n": len(ranks),
                    "mrr": round(statistics.mean(1 / rank if rank else 0 for rank in ranks), 3),
                    f"hit_at_{WITHIN}": round(statistics.mean(0 < rank <= WITHIN for rank in ranks), 3),
                }
            )
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--database", type=Path, required=True)
    options = parser.parse_args()
    store = Store(options.database)
    with store.read() as connection:
        pools = dict(
            connection.execute("SELECT coalesce(kind, 'unknown'), count(title) FROM items GROUP BY 1").fetchall()
        )
        models = [model for (model,) in connection.execute("SELECT DISTINCT model FROM embeddings").fetchall()]
        [bodies] = connection.execute("SELECT count(*) FROM items WHERE kind = 'issue' AND body <> ''").fetchone() or [
            0
        ]
    found = {
        "measured_at": datetime.now(UTC).strftime("%Y-%m-%d"),
        "models": models,
        "items_with_title": pools,
        "issues_with_body": bodies,
        "rows": measure(store),
    }
    RESULTS.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    for row in found["rows"]:
        print(row)


if __name__ == "__main__":
    main()
