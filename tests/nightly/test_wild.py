"""Labels of items that nobody chose: read whole, kept apart from what the classifier learns."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from torch_embers import resources
from torch_embers.classify.labels import wild

if TYPE_CHECKING:
    from pathlib import Path


def lines() -> list[dict[str, Any]]:
    return [json.loads(line) for line in resources.data_file(wild.FILE).read_text(encoding="utf-8").splitlines()]


def test_the_second_draw_is_for_development_alone_and_unlike_what_is_tested() -> None:
    def words(title: str) -> set[str]:
        return set(re.sub(r"\W+", " ", title.lower()).split())

    again = [item for item in wild.load() if not item.two_read]
    assert len(again) >= 1_000
    assert {item.part for item in again if item.sample != wild.TARGETED} == {"development"}
    tested = [(item, words(item.title)) for item in wild.load() if item.part != "development"]
    for item in again:
        own = words(item.title)
        others = [title for one, title in tested if one.two_read or item.part == "development"]
        assert all(2 * len(own & other) < len(own | other) for other in others), item.title


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"labels": [["bug_type", "gremlins"]]}, "line 2: .*gremlins"),
        ({}, "line 2: .*stands twice"),
        ({"key": "2", "number": 2, "part": "recent"}, "no issue of development"),
    ],
    ids=["an unknown class", "a duplicate", "nothing to score"],
)
def test_the_command_that_scores_such_a_file_says_so_in_one_line_and_writes_nothing(
    tmp_path: Path, change: dict[str, Any], said: str
) -> None:
    one = {**lines()[0], "part": "test"}
    (tmp_path / "wild.jsonl").write_text(f"{json.dumps(one)}\n{json.dumps(one | change)}\n")
    command = [sys.executable, resources.CHECKOUT_DIR / "tools" / "drawn_scores.py", "--part", "development"]
    done = subprocess.run(
        [*command, "--items", tmp_path / "wild.jsonl", "--out", tmp_path / "out.json"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (3, "", 1)
    assert re.search(said, done.stderr)
    assert not (tmp_path / "out.json").exists()
