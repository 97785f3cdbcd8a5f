"""The examples of the pages are run on a database of the catalog alone, and print what the pages show."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb

from documented import DOCS, PAGES, examples
from support import rows, run_embers
from torch_embers.audit import audit_code, formats
from torch_embers.store.store import Store

if TYPE_CHECKING:
    import pytest

READ_ONLY = (
    *("embers status", "embers list", "embers show", "embers chain", "embers search", "embers data funnel"),
    *("embers research advisories", "embers research fix-tests"),
)
"""Commands that read the database and nothing else; the tests of the others run them on builds, servers and files."""
ANOTHER_DATABASE = {
    *(
        "embers show --paste 151980 --short",
        "embers show --paste --table 83149",
        "embers chain 1",
        "embers list --matrix",
    ),
}
"""Lines about items that the catalog lacks, or that show some rows and columns of a wide table."""
MEASURED = re.compile(r"\d[\d,.]*( items/s| s\b| MB\b| days ago)")
"""What differs from run to run: times, rates, sizes and ages."""
GENERATED = re.compile(r"(?s)<!-- \[\[\[cog.*?\[\[\[end\]\]\] -->")
"""`make docs-check` compares these."""


def is_shown(printed: str, output: str) -> bool:
    """Whether a command printed what a page shows: line ends and what is measured apart; a line of dots is any text."""
    parts = re.split(r"(?m)^ *\.\.\.$", MEASURED.sub(r"0\1", printed))
    wanted = [re.escape(" ".join(part.split())) for part in parts]
    return re.search(".*".join(wanted), " ".join(MEASURED.sub(r"0\1", output).split())) is not None


def test_examples_print_what_is_shown(catalog_template: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    database = shutil.copy(catalog_template, tmp_path / "e.duckdb")
    monkeypatch.chdir(tmp_path)
    assert not is_shown("a.b\n...\n550 items in 1.3 s", "a.b more 551 items in 1.3 s"), "a control"
    wrong = []
    for page in PAGES:
        for (program, *words), printed in examples(GENERATED.sub("", page.read_text(encoding="utf-8"))):
            if program == "duckdb":
                with duckdb.connect(database, read_only=True) as connection:
                    assert connection.sql(words[-1]).fetchall(), words
            line = " ".join(("embers", *words))
            if Path(program).name != "embers" or not line.startswith(READ_ONLY) or line in ANOTHER_DATABASE:
                continue
            done = run_embers(*words, EMBERS_DATABASE=str(database), HF_HUB_OFFLINE="1", COLUMNS="96")
            if not is_shown(printed, done.stdout + done.stderr):
                wrong.append((page.name, words, done))
    assert not wrong, wrong


def test_the_tutorial_shows_what_an_audit_of_its_script_prints() -> None:
    text = (DOCS / "tutorial-engineer.md").read_text(encoding="utf-8")
    (script, *_) = re.findall(r"(?s)```python\n(.*?)```", text)
    (printed,) = [one.printed for one in examples(text) if one.words == ("embers", "audit", "train.py")]
    told = formats.lines(audit_code.audit_texts({Path("train.py"): script}, "2.13.0"))
    assert is_shown(printed, "\n".join(told))


def test_the_example_of_a_recheck_counts_the_shipped_statuses_which_it_keeps_or_confirms(
    catalog_template: Path,
) -> None:
    counted = rows(
        catalog_template,
        "SELECT count(*) || ' ' || status FROM statuses JOIN items USING (repo, number) WHERE state = 'closed' "
        "GROUP BY status ORDER BY status",
    )
    said = ", ".join(text for [text] in counted)
    for page in ("commands/recheck.md", "tutorial.md"):
        shown = re.findall("^items: (.*)$", (DOCS / page).read_text(encoding="utf-8"), re.MULTILINE)
        assert set(shown) == {said}, page


def test_examples_of_a_first_mine_count_the_catalog_as_it_is(catalog_template: Path) -> None:
    with Store(catalog_template).read() as connection:
        [(items,)] = connection.execute("SELECT count(*) FROM catalog").fetchall()
    shown = [
        text for page in PAGES for text in re.findall(r"catalog: ([\d,]+) items", page.read_text(encoding="utf-8"))
    ]
    assert set(shown) == {f"{items:,}"}
