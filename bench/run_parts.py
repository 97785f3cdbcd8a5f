"""Measure where the milliseconds of a short run go: `python bench/run_parts.py PYTHON ... [--runs 200]`.

Each PYTHON is a build. Processor time, as the kernel counts it for each process, is less disturbed by other work than the clock:

- of the plain interpreter that runs the script of bench/runs.py;
- of the floor: a fork of an interpreter that has imported torch, which ends at once, and one that runs the script, without any sandbox;
- of the driver, the steward, the supervisors, the zygotes and the runs of the sandbox.

Page faults beside each, and, where strace is installed and this is root, system calls per run. Parts take turns in --rounds rounds; a
figure is the median of its rounds. Written to bench/run_parts.json, printed as a table.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import resource
import shutil
import statistics
import subprocess
import tempfile
import time
from collections import defaultdict
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from runs import SCRIPT, THREADS
from torch_embers.sandbox import doctor, policy
from torch_embers.sandbox.runner import Attempt, Runner, descendants

if TYPE_CHECKING:
    from collections.abc import Callable

RESULT = Path(__file__).with_suffix(".json")
TICK = 1000 / os.sysconf("SC_CLK_TCK")
CALLS = {
    "forks": ("clone", "clone3", "fork", "vfork"),
    "prctl": ("prctl",),
    "mount": ("mount", "umount2"),
    "stat": ("stat", "fstat", "lstat", "newfstatat", "statx", "statfs"),
    "setns, unshare": ("setns", "unshare"),
    "open": ("open", "openat"),
}
TRACED = 20
"""Runs under strace."""
FLOOR = """
import gc, json, os, sys, time
sys.path.insert(0, {above!r})
import torch
from inside import kernel
gc.collect()
gc.freeze()
if {huge}:
    kernel.gather_pages()
code = compile({script!r}, "case.py", "exec")
for line in sys.stdin:
    found = dict()
    for name in ("ends at once", "runs the script"):
        start, child, faults = time.process_time(), 0.0, 0
        for _ in range(int(line)):
            pid = os.fork()
            if not pid:
                if name == "runs the script":
                    exec(code, dict(__name__="__main__"))
                os._exit(0)
            usage = os.wait4(pid, 0)[2]
            child, faults = child + usage.ru_utime + usage.ru_stime, faults + usage.ru_minflt
        each = 1000 / int(line)
        found[name] = [(time.process_time() - start + child) * each, faults / int(line)]
    print(json.dumps(found), flush=True)
"""


def used(pid: int) -> tuple[float, int, float, int]:
    """Milliseconds of processor time and page faults: of a process, and of its children that have ended."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    own = int(Path(f"/proc/{pid}/schedstat").read_text(encoding="ascii").split()[0]) / 1e6
    return own, int(fields[7]), (int(fields[13]) + int(fields[14])) * TICK, int(fields[8])


def counted(runner: Runner) -> dict[str, tuple[float, int]]:
    """What each kind of process has used so far."""
    [first] = runner.first_pids()
    own, faults, of_children, faults_of_children = used(first)
    found = {"steward": (own, faults), "supervisors": (of_children, faults_of_children)}
    zygotes = [used(pid) for pid in descendants(first)]
    found["zygotes"] = (sum(one[0] for one in zygotes), sum(one[1] for one in zygotes))
    found["runs"] = (sum(one[2] for one in zygotes), sum(one[3] for one in zygotes))
    found["driver"] = (time.process_time() * 1000, resource.getrusage(resource.RUSAGE_SELF).ru_minflt)
    return found


def run_all(runner: Runner, count: int) -> str:
    """Run the script so often; the release of torch."""
    results = list(runner.run([Attempt(str(number), SCRIPT, "case.py") for number in range(count)]))
    assert all((result.exit_code, result.repeated) == (0, "") for result in results)
    return results[0].versions["torch"]


def sandboxed(runner: Runner, count: int) -> dict[str, tuple[float, float]]:
    """Milliseconds and page faults per run, by kind of process."""
    before = counted(runner)
    run_all(runner, count)
    after = counted(runner)
    return {
        name: ((after[name][0] - before[name][0]) / count, (after[name][1] - before[name][1]) / count) for name in after
    }


def plain(python: Path, script: Path) -> dict[str, tuple[float, float]]:
    """The same of one plain interpreter."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([str(python), str(script)], env={"PATH": os.defpath, **THREADS}, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {"plain python": (spent * 1000, after.ru_minflt - before.ru_minflt)}


class Floor:
    """An interpreter of the build that has imported torch and forks when told to."""

    def __init__(self, python: Path, *, huge: bool) -> None:
        self.name = "in huge pages" if huge else "in small pages"
        code = FLOOR.format(above=str(policy.own_code().parent), huge=huge, script=SCRIPT)
        environment = {"PATH": os.defpath, **THREADS}
        self.process = subprocess.Popen([str(python), "-c", code], stdin=-1, stdout=-1, text=True, env=environment)

    def __call__(self, count: int) -> dict[str, tuple[float, float]]:
        """Milliseconds and page faults of a fork."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(f"{count}\n")
        self.process.stdin.flush()
        found = json.loads(self.process.stdout.readline())
        return {f"fork {self.name} that {name}": tuple(value) for name, value in found.items()}

    def close(self) -> None:
        """End it."""
        self.process.communicate()


def traced(runner: Runner) -> dict[str, float]:
    """System calls per run of steward, supervisor, zygote and run together."""
    if shutil.which("strace") is None or os.geteuid() != 0:
        return {}
    [first] = runner.first_pids()
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "calls"
        pids = [word for pid in (first, *descendants(first)) for word in ("-p", str(pid))]
        tracer = subprocess.Popen(["strace", "-f", "-q", "-o", str(file), *pids], stderr=subprocess.DEVNULL)
        time.sleep(2)
        run_all(runner, TRACED)
        tracer.terminate()
        tracer.wait()
        names = re.findall(r"^\d+ +(\w+)\(", file.read_text(encoding="utf-8", errors="replace"), re.M)
    found = {kind: sum(names.count(call) for call in calls) / TRACED for kind, calls in CALLS.items()}
    return {**found, "all": len(names) / TRACED}


def measure(python: Path, rounds: int, count: int) -> dict[str, object]:
    """All parts of one build."""
    samples: dict[str, list[tuple[float, float]]] = defaultdict(list)
    floors = [Floor(python, huge=huge) for huge in (True, False)]
    with tempfile.TemporaryDirectory() as folder, Runner(python, "hostile", doctor.prove()) as runner:
        script = Path(folder) / "case.py"
        script.write_text(SCRIPT, encoding="utf-8")
        torch = run_all(runner, 10)
        parts: list[Callable[[], dict[str, tuple[float, float]]]] = [
            lambda: plain(python, script),
            *(lambda floor=floor: floor(count) for floor in floors),  # type: ignore[misc]
            lambda: sandboxed(runner, count),
        ]
        for _ in range(rounds):
            for part in parts:
                for name, value in part().items():
                    samples[name].append(value)
        calls = traced(runner)
    for floor in floors:
        floor.close()
    found = {
        name: {
            "milliseconds": round(statistics.median(value[0] for value in values), 2),
            "page_faults": round(statistics.median(value[1] for value in values)),
        }
        for name, values in samples.items()
    }
    return {"torch": torch, "parts": found, "system_calls_per_run": calls}


def main() -> None:
    """Measure, write, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("python", type=Path, nargs="+")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--runs", type=int, default=50)
    options = parser.parse_args()
    load = os.getloadavg()[0]
    builds = [measure(python, options.rounds, options.runs) for python in options.python]
    report = {
        "date": datetime.now(UTC).date().isoformat(),
        "cores": os.cpu_count(),
        "load_before": round(load, 1),
        "load_after": round(os.getloadavg()[0], 1),
        "builds": builds,
    }
    RESULT.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    print(f"Load {load:.1f} before; processor time in ms, page faults.")
    print("| process | " + " | ".join(f"{build['torch']} ms | faults" for build in builds) + " |")
    print("|---|" + "---:|---:|" * len(builds))
    for name in builds[0]["parts"]:  # type: ignore[attr-defined]
        cells = [build["parts"][name] for build in builds]  # type: ignore[index]
        print(f"| {name} | " + " | ".join(f"{one['milliseconds']:,} | {one['page_faults']:,}" for one in cells) + " |")
    for build in builds:
        print(build["torch"], build["system_calls_per_run"])


if __name__ == "__main__":
    main()
