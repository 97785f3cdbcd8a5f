"""The Python API: frames on a mined database, and every example of docs/python.md."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import torch_embers as embers

PAGE = Path(__file__).parents[2] / "docs" / "python.md"
EXAMPLES = re.findall(r"(?ms)^```python\n(.*?)^```$", PAGE.read_text(encoding="utf-8"))
FRAMES = (
    *("items", "candidates", "labels", "links", "cases", "verdicts", "statuses", "timelines", "answers", "fix_tests"),
    "dispositions",
)


def test_a_frame_has_the_columns_that_its_page_names(catalog_template: Path) -> None:
    db = embers.open(catalog_template)
    for name in FRAMES:
        frame = getattr(db, name)()
        [row] = re.findall(rf"(?m)^\| `{name}\(\)` \|.*$", PAGE.read_text(encoding="utf-8"))
        assert set(re.findall(r"`(\w+)`", row.split("|")[3])) <= set(frame.columns), name
        assert len(frame) or name in ("candidates", "timelines"), name


def test_every_example_of_the_page_runs(catalog_database: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("onnxruntime")
    monkeypatch.chdir(catalog_database.parent)
    catalog_database.rename(catalog_database.parent / "catalog.duckdb")
    names: dict[str, object] = {}
    for example in EXAMPLES:
        exec(compile(example, str(PAGE), "exec"), names)
    assert names["message"]
