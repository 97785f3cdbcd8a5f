"""What the tests in test_study.py share."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import mini_study
from torch_embers import cli

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


ANALYSIS = Path(__file__).resolve().parents[2] / "analysis"


# ---- the command ---------------------------------------------------------------------------------------------------------


def run(*arguments: str) -> int:
    """The exit code of a command."""
    with pytest.raises(SystemExit) as stop:
        cli.main(list(arguments))
    return int(stop.value.code or 0)


@pytest.fixture(scope="module")
def mini(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The database counted by hand as a file."""
    path = tmp_path_factory.mktemp("study") / "mini.duckdb"
    mini_study.database(path=path).close()
    return path


@pytest.fixture
def study(mini: Path, tmp_path: Path) -> Iterator[Callable[..., int]]:
    """The command on that file; writes to the folder ``out``."""

    def call(*arguments: str, out: str = "out") -> int:
        day = () if arguments == ("claims",) else ("--as-of", "2026-06-30")
        return run("study", *arguments, "--database", str(mini), "--out", str(tmp_path / out), *day)

    with mini_study.small_facts():
        yield call
