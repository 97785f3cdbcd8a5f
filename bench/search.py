"""Measure `embers similar` on pairs of items that the tracker itself connects: by meaning, by words, and both together.

    embers mine --source catalog -d search.duckdb; embers mine --source jsonl COMMITS REPORTS ... -d search.duckdb
    python bench/search.py --database search.duckdb

COMMITS is a history of merged pull requests, REPORTS are files of issues with labels and bodies (docs/encoder.md names those that were measured).

Two encoders are compared in one run, by titles: the one that was tuned for this tracker and the one that it was tuned from. The pairs are those of
bench/search_pairs.csv, whatever else the database holds; where it lacks one of their items nothing is measured. Pairs: an issue and
another that it, the catalog or a comment names (`related`, both ways); two issues that one pull request fixes (`same fix`, both ways); an issue
and the pull request that fixes it (`fix`; 150, drawn with a seed from all fixes that the database of 2026-11-24 held). The place of the partner
counts among items of its kind alone. What the nearness of numbers adds and costs is measured, too, on all pairs and on those that are further apart
than ``FAR``. Its numbers were chosen on none of these pairs. The encoder learned from none of `related` and `same fix`; some of `fix` it may have
learned from (docs/encoder.md). Intervals: bootstrap over queries, 95 %; of differences, over the same draws. Written to bench/search.json.
"""

from __future__ import annotations

import argparse
import csv
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.sparse import csr_matrix, hstack
from sklearn.feature_extraction.text import CountVectorizer

from torch_embers import settings
from torch_embers.classify.embedding import nearest, weights
from torch_embers.classify.embedding.embed import load_embedder
from torch_embers.classify.embedding.vectors import embed_items
from torch_embers.classify.text import model_text
from torch_embers.search.fusion import fuse, nearness
from torch_embers.search.rules import SearchRules
from torch_embers.search.words import by_words, query_words
from torch_embers.store.store import Store

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray
    from scipy.sparse import csc_matrix

RESULTS = Path(__file__).parent / "search.json"
PAIRS = Path(__file__).parent / "search_pairs.csv"
"""What is measured: numbers of items, the same whatever database is at hand."""
REPO = "pytorch/pytorch"
SEED = 15
NAMED = 20
"""Most missing items that are named."""
WITHIN = 10
FAR = 4000
"""Pairs of which the numbers are further apart, about ten weeks of the tracker, are also measured by themselves."""
CHECKED = 5
"""Queries whose words are counted as `embers similar` counts them, too."""
SAMPLES = 10_000
ENCODERS = {"before": weights.DEFAULT_MODEL, "tuned": settings.SHIPPED_EMBEDDER}
NEAR = "both and nearness, tuned"
"""What `embers similar` does."""
PARTNERS = {"related": "issue", "same fix": "issue", "fix": "pull"}
"""Kind of the partner, by kind of pair."""

Pair = tuple[int, int]


def pairs(store: Store) -> dict[str, tuple[str, list[Pair]]]:
    """Kind of the partner, and pairs of query and partner, by name.

    Raises:
        SystemExit: the database lacks an item of a pair, or its title, or holds it as another kind.
    """
    found: dict[str, tuple[str, list[Pair]]] = {name: (kind, []) for name, kind in PARTNERS.items()}
    with PAIRS.open(encoding="utf-8", newline="") as file:
        for entry in csv.DictReader(file):
            found[entry["pairs"]][1].append((int(entry["query"]), int(entry["partner"])))
    needed = {query: "issue" for _, asked in found.values() for query, _ in asked}
    needed |= {partner: kind for kind, asked in found.values() for _, partner in asked}
    with store.read() as connection:
        rows = connection.execute("SELECT number, kind FROM items WHERE repo = ? AND title IS NOT NULL", [REPO])
        kinds = dict(rows.fetchall())
    if wrong := sorted(number for number, kind in needed.items() if kinds.get(number) != kind):
        raise SystemExit(
            f"{len(wrong)} of {len(needed)} items of {PAIRS.name} are not in this database with a title, as what they are: "
            + ", ".join(f"#{number} ({needed[number]})" for number in wrong[:NAMED])
            + (" and others" if wrong[NAMED:] else "")
        )
    return found


def place(hits: Iterable[int], partner: int) -> int:
    """The partner's place, first is 1; 0 where it is not among the hits."""
    return next((rank for rank, number in enumerate(hits, start=1) if number == partner), 0)


def shared_words(store: Store, queries: Iterable[int]) -> dict[int, list[int]]:
    """The items that share words with each query, best first.

    `embers similar` counts all texts anew for each query, which takes seconds. Here they are counted once, by the same formula; the first
    ``CHECKED`` queries are asked both ways.

    Raises:
        SystemExit: the two ways differ.
    """
    rules = SearchRules.load()
    with store.read() as connection:
        rows = connection.execute(
            "SELECT number, coalesce(title, ''), coalesce(body, '') FROM items WHERE repo = ? ORDER BY number", [REPO]
        ).fetchall()
    places = {number: place for place, (number, _, _) in enumerate(rows)}
    asked = {
        number: query_words(model_text(*rows[places[number]][1:], variant="title_body"), rules.words.query_words)
        for number in sorted(set(queries))
    }
    names = sorted({word for words in asked.values() for word in words if "_" in word})
    terms, weights = _weights([(title, body) for _, title, body in rows], names, rules)
    numbers, found = np.array(list(places)), {}
    for number, words in asked.items():
        score = np.asarray(weights[:, [terms[word] for word in words if word in terms]].sum(axis=1)).ravel()
        score[places[number]] = 0
        order = np.lexsort((numbers, -score))[: rules.fusion.depth]
        found[number] = numbers[order[score[order] > 0]].tolist()
        if len(found) <= CHECKED:
            with store.read() as connection:
                hits = by_words(connection, words, rules, repo=REPO, but=f"{REPO}#{number}")
            scores_of = {hit.number: hit.score for hit in hits}
            if [hit.number for hit in hits[:WITHIN]] != found[number][:WITHIN] or not np.allclose(
                [score[places[hit]] for hit in scores_of], list(scores_of.values())
            ):
                raise SystemExit(f"#{number}: words are counted otherwise than by `embers similar`")
    return found


def _weights(
    texts: Sequence[tuple[str, str]], names: Sequence[str], rules: SearchRules
) -> tuple[dict[str, int], csc_matrix]:
    """What each word, and each of ``names``, adds to each text's score: its column, and float64 [texts, words and names]."""
    how = rules.words
    counter = CountVectorizer(token_pattern=r"[^\W_]+", dtype=np.float64)
    whole = [f"{title} ".lower() * how.weight_of_title + body[: how.body_chars].lower() for title, body in texts]
    words = counter.fit_transform(whole)
    length = words.sum(axis=1).A1
    named = csr_matrix([[text.count(name) for name in names] for text in whole], shape=(len(whole), len(names)))
    counted = hstack([words, named]).tocsr()
    holding = np.diff(counted.tocsc().indptr)
    rarity = np.log1p((len(texts) - holding + 0.5) / (holding + 0.5)) ** how.rarity
    size = np.repeat(how.saturation * (1 - how.length + how.length * length / length.mean()), np.diff(counted.indptr))
    counted.data = rarity[counted.indices] * counted.data * (how.saturation + 1) / (counted.data + size)
    columns = {name: len(counter.vocabulary_) + place for place, name in enumerate(names)}
    return counter.vocabulary_ | columns, counted.tocsc()


def places(
    store: Store, wanted: Mapping[str, tuple[str, list[Pair]]], words: Mapping[int, list[int]]
) -> dict[str, Any]:
    """Places of the partners, by kind of pair and way."""
    with store.read() as connection:
        kinds = dict(connection.execute("SELECT number, kind FROM items WHERE repo = ?", [REPO]).fetchall())
    rules, found = SearchRules.load(), {name: {} for name in wanted}
    for encoder, name in ENCODERS.items():
        embedder = load_embedder(name)
        with store.writer("bench/search.py") as writer:
            embed_items(store, writer, embedder, variant="title")
        for pairs_of, (kind, asked) in wanted.items():
            for query, partner in asked:
                hits = nearest.similar(store, REPO, query, rules.fusion.depth, model=embedder.model_id, variant="title")
                meant, shared = [hit.number for hit in hits], words[query]
                orders, constant = [[(REPO, n) for n in meant], [(REPO, n) for n in shared]], rules.fusion.constant
                near = fuse(orders, constant, nearness((REPO, query), rules.nearness))
                ways = {
                    "words": shared,
                    f"meaning, {encoder}": meant,
                    f"both, {encoder}": [n for _, n in fuse(orders, constant)],
                    NEAR: [n for _, n in near],
                }
                for way, numbers in ways.items():
                    if way not in {"words", NEAR} or encoder == "tuned":
                        own = place((n for n in numbers if kinds.get(n) == kind), partner)
                        found[pairs_of].setdefault(way, []).append(own)
    return found


def resampled(queries: Sequence[int]) -> list[NDArray[np.int64]]:
    """Rows of pairs, drawn by query with repeats; all pairs of a query stay together."""
    rows: dict[int, list[int]] = {}
    for row, query in enumerate(queries):
        rows.setdefault(query, []).append(row)
    groups, drawn = list(rows.values()), np.random.default_rng(SEED)
    return [
        np.concatenate([groups[place] for place in drawn.integers(len(groups), size=len(groups))])
        for _ in range(SAMPLES)
    ]


def scores(ranks: Sequence[int]) -> dict[str, NDArray[np.float64]]:
    """Reciprocal rank and whether the partner is near the top, of each pair."""
    found = np.array(ranks, float)
    return {
        "mrr": np.divide(1, found, out=np.zeros_like(found), where=found > 0),
        f"hit_at_{WITHIN}": ((found > 0) & (found <= WITHIN)).astype(float),
    }


def row(values: Mapping[str, NDArray[np.float64]], draws: Sequence[NDArray[np.int64]]) -> dict[str, object]:
    """Means with their intervals."""
    made: dict[str, object] = {}
    for name, value in values.items():
        ends = np.quantile([value[drawn].mean() for drawn in draws], [0.025, 0.975])
        made |= {name: round(float(value.mean()), 3), f"{name}_interval": [round(float(end), 3) for end in ends]}
    return made


def measure(store: Store) -> tuple[list[dict[str, object]], list[dict[str, object]]]:
    """A row per kind of pair and way, and what tuning changes."""
    wanted = pairs(store)
    words = shared_words(store, (query for _, asked in wanted.values() for query, _ in asked))
    found = places(store, wanted, words)
    rows, gains = [], []
    for name, (_, asked) in wanted.items():
        apart = [abs(query - partner) > FAR for query, partner in asked]
        for part, chosen in ((name, range(len(asked))), (f"{name}, far apart", np.flatnonzero(apart).tolist())):
            draws = resampled([asked[place][0] for place in chosen])
            scored = {way: scores([ranks[place] for place in chosen]) for way, ranks in found[name].items()}
            ways = list(scored) if part == name else ["both, tuned", NEAR]
            rows += [{"pairs": part, "way": way, "n": len(chosen)} | row(scored[way], draws) for way in ways]
            compared = [("meaning, tuned", "meaning, before"), ("both, tuned", "both, before")] if part == name else []
            for way, other in [*compared, (NEAR, "both, tuned")]:
                gained = {key: value - scored[other][key] for key, value in scored[way].items()}
                gains.append({"pairs": part, "way": way, "than": other} | row(gained, draws))
    return rows, gains


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--database", type=Path, required=True)
    options = parser.parse_args()
    store = Store(options.database)
    rows, gains = measure(store)
    with store.read() as connection:
        pools = dict(
            connection.execute("SELECT coalesce(kind, 'unknown'), count(title) FROM items GROUP BY 1").fetchall()
        )
        bodies = connection.execute("SELECT count(*) FROM items WHERE kind = 'issue' AND body <> ''").fetchall()[0][0]
    found = {
        "measured_at": datetime.now(UTC).strftime("%Y-%m-%d"),
        "models": {name: load_embedder(model).model_id for name, model in ENCODERS.items()},
        "items_with_title": pools,
        "issues_with_body": bodies,
        "rows": rows,
        "gains": gains,
    }
    RESULTS.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    for one in [*rows, *gains]:
        print(one)


if __name__ == "__main__":
    main()
