"""Draw items at random from public files, and put what annotators said of them into data/wild_labels.jsonl.

    python tools/wild_labels.py draw FOLDER items.jsonl
    python tools/wild_labels.py again FOLDER items.jsonl
    python tools/wild_labels.py targeted FOLDER items.jsonl
    python tools/wild_labels.py merge items.jsonl first.jsonl [second.jsonl adjudicated.jsonl]

FOLDER holds issue_titles_2022.csv.gz, issues_and_prs_2020_02.json.gz, recent_issues_text.jsonl.gz,
maintainer_labels.csv.gz and pytorch_commits_2016_2023.jsonl.gz. Nobody chooses: an item's place in its sample is the
hash of a seed and its key. Left out are items that the catalog holds (by number or title), because the classifier
learned from them, and, of February 2020, pull requests that the history or their text shows to be such. Annotators say
of the rest whether it is a pull request; those are kept in the file, and left out when labels are measured.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import hashlib
import json
import re
from pathlib import Path
from typing import Any

from torch_embers.classify.labels.wild import AGAIN, TARGETED

ROOT = Path(__file__).resolve().parent.parent
TARGET = ROOT / "data" / "wild_labels.jsonl"
SEED = "wild-2026"
DRAWN = {"open_2022": 200, "feb_2020": 235, "recent": 50, "labelled": 50}
DRAWN_AGAIN = {"feb_2020": 9, "labelled": 220, "open_2022": 1237}
"""All that were left of February 2020, then as many as could be read twice."""
PER_CLASS = 14
"""Items that are drawn for each class of memory_type; a class whose words are in fewer titles gets those."""
WORDS = {
    "checking": r"(no|missing|lack of|without|should) (input |bounds? |size |shape |boundary )?(check|validat)"
    r"|invalid (input|argument|shape|size|value)s?\b.*\b(crash|segfault|abort)",
    "concurrency": r"\brace\b|data race|thread.?safe|synchroni[sz]|record_stream|non_blocking",
    "indexing": r"out.of.(bounds|range)|int32|32.?bit|overflow|large (tensor|input)|illegal memory access"
    r"|> ?2 ?\^ ?31|heap.buffer",
    "initialization": r"uninitiali[sz]ed|torch\.empty|garbage|random values|non.?deterministic",
    "logic": r"use.after.free|at exit|destruct|double free|shutdown|after free|destroyed|dangling",
    "memory_format": r"channels.?last|memory.?format|nhwc|preserve_format",
    "memory_overflow": r"memory leak|leaks?\b|memory (usage )?(keeps )?(grow|increas)",
    "nested_tensor_layout": r"nested.?tensor|nestedtensor|njt\b|jagged",
    "non_contiguous": r"contiguous|stride|transpos|\bexpand|\bviews?\b|overlap|as_strided",
    "pin_memory": r"pin_?memory|pinned",
    "segment_fault": r"segfault|segmentation fault|sigsegv|core dumped|bus error",
}
"""Words of titles by the class that they were looked for; what such an item is labelled is another matter."""
ALIKE = 0.5
"""Share of common words from which on two titles are much alike."""
RECENT = "2023-07"
"""Items that maintainers labelled count as recent from this month on: few of 2024 are in the file."""
_NOT_WORDS = re.compile(r"\W+")
_MERGED = re.compile(r"Pull Request resolved: \S+/pull/(\d+)")
_TITLE_NUMBER = re.compile(r"\(#(\d+)\)$")
_PULL = re.compile("Stack from|Differential Revision")
SCHEMES = ("bug_type", "memory_type", "memory_subtype", "consequence")

Row = dict[str, Any]


def place(key: str) -> str:
    """The hash that orders a sample."""
    return hashlib.sha256(f"{SEED}:{key}".encode()).hexdigest()


def words(title: str) -> str:
    """A title without what differs between copies of it."""
    return _NOT_WORDS.sub(" ", title.lower()).strip()


def table(path: Path) -> list[dict[str, str]]:
    """The rows of a compressed CSV file."""
    return list(csv.DictReader(gzip.decompress(path.read_bytes()).decode("utf-8").splitlines(keepends=True)))


def merged_pulls(folder: Path) -> set[int]:
    """Numbers of pull requests that the history names as merged."""
    found: set[int] = set()
    with gzip.open(folder / "pytorch_commits_2016_2023.jsonl.gz", "rt", encoding="utf-8") as lines:
        for line in lines:
            message = json.loads(line)["message"]
            found.update(int(number) for number in _MERGED.findall(message))
            if number := _TITLE_NUMBER.search(message.split("\n")[0]):
                found.add(int(number[1]))
    return found


def draw(folder: Path) -> list[Row]:
    """The drawn items with title and, where a file has it, body; nothing of it but titles is kept in the project."""
    drawn = []
    for name, rows in lists(folder).items():
        drawn += [{"sample": name, **row} for row in rows[: DRAWN[name]]]
    return [{"id": number, **row} for number, row in enumerate(drawn)]


def draw_again(folder: Path) -> list[Row]:
    """The items that follow in each list, none of them much like one that was drawn before."""
    before = [row for row in kept() if not row["sample"].endswith(AGAIN)]
    keys, numbers = {(row["sample"], row["key"]) for row in before}, {row["number"] for row in before} - {None}
    known, titles = [set(words(row["title"]).split()) for row in before], {words(row["title"]) for row in before}
    all_rows, drawn = lists(folder), []
    for name, wanted in DRAWN_AGAIN.items():
        found: list[Row] = []
        for row in all_rows[name]:
            own = set((title := words(row["title"])).split())
            alike = title in titles or any(len(own & other) >= ALIKE * len(own | other) for other in known)
            if len(found) == wanted or alike or (name, row["key"]) in keys or row["number"] in numbers:
                continue
            titles.add(title)
            found.append({"sample": name + AGAIN, **row})
        drawn += found
    return [{"id": number, **row} for number, row in enumerate(drawn)]


def draw_targeted(folder: Path) -> list[Row]:
    """Items whose titles hold words of a class of memory_type, in the order of the draw.

    None of them is much like another, or like one of the draws before.
    """
    before = [row for row in kept() if row["sample"] != TARGETED]
    titles = {words(row["title"]) for row in before}
    known = [set(title.split()) for title in titles]
    samples = lists(folder, since="")
    rows = sorted(samples["open_2022"] + samples["labelled"], key=lambda row: place(row["key"]))
    drawn: dict[str, Row] = {}
    for pattern in WORDS.values():
        found = 0
        for row in rows:
            title = words(row["title"])
            own = set(title.split())
            if found == PER_CLASS or title in titles or not re.search(pattern, row["title"], re.IGNORECASE):
                continue
            if any(len(own & other) >= ALIKE * len(own | other) for other in known):
                continue
            titles.add(title)
            known.append(own)
            drawn[row["key"]] = {"sample": TARGETED, **row}
            found += 1
    mixed = sorted(drawn.values(), key=lambda row: place(f"order:{row['key']}"))
    return [{"id": number, **row} for number, row in enumerate(mixed)]


def kept() -> list[Row]:
    """The rows of the file in the project."""
    return [json.loads(line) for line in TARGET.read_text(encoding="utf-8").splitlines()]


def lists(folder: Path, since: str = RECENT) -> dict[str, list[Row]]:
    """The items of each list in the order of the draw, without those that the catalog holds.

    Args:
        folder: holds the lists.
        since: month from which on items that maintainers labelled are taken.
    """
    catalog = [json.loads(line) for line in (ROOT / "data" / "catalog.jsonl").read_text(encoding="utf-8").splitlines()]
    numbers, titles = {row["number"] for row in catalog}, {words(row["title"]) for row in catalog}
    labelled = table(folder / "maintainer_labels.csv.gz")
    by_title: dict[str, list[int]] = {}
    for row in labelled:
        by_title.setdefault(words(row["title"]), []).append(int(row["number"]))
    samples: dict[str, list[Row]] = {name: [] for name in DRAWN}
    for row in table(folder / "issue_titles_2022.csv.gz"):
        found = by_title.get(words(row["title"]), [])
        number = found[0] if len(found) == 1 else None
        samples["open_2022"].append(_row(row["rest_id"], number, row["created_at"], row["title"], ""))
    merged = merged_pulls(folder)
    for row in json.loads(gzip.decompress((folder / "issues_and_prs_2020_02.json.gz").read_bytes())):
        if row["issue_number"] not in merged and not _PULL.search(row["body"] or ""):
            number = row["issue_number"]
            samples["feb_2020"].append(_row(number, number, row["created_at"], row["title"], row["body"]))
    with gzip.open(folder / "recent_issues_text.jsonl.gz", "rt", encoding="utf-8") as lines:
        for row in map(json.loads, lines):
            number = int(re.findall(r"\d+", str(row["issue_numbers"]))[0])
            text = row["problem_statement"]
            samples["recent"].append(_row(number, number, row["issue_created_at"], text.split("\n")[0], text))
    for row in labelled:
        if row["createdAt"] >= since:
            samples["labelled"].append(_row(row["number"], int(row["number"]), row["createdAt"], row["title"], ""))
    for rows in samples.values():
        rows[:] = [row for row in rows if row["number"] not in numbers and words(row["title"]) not in titles]
        rows.sort(key=lambda row: place(row["key"]))
    return samples


def _row(key: object, number: int | None, created: str, title: str, body: str | None) -> Row:
    return {"key": str(key), "number": number, "created_at": created[:10], "title": title, "body": body or ""}


def merge(items: Path, first: Path, second: Path | None = None, adjudicated: Path | None = None) -> list[Row]:
    """One row per drawn item: both answers, or the only one, and the one that counts."""
    one, two, third = (_answers(path) if path else {} for path in (first, second, adjudicated))
    rows = []
    for item in map(json.loads, items.read_text(encoding="utf-8").splitlines()):
        number = item["id"]
        final = third.get(number, one[number])
        apart = item["sample"] in ("recent", "labelled")
        again = item["sample"].endswith(AGAIN) and item["sample"] != TARGETED
        half = "development" if again or int(place(f"half:{item['key']}")[:2], 16) % 2 else "test"
        rows.append(
            {
                "sample": item["sample"],
                "key": item["key"],
                "number": item["number"],
                "created_at": item["created_at"],
                "title": item["title"],
                "part": "recent" if apart else half,
                "kind": final["kind"],
                "seen": final["seen"],
                "sure": all(answers[number]["sure"] for answers in (one, two) if answers),
                "labels": _labels(final),
                "first": {"kind": one[number]["kind"], "labels": _labels(one[number])},
                "second": {"kind": two[number]["kind"], "labels": _labels(two[number])} if two else None,
                "adjudicated": number in third,
            }
        )
    return rows


def _answers(path: Path) -> dict[int, Row]:
    return {row["id"]: row for row in map(json.loads, path.read_text(encoding="utf-8").splitlines())}


def _labels(answer: Row) -> list[list[str]]:
    """(scheme, value) pairs; no backend where no bug is reported."""
    labels = [[scheme, answer[scheme]] for scheme in SCHEMES if answer.get(scheme)]
    if answer["bug_type"] != "not_a_bug":
        labels += [["backend", value] for value in sorted(set(answer["backend"]))]
    return labels


def main() -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("task", choices=["draw", "again", "targeted", "merge"])
    parser.add_argument("path", type=Path, nargs="+")
    options = parser.parse_args()
    if options.task == "merge":
        made, target = merge(*options.path), TARGET
        merged = {row["sample"] for row in made}
        rows = [row for row in kept() if row["sample"] not in merged] + made
    else:
        folder, target = options.path
        rows = {"draw": draw, "again": draw_again, "targeted": draw_targeted}[options.task](folder)
    target.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")


if __name__ == "__main__":
    main()
