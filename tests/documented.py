"""Command lines that the pages show: how they are read, and whether `embers` and make would take them."""

from __future__ import annotations

import itertools
import re
import shlex
import tomllib
from pathlib import Path
from typing import Any, NamedTuple

import typer

from torch_embers import cli

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
PAGES = sorted(DOCS.rglob("*.md"))
READ = [*PAGES, *(ROOT / name for name in ("README.md", "CHANGELOG.md", "CONTRIBUTING.md"))]
GROUP: Any = typer.main.get_command(cli.app)
COMMANDS: dict[str, Any] = dict(GROUP.commands)
SUBCOMMANDS: dict[str, Any] = {
    f"{group} {name}": command
    for group, members in COMMANDS.items()
    for name, command in getattr(members, "commands", {}).items()
}
EVERY = {**COMMANDS, **SUBCOMMANDS}
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")
TARGETS = set(re.findall(r"(?m)^([\w-]+):", MAKEFILE))
MADE_VARIABLES = set(re.findall(r"\$\((\w+)\)", MAKEFILE))
MENTIONED = re.compile(r"(?<![\w./\"'-])(?:\.venv/bin/)?embers +([a-z][^`\n|;&<>()#]*)")
"""Where a text names a command of embers in passing; the first word may be prose."""

INLINE = re.compile(r"(?:`|<code>)(?:\.venv/bin/)?embers\s+([^`<]+?)(?:`|</code>)")
"""A command of embers as inline code, of Markdown, of a message, or of a page of the report."""
TEXTS = sorted(
    path
    for folder in ("pipeline", "data", "tools")
    for path in (ROOT / folder).rglob("*")
    if path.suffix in (".py", ".toml", ".html")
)
"""Files whose messages, templates and reasons name commands."""


class Example(NamedTuple):
    """A command line and what the page says that it prints."""

    words: tuple[str, ...]
    printed: str


class NotRun(NamedTuple):
    """Lines that are only checked.

    Attributes:
        begins: their first words.
        reason: why they are not run.
        is_whole: nothing may follow these words.
    """

    begins: list[str]
    reason: str
    is_whole: bool = False

    def holds(self, words: tuple[str, ...]) -> bool:
        """Whether a line is one of these."""
        line = " ".join((Path(words[0]).name if words[0].endswith("/embers") else words[0], *words[1:]))
        return any(line == begin or (not self.is_whole and line.startswith(begin)) for begin in self.begins)


DECLARED = tomllib.loads((ROOT / "tests" / "documented_commands.toml").read_text(encoding="utf-8"))


def not_run() -> list[NotRun]:
    """The lines that are only checked, as declared."""
    return [NotRun(**entry) for entry in DECLARED["not_run"]]


def not_compared() -> list[NotRun]:
    """The lines that are run and whose output is not compared with what the page shows, as declared."""
    return [NotRun(**entry) for entry in DECLARED["not_compared"]]


MEASURED = re.compile(r"\d[\d,.]*( items/s| s\b| MB\b| days ago)")
"""What differs from run to run: times, rates, sizes and ages."""
GENERATED = re.compile(r"(?s)<!-- generated: .*?<!-- end -->")
"""What `tools/docs` writes, and `make docs-check` compares."""


def is_shown(printed: str, output: str) -> bool:
    """Whether a command printed what a page shows: word for word, without regard to line ends and to what is measured.

    Args:
        printed: of the page; a line of dots stands for any words.
        output: of the command.
    """
    parts = re.split(r"(?m)^ *\.\.\.$", MEASURED.sub(r"0\1", printed))
    wanted = [re.escape(" ".join(part.split())) for part in parts]
    return re.search(".*".join(wanted), " ".join(MEASURED.sub(r"0\1", output).split())) is not None


def examples(text: str) -> list[Example]:
    """Every command of the shell blocks, split as a shell would: without its environment, one for each part of a pipe."""
    found = []
    for block in re.findall(r"(?ms)^ *```console\n(.*?)^ *```", text):
        for line, printed in re.findall(r"(?ms)^ *\$ ([^\n]*)\n?(.*?)(?=^ *\$ |\Z)", block.replace("\\\n", " ")):
            lexer = shlex.shlex(line, posix=True, punctuation_chars="|;&<>")
            lexer.whitespace_split = True
            for ends, part in itertools.groupby(lexer, lambda word: set(word) <= set("|;&")):
                command = list(itertools.dropwhile(lambda word: re.match(r"[A-Z_]+=", word), part))
                if command and not ends:
                    words = itertools.takewhile(lambda word: word[0] not in "<>", command)
                    found.append(Example(tuple(words), printed))
    return found


def mentions(text: str) -> list[list[str]]:
    """Commands of embers outside of shell blocks: in a line of prose between backticks, and in blocks of other languages."""
    without = re.sub(r"(?ms)^ *```console\n.*?^ *```", "", text)
    blocks = re.findall(r"(?ms)^ *```\w*\n(.*?)^ *```", without)
    spans = re.findall(r"`([^`]+)`", re.sub(r"(?ms)^ *```\w*\n.*?^ *```", "", without))
    lines = [" ".join(span.split()) for span in spans if re.match(r"\s*(?:\.venv/bin/)?embers ", span)]
    found = [match.split() for line in [*blocks, *lines] for match in MENTIONED.findall(line.replace("\\\n", " "))]
    return [words for words in found if words[0] in COMMANDS]


def misspelt(text: str) -> list[str]:
    """Inline code that names a command, a command of a group, or an option that embers does not have."""
    found = []
    for line in INLINE.findall(text):
        words = line.split()
        if not re.match(r"[A-Za-z]", words[0]):
            is_known = words[0] in {"--version", "--help", "-h"} or words[0].startswith("{")
        elif words[0] in COMMANDS:
            members = getattr(COMMANDS[words[0]], "commands", None)
            is_member = (
                members is None or not words[1:] or words[1].startswith(("-", "[", ".", "{")) or words[1] in members
            )
            is_known = is_member and not unknown_options(words)
        else:
            is_known = words[0].isupper()  # a placeholder
        if not is_known:
            found.append(" ".join(words))
    return found


def names_of(command: str) -> set[str]:
    """All option names of a command, or of a command of a group (``builds add``)."""
    found = {"-h", "--help"}
    for parameter in EVERY[command].params:
        if parameter.param_type_name == "option":
            found |= {*parameter.opts, *parameter.secondary_opts}
    return found


def parse(words: list[str]) -> None:
    """Read a command line as `embers` would, without running it; raises what Click says of a wrong one."""
    command, rest = GROUP, words
    while rest and rest[0] in getattr(command, "commands", {}):
        command, rest = command.commands[rest[0]], rest[1:]
    assert not hasattr(command, "commands") or set(rest) <= {"--help", "-h", "--version"}, words
    if "--help" not in rest and "-h" not in rest:
        command.make_context(words[0], list(rest))


def unknown_options(words: list[str]) -> list[str]:
    """Options of a mentioned command that it does not have; values may be placeholders."""
    group = " ".join(words[:2])
    known = names_of(group if group in EVERY else words[0])
    options = [re.match(r"--?[a-zA-Z][\w-]*", word.strip("[],.:")) for word in words[1:]]
    return [option[0] for option in options if option and option[0] not in known]
