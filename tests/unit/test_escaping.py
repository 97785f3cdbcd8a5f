"""Text of strangers on its way out: no terminal, spreadsheet or GitHub page may obey it, whatever command prints it."""

from __future__ import annotations

import json
import logging
import re
from typing import TYPE_CHECKING
from unittest.mock import MagicMock

import duckdb
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers.escaping import (
    COMMANDS,
    EVIL,
    NOT_STORED,
    NUMBER,
    REPO,
    cells,
    store,  # noqa: F401 - fixtures
    unseen,
)
from support import run_embers
from torch_embers import escaping
from torch_embers.cli.log import VisibleFormatter
from torch_embers.console import stderr, stdout, table
from torch_embers.run import reports
from torch_embers.run.recheck import Change, Recheck
from torch_embers.run.script import script_of
from torch_embers.study import files

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from rich.console import Console

    from torch_embers.store.store import Store


# ---- one function for each way out -----------------------------------------------------------------------------------


@given(st.text())
def test_visible_text_has_nothing_unseen_and_stays_as_it_is_the_second_time(text: str) -> None:
    once = escaping.visible(text)
    assert unseen(once) == set()
    assert "\r" not in once
    assert escaping.visible(once) == once


def test_what_people_write_stays() -> None:
    for text in ("", "plain", "tab\tand\nline", "Ünïcödé 中文 🐛 ⚠️ ≥ 2.0", "x[0] < y"):
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


def outside_code(page: str) -> str:
    """The page without its blocks of code: in these, GitHub notifies nobody and links nothing."""
    kept, fence = [], ""
    for line in page.splitlines():
        ticks = re.match(r" *(`{3,})", line)
        if fence:
            fence = "" if ticks and line.strip() == fence else fence
        elif ticks:
            fence = ticks[1]
        else:
            kept.append(line)
    assert not fence, "a block of code is not closed"
    return "\n".join(kept)


def assert_harmless_markdown(page: str) -> None:
    assert unseen(page) == set()
    page = outside_code(page)
    page = page.replace("&#8203;", "|")
    for form in (r"@\w", r"(?<![\w.])#\d", r"/\w+\\?#\d", r"(?i)\bgh-\d", r"www\.", r"(?<!\]\()https?://", r"(?<!\\)<"):
        assert not re.search(form, page), (form, page)


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
    console().print(table("", [("title", False)], [["[red]x[/red] :bug: [/] \\"]]))
    said = capsys.readouterr()
    assert "[red]x[/red] :bug: [/] \\" in said.out + said.err


@pytest.mark.parametrize("arguments", [COMMANDS["show"], COMMANDS["list"]])
def test_markup_in_a_title_is_printed_as_it_stands(store: Store, arguments: tuple[object, ...]) -> None:
    said = "".join(run_embers(*arguments, "--database", store.path, COLUMNS="400").stdout.split())
    assert "[red]x[/red][/]:bug:" in said


def test_a_comment_to_paste_notifies_nobody(store: Store) -> None:
    assert_harmless_markdown(run_embers("comment", NUMBER, "--repo", REPO, "--database", store.path).stdout)


def test_the_matrix_in_every_form_is_harmless(store: Store, tmp_path: Path) -> None:
    for form in ("csv", "junit"):
        path = tmp_path / f"matrix.{form}"
        done = run_embers("matrix", f"--{form}", path, "--database", store.path)
        assert done.returncode == 0, done.stderr
        assert unseen(path.read_text(encoding="utf-8")) == set()
    assert not [cell for cell in cells(tmp_path) if re.match(r"[=+\-@\t]", cell)]


def test_a_report_of_a_re_check_is_harmless(tmp_path: Path) -> None:
    script = script_of("x1", "extracted", f"{EVIL}\n```\n{EVIL}")
    evidence = (f"pt1: occurs 1/3 {EVIL}",)
    told = "closed_but_occurs"
    change = Change(REPO, NUMBER, EVIL, "cpu", "closed_but_occurs", None, evidence, (script,), told)
    reference = MagicMock(version=EVIL, identity=EVIL, public_version=EVIL)
    result = Recheck(reference, "2026-01-01T00:00:00Z", (), (change,), {"fixed": 1}, 1, 0.0)
    reports.save(tmp_path, result, [])
    page = (tmp_path / "recheck.md").read_text(encoding="utf-8")
    assert_harmless_markdown(page)
    assert r"[a/b\#&#8203;1](https://redirect.github.com/a/b/issues/1)" in page
    assert json.loads((tmp_path / "recheck.json").read_bytes())["changes"][0]["title"] == EVIL


def test_files_of_the_study_are_harmless(tmp_path: Path) -> None:
    written = files.write(tmp_path / "f.csv", files.as_csv([{"title": EVIL, "change": -1.5, "none": None}]))
    assert written.read_text(encoding="utf-8").endswith(",-1.5,\n")
    assert unseen(written.read_text(encoding="utf-8")) == set()
    assert list(cells(tmp_path))[3].startswith("'=")


def test_a_logged_line_is_harmless() -> None:
    record = logging.LogRecord("x", logging.INFO, "f", 1, "%s", (EVIL,), None)
    assert unseen(VisibleFormatter("%(message)s").format(record)) == set()
