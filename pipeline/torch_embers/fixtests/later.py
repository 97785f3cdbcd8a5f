"""What became of the tests by the end of the history: a fix test that was changed or taken away later still runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from torch_embers.fixtests.fix_commits import contents, files_at
from torch_embers.fixtests.outline import named_tests, read, source_text
from torch_embers.mine.git.gitrepo import MissingObjectError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from torch_embers.mine.git.gitrepo import Clone
    from torch_embers.store.store import Store
    from torch_embers.store.writer import Writer

Later = Literal["same", "changed", "gone"]

_TESTS = """
SELECT t.name, t.path, t.owner, t.test, a.code, t.later
FROM fix_tests t JOIN artifacts a ON a.name = t.name AND a.kind = 'verbatim'
WHERE t.repo = ? AND t.status = 'script'
"""
_UPDATE = """
UPDATE fix_tests SET later = n.later FROM (SELECT unnest($names) AS name, unnest($states) AS later) AS n
WHERE fix_tests.name = n.name AND fix_tests.repo = $repo
"""


def note_later(store: Store, writer: Writer, clone: Clone, tip: str, repo: str, roots: Sequence[str]) -> None:
    """Fill ``fix_tests.later``: each test that makes a script, as the end of the history has it.

    Of a file that the clone lacks, what was known stays.

    Raises:
        InputError: git failed.
        StoreError: the database cannot be used.
    """
    with store.read() as connection:
        tests = connection.execute(_TESTS, [repo]).fetchall()
    try:
        blobs = files_at(clone, tip, roots)
    except MissingObjectError:
        return
    known = known_tests(clone, {path: blobs.get(path) for _, path, *_ in tests})
    noted: dict[str, Later] = {}
    for name, path, owner, test, code, before in tests:
        if path not in known:
            continue
        text = known[path].get((owner, test))
        later: Later = "gone" if text is None else "same" if text == code else "changed"
        if later != before:
            noted[name] = later
    if noted:
        asked = {"names": list(noted), "states": list(noted.values()), "repo": repo}
        with writer.transaction() as connection:
            connection.execute(_UPDATE, asked)


def known_tests(clone: Clone, blobs: Mapping[str, str | None]) -> dict[str, dict[tuple[str, str], str]]:
    """The tests of each file by class and name; none of one that is gone, and no entry for one that the clone lacks."""
    known: dict[str, dict[tuple[str, str], str]] = {path: {} for path, blob in blobs.items() if blob is None}
    there = [(path, blob) for path, blob in blobs.items() if blob is not None]
    for (path, _), (_, content) in zip(there, contents(clone, (blob for _, blob in there)), strict=True):
        if content is not None:
            known[path] = tests_by_name(content)
    return known


def tests_by_name(content: bytes | None) -> dict[tuple[str, str], str]:
    """The test methods of a file by class and name; none where there is no such file, or it is no Python."""
    try:
        outline = read(source_text(content or b""))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return {}
    return {key: outline.method(node) for key, node in named_tests(outline).items()}
