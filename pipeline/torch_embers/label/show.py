"""What `embers data label` does and prints."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_embers.console import plain, print_next, stdout
from torch_embers.label import check_rule, sheet
from torch_embers.taxonomy import Taxonomy

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from torch_embers.store.store import Store


def export_sheet(
    store: Store, path: Path, names: Sequence[str], annotator: str | None, limit: int, *, blind: bool
) -> None:
    """Write a sheet, and say how it is filled in."""
    out = stdout()
    count = sheet.write(store, path, names, annotator, limit, blind=blind)
    if not count:
        out.print("nothing is left to label here, no sheet was written: `embers mine` brings more items")
        return
    out.print(f"{count:,} items in {plain(path)}, the most useful to label first. Each answer is one of:")
    taxonomy = Taxonomy.load()
    for name in sheet.asked(taxonomy, names):
        out.print(f"  {name}: {', '.join(taxonomy.scheme(name).names())}")
    print_next(
        f"fill in rows (a memory type only under memory, {sheet.UNDECIDED} where the report does not tell), then "
        f"`embers data label import {path} --annotator NAME`"
    )


def import_sheet(store: Store, path: Path, annotator: str) -> None:
    """Take a sheet, and say what was written."""
    out = stdout()
    annotator = sheet.valid_annotator(store, annotator)
    filled = sheet.read(store, path)
    if filled.ignored:
        out.print(f"columns that are not read: {plain(', '.join(filled.ignored))}")
    if not filled.rows:
        out.print(f"nothing is filled in in {plain(path)}: nothing was written")
        return
    labels, items = sheet.keep(store, filled, annotator), len(filled.rows)
    out.print(
        f"{labels:,} labels of {items:,} items by {plain(annotator)}; rows without an answer: {filled.unfilled:,}"
    )
    print_next("`embers classify --train` learns from them, `embers research evaluate` says how far annotators agree")


def print_rules(store: Store, path: Path) -> None:
    """Say what labelling rules would do."""
    items, effects = check_rule.effects(store, check_rule.read(path))
    for one in effects:
        for line in check_rule.sentences(items, one):
            stdout().print(plain(line))
