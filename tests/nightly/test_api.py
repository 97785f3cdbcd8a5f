"""The Python API: what is public, frames on a mined database, and every example of docs/python.md."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

import torch_embers as embers

PAGE = Path(__file__).parents[2] / "docs" / "python.md"
EXAMPLES = re.findall(r"(?ms)^```python\n(.*?)^```$", PAGE.read_text(encoding="utf-8"))
FRAMES = ("items", "candidates", "labels", "links", "cases", "verdicts", "statuses", "dispositions")


@pytest.fixture
def db(catalog_database: Path) -> embers.Database:
    return embers.open(catalog_database)


def test_classify_stays_the_function_when_the_package_of_that_name_is_imported() -> None:
    code = (
        "import torch_embers.classify.questions, torch_embers\n"
        "from torch_embers.classify import questions\n"
        "assert questions.__name__ == 'torch_embers.classify.questions'\n"
        "assert torch_embers.classify.__name__ == 'classify' and callable(torch_embers.classify)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize("name", FRAMES)
def test_a_frame_has_the_columns_that_its_page_names(db: embers.Database, name: str) -> None:
    frame = getattr(db, name)()
    [row] = re.findall(rf"(?m)^\| `{name}\(\)` \|.*$", PAGE.read_text(encoding="utf-8"))
    named = set(re.findall(r"`(\w+)`", row.split("|")[3]))
    assert named <= set(frame.columns)
    if name != "candidates":
        assert len(frame)


def test_every_example_of_the_page_runs(catalog_database: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("onnxruntime")
    monkeypatch.chdir(catalog_database.parent)
    catalog_database.rename(catalog_database.parent / "catalog.duckdb")
    names: dict[str, object] = {}
    for example in EXAMPLES:
        exec(compile(example, str(PAGE), "exec"), names)
    assert names["message"]
