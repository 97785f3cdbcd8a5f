"""How well links of commit messages are found: `python bench/history.py DATABASE` writes bench/history.json.

bench/history_gold.jsonl holds 200 commits (halves `first` and `second`) of pytorch/pytorch, drawn with a seed from the 50,043 of its main line until January
2023: 120 with a reference beside that to their own pull request, 40 whose subject speaks of a revert, back-out or reland, 40
any. One automated annotator read the messages, of long ones the lines with references, and looked up the commit that a revert names. `fixes` are the issues that
the message says it repairs, also in part; `takes_out` are the commits (first ten digits) that it reverts or backs out. No
message is kept. The rules were mended on what the first half shows; docs/history.md says how far the second half is a test.
`fresh` are 100 further commits that another automated annotator read after that, scored once.
`plain` and `referring` are 200 more, which a third automated annotator read before it ran the rules on them (seeds 20261122 and 20261123, none
of the earlier commits). `plain`: 50 any, and 50 with a number, an issue's address or a hash after the title's own number.
`referring`: 100 with a reference to something else than their own pull request. Here a repair that the message calls partial is no fix;
`undecided` are targets that count neither as right nor as wrong. history.json keeps what was found before the rules
were mended on them in `held_out`.

The database must hold the commits (`embers mine --source jsonl` of the file, or `--source git` of a clone).
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import duckdb

from torch_embers.statistics.intervals import wilson

REPO = "pytorch/pytorch"
GOLD = Path(__file__).with_name("history_gold.jsonl")
RESULT = Path(__file__).with_name("history.json")
_HALVES = ("first", "second", "fresh", "plain", "referring")

_FIXES = """
SELECT DISTINCT sha, target_repo || '#' || target_number FROM links
WHERE evidence = 'commit' AND relation = 'fixes' AND sha IS NOT NULL AND target_number IS NOT NULL
"""
_TAKES_OUT = """
WITH stated AS (
    SELECT sha, target_number, target_sha, max(committed_at) AS at
    FROM links JOIN commits USING (repo, sha)
    WHERE evidence = 'commit' AND relation IN ('reverts', 'backs_out') AND target_repo = ? GROUP BY ALL
), by_hash AS (
    SELECT s.sha, c.sha AS target FROM stated s JOIN commits c ON s.target_sha IS NOT NULL AND starts_with(c.sha, s.target_sha)
), by_number AS (
    -- a pull request that landed more than once: its newest landing before the revert
    SELECT s.sha, arg_max(c.sha, c.committed_at) AS target
    FROM stated s JOIN commits c ON c.pull_number = s.target_number AND c.committed_at < s.at
    WHERE s.target_sha IS NULL GROUP BY s.sha, s.target_number
)
SELECT DISTINCT sha, left(target, 10) FROM (FROM by_hash UNION ALL FROM by_number)
"""


def found(
    connection: duckdb.DuckDBPyConnection, query: str, parameters: list[str], shas: set[str]
) -> dict[str, set[str]]:
    """What the links say of each commit of the sample."""
    answer: dict[str, set[str]] = {sha: set() for sha in shas}
    for sha, target in connection.execute(query, parameters).fetchall():
        if sha in answer:
            answer[sha].add(target)
    return answer


def score(truth: dict[str, set[str]], said: dict[str, set[str]]) -> dict[str, Any]:
    """Precision and recall over all statements, with Wilson intervals of 95 %."""
    right = sum(len(truth[sha] & said[sha]) for sha in truth)
    answered, wanted = sum(map(len, said.values())), sum(map(len, truth.values()))
    made: dict[str, Any] = {"commits": len(truth), "right": right, "said": answered, "true": wanted}
    for name, total in (("precision", answered), ("recall", wanted)):
        low, high = wilson(right, total)
        made[name] = {"value": round(right / total, 3), "low": round(low, 3), "high": round(high, 3)}
    return made


def main() -> None:
    """Score both halves and print what is wrong."""
    gold = [json.loads(line) for line in GOLD.read_text(encoding="utf-8").splitlines()]
    halves = {name: {row["sha"] for row in gold if row["half"] == name} for name in _HALVES}
    made: dict[str, Any] = {}
    with duckdb.connect(sys.argv[1], read_only=True) as connection:
        for question, query, parameters in (("fixes", _FIXES, []), ("takes_out", _TAKES_OUT, [REPO])):
            said = found(connection, query, parameters, {row["sha"] for row in gold})
            truth = {row["sha"]: set(row[question]) for row in gold}
            said = {row["sha"]: said[row["sha"]] - set(row.get("undecided", ())) for row in gold}
            for half in sys.argv[2:] or halves:
                of_half = {sha: truth[sha] for sha in halves[half]}
                made.setdefault(question, {})[half] = score(of_half, {sha: said[sha] for sha in of_half})
                for sha in sorted(of_half):
                    if said[sha] != truth[sha]:
                        print(question, half, sha[:10], "true", sorted(truth[sha]), "said", sorted(said[sha]))
    print(json.dumps(made, indent=1))
    if not sys.argv[2:]:
        made["held_out"] = json.loads(RESULT.read_text(encoding="utf-8"))["held_out"]
        RESULT.write_text(json.dumps(made, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
