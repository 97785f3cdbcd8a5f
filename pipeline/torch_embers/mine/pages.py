"""Pages and the small text and time rules that every source shares."""

from __future__ import annotations

import hashlib
import re
from datetime import UTC, datetime

from torch_embers.store.records import Page

_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")
REPLACEMENT = "\ufffd"


def now_utc() -> str:
    """The current time as ISO 8601 text in UTC, to the microsecond."""
    return datetime.now(UTC).isoformat().replace("+00:00", "Z")


def clean_text(text: str) -> str:
    """Replace what UTF-8 or C strings downstream cannot carry (lone surrogates, NUL) by U+FFFD."""
    if text.isascii() and "\x00" not in text:
        return text
    return _UNSTORABLE.sub(REPLACEMENT, text)


def iso_utc(value: object) -> str | None:
    """Normalise a time to ISO 8601 text in UTC; ``None`` for anything that is no time.

    A text without an offset is taken as UTC, as every source read here means it.
    """
    if not isinstance(value, str) or not value:
        return None
    try:
        moment = datetime.fromisoformat(value.strip())
    except ValueError:
        return None
    if moment.tzinfo is UTC:
        return value if len(value) == 20 and value[10] == "T" and value[19] == "Z" else _text(moment)
    if moment.tzinfo is not None:
        try:
            moment = moment.astimezone(UTC)
        except OverflowError:
            return None
    return _text(moment)


def _text(moment: datetime) -> str:
    return moment.replace(tzinfo=None).isoformat() + "Z"


def make_page(repo: str, source: str, kind: str, request: str, body: bytes, fetched_at: str | None = None) -> Page:
    """Wrap raw bytes as a page; its id follows from what it is, where it came from and when."""
    fetched_at = fetched_at or now_utc()
    digest = hashlib.blake2b(digest_size=8)
    for part in (repo, source, kind, request, fetched_at):
        digest.update(part.encode("utf-8", "surrogatepass") + b"\0")
    digest.update(body)
    return Page(digest.hexdigest(), repo, source, kind, request, fetched_at, body)
