"""What became of the tests by the end of the history: a fix test that was changed or taken away later still runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from torch_embers.mine.git.fix_commits import contents
from torch_embers.repro.fix_tests.outline import named_tests, read, source_text

if TYPE_CHECKING:
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


def note_later(store: Store, writer: Writer, clone: Clone, repo: str, tip: str) -> None:
    """Fill ``fix_tests.later``: each test that makes a script, as the end of the history has it.

    Raises:
        InputError: git failed.
        StoreError: the database cannot be used.
    """
    with store.read() as connection:
        tests = connection.execute(_TESTS, [repo]).fetchall()
    paths = sorted({path for _, path, *_ in tests})
    files = dict(
        zip(paths, (content for _, content in contents(clone, (f"{tip}:{path}" for path in paths))), strict=True)
    )
    known = {path: tests_by_name(content) for path, content in files.items()}
    noted: dict[str, Later] = {}
    for name, path, owner, test, code, before in tests:
        text = known[path].get((owner, test))
        later: Later = "gone" if text is None else "same" if text == code else "changed"
        if later != before:
            noted[name] = later
    if noted:
        asked = {"names": list(noted), "states": list(noted.values()), "repo": repo}
        with writer.transaction() as connection:
            connection.execute(_UPDATE, asked)


def tests_by_name(content: bytes | None) -> dict[tuple[str, str], str]:
    """The test methods of a file by class and name; none where there is no such file, or it is no Python."""
    try:
        outline = read(source_text(content or b""))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return {}
    return {key: outline.method(node) for key, node in named_tests(outline).items()}
