"""Measure the study on a database of the size of PyTorch's tracker: `python bench/study.py [--items 200000]`.

The database is made up (tests/synthetic.py). Tables and figures are timed as a user gets them, in a process of their own, drawing and
start included. What the database itself contributes is compared with the way without one: the same counts by pandas, from the same
tables read into frames; both must give equal numbers. Results go to bench/study.json and from there into bench/RESULTS.md.

`python bench/study.py --wheels DIR_OR_WHEEL... [--released 2.16.0=2026-12-02]` measures no time: it counts the Python lines of unpacked or
packed wheels and adds them to analysis/results/wheel_lines.csv. Days of release that the file knows are kept.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from datetime import UTC, date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "bench"), str(ROOT / "pipeline")]

if TYPE_CHECKING:
    import pandas as pd

RESULTS = ROOT / "bench" / "study.json"
LINES = ROOT / "analysis" / "results" / "wheel_lines.csv"
AIM_SECONDS = 10
THREADS = "2"

QUERIES = {
    "funnel": "SELECT name, items FROM funnel ORDER BY stage",
    "signals": "SELECT signal, count(*) FROM signals GROUP BY ALL ORDER BY ALL",
    "predicted types per half year": """
        SELECT year(i.created_at), month(i.created_at) > 6, p.likeliest, count(*)
        FROM items i JOIN predictions p USING (repo, number)
        WHERE i.kind = 'issue' AND p.scheme = 'bug_type' GROUP BY ALL ORDER BY ALL""",
    "type x consequence": """
        SELECT t.likeliest, c.likeliest, count(*) FROM predictions t JOIN predictions c USING (repo, number)
        WHERE t.scheme = 'bug_type' AND c.scheme = 'consequence' GROUP BY ALL ORDER BY ALL""",
    "days to close": """
        SELECT year(created_at), round(median(date_diff('second', created_at, closed_at) / 86400.0), 3)
        FROM items WHERE kind = 'issue' AND closed_at IS NOT NULL GROUP BY ALL ORDER BY ALL""",
}
"""Counts that the study rests on, each also written for pandas below."""


# --- the way without a database --------------------------------------------------------------------------


def frames(database: Path) -> dict[str, pd.DataFrame]:
    """The tables as frames."""
    import duckdb

    with duckdb.connect(str(database), read_only=True, config={"threads": int(THREADS)}) as connection:
        columns = {
            "items": "number, kind, state, title, body, labels, created_at, closed_at",
            "components": "number, component",
            "links": "number, sha, relation, target_number, target_sha",
            "gold_labels": "number, scheme, value",
            "predictions": "number, scheme, likeliest",
        }
        return {table: connection.execute(f"SELECT {names} FROM {table}").df() for table, names in columns.items()}


def by_pandas(tables: dict[str, pd.DataFrame]) -> dict[str, list[list[Any]]]:
    """The counts of QUERIES, in the order of their rows."""
    items, predictions = tables["items"], tables["predictions"]
    signals = _signals(items)
    types = predictions[predictions.scheme == "bug_type"]
    issues = items[items.kind == "issue"]
    dated = issues.merge(types, on="number")
    halves = dated.groupby([dated.created_at.dt.year, dated.created_at.dt.month > 6, "likeliest"]).size()
    pairs = types.merge(predictions[predictions.scheme == "consequence"], on="number")
    cells = pairs.groupby(["likeliest_x", "likeliest_y"]).size()
    closed = issues[issues.closed_at.notna()]
    days = (closed.closed_at.dt.floor("s") - closed.created_at.dt.floor("s")).dt.total_seconds() / 86_400
    medians = days.groupby(closed.created_at.dt.year).median().round(3)
    return {
        "funnel": _funnel(tables, signals),
        "signals": sorted([name, len(found)] for name, found in signals.items() if len(found)),
        "predicted types per half year": [[*key, count] for key, count in halves.items()],
        "type x consequence": [[*key, count] for key, count in cells.items()],
        "days to close": [[year, value] for year, value in medians.items()],
    }


def _signals(items: pd.DataFrame) -> dict[str, set[int]]:
    """Numbers of the items by signal, by the patterns of data/candidates.toml."""
    import re

    from torch_embers import resources

    found: dict[str, set[int]] = {}
    for signal in resources.load_toml("candidates.toml")["signal"]:
        place, match = signal["from"], signal["match"]
        if place == "label":
            hit = items.labels.map(lambda labels, wanted=frozenset(match): not wanted.isdisjoint(labels))
        else:
            pattern = "|".join(f"(?:{text})" for text in match).replace(r"\x{1F41B}", "\U0001f41b")
            flags = re.IGNORECASE | (re.MULTILINE if place == "body" else 0) | re.ASCII
            search = re.compile(pattern, flags).search
            hit = items[place].map(lambda text, search=search: search(text) is not None)
        found[signal["id"]] = set(items.number[hit])
    return found


def _funnel(tables: dict[str, pd.DataFrame], signals: dict[str, set[int]]) -> list[list[Any]]:
    items, links, gold = tables["items"], tables["links"], tables["gold_labels"]
    data_path = set(tables["components"].query("component == 'data_path'").number)
    answers = gold[gold.scheme == "bug_type"]
    bugs = set(answers.number[answers.value != "not_a_bug"])
    others = set(answers.number[answers.value == "not_a_bug"]) - bugs
    request = {"feature", "enhancement", "function request", "module: docs", "topic: docs", "topic: not user facing"}
    asked = set(items.number[items.labels.map(lambda labels: not request.isdisjoint(labels))])
    loud = set().union(*(found for name, found in signals.items() if name != "text_template"))
    reported = set().union(*signals.values()) | bugs
    declined = others | (asked - bugs - loud)
    kinds = dict(zip(items.number, items.kind, strict=True))
    fixes = links[(links.relation == "fixes") & links.target_number.notna()]
    by_pull = fixes.sha.notna() | fixes.number.map(kinds).fillna("pull").eq("pull")
    patched = set(fixes[by_pull].target_number) | set(links[links.relation == "closed_by"].number)
    closed = set(items.number[(items.kind == "issue") & (items.state == "closed")]) & data_path
    telling = (closed & reported) - declined
    stages = {"closed_in_data_path": closed, "reporting_a_bug": telling, "patched": telling & patched}
    return [[name, len(found)] for name, found in stages.items()]


def by_sql(database: Path) -> dict[str, list[list[Any]]]:
    """The counts of QUERIES from the views."""
    from torch_embers.store.store import Store

    with Store(database).read() as connection:
        return {name: [list(row) for row in connection.execute(text).fetchall()] for name, text in QUERIES.items()}


# --- measuring -------------------------------------------------------------------------------------------


def tables_and_figures(database: Path) -> dict[str, Any]:
    """Tables and figures in this process: seconds of each step."""
    from torch_embers.store.store import Store
    from torch_embers.study import command, results

    steps: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        before = time.perf_counter()
        study = command.counted(Store(database), None)
        steps["counting"] = time.perf_counter() - before
        before = time.perf_counter()
        for table in study.tables:
            results.write_table(table, folder)
        from torch_embers.study.figures.pictures import draw

        drawn = [table for table in study.tables if table.definition.draw]
        for table in drawn:
            draw.write(table, study.plan, folder)
        steps["writing and drawing"] = time.perf_counter() - before
        return {"steps": steps, "tables": len(study.tables) - len(drawn), "figures": len(drawn)}


def step(name: str, database: Path) -> None:
    """One measurement in this process; prints it as JSON."""
    if name == "figures":
        result: Any = tables_and_figures(database)
    else:
        result = by_sql(database) if name == "sql" else by_pandas(frames(database))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps({"result": result, "peak_mb": peak}, default=float))


def timed(*command: str | Path, database: Path) -> tuple[float, float, str]:
    """Seconds by the clock, seconds of processor, and output of a process from its start to its end."""
    env = {**os.environ, "EMBERS_DATABASE": str(database), "PYTHONPATH": str(ROOT / "pipeline")}
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    started = time.perf_counter()
    done = subprocess.run(
        [sys.executable, *map(str, command)], check=False, env=env, capture_output=True, text=True, cwd=ROOT
    )
    seconds = time.perf_counter() - started
    if done.returncode:
        raise SystemExit(f"{' '.join(map(str, command))}: {done.stderr.strip()[-2000:]}")
    now = resource.getrusage(resource.RUSAGE_CHILDREN)
    return seconds, now.ru_utime + now.ru_stime - used.ru_utime - used.ru_stime, done.stdout


def measure(items: int, comments: int, rounds: int) -> dict[str, Any]:
    """Everything of bench/study.json; the ways in turn, medians of the rounds."""
    from run import machine
    from synthetic import make

    load = os.getloadavg()[0]
    with tempfile.TemporaryDirectory() as name:
        database = Path(name) / "made-up.duckdb"
        started = time.perf_counter()
        make(database, items, comments)
        made = time.perf_counter() - started
        ways: dict[str, list[tuple[float, float, dict[str, Any]]]] = {"figures": [], "sql": [], "pandas": []}
        for _ in range(rounds):
            for way, found in ways.items():
                seconds, cpu, output = timed(__file__, "--step", way, "--database", database, database=database)
                found.append((seconds, cpu, json.loads(output.splitlines()[-1])))
        counts = {way: json.dumps(ways[way][0][2]["result"], sort_keys=True) for way in ("sql", "pandas")}
        if counts["sql"] != counts["pandas"]:
            raise SystemExit("SQL and pandas count differently: the ratio would mean nothing")
        result = ways["figures"][0][2]["result"]
        steps = {
            key: statistics.median(run[2]["result"]["steps"][key] for run in ways["figures"]) for key in result["steps"]
        }
        return {
            "date": datetime.now(UTC).date().isoformat(),
            "machine": machine(),
            "load": round(load, 1),
            "items": items,
            "comments": comments,
            "database_mb": round(database.stat().st_size / 2**20),
            "made_in_s": round(made, 1),
            "rounds": rounds,
            "aim_s": AIM_SECONDS,
            "tables": result["tables"],
            "figures": result["figures"],
            "steps_s": {key: round(value, 2) for key, value in steps.items()},
            "ways": {
                way: {
                    "seconds": round(statistics.median(run[0] for run in found), 2),
                    "best_s": round(min(run[0] for run in found), 2),
                    "cpu_s": round(statistics.median(run[1] for run in found), 2),
                    "peak_mb": round(max(run[2]["peak_mb"] for run in found)),
                }
                for way, found in ways.items()
            },
        }


def count_wheels(places: list[Path], released: dict[str, date]) -> None:
    """Put the Python lines of wheels into the shipped measurement, in place of what it had of the same releases."""
    from torch_embers.study import wheel_lines

    known = wheel_lines.measured() if LINES.exists() else ()
    days = {row.version: row.released for row in known if row.released} | released
    new = [row for place in places for row in wheel_lines.count(place, days)]
    again = {row.version for row in new}
    kept = [row for row in known if row.version not in again]
    LINES.write_text(wheel_lines.to_csv([*kept, *new]), encoding="utf-8")
    for version in sorted(again):
        print(f"{version}: {sum(row.lines for row in new if row.version == version):,} {wheel_lines.LABEL}")


def _day(text: str) -> tuple[str, date]:
    version, _, day = text.partition("=")
    return version, date.fromisoformat(day)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--items", type=int, default=200_000)
    parser.add_argument("--comments", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--wheels", type=Path, nargs="+", metavar="DIR_OR_WHEEL", help="count lines instead")
    parser.add_argument("--released", type=_day, nargs="*", default=[], metavar="VERSION=DAY")
    parser.add_argument("--step", choices=("figures", "sql", "pandas"), help=argparse.SUPPRESS)
    parser.add_argument("--database", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.step:
        step(options.step, options.database)
    elif options.wheels:
        count_wheels(options.wheels, dict(options.released))
    else:
        result = measure(options.items, options.comments, options.rounds)
        RESULTS.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
        print(json.dumps(result, indent=1))
        import run

        run.rewrite_parts()


if __name__ == "__main__":
    main()
