"""What `embers search --like` and `embers search` print."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_embers import console
from torch_embers.json_output import print_json
from torch_embers.search.rules import SearchRules
from torch_embers.store.item_lists import item_verdict_text, print_items
from torch_embers.store.listing import ItemFilter, list_items

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch_embers.search.command import Found, Hit
    from torch_embers.store.store import Store

_KEYS = ("repo", "number", "title", "state", "verdict", "release", "verdict_speaks_of", "another_occurs", "address")


def print_found(store: Store, found: Found, *, as_json: bool, urls: bool = False) -> None:
    """Print a line a hit with what is known of the item; what was left out goes to standard error."""
    wanted = ItemFilter(items=tuple(f"{hit.repo}#{hit.number}" for hit in found.hits))
    known = (
        {(row["repo"], row["number"]): row for row in list_items(store, wanted, columns=_KEYS)} if found.hits else {}
    )
    hits = [(hit, known[hit.repo, hit.number]) for hit in found.hits if (hit.repo, hit.number) in known]
    if found.note:
        console.stderr().print(f"note: {found.note}")
    if as_json:
        entries = [{"score": hit.cosine, "words": hit.words, "linked": hit.linked} for hit, _ in hits]
        print_json([score | {key: row[key] for key in _KEYS} for score, (_, row) in zip(entries, hits, strict=True)])
        return
    shown = [row for _, row in hits]
    scores = {
        "linked": [None if hit.linked is None else f"{hit.linked:.0%}" for hit, _ in hits],
        "similarity": [None if hit.cosine is None else f"{hit.cosine:.2f}" for hit, _ in hits],
        "keyword\nscore": [None if hit.words is None else f"{hit.words:.0f}" for hit, _ in hits],
    }
    columns = {
        **{name: [cell or "-" for cell in cells] for name, cells in scores.items() if any(cells)},
        "verdict": [item_verdict_text(row) for row in shown],
        "state": [row["state"] or "" for row in shown],
        "title": [row["title"] or "" for row in shown],
    }
    print_items(shown, columns, urls=urls)


def print_duplicates(hits: Sequence[Hit]) -> None:
    """Print the items that a triager would probably link; nothing where there are none."""
    out = console.stdout()
    if hits:
        out.print(f"\nPossible duplicates ({SearchRules.load().duplicates.measured})")
    for hit in hits:
        nearness = f"similarity {hit.cosine:.2f}"
        out.print(f"  {console.plain(f'{hit.repo}#{hit.number} {hit.title} ({nearness})')}")
