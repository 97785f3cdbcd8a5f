"""Brings the table ``scripts`` up to date: one row for every issue, with its script or the reason why there is none.

Texts are read once: a row remembers their hash and the version of the rules. Each batch is one transaction, so that an
interrupted run goes on where it stopped.
"""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from torch_embers.extract import extract_rules
from torch_embers.extract.reading import read
from torch_embers.extract.script import NoScript, ReportText
from torch_embers.normalize import now_utc
from torch_embers.store import rows

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from torch_embers.extract.script import Script
    from torch_embers.progress import Progress
    from torch_embers.store.store import Store
    from torch_embers.store.writer import Writer

BATCH = 200


_TO_READ = """
SELECT i.repo, i.number, t.hash
FROM items i
JOIN (
    SELECT repo, number, md5(concat_ws(chr(10), title, body, body IS NULL,
        (SELECT string_agg(md5(m.body), ',' ORDER BY m.created_at, m.comment_id) FROM comments m
         WHERE m.repo = items.repo AND m.number = items.number))) AS hash
    FROM items
) t USING (repo, number)
LEFT JOIN scripts s USING (repo, number)
WHERE coalesce(i.kind, 'issue') = 'issue' AND coalesce($repo, i.repo) = i.repo
  AND ($numbers IS NULL OR list_contains($numbers, i.number))
  AND (s.content_hash IS DISTINCT FROM t.hash OR s.rules <> $rules)
ORDER BY ALL
"""
_TEXTS = """
SELECT i.repo, i.number, w.hash, coalesce(i.title, ''), i.body,
       coalesce((SELECT list(m.body ORDER BY m.created_at, m.comment_id) FROM comments m
                 WHERE m.repo = i.repo AND m.number = i.number AND m.body IS NOT NULL), [])
FROM items i JOIN (SELECT unnest($repos) AS repo, unnest($numbers) AS number, unnest($hashes) AS hash) w
    USING (repo, number)
"""
_STALE = """
DELETE FROM scripts WHERE NOT EXISTS (
    FROM items i WHERE i.repo = scripts.repo AND i.number = scripts.number AND coalesce(i.kind, 'issue') = 'issue')
"""


def refresh(store: Store, repo: str | None, progress: Progress, numbers: Collection[int] | None = None) -> int:
    """Read the issues whose texts or rules changed; return how many.

    Args:
        store: the database.
        repo: only issues of this repository; None for all.
        progress: counts the issues that are read.
        numbers: only these; None for all.

    Raises:
        StoreError: the database cannot be used.
    """
    asked = {"repo": repo, "rules": extract_rules.version(), "numbers": None if numbers is None else sorted(numbers)}
    with store.writer("extract scripts") as writer:
        with writer.transaction() as connection:
            connection.execute(_STALE)
        with store.read() as connection:
            todo = connection.execute(_TO_READ, asked).fetchall()
        progress.expects(len(todo))
        for start in range(0, len(todo), BATCH):
            part = todo[start : start + BATCH]
            _read(store, writer, part)
            progress.advanced(len(part))
    return len(todo)


def _read(store: Store, writer: Writer, part: Sequence[tuple[str, int, str]]) -> None:
    """Read one batch of issues and write what came of it."""
    repos, numbers, hashes = zip(*part, strict=True)
    with store.read() as connection:
        texts = connection.execute(_TEXTS, {"repos": repos, "numbers": numbers, "hashes": hashes}).fetchall()
    common = {"rules": extract_rules.version(), "made_at": now_utc()}
    written = [_row(*item) | common for item in texts]
    with writer.transaction() as connection:
        rows.replace(connection, "scripts", ("repo", "number"), written)


def _row(
    repo: str, number: int, text_hash: str, title: str, body: str | None, comments: Sequence[str]
) -> dict[str, Any]:
    row: dict[str, Any] = {"repo": repo, "number": number, "content_hash": text_hash}
    if body is None:
        found: Script | NoScript = extract_rules.load().none("not_mined")
    else:
        found = read(ReportText(title, body, comments))
    if isinstance(found, NoScript):
        return row | {"reason": found.reason, "detail": found.detail}
    return row | {
        "script": found.hash,
        "code": found.code,
        "environment": json.dumps(dict(found.environment)),
        "device": found.device or None,
        "found_in": found.found_in,
        "changes": json.dumps([asdict(change) for change in found.changes]),
    }
