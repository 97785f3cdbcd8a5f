"""What a model reads: forms, environments, stacks and logs go, the report stays; any text, in linear time."""

from __future__ import annotations

import csv
import gzip
import io
import json
import time
from typing import TYPE_CHECKING

import pytest

from torch_embers.classify.text import Cleaner, clean

if TYPE_CHECKING:
    from pathlib import Path

SAID = "The gradient is wrong for a strided input, and nothing warns about it."


@pytest.mark.parametrize(
    "unit",
    ["a", "A1", " ", "\n", "```\n", "~~~\n```\n", "````\n# x\n", "### Versions\n```\n", "[a](", "<!--", "\"\\", "'", "f(f(", "/a", "@a", "0x1", "1,",
     "nan,", "`", "**", "| ", "=", 'File "', '  File "a", line 1, in f\n    x\n', "#0  a (b) at ", "cc @a ", "1%|a", "12345678-", "[rank0]:",
     "https://", "\x00", "中", "\x1b[", "-- Found a\n", "!" * 99 + " "],
)  # fmt: skip
@pytest.mark.parametrize("fence", ["", "```\n"], ids=["prose", "code"])
def test_a_megabyte_of_anything_takes_seconds(unit: str, fence: str) -> None:
    text = fence + unit * (1_000_000 // len(unit))
    started = time.process_time()
    cleaned = clean(text)
    assert time.process_time() - started < 15  # about 0.5 s; quadratic time would be minutes
    limits = Cleaner.load().limits
    assert len(cleaned) <= limits.text_head_chars + limits.text_tail_chars + 1


def test_a_megabyte_of_log_leaves_its_beginning_and_its_end() -> None:
    log = "\n".join(f"worker {chr(97 + n % 26)}{chr(97 + n // 26 % 26)} says {n:x} things" for n in range(30_000))
    text = clean(f"{SAID}\n```\n{log}\n```\nThat is all of it.")
    assert text.startswith(SAID)
    assert text.endswith("That is all of it.")
    assert len(text) < 5_000


# --- real reports


def bodies(folder: Path) -> list[str]:
    csv.field_size_limit(2**31 - 1)
    with gzip.open(folder / "mhnurf_pytorch.csv.gz", "rb") as stream:
        found = [row["Body"] for row in csv.DictReader(io.TextIOWrapper(stream, encoding="utf-8", newline=""))]
    with gzip.open(folder / "recent_issues_text.jsonl.gz", "rt", encoding="utf-8") as stream:
        found += [json.loads(line)["problem_statement"] for line in stream]
    with gzip.open(folder / "issues_and_prs_2020_02.json.gz", "rt", encoding="utf-8") as stream:
        found += [entry["body"] or "" for entry in json.load(stream)]
    return found


def test_real_reports_shrink_and_few_vanish(shared_data: Path) -> None:
    texts = bodies(shared_data)
    cleaned = [clean(text) for text in texts]
    assert all(len(after) <= len(before) + 64 for before, after in zip(texts, cleaned, strict=True))
    assert sum(map(len, cleaned)) < 0.6 * sum(map(len, texts))
    vanished = sum(bool(before.strip()) and not after for before, after in zip(texts, cleaned, strict=True))
    assert vanished < 0.05 * len(texts)
    leftovers = (
        "PyTorch version:",
        "Is debug build",
        "Traceback (most recent",
        "### 🐛",
        "<!--",
        "## To Reproduce",
        "[pip3]",
    )
    assert not [text for text in cleaned if any(f"\n{leftover}" in f"\n{text}" for leftover in leftovers)]
    assert sum(clean(text) == text for text in cleaned) > 0.9 * len(cleaned)
