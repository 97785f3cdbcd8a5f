"""A fault at every step that changes a file: the n-th write, sync, rename or open of a command fails, or kills it.

Afterwards the same command ends as one that was left alone: nothing is lost, nothing stands twice. SQLite tests itself
so (https://www.sqlite.org/testing.html).
"""

from __future__ import annotations

import errno
import json
import os
import random
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

from helpers.executor import BAD, GOOD, NEW
from helpers.verdicts import registered
from support import CASE_CODE, case_text, snapshot

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = [pytest.mark.timeout(1800), pytest.mark.skipif(sys.platform != "linux", reason="LD_PRELOAD")]

STEPS = int(os.environ.get("STEPS", "8"))
"""How many steps of a command are tried, each with one of the faults in turn."""
FAULTS: list[dict[str, str]] = [
    {"FAULT": "kill"},
    {"FAULT": str(errno.ENOSPC), "FAULT_STAYS": "1"},
    {"FAULT": str(errno.EIO)},
    {"FAULT": str(errno.EDQUOT), "FAULT_STAYS": "1"},
    {"FAULT": str(errno.EINTR)},
]
CODES = {3, 5, 6}
"""With which a command says that something could not be written."""
TEXTS = {1: "wrong gradient, see #2", 2: "segfault in conv: fixes #1", 3: "index is out of range"}
CASE = case_text(
    CASE_CODE.replace("sum([1, -1])", f"3 * (__import__('torch').__version__ == {BAD!r})"), known_bad=[BAD]
)


class Command(NamedTuple):
    """A command of embers below a folder that holds a database, and what it leaves that does not depend on the time."""

    words: list[str]
    left: Callable[[Path], Any]


def tables(folder: Path) -> Any:
    return snapshot(folder / "e.duckdb")


def predictions(folder: Path) -> Any:
    return snapshot(folder / "e.duckdb", ["predictions"], ["predicted_at"])


def verdicts(folder: Path) -> Any:
    times = ["ran_at", "decided_at", "written", "duration", "cpu", "peak_memory", "zygote", "waited"]
    return snapshot(folder / "e.duckdb", ["verdicts", "runs"], times)


def site(folder: Path) -> Any:
    """Names of all files below the folder; nothing but the report and the database is left there."""
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.suffix not in (".turn", ".lock"))


def exported(folder: Path) -> Any:
    return [(path.name, path.read_bytes()) for path in sorted((folder / "out").glob("*.csv"))]


COMMANDS = {
    "mine": Command(["mine", "--source", "jsonl", "{folder}/items.jsonl", "--repo", "o/r"], tables),
    "classify": Command(["classify"], predictions),
    "report": Command(["report", "--out", "{folder}/site"], site),
    "export": Command(["data", "export", "--to", "{folder}/out", "--format", "csv"], exported),
    "run": Command(["run", "--cases", "{folder}/cases", "--build", BAD, "--build", GOOD, "--jobs", "1"], verdicts),
    "bisect": Command(["bisect", "own_case", "--bad", BAD, "--good", NEW, "--jobs", "1"], verdicts),
}


@pytest.fixture(scope="module")
def faulty(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The library that makes faults."""
    if (compiler := shutil.which("cc")) is None:
        pytest.skip("no C compiler")
    library = tmp_path_factory.mktemp("library") / "faults.so"
    source = Path(__file__).parents[1] / "helpers" / "write_faults.c"
    subprocess.run([compiler, "-shared", "-fPIC", "-O1", "-o", library, source, "-ldl"], check=True)
    return library


@pytest.fixture(scope="module")
def builds(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return registered(tmp_path_factory.mktemp("builds"), BAD, GOOD, NEW).folder


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory, builds: Path) -> Path:
    """A folder with items, a case, and a database with both."""
    folder = tmp_path_factory.mktemp("filled")
    (folder / "cases").mkdir()
    (folder / "cases" / "own_case.py").write_text(CASE)
    with (folder / "items.jsonl").open("w") as stream:
        for number, text in TEXTS.items():
            dates = {"created_at": "2024-01-01T00:00:00Z", "updated_at": "2024-01-02T00:00:00Z"}
            stream.write(json.dumps({"number": number, "title": text, "body": text, "state": "open", **dates}) + "\n")
    assert ended(folder, builds, COMMANDS["mine"].words) == (0, "")
    assert ended(folder, builds, ["run", "--cases", "{folder}/cases", "--build", NEW]) == (0, "")
    return folder


def ended(folder: Path, builds: Path, words: list[str], **fault: str) -> tuple[int, str]:
    """Exit code and standard error of a command."""
    named = [word.format(folder=folder) for word in words]
    command = [sys.executable, "-m", "torch_embers", *named, "--database", str(folder / "e.duckdb")]
    surroundings = {**os.environ, "EMBERS_BUILDS_DIR": str(builds), "NO_COLOR": "1", **fault}
    done = subprocess.run(command, env=surroundings, capture_output=True, text=True, check=False)
    return done.returncode, "" if done.returncode == 0 else done.stderr


@pytest.mark.parametrize("name", COMMANDS)
def test_after_a_fault_the_same_command_ends_as_one_that_was_left_alone(
    name: str, faulty: Path, filled: Path, builds: Path, tmp_path: Path
) -> None:
    words, left = COMMANDS[name]
    alone = shutil.copytree(filled, tmp_path / "alone")
    if name == "mine":
        (alone / "e.duckdb").unlink()
    load = {"LD_PRELOAD": str(faulty), "FAULT_COUNT": str(tmp_path / "count")}
    code, said = ended(alone, builds, words, FAULT_FOLDER=str(alone), **load)
    expected, steps = left(alone), int((tmp_path / "count").read_text())
    assert said == "" or code == 11, said
    assert steps > STEPS
    chosen = sorted(random.Random(steps).sample(range(1, steps + 1), STEPS))
    for place, step in enumerate(chosen):
        folder = shutil.copytree(filled, tmp_path / f"at{step}")
        if name == "mine":
            (folder / "e.duckdb").unlink()
        fault = FAULTS[place % len(FAULTS)]
        where = f"{name}: {fault} at step {step} of {steps}"
        got, line = ended(folder, builds, words, FAULT_FOLDER=str(folder), FAULT_AT=str(step), **fault, **load)
        assert got in {-9 if fault["FAULT"] == "kill" else code, code, *CODES}, f"{where}: exit {got}\n{line}"
        assert "Traceback" not in line, f"{where}\n{line}"
        assert ended(folder, builds, words) == (code, said), where
        assert left(folder) == expected, where
        shutil.rmtree(folder)
