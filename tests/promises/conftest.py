"""What the promises share, each made once in a test session."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from promises.driver import (
    BOTH,
    NOWHERE,
    ROOT,
    Tracker,
    add_builds,
    case,
    checkout,
    embers,
    environment,
    fix,
    issue,
    json_lines,
)
from support import made_once

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def tracker() -> Iterator[Tracker]:
    """A tracker of ours, as it is at first."""
    with Tracker() as started:
        yield started


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What `make mine classify` leaves on a machine without network, and what it printed; read it or copy it."""

    def make(folder: Path) -> None:
        folder.mkdir()
        # the virtual environment is that of the tests, and taken as finished
        finished = ["-o", ".venv/.installed", "-o", ".venv/.classify"]
        words = ["make", "-s", f"BIN={Path(sys.executable).parent}", *finished, "mine", "classify"]
        surroundings = environment(EMBERS_DATABASE=str(folder / "embers.duckdb"), **NOWHERE)
        done = subprocess.run(words, cwd=ROOT, env=surroundings, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
        (folder / "printed").write_text(done.stdout + done.stderr, encoding="utf-8")

    return made_once(tmp_path_factory, "promised-made", make)


@pytest.fixture(scope="session")
def catalog(made: Path) -> Path:
    """The database of the embedded catalog, labelled; never write to it."""
    return made / "embers.duckdb"


@pytest.fixture(scope="session")
def sandbox() -> None:
    """Skip where scripts cannot be run in a sandbox; fail instead where it is required."""
    if shutil.which("bwrap") is None and os.environ.get("EMBERS_REQUIRE_SANDBOX") != "1":
        pytest.skip("bubblewrap is not installed")


CASES = {
    "pt1_wrong_sum": case(1, ["2.0.1"]),
    "pt2_seen_nowhere": case(2, op="mul"),
    "pt3_lacks_operator": case(3, ["2.0.1"], op="sub"),
    "pt4_control_is_clean": case(4, ["2.0.1"], op="mul"),
    "pt5_now_and_then": case(5, ["2.0.1"]).replace(
        "torch.add(5, 1)", "torch.add(5, 1) if int(os.environ['EMBERS_SEED']) % 2 else 6"
    ),
}
"""2.0.1 adds wrongly, 2.1.2 adds right; both multiply right, and neither subtracts. Issue 5 is not mined."""


@pytest.fixture(scope="session")
def small(tmp_path_factory: pytest.TempPathFactory, sandbox: None) -> dict[str, str]:
    """Settings of a checkout whose cases are ours alone, with the builds 2.0.1 and 2.1.2."""

    def make(folder: Path) -> None:
        folder.mkdir()
        checkout(folder / "checkout", CASES)

    folder = made_once(tmp_path_factory, "promised-small", make)
    builds = made_once(
        tmp_path_factory,
        "promised-builds",
        lambda at: add_builds(at.with_name("promised-pythons"), at, v2_0_1=1, v2_1_2=0),
    )
    return {"PYTHONPATH": str(folder / "checkout" / "pipeline"), "EMBERS_BUILDS_DIR": str(builds)}


@pytest.fixture(scope="session")
def ran(tmp_path_factory: pytest.TempPathFactory, small: dict[str, str]) -> Path:
    """A database of issues 1 to 4, closed as fixed, whose cases ran on both builds; read it or copy it."""

    def make(path: Path) -> None:
        records = [one for n in range(1, 5) for one in (issue(n), fix(n + 100, n))]
        source = json_lines(path.with_name("issues.jsonl"), *records)
        embers("mine", "--source", "jsonl", source, "--database", path, **small)
        embers("run", *BOTH, "--database", path, **small)

    return made_once(tmp_path_factory, "promised-ran.duckdb", make)
