"""Command lines that the pages show: how they are read, and whether `embers` and make would take them."""

from __future__ import annotations

import itertools
import re
import shlex
from pathlib import Path
from typing import Any, NamedTuple

import typer

from torch_embers import cli

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
PAGES = [*sorted(DOCS.rglob("*.md")), ROOT / "README.md", ROOT / "CONTRIBUTING.md"]
GROUP: Any = typer.main.get_command(cli.app)
INLINE = re.compile(r"`(?:\.venv/bin/)?embers\s+([a-z][^`]*)`")


class Example(NamedTuple):
    """A command line and what the page says that it prints."""

    words: tuple[str, ...]
    printed: str


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


def named(words: list[str]) -> tuple[Any, list[str]]:
    """The command that words name by its name of today, and the words behind the name."""
    command, context = GROUP, None
    while words and words[0] in getattr(command, "commands", {}):
        context = typer.Context(command, parent=context)
        _, command, words = command.resolve_command(context, words)
    return command, words


def parse(words: list[str]) -> None:
    """Read a command line as `embers` would, without running it; raises what Click says of a wrong one."""
    command, rest = named(words)
    assert not hasattr(command, "commands") or set(rest) <= {"--help", "-h", "--version"}, words
    if "--help" not in rest and "-h" not in rest:
        command.make_context(words[0], list(rest))


def unknown(line: str) -> list[str]:
    """Words of a command in running text that embers does not know: the command, one of a group, or an option."""
    words = re.sub(r"[\[\]]", " ", line).split()
    command, rest = named(words)
    if hasattr(command, "commands") and rest and rest[0].islower():
        return rest[:1]
    known = {
        "-h",
        "--help",
        *(name for parameter in command.params for name in (*parameter.opts, *parameter.secondary_opts)),
    }
    options = (re.match(r"--?[a-zA-Z][\w-]*", word) for word in rest)
    return [option[0] for option in options if option and option[0] not in known]
