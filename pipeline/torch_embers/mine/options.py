"""What `embers mine` was asked for; options that do not fit are refused."""

from __future__ import annotations

import re
from dataclasses import dataclass, fields
from pathlib import Path

from torch_embers.errors import InputError
from torch_embers.normalize import iso_utc

LIVE = ("graphql", "rest")
FILES = ("archive", "jsonl", "git")
SOURCES = ("auto", *LIVE, *FILES, "catalog")
STATES = ("all", "open", "closed")
MAX_NUMBER = (1 << 31) - 1
_ARCHIVE_HOUR = re.compile(r"\d{4}-\d\d-\d\d-\d{1,2}\.json(\.gz)?$")
_LIST = re.compile(r"#?\d+(\s*,\s*#?\d+)*,?")


@dataclass(frozen=True, slots=True)
class Request:
    """What the user asked for."""

    source: str = "auto"
    paths: tuple[str, ...] = ()
    since: str | None = None
    until: str | None = None
    state: str = "all"
    labels: tuple[str, ...] = ()
    numbers: Path | None = None
    refresh: str | None = None
    check_numbers: bool = False
    budget: int | None = None
    replay: bool = False


def checked(request: Request) -> Request:
    """The request with its source chosen and its dates in one form.

    Raises:
        InputError: an unknown source or state, a bad date, or options that do not go together.
    """
    if request.replay:
        _refuse_beside_replay(request)
        return request
    kind = _chosen(request)
    _refuse_unusable(kind, request)
    if request.state not in STATES:
        raise InputError(f"--state {request.state!r}: one of {', '.join(STATES)}")
    since, until = moment(request.since, "--since"), moment(request.until, "--until")
    if since and until and since > until:
        raise InputError(f"--since {since} is later than --until {until}")
    return Request(
        **{one.name: getattr(request, one.name) for one in fields(Request)}
        | {"source": kind, "since": since, "until": until}
    )


def moment(value: str | None, option: str) -> str | None:
    """Check a date or time given on the command line.

    Raises:
        InputError: not a date.
    """
    if value is None:
        return None
    parsed = iso_utc(value)
    if parsed is None:
        raise InputError(f"{option} {value!r} is no date: write 2024-01-31 or 2024-01-31T12:00:00Z")
    return parsed[:19] + "Z"


def _chosen(request: Request) -> str:
    """Name of the source, from the option and the paths; auto where neither says."""
    if request.source not in SOURCES:
        raise InputError(f"--source {request.source!r}: one of {', '.join(SOURCES)}")
    if request.source == "auto" and request.paths:
        first = request.paths[0]
        if _ARCHIVE_HOUR.search(first):
            return "archive"
        return "git" if Path(first).is_dir() else "jsonl"
    if request.source in FILES and not request.paths:
        raise InputError(f"--source {request.source} needs a path: embers mine --source {request.source} PATH")
    if request.source == "git" and len(request.paths) != 1:
        raise InputError("--source git takes one path: the folder of the clone")
    if request.source not in ("auto", *FILES) and request.paths:
        raise InputError(f"--source {request.source} takes no path ({request.paths[0]})")
    return request.source


def _refuse_unusable(kind: str, request: Request) -> None:
    """Refuse options that the source cannot obey, rather than ignore them."""
    only_live = {
        "--numbers": request.numbers is not None,
        "--state": request.state != "all",
        "--label": bool(request.labels),
        "--budget": request.budget is not None,
        "--check-numbers": request.check_numbers,
    }
    bounds = {"--since": request.since is not None, "--until": request.until is not None}
    refused = only_live | (bounds if kind != "archive" else {}) if kind in (*FILES, "catalog") else {}
    if named := [option for option, is_given in refused.items() if is_given]:
        raise InputError(f"{named[0]} does not go with --source {kind}: only a live source (graphql, rest) knows it")
    alone = {
        "--numbers": request.numbers is not None,
        "--refresh": request.refresh is not None,
        "--check-numbers": request.check_numbers,
    }
    given = [option for option, is_given in alone.items() if is_given]
    if len(given) > 1:
        raise InputError(f"{given[0]} and {given[1]} do not go together: run embers mine twice")
    narrowed = request.state != "all" or bool(request.labels) or any(bounds.values())
    names = not alone["--refresh"] or numbers_of(request.refresh or "") is not None
    if given and names and narrowed:
        raise InputError(f"{given[0]} names items: --since, --until, --state and --label do not go with it")
    if alone["--refresh"] and names and kind in (*FILES, "catalog"):
        raise InputError(f"--refresh with numbers does not go with --source {kind}: only a live source knows it")


def _refuse_beside_replay(request: Request) -> None:
    """Refuse what a replay cannot obey: it reads all that is stored, and nothing else."""
    if request.paths:
        raise InputError(f"--replay reads what is stored alone, not {request.paths[0]}: run embers mine twice")
    plain = Request()
    options = {"labels": "--label", "check_numbers": "--check-numbers"}
    given = [
        options.get(one.name, f"--{one.name}")
        for one in fields(Request)
        if one.name != "replay" and getattr(request, one.name) != getattr(plain, one.name)
    ]
    if given:
        raise InputError(f"{', '.join(given)}: does not go with --replay, which reads all that is stored again")


def numbers_of(value: str) -> list[int] | None:
    """Item numbers that ``--refresh`` names, as a list with commas or as a file; ``None`` for ``all``.

    Raises:
        InputError: neither.
    """
    text = value.strip()
    if text.lower() == "all":
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
