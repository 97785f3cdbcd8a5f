"""Published datasets: what their records become."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from helpers.gitlog import mine_lines
from torch_embers.mine.datasets import comment_texts, shapes, to_rest

if TYPE_CHECKING:
    from pathlib import Path

TABLE_ROW = {"number": "5", "title": "T", "state": "CLOSED", "createdAt": "2024-01-01T00:00:00Z", "labels": "a|b"}


@pytest.fixture
def one(tmp_path: Path) -> Any:
    """The rows of a file with one record."""
    return lambda record: mine_lines(tmp_path, json.dumps(record).encode())


def test_the_shape_mhnurf(one: Any) -> None:
    row = {"Number": "123", "Title": "T", "Body": "B", "Codes": "[]", "class": "1", "State": "closed"}
    batch = one(
        row | {"Labels": "high priority module: cuda no such label triaged", "Comments": "['first\\n', \"it's\", 'é']"}
    )
    [item] = batch.items
    assert (item.number, item.title, item.body, item.state) == (123, "T", "B", "closed")
    assert item.labels == ["high priority", "module: cuda", "no such label", "triaged"]
    assert sorted((c.comment_id, c.body) for c in batch.comments) == [
        ("mhnurf:123:1", "first\n"),
        ("mhnurf:123:2", "it's"),
        ("mhnurf:123:3", "é"),
    ]


@pytest.mark.parametrize(
    ("body", "codes", "expected"),
    [
        ("a\r\n\r\n\r\n\r\nb", ["\r\nx = 1\r\n"], "a\n\n```\nx = 1\n```\n\nb"),
        ("a\n\n\nb\n\n\nc", ["x", "y"], "a\n\n```\nx\n```\n\nb\n\n```\ny\n```\n\nc"),
        ("a\n\nb\n", ["x", "y"], "a\n\nb\n\n## Code\n\n```\nx\n```\n\n\n\n```\ny\n```\n\n"),
        ("a", ["```nested```"], "a\n\n## Code\n\n````\n```nested```\n````\n\n"),
        ("a\n\n\nb\n\n\ncc @c", ["x"], "a\n\n```\nx\n```\n\nb\n\n\ncc @c"),
        ("a\n\n\nb", [], "a\n\n\nb"),
        ("a\n\n\nb", [" \n"], "a\n\n\nb"),
    ],
)
def test_code_that_a_dataset_cut_out_is_put_back_where_it_stood(
    one: Any, body: str, codes: list[str], expected: str
) -> None:
    row = {"Number": "1", "Title": "T", "Body": body, "Codes": repr(codes), "class": "1"}
    [item] = one(row).items
    assert item.body == expected


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("", 0),
        ("  ", 0),
        ("[]", 0),
        ("['a']", 1),
        ("not a list", 1),
        ("['a', 5, None, ['b']]", 4),
        ("('a', 'b')", 1),
        ("[" * 5000 + "]" * 5000, 1),
        ("['a\x00b']", 1),
        ("['a'", 1),
        ("[0x" + "f" * 10_000 + "]", 1),
        ("__import__('os').abort()", 1),
    ],
    ids=range(12),
)
def test_printed_lists_of_comments_are_read_without_running_them(text: str, count: int) -> None:
    [shape] = [s for s in shapes() if s.id == "mhnurf"]
    found = comment_texts({"Comments": text}, shape)
    assert len(found) == count


def test_the_shape_issue_to_fix(one: Any) -> None:
    row = {
        "issue_numbers": ["77"],
        "pull_number": 99,
        "problem_statement": "The title\n\nThe body\ngoes on",
        "issue_labels": ["bug"],
        "issue_created_at": "2024-01-01T00:00:00Z",
        "hints_text": "[ann · 2024-02-03]\nfirst\n\n[bob · 2024-02-04]\nsecond\nline\n",
        "fix_files": ["aten/a.cpp", 5, "torch/b.py"],
    }
    batch = one(row)
    issue, pull = sorted(batch.items, key=lambda item: item.number)
    assert (issue.number, issue.title, issue.body, issue.labels) == (77, "The title", "The body\ngoes on", ["bug"])
    assert (pull.number, pull.kind) == (99, "pull")
    assert sorted((c.author, str(c.created_at), c.body) for c in batch.comments) == [
        ("ann", "2024-02-03 00:00:00", "first"),
        ("bob", "2024-02-04 00:00:00", "second\nline"),
    ]
    [link] = batch.stated_links
    assert (link.number, link.relation, link.target_number, link.evidence) == (99, "fixes", 77, "dataset")
    assert sorted((f.number, f.path) for f in batch.pull_files) == [(99, "aten/a.cpp"), (99, "torch/b.py")]


@pytest.mark.parametrize("pull", [None, 0, -1, "x", [], {}, 10**12, True])
def test_a_fix_without_a_usable_number_is_left_out_and_the_issue_kept(one: Any, pull: object) -> None:
    batch = one({"issue_numbers": [77], "pull_number": pull, "problem_statement": "t", "fix_files": ["a"]})
    assert [item.number for item in batch.items] == [77]
    assert batch.stated_links == []
    assert batch.pull_files == []


def test_the_shape_issue_listing(one: Any) -> None:
    row = {
        "issue_number": 5,
        "author_username": "ann",
        "repository_url": "https://api.github.com/repos/pytorch/vision",
        "title": "T",
        "body": None,
        "labels": ["a"],
        "created_at": "2020-02-01T00:00:00Z",
        "number_of_comments": 3,
        "reactions": {"total_count": 4},
    }
    [item] = one(row).items
    assert (item.repo, item.number, item.author, item.body) == ("pytorch/vision", 5, "ann", "")
    assert (item.comment_count, item.reaction_count, item.labels) == (3, 4, ["a"])


def test_the_shape_label_table(one: Any) -> None:
    [item] = one(TABLE_ROW).items
    assert (item.number, item.title, item.state, item.labels) == (5, "T", "closed", ["a", "b"])
    assert str(item.created_at) == "2024-01-01 00:00:00"


def test_a_rest_object_is_not_taken_for_a_dataset(one: Any) -> None:
    rest = TABLE_ROW | {"number": 5, "createdAt": "x", "labels": [], "updated_at": "2024-01-01T00:00:00Z"}
    [item] = one(rest).items
    assert (item.kind, str(item.updated_at)) == ("issue", "2024-01-01 00:00:00")


@pytest.mark.parametrize(
    ("value", "number"),
    [("5", 5), (" #5 ", 5), ("5.0", 5), (5.0, 5), ([5], 5), (["5"], 5)],
)
def test_numbers_of_datasets_come_in_many_forms(value: object, number: int) -> None:
    [shape] = [s for s in shapes() if s.id == "label_table"]
    assert to_rest(TABLE_ROW | {"number": value}, shape)["number"] == number
