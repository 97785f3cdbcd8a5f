"""The text of an item that a model reads: its title, body and comments without forms, environments, logs and markup.

The rules are in ``data/text_cleaning.toml``, each with its reason; ``cleaning/`` applies them in linear time. All
functions are pure and accept any text: bodies are untrusted.
"""

from __future__ import annotations

import re
from collections import Counter
from functools import cache
from typing import TYPE_CHECKING, Literal

from torch_embers import resources
from torch_embers.classify.cleaning import rules
from torch_embers.classify.cleaning.blocks import blocks, cut, printable, without_comments
from torch_embers.classify.cleaning.reading import Reading
from torch_embers.classify.cleaning.rules import Rules
from torch_embers.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

RULES_VERSION = 1
"""Raised whenever the code of this file or of ``cleaning/`` changes a text: all items are then read again."""
VARIANTS = ("title", "title_body", "thread")
Variant = Literal["title", "title_body", "thread"]

_DIGITS = re.compile(r"\d+")
_TAG = re.compile(r"[\s:-]*[\[【]([^\[\]【】\n]+)[\]】]")


class Cleaner(Rules):
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
        reading = Reading(self, reply=reply)
        for code, lines in blocks(text.split("\n"), self.headings):
            reading.block(lines, code=code)
        return self._tidy(self.within_lines("\n".join(reading.out)))

    def _tidy(self, text: str) -> str:
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


def model_text(
    title: str,
    body: str | None,
    comments: Sequence[str] = (),
    variant: str = "title_body",
    tags: bool = True,
) -> str:
    """Put together what a model reads of an item.

    Args:
        title: the title; with its bracket tags in front unless ``tags`` is false.
        body: the body, or ``None`` where it is not known.
        comments: texts of the comments, in their order; read by the variant ``thread`` only.
        variant: ``title``, ``title_body`` or ``thread``.
        tags: whether the bracket tags stay; they often give a label away.

    Returns:
        The title in the first line, then the cleaned texts; empty if there is nothing to read.

    Raises:
        InputError: no such variant.
    """
    if variant not in VARIANTS:
        raise InputError(f"there is no text variant {variant!r} (known: {', '.join(VARIANTS)})")
    cleaner = Cleaner.load()
    parts = [title_text(title, tags=tags)]
    if variant != "title":
        parts.append(cleaner.clean(body or ""))
    if variant == "thread":
        parts += _within(comments, cleaner)
    return "\n".join(part for part in parts if part)[: cleaner.limits.thread_chars]


def title_text(title: str, *, tags: bool = True) -> str:
    """Return the title as a model reads it: in one line, references and names of people out, tags in front or gone."""
    cleaner = Cleaner.load()
    found, rest = bracket_tags(title[: cleaner.limits.line_chars])
    said = " ".join(cleaner.within_lines(rest).split())
    return " ".join([*(f"[{tag}]" for tag in found if tags), *([said] if said else [])])


def _within(comments: Sequence[str], cleaner: Cleaner) -> Iterator[str]:
    """Cleaned comments, until there is more than a thread may hold."""
    left = cleaner.limits.thread_chars
    for comment in comments:
        if left <= 0:
            return
        cleaned = cleaner.clean(comment, reply=True)
        left -= len(cleaned) + 1
        yield cleaned
