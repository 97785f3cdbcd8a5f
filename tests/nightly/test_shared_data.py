"""The real data beside the checkout, mined as files: counts, labels and links against what the files themselves say."""

from __future__ import annotations

import ast
import csv
import gzip
import io
import json
import re
from typing import TYPE_CHECKING, Any

import pytest

from support import rows, run_embers

if TYPE_CHECKING:
    from pathlib import Path

REPO = "pytorch/pytorch"
FILES = ("mhnurf_pytorch.csv.gz", "recent_issues_text.jsonl.gz", "issues_and_prs_2020_02.json.gz")


@pytest.fixture(scope="module")
def mined(shared_data: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """One database per file."""
    found = {}
    for name in FILES:
        path = tmp_path_factory.mktemp("shared") / "e.duckdb"
        done = run_embers("mine", "--source", "jsonl", shared_data / name, "--repo", REPO, "--database", path)
        assert done.returncode == 0, done.stderr
        found[name] = path
    return found


def read_csv(path: Path) -> list[dict[str, str]]:
    csv.field_size_limit(2**31 - 1)
    with gzip.open(path, "rb") as stream:
        return list(csv.DictReader(io.TextIOWrapper(stream, encoding="utf-8", newline="")))


def stored(value: str) -> str:
    return re.sub("[\x00\ud800-\udfff]", "\ufffd", value)


def test_mhnurf_arrives_whole(mined: dict[str, Path], shared_data: Path) -> None:
    wanted = read_csv(shared_data / FILES[0])
    got = {n: (t, b, s) for n, t, b, s in rows(mined[FILES[0]], "SELECT number, title, body, state FROM items")}
    assert len(got) == len(wanted) == 752
    for row in wanted:
        title, body, state = got[int(row["Number"])]
        assert (title, state) == (stored(row["Title"]), row["State"])
        parts = [row["Body"], *ast.literal_eval(row["Codes"] or "[]")]
        lines = {line.strip() for line in body.splitlines()}
        assert {line.strip() for part in parts for line in stored(part).splitlines()} <= lines | {""}
    comments = dict(rows(mined[FILES[0]], "SELECT number, count(*) FROM comments GROUP BY number"))
    for row in wanted:
        assert comments.get(int(row["Number"]), 0) == len(ast.literal_eval(row["Comments"]))
    labels = dict(rows(mined[FILES[0]], "SELECT number, labels FROM items"))
    for row in wanted:
        # the file joins labels by blanks: taking them apart keeps every word
        assert set(" ".join(labels[int(row["Number"])]).split()) == set(row["Labels"].split())
    assert rows(mined[FILES[0]], "SELECT count(*) FROM labels WHERE name = 'module: memory usage'")[0][0] == sum(
        "module: memory usage" in r["Labels"] for r in wanted
    )
    assert rows(mined[FILES[0]], "SELECT count(*) FROM rejects") == [(0,)]


def test_recent_issues_arrive_with_their_fixes(mined: dict[str, Path], shared_data: Path) -> None:
    with gzip.open(shared_data / FILES[1], "rt", encoding="utf-8") as stream:
        wanted: list[dict[str, Any]] = [json.loads(line) for line in stream]
    numbers = {int(w["issue_numbers"][0]) for w in wanted}
    got = {
        n: list(labels) for n, labels in rows(mined[FILES[1]], "SELECT number, labels FROM items WHERE kind = 'issue'")
    }
    assert len(wanted) == 99
    assert set(got) == numbers
    for record in wanted:
        assert got[int(record["issue_numbers"][0])] == sorted(set(record["issue_labels"]))
    fixes = set(
        rows(
            mined[FILES[1]], "SELECT number, target_number FROM links WHERE relation = 'fixes' AND evidence = 'dataset'"
        )
    )
    assert fixes == {(w["pull_number"], int(w["issue_numbers"][0])) for w in wanted}
    files = set(rows(mined[FILES[1]], "SELECT number, path FROM pull_files"))
    assert files == {(w["pull_number"], path) for w in wanted for path in w["fix_files"] or ()}
    # a fix's files say where the bug was
    assert rows(mined[FILES[1]], "SELECT count(*) > 20 FROM components WHERE evidence = 'path'") == [(True,)]


def test_february_2020_arrives_whole(mined: dict[str, Path], shared_data: Path) -> None:
    with gzip.open(shared_data / FILES[2], "rt", encoding="utf-8") as stream:
        wanted: list[dict[str, Any]] = json.load(stream)
    got = {
        n: (title, body, list(labels), author, comments)
        for n, title, body, labels, author, comments in rows(
            mined[FILES[2]], "SELECT number, title, body, labels, author, comment_count FROM items"
        )
    }
    assert len(got) == len(wanted) == 400
    for record in wanted:
        assert got[record["issue_number"]] == (
            stored(record["title"]),
            stored(record["body"] or ""),
            sorted(set(record["labels"])),
            record["author_username"],
            record["number_of_comments"],
        )
    assert rows(mined[FILES[2]], "SELECT count(*) FROM items WHERE kind IS NOT NULL") == [(0,)]


def test_plain_fixes_lines_of_february_2020_become_links(mined: dict[str, Path], shared_data: Path) -> None:
    with gzip.open(shared_data / FILES[2], "rt", encoding="utf-8") as stream:
        wanted: list[dict[str, Any]] = json.load(stream)
    plain = {
        (record["issue_number"], int(number))
        for record in wanted
        for number in re.findall(r"(?im)^\s*(?:fixes|closes|resolves) #(\d+)\.?\s*$", record["body"] or "")
    }
    got = set(
        rows(mined[FILES[2]], "SELECT number, target_number FROM links WHERE relation = 'fixes' AND evidence = 'text'")
    )
    assert len(plain) > 10
    assert plain <= got
