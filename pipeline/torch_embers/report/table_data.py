"""The data of the items table as scripts that a page can load from disk, where a browser refuses to fetch files."""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING, Any

import orjson

from torch_embers.escaping import visible
from torch_embers.report import places

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from datetime import datetime

    from torch_embers.report.joined_facts import ReportFacts
    from torch_embers.report.source import Key

CALL = "embersItems"
COLUMNS = (
    *("repo", "number", "title", "title_place", "state", "created", "page", "labels", "classes", "operators"),
    *("components", "backends", "status", "verdict", "release", "closable"),
)
EPOCH = date(2000, 1, 1)


class _Words:
    """Texts that many items share, by their place in a list."""

    def __init__(self) -> None:
        self.places: dict[str, int] = {}
        self._known: dict[str | None, int] = {}

    def at(self, text: str | None) -> int:
        if (place := self._known.get(text)) is None:
            place = self._known[text] = self.places.setdefault(visible(text or ""), len(self.places))
        return place

    def all_at(self, texts: Sequence[str]) -> list[int]:
        known = self._known
        return [known[text] if text in known else self.at(text) for text in texts]


def files(facts: ReportFacts) -> Iterator[tuple[str, bytes]]:
    """Names and contents of the scripts, each with a part of the items, those first that changed last."""
    changed = {key: _day(row["updated_at"] or row["created_at"]) for key, row in facts.items.items()}
    keys = sorted(changed, key=lambda key: (-changed[key], key))
    titles = title_places(facts.title(key) for key in keys)
    size = facts.rules.limits.chunk
    parts = [keys[start : start + size] for start in range(0, len(keys), size)] or [[]]
    for place, part in enumerate(parts):
        content = _columns(facts, part, titles) | {"part": place, "parts": len(parts), "total": len(keys)}
        yield f"data/table-{place}.js", script(content)


def title_places(titles: Iterable[str]) -> dict[str, int]:
    """For each title its place in the alphabet, without regard to case, from 1; an empty one has 0 and comes last.

    A browser takes most of a second to sort 100,000 titles, and a few milliseconds for numbers.
    """
    names = {title.lower() for title in titles}
    return {name: place for place, name in enumerate(sorted(names - {""}), 1)} | {"": 0}


def script(content: Any) -> bytes:
    """A script that hands the content on: as JSON in a text, which browsers read much faster than code."""
    text = orjson.dumps(content).decode("utf-8")
    quoted = text.replace("\\", "\\\\").replace("'", "\\'").replace("<", "\\x3c")
    return f"{CALL}('{quoted}');\n".encode()


def _columns(facts: ReportFacts, keys: Sequence[Key], titles: Mapping[str, int]) -> dict[str, Any]:
    words = _Words()
    columns: dict[str, list[Any]] = {name: [] for name in COLUMNS}
    for key in keys:
        item = facts.items[key]
        verdict, release = facts.seen(key)
        answer = facts.answers.get(key)
        values = {
            "repo": words.at(key[0]),
            "number": key[1],
            "title": (title := facts.title(key)),
            "title_place": titles[title.lower()],
            "state": words.at(_state(item)),
            "created": _day(item["created_at"]),
            "page": int(key in facts.paged and places.is_plain(key[0])),
            "labels": words.all_at(item["labels"]),
            "classes": words.all_at(item["classes"]),
            "operators": words.all_at(facts.operators_of.get(key, [])),
            "components": words.all_at(item["components"]),
            "backends": words.all_at(item["backends"]),
            "status": words.all_at(sorted({row["status"] for row in facts.statuses.get(key, ())})),
            "verdict": words.at(verdict),
            "release": words.at(release),
            "closable": words.at(answer.closable if answer else ""),
        }
        for name, value in values.items():
            columns[name].append(value)
    return columns | {"words": list(words.places)}


def _state(item: Mapping[str, Any]) -> str:
    """Kind, state and why it was closed in one word each, as the table filters them."""
    why = "merged" if item["state_reason"] == "merged" else item["disposition"]
    return " ".join(word for word in (item["kind"], item["state"], why if item["state"] == "closed" else None) if word)


def _day(moment: datetime | None) -> int:
    """Days since 2000; 0 where unknown."""
    return max(0, (moment.date() - EPOCH).days) if moment else 0
