"""The examples of the pages are run on a classified catalog, and print what the pages show."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import duckdb
import pytest

from documented import DOCS, PAGES, examples
from support import run_embers
from torch_embers.audit import command as audit_command
from torch_embers.audit import formats

READ_ONLY = {
    "status",
    "list",
    "show",
    "cases",
    "chain",
    "search",
    "similar",
    "funnel",
    "matrix",
    "advisories",
    "fix-tests",
    "second-opinion",
}
"""Commands that read the database and nothing else; the tests of the others run them on builds, servers and files."""
ANOTHER_DATABASE = {"embers second-opinion 151980 --short"}
"""Lines about an item that the catalog lacks."""
MEASURED = re.compile(r"\d[\d,.]*( items/s| s\b| MB\b| days ago)")
"""What differs from run to run: times, rates, sizes and ages."""
GENERATED = re.compile(r"(?s)<!-- \[\[\[cog.*?\[\[\[end\]\]\] -->")
"""`make docs-check` compares these."""


def is_shown(printed: str, output: str) -> bool:
    """Whether a command printed what a page shows: line ends and what is measured apart; a line of dots is any text."""
    parts = re.split(r"(?m)^ *\.\.\.$", MEASURED.sub(r"0\1", printed))
    wanted = [re.escape(" ".join(part.split())) for part in parts]
    return re.search(".*".join(wanted), " ".join(MEASURED.sub(r"0\1", output).split())) is not None


@pytest.mark.parametrize(
    ("printed", "output", "same"),
    [
        ("a b\n", "a\n b\n", True),
        ("550 items in 1.3 s", "550 items in 22.0 s", True),
        ("550 items in 1.3 s", "551 items in 1.3 s", False),
        ("first\n...\nlast", "first\nmore\nlast", True),
        ("first\n...\nlast", "first\nmore", False),
        ("a.b", "axb", False),
    ],
)
def test_an_output_that_is_not_the_shown_one_would_be_seen(printed: str, output: str, same: bool) -> None:
    assert is_shown(printed, output) == same


@pytest.mark.timeout(1_800)  # the fixture labels the catalog, and forty commands follow
def test_examples_print_what_the_pages_show(
    classified_template: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    database = shutil.copy(classified_template, tmp_path / "e.duckdb")
    monkeypatch.chdir(tmp_path)
    wrong = []
    for page in PAGES:
        for (program, *words), printed in examples(GENERATED.sub("", page.read_text(encoding="utf-8"))):
            if program == "duckdb":
                with duckdb.connect(database, read_only=True) as connection:
                    assert connection.sql(words[-1]).fetchall(), words
            if (
                Path(program).name != "embers"
                or words[0] not in READ_ONLY
                or " ".join(("embers", *words)) in ANOTHER_DATABASE
            ):
                continue
            done = run_embers(*words, EMBERS_DATABASE=str(database), HF_HUB_OFFLINE="1", COLUMNS="96")
            if not is_shown(printed, done.stdout + done.stderr):
                wrong.append((page.name, words, done))
    assert wrong == []


def test_the_tutorial_shows_what_an_audit_of_its_script_prints() -> None:
    text = (DOCS / "tutorial-engineer.md").read_text(encoding="utf-8")
    (script, *_) = re.findall(r"(?s)```python\n(.*?)```", text)
    (printed,) = [one.printed for one in examples(text) if one.words == ("embers", "audit", "train.py")]
    told = formats.lines(audit_command.audit_texts({Path("train.py"): script}, printed.split()[1]))
    assert is_shown(printed, "\n".join(told))
