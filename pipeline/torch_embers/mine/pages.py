"""Raw pages as sources wrap them, and the records of a page that cannot be used."""

from __future__ import annotations

import hashlib

from torch_embers.normalize import clean_text, now_utc
from torch_embers.store.records import RAW_KEPT, Page, Reject


def make_page(repo: str, source: str, kind: str, request: str, body: bytes, fetched_at: str | None = None) -> Page:
    """Wrap raw bytes as a page; its id is a hash of its content, its place and its time."""
    fetched_at = fetched_at or now_utc()
    digest = hashlib.blake2b(digest_size=8)
    for part in (repo, source, kind, request, fetched_at):
        digest.update(part.encode("utf-8", "surrogatepass") + b"\0")
    digest.update(body)
    return Page(digest.hexdigest(), repo, source, kind, request, fetched_at, body)


def reject(page: Page, line: int | None, reason: str, raw: str | bytes) -> Reject:
    """A record of a page that is set aside with the reason."""
    text = raw[: RAW_KEPT * 4].decode("utf-8", "replace") if isinstance(raw, bytes) else raw
    return Reject(page.request, line, clean_text(reason), clean_text(text[:RAW_KEPT]), **page.stamp)
