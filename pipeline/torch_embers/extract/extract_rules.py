"""``data/extract.toml`` as objects: limits, reasons, patterns, packages and the import header."""

from __future__ import annotations

import re
from functools import cache, cached_property
from hashlib import blake2b
from typing import Annotated

from pydantic import BeforeValidator

from torch_embers import resources, toml_models
from torch_embers.extract.script import NoScript
from torch_embers.link.relations import unbounded
from torch_embers.toml_models import Entry, Explained

FILE = "extract.toml"
CODE = 3
"""Raised when the code of this package makes another script of a text."""


def _compiled(text: str) -> re.Pattern[str]:
    if unbounded(text):
        raise ValueError(f"a repetition without an upper bound: {text}")
    return re.compile(text)


Pattern = Annotated[re.Pattern[str], BeforeValidator(_compiled)]


class _Limits(Explained):
    text_chars: int
    block_chars: int
    blocks: int
    comments: int
    script_lines: int
    line_chars: int
    repairs: int
    brackets: int


class _Aside(Explained):
    heading: Pattern
    announcement: Pattern
    reproduces: Pattern


class _Tags(Explained):
    python: frozenset[str]
    shell: frozenset[str]
    other: Pattern


class _Output(Explained):
    names: frozenset[str]
    begins: Pattern


class _Command(Explained):
    variables: Pattern
    values: Pattern


class _Devices(Explained):
    words: dict[str, Pattern]
    cpu: Pattern
    needed: Pattern
    guarded: Pattern


class _Refused(Explained):
    data_modules: frozenset[str]
    device_modules: frozenset[str]
    machine_modules: frozenset[str]
    data_calls: frozenset[str]
    package_calls: frozenset[str]
    readers: frozenset[str]
    writers: frozenset[str]


class ExtractRules(Entry):
    """The whole file."""

    limits: _Limits
    reasons: dict[str, str]
    aside: _Aside
    tags: _Tags
    output: _Output
    command: _Command
    devices: _Devices
    packages: frozenset[str]
    refused: _Refused
    header: dict[str, tuple[str, ...]]

    @cached_property
    def imports(self) -> dict[str, str]:
        """Line of the header by the name that it binds."""
        return {name: line.format(name=name) for line, names in self.header.items() for name in names}

    def none(self, reason: str, detail: str = "") -> NoScript:
        """No script, for a listed reason.

        Raises:
            KeyError: the reason is not listed.
        """
        meaning = self.reasons[reason]
        return NoScript(reason, f"{meaning}: {detail}" if detail else meaning)


@cache
def load() -> ExtractRules:
    """Read and compile the shipped rules.

    Raises:
        InputError: the file is missing, or an entry is wrong.
    """
    return toml_models.load(ExtractRules, FILE)


@cache
def version() -> str:
    """What a text was read by: texts are read again where it differs."""
    return f"{CODE}-{blake2b(resources.data_file(FILE).read_bytes(), digest_size=8).hexdigest()}"
