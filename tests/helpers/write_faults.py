"""Commands of embers with a fault at a step that changes a file: they end afterwards as one that was left alone.

SQLite tests itself so (https://www.sqlite.org/testing.html).
"""

from __future__ import annotations

import errno
import json
import os
import random
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

from helpers.executor import BAD, GOOD, HELD, NEW
from helpers.verdicts import registered
from promises.driver import ROOT, checkout
from support import CASE_CODE, case_text, rows, snapshot

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

FAULTS: list[dict[str, str]] = [
    {"FAULT": "kill"},
    {"FAULT": str(errno.ENOSPC), "FAULT_STAYS": "1"},
    {"FAULT": str(errno.EIO)},
    {"FAULT": str(errno.EDQUOT), "FAULT_STAYS": "1"},
    {"FAULT": str(errno.EINTR)},
]
KILL = FAULTS[0]
CODES = {3, 5, 6}
"""With which a command says that something could not be written."""
TEXTS = {1: "wrong gradient, see #2", 2: "segfault in conv: fixes #1", 3: "index is out of range"}
CASE = case_text(
    CASE_CODE.replace("sum([1, -1])", f"3 * (__import__('torch').__version__ == {BAD!r})"),
    known_bad=[BAD],
    relation="same",
)


class Command(NamedTuple):
    """A command of embers below a folder that holds a database.

    Attributes:
        words: with ``{folder}`` for the folder.
        left: what it leaves that does not depend on the time.
        codes: with which it ends where nothing fails; the last one also where it had been done already.
    """

    words: list[str]
    left: Callable[[Path], Any]
    codes: tuple[int, ...] = (0,)


def tables(folder: Path) -> Any:
    return snapshot(folder / "e.duckdb")


def predictions(folder: Path) -> Any:
    return snapshot(folder / "e.duckdb", ["predictions"], ["predicted_at"])


def verdicts(folder: Path) -> Any:
    times = ["ran_at", "decided_at", "written", "duration", "cpu", "peak_memory", "zygote", "waited"]
    return snapshot(folder / "e.duckdb", ["verdicts", "runs"], times)


def announced(folder: Path) -> Any:
    """What the database holds, and what the next one finds in the folders."""
    files = [path.relative_to(folder) for name in ("out", "state") for path in sorted((folder / name).rglob("*"))]
    return [rows(folder / "e.duckdb", query) for query in HELD], files


def site(folder: Path) -> Any:
    """Names of all files below the folder; nothing but the report and the database is left there."""
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.suffix not in (".turn", ".lock"))


def exported(folder: Path) -> Any:
    return [(path.name, path.read_bytes()) for path in sorted((folder / "out").glob("*.csv"))]


ONE_BY_ONE = ["--jobs", "1"]
TWO_BUILDS = ["--build", BAD, "--build", NEW]
COMMANDS = {
    "mine": Command(["mine", "--source", "jsonl", "{folder}/items.jsonl", "--repo", "pytorch/pytorch"], tables),
    "classify": Command(["classify"], predictions),
    "report": Command(["report", "--out", "{folder}/site"], site),
    "export": Command(["data", "export", "--to", "{folder}/out", "--format", "csv"], exported),
    "run": Command(["run", *TWO_BUILDS, *ONE_BY_ONE], verdicts),
    "bisect": Command(["bisect", "own_case", "--bad", BAD, "--good", GOOD, "--validate", "0", *ONE_BY_ONE], verdicts),
    "recheck": Command(
        ["recheck", *TWO_BUILDS, "--out", "{folder}/out", "--state", "{folder}/state", *ONE_BY_ONE],
        announced,
        (10, 0),
    ),
}


@dataclass(frozen=True)
class Scene:
    """A folder with three items and a database of them, and how commands are started."""

    folder: Path
    library: Path
    """It makes the faults."""
    surroundings: dict[str, str]

    def copy(self, name: str, to: Path) -> Path:
        """The folder as it is before a command; a mine makes the database itself."""
        shutil.copytree(self.folder, to)
        if name == "mine":
            (to / "e.duckdb").unlink()
        return to

    def ended(self, name: str, folder: Path, **fault: str) -> tuple[int, str]:
        """Exit code and standard error of a command, which a fault may meet."""
        return self.ended_by(COMMANDS[name].words, folder, **fault)

    def ended_by(self, words: list[str], folder: Path, **fault: str) -> tuple[int, str]:
        """The same of other words."""
        command = [sys.executable, "-m", "torch_embers", *words, "--database", "{folder}/e.duckdb"]
        faulty = {"LD_PRELOAD": str(self.library), "FAULT_FOLDER": str(folder)} if fault else {}
        done = subprocess.run(
            [word.format(folder=folder) for word in command],
            env={**os.environ, "NO_COLOR": "1", **self.surroundings, **faulty, **fault},
            capture_output=True,
            text=True,
            check=False,
        )
        return done.returncode, done.stderr

    def alone(self, name: str, at: Path) -> tuple[Any, int]:
        """What the command leaves in ``at`` where nothing fails, and in how many steps."""
        count = at.with_name("count")
        code, said = self.ended(name, self.copy(name, at), FAULT_COUNT=str(count))
        assert code == COMMANDS[name].codes[0], said
        return COMMANDS[name].left(at), int(count.read_text())

    def assert_it_ends(self, name: str, at: Path, expected: Any, where: str) -> None:
        """The command, after what happened to it in ``at``, ends as one that was left alone."""
        code, said = self.ended(name, at)
        assert code in COMMANDS[name].codes, f"{where}: exit {code}\n{said}"
        assert COMMANDS[name].left(at) == expected, where


def make_scene(folder: Path, *, cases: bool) -> Scene:
    """Items, and with ``cases`` three builds and a case that ran on one; skips where there is no C compiler."""
    if sys.platform != "linux" or (compiler := shutil.which("cc")) is None:
        pytest.skip("no C compiler, or no LD_PRELOAD")
    library = folder / "faults.so"
    source = Path(__file__).with_suffix(".c")
    subprocess.run([compiler, "-shared", "-fPIC", "-O1", "-o", library, source, "-ldl"], check=True)
    checkout(folder / "checkout", {"own_case": CASE} if cases else {})
    (folder / "checkout" / "models").symlink_to(ROOT / "models")
    surroundings = {"PYTHONPATH": str(folder / "checkout" / "pipeline")}
    if cases:
        surroundings["EMBERS_BUILDS_DIR"] = str(registered(folder, BAD, GOOD, NEW).folder)
    scene = Scene(folder / "filled", library, surroundings)
    scene.folder.mkdir()
    with (scene.folder / "items.jsonl").open("w") as stream:
        for number, text in TEXTS.items():
            dates = {"created_at": "2024-01-01T00:00:00Z", "updated_at": "2024-01-02T00:00:00Z"}
            stream.write(json.dumps({"number": number, "title": text, "body": text, "state": "open", **dates}) + "\n")
    for words in [COMMANDS["mine"].words, *([["run", "--build", GOOD]] if cases else [])]:
        code, said = scene.ended_by(words, scene.folder)
        assert code == 0, said
    return scene


def assert_faults_are_survived(scene: Scene, name: str, faults: Sequence[dict[str, str]], place: Path) -> None:
    """Each fault at a step of its own, drawn over the whole command; afterwards it ends as one that was left alone."""
    expected, steps = scene.alone(name, place / "alone")
    chosen = sorted(random.Random(steps).sample(range(1, steps + 1), len(faults)))
    for step, fault in zip(chosen, faults, strict=True):
        folder = scene.copy(name, place / f"at{step}")
        where = f"{name}: {fault} at step {step} of {steps}"
        got, line = scene.ended(name, folder, FAULT_AT=str(step), **fault)
        killed = {-9} if fault == KILL else set()
        assert got in {*killed, *COMMANDS[name].codes, *CODES}, f"{where}: exit {got}\n{line}"
        assert "Traceback" not in line, f"{where}\n{line}"
        scene.assert_it_ends(name, folder, expected, where)
        shutil.rmtree(folder)
