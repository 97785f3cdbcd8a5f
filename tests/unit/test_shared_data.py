"""The real data beside the checkout, mined as files: counts, labels and links against what the files themselves say."""

from __future__ import annotations

import gzip
import json
import re
from typing import TYPE_CHECKING, Any

import pytest

from support import rows
from torch_embers.mine import runner
from torch_embers.mine.files.jsonl import JsonlSource
from torch_embers.store.store import Store

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
        runner.mine(Store(path), JsonlSource(REPO, [shared_data / name]))
        found[name] = path
    return found


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
