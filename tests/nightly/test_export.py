"""Exports: the same rows in every format, whole files only, also while a writer is at work."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from typing import TYPE_CHECKING

import pandas as pd
import pytest

from helpers.export import store  # noqa: F401 - fixtures
from torch_embers.store.export import FORMATS, TABLES, export
from torch_embers.store.store import Store

if TYPE_CHECKING:
    from pathlib import Path


def counts(store: Store) -> dict[str, int]:
    with store.read() as connection:
        found = {}
        for table in TABLES:
            [(found[table],)] = connection.execute(f"SELECT count(*) FROM {table}").fetchall()
    return found


@pytest.mark.parametrize("form", FORMATS)
def test_every_table_is_one_whole_file(store: Store, tmp_path: Path, form: str) -> None:
    done = export(store, tmp_path / "new" / "folder", form)
    assert {p.name for p in (tmp_path / "new" / "folder").iterdir()} == {f"{t}.{form}" for t in TABLES}
    assert {d.table: d.rows for d in done} == counts(store)
    assert all(d.path.is_file() for d in done)


WRITE_ON = """
    import sys
    from pathlib import Path
    from torch_embers.store.records import Batch, Item
    from torch_embers.store.store import Store
    with Store(Path(sys.argv[1])).writer("embers mine", create=True) as writer:
        number = 0
        while True:
            number += 1
            writer.commit(Batch(items=[Item("o/r", number, title="t"), Item("o/s", number, title="t")]))
            if number == 1:
                print("ready", flush=True)
"""


def test_an_export_beside_an_active_writer_holds_whole_batches(tmp_path: Path) -> None:
    path = tmp_path / "e.duckdb"
    command = [sys.executable, "-c", textwrap.dedent(WRITE_ON), str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as writer:
        try:
            assert writer.stdout is not None
            assert writer.stdout.readline().strip() == "ready"
            for attempt in range(4):
                [done] = export(Store(path), tmp_path / str(attempt), "parquet", ("items",))
                per_repo = pd.read_parquet(done.path).groupby("repo").size()
                assert per_repo["o/r"] == per_repo["o/s"]
            assert writer.poll() is None
        finally:
            writer.kill()
