"""The items that a person is asked about, the most informative first."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any

from torch_embers.annotate import active
from torch_embers.annotate.table import moment_text
from torch_embers.classify.labels import gold
from torch_embers.classify.labels.label_model import estimate, log_odds
from torch_embers.classify.labels.weak import Labeller, WeakLabel

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    import duckdb

    from torch_embers.annotate.session import Key
    from torch_embers.store.store import Store
    from torch_embers.taxonomy import Taxonomy

POOL = 2_000
"""Items that are ranked exactly; the database picks them by a rougher measure."""
PER_CLASS = 40
"""Most doubtful items of each class that the pool holds in any case, so that frequent classes cannot fill it."""

_VOTES = """
    SELECT repo, number, scheme, value, function FROM {weak_labels}
    UNION ALL
    SELECT repo, number, scheme, value, '' FROM gold_labels
    WHERE NOT (annotator_kind = 'human' AND annotator = $annotator)"""

_PICK = """
WITH votes AS ({votes}),
majority AS (
    SELECT repo, number, scheme, arg_max(value, (n, value)) AS value, max(n) / sum(n) AS share
    FROM (SELECT repo, number, scheme, value, count(*) AS n FROM votes GROUP BY ALL) GROUP BY ALL
), evidence AS (
    SELECT repo, number, scheme, coalesce(p.likeliest, v.value) AS value,
           CASE WHEN p.probability IS NULL OR isnan(p.probability) THEN 1 - v.share
                ELSE 1 - p.probability + CASE WHEN v.value <> p.likeliest THEN p.probability ELSE 0 END END AS doubt
    FROM {predictions} p FULL JOIN majority v USING (repo, number, scheme)
    WHERE scheme IN (SELECT unnest($schemes))
), placed AS (
    SELECT repo, number, doubt,
           row_number() OVER (PARTITION BY scheme, value ORDER BY doubt DESC, repo, number) AS place
    FROM evidence
), rough AS (
    SELECT repo, number, max(doubt) AS doubt, min(place) <= $per_class AS early FROM placed GROUP BY ALL
)
SELECT i.repo, i.number, i.title, coalesce(i.updated_at, i.created_at)
FROM items i LEFT JOIN rough r USING (repo, number)
WHERE i.deleted_at IS NULL AND i.transferred_to IS NULL AND trim(coalesce(i.title, '')) <> ''
  AND (i.kind IS DISTINCT FROM 'pull' OR (i.repo, i.number) IN (SELECT (repo, number) FROM gold_labels))
  AND i.repo || '#' || i.number NOT IN (SELECT unnest($done::VARCHAR[]))
ORDER BY i.repo || '#' || i.number IN (SELECT unnest($begun::VARCHAR[])) DESC, coalesce(r.early, false) DESC,
         r.doubt DESC NULLS LAST, coalesce(i.updated_at, i.created_at) DESC NULLS LAST, i.repo, i.number
LIMIT {pool}"""

_EVIDENCE = """
WITH pool AS (SELECT unnest($repos::VARCHAR[]) AS repo, unnest($numbers::INTEGER[]) AS number), votes AS ({votes})
SELECT repo, number, scheme, likeliest AS value, probability, NULL AS function
FROM {predictions} SEMI JOIN pool USING (repo, number)
UNION ALL
SELECT repo, number, scheme, value, NULL, function FROM votes SEMI JOIN pool USING (repo, number)
ORDER BY ALL"""

_MEASURED = """
SELECT w.repo, w.number, w.scheme, w.value, w.function, w.kind, '' FROM {weak_labels} w
WHERE (w.repo, w.number) IN (SELECT (repo, number) FROM gold_labels)"""

_KNOWN = "SELECT scheme, value, count(DISTINCT (repo, number)) FROM gold_labels GROUP BY ALL"

_EMPTY = {
    "weak_labels": "(SELECT '' AS repo, 0 AS number, '' AS scheme, '' AS value, '' AS function, '' AS kind "
    "WHERE false)",
    "predictions": "(SELECT '' AS repo, 0 AS number, '' AS scheme, '' AS likeliest, 0.5::DOUBLE AS probability, "
    "false AS abstained WHERE false)",
}
"""What stands for a table that a database of an earlier release lacks."""


def tables(connection: duckdb.DuckDBPyConnection) -> dict[str, str]:
    """The tables of weak labels and predictions, or what stands for them."""
    have = {name for (name,) in connection.execute("SELECT table_name FROM duckdb_tables()").fetchall()}
    return {name: name if name in have else empty for name, empty in _EMPTY.items()}


def pick(
    store: Store,
    taxonomy: Taxonomy,
    schemes: Sequence[str],
    annotator: str,
    *,
    done: Iterable[Key],
    begun: Sequence[Key],
) -> list[Key]:
    """The items to ask about: those begun, as far as they exist, then the most informative; none that is done."""
    with store.read() as connection:
        names = tables(connection)
        names["votes"] = _VOTES.format(**names)
        asked = {"annotator": annotator, "schemes": list(schemes), "per_class": PER_CLASS}
        lists = {"done": [f"{repo}#{number}" for repo, number in done], "begun": [f"{r}#{n}" for r, n in begun]}
        pooled = connection.execute(_PICK.format(**names, pool=POOL + len(begun)), asked | lists).fetchall()
        place = {"repos": [row[0] for row in pooled], "numbers": [row[1] for row in pooled], "annotator": annotator}
        said = connection.execute(_EVIDENCE.format(**names), place).fetchall()
        known = connection.execute(_KNOWN).fetchall()
        measured = connection.execute(_MEASURED.format(**names)).fetchall()
    evidence = _evidence(said, _worth(store, measured), taxonomy, schemes)
    groups = _groups([row[2] for row in pooled])
    candidates = [
        active.Candidate(repo, number, evidence.get((repo, number), ()), group, moment_text(changed) or "")
        for (repo, number, _, changed), group in zip(pooled, groups, strict=True)
    ]
    ranked = active.rank(candidates, {(scheme, value): count for scheme, value, count in known})
    keys = [(one.repo, one.number) for one in ranked]
    here = set(keys)
    return list(dict.fromkeys([*(item for item in begun if item in here), *keys]))


def _evidence(
    said: Iterable[tuple[Any, ...]], worth: Mapping[str, float], taxonomy: Taxonomy, schemes: Sequence[str]
) -> dict[Key, tuple[active.SchemeEvidence, ...]]:
    """What the model and the votes say of each item, a vote counting as much as gold shows it to be worth."""
    model: dict[tuple[Key, str], dict[str, float]] = defaultdict(dict)
    votes: dict[tuple[Key, str], dict[str, float]] = defaultdict(lambda: defaultdict(float))
    for repo, number, scheme, value, probability, function in said:
        if function is None:
            model[(repo, number), scheme][value] = probability
        else:
            votes[(repo, number), scheme][value] += worth.get(function, 0.0)
    evidence_of: dict[Key, list[active.SchemeEvidence]] = defaultdict(list)
    for item, scheme in sorted({*model, *votes}):
        if scheme in schemes:
            classes = len(taxonomy.scheme(scheme).names())
            key = (item, scheme)
            evidence_of[item].append(active.SchemeEvidence(scheme, classes, model.get(key, {}), votes.get(key, {})))
    return {item: tuple(evidence) for item, evidence in evidence_of.items()}


def _worth(store: Store, measured: Iterable[tuple[Any, ...]]) -> dict[str, float]:
    """Log-odds that a vote adds, by function; by the empty name what another annotator's label adds."""
    labeller = Labeller.load()
    votes: dict[Key, list[WeakLabel]] = defaultdict(list)
    for repo, number, *vote in measured:
        votes[repo, number].append(WeakLabel(*vote))
    answers = {(item.repo, item.number): item.answers for item in gold.load(store)}
    weights = {name: accuracy.weight for name, accuracy in estimate(votes, answers, labeller).items()}
    return weights | {"": log_odds(labeller.assumed["annotator"])}


def _groups(titles: Sequence[str]) -> list[str]:
    """A name per group of near-duplicate titles."""
    from torch_embers.statistics.splits import near_duplicates

    return [str(group) for group in near_duplicates(titles).tolist()] if titles else []
