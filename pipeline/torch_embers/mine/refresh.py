"""Reading again what was read: by forgetting cursors, or by item number."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from torch_embers.errors import InputError
from torch_embers.mine.records.rest_records import MAX_NUMBER

if TYPE_CHECKING:
    from torch_embers.mine.scope import Scope
    from torch_embers.store.store import Store

ALL = "all"
_LIST = re.compile(r"#?\d+(\s*,\s*#?\d+)*,?")


def wanted_numbers(value: str) -> list[int] | None:
    """Item numbers that ``--refresh`` names, as a list with commas or as a file; ``None`` for ``all``.

    Raises:
        InputError: neither.
    """
    text = value.strip()
    if text.lower() == ALL:
        return None
    if _LIST.fullmatch(text):
        numbers = [int(number) for number in re.findall(r"\d+", text)]
        for number in numbers:
            if not 0 < number <= MAX_NUMBER:
                raise InputError(f"--refresh {value[:40]!r}: {number} is no item number")
        return list(dict.fromkeys(numbers))
    if Path(text).is_file():
        return read_numbers(Path(text), "--refresh")
    raise InputError(f"--refresh {value[:40]!r}: write all, item numbers (5,7), or a file with one number a line")


def read_numbers(path: Path, option: str = "--numbers") -> list[int]:
    """Item numbers of a file: one a line, `#` allowed in front, text behind it ignored.

    Raises:
        InputError: the file is missing, or a line has no number.
    """
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        if _LIST.fullmatch(str(path)):
            raise InputError(f"{option} {path}: no such file; for item numbers write --refresh {path}") from error
        raise InputError(f"{option} {path}: {error}") from error
    numbers: list[int] = []
    for place, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        match = re.match(r"\s*#?(\d{1,9})\b", line)
        if match is None:
            raise InputError(f"{option} {path}, line {place}: no item number in {line[:40]!r}")
        numbers.append(int(match[1]))
    return list(dict.fromkeys(numbers))


def forget(store: Store, scope: Scope, name: str, source: str) -> int:
    """Remove the cursors of a source for this repository and these bounds; return how many there were.

    Without bounds each listing is read whole again. So the places in listings that wait go too: the walk meets their
    items, and GitHub may refuse the cursor in such a place for ever.

    Args:
        store: the database.
        scope: the bounds whose cursors go; another scope keeps its own.
        name: the repository's present name.
        source: the source as it is called in ``sync_state``.
    """
    if not store.exists():
        return 0
    names = [scope.repo.lower(), name.lower()]
    with store.writer("embers mine --refresh") as writer, writer.transaction() as connection:
        rows = connection.execute(
            "SELECT repo, stream FROM sync_state WHERE list_contains($names, lower(repo)) AND source = $source",
            {"names": names, "source": source},
        ).fetchall()
        live = source in ("graphql", "rest")  # files have a cursor each, whatever the bounds
        gone = [(repo, source, stream) for repo, stream in rows if scope.has(stream) or not live]
        for row in gone:
            connection.execute("DELETE FROM sync_state WHERE repo = ? AND source = ? AND stream = ?", row)
        if not scope.narrowed:
            connection.execute(
                "DELETE FROM incomplete_items "
                "WHERE list_contains($names, lower(repo)) AND source = $source AND number IS NULL",
                {"names": names, "source": source},
            )
    return len(gone)
