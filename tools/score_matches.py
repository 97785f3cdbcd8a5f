"""How often the rules of data/match.toml say of a run what a reader of report and run said.

    python tools/score_matches.py DATABASE

The truth are the judgements of the question ``match``, of data/judgements.jsonl and the file beside the database, which
must hold runs of their scripts (`embers run --reports NUMBERS`). Score it once per change of the rules: rules
that are chosen on it are no longer measured by it.
"""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path

import duckdb

from torch_embers import judgements
from torch_embers.timeline import update_timelines

MATCHES = ("as_reported", "as_expected", "other")


def main(database: Path) -> None:
    """Print a table of both, precision and recall, and each segment on which they differ."""
    with duckdb.connect(database, read_only=True) as connection:
        said = {
            (row["script"], version): row["match"]
            for row in update_timelines.derived(connection, None)
            for version in row["versions"]
        }
    table: Counter[tuple[str | None, str]] = Counter()
    differ = []
    for truth in judgements.script_readings(database):
        if truth.match not in (*MATCHES, "unclear") or (truth.script, truth.version) not in said:
            continue
        match = said[truth.script, truth.version]
        table[match, truth.match] += 1
        if match != truth.match:
            differ.append(
                f"#{truth.number} on {truth.version}: the rules say {match}, {truth.reader} says {truth.match}"
            )
    lines = [f"{sum(table.values())} segments that were read"]
    for match in MATCHES[:2]:
        right = table[match, match]
        claimed, wanted = (sum(count for key, count in table.items() if key[place] == match) for place in (0, 1))
        lines.append(
            f"{match}: {right} of {claimed} that the rules say are right, {right} of {wanted} that are so are said"
        )
    sys.stdout.write("\n".join([*lines, *differ]) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
