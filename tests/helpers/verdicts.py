"""Builds, decisions and cells as if something had been measured; and small builds that can be run."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from support import fake_python
from torch_embers.builds.registry import Build, Registry
from torch_embers.verdicts.ledger import Cell
from torch_embers.verdicts.verdict import Control, Decision

if TYPE_CHECKING:
    from torch_embers.cases.case import Case
    from torch_embers.verdicts.verdict import Verdict

NONE = Control()


def build_of(version: str, **more: Any) -> Build:
    """A build that nobody installed."""
    known = {"name": version, "version": version, "git_commit": "c" * 40, "channel": "release"}
    return Build(**known | {"platform": "linux-x86_64", "python": Path("python"), "python_version": "3.11.7"} | more)


def decision_of(verdict: Verdict, control: Control = NONE, hits: int = 0, runs: int = 4) -> Decision:
    """A decision over so many runs."""
    return Decision(verdict, hits not in (0, runs), hits, runs, None, control, "seen", None)


def cell_of(case: Case, build: Build, made: Decision, *, fresh: bool = True) -> Cell:
    """A case on a build."""
    return Cell(case, build, "here", "reviewed", 0, made, fresh)


def registered(folder: Path, *versions: str) -> Registry:
    """A registry of small builds, whose interpreters lie beside it."""
    registry = Registry(folder / "registry")
    for version in versions:
        registry.register(fake_python(folder / version, version))
    return registry
