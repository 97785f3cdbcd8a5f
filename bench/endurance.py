"""Run a flickering and a hostile script very often from the same zygotes, and look for what stays: `python bench/endurance.py PYTHON [--runs 200000]`.

PYTHON is a build. After every --step runs the processes below this one, the open files, mounts, namespaces and resident memory of this
process, the steward and the zygotes are counted, while no run is going on. Written to bench/endurance.json after each count, so that a
stopped measurement keeps what it has. `--add` makes a further part of --runs from fresh zygotes and adds it to the file: four times
`--runs 50000 --add` is 200,000 runs. A part compares its first count, after warming up, with its last, and keeps ten counts between them.
"""

from __future__ import annotations

import argparse
import contextlib
import fcntl
import json
import os
import time
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from torch_embers.sandbox import doctor
from torch_embers.sandbox.runner import Attempt, Runner, RunResult, descendants

if TYPE_CHECKING:
    from collections.abc import Iterator

RESULT = Path(__file__).with_suffix(".json")
FLICKERING = """
import os, torch
a = torch.ones(16, 16, requires_grad=True)
(a @ a).sum().backward()
torch.frombuffer(bytearray(os.urandom(4096)), dtype=torch.uint8)
raise SystemExit(os.urandom(1)[0] & 1)
"""
HOSTILE = """
import os, signal, socket, sys, threading, time
held = [open(f"/tmp/{n}", "wb") for n in range(40)] + [socket.socketpair() for _ in range(10)]
held[0].write(bytes(1 << 20))
open("/dev/shm/left", "wb").write(bytes(1 << 16))
signal.setitimer(signal.ITIMER_REAL, 30)
for _ in range(4):
    if not os.fork():
        os.setsid()
        if os.fork():
            os._exit(0)
        for number in range(3, 60):
            try:
                os.close(number)
            except OSError:
                pass
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        time.sleep(60)
for _ in range(3):
    threading.Thread(target=time.sleep, args=(60,), daemon=True).start()
server = socket.create_server(("127.0.0.1", 0))
client = socket.create_connection(server.getsockname())
client.send(b"x")
for number in (1, 2, os.getppid()):
    try:
        os.kill(number, 9)
    except OSError:
        pass
sys.stdout.write("x" * 20000)
sys.stdout.flush()
os.kill(os.getpid(), signal.SIGKILL)
"""
SAMPLES = 10
SCRIPTS = {"flickering": FLICKERING, "hostile": HOSTILE}


def pids(runner: Runner) -> list[int]:
    """The driver and the stewards with all below them."""
    return [os.getpid(), *(pid for first in runner.first_pids() for pid in (first, *descendants(first)))]


def count(runner: Runner) -> dict[str, int]:
    """What there is while no run is going on."""
    own = pids(runner)
    found = Counter(processes=len(descendants(os.getpid())))
    namespaces = set()
    for pid in own:
        folder = Path(f"/proc/{pid}")
        found["files"] += len(list((folder / "fd").iterdir()))
        status = dict(line.split(":", 1) for line in (folder / "status").read_text().splitlines())
        found["resident_kib"] += int(status["RssAnon"].split()[0])
        found["tables_kib"] += int(status["VmPTE"].split()[0])
        found["threads"] += int(status["Threads"])
        for name in ("mnt", "pid", "net", "ipc", "uts", "user"):
            with contextlib.suppress(OSError):
                namespaces.add(str((folder / "ns" / name).readlink()))
    # the tree of mounts of the steward, that of the zygote, and our own
    found["mounts"] = sum(len(Path(f"/proc/{pid}/mountinfo").read_text().splitlines()) for pid in own)
    found["namespaces"] = len(namespaces)
    found["machine_open_files"] = int(Path("/proc/sys/fs/file-nr").read_text().split()[0])
    memory = dict(line.split(":") for line in Path("/proc/meminfo").read_text().splitlines())
    found["machine_slab_kib"] = int(memory["SUnreclaim"].split()[0])
    found["machine_shared_kib"] = int(memory["Shmem"].split()[0])
    return dict(found)


def attempts(start: int, number: int) -> Iterator[Attempt]:
    """The two scripts in turn."""
    names = list(SCRIPTS)
    for place in range(start, start + number):
        name = names[place % len(names)]
        yield Attempt(name, SCRIPTS[name], f"{name}.py", seed=place, timeout=30)


def label(result: RunResult) -> str:
    """What a run is counted under: how the sandbox says that it ended, and what the kernel said of its process."""
    signalled = "" if result.signal is None else f", signal {result.signal}"
    code = "" if result.exit_code is None else f" {result.exit_code}"
    return f"{result.key}: {result.ended}{code}{signalled}"


def wait_for(lock: Path | None) -> None:
    """Let whoever holds this file measure undisturbed."""
    if lock is None:
        return
    with lock.open() as file:
        while True:
            try:
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except OSError:
                time.sleep(2)
            else:
                return


def described(counts: list[dict[str, int]]) -> dict[str, Any]:
    """The first and the last count, the most of each, and ten over time."""
    every = max(1, len(counts) // SAMPLES)
    return {
        "first": counts[0],
        "last": counts[-1],
        "most": {name: max(one[name] for one in counts) for name in counts[0]},
        "over_time": counts[every - 1 :: every],
    }


def whole(parts: list[dict[str, Any]]) -> dict[str, Any]:
    """The report: the parts, and what they add up to."""
    ended: Counter[str] = Counter()
    for part in parts:
        ended.update(part["ended"])
    return {
        "runs": sum(part["runs"] for part in parts),
        "seconds": sum(part["seconds"] for part in parts),
        "ended": dict(sorted(ended.items())),
        "left_alive": sum(part["left_alive"] for part in parts),
        "parts": parts,
    }


def main() -> None:
    """Run, count, write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("python", type=Path)
    parser.add_argument("--runs", type=int, default=200_000)
    parser.add_argument("--step", type=int, default=1_000)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--out", type=Path, default=RESULT)
    parser.add_argument("--add", action="store_true", help="add a part to what the file has")
    parser.add_argument("--lock", type=Path, help="pause between steps while somebody holds this file")
    options = parser.parse_args()
    earlier = []
    if options.add and options.out.exists():
        earlier = json.loads(options.out.read_text(encoding="utf-8")).get("parts", [])  # files of before have none
    first_seed = sum(part["runs"] for part in earlier)
    ended: Counter[str] = Counter()
    counts: list[dict[str, int]] = []
    begin, done = time.monotonic(), 0
    with Runner(options.python, "hostile", doctor.prove()) as runner:
        while done < options.runs:
            wait_for(options.lock)
            number = min(options.step, options.runs - done)
            for result in runner.run(attempts(first_seed + done, number), options.jobs):
                ended[label(result)] += 1
                if result.repeated:
                    ended["repeated"] += 1
            done += number
            counts.append({"runs": done, **count(runner)})
            part = {
                "date": datetime.now(UTC).date().isoformat(),
                "torch": result.versions.get("torch", ""),
                "user": os.geteuid(),
                "jobs": options.jobs,
                "runs": done,
                "seconds": round(time.monotonic() - begin),
                "load": round(os.getloadavg()[0], 1),
                "ended": dict(sorted(ended.items())),
                "left_alive": len(runner.left_alive()),
                **described(counts),
            }
            report = whole([*earlier, part])
            draft = options.out.with_suffix(".new")
            draft.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
            draft.replace(options.out)
    print(json.dumps(report, indent=1))


if __name__ == "__main__":
    main()
