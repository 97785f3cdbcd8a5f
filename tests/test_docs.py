"""The documentation says what the program does: options, tables, examples, links."""

from __future__ import annotations

import ast
import importlib
import importlib.util
import re
import shutil
import subprocess
import sys
import tomllib
from collections import Counter
from pathlib import Path
from typing import Any

import duckdb
import pytest
from hypothesis import given
from hypothesis import strategies as st
from packaging.version import Version

import support
from documented import (
    COMMANDS,
    DOCS,
    EVERY,
    GENERATED,
    MADE_VARIABLES,
    PAGES,
    READ,
    ROOT,
    SUBCOMMANDS,
    TARGETS,
    TEXTS,
    examples,
    is_shown,
    mentions,
    misspelt,
    names_of,
    not_compared,
    not_run,
    parse,
    unknown_options,
)
from torch_embers.audit import command as audit_command
from torch_embers.audit import formats
from torch_embers.repro import shipped_matrix
from torch_embers.repro.case import KEYS, shipped
from torch_embers.run.reports import NEWS
from torch_embers.run.status import STATUSES, statuses_of, tracked_items
from torch_embers.run.verdict import OUTCOMES, VERDICTS
from torch_embers.sandbox.doctor import GUARANTEES
from torch_embers.store.store import Store
from torch_embers.version import __version__

LINK = re.compile(r"(?<!!)\[[^\]\n]*\]\(([^)\s]+)\)")
MACHINE_PATH = re.compile(r"(?<![\w.:/-])/(?:home|root|tmp|work|Users|mnt|var|opt|usr|private)/\w")


docs: Any = support.tool("docs")
for module in ("blocks", "cases", "catalog", "commands", "markdown", "pages", "rewriting"):
    importlib.import_module(f"embers_docs.{module}")


def anchors(path: Path) -> set[str]:
    """Anchors of the headings of a page, as GitHub makes them."""
    headings = re.findall(r"(?m)^#+ +(.+?) *$", path.read_text(encoding="utf-8"))
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("command", EVERY)
def test_every_command_has_a_page_that_names_every_option(command: str) -> None:
    text = (DOCS / "commands" / f"{command.split()[0]}.md").read_text(encoding="utf-8")
    missing = sorted(name for name in names_of(command) - {"-h", "--help"} if f"`{name}`" not in text)
    assert not missing


def test_no_page_describes_a_command_that_is_gone() -> None:
    assert {path.stem for path in (DOCS / "commands").glob("*.md")} == set(COMMANDS)


@pytest.mark.parametrize("command", SUBCOMMANDS)
def test_the_page_of_a_group_has_a_section_for_each_of_its_commands(command: str) -> None:
    text = (DOCS / "commands" / f"{command.split()[0]}.md").read_text(encoding="utf-8")
    assert f"\n## embers {command}\n" in text
    assert f"<!-- generated: options-{command.replace(' ', '-')} -->" in text


@pytest.mark.parametrize("command", EVERY)
def test_every_command_and_option_has_a_help_text(command: str) -> None:
    assert EVERY[command].help
    assert [p.name for p in EVERY[command].params if not p.help] == []


def test_the_index_names_every_command_and_every_exit_code() -> None:
    text = (DOCS / "commands.md").read_text(encoding="utf-8")
    assert [name for name in COMMANDS if f"(commands/{name}.md)" not in text] == []
    codes = {kind.exit_code for kind in docs.commands.named_errors()} | {0, 2, NEWS, 130, 141}
    assert [code for code in sorted(codes) if f"\n| {code} | " not in text] == []


@pytest.mark.slow
def test_generated_parts_are_current() -> None:
    stale = [str(path.relative_to(ROOT)) for path in docs.pages.stale()]
    assert not stale, "run `python tools/docs`"


def test_every_block_that_is_made_stands_on_a_page() -> None:
    pages = docs.pages.pages()
    found = {name for path in pages for _, name, *_ in docs.rewriting.BLOCK.findall(path.read_text(encoding="utf-8"))}
    assert set(docs.blocks.blocks()) == found


@pytest.mark.slow
def test_the_tool_runs_as_a_folder() -> None:
    ended = subprocess.run([sys.executable, ROOT / "tools" / "docs", "--help"], capture_output=True, text=True)
    assert "--check" in ended.stdout, ended.stderr


@pytest.mark.parametrize("path", READ, ids=lambda p: str(p.relative_to(ROOT)))
def test_examples_use_commands_and_options_that_exist(path: Path) -> None:
    for (program, *words), _ in examples(path.read_text(encoding="utf-8")):
        match Path(program).name:
            case "embers":
                parse(words)
            case "make":
                assert {word for word in words if "=" not in word} <= TARGETS, words
                assert {word.partition("=")[0] for word in words if "=" in word} <= MADE_VARIABLES, words
            case "python" | "python3" if words and words[0].startswith(("tools/", "bench/")):
                code = (ROOT / words[0]).read_text(encoding="utf-8")
                assert [word for word in words if word.startswith("--") and f'"{word}"' not in code] == []


@pytest.mark.parametrize("path", READ, ids=lambda p: str(p.relative_to(ROOT)))
def test_commands_that_are_named_in_passing_have_their_options(path: Path) -> None:
    wrong = {" ".join(words): unknown_options(words) for words in mentions(path.read_text(encoding="utf-8"))}
    assert {line: options for line, options in wrong.items() if options} == {}


def test_inline_code_of_pages_and_messages_names_commands_that_exist() -> None:
    found = {path.relative_to(ROOT): misspelt(path.read_text(encoding="utf-8")) for path in (*READ, *TEXTS)}
    assert {path: lines for path, lines in found.items() if lines} == {}


@pytest.mark.parametrize(
    "line", ["recheckk", "recheckk --out x", "builds addd x", "--versionn", "run --nope", "Run", "builds add --nope"]
)
def test_a_misspelt_command_in_inline_code_is_found(line: str) -> None:
    assert misspelt(f"Then `embers {line}`, and <code>embers {line}</code>.") == [line, line]


def test_a_command_with_a_placeholder_is_no_misspelt_one() -> None:
    text = "`embers COMMAND --help`, `embers builds ...`, `embers run N`, `embers\n--version`, `embers show {number}`"
    assert misspelt(text) == []


def test_commands_in_passing_are_found_in_prose_and_in_blocks_of_other_languages() -> None:
    text = """`embers run --nope`, `make x`, embers mine --no; `embers list [--nope]`
```console
$ embers mine --not-here
```
```yaml
- run: .venv/bin/embers recheck --out x --nope || code=$?
```
"""
    assert [(words[0], unknown_options(words)) for words in mentions(text)] == [
        ("recheck", ["--nope"]),
        ("run", ["--nope"]),
        ("list", ["--nope"]),
    ]


SHOWN: dict[tuple[str, ...], list[str]] = {}
"""What the pages say that each command line prints; some show it in several states of the database."""
BY_HAND: dict[tuple[str, ...], list[str]] = {}
"""Likewise, what was not written by a program."""
for page in READ:
    for example in examples(page.read_text(encoding="utf-8")):
        SHOWN.setdefault(example.words, []).append(example.printed)
    for example in examples(GENERATED.sub("", page.read_text(encoding="utf-8"))):
        BY_HAND.setdefault(example.words, []).append(example.printed)


def test_every_line_that_is_not_run_is_declared_and_every_declaration_is_needed() -> None:
    assert {"embers", "duckdb"} >= {
        Path(words[0]).name for words in SHOWN if not any(entry.holds(words) for entry in not_run())
    }
    unused = [
        begin
        for entry in (*not_run(), *not_compared())
        for begin in entry.begins
        if not any(entry._replace(begins=[begin]).holds(words) for words in SHOWN)
    ]
    assert unused == []
    assert all(entry.reason for entry in (*not_run(), *not_compared()))


@pytest.mark.slow
@pytest.mark.timeout(
    1_800
)  # the fixture labels the catalog, and forty commands follow: on a busy machine more than the usual limit
def test_the_other_lines_end_as_the_pages_say(
    classified_template: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also of a mined database: `mine --replay` and `link` come to the same one again."""
    database = shutil.copy(classified_template, tmp_path / "e.duckdb")
    wrong = []
    for number, (words, pages) in enumerate(SHOWN.items()):
        if any(entry.holds(words) for entry in not_run()):
            continue
        (tmp_path / str(number)).mkdir()
        monkeypatch.chdir(tmp_path / str(number))
        if words[0] == "duckdb":
            with duckdb.connect(database, read_only=True) as connection:
                assert connection.sql(words[-1]).fetchall()
            continue
        outside = {"EMBERS_DATABASE": str(database), "HF_HUB_OFFLINE": "1", "COLUMNS": str(docs.examples.EXAMPLE_WIDTH)}
        done = support.run_embers(*words[1:], **outside)
        errors = {printed.strip() if printed.startswith("error: ") else "" for printed in pages}
        if (done.stderr.strip() if done.returncode else "") not in errors:
            wrong.append((" ".join(words), done.returncode, done.stderr))
        elif not done.returncode and not any(entry.holds(words) for entry in not_compared()):
            by_hand = BY_HAND.get(words, [])
            shown = [printed for printed in by_hand if printed.strip() and not printed.startswith("error: ")]
            if stale := [printed for printed in shown if not is_shown(printed, done.stdout + done.stderr)]:
                wrong.append((" ".join(words), stale, done.stdout + done.stderr))
    assert wrong == []


def test_the_tutorial_shows_what_an_audit_of_its_script_prints() -> None:
    text = (DOCS / "tutorial-engineer.md").read_text(encoding="utf-8")
    (script, *_) = re.findall(r"(?s)```python\n(.*?)```", text)
    (printed,) = [one.printed for one in examples(text) if one.words == ("embers", "audit", "train.py")]
    release = printed.split()[1]
    told = formats.lines(audit_command.audit_texts({Path("train.py"): script}, release))
    assert is_shown(printed, "\n".join(told))


@pytest.mark.parametrize(
    ("printed", "output", "same"),
    [
        ("a b\n", "a\n b\n", True),
        ("550 items in 1.3 s, 421 items/s", "550 items in 22.0 s, 9 items/s", True),
        ("550 items in 1.3 s", "551 items in 1.3 s", False),
        ("first\n...\nlast", "first\nmore\nand more\nlast", True),
        ("first\n...\nlast", "first\nmore", False),
        ("a.b", "axb", False),
    ],
)
def test_an_output_that_is_not_the_shown_one_would_be_seen(printed: str, output: str, same: bool) -> None:
    assert is_shown(printed, output) == same


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("mine --frobnicate", "No such option"),
        ("mime", "mime"),
        ("builds ad", "ad"),
        ("status --database", "requires an argument"),
        ("chain", "number"),
    ],
)
def test_a_wrong_example_would_be_seen(words: str, said: str) -> None:
    with pytest.raises(Exception, match=said):
        parse(words.split())


def test_shell_lines_are_read_as_a_shell_reads_them() -> None:
    block = "```console\n$ A=1 embers run 5 \\\n  --build x >&2 | head -3 # why\nembers out\n$ make mine && .venv/bin/embers status > f\n```\n"
    assert [(" ".join(words), printed) for words, printed in examples(block)] == [
        ("embers run 5 --build x", "embers out\n"),
        ("head -3", "embers out\n"),
        ("make mine", ""),
        (".venv/bin/embers status", ""),
    ]


@pytest.mark.parametrize("name", [*OUTCOMES, *VERDICTS, *STATUSES, *GUARANTEES])
def test_the_page_on_running_explains_every_outcome_verdict_status_and_guarantee(name: str) -> None:
    assert f"\n| `{name}` | " in (DOCS / "running.md").read_text(encoding="utf-8")


def test_the_page_on_cases_explains_every_key_and_lists_every_case() -> None:
    text = (DOCS / "cases.md").read_text(encoding="utf-8")
    assert [key for key in sorted(KEYS) if f"\n| `{key}` | " not in text] == []
    assert [case.name for case in shipped() if f"(../data/cases/{case.name}.py)" not in text] == []


@pytest.mark.parametrize(
    ("bad", "shown"),
    [
        ([], ""),
        (["2.1.2"], "2.1.2"),
        (["1.13.1", "2.0.1", "2.1.2"], "1.13.1 to 2.1.2"),
        (["2.10.0", "1.13.1", "2.9.1"], "1.13.1, 2.9.1 to 2.10.0"),
    ],
)
def test_versions_next_to_each_other_are_told_as_a_range(bad: list[str], shown: str) -> None:
    known = [Version(text) for text in ("1.13.1", "2.0.1", "2.1.2", "2.9.1", "2.10.0")]
    assert docs.cases.ranges(bad, known) == shown


@pytest.mark.parametrize("path", READ, ids=lambda p: str(p.relative_to(ROOT)))
def test_relative_links_lead_to_files_and_headings_that_exist(path: Path) -> None:
    for target in LINK.findall(path.read_text(encoding="utf-8")):
        if re.match(r"[a-z]+:", target):
            continue
        name, _, anchor = target.partition("#")
        file = (path.parent / name).resolve() if name else path
        assert file.exists(), target
        assert not anchor or anchor in anchors(file), target


@pytest.mark.parametrize("path", READ, ids=lambda p: str(p.relative_to(ROOT)))
def test_pages_name_no_path_of_a_machine(path: Path) -> None:
    found = MACHINE_PATH.findall(path.read_text(encoding="utf-8"))
    assert not found


def test_tables_keep_their_number_of_cells() -> None:
    for path in PAGES:
        width = 0
        for line in path.read_text(encoding="utf-8").splitlines():
            cells = len(re.findall(r"(?<!\\)\|", line)) if line.startswith("|") else 0
            assert cells in (0, width or cells), f"{path.name}: {line}"
            width = cells


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A copy of docs/ to break."""
    shutil.copytree(DOCS, tmp_path / "docs")
    return tmp_path


@pytest.mark.slow
def test_check_names_the_stale_file_and_the_tool_repairs_it(copy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = copy / "docs" / "commands" / "funnel.md"
    whole = page.read_text(encoding="utf-8")
    page.write_text(whole.replace("`--database`", "`--datenbank`"), encoding="utf-8")
    assert docs.pages.main(["--check"], copy) == 1
    assert "stale: docs/commands/funnel.md" in capsys.readouterr().out
    assert "datenbank" in page.read_text(encoding="utf-8")
    assert docs.pages.main([], copy) == 0
    assert page.read_text(encoding="utf-8") == whole
    assert docs.pages.main(["--check"], copy) == 0


@pytest.mark.parametrize(
    "text",
    [
        "<!-- generated: nobody-makes-this -->\n<!-- end -->\n",
        "<!-- generated: commands -->\nno end\n",
        "<!-- generated: commands -->\n<!-- generated: settings -->\n<!-- end -->\n",
        "<!-- generated: Not A Name -->\n<!-- end -->\n",
    ],
)
def test_a_malformed_block_is_refused_and_nothing_is_written(
    copy: Path, capsys: pytest.CaptureFixture[str], text: str
) -> None:
    page = copy / "docs" / "broken.md"
    page.write_text(text, encoding="utf-8")
    assert docs.pages.main([], copy) == 1
    assert "docs/broken.md" in capsys.readouterr().err
    assert page.read_text(encoding="utf-8") == text


@given(before=st.text(), inside=st.text(), after=st.text())
def test_only_what_stands_in_a_block_changes(before: str, inside: str, after: str) -> None:
    parts = [part.replace("<!--", "") for part in (before, inside, after)]
    text = f"{parts[0]}\n<!-- generated: x -->\n{parts[1]}<!-- end -->\n{parts[2]}"
    once = docs.rewriting.rewritten(text, {"x": lambda: "fresh"})
    assert once == f"{parts[0]}\n<!-- generated: x -->\n\nfresh\n\n<!-- end -->\n{parts[2]}"
    assert docs.rewriting.rewritten(once, {"x": lambda: "fresh"}) == once


@given(st.text())
def test_a_cell_never_breaks_its_table(text: str) -> None:
    shown = docs.markdown.cell(text)
    assert len(shown.splitlines()) <= 1
    assert not re.search(r"(?<!\\)\|", shown)
    assert "<" not in shown


@pytest.mark.slow
def test_every_file_of_the_package_keeps_to_the_oldest_python_that_is_promised() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    oldest = re.fullmatch(r">=3\.(\d+)", project["project"]["requires-python"])
    assert oldest
    assert project["tool"]["ruff"]["target-version"] == f"py3{oldest[1]}", "ruff finds what the parser lets through"
    for path in (ROOT / "pipeline").rglob("*.py"):
        ast.parse(path.read_text(encoding="utf-8"), path.name, feature_version=(3, int(oldest[1])))


@pytest.mark.parametrize("path", sorted((ROOT / ".github" / "workflows").glob("*.yml")), ids=lambda p: p.stem)
def test_workflows_pin_each_action_by_commit_and_ask_for_read_access_only(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    used = re.findall(r"(?m)^ *(?:- )?uses: (.+)$", text)
    assert used
    assert [use for use in used if not re.fullmatch(r"[\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", use)] == []
    assert re.findall(r"(?m)^permissions:\n((?: +.+\n)+)", text) == ["  contents: read\n"]
    asked = re.findall(r"[a-z-]+: write", text)
    assert asked == (["issues: write"] if path.stem == "recheck" else []), "one job, off by default"


def test_changelog_and_names_of_wheels_are_of_this_version() -> None:
    assert re.findall(r"(?m)^## ([\w.]+) ", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"))[0] == __version__
    wheels = {name for path in READ for name in re.findall(r"torch_embers-([\d.]+)-", path.read_text(encoding="utf-8"))}
    assert wheels == {__version__}


def test_examples_of_a_first_mine_count_the_catalog_as_it_is() -> None:
    text = (DOCS / "commands" / "mine.md").read_text(encoding="utf-8")
    assert set(re.findall(r"catalog: ([\d,]+) items", text)) == {f"{len(docs.catalog.entries()):,}"}


def test_the_tests_that_the_page_on_mining_names_exist() -> None:
    text = (ROOT / "docs" / "mining.md").read_text(encoding="utf-8")
    numbers = [int(number) for number in re.findall(r"^\| (\d+) \|", text, re.MULTILINE)]
    assert sorted(numbers) == list(range(1, 18))
    for line in text.splitlines():
        files = re.findall(r"`(test_\w+\.py)`", line)
        code = "".join((ROOT / "tests" / name).read_text(encoding="utf-8") for name in files)
        for name in re.findall(r"`(test_\w+)`", line):
            assert f"def {name}(" in code, name


RECHECKED = ("2.1.2", "2.3.1", "2.15.0")
"""The builds of the example of a re-check."""


@pytest.mark.slow
def test_the_example_of_a_recheck_counts_what_the_shipped_verdicts_of_its_builds_say(catalog_template: Path) -> None:
    seen: dict[str, dict[str, str]] = {}
    for row in shipped_matrix.matrix():
        seen.setdefault(row["case_hash"], {})[row["build"]] = row["verdict"]
    verdicts: dict[str, list[Any]] = {}
    for case_hash, by_build in seen.items():
        own = [by_build[build] for build in RECHECKED if build in by_build]
        clean = "absent" if "occurs" in own else "not_seen"  # without a build that shows it there is no control
        verdicts[case_hash] = [clean if verdict == "absent" else verdict for verdict in own]
    with Store(catalog_template).read() as connection:
        items = tracked_items(connection)
    statuses = statuses_of(shipped(), items, verdicts)
    closed = {key for key, item in items.items() if item.state == "closed"}
    counted = Counter(status for key, status in statuses.items() if key[:2] in closed)
    said = ", ".join(f"{counted[status]} {status}" for status in sorted(counted))
    texts = {
        page: (ROOT / "docs" / page).read_text(encoding="utf-8") for page in ("commands/recheck.md", "tutorial.md")
    }
    for page, text in texts.items():
        assert set(re.findall("^items: (.*)$", text, re.MULTILINE)) == {said}, page
    listed = re.findall(r'^    "([a-z_]+)": (\d+),?$', texts["commands/recheck.md"], re.MULTILINE)
    assert {name: int(count) for name, count in listed if name in counted} == counted
    assert f"Fixed ({counted['fixed']})" in texts["tutorial.md"]
