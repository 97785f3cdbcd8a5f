"""The pages say what the program does: commands, options, files and links that exist."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hypothesis import given
from hypothesis import strategies as st

import support
from documented import DOCS, INLINE, PAGES, ROOT, examples, parse, unknown
from torch_embers import errors
from torch_embers.recheck.reports import NEWS
from torch_embers.sandbox.doctor import GUARANTEES
from torch_embers.verdicts.status import STATUSES
from torch_embers.verdicts.verdict import OUTCOMES, VERDICTS

if TYPE_CHECKING:
    import pytest

docs: Any = support.tool("docs")
COMMANDS: dict[str, Any] = docs.every_command()
TEXTS = {path: path.read_text(encoding="utf-8") for path in PAGES}
TARGETS = set(re.findall(r"(?m)^([\w-]+):", (ROOT / "Makefile").read_text(encoding="utf-8")))
LINK = re.compile(r"(?<!!)\[[^\]\n]*\]\((?![a-z]+:)([^)\s#]*)(?:#([^)\s]+))?\)")
FOLDERS = "analysis|bench|data|docs|models|notebooks|pipeline|tests|tools"
FILE = re.compile(rf"`((?:{FOLDERS})/[\w./*-]+|[\w./-]+\.py)`")
MADE = re.compile(
    r"data/embers\.duckdb.*|.*[A-Z]{4}.*|data/table-N\.js|(my_cases|found|operators)/.*|(train|mended)\.py"
)
"""Files that a page speaks of and that a user's command makes, or the user has."""
MACHINE_PATH = re.compile(r"(?<![\w.:/-])/(?:home|root|tmp|work|Users|mnt|var|opt|usr|private)/\w")


def test_every_command_has_a_page_and_a_line_in_the_index() -> None:
    pages = {docs.page_of(name) for name in COMMANDS}
    assert {str(path.relative_to(DOCS)) for path in (DOCS / "commands").rglob("*.md")} == pages
    index = TEXTS[DOCS / "commands.md"]
    assert [name for name in COMMANDS if f"[`embers {name}`]({docs.page_of(name)})" not in index] == []
    kinds = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, errors.EmbersError)]
    codes = {kind.exit_code for kind in kinds} | {0, 2, NEWS, 130, 141}
    assert [code for code in sorted(codes) if f"\n| {code} | " not in index] == []


def test_every_command_and_option_has_a_help_text() -> None:
    for name, command in COMMANDS.items():
        assert command.help, name
        assert [parameter.name for parameter in command.params if not parameter.help] == [], name


def test_lines_and_inline_code_of_pages_are_commands_that_exist() -> None:
    for path, text in TEXTS.items():
        for (program, *words), _ in examples(text):
            match Path(program).name:
                case "embers":
                    parse(words)
                case "make":
                    assert {word for word in words if "=" not in word} <= TARGETS, (path.name, words)
                case "python" | "python3" if words and words[0].startswith(("tools/", "bench/")):
                    assert (ROOT / words[0]).is_file(), (path.name, words)
        wrong = {line: found for line in INLINE.findall(text) if (found := unknown(line))}
        assert wrong == {}, path.name


def test_relative_links_lead_to_files_and_headings_that_exist() -> None:
    wrong = []
    for path, text in TEXTS.items():
        for name, anchor in LINK.findall(text):
            file = (path.parent / name).resolve() if name else path
            with_site = "<!-- site: sections(" in TEXTS.get(file, "")  # `make site` checks anchors of its own headings
            if not file.exists() or (anchor and not with_site and anchor not in anchors(file)):
                wrong.append((path.name, name, anchor))
    assert not wrong, wrong


def anchors(path: Path) -> set[str]:
    """Anchors of the headings of a page, as GitHub makes them."""
    headings = re.findall(r"(?m)^#+ +(.+?) *$", path.read_text(encoding="utf-8"))
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_pages_name_only_files_that_are_there_and_no_path_of_a_machine() -> None:
    programs = "".join(f"{path}\n" for folder in FOLDERS.split("|") for path in (ROOT / folder).rglob("*.py"))
    wrong = []
    for path, text in TEXTS.items():
        assert MACHINE_PATH.findall(text) == [], path.name
        of_today = re.sub(
            r"(?s)[^\n]*[cC]ommit [0-9a-f]{8}.*?(?=\n\n|\Z)", "", text
        )  # what such a commit has may be gone
        for name in FILE.findall(of_today):
            in_root = re.match(rf"({FOLDERS})/", name)
            is_there = any(ROOT.glob(name.rstrip("/"))) if in_root else f"/{name}\n" in programs
            if not is_there and not MADE.fullmatch(name):
                wrong.append((path.name, name))
    assert not wrong, wrong


def test_the_page_on_running_explains_every_outcome_verdict_status_and_guarantee() -> None:
    words = (*OUTCOMES, *VERDICTS, *STATUSES, *GUARANTEES)
    assert [word for word in words if f"`{word}`" not in TEXTS[DOCS / "running.md"]] == []


@given(st.text())
def test_a_cell_never_breaks_its_table(text: str) -> None:
    for shown in (docs.cell(text), docs.cell([text]), docs.cell({"text": text, "url": None})):
        assert len(shown.splitlines()) <= 1
        assert not re.search(r"(?<!\\)\|", shown)
        assert "<" not in shown


def test_what_only_the_site_has_takes_the_place_of_its_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        docs, "ask", lambda query: ([("`a`", False), ("b", True), ("none", False)], [("#1|", 2_000, None)])
    )
    page = 'before\n\n[query](queries/x.sql) <!-- site: table("x") -->\n\nafter\n'
    assert docs.filled(page).split("\n") == [
        *("before", "", "", "| a | b |", "| --- | ---: |", "| `#1\\|` | 2,000 |", "", "", "", "after", "")
    ]


def test_messages_and_files_name_commands_that_exist() -> None:
    files = [*(ROOT / "pipeline").rglob("*.*"), *(ROOT / "data").glob("*.toml"), ROOT / "Makefile"]
    for path in files:
        if path.suffix in {".py", ".sql", ".html", ".md", ".toml", ""}:
            lines = INLINE.findall(path.read_text(encoding="utf-8"))
            assert {line: found for line in lines if (found := unknown(line))} == {}, path
