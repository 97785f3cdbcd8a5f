"""Re-checks that are killed with signal 9 at random moments, against a re-check that nobody disturbs.

Two re-checks of fake builds, the second with a build more: bugs that are fixed, that come back, that are there though
closed. Each is killed some times in a row, at drawn moments, and then left to end. What the database, the saved state,
and the feed hold afterwards must be what they hold without kills, but for times, and for runs that a killed second batch
has made already; what was printed as news must be printed once. What is printed and not noted as told before the kill is
printed again: the next re-check cannot know.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
import xml.etree.ElementTree as ET
from collections import Counter
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

if __name__ == "__main__":  # the process that is killed
    sys.path.insert(0, str(Path(__file__).resolve().parent))

from support import case_of, fake_python, rows
from torch_embers.atom_output import SPACE
from torch_embers.builds.registry import Registry
from torch_embers.cli import entry
from torch_embers.repro import bank
from torch_embers.run import command, state
from torch_embers.store.store import Store

VERSIONS = ("2.0.1", "2.1.2", "2.2.2")
CASES = {
    1: ("closed", ("2.0.1", "2.1.2", "2.2.2")),
    2: ("closed", ("2.0.1", "2.2.2")),
    3: ("closed", ("2.0.1",)),
    4: ("open", ("2.0.1", "2.1.2")),
}
"""State of each item, and the builds on which its bug is."""
CODE = """
import os
import sys
import torch

# item {number}
bad = os.environ.get("EMBERS_PLANT") == "1" or torch.__version__ in {bad!r}
print("off by 3" if bad else "equal")
sys.exit(1 if bad else 0)
"""
TABLES = {
    "runs": "SELECT DISTINCT case_hash, build, environment, planted, outcome FROM runs",
    "verdicts": "SELECT case_hash, build, environment, verdict, k, n, control, control_build, control_k, control_n FROM verdicts",
    "status_history": "SELECT repo, number, backend, reference, status, previous, evidence FROM status_history",
    "announcements": "SELECT repo, number, backend, kind, reference, text, is_told FROM announcements",
}
"""What must be equal, by table; times and numbers of writing may differ."""
NEWS = tuple[str, str]
"""Item and kind."""


def cases() -> list[Any]:
    """One for each item."""
    return [
        case_of(
            CODE.format(number=number, bad=list(bad)),
            f"pt{number}_kills",
            issues=[f"pytorch/pytorch#{number}"],
            known_bad=["2.0.1"],
            relation="same",
        )
        for number, (_, bad) in CASES.items()
    ]


@dataclass(slots=True)
class Result:
    """What came of all kills.

    Attributes:
        unequal: what differed from the undisturbed database, state, or feed.
        lost: news that no process printed.
        twice: news that two processes printed.
    """

    unequal: list[str] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)
    twice: list[str] = field(default_factory=list)


class Attack:
    """Builds, an undisturbed pair of re-checks, and as many disturbed ones as are asked for.

    Args:
        folder: where everything is made.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.result = Result()
        registry = Registry(folder / "registry")
        for version in VERSIONS:
            registry.register(fake_python(folder / version, version))
        whole = self._place("whole")
        self.lengths, self.news = [], Counter[NEWS]()
        for builds in (2, 3):
            began = time.monotonic()
            code, out = self._ended(self._started(whole, builds))
            if code != 10:
                raise AssertionError(f"an undisturbed re-check ends with {code}")
            self.lengths.append(time.monotonic() - began)
            self.news += _told(out)
        self.whole = holdings(whole)
        """What an undisturbed pair leaves."""

    def run(self, seed: int, kills: int = 3) -> None:
        """Two re-checks, each killed so many times at moments of their own and then left to end."""
        draw = random.Random(seed)
        place = self._place(str(seed))
        told = Counter[NEWS]()
        for builds, length in zip((2, 3), self.lengths, strict=True):
            for _ in range(kills):
                told += self._killed(place, builds, draw.uniform(0.3, length))
            code, out = self._ended(self._started(place, builds))
            if code not in (0, 10):
                self.result.unequal.append(f"{seed}: started again it ends with {code}")
            told += _told(out)
        found = holdings(place)
        for name, expected in self.whole.items():
            if found[name] != expected:
                gone, more = expected - found[name], found[name] - expected
                self.result.unequal.append(f"{seed}: {name}: lacks {list(gone)[:2]}, has {list(more)[:2]}")
        self.result.lost += [f"{seed}: {news}" for news in self.news - told]
        self.result.twice += [f"{seed}: {news}" for news in told - self.news]
        shutil.rmtree(place)

    def _place(self, name: str) -> Path:
        place = self.folder / name
        place.mkdir()
        store = Store(place / "e.duckdb")
        with store.writer("test", create=True) as writer, writer.transaction() as connection:
            for number, (item_state, _) in CASES.items():
                connection.execute(
                    "INSERT INTO items (repo, number, title, state) VALUES ('pytorch/pytorch', ?, '<b>title</b>', ?)",
                    [number, item_state],
                )
                connection.execute(
                    "INSERT INTO dispositions (repo, number, disposition, evidence_kind, evidence, annotator_kind, "
                    "annotator, source) VALUES ('pytorch/pytorch', ?, 'fixed', 'closing_pr', 'a pull request', "
                    "'automated', 'test', 'catalog')",
                    [number],
                )
            bank.save(connection, cases())
        return place

    def _started(self, place: Path, builds: int) -> subprocess.Popen[str]:
        words = [
            "recheck",
            "--database",
            place / "e.duckdb",
            "--json",
            "--out",
            place / "out",
            "--state",
            place / "state",
        ]
        words += [word for version in VERSIONS[:builds] for word in ("--build", version)]
        environment = {**os.environ, "EMBERS_BUILDS_DIR": str(self.folder / "registry"), "NO_COLOR": "1"}
        paths = [str(Path(bank.__file__).parents[2]), os.environ.get("PYTHONPATH", "")]
        environment["PYTHONPATH"] = os.pathsep.join(filter(None, paths))
        program = [sys.executable, __file__, *map(str, words)]
        return subprocess.Popen(program, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)

    def _killed(self, place: Path, builds: int, seconds: float) -> Counter[NEWS]:
        """What a re-check has announced that is killed after so many seconds, or was done by then."""
        process = self._started(place, builds)
        try:
            out, _ = process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
            out, _ = process.communicate()
        return _told(out)

    def _ended(self, process: subprocess.Popen[str]) -> tuple[int, str]:
        out, _ = process.communicate(timeout=600)
        return process.returncode, out


def holdings(place: Path) -> dict[str, Counter[Any]]:
    """What the database, the saved state and the feed hold, without times."""
    made = {name: Counter(rows(place / "e.duckdb", query)) for name, query in TABLES.items()}
    fresh = Store(place / "from_state.duckdb")
    with fresh.writer("test", create=True) as writer:
        state.load(writer, place / "state")
    made |= {f"state: {name}": Counter(rows(fresh.path, query)) for name, query in TABLES.items()}
    feed = ET.parse(place / "out" / "recheck.atom").getroot()
    made["feed"] = Counter(entry.findtext(f"{{{SPACE}}}title") for entry in feed.findall(f"{{{SPACE}}}entry"))
    made["files"] = Counter(
        path.name for folder in (place, place / "out", place / "state") for path in folder.iterdir()
    )
    return made


def _told(out: str) -> Counter[NEWS]:
    if not out:
        return Counter()
    return Counter((change["issue"], change["kind"]) for change in json.loads(out)["changes"] if change["told"])


if __name__ == "__main__":
    command.shipped.load = lambda _: 0  # type: ignore[assignment]
    command.bank.load = partial(lambda *_: cases())  # type: ignore[assignment]
    entry.main(sys.argv[1:])
