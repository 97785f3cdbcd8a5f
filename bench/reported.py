"""Run the scripts of reports beside our cases: bench/reported/*.py on every build, into analysis/results/reported.csv.

Usage: python bench/reported.py BUILDS [ISSUE ...], where BUILDS holds a folder with bin/python for each release; rows of
other issues stay as they are. A script says what it saw and exits as cases do: 0 right, 1 the reported failure, 125
cannot be tested. Inputs and claims are those of the report, the code is ours. In a build, one process imports torch and
forks a child for each script.
"""

from __future__ import annotations

import csv
import json
import os
import runpy
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
RESULT = HERE.parent / "analysis" / "results" / "reported.csv"
COLUMNS = ("issue", "release", "outcome", "seen")
OUTCOMES = {0: "right", 1: "reproduced", 125: "untestable"}
LIMIT = 240


def inside(scripts: list[str]) -> None:
    """In a build: run each script in a child; print one JSON object a line. Python 3.8."""
    import torch  # before the fork: paid once

    torch.set_num_threads(1)
    for script in scripts:
        with tempfile.TemporaryFile() as said:
            sys.stdout.flush()
            child = os.fork()
            if child == 0:
                os.dup2(said.fileno(), 1)
                sys.stdout = os.fdopen(1, "w")
                code = 0
                try:
                    runpy.run_path(script, run_name="__main__")
                except SystemExit as end:
                    code = int(end.code or 0)
                sys.stdout.flush()
                os._exit(code)
            status = os.waitpid(child, 0)[1]
            said.seek(0)
            lines = said.read().decode(errors="replace").strip().splitlines()
        code = os.WEXITSTATUS(status) if os.WIFEXITED(status) else -os.WTERMSIG(status)
        print(json.dumps({"issue": Path(script).stem[2:], "code": code, "seen": lines[-1] if lines else ""}))


def main(builds: Path, issues: list[str]) -> None:
    """Run the scripts of some issues, or all, on every build and write the result."""
    scripts = sorted(str(p) for p in (HERE / "reported").glob("*.py") if not issues or p.stem[2:] in issues)
    rows = []
    if issues:
        with RESULT.open(encoding="utf-8", newline="") as file:
            rows = [row for row in csv.DictReader(file) if row["issue"] not in issues]
    releases = sorted((p for p in builds.glob("[0-9]*") if (p / "bin/python").exists()), key=_version)
    for release in releases:
        command = [str(release / "bin/python"), "-W", "ignore", __file__, "--inside", *scripts]
        ended = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT * len(scripts), check=True)
        for line in ended.stdout.splitlines():
            found = json.loads(line)
            outcome = OUTCOMES.get(found["code"], f"ended with {found['code']}")
            rows.append({"issue": found["issue"], "release": release.name, "outcome": outcome, "seen": found["seen"]})
    rows.sort(key=lambda row: int(row["issue"]))
    with RESULT.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def _version(folder: Path) -> tuple[int, ...]:
    return tuple(map(int, folder.name.split(".")))


if __name__ == "__main__":
    if sys.argv[1:2] == ["--inside"]:
        inside(sys.argv[2:])
    else:
        main(Path(sys.argv[1]), sys.argv[2:])
