"""Measure what a mine by GraphQL costs in points, with the fields that came later and without them: `python bench/points.py`.

The server is tests/servers/graphql.mjs, which counts by GitHub's published formula, over the real texts of the shared data
and over generated items with many long reviews. tests/fewer_fields.py says which fields are left out. Counts, not times:
the load of the machine does not matter. Writes bench/points.json; run.py puts it into RESULTS.md.
"""

from __future__ import annotations

import json
import sys
import tempfile
from contextlib import nullcontext
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
OUT = ROOT / "bench" / "points.json"
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "bench")]
GENERATED = 300
"""Generated items."""


def mined(server: Any, database: Path, *, fewer: bool) -> dict[str, int]:
    """Points, requests and rows of one mine."""
    import duckdb

    from fewer_fields import PAGES, without_later_fields
    from support import client
    from torch_embers.mine import runner
    from torch_embers.mine.github.graphql import GraphqlSource
    from torch_embers.mine.scope import Scope
    from torch_embers.store.store import Store

    server.reset_counters()
    made = client(server.url, "token-one")
    source = GraphqlSource(made, Scope("pytorch/pytorch"), **(PAGES if fewer else {}))
    with without_later_fields() if fewer else nullcontext():
        runner.mine(Store(database), source, link=False)
    counters = server.counters()
    tables = ("items", "comments", "events", "reviews", "review_comments", "pull_commits")
    with duckdb.connect(str(database), read_only=True) as connection:
        rows = {table: connection.execute(f"SELECT count(*) FROM {table}").fetchall()[0][0] for table in tables}
    return {"points": counters["cost"], "requests": counters["graphql"], **rows}


def main() -> None:
    from servers.stand_ins import GraphQLStandIn, dataset_from_shared, node_ready, shared_reason, synthetic_dataset

    if reason := node_ready() or shared_reason():
        raise SystemExit(reason)
    found: dict[str, Any] = {}
    for name, dataset in (("real texts", dataset_from_shared()), ("generated", synthetic_dataset(GENERATED))):
        with tempfile.TemporaryDirectory(prefix="embers-bench-") as folder, GraphQLStandIn(dataset) as server:
            found[name] = {
                way: mined(server, Path(folder) / f"{way}.duckdb", fewer=way == "without")
                for way in ("without", "with")
            }
    results = {"date": f"{datetime.now(UTC):%Y-%m-%d}", "data": found}
    OUT.write_text(json.dumps(results, indent=2) + "\n", encoding="utf-8")
    print(json.dumps(results, indent=2))


if __name__ == "__main__":
    main()
