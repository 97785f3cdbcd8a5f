"""What `embers search --like` and `embers search` print."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_embers import console
from torch_embers.json_output import print_json
from torch_embers.store.listing import ItemFilter, list_items
from torch_embers.store.show import item_verdict_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch_embers.search.command import Found
    from torch_embers.search.duplicates import Hit
    from torch_embers.store.store import Store

_KEYS = ("repo", "number", "title", "state", "verdict", "release", "verdict_speaks_of", "another_occurs", "address")


LINE = "\n"
"""Between a verdict and its mark, so that the address fits into 80 columns."""


def print_found(store: Store, found: Found, *, as_json: bool) -> None:
    """Print hits with what is known of the items; what was left out goes to standard error."""
    wanted = ItemFilter(items=tuple(f"{hit.repo}#{hit.number}" for hit in found.hits))
    known = {(row["repo"], row["number"]): row for row in list_items(store, wanted)} if found.hits else {}
    hits = [(hit, known[hit.repo, hit.number]) for hit in found.hits if (hit.repo, hit.number) in known]
    if found.note:
        console.stderr().print(f"note: {found.note}")
    if as_json:
        entries = [{"score": hit.cosine, "words": hit.words, "linked": hit.linked} for hit, _ in hits]
        print_json([score | {key: row[key] for key in _KEYS} for score, (_, row) in zip(entries, hits, strict=True)])
        return
    rows = [
        (
            f"{_score(hit)}\n{'-' if hit.words is None else f'{hit.words:.0f}'}",
            f"{row['state'] or 'unknown'}\n{item_verdict_text(row, between=LINE)}",
            f"{row['title'] or ''}\n{row['address']}",
        )
        for hit, row in hits
    ]
    columns = [("score", True), ("state, verdict", False), ("title and address", False)]
    console.stdout().print(console.table("", columns, rows))


def _score(hit: Hit) -> str:
    """The cosine, and where it is known, how many of such pairs belong together."""
    cosine = "-" if hit.cosine is None else f"{hit.cosine:.2f}"
    return cosine if hit.linked is None else f"{hit.linked:.0%} {cosine}"


def print_duplicates(hits: Sequence[Hit]) -> None:
    """Print the items that a triager would probably link; nothing where there are none."""
    out = console.stdout()
    if hits:
        out.print("\nPossible duplicates")
    for hit in hits:
        nearness = f"cosine {hit.cosine:.2f}; {hit.linked:.0%} of such pairs belong together"
        out.print(f"  {console.plain(f'{hit.repo}#{hit.number} {hit.title} ({nearness})')}")
