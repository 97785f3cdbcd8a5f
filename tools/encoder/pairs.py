"""Pairs of texts that belong together, from a mined database, without anything that is measured.

Excluded are both sides of every pair that search was measured on, data/wild_labels.jsonl, the catalog, the published
benchmark mhnurf, issues from July 2023 on (maintainers' labels of these are a test set), and copies of all of them. A
part of what is left is for choosing between configurations; that part is excluded from learning in the same way.
"""

from __future__ import annotations

import csv
import gzip
import hashlib
import json
import re
import sys
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from torch_embers import resources
from torch_embers.classify.text import model_text, title_text

from .excluded import Excluded, words

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

    from torch_embers.store.store import Store

REPO = "pytorch/pytorch"
RECENT = "2023-07-01"
"""Issues from this day on are left out."""
BODY_CHARS = 400
"""Of a cleaned body, which begins with what was done and why."""
LEAST_BODY = 40
RARE_LABEL = 80
"""A label of at most so many issues says that they belong together; `triaged` does not."""
RARE_FILE = 8
"""The same of a file and the merged pull requests that change it and few others."""
FEW_FILES = 4
PER_GROUP = 40
"""Most pairs of one label or file."""
PER_CLASS = 220
"""Most titles of one class, so that none drowns the others."""
_SIGNATURES = re.compile(
    r"^(cc |pulled by|fbshipit|ghstack|differential revision|reviewed by|test plan|co-authored|signed-off"
    r"|pull request resolved|approved by|stack from|fixes\b|closes\b|resolves\b|.{0,3}cherry picked from)",
    re.IGNORECASE,
)

Row = tuple[str, str]


@dataclass(frozen=True)
class Entry:
    """An item with the texts that an encoder reads of it."""

    number: int
    kind: str
    title: str
    said: str
    """Beginning of the cleaned body."""
    raw: str
    created: str

    @property
    def read(self) -> str:
        """Title as the encoder reads it."""
        return title_text(self.title)


def place(key: object) -> float:
    """Where a key falls between 0 and 1, the same on every machine."""
    return int(hashlib.sha256(f"encoder-2026:{key}".encode()).hexdigest()[:12], 16) / 16**12


def beginning(body: str | None) -> str:
    """The first sentences of a body, without forms and signatures; empty where little is left."""
    cleaned = model_text("", body)
    lines = [line.removeprefix("Summary:").strip() for line in cleaned.split("\n")]
    said = " ".join(line for line in lines if not _SIGNATURES.match(line))[:BODY_CHARS]
    return said if len(said) >= LEAST_BODY else ""


def measured(folder: Path, evaluated: Iterable[int], entries: Mapping[int, Entry]) -> Excluded:
    """Everything that is measured.

    Args:
        folder: holds mhnurf_pytorch.csv.gz, whose titles are excluded.
        evaluated: items of the pairs that search was measured on.
        entries: all items; those from ``RECENT`` on are excluded.
    """
    rows = [json.loads(line) for name in ("catalog.jsonl", "wild_labels.jsonl") for line in _lines(name)]
    numbers = {int(row["number"]) for row in rows if row["number"]} | set(evaluated)
    titles = [str(row["title"]) for row in rows]
    titles += [entries[number].title for number in evaluated if number in entries]
    csv.field_size_limit(sys.maxsize)
    with gzip.open(folder / "mhnurf_pytorch.csv.gz", "rt", encoding="utf-8", newline="") as stream:
        for row in csv.DictReader(stream):
            numbers.add(int(row["Number"]))
            titles.append(row["Title"])
    recent = [one for one in entries.values() if one.kind != "pull" and one.created >= RECENT]
    return Excluded.of(numbers | {one.number for one in recent}, titles + [one.title for one in recent])


def _lines(name: str) -> Iterator[str]:
    yield from resources.data_file(name).read_text(encoding="utf-8").splitlines()


def read_entries(store: Store) -> dict[int, Entry]:
    """All items with a title, by number."""
    query = """
        SELECT number, coalesce(kind, 'unknown'), title, coalesce(body, ''),
               coalesce(strftime(created_at, '%Y-%m-%d'), '')
        FROM items WHERE repo = $repo AND title IS NOT NULL"""
    with store.read() as connection:
        rows = connection.execute(query, {"repo": REPO}).fetchall()
    return {number: Entry(number, kind, title, beginning(body), body, made) for number, kind, title, body, made in rows}


def linked(store: Store, relations: Iterable[str], kinds: tuple[str, str]) -> list[tuple[int, int]]:
    """Numbers of items that the tracker connects, as the entries of ``kinds``."""
    query = """
        SELECT DISTINCT l.number, l.target_number FROM links l
        JOIN items a ON a.repo = l.repo AND a.number = l.number
        JOIN items b ON b.repo = l.target_repo AND b.number = l.target_number
        WHERE l.repo = $repo AND l.target_repo = $repo AND a.number <> b.number AND a.title IS NOT NULL
          AND b.title IS NOT NULL AND a.kind = $one AND b.kind = $two AND l.relation IN (SELECT unnest($relations))"""
    asked: dict[str, Any] = {"repo": REPO, "one": kinds[0], "two": kinds[1], "relations": list(relations)}
    with store.read() as connection:
        return sorted(connection.execute(query, asked).fetchall())


def grouped(store: Store, query: str) -> list[list[int]]:
    """Numbers of items by label or file, each group in the order of a hash."""
    with store.read() as connection:
        rows = connection.execute(query, {"repo": REPO}).fetchall()
    return [sorted(numbers, key=lambda number: place(f"{name}:{number}")) for name, numbers in rows]


SAME_LABEL = f"""
    SELECT name, list(DISTINCT number) FROM labels WHERE repo = $repo AND name LIKE 'module:%'
    GROUP BY ALL HAVING count(DISTINCT number) BETWEEN 2 AND {RARE_LABEL} ORDER BY name"""
SAME_FILE = f"""
    SELECT path, list(DISTINCT number) FROM pull_files
    WHERE repo = $repo AND path NOT LIKE '%test%' AND number IN (
        SELECT number FROM pull_files WHERE repo = $repo GROUP BY ALL HAVING count(*) <= {FEW_FILES})
    GROUP BY ALL HAVING count(DISTINCT number) BETWEEN 2 AND {RARE_FILE} ORDER BY path"""
RELATED = ("mentions", "explains", "supersedes", "duplicates")
"""How a pull request speaks of another that is about the same thing, as a rule."""
CLASSES = """
    SELECT number, scheme || '=' || min(value) FROM weak_labels
    WHERE repo = $repo AND function LIKE 'label-%' AND scheme IN ('bug_type', 'consequence')
    GROUP BY number, scheme HAVING count(DISTINCT value) = 1 ORDER BY number"""
"""Classes that maintainers' labels give without contradiction."""


def neighbours(groups: Iterable[list[int]], allowed: Mapping[int, Entry]) -> list[tuple[int, int]]:
    """Pairs of each group: every member with the next one."""
    found: set[tuple[int, int]] = set()
    for group in groups:
        known = [number for number in group if number in allowed]
        found.update((min(pair), max(pair)) for pair in list(pairwise(known))[:PER_GROUP])
    return sorted(found)


def make(store: Store, folder: Path, barred_items: set[int], share: float = 0.4) -> dict[str, Any]:
    """Pairs to learn from and pairs to choose by.

    Args:
        store: a mined and labelled database.
        folder: published benchmarks.
        barred_items: items that search was measured on.
        share: of the pairs of issue and fix, and a tenth of it of related pull requests, that are for choosing.
    """
    entries = read_entries(store)
    barred = measured(folder, barred_items, entries)
    free = {number: one for number, one in entries.items() if not barred.item(number, one.title, one.raw)}
    fixes = [
        (issue, pull) for pull, issue in linked(store, ["fixes"], ("pull", "issue")) if {issue, pull} <= free.keys()
    ]
    related = [
        (one, two)
        for one, two in linked(store, RELATED, ("pull", "pull"))
        if {one, two} <= free.keys() and words(free[one].title) != words(free[two].title)
    ]
    choose = {
        "fix": [pair for pair in fixes if place(pair[0]) < share],
        "related": [pair for pair in related if place(min(pair)) < share / 10],
    }
    ends = {number for pairs in choose.values() for pair in pairs for number in pair}
    hidden = Excluded.of(ends, [free[number].title for number in ends])
    learn = {number: one for number, one in free.items() if not hidden.item(number, one.title, one.raw)}
    with store.read() as connection:
        classes = connection.execute(CLASSES, {"repo": REPO}).fetchall()
    return {
        "learn": _learned(store, learn, fixes, related),
        "classes": _capped([(learn[number].read, value) for number, value in classes if number in learn]),
        "choose": {name: [list(pair) for pair in pairs] for name, pairs in choose.items()},
        "used": sorted(learn),
        "counts": {
            "items": len(entries),
            "measured and without a title here": len(barred_items - entries.keys()),
            "not measured": len(free),
            "learned from": len(learn),
        },
    }


def _learned(
    store: Store, learn: Mapping[int, Entry], fixes: Iterable[tuple[int, int]], related: Iterable[tuple[int, int]]
) -> dict[str, list[Row]]:
    """Pairs of texts by kind, each kind in the order of a hash."""

    def titles(found: Iterable[tuple[int, int]]) -> list[Row]:
        known = [(learn[one].read, learn[two].read) for one, two in found if {one, two} <= learn.keys()]
        return sorted({(one, two) for one, two in known if one and two and words(one) != words(two)}, key=place)

    described = [one for one in learn.values() if one.said and one.read]
    pulls = {(one.read, one.said) for one in described if one.kind == "pull"}
    fixed = {(learn[i].read, learn[p].said) for i, p in fixes if {i, p} <= learn.keys() and learn[p].said}
    return {
        "fix": titles(fixes),
        "fix_body": sorted(fixed, key=place),
        "related": titles(related),
        "same_label": titles(neighbours(grouped(store, SAME_LABEL), learn)),
        "same_file": titles(neighbours(grouped(store, SAME_FILE), learn)),
        "body": sorted({(one.read, one.said) for one in described} - pulls, key=place),
        "pull_body": sorted(pulls, key=place),
    }


def _capped(rows: list[Row]) -> list[Row]:
    by_class: dict[str, list[str]] = {}
    for title, name in rows:
        by_class.setdefault(name, []).append(title)
    return [
        (title, name) for name, own in sorted(by_class.items()) for title in sorted(set(own), key=place)[:PER_CLASS]
    ]
