"""Times, texts and names of items in the one form that the database keeps: ISO 8601 in UTC, what UTF-8 can carry."""

from __future__ import annotations

import re
from datetime import UTC, datetime

from torch_embers.errors import InputError

_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")
REPLACEMENT = "\ufffd"


_ITEM = re.compile(
    r"(?:(?:https?://)?(?:www\.|redirect\.)?github\.com/(?P<home>[\w.-]+/[\w.-]+)/(?:issues|pull|discussions)/(?P<at>\d+)(?:[/?#].*)?"
    r"|(?:(?P<repo>[\w.-]+/[\w.-]+)#|#)?(?P<number>\d+))",
    re.ASCII,
)
_LARGEST_NUMBER = 2**31 - 1
"""Of an item, as the database holds it."""


def item_of(text: str, repo: str) -> tuple[str, int] | None:
    """Repository and number of an item as people write it; None where the text is none.

    Args:
        text: 7, #7, owner/name#7, or the address of an issue or pull request, with anything behind it.
        repo: that a number alone means.

    Raises:
        InputError: there is no such number.
    """
    if not (found := _ITEM.fullmatch(text.strip())):
        return None
    number = found["at"] or found["number"]
    if len(number) > 10 or not 0 < int(number) <= _LARGEST_NUMBER:
        raise InputError(f"{text[:40]!r}: no item has this number")
    home = found["home"] or found["repo"] or repo
    return (repo if home.lower() == repo.lower() else home), int(number)


def item_named(text: str, repo: str) -> tuple[str, int]:
    """Repository and number of an item as people write it.

    Raises:
        InputError: it is none.
    """
    if (item := item_of(text, repo)) is None:
        raise InputError(f"{text[:60]!r} is no item: write a number, #7, owner/name#7, or its address on GitHub")
    return item


def now_utc() -> str:
    """The current time as ISO 8601 text in UTC, to the microsecond."""
    return datetime.now(UTC).isoformat().replace("+00:00", "Z")


def naive_utc() -> datetime:
    """The current time in UTC without its zone, as the database has times."""
    return datetime.now(UTC).replace(tzinfo=None)


def clean_text(text: str) -> str:
    """Replace what UTF-8 or C strings downstream cannot carry (lone surrogates, NUL) by U+FFFD."""
    if text.isascii() and "\x00" not in text:
        return text
    return _UNSTORABLE.sub(REPLACEMENT, text)


def iso_utc(value: object) -> str | None:
    """Normalise a time to ISO 8601 text in UTC; ``None`` for anything that is no time.

    A text without an offset is taken as UTC, as every source read here means it.
    """
    if not isinstance(value, str) or not value:
        return None
    try:
        moment = datetime.fromisoformat(value.strip())
    except ValueError:
        return None
    if moment.tzinfo is UTC:
        return value if len(value) == 20 and value[10] == "T" and value[19] == "Z" else _text(moment)
    if moment.tzinfo is not None:
        try:
            moment = moment.astimezone(UTC)
        except OverflowError:
            return None
    return _text(moment)


def _text(moment: datetime) -> str:
    return moment.replace(tzinfo=None).isoformat() + "Z"
