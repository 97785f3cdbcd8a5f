"""What the tests in test_archive.py share."""

from __future__ import annotations

import gzip
import json
from typing import TYPE_CHECKING, Any

from torch_embers.mine.files.archive import ArchiveSource, read_archive
from torch_embers.mine.files.archive_events import PAGE_KIND
from torch_embers.mine.pages import make_page
from torch_embers.store.records import Batch

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

REPO = "pytorch/pytorch"
NOON = "2024-01-23T12:00:00Z"
LATER = "2024-01-23T12:30:00Z"


def event(kind: str, payload: Mapping[str, Any], **changes: Any) -> dict[str, Any]:
    base = {"id": "77", "type": kind, "actor": {"login": "ann"}, "repo": {"id": 1, "name": REPO}}
    return {**base, "payload": payload, "public": True, "created_at": NOON, **changes}


def issue(number: int = 5, **changes: Any) -> dict[str, Any]:
    base = {"number": number, "title": "T", "body": "B", "state": "open", "user": {"login": "bob"}}
    return {**base, "labels": [{"name": "module: mps"}], "updated_at": NOON, "comments": 3, **changes}


def line(content: Mapping[str, Any]) -> bytes:
    return json.dumps(content, separators=(",", ":")).encode()


def read(*events: Mapping[str, Any] | bytes) -> Batch:
    """The records of one page of these lines."""
    raws = [given if isinstance(given, bytes) else line(given) for given in events]
    body = b"".join(b"%d\t%b\n" % (number, raw) for number, raw in enumerate(raws, 1))
    return read_archive(make_page(REPO, "archive", PAGE_KIND, "hour", body))


def write_hour(path: Path, *events: Mapping[str, Any] | bytes) -> bytes:
    text = b"".join((given if isinstance(given, bytes) else line(given)) + b"\n" for given in events)
    path.write_bytes(gzip.compress(text))
    return text


def mine(paths: list[str], state: dict[str, str] | None = None, **window: str) -> tuple[Batch, dict[str, str]]:
    """Everything of one run, and the cursors after it; each page must read back to the same records."""
    total, cursors = Batch(), dict(state or {})
    for batch in ArchiveSource(REPO, paths, **window).batches(cursors):
        assert len(batch.pages) <= 1
        for page in batch.pages:
            again = read_archive(page)
            assert (again.items, again.events, again.comments, again.rejects) == (
                batch.items,
                batch.events,
                batch.comments,
                batch.rejects,
            )
        cursors.update({cursor.stream: cursor.cursor for cursor in batch.cursors})
        total.extend(batch)
    return total, cursors


# --- files -----------------------------------------------------------------------------------------------


def hours(folder: Path, count: int = 3) -> list[Path]:
    paths = [folder / f"2024-01-23-{hour}.json.gz" for hour in (9, 10, 11)[:count]]
    for number, path in enumerate(paths, 1):
        write_hour(path, event("IssuesEvent", {"issue": issue(number=number)}, id=str(number)))
    return paths
