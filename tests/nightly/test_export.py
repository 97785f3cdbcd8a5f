"""Exports: the same rows in every format, whole files only, also while a writer is at work."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from typing import TYPE_CHECKING

import pandas as pd

from torch_embers.store.export import TABLES, export
from torch_embers.store.store import Store

if TYPE_CHECKING:
    from pathlib import Path


def test_every_table_is_one_whole_file_also_in_a_folder_named_like_sql(catalog_template: Path, tmp_path: Path) -> None:
    store, folder = Store(catalog_template), tmp_path / "new" / "o'hara\"); DROP TABLE items; --"
    done = export(store, folder, "csv")
    assert {path.name for path in folder.iterdir()} == {f"{table}.csv" for table in TABLES}
    assert "raw" not in TABLES, "these on request only"
    with store.read() as connection:
        for one in done:
            assert connection.execute(f"SELECT count(*) FROM {one.table}").fetchall() == [(one.rows,)], one.table


WRITE_ON = """
    import sys
    from pathlib import Path
    from torch_embers.store.store import Store
    with Store(Path(sys.argv[1])).writer("embers mine", create=True) as writer:
        number = 0
        while True:
            number += 1
            with writer.transaction() as connection:
                made = "INSERT INTO items (repo, number, title) VALUES ('o/r', $1, 't'), ('o/s', $1, 't')"
                connection.execute(made, [number])
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
