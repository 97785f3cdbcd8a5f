"""Findings that a project has accepted: by ``--ignore``, by a comment on the line, by a baseline file."""

from __future__ import annotations

import io
import json
import os
import re
import tokenize
from collections import Counter
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

from torch_embers.cases import case as cases
from torch_embers.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from torch_embers.cases.case import Case

FORM = "# embers: ignore[ID] reason until 2027-01-01"
_COMMENT = re.compile(r"#\s*embers:\s*ignore(?P<rest>\s*\[.*|\s*$)")
_REST = re.compile(r"\s*\[(?P<ids>[^\]]*)\]\s*(?P<reason>.*?)(?:\s*\buntil\s+(?P<until>\d[\d-]*|\S+(?=\s*$)).*)?\s*")


@dataclass(frozen=True, slots=True, order=True)
class Place:
    """A line of the audited code."""

    file: Path
    line: int


@dataclass(frozen=True, slots=True)
class Comment:
    """A comment that ignores bugs on its line.

    Attributes:
        cases: names of the cases.
        reason: in the author's words.
        until: the last day on which it holds; None: for good.
    """

    cases: frozenset[str]
    reason: str
    until: date | None


@dataclass(frozen=True, slots=True, order=True)
class Ignored:
    """A place at which a bug can be met and that does not count.

    Attributes:
        confidence: of the finding.
        reason: of the comment; for the others what says so.
        in_source: whether a comment of the code says so.
    """

    case: str
    confidence: str
    place: Place
    reason: str
    in_source: bool


def named_cases(wanted: str, where: str) -> frozenset[str]:
    """The cases that an ID stands for: the name of one, or the number of an issue as findings print it.

    Raises:
        InputError: nothing has that ID; ``where`` is told.
    """
    found = {case.name for case in cases.shipped() if wanted in _ids(case)}
    if not found:
        raise InputError(f"{where}: no known bug {wanted!r}: give the name of a case, or an issue such as #31829")
    return frozenset(found)


def _ids(case: Case) -> Iterator[str]:
    yield case.name
    for repo, number in case.issues:
        yield from (f"{repo}#{number}", f"#{number}", str(number))


def comments(path: Path, text: str) -> dict[int, Comment]:
    """The comments of a file by line; one that stands anywhere in a statement holds on all of its lines.

    Raises:
        InputError: one has no reason, names no known bug, or its day is none.
    """
    if "embers:" not in text:
        return {}
    found: dict[int, Comment] = {}
    first, told = 0, None
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        line = token.start[0]
        if token.type == tokenize.COMMENT:
            if match := _COMMENT.search(token.string):
                told = _comment(f"{path}:{line}", match["rest"])
        elif token.type == tokenize.NEWLINE:
            found.update(dict.fromkeys(range(first, line + 1), told) if told else {})
            first, told = 0, None
        elif token.type != tokenize.NL:
            first = first or line
        elif not first:
            told = None  # on a line of its own
    return found


def _comment(where: str, rest: str) -> Comment:
    match = _REST.fullmatch(rest)
    ids = [name.strip() for name in match["ids"].split(",") if name.strip()] if match else []
    if match is None or not ids:
        raise InputError(f"{where}: this comment names no bug: write {FORM}")
    if not match["reason"]:
        raise InputError(f"{where}: this comment has no reason: write {FORM}")
    try:
        until = date.fromisoformat(match["until"]) if match["until"] else None
    except ValueError as error:
        raise InputError(f"{where}: {match['until']!r} is no day: write {FORM}") from error
    return Comment(frozenset().union(*(named_cases(name, where) for name in ids)), match["reason"], until)


Key = tuple[str, str, str, str]
"""Case, confidence, file as seen from the folder of the baseline, and the text of the line: lines may move."""


_KEY = ("case", "confidence", "file", "code")


def key(case: str, confidence: str, place: Place, texts: Mapping[Path, Sequence[str]], baseline: Path) -> Key:
    """How a finding is known again in a baseline file."""
    file = os.path.relpath(place.file, baseline.parent)
    return case, confidence, Path(file).as_posix(), texts[place.file][place.line - 1].strip()


def read_baseline(path: Path) -> Counter[Key]:
    """What a baseline file accepts, and how often.

    Raises:
        InputError: it cannot be read or is no such file.
    """
    try:
        rows = json.loads(path.read_text(encoding="utf-8"))["findings"]
        return Counter({tuple(row[name] for name in _KEY): int(row["count"]) for row in rows})
    except OSError as error:
        raise InputError(f"--baseline {path} cannot be read: {error.strerror}: --write-baseline makes one") from error
    except (ValueError, TypeError, KeyError, RecursionError, OverflowError) as error:
        raise InputError(f"--baseline {path} is no file that --write-baseline made: make it again") from error


def write_baseline(path: Path, found: Iterable[Key]) -> int:
    """Write findings as a baseline; how many there are.

    Raises:
        InputError: the file cannot be written.
    """
    counted = Counter(found)
    rows = [dict(zip(_KEY, found, strict=True)) | {"count": count} for found, count in sorted(counted.items())]
    try:
        path.write_text(json.dumps({"findings": rows}, indent=1) + "\n", encoding="utf-8")
    except OSError as error:
        raise InputError(f"--write-baseline {path} cannot be written: {error.strerror}: name another file") from error
    return counted.total()
