"""The text of an item that a model reads: its title and body without forms, environments, logs and markup.

The rules are in ``data/text_cleaning.toml``, each with its reason; ``cleaning/`` applies them in linear time. All
functions are pure and accept any text: bodies are untrusted.
"""

from __future__ import annotations

import re
from collections import Counter
from functools import cache
from typing import Literal, NamedTuple

from torch_embers import resources
from torch_embers.classify.cleaning import rules
from torch_embers.classify.cleaning.blocks import blocks, cut, printable, without_comments
from torch_embers.classify.cleaning.reading import TextReading
from torch_embers.classify.cleaning.rules import CleaningRules

RULES_VERSION = 2
"""Raised whenever the code of this file or of ``cleaning/`` changes a text: all items are then read again."""
Variant = Literal["title", "text"]
"""Texts of an item that have a vector each: its title, which search compares, and title with body."""

_DIGITS = re.compile(r"\d+")
_ERROR = re.compile(
    r"^[ \t>E]{0,12}(?:\w{1,40}\.){0,8}([A-Z]\w{1,40}(?:Error|Exception|Warning): [^\n]{0,200})", re.MULTILINE
)
_TAG = re.compile(r"[\s:-]*[\[【]([^\[\]【】\n]+)[\]】]")


class Cleaner(CleaningRules):
    """The compiled rules with what they do to a text; ``Cleaner.load()`` gives the shipped ones."""

    @staticmethod
    @cache
    def load() -> Cleaner:
        """Read the shipped ``data/text_cleaning.toml`` once.

        Raises:
            InputError: the file is missing or an entry is wrong.
        """
        return Cleaner(resources.load_toml(rules.FILE))

    def clean(self, text: str, *, reply: bool = False) -> str:
        """Reduce one text; see the function ``clean``."""
        text = without_comments(printable(text)) if not self.whole.match(text) else ""
        if not text.strip():
            return ""
        reading = TextReading(self, reply=reply)
        for code, lines in blocks(text.split("\n"), self.headings):
            reading.block(lines, code=code)
        return self.tidy(self.within_lines("\n".join(reading.out)))

    def tidy(self, text: str) -> str:
        """Single blanks, no empty lines, few lines that differ in numbers only, no more than the limit."""
        alike: Counter[str] = Counter()
        kept: list[str] = []
        for line in text.split("\n"):
            words = " ".join(line.split())
            if not any(map(str.isalpha, words)):
                continue
            skeleton = _DIGITS.sub("0", words)
            alike[skeleton] += 1
            if alike[skeleton] <= self.limits.alike_lines:
                kept.append(words)
        return cut("\n".join(kept), self.limits.text_head_chars, self.limits.text_tail_chars)


def clean(text: str, *, reply: bool = False) -> str:
    """Reduce a body or a comment to the words that describe the bug.

    Args:
        text: Markdown as GitHub gives it; anything else is no error.
        reply: the text answers another one, so that its block quotes are someone else's words and go.

    Returns:
        Lines without markup, never longer than the text by more than a few characters; empty if nothing is left.
    """
    return Cleaner.load().clean(text, reply=reply)


def bracket_tags(title: str) -> tuple[tuple[str, ...], str]:
    """Split the bracket tags off the front of a title: ``[MPS][jit] x`` gives ``("MPS", "jit")`` and ``x``."""
    limits = Cleaner.load().limits
    tags: list[str] = []
    whole = rest = printable(title).replace("\n", " ").strip()
    while len(tags) < limits.tags and (found := _TAG.match(rest, 0, limits.tag_chars + 2)):
        if said := found[1].strip():
            tags.append(said)
        rest = rest[found.end() :]
    return tuple(tags), rest if rest is whole else rest.lstrip(" \t:-")


class ItemText(NamedTuple):
    """What a classifier reads of an item."""

    title: str
    body: str
    """The last error messages, then the prose, both cut; empty where there is no body."""
    signs: tuple[str, ...]
    """Headings of forms, kinds of code, error classes, devices and dtypes in the raw body: ``[[sign]]`` of the file."""

    @property
    def words(self) -> str:
        """Title and body."""
        return f"{self.title}\n{self.body}" if self.body else self.title


def read(title: str, body: str | None) -> ItemText:
    """Read an item as classifiers do.

    Args:
        title: as the tracker has it.
        body: Markdown as GitHub gives it; None where it is not known.
    """
    cleaner = Cleaner.load()
    if not body or cleaner.whole.match(body):
        return ItemText(title_text(title), "", ())
    limits = cleaner.limits
    text = without_comments(printable(body[: limits.thread_chars]))
    reading = TextReading(cleaner, reply=False)
    for code, lines in blocks(text.split("\n"), cleaner.headings):
        if not code:
            reading.block(lines, code=False)
    prose = cleaner.tidy(cleaner.within_lines("\n".join(reading.out)))
    errors = dict.fromkeys(_ERROR.findall(text)[-limits.errors :])
    lowered = text.lower()
    signs = set().union(*(sign.found(lowered) for sign in cleaner.signs))
    said = "\n".join(part for part in (*errors, prose) if part)[: limits.prose_chars]
    return ItemText(title_text(title), said, ("body", *sorted(signs)))


def model_text(title: str, body: str | None) -> str:
    """The title in the first line, then the cleaned body, code and errors included; empty if there is nothing."""
    parts = [title_text(title), Cleaner.load().clean(body or "")]
    return "\n".join(part for part in parts if part)[: Cleaner.load().limits.thread_chars]


def title_text(title: str) -> str:
    """Return the title as a model reads it: in one line, references and names of people out, tags in front."""
    cleaner = Cleaner.load()
    found, rest = bracket_tags(title[: cleaner.limits.line_chars])
    said = " ".join(cleaner.within_lines(rest).split())
    return " ".join([*(f"[{tag}]" for tag in found), *([said] if said else [])])
