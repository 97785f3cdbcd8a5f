"""Text of strangers on its way out: no terminal, spreadsheet or GitHub page may obey it, whatever command prints it."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import duckdb
import pytest

from helpers.escaping import (
    COMMANDS,
    EVIL,
    NOT_STORED,
    cells,
    store,  # noqa: F401 - fixtures
    unseen,
)
from support import run_embers
from torch_embers import escaping

if TYPE_CHECKING:
    from pathlib import Path

    from torch_embers.store.store import Store


@pytest.mark.parametrize("arguments", COMMANDS.values(), ids=COMMANDS.keys())
@pytest.mark.parametrize("width", ["160", "60"])
def test_no_command_lets_text_of_strangers_steer_a_terminal(
    store: Store, arguments: tuple[object, ...], width: str
) -> None:
    done = run_embers(*arguments, "--database", store.path, COLUMNS=width)
    assert done.returncode in (0, 3, 5), done.stderr
    assert unseen(done.stdout + done.stderr) == set()
    assert "\r" not in done.stdout


def test_no_exported_cell_is_a_formula_and_programs_get_the_text_as_it_came(store: Store, tmp_path: Path) -> None:
    evil = EVIL.translate(NOT_STORED)
    for form in ("csv", "jsonl", "parquet"):
        assert run_embers("export", "--to", tmp_path, "--format", form, "--database", store.path).returncode == 0
    found = list(cells(tmp_path))
    assert sum("[red]x[/red]" in cell for cell in found) > 10
    for cell in found:
        assert unseen(cell) == set()
        assert not re.match(r"[=+\-@\t\r\n]", cell) or re.fullmatch(escaping.NUMBER, cell), cell
    [first, _] = [json.loads(line) for line in (tmp_path / "items.jsonl").read_text(encoding="utf-8").splitlines()]
    assert first["title"] == evil
    path = tmp_path / "items.parquet"
    assert duckdb.execute(f"SELECT title FROM '{path}' WHERE number = 1").fetchall() == [(evil,)]
