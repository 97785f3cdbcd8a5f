"""Extract from whole data sets and run what comes out: `python bench/extraction.py --data FOLDER --build 2.13.0 --build 1.13.1`.

FOLDER holds mhnurf_pytorch.csv.gz and recent_issues_text.jsonl.gz; the files are not part of the project. Each is mined into a database
in the scratch folder, the body and comments of *every* item (not of candidates only, as `embers link-repros` does) go through the
extraction, and each runnable script that needs no accelerator runs in the sandbox on every build named, once, and once more where it
showed the reported failure. The oracle is that of extracted cases: the run must show what the report tells.

Runs are appended to runs.jsonl in the scratch folder at once, so that an interrupted measurement goes on where it was. What came of
it is written to bench/extraction.json (numbers, reasons, one row per item; no text) and stands in docs/extraction.md by way of
tools/docs.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections import Counter
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from torch_embers.builds.registry import Registry
from torch_embers.mine.files.jsonl import JsonlSource
from torch_embers.mine.runner import mine
from torch_embers.repro.case import Case, CaseError
from torch_embers.repro.extract import Extraction, ItemText, extract
from torch_embers.repro.link import case_of, rules_stamp
from torch_embers.run.batch import cannot_run_here
from torch_embers.run.verdict import USABLE, observe
from torch_embers.sandbox import doctor
from torch_embers.sandbox.runner import Attempt, Runner
from torch_embers.settings import DEFAULT_REPO, load
from torch_embers.store.store import Store

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from torch_embers.builds.registry import Build

RESULTS = Path(__file__).parent / "extraction.json"
SETS = {"mhnurf": "mhnurf_pytorch.csv.gz", "recent": "recent_issues_text.jsonl.gz"}
TEXTS = """
SELECT i.repo, i.number, i.title, i.body,
       (SELECT list(m.body ORDER BY m.created_at, m.comment_id) FROM comments m
        WHERE m.repo = i.repo AND m.number = i.number AND m.body IS NOT NULL)
FROM items i WHERE i.body IS NOT NULL AND i.kind IS DISTINCT FROM 'pull' ORDER BY i.number
"""


@dataclass(frozen=True)
class Entry:
    """An item, what was extracted from it, and the case that makes."""

    item: ItemText
    found: Extraction
    case: Case | None

    @property
    def has_code(self) -> bool:
        """Whether its body has a fenced block: what both data sets count as code."""
        return "```" in self.item.body

    @property
    def tells(self) -> bool:
        """Whether the report says what a run should show."""
        told = self.found.expectation
        return bool(told.signature or told.actual)

    @property
    def on_cpu(self) -> bool:
        """Whether it needs no accelerator."""
        return self.case is not None and not any(n.what == "device" and n.value != "cpu" for n in self.case.needs)


@dataclass(frozen=True)
class Ran:
    """One run."""

    set: str
    number: int
    build: str
    outcome: str
    signature: str
    detail: str
    seconds: float
    script: str
    """Hash of the case: a run of another text is not taken for this one."""


def texts(path: Path, scratch: Path) -> Iterator[ItemText]:
    """The texts of a data set, by way of the database."""
    store = Store(scratch / f"{path.name.partition('.')[0]}.duckdb")
    mine(store, JsonlSource(DEFAULT_REPO, [path]), link=False)
    with store.read() as connection:
        for repo, number, title, body, comments in connection.execute(TEXTS).fetchall():
            yield ItemText(repo, number, title or "", body, comments or ())


def entry(item: ItemText) -> Entry:
    found = extract(item)
    if found.status != "runnable":
        return Entry(item, found, None)
    try:
        return Entry(item, found, case_of(item, found))
    except CaseError as error:
        print(f"#{item.number}: {error}", file=sys.stderr)
        return Entry(item, found, None)


# ---- running -------------------------------------------------------------------------------------------------------


class Log:
    """The runs made so far.

    Args:
        path: one JSON object a line.
        timeout: seconds that a run may take.
    """

    def __init__(self, path: Path, timeout: float) -> None:
        self._path = path
        self.timeout = timeout
        lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
        self.runs = [Ran(**json.loads(line)) for line in lines]

    def add(self, run: Ran) -> None:
        with self._path.open("a", encoding="utf-8") as stream:
            stream.write(json.dumps(asdict(run)) + "\n")
        self.runs.append(run)

    def of(self, case: Case, build: Build) -> list[Ran]:
        """Runs of a case on a build, without those that had less time than they may take now."""
        own = [run for run in self.runs if (run.script, run.build) == (case.hash, build.name)]
        return [run for run in own if run.outcome != "timeout" or run.seconds >= self.timeout]


def run_all(name: str, entries: Sequence[Entry], build: Build, registry: Registry, log: Log) -> None:
    """Make the runs that are lacking on one build, one after the other."""
    cases = [(one.item.number, one.case) for one in entries if one.case is not None and one.on_cpu]
    possible = [(number, case) for number, case in cases if cannot_run_here(case, build) is None]
    with registry.using(build), Runner(build.python, "hostile", doctor.prove()) as runner:
        for place, (number, case) in enumerate(possible, 1):
            while (seen := log.of(case, build)) == [] or (len(seen) == 1 and seen[0].outcome == "reproduced"):
                attempt = Attempt(str(number), case.code, f"{case.name}.py", seed=len(seen), timeout=log.timeout)
                [result] = runner.run([attempt])
                said = observe(case, result)
                shown = str(said.signature or "")[:200]
                log.add(
                    Ran(name, number, build.name, said.outcome, shown, said.detail[:300], result.duration, case.hash)
                )
            print(
                f"{name} {build.name} {place}/{len(possible)} #{number}: {log.of(case, build)[-1].outcome}", flush=True
            )


# ---- counting ------------------------------------------------------------------------------------------------------


def outcomes(one: Entry, builds: Sequence[Build], log: Log) -> dict[str, str]:
    """Outcome by build: reproduced only if every run was."""
    found = {}
    for build in builds:
        seen = [run.outcome for run in log.of(one.case, build)] if one.case else []
        if seen:
            found[build.name] = seen[0] if len(set(seen)) == 1 else "flaky"
    return found


def row(one: Entry, ran: dict[str, str]) -> dict[str, Any]:
    told = one.found.expectation
    return {
        "number": one.item.number,
        "code": one.has_code,
        "status": one.found.status,
        "reason": one.found.reason,
        "found_in": one.found.found_in.partition(" ")[0],
        "requires": list(one.found.requires),
        "expects": told.kind,
        "evidence": told.where,
        "tells": one.tells,
        "cpu": one.on_cpu,
        "edits": sorted({edit.action for edit in one.found.edits}),
        "runs": ran,
    }


def is_comparable(made: dict[str, Any]) -> bool:
    """Whether the report tells what to see, and a run on some build says something about it."""
    return bool(made["tells"] and set(made["runs"].values()) & {*USABLE, "flaky"})


def counts(rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The numbers of one data set."""
    runnable = [one for one in rows if one["status"] == "runnable"]
    ran = [one for one in runnable if one["runs"]]
    comparable = [one for one in ran if is_comparable(one)]
    shown = [one for one in ran if set(one["runs"].values()) & {"reproduced", "flaky"}]
    per_build: dict[str, Counter[str]] = {}
    for one in ran:
        for build, outcome in one["runs"].items():
            per_build.setdefault(build, Counter())[outcome] += 1
    return {
        "items": len(rows),
        "with_code": sum(one["code"] for one in rows),
        "runnable": len(runnable),
        "runnable_with_code": sum(one["code"] for one in runnable),
        "cpu": sum(one["cpu"] for one in runnable),
        "ran": len(ran),
        "tells": sum(one["tells"] for one in ran),
        "comparable": len(comparable),
        "shown": len(shown),
        "comparable_shown": sum(one in shown for one in comparable),
        "silent": _silent(ran),
        "reasons": dict(Counter(one["reason"] for one in rows if one["reason"]).most_common()),
        "reasons_with_code": dict(Counter(o["reason"] for o in rows if o["reason"] and o["code"]).most_common()),
        "expects": dict(Counter(one["expects"] or "nothing" for one in runnable).most_common()),
        "expects_shown": dict(Counter(one["expects"] for one in shown).most_common()),
        "requires": dict(Counter(need for one in runnable for need in one["requires"] or ["cpu"]).most_common()),
        "edits": dict(Counter(edit for one in runnable for edit in one["edits"]).most_common()),
        "outcomes": {build: dict(found.most_common()) for build, found in per_build.items()},
    }


def _silent(ran: Sequence[dict[str, Any]]) -> dict[str, int]:
    """Why scripts that ran did not show what was reported, by the best outcome they had anywhere."""
    order = ("reproduced", "flaky", "different_failure", "not_reproduced", "timeout", "out_of_memory", "cannot_run")
    found: Counter[str] = Counter()
    for one in ran:
        best = min(one["runs"].values(), key=lambda outcome: order.index(outcome) if outcome in order else len(order))
        found[best if one["tells"] or best != "cannot_run" else "nothing stated"] += 1
    return {name: count for name, count in found.most_common() if name not in ("reproduced", "flaky")}


def table(found: dict[str, Any]) -> Iterator[str]:
    for name, own in found.items():
        yield f"{name}: {own['runnable']} of {own['items']} items runnable"
        yield f"  {own['runnable_with_code']} of the {own['with_code']} with code"
        yield f"  {own['ran']} of them ran here; {own['shown']} show the reported failure on some build"
        yield f"  {own['comparable_shown']} of the {own['comparable']} that can be compared"
        for group in ("silent", "reasons", "expects", "outcomes"):
            yield f"  {group}: {own[group]}"


def as_json(report: dict[str, Any], rows: dict[str, list[dict[str, Any]]]) -> str:
    """The numbers, then each item in a line of its own."""
    head = json.dumps(report, indent=1).removesuffix("\n}")
    sets = (
        f' "{name}": [\n' + ",\n".join(f"  {json.dumps(one)}" for one in own) + "\n ]" for name, own in rows.items()
    )
    return head + ',\n "items": {\n' + ",\n".join(sets) + "\n }\n}\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder of the data sets")
    parser.add_argument("--scratch", type=Path, required=True, help="folder for databases and the log of runs")
    parser.add_argument(
        "--build", action="append", default=[], help="a registered build; repeat; SET:NAME for one set only"
    )
    parser.add_argument("--timeout", type=float, default=30.0, help="seconds that a script may take")
    parser.add_argument("--limit", type=int, help="only so many runnable scripts of each set, for a try")
    parser.add_argument("--out", type=Path, default=RESULTS)
    options = parser.parse_args()
    options.scratch.mkdir(parents=True, exist_ok=True)
    registry, log = Registry(load().builds_dir), Log(options.scratch / "runs.jsonl", options.timeout)
    found, rows, used = {}, {}, {}
    for name, file in SETS.items():
        wanted = [text.rpartition(":")[2] for text in options.build if text.rpartition(":")[0] in ("", name)]
        builds = [registry.find(build) for build in wanted]
        entries = [entry(item) for item in texts(options.data / file, options.scratch)]
        print(f"{name}: {len(entries)} items", flush=True)
        chosen = [one for one in entries if one.on_cpu][: options.limit]
        for build in builds:
            run_all(name, chosen, build, registry, log)
        rows[name] = [row(one, outcomes(one, builds, log)) for one in entries]
        found[name] = counts(rows[name])
        used[name] = {build.name: build.version for build in builds}
    report = {
        "date": datetime.now(UTC).date().isoformat(),
        "rules": rules_stamp(),
        "timeout": options.timeout,
        "cores": os.cpu_count(),
        "runs": len(log.runs),
        "minutes": round(sum(run.seconds for run in log.runs) / 60, 1),
        "builds": used,
        "sets": found,
    }
    options.out.write_text(as_json(report, rows), encoding="utf-8")
    print("\n".join(table(found)))


if __name__ == "__main__":
    main()
