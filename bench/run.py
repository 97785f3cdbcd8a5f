"""Measure the mine on this machine, in one run, and write bench/RESULTS.md: `python bench/run.py [--items 200000]`.

Every figure of a source comes with its ratio to one naive baseline measured in the same run: a PyGithub loop over the
issue list that asks for the comments of every item and writes item by item. The part about classification comes from bench/classify.json, which
bench/classify.py writes (it needs data that is not part of the project); those about runs and the study from what bench/runs.py and
bench/study.py wrote.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import random
import re
import resource
import subprocess
import sys
import tempfile
import time
import tomllib
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "bench" / "RESULTS.md"
CLASSIFIED = ROOT / "bench" / "classify.json"
RUNS = ROOT / "bench" / "runs.json"
OF_A_RUN = ("driver", "steward", "supervisors", "zygotes", "runs")
"""Processes that take part in a run in the sandbox, in bench/run_parts.json."""
RUN_PARTS = ROOT / "bench" / "run_parts.json"
STUDY = ROOT / "bench" / "study.json"
SPEED = ROOT / "bench" / "speed.json"
POINTS = ROOT / "bench" / "points.json"
PEERS = ROOT / "bench" / "peers.json"
FULL_MINE = ROOT / "bench" / "full_mine.json"
COMMENTS = ROOT / "bench" / "comments.json"
SEARCHED = ROOT / "bench" / "search.json"
CLUSTER = ROOT / "bench" / "cluster.json"
REPORTED = ROOT / "bench" / "report.json"
CLASSIFICATION = "## Classification"
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "bench")]

import bisection_part  # noqa: E402 - found by the line above wherever this is imported from
import schedules_part  # noqa: E402

WORDS = 4_000
BASELINE_ITEMS = 300
ARCHIVE = "GH Archive, events of the repository"


@dataclass(frozen=True, slots=True)
class Figure:
    """One measured mine."""

    name: str
    items: int
    seconds: float
    peak_mb: float
    requests: float | None = None
    """Requests (REST) or requests and points (GraphQL) per 1,000 items."""

    @property
    def rate(self) -> float:
        return self.items / self.seconds


def write_items(path: Path, count: int) -> float:
    """Write REST objects with texts of the length that real reports have; return the mean bytes per line."""
    rng = random.Random(1)
    words = ["".join(rng.choices("abcdefghijklmnopqrstuvwxyz", k=rng.randint(2, 10))) for _ in range(WORDS)]
    with path.open("w", encoding="utf-8") as stream:
        for n in range(1, count + 1):
            body = " ".join(rng.choices(words, k=rng.randint(30, 330)))
            record = {
                "id": n,
                "node_id": f"I_{n}",
                "number": n,
                "title": " ".join(rng.choices(words, k=8)),
                "body": f"{body}\n\nFixes #{rng.randint(1, count)}" if n % 5 == 0 else body,
                "user": {"login": f"user{n % 999}", "id": n % 999},
                "state": "open" if n % 3 else "closed",
                "state_reason": None,
                "labels": [{"name": "triaged"}, {"name": "module: cuda"}],
                "comments": n % 7,
                "created_at": "2021-01-01T00:00:00Z",
                "updated_at": f"2021-01-{1 + n % 28:02d}T{n % 24:02d}:00:00Z",
                "closed_at": None,
                "author_association": "NONE",
                "reactions": {"total_count": n % 5},
            }
            stream.write(json.dumps(record) + "\n")
    return path.stat().st_size / count


IN_PROCESS = """
import json, resource, sys, time
from pathlib import Path
from torch_embers.mine import runner
from torch_embers.mine.files.{module} import {source}
from torch_embers.store.store import Store
started = time.monotonic()
report = runner.mine(Store(Path(sys.argv[1])), {source}("pytorch/pytorch", [{wrap}(p) for p in sys.argv[2:]]), link={link})
print(json.dumps({{"items": report.items, "seconds": time.monotonic() - started, "mining": report.seconds,
                   "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024}}))
"""


def measured(name: str, code: str, *arguments: str | Path) -> Figure:
    """Run a mine in a process of its own and read the figures that it prints."""
    done = subprocess.run(
        [sys.executable, "-c", code, *map(str, arguments)], check=True, capture_output=True, text=True, cwd=ROOT
    )
    results = json.loads(done.stdout.splitlines()[-1])
    return Figure(name, results["items"], results["seconds"], results["peak_mb"])


def files(work: Path, count: int) -> list[Figure]:
    """JSONL and GH Archive, each without and with the link stage, and once more with nothing new."""
    from make_archive import write_hours

    source = work / "items.jsonl"
    write_items(source, count)
    plain = IN_PROCESS.format(module="jsonl", source="JsonlSource", wrap="Path", link=False)
    linked = IN_PROCESS.format(module="jsonl", source="JsonlSource", wrap="Path", link=True)
    figures = [
        measured("JSONL", plain, work / "plain.duckdb", source),
        measured("JSONL with links and components", linked, work / "linked.duckdb", source),
        measured("JSONL again, nothing new", linked, work / "linked.duckdb", source),
    ]
    hours = write_hours(work / "hours", hours=2, events=count // 4, share=1.0, repo="pytorch/pytorch")
    archive = IN_PROCESS.format(module="archive", source="ArchiveSource", wrap="str", link=False)
    mined = measured(ARCHIVE, archive, work / "archive.duckdb", *hours)
    figures.append(replace(mined, items=2 * (count // 4)))
    figures.append(measured("GH Archive again, nothing new", archive, work / "archive.duckdb", *hours))
    return figures


def servers(work: Path) -> tuple[list[Figure], Figure]:
    """REST and GraphQL against stand-ins, and the naive baseline."""
    from servers.stand_ins import Emulate, GraphQLStandIn, synthetic_dataset
    from support import graphql, rest
    from torch_embers.mine import runner
    from torch_embers.store.store import Store

    figures = []
    with Emulate() as server:
        seeded = server.seed(2_500)
        for name in ("REST", "REST again, nothing new"):
            source = rest(server.url, "alice/bugs", "bench")
            started = time.monotonic()
            runner.mine(Store(work / "rest.duckdb"), source, link=False)
            seconds = time.monotonic() - started
            per_thousand = source.client.usage.requests * 1_000 / len(seeded.issues)
            figures.append(Figure(name, len(seeded.issues), seconds, _peak(), per_thousand))
        baseline = naive(server.url)
    with GraphQLStandIn(synthetic_dataset(1_000)) as server:
        items = sum(len(r["items"]) for r in server.dataset["repos"] if r["nameWithOwner"] == "pytorch/pytorch")
        for name in ("GraphQL with comments, events, files", "GraphQL again, nothing new"):
            source = graphql(server.url, "pytorch/pytorch")
            started = time.monotonic()
            runner.mine(Store(work / "graphql.duckdb"), source, link=False)
            seconds = time.monotonic() - started
            figures.append(Figure(name, items, seconds, _peak(), source.client.usage.points * 1_000 / items))
    return figures, baseline


def naive(url: str) -> Figure:
    """The loop that everybody writes first: PyGithub objects, comments per item, one insert per item."""
    import duckdb
    from github import Auth, Github

    connection = duckdb.connect()
    connection.execute("CREATE TABLE items (number INTEGER, title VARCHAR, body VARCHAR, comments VARCHAR)")
    github = Github(base_url=url, auth=Auth.Token("naive"), per_page=100, seconds_between_requests=None)
    started = time.monotonic()
    done = requests = 0
    for issue in github.get_repo("alice/bugs").get_issues(state="all"):
        texts = [comment.body for comment in issue.get_comments()]
        connection.execute(
            "INSERT INTO items VALUES (?, ?, ?, ?)", [issue.number, issue.title, issue.body, json.dumps(texts)]
        )
        done += 1
        requests += 1
        if done == BASELINE_ITEMS:
            break
    seconds = time.monotonic() - started
    return Figure("naive PyGithub loop", done, seconds, _peak(), (requests + done / 100 + 1) * 1_000 / done)


def _peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def machine() -> str:
    """Cores, memory and versions in one line."""
    import duckdb

    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    model = next(
        (
            line.split(":", 1)[1].strip()
            for line in Path("/proc/cpuinfo").read_text().splitlines()
            if "model name" in line
        ),
        platform.processor(),
    )
    return (
        f"{os.cpu_count()} cores ({model}), {memory:.0f} GiB, {platform.system()} {platform.machine()}, "
        f"Python {platform.python_version()}, DuckDB {duckdb.__version__}"
    )


def report(figures: list[Figure], baseline: Figure, mean_bytes: float) -> str:
    """The beginning of RESULTS.md, up to its first section."""
    lines = [
        "# Measurements",
        "",
        f"Written by `make bench` on {datetime.now(UTC):%Y-%m-%d}: {machine()}.",
        "",
        f"All rows come from one run. `ratio` is items/s against the {baseline.name} (PyGithub objects, a request for the",
        "comments of every item, one insert per item) on the same server in the same run. Items of the files are synthetic",
        f"REST objects of {mean_bytes:,.0f} bytes on average. Peak memory is that of the whole process. For REST the last column",
        "counts requests, for GraphQL quota points.",
        "",
        "| source | items | seconds | items/s | ratio | peak MB | per 1,000 items |",
        "|---|---:|---:|---:|---:|---:|---:|",
    ]
    for f in [baseline, *figures]:
        again = "again" in f.name
        rate = "" if again else f"{f.rate:,.0f}"
        ratio = "" if again else f"{f.rate / baseline.rate:,.1f}"
        cost = "" if f.requests is None else f"{f.requests:,.1f}"
        shown = "0" if again else f"{f.items:,}"
        lines.append(f"| {f.name} | {shown} | {f.seconds:,.2f} | {rate} | {ratio} | {f.peak_mb:,.0f} | {cost} |")
    lines += ["", *aims(figures)]
    return "\n".join(lines) + "\n"


def aims(figures: list[Figure]) -> list[str]:
    """The aims, and whether this run met them."""
    by_name = {f.name: f for f in figures}
    jsonl, archive = by_name["JSONL"], by_name[ARCHIVE]
    again = [f for f in figures if "again" in f.name]
    rows = [
        ("20,000 items/s from JSONL", f"{jsonl.rate:,.0f}", jsonl.rate >= 20_000),
        ("20,000 items/s from GH Archive", f"{archive.rate:,.0f}", archive.rate >= 20_000),
        (
            f"under 600 MB for {jsonl.items:,} items",
            f"{jsonl.peak_mb:,.0f} MB (JSONL), {archive.peak_mb:,.0f} MB (archive)",
            max(jsonl.peak_mb, archive.peak_mb) < 600,
        ),
        (
            "under 2 s with nothing new",
            f"{max(f.seconds for f in again):,.2f} s at most",
            all(f.seconds < 2 for f in again),
        ),
    ]
    lines = ["| aim | here | met |", "|---|---|---|"]
    return lines + [f"| {aim} | {here} | {'yes' if met else '**no**'} |" for aim, here, met in rows]


def classification() -> str:
    """The part about classification, from what bench/classify.py measured last; empty where it never ran."""
    if not CLASSIFIED.exists():
        return ""
    results = json.loads(CLASSIFIED.read_text(encoding="utf-8"))
    speed, price, sat = results["speed"], results["speed"]["macro_f1"], results.get("sitting")
    lines = [
        "",
        CLASSIFICATION,
        "",
        f"Written by `python bench/classify.py` on {results['measured_at']}: {results['machine']}.",
        "",
        f"Embedding and classifying (all questions of the shipped classifier) on {speed['threads']} threads, nothing cached, against one",
        "`SentenceTransformer.encode(list)` and a predict per classifier on the same cleaned texts, both cut at 256 tokens; rounds of",
        "both in turn, the best counts. CPU columns count processor seconds, which other work on the machine disturbs less.",
        "",
        "| texts | count | plain/s | here/s | ratio | ratio, plain predict free | here per CPU second | ratio of CPU | predict, ms per text | predict per classifier, ms |",
        "|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|",
    ]
    lines += [
        f"| {row['texts']} | {row['count']:,} | {row['plain_per_second']:,.1f} | {row['per_second']:,.1f} | "
        f"{row['ratio']:.1f} | {row['ratio_free_predict']:.1f} | {row['per_cpu_second']:,.1f} | {row['ratio_cpu']:.1f} | {row['predict_ms']:.2f} | "
        f"{row['predict_ms_one_by_one']:.2f} |"
        for row in speed["rows"]
    ]
    lines += [
        "",
        f"Macro-F1 of the same classifier on {price['splits']} published splits of the mhnurf data: {price['plain']:.4f} with plain vectors, "
        f"{price['embers']:.4f} with these (mean difference {100 * price['difference']:+.2f} points, largest of a split "
        f"{100 * price['largest']:.2f}).",
    ]
    if sat:
        same = "the same labels as" if sat["same_labels"] else "**other labels than**"
        lines += [
            "",
            f"One sitting: {sat['items']:,} items with title and body through `embers classify`, killed {sat['kills']} times (SIGKILL): "
            f"{sat['seconds']:,.0f} s, {sat['per_second']:,.0f} items/s ({sat['per_cpu_second']:,.0f} per CPU second), "
            f"{sat['peak_mb']:,.0f} MB at most, {sat['embedded_again']:,} texts embedded again, "
            f"{sat['labels_twice']:,} labels twice, {sat['items_with_labels']:,} items labelled. "
            f"{sat['checked_items']:,} items killed as often have {same} those of a run that nobody killed.",
        ]
    return "\n".join(lines) + "\n"


def reproduction() -> str:
    """The part about runs of cases, from what bench/runs.py measured last; empty where it never ran."""
    if not RUNS.exists():
        return ""
    results = json.loads(RUNS.read_text(encoding="utf-8"))
    ways = list(results["builds"][0]["milliseconds"])
    names = [build["torch"].partition("+")[0] for build in results["builds"]]
    lines = [
        "",
        "## Runs of cases",
        "",
        f"Written by `python bench/runs.py` on {results['date']}: {results['cores']} cores, load {results['load']:.1f} at the start. One script (import torch,",
        "matmul, backward), the ways in turn; milliseconds are medians, the ratio is plain python's time by this way's.",
        "",
        "| one run | " + " | ".join(f"{name}, ms | ratio" for name in names) + " |",
        "|---|" + "---:|---:|" * len(names),
    ]
    for way in ways:
        cells = [
            f"{build['milliseconds'][way]:,.1f} | {build['milliseconds']['plain python'] / build['milliseconds'][way]:,.1f}"
            for build in results["builds"]
        ]
        lines.append(f"| {way} | " + " | ".join(cells) + " |")
    lines += ["", "| runs per minute, 2 jobs | " + " | ".join(f"{name} | ratio" for name in names) + " |"]
    lines.append("|---|" + "---:|---:|" * len(names))
    for way in results["builds"][0]["runs_per_minute"]:
        cells = [
            f"{build['runs_per_minute'][way]:,} | {build['runs_per_minute'][way] / build['runs_per_minute']['plain python']:,.0f}"
            for build in results["builds"]
        ]
        lines.append(f"| {way} | " + " | ".join(cells) + " |")
    return "\n".join([*lines, *run_parts()]) + "\n"


def run_parts() -> list[str]:
    """Where the time of a run goes, from what bench/run_parts.py measured last; empty where it never ran."""
    if not RUN_PARTS.exists():
        return []
    results = json.loads(RUN_PARTS.read_text(encoding="utf-8"))
    builds = results["builds"]
    lines = [
        "",
        "### Where the milliseconds go",
        "",
        f"Written by `python bench/run_parts.py` on {results['date']}: {results['cores']} cores, load {results['load_before']} before and {results['load_after']} after. Processor time per run of the",
        "same script in milliseconds, as the kernel counts it for each process, and page faults; medians of rounds in which the parts take turns. A fork is counted with its parent.",
        "",
        "| process | " + " | ".join(f"{build['torch'].partition('+')[0]}, ms | faults" for build in builds) + " |",
        "|---|" + "---:|---:|" * len(builds),
    ]
    for name in builds[0]["parts"]:
        cells = [build["parts"][name] for build in builds]
        lines.append(
            f"| {name} | " + " | ".join(f"{one['milliseconds']:,.1f} | {one['page_faults']:,}" for one in cells) + " |"
        )
    sums = [sum(build["parts"][name]["milliseconds"] for name in OF_A_RUN) for build in builds]
    bases = [build["parts"]["plain python"]["milliseconds"] for build in builds]
    floors = [build["parts"]["fork in huge pages that runs the script"]["milliseconds"] for build in builds]
    lines.append("| **a run in the sandbox, all of it** | " + " | ".join(f"{value:,.1f} |" for value in sums) + " |")
    lines.append(
        "| plain python by it | "
        + " | ".join(f"{base / value:,.0f} |" for base, value in zip(bases, sums, strict=True))
        + " |"
    )
    lines.append(
        "| plain python by a fork in huge pages, no sandbox | "
        + " | ".join(f"{base / value:,.0f} |" for base, value in zip(bases, floors, strict=True))
        + " |"
    )
    calls = builds[0]["system_calls_per_run"]
    if calls:
        counts = ", ".join(f"{name} {count:g}" for name, count in calls.items())
        lines += [
            "",
            f"System calls of a run on {builds[0]['torch'].partition('+')[0]}, all of its processes together, by strace: {counts}.",
        ]
    return lines


def study() -> str:
    """The part about the study, from what bench/study.py measured last; empty where it never ran."""
    if not STUDY.exists():
        return ""
    results = json.loads(STUDY.read_text(encoding="utf-8"))
    ways, steps = results["ways"], results["steps_s"]
    whole = ways["figures"]
    met = "yes" if whole["seconds"] < results["aim_s"] else "**no**"
    names = {
        "figures": f"all {results['tables']} tables and {results['figures']} figures, as SVG and PNG",
        "pandas": "five counts, pandas",
        "sql": "the same counts, the views",
    }
    lines = [
        "",
        "## Study",
        "",
        f"Written by `python bench/study.py` on {results['date']}: {results['machine']}, load {results['load']:.1f} at the start. A made-up database of",
        f"{results['items']:,} items and {results['comments']:,} comments ({results['database_mb']:,} MB; tests/synthetic.py); whole processes from start to",
        f"end, medians of {results['rounds']} rounds in turn. The five counts (funnel, signals, types per half year, type x consequence, days to",
        "close) are equal both ways; pandas reads the same tables into frames.",
        "",
        "| what | seconds | best | CPU seconds | peak MB | ratio |",
        "|---|---:|---:|---:|---:|---:|",
    ]
    for way, name in names.items():
        row = ways[way]
        ratio = f"{ways['pandas']['seconds'] / row['seconds']:.1f}" if way != "figures" else ""
        lines.append(
            f"| {name} | {row['seconds']:.2f} | {row['best_s']:.2f} | {row['cpu_s']:.2f} | {row['peak_mb']:,} | {ratio} |"
        )
    parts = ", ".join(f"{name} {seconds:.1f} s" for name, seconds in steps.items())
    lines += [
        "",
        f"Of the first row: {parts}; the rest is the start of the process.",
        "",
        "| aim | here | met |",
        "|---|---|---|",
        f"| tables and figures in under {results['aim_s']} s | {whole['seconds']:.1f} s | {met} |",
    ]
    return "\n".join(lines) + "\n"


def _peak_of(run: Mapping[str, Any]) -> str:
    """The most memory of a run; empty where an earlier program did not measure it."""
    return f"{run['peak_mb']:,.0f}" if "peak_mb" in run else ""


def _load(results: Mapping[str, Any]) -> str:
    """The load at the start of a measurement, and the priority with which it ran."""
    priority = f", before other work (priority {results['priority']})" if results.get("priority") else ""
    return f"load {results['load']:.1f} at the start{priority}"


def speed() -> str:
    """The part about older and newer code, from what bench/speed.py measured last; empty where it never ran."""
    if not SPEED.exists():
        return ""
    results = json.loads(SPEED.read_text(encoding="utf-8"))
    lines = [
        "",
        "## Before and after",
        "",
        f"Written by `python bench/speed.py` on {results['date']}: {results['machine']}, {_load(results)}. Commit",
        f"{results['before']} and this checkout in turn on the same {results['items']:,} items (and as many events), best of {results['rounds']} rounds. Other",
        "work on the machine disturbs CPU seconds less than wall time.",
        "",
        "| what | seconds before | after | CPU seconds before | after | ratio of CPU | peak MB before | after |",
        "|---|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for what, row in results["rows"].items():
        old, new = row["before"], row["after"]
        lines.append(
            f"| {what} | {old['seconds']:.2f} | {new['seconds']:.2f} | {old['cpu_s']:.2f} | {new['cpu_s']:.2f} | "
            f"{old['cpu_s'] / new['cpu_s']:.1f} | {old['peak_mb']:,.0f} | {new['peak_mb']:,.0f} |"
        )
    return "\n".join(lines) + "\n"


def comments() -> str:
    """The part about many comments, from what bench/comments.py measured last; empty where it never ran."""
    if not COMMENTS.exists():
        return ""
    lines = [
        "",
        "## Many comments",
        "",
        "Written by `python bench/comments.py`, a made-up database a size; CPU seconds beside seconds, because other work disturbs them less.",
    ]
    for results in json.loads(COMMENTS.read_text(encoding="utf-8")).values():
        lines += [
            "",
            f"{results['items']:,} items and {results['comments']:,} comments, on {results['date']}: {results['machine']}, {_load(results)};",
            f"{results['database_mb']:,.0f} MB with {results['links']:,} links and {results['components']:,} components; {results['texts_per_cpu_s']:,.0f} texts are linked per CPU second.",
            "",
            "| a process from start to end | seconds | CPU seconds | peak MB |",
            "|---|---:|---:|---:|",
        ]
        for name, run in results["runs"].items():
            lines.append(f"| {RUNS_OF_COMMENTS[name]} | {run['seconds']:.1f} | {run['cpu_s']:.2f} | {_peak_of(run)} |")
    return "\n".join(lines) + "\n"


RUNS_OF_COMMENTS = {
    "link": "all texts linked",
    "link again": "the link stage with nothing new",
    "one item": "`embers mine` of a file with one new item",
    "nothing new": "`embers mine` of the same file again",
}


def peers() -> str:
    """The part about Perceval, from what bench/peers.py measured last; empty where it never ran."""
    if not PEERS.exists():
        return ""
    from peers import WAYS

    results = json.loads(PEERS.read_text(encoding="utf-8"))
    lines = [
        "",
        "## Beside Perceval",
        "",
        f"Written by `python bench/peers.py` on {results['date']}: {results['machine']}, {_load(results)}. {results['seeded']:,} items",
        "with comments; Perceval and embers by REST on one server (tests/servers/tracker.py), GraphQL on tests/servers/graphql.mjs with as many",
        "items and comments. embers also reads events, by GraphQL also files, reviews and commits, and it links and stores. Perceval makes no",
        f"pause between requests; the shipped one of embers lets {results['pause']} s pass from the start of a request to that of the next. Best of the rounds ({results['rounds']}).",
        "",
        "| answer after | way | items | comments | requests | seconds | ratio | CPU seconds | ratio of CPU |",
        "|---|---|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for run in results["runs"]:
        for name, words in WAYS.items():
            row = run[name]
            lines.append(
                f"| {run['latency'] * 1000:.0f} ms | {words} | {row['items']:,} | {row['comments']:,} | {row['requests']:,} | "
                f"{row['seconds']:.1f} | {row['ratio']:.1f} | {row['cpu_s']:.1f} | {row['ratio_cpu']:.1f} |"
            )
    ghost = results["deleted_author"]
    lines += [
        "",
        f"Where a comment's author was deleted (30 items): Perceval ends after {ghost['perceval']['items']} item "
        f"({ghost['perceval']['error']}), embers reads {ghost['embers']['items']} items and {ghost['embers']['comments']} comments.",
    ]
    if earlier := results.get("earlier"):
        ratios = ", ".join(
            f"{ratio:.1f} at {float(latency) * 1000:.0f} ms" for latency, ratio in earlier["ratios"].items()
        )
        lines += [
            "",
            f"Earlier ({earlier['date']}, load {earlier['load']:.1f}): ratio of seconds by REST without a pause {ratios}.",
        ]
    return "\n".join(lines) + "\n"


def points() -> str:
    """The part about points, from what bench/points.py counted last; empty where it never ran."""
    if not POINTS.exists():
        return ""
    results = json.loads(POINTS.read_text(encoding="utf-8"))
    lines = [
        "",
        "## Points",
        "",
        f"Written by `python bench/points.py` on {results['date']}: what a mine by GraphQL costs on tests/servers/graphql.mjs, by GitHub's published formula,",
        "without assignees, requested reviewers, sub-issues, reviews with their comments and commits, and with them. Aim: at most twice.",
        "",
        "| data | items | points without | with | per 1,000 items without | with | ratio | aim met |",
        "|---|---:|---:|---:|---:|---:|---:|---|",
    ]
    for name, ways in results["data"].items():
        old, new = ways["without"], ways["with"]
        items, ratio = new["items"], new["points"] / old["points"]
        lines.append(
            f"| {name} | {items:,} | {old['points']} | {new['points']} | {old['points'] / items * 1000:.0f} | "
            f"{new['points'] / items * 1000:.0f} | {ratio:.2f} | {'yes' if ratio <= 2 else '**no**'} |"
        )
    return "\n".join(lines) + "\n"


def full_mine() -> str:
    """The part about quota windows, from what bench/full_mine.py measured last; empty where it never ran."""
    if not FULL_MINE.exists():
        return ""
    runs = json.loads(FULL_MINE.read_text(encoding="utf-8"))
    largest = max(runs.values(), key=lambda run: run["items"])
    hours = largest["points"] / HOURLY
    lines = [
        "",
        "## Quota windows",
        "",
        "Written by `python bench/full_mine.py`: mines by GraphQL (`embers mine --max-wait 3600`, its shipped pauses) of generated items from",
        "tests/servers/graphql.mjs, unattended, with windows of quota that are shorter than GitHub's hour.",
        "",
        "| items | day, load | window | points | requests | waits | seconds (waited) | CPU seconds | peak MB | exit code |",
        "|---:|---|---|---:|---:|---:|---:|---:|---:|---:|",
    ]
    lines += [
        f"| {run['items']:,} | {run['date']}, {run['load']:.0f} | {run['window']['points']:,} points in {run['window']['seconds']} s | "
        f"{run['points']:,} | {run['requests']:,} | {run['waits']} | {run['seconds']:,.0f} ({run['waited_s']:,}) | {run['cpu_s']:,.0f} | {_peak_of(run)} | {run['exit']} |"
        for run in sorted(runs.values(), key=lambda run: -run["items"])
    ]
    lines += [
        "",
        f"The {largest['items']:,} items are {largest['comments']:,} comments, {largest['events']:,} events and {largest['links']:,} links. Their points are {hours:.1f} windows of an hour with",
        f"one token ({HOURLY:,} points each), computed; GitHub itself was not asked. Where a row has no waits, the machine was too busy to use a window up.",
    ]
    return "\n".join(lines) + "\n"


HOURLY = 5_000
"""GitHub's points an hour for one token."""
PAGES = 40
"""Pages that bench/speed.py commits."""


def speed_aims() -> str:
    """The aims of the speed of mining beside what the other programs measured last."""
    measured = (SPEED, COMMENTS, PEERS, POINTS, FULL_MINE)
    if not all(path.exists() for path in measured):
        return ""
    speed, comments, peers, points, whole = (json.loads(path.read_text(encoding="utf-8")) for path in measured)
    rows = [*_speed_aims(speed), *_aims_at_scale(comments, peers, points, whole)]
    lines = [
        "",
        "## Aims of the speed of mining",
        "",
        "From the tables above, which say when and at what load; `before` is what the same program measured of older code in the same run, or its run before.",
        "",
        "| aim | before | now | met |",
        "|---|---:|---:|---|",
        *(f"| {aim} | {before} | {now} | {'yes' if met else '**no**'} |" for aim, before, now, met in rows),
    ]
    return "\n".join(lines) + "\n"


def _speed_aims(speed: Mapping[str, Any]) -> Iterator[tuple[str, str, str, bool]]:
    """Aims that bench/speed.py measures: what, before, now, met."""
    for name, aim, what in (("JSONL with links and components", 15_000, "items"), ("GH Archive", 20_000, "events")):
        rates = {key: speed["items"] / row["seconds"] for key, row in speed["rows"][name].items()}
        yield f"{name}: {aim:,} {what}/s", f"{rates['before']:,.0f}", f"{rates['after']:,.0f}", rates["after"] >= aim
    pages = speed["rows"][f"{PAGES} pages of 100 items into 20,000"]
    cpu = {key: row["cpu_s"] / PAGES for key, row in pages.items()}
    yield "a page in 0.05 s of CPU", f"{cpu['before']:.3f} s", f"{cpu['after']:.3f} s", cpu["after"] <= 0.05
    peak = {key: max(row[key]["peak_mb"] for row in speed["rows"].values()) for key in ("before", "after")}
    yield (
        f"at most 600 MB (here {speed['items']:,} items, and as many events)",
        f"{peak['before']:,.0f} MB",
        f"{peak['after']:,.0f} MB",
        peak["after"] <= 600,
    )


def _aims_at_scale(
    comments: Mapping[str, Any], peers: Mapping[str, Any], points: Mapping[str, Any], whole: Mapping[str, Any]
) -> Iterator[tuple[str, str, str, bool]]:
    """Aims that the other programs measure."""
    for results in comments.values():
        run = results["runs"]["nothing new"]
        texts = results["items"] + results["comments"]
        now = f"{run['seconds']:.2f} s, {run['cpu_s']:.2f} s of CPU"
        yield f"nothing new at {texts:,} texts: under 1 s", "", now, run["seconds"] < 1
    for run in peers["runs"]:
        if run["latency"]:
            before = peers["earlier"]["ratios"].get(str(run["latency"]))
            aim = f"15 times as fast as Perceval at {run['latency'] * 1000:.0f} ms an answer, without a pause"
            yield aim, f"{before:.1f}" if before else "", f"{run['embers']['ratio']:.1f}", run["embers"]["ratio"] >= 15
    for name, ways in points["data"].items():
        ratio = ways["with"]["points"] / ways["without"]["points"]
        yield f"the later fields at most double the points ({name})", "", f"{ratio:.2f}", ratio <= 2
    largest = max(whole.values(), key=lambda run: run["items"])
    done = f"{largest['items']:,} in {largest['seconds'] / 60:,.0f} minutes, {largest['waits']} waits for a window"
    met = largest["items"] >= 150_000 and largest["exit"] == 0 and largest["waits"] > 1
    yield "150,000 items by GraphQL through several windows of quota, unattended", "", done, met


def search() -> str:
    """The part about `embers similar`, from what bench/search.py measured last; empty where it never ran."""
    if not SEARCHED.exists():
        return ""
    results = json.loads(SEARCHED.read_text(encoding="utf-8"))
    counts = results["items_with_title"]
    lines = [
        "",
        "## Search",
        "",
        f"Written by `python bench/search.py` on {results['measured_at']}: how far up `embers similar` puts the partner of a pair that the tracker",
        f"connects, among {counts['issue']:,} issues and {counts['pull']:,} pull requests, by their titles (words: and bodies, which {results['issues_with_body']:,} of the issues have).",
        "`related`: one names the other; `same fix`: one pull request fixes both; `fix`: an issue and its fix. Two encoders:",
        f"{results['models']['before']} (before) and {results['models']['tuned']} (tuned, docs/encoder.md). `both and nearness`, what `embers similar` does,",
        "prefers items with a near number; `far apart` are pairs more than 4,000 numbers apart, which this helps little; its numbers were chosen on none of these pairs. Of `related`",
        "and `same fix` nothing was learned or chosen. All pairs are frozen in `bench/search_pairs.csv`. Those of `fix` were drawn after the encoder was tuned:",
        "about a fifth may be among those it learned from, so what it gains there is that of then (both: MRR 0.04 [0.01, 0.07]). In brackets 95 % intervals by bootstrap over queries. "
        f"What was tried is in `bench/search_tried.json`. Aims: MRR 0.5, found among the first ten 0.7: {_search_aims(results['rows'])}.",
        "",
        "| pairs | order by | n | MRR | among the first ten |",
        "|---|---|---:|---:|---:|",
    ]
    lines += [
        f"| {row['pairs']} | {row['way']} | {row['n']} | {_with_interval(row, 'mrr')} | {_with_interval(row, 'hit_at_10')} |"
        for row in results["rows"]
    ]
    lines += [
        "",
        "Differences, on the same draws:",
        "",
        "| pairs | order by | minus | MRR | among the first ten |",
        "|---|---|---|---:|---:|",
    ]
    lines += [
        f"| {row['pairs']} | {row['way']} | {row['than']} | {_with_interval(row, 'mrr')} | {_with_interval(row, 'hit_at_10')} |"
        for row in results["gains"]
    ]
    return "\n".join(lines) + "\n"


def _search_aims(rows: Sequence[Mapping[str, Any]]) -> str:
    """On which pairs `embers similar` reaches both aims."""
    own = [row for row in rows if "nearness" in row["way"] and "far" not in row["pairs"]]
    reached = [row["pairs"] for row in own if row["mrr"] >= 0.5 and row["hit_at_10"] >= 0.7]
    return f"reached for {', '.join(reached)} of {len(own)} kinds" if reached else "**not reached**"


def site() -> str:
    """The part about `embers report`, from what bench/report.py measured last; empty where it never ran."""
    if not REPORTED.exists():
        return ""
    results = json.loads(REPORTED.read_text(encoding="utf-8"))
    seconds = ", ".join(f"{seconds:.0f}" for seconds in results["build_seconds"])
    pages = tomllib.loads((ROOT / "data" / "report.toml").read_text(encoding="utf-8"))["limits"]["item_pages"]
    lines = [
        "",
        "## Report",
        "",
        f"Written by `python bench/report.py` on {results['at'][:10]}, load {results['load'][0]} on {results['cores']} cores: `embers report` of {results['items']:,} items,",
        "the catalog and made-up ones (halves of two titles of the catalog, with the classes of one of them; every third has a link, none a case). Pages of their",
        f"own have {pages:,} of the {results['items']:,}, as many as `item_pages` of data/report.toml allows: times and size are of these; the table and the data files hold all. Opened from disk in headless Chromium, a fresh one each time, medians of {results['repeats']}.",
        "",
        "| what | measured |",
        "|---|---:|",
        f"| build, seconds of each run | {seconds} |",
        f"| build, processor seconds a run | {results['build_cpu_seconds']:.0f} |",
        f"| build, peak memory | {results['build_peak_mb']:,} MB |",
        f"| whole site | {results['size_mb']:,.0f} MB in {results['files']:,} files |",
        f"| item table, first part of its data | {results['table_first_mb']:.2f} MB |",
        f"| item table, all of its data | {results['table_mb']:.1f} MB |",
        f"| until the first rows can be filtered | {results['ready_ms']:,} ms |",
        f"| until all {results['items']:,} can be | {results['whole_ms']:,} ms |",
        f"| a search for two words over all of them, until drawn | {results['search_ms']:,} ms |",
        f"| a first click on the heading of the titles, until drawn | {results['sort_title_ms']:,} ms |",
    ]
    return "\n".join(lines) + "\n"


def cluster() -> str:
    """The part about several raylets, from what bench/cluster.py measured last; empty where it never ran."""
    if not CLUSTER.exists():
        return ""
    results = json.loads(CLUSTER.read_text(encoding="utf-8"))
    lines = ["", "## Cluster", ""]
    if swept := results.get("sweeps"):
        lines += [
            f"Written by `python bench/cluster.py` on {swept['date']}: {swept['cases']} shipped cases without controls on {swept['build']}, raylets with one CPU each",
            f"on one machine with {swept['cores']} cores, before all other work on it (load {min(swept['loads']):g} to {max(swept['loads']):g}). The verdicts are "
            f"{'equal' if swept['equal_verdicts'] else 'NOT equal'}. One raylet took {swept['ratio']:.2f} times as long as two. "
            f"{_beside_local({way: median(seconds) for way, seconds in swept['seconds'].items()})}",
            "",
            "| way | seconds of each round | median |",
            "|---|---|---:|",
        ]
        lines += [
            f"| {way} | {', '.join(f'{one:.1f}' for one in seconds)} | {median(seconds):.1f} |"
            for way, seconds in swept["seconds"].items()
        ]
        lines.append("")
    if bisected := results.get("bisections"):
        lines += [
            f"`python bench/cluster.py --bisect CASE` on {bisected['date']}: bisections over 17 releases without shipped verdicts, once each. Two raylets measure builds",
            "ahead that may be asked next; what is asked and answered must be equal.",
            "",
            "| case | answer | builds asked | measured on two raylets | equal | local, s | two raylets, s | load |",
            "|---|---|---:|---:|---|---:|---:|---|",
        ]
        lines += [
            f"| {row['case']} | {row['sentence']} | {row['asked']} | {row['measured']['two raylets']} | {'yes' if row['equal'] else 'NO'} | "
            f"{row['seconds']['local']:.0f} | {row['seconds']['two raylets']:.0f} | {', '.join(f'{load:g}' for load in row['loads'])} |"
            for row in bisected["rows"]
        ]
    return "\n".join(lines).rstrip() + "\n"


def _percent(ratio: float) -> str:
    return f"{round(100 * (ratio - 1)):+d} %"


def _beside_local(medians: Mapping[str, float]) -> str:
    """What a cluster on one machine gains over that machine without one."""
    local, one, two = (medians[way] for way in ("local, 1 job", "one raylet", "two raylets"))
    gains = "is faster" if two < 0.95 * local else "gains nothing"
    return (
        f"Beside one local job ({local:.1f} s) one raylet took {_percent(one / local)} and two raylets {_percent(two / local)}: on one machine of "
        f"this size a cluster {gains}."
    )


def _with_interval(row: Mapping[str, Any], name: str) -> str:
    low, high = row[f"{name}_interval"]
    return f"{row[name]:.2f} [{low:.2f}, {high:.2f}]"


def rewrite_parts() -> None:
    """Put the newest figures of the other programs into bench/RESULTS.md, and leave everything else in it."""
    RESULTS.write_text(with_parts(RESULTS.read_text(encoding="utf-8"), generated()), encoding="utf-8")


def with_parts(text: str, parts: Iterable[str]) -> str:
    """The text with each part in the place of the section that has its heading.

    Sections (``##``) without a part and subsections (``###``) that a part does not write stay as they are: somebody
    wrote them by hand. A part that is new comes behind the part before it.
    """
    beginning, *sections = _split(text, "## ")
    place = 0
    for part in filter(None, (part.strip("\n") for part in parts)):
        heading = part.partition("\n")[0]
        known = next((n for n, section in enumerate(sections) if section.partition("\n")[0] == heading), None)
        if known is None:
            sections.insert(place, part)
        else:
            place = known
            written = {subsection.partition("\n")[0] for subsection in _split(part, "### ")[1:]}
            by_hand = (s for s in _split(sections[known], "### ")[1:] if s.partition("\n")[0] not in written)
            sections[known] = "\n\n".join([part, *by_hand])
        place += 1
    return "\n\n".join([beginning, *sections]) + "\n"


def _split(text: str, mark: str) -> list[str]:
    """What stands before the first line that begins with ``mark``, and the text from each such line to the next."""
    return [section.strip("\n") for section in re.split(f"^(?={re.escape(mark)})", text, flags=re.MULTILINE)]


def generated() -> list[str]:
    """What the other programs measured last, a section each; empty where one never ran."""
    return [
        classification(),
        reproduction(),
        study(),
        speed(),
        comments(),
        peers(),
        points(),
        full_mine(),
        speed_aims(),
        search(),
        site(),
        cluster(),
        bisection_part.part(),
        schedules_part.part(),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--items", type=int, default=200_000)
    parser.add_argument("--dry", action="store_true", help="print instead of writing bench/RESULTS.md")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="embers-bench-") as folder:
        work = Path(folder)
        probe = write_items(work / "probe.jsonl", 2_000)
        figures = files(work, options.items)
        live, baseline = servers(work)
    text = report([*figures, *live], baseline, probe)
    print(text)
    if not options.dry:
        sections = _split(RESULTS.read_text(encoding="utf-8"), "## ")[1:]
        RESULTS.write_text(with_parts("\n\n".join([text.strip("\n"), *sections]), generated()), encoding="utf-8")


if __name__ == "__main__":
    main()
