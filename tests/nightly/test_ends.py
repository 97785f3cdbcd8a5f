"""How a command ends when the machine or its user stops it: one line, and the documented exit code."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

INTERRUPTED_IMPORT = """
import sys
class Finder:
    def find_spec(self, name, *_):
        if name == {name!r}:
            try:
                raise KeyboardInterrupt
            except KeyboardInterrupt as error:
                raise {raised}
sys.meta_path.insert(0, Finder())
from torch_embers.cli import main
main(["status"])
"""
NO_TEMPORARY_FOLDER = """
import sys, tempfile
tempfile.tempdir = "/proc/none"
from torch_embers.cli import main
main(["sanitize", "--oracle", "layout", sys.argv[1]])
"""


def ended(code: str, *arguments: str) -> tuple[int, list[str]]:
    done = subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=False)
    return done.returncode, done.stderr.splitlines()


@pytest.mark.parametrize(
    ("name", "raised"),
    [
        ("torch_embers.cli.application", "error"),
        ("torch_embers.store.status", "error"),
        ("torch_embers.store.status", "ImportError from error"),
    ],
)
def test_ctrl_c_during_an_import_is_one_line(name: str, raised: str) -> None:
    code, [line] = ended(INTERRUPTED_IMPORT.format(name=name, raised=raised))
    assert code == 130
    assert line.startswith("interrupted")


def test_a_folder_for_temporary_files_that_cannot_be_written_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("import torch")
    code, [line] = ended(NO_TEMPORARY_FOLDER, str(tmp_path / "a.py"))
    assert code == 5
    assert "TMPDIR" in line


def test_a_closed_output_is_printed_to_by_nobody(catalog_database: Path) -> None:
    command = f"exec {sys.executable} -m torch_embers status --database {catalog_database} >&-"
    done = subprocess.run(["sh", "-c", command], stderr=subprocess.PIPE, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_an_output_without_room_is_one_line(catalog_database: Path) -> None:
    command = [sys.executable, "-m", "torch_embers", "list", "--database", catalog_database]
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 5
    assert done.stderr.startswith("error: the output cannot be written")
    assert len(done.stderr.splitlines()) == 1
