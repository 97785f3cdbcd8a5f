"""bench/RESULTS.md: what a program measured anew takes the place of its own section, and of nothing else."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "bench"))

from run import RESULTS, generated, with_parts  # noqa: E402

TEXT = """# Measurements

Beginning.

## Cases

old cases

### Whole bank

by hand

### Chosen

old choice

## By hand

words

## Study

old study
"""


def headings(text: str) -> list[str]:
    return re.findall(r"^#{2,3} .+$", text, re.MULTILINE)


def test_a_part_takes_the_place_of_its_section_and_keeps_what_somebody_wrote_below_it() -> None:
    written = with_parts(
        TEXT, ["\n## Cases\n\nnew cases\n\n### Chosen\n\nnew choice\n", "", "\n## Study\n\nnew study\n"]
    )
    expected = TEXT.replace("old cases", "new cases\n\n### Chosen\n\nnew choice")
    expected = expected.replace("\n### Chosen\n\nold choice\n", "").replace("old study", "new study")
    assert written == expected
    assert "old" not in written


def test_a_new_part_comes_behind_the_part_before_it() -> None:
    written = with_parts(TEXT, ["## First\n\n1\n", "## Cases\n\n2\n", "## Second\n\n3\n", "## Study\n\n4\n"])
    names = ["## First", "## Cases", "### Whole bank", "### Chosen", "## Second", "## By hand", "## Study"]
    assert headings(written) == names


@pytest.mark.parametrize("text", ["", "# Measurements\n", "## Study\n"])
def test_a_text_without_sections_gets_all_parts(text: str) -> None:
    parts = ["\n## Cases\n\n1\n", "\n## Study\n\n2\n"]
    assert headings(with_parts(text, parts)) == ["## Cases", "## Study"]
    assert with_parts(with_parts(text, parts), parts) == with_parts(text, parts)


def test_the_committed_results_keep_every_section_and_have_the_newest_parts() -> None:
    text = RESULTS.read_text(encoding="utf-8")
    parts = generated()
    assert "### Whole bank" in text
    assert with_parts(text, parts) == text
    emptied = with_parts(text, [part.partition("\n\n")[0] for part in parts])
    assert headings(emptied) == headings(text)
