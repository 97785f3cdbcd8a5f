"""Labels of items that nobody chose: read whole, kept apart from what the classifier learns."""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest

from torch_embers import resources
from torch_embers.classify.labels import wild
from torch_embers.errors import InputError

if TYPE_CHECKING:
    from pathlib import Path


def lines() -> list[dict[str, Any]]:
    return [json.loads(line) for line in resources.data_file(wild.FILE).read_text(encoding="utf-8").splitlines()]


def test_at_least_three_hundred_issues_were_drawn_and_halved_and_a_hundred_recent_ones_stand_apart() -> None:
    parts = Counter(item.part for item in first_draw() if item.kind == "issue")
    assert parts["development"] + parts["test"] >= 300
    assert abs(parts["development"] - parts["test"]) < 60
    assert parts["recent"] >= 95


def first_draw() -> list[wild.WildItem]:
    return [item for item in wild.load() if item.two_read]


def test_no_drawn_item_is_one_that_the_catalog_holds() -> None:
    catalog = [json.loads(line) for line in resources.data_file("catalog.jsonl").read_text("utf-8").splitlines()]
    numbers, titles = {row["number"] for row in catalog}, {row["title"].lower() for row in catalog}
    assert [i.key for i in wild.load() if i.number in numbers or i.title.lower() in titles] == []


def test_where_the_two_annotators_differ_a_third_decided() -> None:
    for item in wild.load():
        if item.second is None:
            assert item.sample == wild.TARGETED
            continue
        same = sorted(item.first.labels) == sorted(item.second.labels) and item.first.kind == item.second.kind
        assert same or item.adjudicated, item.key
        if not item.adjudicated:
            assert sorted(item.labels) == sorted(item.first.labels), item.key


WRONG: list[tuple[dict[str, Any], str]] = [
    ({"labels": [["bug_type", "gremlins"]]}, "line 2: .*gremlins"),
    ({"labels": [["bug_type", "logical"], ["memory_type", "indexing"]]}, "line 2: .*memory_type"),
    ({"part": "train"}, "line 2: part"),
    ({"kind": None}, "line 2: kind"),
    ({"surprise": 1}, "line 2: surprise"),
    ({"key": "abc", "number": None}, "line 2: key"),
    ({"number": -5}, "line 2: number"),
]


def test_a_line_that_is_no_item_or_stands_twice_is_named(tmp_path: Path) -> None:
    first, second, *_ = lines()
    path = tmp_path / "wild.jsonl"
    for change, said in WRONG:
        path.write_text(f"{json.dumps(first)}\n{json.dumps(second | change)}\n", encoding="utf-8")
        with pytest.raises(InputError, match=said):
            wild.load(path)
    for sample in (first["sample"], "another sample"):
        path.write_text(f"{json.dumps(first)}\n{json.dumps(first | {'sample': sample})}\n", encoding="utf-8")
        with pytest.raises(InputError, match=f"line 2: {sample} {first['key']} stands twice"):
            wild.load(path)


def test_a_title_may_hold_any_separator_but_a_line_feed(tmp_path: Path) -> None:
    first = lines()[0] | {"title": "a\u2028b\x85c"}
    path = tmp_path / "wild.jsonl"
    path.write_text(json.dumps(first, ensure_ascii=False), encoding="utf-8")
    assert [item.title for item in wild.load(path)] == [first["title"]]


@pytest.mark.parametrize("content", [None, b"", b"{", b"\xff\xfe", b"[]", b"null\n"])
def test_a_file_of_something_else_is_one_clean_line(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "wild.jsonl"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(InputError, match=r"wild labels|wild\.jsonl holds no item"):
        wild.load(path)
