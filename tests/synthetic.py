"""A large made-up embers database: the size of PyTorch's tracker, shaped like it, the same for the same seed.

Rows are made inside DuckDB from ``range()``, so that 200,000 items take seconds. Every choice is drawn from a hash of
the row's number, the name of the choice and the seed: no row depends on another's order. Shares and dates are round
numbers near PyTorch's own; nothing here says anything about PyTorch.
"""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

from torch_embers import resources
from torch_embers.store.store import Store
from torch_embers.study.fact_tables import release_days

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    import duckdb

REPO = "pytorch/pytorch"
ANNOTATED = 4_000
PARAGRAPHS = 2_000
CASES = 300
WEIGHTS = {"memory": 9, "logical": 5, "data_type": 4, "indexing": 4, "not_a_bug": 8, "device_management": 4}
"""How often a class is drawn, against once for all others."""
OFTEN = {"triaged": 30, "open source": 20, "Merged": 20, "Stale": 10, "feature": 5, "high priority": 4}
MODULES = {
    "cuda": 6,
    "inductor": 6,
    "nn": 5,
    "dynamo": 5,
    "mps": 4,
    "autograd": 4,
    "docs": 3,
    "sparse": 2,
    "dataloader": 2,
}
KINDS = {
    "correctness (silent)": 2,
    "crash": 2,
    "regression": 2,
    "NaNs and Infs": 1,
    "NestedTensor": 1,
    "memory format": 1,
}
LABELS = OFTEN | {f"module: {name}": k for name, k in (MODULES | KINDS).items()} | {"oncall: distributed": 6}
TITLES = (
    "[inductor] Refactor the lowering of {}",
    "{} returns wrong result for non-contiguous input",
    "Segmentation fault in {} with empty tensor",
    "Add support for {} on MPS",
    "{}: RuntimeError for half precision",
    "[docs] Explain the arguments of {}",
    "{} gives NaN where CPU does not",
    "Make {} faster for small inputs",
    "Memory leak when {} is called in a loop",
    "Update the pin of {}",
)
NAMES = ("torch.cat", "conv2d", "DataLoader", "torch.sort", "nested_tensor", "index_put_", "addcmul_", "to_sparse_csr")
HEADING = "### \U0001f41b Describe the bug\n\n"
WORDS = [
    *("tensor", "stride", "kernel", "shape", "device", "memory", "copy", "batch", "layout"),
    *("result", "wrong", "value", "index", "thread", "model", "train", "loss"),
]

_MACROS = (
    "CREATE OR REPLACE TEMP MACRO draw(n, what) AS (hash(n, what, getvariable('seed')) % 1000003)::DOUBLE / 1000003",
    "CREATE OR REPLACE TEMP MACRO pick(pool, n, what) AS pool[1 + floor(draw(n, what) * len(pool))::INTEGER]",
    # trackers grow: the fraction f of all numbers is reached after the fraction f^0.6 of the ten years
    "CREATE OR REPLACE TEMP MACRO opened(n) AS "
    "TIMESTAMP '2016-09-01' + to_seconds((315e6 * ((n - draw(n, 'day')) / getvariable('items')) ** 0.6)::BIGINT)",
    "CREATE OR REPLACE TEMP MACRO is_pull(n) AS draw(n, 'kind') < 0.6",
    # the waiting time to the closing is exponential: a week for pull requests, half a year for issues; some never close
    "CREATE OR REPLACE TEMP MACRO closes(n) AS opened(n) + to_seconds((1 - ln(1 - draw(n, 'wait')) "
    "* CASE WHEN is_pull(n) THEN 6e5 WHEN draw(n, 'never') < 0.25 THEN 1e10 ELSE 1.6e7 END)::BIGINT)",
    "CREATE OR REPLACE TEMP MACRO closed_on(n) AS CASE WHEN closes(n) < TIMESTAMP '2026-09-01' THEN closes(n) END",
)

_ITEMS = """
INSERT INTO items (repo, number, kind, title, body, author, author_association, state, state_reason, is_draft, merged_at,
                   created_at, updated_at, closed_at, comment_count, reaction_count, labels, history, content_hash, source,
                   fetched_at)
WITH drawn AS (
    SELECT n::INTEGER AS n, CASE WHEN is_pull(n) THEN 'pull' ELSE 'issue' END AS kind, opened(n) AS opened, closed_on(n) AS closed,
           concat(replace(pick(getvariable('titles'), n, 'title'), '{}', pick(getvariable('names'), n, 'name')), ' ',
                  left(pick(getvariable('texts'), n, 'rest'), 8 + n % 40), ' ', n) AS title,
           concat_ws(E'\\n\\n', CASE WHEN NOT is_pull(n) AND draw(n, 'form') < 0.6 THEN getvariable('heading') END,
                     pick(getvariable('texts'), n, 'a'), pick(getvariable('texts'), n, 'b'),
                     CASE WHEN draw(n, 'long') < 0.5 THEN pick(getvariable('texts'), n, 'c') END,
                     CASE WHEN draw(n, 'died') < 0.03 THEN 'Segmentation fault (core dumped)' END) AS body
    FROM range(1, getvariable('items') + 1) t(n)
)
SELECT $repo, n, kind, title, body, 'user' || n % 999, pick(['NONE', 'CONTRIBUTOR', 'MEMBER', 'COLLABORATOR'], n, 'who'),
       CASE WHEN closed IS NULL THEN 'open' ELSE 'closed' END,
       CASE WHEN closed IS NULL THEN NULL WHEN kind = 'pull' THEN if(draw(n, 'merged') < 0.7, 'merged', NULL)
            ELSE pick(['completed', 'completed', 'completed', 'not_planned', 'duplicate'], n, 'why') END,
       kind = 'pull' AND draw(n, 'draft') < 0.05,
       CASE WHEN kind = 'pull' AND draw(n, 'merged') < 0.7 THEN closed END,
       opened, coalesce(closed, opened + INTERVAL 30 DAY), closed, floor(10 * draw(n, 'talk'))::INTEGER, n % 5,
       list_sort(list_distinct([pick(getvariable('labels'), n, 'one'), pick(getvariable('labels'), n, 'two'),
                                if(draw(n, 'third') < 0.4, pick(getvariable('labels'), n, 'three'), 'triaged')])),
       draw(n, 'history') < 0.8, md5(title || n), 'jsonl', TIMESTAMP '2026-10-01'
FROM drawn
"""
_COMMENTS = """
INSERT INTO comments (repo, number, comment_id, author, author_association, created_at, updated_at, body, source)
SELECT $repo, item, 'c' || n, 'user' || n % 777, 'NONE', opened(item) + to_seconds(n % 100000), opened(item) + to_seconds(n % 100000),
       left(pick(getvariable('texts'), n, 'comment'), 40 + n % 200), 'jsonl'
FROM (SELECT n, (1 + floor(draw(n, 'item') * getvariable('items')))::INTEGER AS item FROM range(getvariable('comments')) t(n))
"""
_EVENTS = """
INSERT INTO events (repo, number, event_id, type, created_at, actor, label, state_reason, source)
SELECT repo, number, (number * 10)::VARCHAR, 'labeled', least(created_at + INTERVAL 1 DAY, TIMESTAMP '2026-09-01'), 'triager', labels[1], NULL, 'jsonl'
FROM items WHERE history
UNION ALL
SELECT repo, number, (number * 10 + 1)::VARCHAR, 'labeled', created_at + to_seconds((1e8 * draw(number, 'late'))::BIGINT), 'triager',
       labels[2], NULL, 'jsonl'
FROM items WHERE history AND labels[2] IS NOT NULL AND created_at + to_seconds((1e8 * draw(number, 'late'))::BIGINT) < TIMESTAMP '2026-09-01'
UNION ALL
SELECT repo, number, (number * 10 + 2)::VARCHAR, 'closed', closed_at, 'maintainer', NULL, state_reason, 'jsonl'
FROM items WHERE history AND closed_at IS NOT NULL
UNION ALL
SELECT repo, number, (number * 10 + 3)::VARCHAR, 'reopened', closed_at - INTERVAL 1 SECOND, 'author', NULL, NULL, 'jsonl'
FROM items WHERE history AND closed_at IS NOT NULL AND draw(number, 'again') < 0.03
"""
_COMPONENTS = """
INSERT INTO components (repo, number, component, subcomponent, strict, evidence, detail)
SELECT $repo, n, part[1], part[2], part[3] = 'true', pick(['text', 'text', 'label', 'path'], n, 'evidence' || turn), 'made up'
FROM (SELECT n::INTEGER AS n, turn, pick(getvariable('parts'), n, 'part' || turn) AS part
      FROM range(1, getvariable('items') + 1) t(n), range(2) u(turn) WHERE draw(n, 'has part' || turn) < 0.5 - 0.25 * turn)
WHERE turn = 0 OR part <> pick(getvariable('parts'), n, 'part0')
"""
_LINKS = """
INSERT INTO links (repo, number, sha, relation, target_repo, target_number, target_sha, evidence, found_in, rule, stated_at)
WITH pairs AS (  -- most fixes come soon after the report, so with a number a little higher
    SELECT number, greatest(1, number - 1 - (3000 * draw(number, 'back') ** 3)::INTEGER) AS target, created_at,
           draw(number, 'relation') AS share, kind
    FROM items
)
SELECT $repo, number, NULL, 'fixes', $repo, target, NULL, 'text', 'body', 'fixes', created_at FROM pairs WHERE kind = 'pull' AND share < 0.3
UNION ALL
SELECT $repo, target, NULL, 'closed_by', $repo, number, NULL, 'event', 'event', NULL, created_at FROM pairs WHERE kind = 'pull' AND share < 0.2
UNION ALL
SELECT $repo, number, NULL, 'mentions', $repo, target, NULL, 'text', 'body', 'bare', created_at FROM pairs WHERE share > 0.4
UNION ALL
SELECT $repo, NULL, md5('commit' || number), 'fixes', $repo, target, NULL, 'commit', 'message', 'fixes', created_at
FROM pairs WHERE kind = 'pull' AND share BETWEEN 0.05 AND 0.1
"""
_COMMITS = """
INSERT INTO commits (repo, sha, author, authored_at, committed_at, subject, message, pull_number, source)
SELECT repo, md5('commit' || number), author, created_at, merged_at, title || ' (#' || number || ')', title, number, 'git'
FROM items WHERE merged_at IS NOT NULL
"""
_PULL_FILES = """
INSERT INTO pull_files (repo, number, path, change, additions, deletions, source)
SELECT $repo, number, pick(getvariable('paths'), number, 'path' || turn) || '/file' || number % 50 || '_' || turn || '.py', 'modified', number % 90,
       number % 40, 'jsonl'
FROM items, range(2) t(turn) WHERE kind = 'pull'
"""
_CLASSES = """
CREATE OR REPLACE TEMP TABLE drawn_classes AS
WITH typed AS (
    SELECT number, pick(getvariable('bug_types'), number, 'bug') AS bug_type,
           pick(getvariable('consequences'), number, 'consequence') AS consequence,
           pick(getvariable('memory_types'), number, 'memory') AS memory_type
    FROM items
)
SELECT number, scheme, value
FROM (
    SELECT number, 'bug_type' AS scheme, bug_type AS value FROM typed
    UNION ALL SELECT number, 'consequence', consequence FROM typed
    UNION ALL SELECT number, 'backend', pick(getvariable('backends'), number, 'backend') FROM typed
    UNION ALL SELECT number, 'memory_type', memory_type FROM typed WHERE bug_type = 'memory'
    UNION ALL SELECT number, 'memory_subtype', pick(getvariable('subtypes')[memory_type], number, 'subtype') FROM typed
    WHERE bug_type = 'memory' AND len(getvariable('subtypes')[memory_type]) > 0
)
"""
_PREDICTIONS = """
INSERT INTO predictions (repo, number, scheme, value, probability, confidence, provenance, model, text_hash, votes_hash, explanation, predicted_at)
SELECT $repo, number, scheme, value, 0.3 + 0.7 * draw(number, scheme || 'p'),
       if(draw(number, scheme || 'sure') < 0.6, 'high', 'low'), if(number % 50 = 0, 'out_of_fold', 'model'), 'made-up-1',
       md5('t' || number), md5('v' || number), NULL, TIMESTAMP '2026-10-02'
FROM drawn_classes
"""
_GOLD = """
CREATE OR REPLACE TEMP TABLE annotated AS
SELECT number FROM items WHERE kind = 'issue' ORDER BY draw(number, 'annotated'), number LIMIT $annotated;

INSERT INTO gold_labels (repo, number, scheme, value, annotator_kind, annotator, evidence, labelled_at, source)
SELECT $repo, number, scheme, value, 'automated', 'made-up-guide-1', 'made up', TIMESTAMP '2026-10-01', 'catalog'
FROM drawn_classes SEMI JOIN annotated USING (number) WHERE scheme <> 'backend'
UNION ALL  -- a second annotator on a tenth of them, who says the same in nine of ten cases
SELECT $repo, number, scheme, if(draw(number, 'agree') < 0.9, value, 'other'), 'automated', 'made-up-guide-2', 'made up',
       TIMESTAMP '2026-10-01', 'catalog'
FROM drawn_classes SEMI JOIN annotated USING (number) WHERE scheme IN ('bug_type', 'consequence') AND draw(number, 'second') < 0.1;

INSERT INTO weak_labels (repo, number, scheme, value, function, kind, evidence, labelled_at)
SELECT $repo, number, scheme, value, 'made_up_' || scheme, if(draw(number, 'vote kind') < 0.5, 'label', 'keyword'), 'made up',
       TIMESTAMP '2026-10-01'
FROM drawn_classes WHERE scheme IN ('bug_type', 'backend') AND draw(number, scheme || 'vote') < 0.5;

INSERT INTO catalog (repo, number, summary, backends, affected_versions, fixed_versions, facts_as_of, source)
SELECT $repo, number, 'Made up.', [pick(getvariable('backends'), number, 'backend')], ['2.0.1'], [], DATE '2026-10-01', 'catalog'
FROM annotated WHERE draw(number, 'in catalog') < 0.15;
"""
_RUNS = """
CREATE OR REPLACE TEMP TABLE shown AS
SELECT number, row_number() OVER (ORDER BY number) AS place FROM (FROM annotated ORDER BY number LIMIT $cases);

INSERT INTO cases (case_hash, name, origin, current, code, summary, bug_type, memory_type, memory_subtype, consequence, requires,
                   known_bad, fixed_in, signature, oracle, timeout, saved_at)
SELECT md5('case' || number), 'pt' || number || '_made_up', 'curated', true, 'import torch', 'Made up.',
       max(value) FILTER (scheme = 'bug_type'), max(value) FILTER (scheme = 'memory_type'),
       max(value) FILTER (scheme = 'memory_subtype'), max(value) FILTER (scheme = 'consequence'), ['cpu'], [], NULL, ['mismatch'], 'self',
       60, TIMESTAMP '2026-10-01'
FROM shown JOIN drawn_classes USING (number) GROUP BY number;

INSERT INTO case_items SELECT md5('case' || number), $repo, number, 'same' FROM shown;

INSERT INTO environments VALUES ('made-up', 'cpu', NULL, NULL, 'Linux', 'made up', 'AVX2', 1, TIMESTAMP '2026-10-01');

INSERT INTO builds
SELECT v || '+cpu@0123456789/py3.11/linux-x86_64', v, v || '+cpu', md5(v), 'release', 'linux-x86_64', '3.11.7', TIMESTAMP '2026-10-01'
FROM (SELECT unnest(getvariable('versions')) AS v);

INSERT INTO verdicts
WITH story AS (  -- each bug is there up to a release; a third are there to the end
    SELECT number, s.place AS place, b.build, list_position(getvariable('versions'), b.name) AS step,
           if(draw(number, 'lasts') < 0.33, 99, 1 + floor(draw(number, 'until') * len(getvariable('versions')))::INTEGER) AS until
    FROM shown s, builds b
)
SELECT md5('case' || number), build, 'made-up', 'reviewed', 0,
       CASE WHEN draw(number, 'needs') < 0.15 THEN 'untestable' WHEN step < until THEN 'occurs' WHEN until = 1 THEN 'not_seen' ELSE 'absent' END,
       false, if(step < until, 3, 0), if(step < until, 3, 11), NULL, if(until = 1, 'injected', 'build'), NULL, 3, 3, 'made up', 'mismatch',
       TIMESTAMP '2026-10-01' + to_seconds(place * 20 + step), 'own', NULL
FROM story;

INSERT INTO status_history
SELECT $repo, number, 'cpu', '2.15.0', pick(['open_and_occurs', 'fixed', 'open_but_absent', 'closed_but_occurs'], number, 'status'), NULL,
       'made up', TIMESTAMP '2026-10-02', 'own', NULL
FROM shown;
"""
TABLES = (_ITEMS, _COMMENTS, _EVENTS, _COMPONENTS, _LINKS, _COMMITS, _PULL_FILES, _CLASSES, _PREDICTIONS, _GOLD, _RUNS)


def make(path: Path, items: int, comments: int, seed: int = 1) -> Store:
    """Write a new database of so many items and comments, with everything that the measured commands read.

    Args:
        path: where no database is yet.
        items: issues and pull requests together, at least 1.
        comments: comments on them.
        seed: another seed gives other rows of the same shape.

    Raises:
        FileExistsError: there is a file already; rows added to it would stand twice.
    """
    if path.exists():
        raise FileExistsError(path)
    store = Store(path)
    with store.writer("synthetic", create=True) as writer, writer.transaction(bulk=True) as connection:
        for name, value in _variables(items, comments, seed).items():
            connection.execute(f"SET VARIABLE {name} = {_literal(value)}")
        for text in _MACROS:
            connection.execute(text)
        given = {"repo": REPO, "annotated": ANNOTATED, "cases": CASES}
        for text in TABLES:
            _execute(connection, text, given)
    return store


def _execute(connection: duckdb.DuckDBPyConnection, text: str, given: Mapping[str, Any]) -> None:
    for statement in connection.extract_statements(text):
        used = {name: value for name, value in given.items() if f"${name}" in statement.query}
        connection.execute(statement, used or None)


def _variables(items: int, comments: int, seed: int) -> dict[str, Any]:
    schemes = {scheme["name"]: scheme["class"] for scheme in resources.load_toml("taxonomy.toml")["scheme"]}
    names = {scheme: list(dict.fromkeys(entry["name"] for entry in found)) for scheme, found in schemes.items()}
    parts = resources.load_toml("components.toml")["part"]
    paths = [path for part in parts for path in (*part.get("strict_paths", ()), *part.get("paths", ()))]
    return {
        "items": items,
        "comments": comments,
        "seed": seed,
        "titles": TITLES,
        "names": NAMES,
        "heading": HEADING,
        "texts": _texts(random.Random(seed)),
        "labels": _weighted(LABELS, LABELS),
        "parts": [(part["component"], part["name"], str("strict_paths" in part).lower()) for part in parts],
        "paths": sorted(path for path in paths if not path.endswith("*")),
        "bug_types": _weighted(names["bug_type"], WEIGHTS),
        "consequences": names["consequence"],
        "backends": names["backend"],
        "memory_types": names["memory_type"],
        "subtypes": {
            kind: [entry["name"] for entry in schemes["memory_subtype"] if entry["parent_class"] == kind]
            for kind in names["memory_type"]
        },
        "versions": [version for version, day in release_days().items() if day.year >= 2023],
    }


def _weighted(names: Iterable[str], weights: Mapping[str, int]) -> list[str]:
    return [name for name in names for _ in range(weights.get(name, 1))]


def _texts(rng: random.Random) -> list[str]:
    """Paragraphs of 60 to 120 words, most of them made up, so that they compress like prose and not like zeros."""
    letters = "abcdefghijklmnopqrstuvwxyz"
    words = [*WORDS, *("".join(rng.choices(letters, k=rng.randint(2, 10))) for _ in range(4_000))]
    return [" ".join(rng.choices(words, k=rng.randint(60, 120))) for _ in range(PARAGRAPHS)]


def _literal(value: Any) -> str:
    """A SQL literal of a number, a text, a list of equal things, or a map from texts."""
    if isinstance(value, dict):
        keys: Sequence[str] = list(value)
        return f"MAP({_literal(keys)}, {_literal([value[key] for key in keys])})"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(_literal(entry) for entry in value) + "]"
    return str(value) if isinstance(value, int) else "'" + str(value).replace("'", "''") + "'"
