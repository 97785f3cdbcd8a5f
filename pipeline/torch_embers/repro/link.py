"""Gives every candidate its one row: a case by hand, a script from its text, a test of its fix, or why there is none.

Texts are read once: a row remembers the hash of the texts and the version of the rules. Nothing is executed here.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass
from functools import cache
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

from torch_embers import resources
from torch_embers.normalize import now_utc
from torch_embers.repro import bank
from torch_embers.repro.case import DEVICES, UNCOVERED, Case, CaseError, metadata_lines, parse, uncovered
from torch_embers.repro.extract import Extraction, ItemText, extract
from torch_embers.repro.rules_version import RULES_VERSION
from torch_embers.settings import DEFAULT_REPO
from torch_embers.store import rows

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from torch_embers.progress import Progress
    from torch_embers.store.store import Store
    from torch_embers.store.writer import Writer

BATCH = 200
NOT_MINED = "not_mined"
"""Reason of data/extraction.toml for an item of which only facts are known."""
STATED = "stated"
"""Reason where data/cases/uncovered.toml says why there is no case."""
REFUSED = "fragment"
"""Reason where a script was found, but makes no valid case."""
NEEDS_REVIEW = "needs_review"
"""Reason where there is a script, and a person must say what it should show."""
EXTRACTED, NOT_POSSIBLE = "extracted", "not_possible"


@dataclass(frozen=True, slots=True)
class Linked:
    """What became of the candidates.

    Attributes:
        candidates: how many there are; each has one row.
        statuses: candidates by status.
        reasons: candidates without a case by reason.
        needs_review: candidates whose script waits for a person to say what it should show.
        read: texts that were looked at now.
    """

    candidates: int
    statuses: Mapping[str, int]
    reasons: Mapping[str, int]
    needs_review: int
    read: int


def link_repros(store: Store, repo: str | None, progress: Progress) -> Linked:
    """Bring the table ``extractions`` up to date with the candidates.

    Args:
        store: the database.
        repo: only candidates of this repository; None for all.
        progress: counts the items that are read.

    Raises:
        CaseError: a shipped case cannot be used.
        StoreError: the database cannot be used.
    """
    with store.writer("link-repros") as writer:
        bank.refresh(writer)
        _delete_stale(writer)
        todo = _to_read(store, repo)
        progress.expects(len(todo))
        for start in range(0, len(todo), BATCH):
            part = todo[start : start + BATCH]
            _read(store, writer, part)
            progress.advanced(len(part))
        _take_curated(writer)
        _take_fix_tests(writer)
    return _counted(store, repo, len(todo))


@cache
def rules_stamp() -> str:
    """What an extraction was decided by: the version of the rules, and the items that are stated to have no case."""
    stated = blake2b(resources.data_file(UNCOVERED).read_bytes(), digest_size=8).hexdigest()
    return f"{RULES_VERSION}-{stated}"


def case_name(repo: str, number: int) -> str:
    """Name of an extracted case."""
    return f"x{number}" if repo == DEFAULT_REPO else f"{repo.replace('/', '-')}-x{number}"


def case_of(item: ItemText, found: Extraction) -> Case:
    """The case that an extracted script makes; its report gives the signature that counts.

    Raises:
        CaseError: it makes none.
    """
    expected = found.expectation
    requires = list(found.requires)
    if not set(requires) & set(DEVICES):
        requires.insert(0, "cpu")
    oracle = {"signal": "signal", "mismatch": "output"}.get(expected.kind, "exception")
    entries: dict[str, object] = {
        "issues": [f"{item.repo}#{item.number}"],
        "requires": requires,
        "known_bad": [],
        "signature": [str(one) for one in expected.signature] or ["mismatch"],
        "oracle": oracle if expected.signature else "output",
        "prints": [_printable(line) for line in expected.actual],
        "evidence": _printable(expected.evidence),
    }
    if expected.doubt:
        entries["review"] = _printable(expected.doubt)
    summary = f"Extracted from {item.repo}#{item.number}: {_printable(item.title)}"
    quoted = summary.replace("\\", "/").replace('"', "'")
    text = "\n".join([*metadata_lines(entries), f'"""{quoted}"""', "", found.script])
    return parse(text, case_name(item.repo, item.number), "extracted")


def _printable(text: str) -> str:
    return "".join(c for c in text if c.isprintable())


# ---- the database --------------------------------------------------------------------------------------------------

_TO_READ = """
SELECT c.repo, c.number, t.hash
FROM candidates c
JOIN (
    SELECT i.repo, i.number, md5(concat_ws(chr(10), i.content_hash, i.body IS NULL,
        (SELECT string_agg(md5(m.body), ',' ORDER BY m.created_at, m.comment_id) FROM comments m
         WHERE m.repo = i.repo AND m.number = i.number))) AS hash
    FROM items i
) t ON t.repo = c.repo AND t.number = c.number
LEFT JOIN extractions e ON e.repo = c.repo AND e.number = c.number
WHERE coalesce($repo, c.repo) = c.repo AND (e.content_hash IS DISTINCT FROM t.hash OR e.rules <> $rules)
ORDER BY ALL
"""
_TEXTS = """
SELECT i.repo, i.number, i.title, i.body,
       (SELECT list(m.body ORDER BY m.created_at, m.comment_id) FROM comments m
        WHERE m.repo = i.repo AND m.number = i.number AND m.body IS NOT NULL)
FROM items i JOIN (SELECT unnest($repos) AS repo, unnest($numbers) AS number) w USING (repo, number)
"""
_CURATED = """
UPDATE extractions SET status = 'curated', name = k.name, reason = NULL
FROM (
    SELECT i.repo, i.number, min(c.name) AS name FROM case_items i JOIN cases c USING (case_hash)
    WHERE c.current AND c.origin = 'curated' GROUP BY ALL
) k
WHERE k.repo = extractions.repo AND k.number = extractions.number
"""
_SUPERSEDED = """
UPDATE cases SET current = false WHERE origin = 'extracted' AND current AND EXISTS (
    FROM case_items i JOIN extractions e USING (repo, number)
    WHERE i.case_hash = cases.case_hash AND e.status = 'curated')
"""
_STALE = """
DELETE FROM extractions e WHERE NOT EXISTS (FROM candidates c WHERE c.repo = e.repo AND c.number = e.number)
"""
_TESTED = """
UPDATE extractions SET status = 'fix_test', name = k.name, reason = NULL, detail = 'test of a merged fix'
FROM (
    SELECT i.repo, i.number, min(c.name) AS name FROM case_items i JOIN cases c USING (case_hash)
    WHERE c.current AND c.origin = 'fix_test' AND i.relation = 'same' AND list_contains($names, c.name) GROUP BY ALL
) k
WHERE extractions.status = 'not_possible' AND k.repo = extractions.repo AND k.number = extractions.number
"""
_WITHOUT_TEST = """
DELETE FROM extractions e WHERE e.status = 'fix_test' AND NOT EXISTS (
    FROM cases c WHERE c.name = e.name AND c.current AND list_contains($names, c.name))
"""
_WITHOUT_CASE = """
DELETE FROM extractions e WHERE e.status = 'curated'
AND NOT EXISTS (FROM cases c WHERE c.name = e.name AND c.current AND c.origin = 'curated')
"""


def _delete_stale(writer: Writer) -> None:
    """Delete the rows of items that are no candidates any more, and of items whose curated case or fix test is gone."""
    with writer.transaction() as connection:
        connection.execute(_STALE)
        connection.execute(_WITHOUT_CASE)
        connection.execute(_WITHOUT_TEST, {"names": bank.counted_fix_tests(connection)})


def _to_read(store: Store, repo: str | None) -> list[tuple[str, int, str]]:
    with store.read() as connection:
        return connection.execute(_TO_READ, {"repo": repo, "rules": rules_stamp()}).fetchall()


def _read(store: Store, writer: Writer, part: Sequence[tuple[str, int, str]]) -> None:
    """Extract from one batch of items and write what came of it."""
    hashes = {(repo, number): text_hash for repo, number, text_hash in part}
    asked = {"repos": [repo for repo, _, _ in part], "numbers": [number for _, number, _ in part]}
    with store.read() as connection:
        found = connection.execute(_TEXTS, asked).fetchall()
    made = [_decided(*row) for row in found]
    moment = now_utc()
    with writer.transaction() as connection:
        cases = [case for _, case, _ in made if case is not None]
        bank.save(connection, cases)
        names = {"names": [case.name for case in cases]}
        for table in ("artifacts", "edits"):
            connection.execute(f"DELETE FROM {table} WHERE list_contains($names, name)", names)
        for _, case, extraction in made:
            if case is not None and extraction is not None:
                rows.append(connection, "artifacts", list(_artifacts(case, extraction, moment)))
                rows.append(connection, "edits", list(_edits(case, extraction)))
        written = [
            {**row, "content_hash": hashes[row["repo"], row["number"]], "rules": rules_stamp(), "decided_at": moment}
            for row, _, _ in made
        ]
        rows.replace(connection, "extractions", ("repo", "number"), written)


def _decided(
    repo: str, number: int, title: str | None, body: str | None, comments: list[str] | None
) -> tuple[dict[str, Any], Case | None, Extraction | None]:
    """The row of one item, with its case where there is one."""
    row: dict[str, Any] = {"repo": repo, "number": number, "status": NOT_POSSIBLE, "expectation": []}
    if (stated := uncovered().get((repo, number))) is not None:
        return row | {"reason": STATED, "detail": stated}, None, None
    if body is None:
        return row | {"reason": NOT_MINED, "detail": "only facts are in the database: mine the item"}, None, None
    item = ItemText(repo, number, title or "", body, comments or ())
    found = extract(item)
    row["expectation"] = [str(one) for one in found.expectation.signature]
    if found.status != "runnable":
        return row | {"reason": found.reason, "detail": found.detail or None}, None, None
    try:
        case = case_of(item, found)
    except CaseError as error:
        return row | {"reason": REFUSED, "detail": str(error)[:300]}, None, None
    row |= {"status": EXTRACTED, "name": case.name, "detail": f"from {found.found_in}"}
    if case.review:
        row |= {"reason": NEEDS_REVIEW, "detail": f"from {found.found_in}; {case.review}"}
    return row, case, found


def _artifacts(case: Case, found: Extraction, moment: str) -> Iterator[dict[str, Any]]:
    for kind, code in (("verbatim", found.verbatim), ("runnable", found.script)):
        yield {"name": case.name, "kind": kind, "code": code, "made_at": moment}


def _edits(case: Case, found: Extraction) -> Iterator[dict[str, Any]]:
    for position, edit in enumerate(found.edits):
        yield {"name": case.name, "kind": "runnable", "position": position, **asdict(edit)}


def _take_curated(writer: Writer) -> None:
    """A case by hand goes before an extracted one, which is not run any more."""
    with writer.transaction() as connection:
        connection.execute(_CURATED)
        connection.execute(_SUPERSEDED)


def _take_fix_tests(writer: Writer) -> None:
    """Where no other case is to be had, the test that the fix itself brought is one, if it shows the bug."""
    with writer.transaction() as connection:
        connection.execute(_TESTED, {"names": bank.counted_fix_tests(connection)})


def _counted(store: Store, repo: str | None, read: int) -> Linked:
    with store.read() as connection:
        found = connection.execute(
            "SELECT status, reason FROM extractions WHERE coalesce($repo, repo) = repo", {"repo": repo}
        ).fetchall()
        [(candidates,)] = connection.execute(
            "SELECT count(*) FROM candidates WHERE coalesce($repo, repo) = repo", {"repo": repo}
        ).fetchall()
    statuses = Counter(status for status, _ in found)
    reasons = Counter(reason for status, reason in found if status == NOT_POSSIBLE)
    waiting = sum(status == EXTRACTED and reason == NEEDS_REVIEW for status, reason in found)
    return Linked(int(candidates), dict(statuses), dict(reasons.most_common()), waiting, read)
