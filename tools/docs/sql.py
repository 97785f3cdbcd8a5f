"""docs/howto/sql.md: queries, executed on a database of the catalog alone."""

from __future__ import annotations

import duckdb

from .examples import catalog_database
from .markdown import cell, fenced, table

QUERIES = {
    "candidates": """
SELECT number, state, title
FROM candidates
WHERE list_contains(consequences, 'silent') AND state = 'open'
ORDER BY number DESC
LIMIT 5
""",
    "verdicts": """
SELECT number, disposition, k, n, cases.name
FROM latest_verdicts
    JOIN builds USING (build)
    JOIN cases USING (case_hash)
    JOIN case_items USING (case_hash)
    JOIN item_dispositions USING (repo, number)
WHERE verdict = 'occurs' AND version = '2.15.0' AND relation = 'same'
ORDER BY number DESC
LIMIT 5
""",
    "components": """
SELECT subcomponent, count(DISTINCT number) AS open_candidates
FROM components SEMI JOIN candidates USING (repo, number) JOIN items USING (repo, number)
WHERE state = 'open'
GROUP BY subcomponent
ORDER BY open_candidates DESC, subcomponent
LIMIT 5
""",
    "fixes": """
SELECT target_number AS issue, list(DISTINCT number ORDER BY number) AS fixed_by
FROM links
WHERE relation = 'fixes'
GROUP BY target_repo, target_number
HAVING count(DISTINCT number) > 1
ORDER BY issue DESC
LIMIT 5
""",
    "labels": """
SELECT value AS bug_type, annotator_kind, count(DISTINCT number) AS items
FROM gold_labels
WHERE scheme = 'bug_type'
GROUP BY ALL
ORDER BY items DESC, bug_type, annotator_kind
LIMIT 5
""",
}


def answered(name: str) -> str:
    """A query and its answer."""
    query = QUERIES[name].strip()
    with duckdb.connect(str(catalog_database()), read_only=True) as connection:
        result = connection.execute(query)
        columns = [column[0] for column in result.description]
        rows = result.fetchall()
    return f"{fenced(query, 'sql')}\n\n{table(columns, [[cell(value) for value in row] for row in rows])}"
