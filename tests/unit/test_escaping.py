"""Text of strangers on its way out: no terminal, spreadsheet or GitHub page may obey it, whatever command prints it."""

from __future__ import annotations

import json
import logging
from typing import TYPE_CHECKING
from unittest.mock import MagicMock

import duckdb
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers.escaping import EVIL, NOT_STORED, NUMBER, REPO, assert_harmless_markdown, cells, unseen
from torch_embers import escaping
from torch_embers.cli.log import VisibleFormatter
from torch_embers.console import plain, print_table, stderr, stdout
from torch_embers.recheck import reports
from torch_embers.recheck.recheck import Recheck, StatusChange
from torch_embers.study import result_files
from torch_embers.verdicts.script_excerpt import script_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from rich.console import Console


# ---- one function for each way out -----------------------------------------------------------------------------------


@given(st.text())
def test_visible_text_has_nothing_unseen_and_stays_as_it_is_the_second_time(text: str) -> None:
    once = escaping.visible(text)
    assert unseen(once) == set()
    assert "\r" not in once
    assert escaping.visible(once) == once


def test_what_people_write_stays() -> None:
    for text in ("", "plain", "tab\tand\nline", "Ünïcödé 中文 🐛 ⚠ ≥ 2.0", "x[0] < y"):
        assert escaping.visible(text) == text


@pytest.mark.parametrize(
    ("text", "cell"),
    [
        ("=1+1", "'=1+1"),
        ("+1 for this", "'+1 for this"),
        ("-", "'-"),
        ("@user", "'@user"),
        ("\t=1", "'\t=1"),
        ("\r=1", "'\r=1"),
        ("\u200b=1+1", "'=1+1"),
        ("\x1b=1+1", "'=1+1"),
        ("'=1", "''=1"),
        ("-1.5", "-1.5"),
        ("+2e10", "+2e10"),
        ("1-1", "1-1"),
        ("two\r\nlines", "two\r\nlines"),
    ],
)
def test_a_cell_of_a_csv_file_is_no_formula_and_numbers_stay_numbers(text: str, cell: str) -> None:
    assert escaping.csv_text(text) == cell
    assert escaping.csv_cell(-1.5) == -1.5
    assert escaping.csv_cell(None) is None


@given(st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"])) | st.sampled_from(["-1", "=1", EVIL]))
def test_the_database_writes_the_same_cells(text: str) -> None:
    text = text.translate(NOT_STORED)
    [(cell,)] = duckdb.execute(f"SELECT {escaping.csv_sql('t')} FROM (SELECT $text AS t)", {"text": text}).fetchall()
    assert cell == escaping.csv_text(text)


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("@user", "@&#8203;user"),
        ("o/n#7", r"o/n\#&#8203;7"),
        ("GH-7 gh-8", "GH-&#8203;7 gh-&#8203;8"),
        ("high-5", "high-5"),
        ("www.a.b", "www&#8203;.a.b"),
        ("https://a.b", "https:&#8203;//a.b"),
        ("a | b\n# c", r"a \| b \# c"),
        ("&lt;b> [x](y) `z` $a$ *b* _c_ ~d~ \\", r"\&lt;b\> \[x\](y) \`z\` \$a\$ \*b\* \_c\_ \~d\~ \\"),
        ("\x1b[31m\u202ered", r"\[31mred"),
    ],
)
def test_text_stays_text_in_markdown(text: str, written: str) -> None:
    assert escaping.markdown(text) == written


@given(st.text(st.sampled_from("@#:/.-wghGH1a&;\u200b \n<`")))
def test_nothing_in_markdown_notifies_or_links(text: str) -> None:
    assert_harmless_markdown(escaping.markdown(text))


@pytest.mark.parametrize("hidden", ["\u200b", "\u2060", "\ufeff", "\x00"])
def test_nothing_that_is_taken_out_lets_a_text_leave_its_block(hidden: str) -> None:
    block = escaping.markdown_block(f"x\n{hidden.join('```')}\n@maintainer ![i](http://e/x.png)")
    fence = block.splitlines()[0]
    assert fence == block.splitlines()[-1]
    assert fence not in block.splitlines()[1:-1]


@pytest.mark.parametrize("console", [stdout, stderr])
def test_no_markup_and_no_emoji_code_of_strangers_is_read(
    console: Callable[[], Console], capsys: pytest.CaptureFixture[str]
) -> None:
    text = "[red]x[/red] :bug: [/] \\"
    console().print(plain(text))
    print_table(["title"], [[text]], title=text)
    said = capsys.readouterr()
    assert (said.out + said.err).count(text) == 3


def test_a_report_of_a_re_check_is_harmless(tmp_path: Path) -> None:
    script = script_of("x1", "fix_test", f"{EVIL}\n```\n{EVIL}")
    evidence = (f"pt1: occurs 1/3 {EVIL}",)
    told = "closed_but_occurs"
    change = StatusChange(REPO, NUMBER, EVIL, "cpu", "closed_but_occurs", None, evidence, (script,), told)
    reference = MagicMock(version=EVIL, identity=EVIL, public_version=EVIL)
    result = Recheck(reference, "2026-01-01T00:00:00Z", (), (change,), {"fixed": 1}, 1, 0.0)
    reports.save(tmp_path, result, [])
    page = (tmp_path / "recheck.md").read_text(encoding="utf-8")
    assert_harmless_markdown(page)
    assert r"[a/b\#&#8203;1](https://redirect.github.com/a/b/issues/1)" in page
    assert json.loads((tmp_path / "recheck.json").read_bytes())["changes"][0]["title"] == EVIL


def test_files_of_the_study_are_harmless(tmp_path: Path) -> None:
    written = result_files.write(
        tmp_path / "f.csv", result_files.as_csv([{"title": EVIL, "change": -1.5, "none": None}])
    )
    assert written.read_text(encoding="utf-8").endswith(",-1.5,\n")
    assert unseen(written.read_text(encoding="utf-8")) == set()
    assert list(cells(tmp_path))[3].startswith("'=")


def test_a_logged_line_is_harmless() -> None:
    record = logging.LogRecord("x", logging.INFO, "f", 1, "%s", (EVIL,), None)
    assert unseen(VisibleFormatter("%(message)s").format(record)) == set()
