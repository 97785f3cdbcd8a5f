"""An item as it is shown to the person who labels it; control characters of its texts never reach the terminal."""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rich.text import Text

from torch_embers.annotate.queue import tables
from torch_embers.classify.show import answer
from torch_embers.classify.text import clean
from torch_embers.escaping import visible

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from rich.console import Console

    from torch_embers.annotate.session import Key
    from torch_embers.store.store import Store

RAW_CHARS, THREAD_CHARS = 60_000, 60_000
"""What is shown of one item at most; a person decides long before."""
COMMENTS = 200
"""Characters of no width or that turn the direction of writing: in a terminal they only hide or reorder."""


@dataclass(frozen=True, slots=True)
class ItemView:
    """An item as a person sees it."""

    item: Key
    title: str
    state: str
    labels: tuple[str, ...]
    cleaned: str
    raw: str
    guesses: Mapping[str, str]
    """Scheme -> what the model thinks, in words."""


def load(store: Store, item: Key) -> ItemView:
    """Read an item with its thread and the model's guesses."""
    key = {"repo": item[0], "number": item[1]}
    with store.read() as connection:
        names = tables(connection)
        rows = connection.execute(
            "SELECT kind, title, body, state, state_reason, labels, created_at FROM items "
            "WHERE repo = $repo AND number = $number",
            key,
        ).fetchall()
        comments = connection.execute(
            "SELECT author, created_at, body FROM comments WHERE repo = $repo AND number = $number "
            f"AND trim(coalesce(body, '')) <> '' ORDER BY created_at, comment_id LIMIT {COMMENTS}",
            key,
        ).fetchall()
        guesses = connection.execute(
            f"SELECT scheme, likeliest, probability, abstained FROM {names['predictions']} "
            "WHERE repo = $repo AND number = $number",
            key,
        ).fetchall()
    kind, title, body, state, reason, labels, created = rows[0] if rows else (None, "", "", "gone", None, None, None)
    words = (kind or "item", state or "state unknown", reason, created and f"{created:%Y-%m-%d}")
    return ItemView(
        item,
        title or "(no title)",
        " · ".join(word for word in words if word),
        tuple(labels or ()),
        _thread(body or "", comments, cleaned=True),
        _thread(body or "", comments, cleaned=False),
        _guesses(guesses),
    )


def _guesses(rows: Iterable[tuple[str, str, float, bool]]) -> dict[str, str]:
    """The model's guesses by scheme; several where any number of classes may hold."""
    guesses: dict[str, list[str]] = defaultdict(list)
    for scheme, value, probability, abstained in rows:
        guesses[scheme].append(_guess(value, probability, abstained))
    return {scheme: ", ".join(words) for scheme, words in guesses.items()}


def _guess(value: str, probability: float, abstained: bool) -> str:
    said = answer(None if abstained else value, value)
    return f"{said} {probability:.0%}" if math.isfinite(probability) else said


def _thread(body: str, comments: Iterable[tuple[Any, ...]], *, cleaned: bool) -> str:
    """The first post and the comments below it, up to a limit that bounds the work, too."""
    limit = THREAD_CHARS if cleaned else RAW_CHARS
    parts = [(clean(body) if cleaned else body[:limit]).strip() or "(no text)"]
    size = len(parts[0])
    for author, created, said in comments:
        if size >= limit:
            parts.append("(more comments are not shown)")
            break
        text = clean(said, reply=True) if cleaned else said[: limit - size]
        if text.strip():
            when = f", {created:%Y-%m-%d}" if created else ""
            parts.append(f"--- {author or 'somebody'}{when} ---\n{text.strip()}")
            size += len(text)
    return "\n\n".join(parts)


def shown_text(text: str, style: str = "") -> Text:
    """Untrusted text that is safe for a terminal: no control characters, no markup, nothing invisible."""
    return Text(visible(text), style=style)


def wrapped(text: str, out: Console) -> list[Text]:
    """Untrusted text in lines that fit the terminal."""
    return list(shown_text(text).wrap(out, max(out.width, 20), overflow="fold", tab_size=4))
