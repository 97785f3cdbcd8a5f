"""What `embers export --dataset` prints."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_embers.console import plain, size_text, stdout, table

if TYPE_CHECKING:
    from torch_embers.dataset.publish import Published


def print_published(done: Published) -> None:
    """Print tables with rows and sizes, the version, and the two lines that load the dataset."""
    out = stdout()
    columns = [("table", False), ("rows", True), ("Parquet", True), ("CSV", True)]
    rows = [(name, count, size_text(parquet), size_text(csv)) for name, count, parquet, csv in done.tables]
    out.print(table("", columns, rows))
    out.print(
        f"\n{plain(done.folder)}: {done.files} files, {size_text(done.size)}, version {done.version}", soft_wrap=True
    )
    counted = ", ".join(f"{count:,} {provenance}" for provenance, count in sorted(done.verdicts.items()))
    out.print(f"verdicts: {counted or 'none'}" + ("" if done.verdicts.get("own") else "; `embers run` makes your own"))
    out.print(f"\n{plain(done.load)}", soft_wrap=True)
