"""The citable dataset: what may be published and nothing else, the same bytes each time, whole or not at all."""

from __future__ import annotations

import errno
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from helpers.dataset import ROOT, files_of, hostile, item, made, names  # noqa: F401 - fixtures
from helpers.rows import put
from support import run_embers
from torch_embers import __version__
from torch_embers.dataset import collect, publish
from torch_embers.errors import InputError
from torch_embers.store.store import Store

DOCS = ROOT / "docs"


@pytest.fixture(scope="module")
def catalog(catalog_template: Path) -> Store:
    """A database that was only mined: the embedded catalog, shipped cases and verdicts."""
    return Store(catalog_template)


def test_other_rows_give_another_version(hostile: Store, tmp_path: Path) -> None:
    copy = Store(tmp_path / "copy.duckdb")
    shutil.copy(hostile.path, copy.path)
    with copy.writer("test", create=True) as writer:
        put(writer, items=[item(1, "another title", updated_at="2024-05-01T00:00:00Z")])
    first, second = (publish.render(collect.collect(store))[0] for store in (hostile, copy))
    assert first.version != second.version
    assert first.version.startswith(f"{__version__}+")


# ---- a database that was only mined --------------------------------------------------------------------------------


def test_the_example_of_the_tutorial_prints_what_stands_below_it(
    catalog: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    publish.publish(catalog, tmp_path / "embers-dataset")
    text = (DOCS / "tutorial-researcher.md").read_text(encoding="utf-8")
    [(code, printed)] = re.findall(
        r"```python\n([^`]*?print\(.*?)```\n\nIt prints[^\n]*\n\n```\n(.*?)```", text, re.DOTALL
    )
    monkeypatch.chdir(tmp_path)
    exec(code, {})
    lines = capsys.readouterr().out.splitlines()
    assert [line.rstrip() for line in lines] == printed.splitlines()


def test_a_dataset_of_the_catalog_is_the_same_on_every_machine(catalog: Store, tmp_path: Path) -> None:
    other = Store(tmp_path / "other.duckdb")
    assert run_embers("mine", "--source", "catalog", "--database", other.path).returncode == 0
    assert publish.render(collect.collect(other)) == publish.render(collect.collect(catalog))


# ---- the folder ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("code", "said"), [(errno.ENOSPC, "no room for"), (errno.EACCES, "cannot be written"), (None, None)]
)
def test_a_failure_half_way_leaves_the_earlier_dataset_and_nothing_else(
    hostile: Store, made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int | None, said: str | None
) -> None:
    shutil.copytree(made, tmp_path / "d")
    written: list[Path] = []
    really = Path.write_bytes

    def fails(path: Path, body: bytes) -> int:
        written.append(path)
        if len(written) == 5:
            raise KeyboardInterrupt if code is None else OSError(code, os.strerror(code), str(path))
        return really(path, body)

    monkeypatch.setattr(Path, "write_bytes", fails)
    with pytest.raises(KeyboardInterrupt if code is None else InputError, match=said):
        publish.publish(hostile, tmp_path / "d")
    monkeypatch.undo()
    assert files_of(tmp_path / "d") == files_of(made)
    assert [path.name for path in tmp_path.iterdir()] == ["d"]


def test_the_command_prints_what_it_wrote_and_two_lines_that_load_it(
    hostile: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    printed = run_embers("data", "export", "--dataset", "the [d]", "--database", hostile.path).stdout
    assert all(re.search(rf"(?m)^{name} ", printed) for name in names())
    found: dict[str, Any] = {}
    exec("\n".join(printed.splitlines()[-2:]), found)
    assert len(found["verdicts"]) == 2


def test_the_dataset_is_made_without_packages_of_the_extras() -> None:
    blocked = "sys.modules.update(dict.fromkeys(['scipy', 'sklearn', 'matplotlib', 'torch', 'onnxruntime']))"
    code = (
        f"import sys; {blocked}; import torch_embers.dataset.publish, torch_embers.study.parts, torch_embers.run.cases"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
