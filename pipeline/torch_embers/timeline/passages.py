"""The passages of a report in which it shows or says what a run did, each on a side: outputs, comments, sentences."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, Literal

from torch_embers.extract.blocks import pieces
from torch_embers.toml_models import Entry, Explained, load

if TYPE_CHECKING:
    from torch_embers.extract.blocks import Block
    from torch_embers.extract.script import ReportText

FILE = "match.toml"
Side = Literal["expected", "reported", "neither"]
LONGEST_LINE = 2000
_LABEL = 80
"""Characters of a line that may be a label of what follows it."""
_SAME = re.compile(r"\bstill\b|\brepro|\bsame (?:here|issue|problem|error)\b", re.IGNORECASE)
"""A comment that speaks of the bug of the report."""
_SENTENCE = re.compile(r"(?<=[.!?;])\s+(?=[A-Z`*])")
_CLAUSE = re.compile(r"(?<=[.;,])\s|\s(?=(?:but|however|instead|while|whereas)\b)", re.IGNORECASE)
_QUOTE = re.compile(r"^\s{0,3}(?:> ?)+")
_QUOTED = re.compile(r"`[^`\n]*`|\"[^\"\n]*\"|\b\w*(?:Error|Exception|Warning)\b: .*")
_VALUE = re.compile(r"(?=tensor\(|[-+]?\d|\[|\bnan\b|\binf\b|\bTrue\b|\bFalse\b)")
_COMMENT = re.compile(r"(?:^|\s)#+ ?(.*)$")


class _Sides(Explained):
    expected: str
    reported: str
    result: str
    label: str
    negated: str
    aside: str
    environment: str
    turn: str


class _Errors(Explained):
    silent: str
    inner: str
    traceback: str


class MatchRules(Entry):
    """The whole of data/match.toml; its patterns as texts."""

    sides: _Sides
    signals: dict[str, str]
    endings: dict[str, str]
    errors: _Errors


@cache
def rules() -> MatchRules:
    """Read the file.

    Raises:
        InputError: it is missing or an entry is wrong.
    """
    return load(MatchRules, FILE)


@cache
def pattern(text: str) -> re.Pattern[str]:
    """A pattern of the file, ready to search."""
    return re.compile(text, re.IGNORECASE | re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Passage:
    """A part of a report.

    Attributes:
        text: of it.
        kind: what it is; a comment is one of code.
        side: on which the words of the report put it.
        where: in words, for people.
        label: the words that put it there, where they stand among the output itself.
        among_several: whether it stands among several programs of its text, and may speak of any of them.
    """

    text: str
    kind: Literal["output", "comment", "sentence"]
    side: Side
    where: str
    label: str = ""
    among_several: bool = False


def passages(text: ReportText) -> list[Passage]:
    """All passages of a report that show or say what a run did or should do; its code is none, but for its comments.

    Takes time in proportion to the length of the text.
    """
    made = [Passage(text.title, "sentence", side_of(text.title, "reported"), "title")]
    made += _Reader("body", "reported").read(text.body)
    for place, comment in enumerate(text.comments, start=1):  # others may speak of another build, bug or program
        is_same = _SAME.search(comment) and not pattern(rules().sides.aside).search(comment)
        made += _Reader(f"comment {place}", "reported" if is_same else "neither").read(comment)
    return made


def side_of(sentence: str, default: Side) -> Side:
    """On which side a sentence, heading or label puts what it speaks of: what it quotes is not asked."""
    own = _QUOTED.sub(" ", sentence[:LONGEST_LINE])
    sides = rules().sides
    expected, reported, negated, aside = (
        bool(pattern(one).search(own)) for one in (sides.expected, sides.reported, sides.negated, sides.aside)
    )
    if negated or aside or (expected and reported) or (reported and default == "expected") or default == "neither":
        return "neither"
    return "expected" if expected else "reported" if reported else default


class _Reader:
    """Reads one text of a report line by line."""

    def __init__(self, where: str, side: Side) -> None:
        self._where = where
        self._base: Side = side
        self._section: Side = side
        self._is_skipped = False
        self._programs: list[int] = []
        self._introduction = ""
        self._paragraph: list[str] = []
        self._made: list[Passage] = []

    def read(self, text: str) -> list[Passage]:
        for piece in pieces(text):
            if piece.kind == "heading":
                self._heading(piece.rest)
            elif piece.kind == "prose":
                for line in piece.rest.split("\n"):
                    self._prose(_QUOTE.sub("", line[:LONGEST_LINE]))
            else:
                self._block(piece)
        self._end_paragraph()
        start = self._programs[0] if len(self._programs) > 1 else len(self._made)
        return self._made[:start] + [replace(one, among_several=True) for one in self._made[start:]]

    def _heading(self, words: str) -> None:
        self._end_paragraph()
        self._section = side_of(words, self._base)
        self._is_skipped = bool(pattern(rules().sides.environment).search(words))
        self._introduction = ""

    def _prose(self, line: str) -> None:
        sides = rules().sides
        if self._section == "expected" and pattern(sides.turn).match(line):
            self._end_paragraph()
            self._section = self._base if pattern(sides.reported).search(line) else "neither"
        if line.strip():
            self._paragraph.append(line)
        else:
            self._end_paragraph()

    def _end_paragraph(self) -> None:
        lines, self._paragraph = self._paragraph, []
        if not lines:
            return
        line = lines[-1].strip()
        self._introduction = line if pattern(rules().sides.aside).search(line) else _CLAUSE.split(line)[-1]
        if self._is_skipped:
            return
        error = next((place for place, line in enumerate(lines) if _is_error(line)), None)
        if error is not None:  # an output without a fence
            before = " ".join(lines[:error])
            self._output(lines, side_of(before, self._section) if before else None)
            return
        for sentence in _SENTENCE.split(" ".join(line.strip() for line in lines)):
            side = side_of(sentence, self._section)
            self._made.append(Passage(sentence, "sentence", side, self._where))

    def _block(self, block: Block) -> None:
        self._end_paragraph()
        introduction, self._introduction = self._introduction, ""
        if self._is_skipped:
            return
        side = side_of(introduction, self._section)
        code, output = block.code.split("\n"), block.rest.split("\n")
        if block.kind == "broken":  # all is code up to the error that it raises
            raised = next((place for place, line in enumerate(output) if _is_error(line)), len(output))
            code, output = output[:raised], output[raised:]
        self._comments(code, side)
        if block.code.strip() and block.kind != "broken":
            self._programs.append(len(self._made))
        self._output(output, side)

    def _comments(self, lines: list[str], side: Side) -> None:
        current: Side | None = None
        for line in lines:
            found = _COMMENT.search(line[:LONGEST_LINE])
            if not found:
                current = None
                continue
            own = side_of(found[1], current or side)
            is_alone = line.lstrip().startswith("#")
            self._made.append(Passage(found[1], "comment", own, f"a comment of the code, {self._where}"))
            current = own if is_alone else None

    def _output(self, lines: list[str], side: Side | None = None) -> None:
        """One passage, or one for each label in it; with labels also the whole, as the labels may be printed."""
        side = side or self._section
        parts: list[tuple[Side, str, list[str]]] = [(side, "", [])]
        for line in lines:
            label = _label(line)
            if label:
                parts.append((side_of(label, self._base), label, []))
            parts[-1][2].append(line)
        where = f"an output in the {self._where}" if self._where == "body" else f"an output in {self._where}"
        if len(parts) > 1:
            labels = "\n".join(label for _, label, _ in parts if label)
            self._made.append(Passage("\n".join(lines), "output", side, where, labels))
        for own, label, some in parts:
            if any(line.strip() for line in some):
                self._made.append(Passage("\n".join(some), "output", own, where, label and f"{label}\n"))


def _is_error(line: str) -> bool:
    return bool(pattern(rules().errors.traceback).search(line))


def _label(line: str) -> str:
    """The words of an output's line that name a side of what follows; empty where it names none."""
    words = _VALUE.split(line[:_LABEL])[0]
    return words.strip() if pattern(rules().sides.label).match(words) and not _is_error(line) else ""
