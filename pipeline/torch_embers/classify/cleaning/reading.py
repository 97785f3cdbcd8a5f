"""One pass over the lines of a text: headings, environments, stacks, source and output are recognised and shortened."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from torch_embers.classify.cleaning.blocks import cut
from torch_embers.classify.cleaning.rules import heading_name, plain_name

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch_embers.classify.cleaning.rules import CleaningRules, Frame, Span

_BULLETS = re.compile(r"\A(?:[-*+•][ \t]+|#{1,6}[ \t]+|\[[ xX]\] )+")
_QUOTE = re.compile(r"(?:> ?)+(?!>)")
_KEY_VALUE = re.compile(r"[-*• \t]{0,8}\**([\w .,/()-]{1,80}?)(?:\([^)\n]{0,80}\))?\**[ \t]{0,30}[:=]\**(?=\s|$)")
_LOWER_WORD = re.compile(r"(?<![\w./=-])[a-z']{2,}(?![\w/=])")
_WORDLIKE = re.compile(r"[\w.:/+-]+")
_FUNCTION_END = re.compile(r"[(<]| \+ 0x|@@?")


@dataclass(slots=True)
class TextReading:
    """One pass over the lines of one text."""

    rules: CleaningRules
    reply: bool
    out: list[str] = field(default_factory=list)
    """The lines that are left."""
    marked: set[str] = field(default_factory=set)
    span: Span | None = None
    describes: bool = False
    """Within a description of the environment."""
    declared: bool = False
    """... which a heading announced, so that only a heading ends it."""
    frames: list[str] = field(default_factory=list)
    frame: Frame | None = None
    indent: int = 0
    source_lines: int = 0
    """Lines of source that may still follow the last frame."""
    listing: bool = False
    """Within a traceback that lists source with line numbers."""

    def block(self, lines: Sequence[str], *, code: bool) -> None:
        """Read one block of lines, all of them prose or all of them fenced code."""
        begin = len(self.out)
        for line in lines:
            self._line(line[: self.rules.limits.line_chars], code=code)
        self._end_stack()
        if code:
            self.describes = self.declared
            limits = self.rules.limits
            kept = cut("\n".join(self.out[begin:]), limits.block_head_chars, limits.block_tail_chars)
            self.out[begin:] = kept.split("\n")

    def _line(self, raw: str, *, code: bool) -> None:
        raw = raw.expandtabs(4) if "\t" in raw else raw
        if not raw.strip() or self._in_span(raw.strip()):
            return
        raw = self._without_prefixes(self._unquoted(raw, code=code))
        text = raw.strip()
        if not text or self._in_stack(raw, text):
            return
        if not code:
            text = self._without_marks(text)
        if not text or self._starts_span(text) or self._in_environment(text):
            return
        if not (self.rules.code_lines if code else self.rules.prose_lines).match(text):
            self.out.append(self._words_of_code(text) if code else _BULLETS.sub("", text, count=1))

    def _unquoted(self, raw: str, *, code: bool) -> str:
        """Without the marks of a block quote; nothing of it where it is someone else's words. ``>>>`` is a prompt."""
        begin = raw[:6].lstrip()
        if begin[:1] != ">" or begin[:3] == ">>>":
            return raw
        return "" if self.reply and not code else _QUOTE.sub("", raw.lstrip(), count=1)

    def _without_marks(self, text: str) -> str:
        """A line of prose without mark-up at its beginning; empty if it is a heading that was dealt with."""
        if text[0] == "<":
            text = self.rules.tags.sub("", text).strip()
        if not text or self._is_heading(text):
            return ""
        return _BULLETS.sub("", text, count=1) if text[0] == "#" else text

    def _without_prefixes(self, raw: str) -> str:
        for _ in range(3):
            found = self.rules.prefixes.match(raw) if raw else None
            if not found or not found.end():
                return raw
            raw = raw[found.end() :]
        return raw

    # --- spans and headings

    def _starts_span(self, text: str) -> bool:
        for span in self.rules.spans:
            if span.start.match(text):
                self.span = span
                return True
        return False

    def _in_span(self, text: str) -> bool:
        if self.span is not None and not self.span.next.match(text):
            self.span = None
        return self.span is not None

    def _is_heading(self, text: str) -> bool:
        """Whether the line is a heading that is dropped or replaced; any heading ends what the one before began."""
        hashed = text[0] in "#*_"
        name = heading_name(text) if hashed else self._plain_heading(text)
        if not name:
            return False
        found = self.rules.headings.get(name)
        self.describes = self.declared = found is not None and found.action == "environment"
        if found is not None and found.becomes and found.becomes not in self.marked:
            self.marked.add(found.becomes)
            self.out.append(found.becomes)
        return found is not None

    def _plain_heading(self, text: str) -> str:
        """A heading of a form that lost its mark-up: alone in its line, and more than one word or closed by a colon."""
        if len(text) > 60 or not (text.endswith(":") or " " in text or self.describes):
            return ""
        name = plain_name(text)
        return name if name in self.rules.headings else ""

    # --- environment

    def _in_environment(self, text: str) -> bool:
        """Whether the line describes the machine; keeps track of where such a description begins and ends."""
        rules = self.rules.environment
        lower = text.casefold()
        found = _KEY_VALUE.match(lower)
        key = found[1].strip(" .-") if found else ""
        if key in rules.keys or lower.startswith(rules.starts):
            self.describes = True
            return True
        if not self.describes:
            return False
        if self.rules.stack.exception.match(text) or self._is_sentence(text, key):
            self.describes = self.declared
            return False
        if self.declared or key in rules.weak_keys:
            return True
        self.describes = not (text.endswith(":") or self.rules.code.looks.match(text)) and (
            bool(key) or text[0] in "-[*|" or any(map(str.isdigit, text))
        )
        return self.describes

    def _is_sentence(self, text: str, key: str) -> bool:
        if text[0] == "|" or (key and key not in self.rules.environment.said):
            return False
        words = len(_LOWER_WORD.findall(text[:400]))
        return words >= self.rules.limits.prose_words and words * 2 > len(text[:400].split())

    # --- stacks

    def _in_stack(self, raw: str, text: str) -> bool:
        """Whether the line belongs to a stack, which is gathered and written out when it ends."""
        stack = self.rules.stack
        if stack.header.match(text):
            self._end_stack()
            self.listing = "  Traceback" in text
            return True
        if self._is_frame(raw, text):
            return True
        if self.frame is None and not self.listing:
            return False
        if stack.exception.match(text):
            self._end_stack()
            return False
        return self._is_source(raw, text)

    def _is_frame(self, raw: str, text: str) -> bool:
        if text[0] not in "Ff#*0123456789CI~/<" and not text.endswith(tuple("0123456789")) and ":\\" not in text[:3]:
            return False
        for frame in self.rules.frames:
            if found := frame.pattern.match(text):
                if self.frame is not None and self.frame.order != frame.order:
                    self._end_stack()
                self.frame = frame
                self.indent = len(raw) - len(raw.lstrip())
                self.source_lines = self.rules.limits.frame_source_lines if frame.source else 0
                self._keep_frame(frame, found)
                return True
        return False

    def _keep_frame(self, frame: Frame, found: re.Match[str]) -> None:
        stack, limit, groups = self.rules.stack, self.rules.limits.frames, found.groupdict()
        said = frame_text(groups.get("function"), groups.get("file") or groups.get("module"))
        name = said.removeprefix("in ")
        if frame.order == "last":
            if said and name.partition(" ")[0] not in stack.noise_python:
                self.frames = [*self.frames, said][-limit:]
        elif said and not name.startswith(stack.noise) and len(self.frames) < limit:
            self.frames.append(said)

    def _is_source(self, raw: str, text: str) -> bool:
        """Whether the line is source shown below a frame, or a number and a line of a listing."""
        if self.listing and (self.rules.stack.listing.match(text) or self.rules.stack.rule.match(text)):
            return True
        indent = len(raw) - len(raw.lstrip())
        native = self.frame is not None and self.frame.order == "first"
        if self.source_lines > 0 and (indent > self.indent or not (self.indent or native)):
            self.source_lines = self.source_lines - 1 if indent else 0
            return True
        self._end_stack()
        return False

    def _end_stack(self) -> None:
        self.out += self.frames
        self.frames = []
        self.frame = None
        self.listing = False
        self.source_lines = 0

    # --- code

    def _words_of_code(self, text: str) -> str:
        """Names, calls and numbers of a line of code; a line of output stays as it is."""
        code = self.rules.code
        if not code.looks.match(text) or (code.error.match(text) and not code.definite.match(text)):
            return text
        return self.rules.token.sub(self._token, text)

    def _token(self, found: re.Match[str]) -> str:
        said = found[0]
        match found.lastgroup:
            case "word":
                return " " if said in self.rules.code.stop else said
            case "comment":
                return said.lstrip("#/ ")
            case "number":
                return said
            case "string":
                inner = said.lstrip("rbfuRBFU").strip("\"'")
                short = len(inner) <= self.rules.limits.literal_chars and _WORDLIKE.fullmatch(inner)
                return inner if short else " "
            case _:
                return " "


def frame_text(function: str | None, file: str | None) -> str:
    """Return ``in function (file)`` without arguments, template arguments and folders; empty if neither is known."""
    name = (function or "").replace("(anonymous namespace)::", "").strip()
    if not name.startswith("<"):
        name = _FUNCTION_END.split(name, maxsplit=1)[0].rpartition(" ")[2]
    name = name[:120]
    place = re.split(r"[/\\]", file or "")[-1][:80]
    if place.startswith("<"):
        place = ""
    if not name or name == "<module>":
        return f"in {place}" if place else ""
    return f"in {name} ({place})" if place else f"in {name}"
