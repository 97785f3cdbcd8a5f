"""Raw pages as sources wrap them."""

from __future__ import annotations

import hashlib

from torch_embers.normalize import now_utc
from torch_embers.store.records import Page


def make_page(repo: str, source: str, kind: str, request: str, body: bytes, fetched_at: str | None = None) -> Page:
    """Wrap raw bytes as a page; its id follows from what it is, where it came from and when."""
    fetched_at = fetched_at or now_utc()
    digest = hashlib.blake2b(digest_size=8)
    for part in (repo, source, kind, request, fetched_at):
        digest.update(part.encode("utf-8", "surrogatepass") + b"\0")
    digest.update(body)
    return Page(digest.hexdigest(), repo, source, kind, request, fetched_at, body)
