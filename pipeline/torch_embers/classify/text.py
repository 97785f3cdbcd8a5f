"""What of an issue a model gets to read: real reports, cut down to what tells one bug from another.

Reports are mostly not about the bug: forms, lists of libraries, stacks of a hundred frames, logs. The rules that take
these away stand in ``data/text_cleaning.toml``, each with its reason; this module applies them in linear time.

All functions are pure and accept any text: an issue's body comes from a stranger.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from torch_embers import resources
from torch_embers.errors import InputError
from torch_embers.link.relations import unbounded

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

FILE = "text_cleaning.toml"
VERSION = 1
TAGS_RULE = "tags-of-html"
"""The inline rule that is also applied to lines before they are told apart."""
VARIANTS = ("title", "title_body", "thread")
Variant = Literal["title", "title_body", "thread"]

_ANSI = re.compile(r"\x1b\[[0-9;?]{0,20}[A-Za-z]")
_CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060\ufeff\ud800-\udfff\ufffd]")
_FENCE = re.compile(r"[ \t]{0,12}(?:> ?)?(?:[-*+] {1,3}|\d{1,3}[.)] {1,3})?(`{3,8}|~{3,8})[`~]*(.*)", re.DOTALL)
_HEADING = re.compile(r"#{1,6}(?=[^#\w]|\w)[ \t]*([^\n]{0,120})|(\*\*[^*\n]{1,80}\*\*|__[^_\n]{1,80}__):?")
_NAME_EDGE = re.compile(r"^[\W_]+|[\W_]+$")
_BULLETS = re.compile(r"\A(?:[-*+•][ \t]+|#{1,6}[ \t]+|\[[ xX]\] )+")
_QUOTE = re.compile(r"(?:> ?)+(?!>)")
_KEY_VALUE = re.compile(r"[-*• \t]{0,8}\**([\w .,/()-]{1,80}?)(?:\([^)\n]{0,80}\))?\**[ \t]{0,30}[:=]\**(?=\s|$)")
_LOWER_WORD = re.compile(r"(?<![\w./=-])[a-z']{2,}(?![\w/=])")
_DIGITS = re.compile(r"\d+")
_WORDLIKE = re.compile(r"[\w.:/+-]+")
_TAG = re.compile(r"[\s:-]*[\[【]([^\[\]【】\n]+)[\]】]")
_FUNCTION_END = re.compile(r"[(<]| \+ 0x|@@?")
_PACKAGE = re.compile(r"(?:site|dist)-packages[/\\](.+)", re.DOTALL)
_SOURCE_TREE = re.compile(
    r"(?:^|[/\\])((?:torch|aten|c10|caffe2|torchgen|functorch|test|benchmarks|tools)[/\\].+)", re.DOTALL
)


class _Pattern(NamedTuple):
    """A pattern of the file and what to do with it."""

    pattern: re.Pattern[str]
    becomes: str | Callable[[re.Match[str]], str]
    needs: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Heading:
    action: str
    becomes: str


@dataclass(frozen=True, slots=True)
class _Frame:
    pattern: re.Pattern[str]
    innermost_last: bool
    source: bool


@dataclass(frozen=True, slots=True)
class _Span:
    start: re.Pattern[str]
    next: re.Pattern[str]


@dataclass(frozen=True, slots=True)
class _Environment:
    keys: frozenset[str]
    weak_keys: frozenset[str]
    starts: tuple[str, ...]
    said: frozenset[str]


@dataclass(frozen=True, slots=True)
class _Stack:
    header: re.Pattern[str]
    rule: re.Pattern[str]
    listing: re.Pattern[str]
    exception: re.Pattern[str]
    noise: tuple[str, ...]
    noise_python: frozenset[str]


@dataclass(frozen=True, slots=True)
class _Code:
    looks: re.Pattern[str]
    definite: re.Pattern[str]
    error: re.Pattern[str]
    token: re.Pattern[str]
    stop: frozenset[str]


@dataclass(frozen=True, slots=True)
class Limits:
    """Numbers of ``[limits]``; what each is for stands there."""

    line_chars: int
    block_head_chars: int
    block_tail_chars: int
    text_head_chars: int
    text_tail_chars: int
    thread_chars: int
    frames: int
    frame_source_lines: int
    alike_lines: int
    prose_words: int
    literal_chars: int
    tag_chars: int
    tags: int


class Cleaner:
    """The compiled rules; ``Cleaner.load()`` gives the shipped ones."""

    def __init__(self, data: Mapping[str, Any]) -> None:
        """Compile the parsed TOML.

        Raises:
            InputError: another version, a missing key, a rule without a reason, a bad or unbounded pattern.
        """
        if data.get("version") != VERSION:
            raise InputError(f"{FILE}: version {data.get('version')!r} is not {VERSION}, the one this embers reads")
        try:
            self._read(data)
        except (KeyError, TypeError, AttributeError) as error:
            raise InputError(f"{FILE}: an entry lacks a key or has a value of another kind: {error}") from error

    def _read(self, data: Mapping[str, Any]) -> None:
        self.limits = Limits(**{name: int(value) for name, value in data["limits"].items()})
        self.headings = _headings(data["heading"])
        self.environment = _environment(data["environment"])
        self.prose_lines = _alternatives(rule for rule in data["line"] if rule.get("where") != "code")
        self.code_lines = _alternatives(rule for rule in data["line"] if rule.get("where") != "prose")
        self.prefixes = _alternatives(data["prefix"])
        self.spans = [_Span(_compile(rule, "start"), _compile(rule, "next")) for rule in data["span"]]
        self.frames = [_frame(rule) for rule in data["frame"]]
        self.stack = _stack(data["stack"])
        self.code = _code(data["code"])
        self.tags = next(_compile(rule) for rule in data["inline"] if rule["id"] == TAGS_RULE)
        self.inline = [self._inline(rule) for rule in data["inline"]]
        self.whole = _alternatives(data["whole"])

    def _inline(self, rule: Mapping[str, Any]) -> _Pattern:
        functions = {"url": _end_of_url, "path": _end_of_path}
        becomes = rule["becomes"]
        return _Pattern(_compile(rule), functions.get(becomes, becomes), tuple(rule.get("needs", ())))

    @staticmethod
    @cache
    def load() -> Cleaner:
        """Read the shipped ``data/text_cleaning.toml`` once.

        Raises:
            InputError: the file is missing or an entry is wrong.
        """
        return Cleaner(resources.load_toml(FILE))

    def clean(self, text: str, *, reply: bool = False) -> str:
        """Reduce one text; see the function ``clean``."""
        text = _without_comments(_printable(text)) if not self.whole.match(text) else ""
        if not text.strip():
            return ""
        reading = _Reading(self, reply=reply)
        for code, lines in _blocks(text.split("\n"), self._is_form_heading):
            reading.block(lines, code=code)
        return self._tidy(self.within_lines("\n".join(reading.finish())))

    def _is_form_heading(self, line: str) -> bool:
        return heading_name(line.strip()) in self.headings

    def within_lines(self, text: str) -> str:
        """Apply the ``[[inline]]`` rules."""
        for rule in self.inline:
            if not rule.needs or any(need in text for need in rule.needs):
                text = rule.pattern.sub(rule.becomes, text)
        return text

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
    """Reduce a body or a comment to what tells one bug from another.

    Args:
        text: Markdown as GitHub gives it; anything else is no error.
        reply: the text answers another one, so that its block quotes are someone else's words and go.

    Returns:
        Lines without markup, never longer than the text by more than a few characters; empty if it says nothing.
    """
    return Cleaner.load().clean(text, reply=reply)


def bracket_tags(title: str) -> tuple[tuple[str, ...], str]:
    """Split the bracket tags off the front of a title: ``[MPS][jit] x`` gives ``("MPS", "jit")`` and ``x``."""
    limits = Cleaner.load().limits
    tags: list[str] = []
    whole = rest = _printable(title).replace("\n", " ").strip()
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
    room = cleaner.limits.thread_chars
    for comment in comments:
        if room <= 0:
            return
        said = cleaner.clean(comment, reply=True)
        room -= len(said) + 1
        yield said


def cut(text: str, head: int, tail: int) -> str:
    """Keep the beginning and the end of a text, at whole lines where there are any."""
    if len(text) <= head + tail:
        return text
    first = text[:head]
    last = text[-tail:] if tail else ""
    return f"{first.rpartition(chr(10))[0] or first}\n{last.partition(chr(10))[2] or last}"


def heading_name(line: str) -> str:
    """Return what a heading says in lower case, without #, *, emoji and closing punctuation; empty if it is none."""
    found = _HEADING.fullmatch(line)
    if found is None:
        return ""
    return _plain_name(found[1] if found[1] is not None else found[2])


def _plain_name(text: str) -> str:
    return " ".join(_NAME_EDGE.sub("", text.casefold()).split())


@dataclass(slots=True)
class _Reading:
    """One pass over the lines of one text; ``finish`` gives what is left."""

    rules: Cleaner
    reply: bool
    out: list[str] = field(default_factory=list)
    marked: set[str] = field(default_factory=set)
    span: _Span | None = None
    describes: bool = False
    """Within a description of the environment."""
    declared: bool = False
    """... which a heading announced, so that only a heading ends it."""
    frames: list[str] = field(default_factory=list)
    frame: _Frame | None = None
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

    def finish(self) -> list[str]:
        """Return the lines that are left."""
        self._end_stack()
        return self.out

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
        name = _plain_name(text)
        return name if name in self.rules.headings else ""

    # --- environment

    def _in_environment(self, text: str) -> bool:
        """Whether the line describes the machine; keeps track of where such a description begins and ends."""
        rules = self.rules.environment
        lower = text.casefold()
        key = self._key(lower)
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

    @staticmethod
    def _key(lower: str) -> str:
        found = _KEY_VALUE.match(lower)
        return found[1].strip(" .-") if found else ""

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
                if self.frame is not None and self.frame.innermost_last != frame.innermost_last:
                    self._end_stack()
                self.frame = frame
                self.indent = len(raw) - len(raw.lstrip())
                self.source_lines = self.rules.limits.frame_source_lines if frame.source else 0
                self._keep_frame(found)
                return True
        return False

    def _keep_frame(self, found: re.Match[str]) -> None:
        groups = found.groupdict()
        said = frame_text(groups.get("function"), groups.get("file") or groups.get("module"))
        python = not self._native()
        if not said or self._is_noise(said.removeprefix("in "), python=python):
            return
        limit = self.rules.limits.frames
        if python:
            self.frames = [*self.frames, said][-limit:]
        elif len(self.frames) < limit:
            self.frames.append(said)

    def _native(self) -> bool:
        return self.frame is not None and not self.frame.innermost_last

    def _is_noise(self, said: str, *, python: bool) -> bool:
        stack = self.rules.stack
        return said.partition(" ")[0] in stack.noise_python if python else said.startswith(stack.noise)

    def _is_source(self, raw: str, text: str) -> bool:
        """Whether the line is source shown below a frame, or a number and a line of a listing."""
        if self.listing and (self.rules.stack.listing.match(text) or self.rules.stack.rule.match(text)):
            return True
        indent = len(raw) - len(raw.lstrip())
        if self.source_lines > 0 and (indent > self.indent or not (self.indent or self._native())):
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
        return code.token.sub(self._token, text)

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


def _printable(text: str) -> str:
    """Line feeds as the only control; no NUL, no colours, no lone surrogates, nothing of no width."""
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    if "\x1b" in text:
        text = _ANSI.sub("", text)
    return _CONTROLS.sub(" ", text)


def _without_comments(text: str) -> str:
    """Without HTML comments; one that nobody closed is only a mark."""
    parts: list[str] = []
    done = 0
    while (start := text.find("<!--", done)) >= 0:
        parts.append(text[done:start])
        end = text.find("-->", start + 4)
        if end < 0:
            return "".join([*parts, text[start:].replace("<!--", "")])
        done = end + 3
    parts.append(text[done:])
    return "".join(parts)


def _blocks(lines: Sequence[str], is_form_heading: Callable[[str], bool]) -> Iterator[tuple[bool, Sequence[str]]]:
    """Prose and fenced code in turn, without the fences: (is code, lines).

    A heading of a form ends code even where nobody closed the fence, and a fence right before a heading opens nothing:
    forms put a fence of their own around an answer, and people put theirs inside.
    """
    marked = [at for at, line in enumerate(lines) if "```" in line or "~~~" in line]
    fences = {at: found for at in marked if (found := _FENCE.match(lines[at]))}
    closers = [at for at, found in fences.items() if not found[2].strip()]
    headings = [at for at, line in enumerate(lines) if line.startswith("##") and is_form_heading(line)]
    unclosed: dict[str, int] = {}
    begin = 0
    for opener in fences:
        if opener < begin or not _opens(lines, opener, fences[opener]):
            continue
        yield False, lines[begin:opener]
        heading = _next_of(headings, opener, len(lines))
        end = _closer(fences, closers, opener, unclosed)
        begin = heading if end is None or heading < end else end + 1
        yield True, lines[opener + 1 : heading if end is None else min(end, heading)]
    yield False, lines[begin:]


def _opens(lines: Sequence[str], at: int, fence: re.Match[str]) -> bool:
    if fence[2].strip():
        return not (fence[1][0] == "`" and "`" in fence[2])
    following = next((line for line in lines[at + 1 : at + 6] if line.strip()), "")
    return not following.startswith(("## ", "### "))


def _closer(
    fences: Mapping[int, re.Match[str]], closers: Sequence[int], opener: int, unclosed: dict[str, int]
) -> int | None:
    """The next line that closes a fence. A search that failed for a mark is not repeated: nothing closes later ones."""
    mark = fences[opener][1]
    if len(mark) >= unclosed.get(mark[0], 1 << 30):
        return None
    for index in range(bisect_right(closers, opener), len(closers)):
        if fences[closers[index]][1].startswith(mark):
            return closers[index]
    unclosed[mark[0]] = len(mark)
    return None


def _next_of(ordered: Sequence[int], value: int, otherwise: int) -> int:
    """The first number above ``value`` in an ascending sequence."""
    at = bisect_right(ordered, value)
    return ordered[at] if at < len(ordered) else otherwise


def _end_of_url(found: re.Match[str]) -> str:
    """The last part of an address where it is a name."""
    last = re.split(r"[?#]", found[0], maxsplit=1)[0].rstrip("/.,;:").rpartition("/")[2]
    last = last.removesuffix(".html").removesuffix(".htm")
    return last if last[:1].isalpha() and len(last) <= 60 and found[0].count("/") > 3 else ""


def _end_of_path(found: re.Match[str]) -> str:
    """The part of a path inside a package or the source tree, else the name of the file."""
    path = re.sub(r"(?::\d+)+$", "", found[0])
    if inside := _PACKAGE.search(path):
        return inside[1].replace("\\", "/")
    if inside := _SOURCE_TREE.search(path):
        return inside[1].replace("\\", "/")
    return re.split(r"[/\\]", path)[-1]


# --- reading the rules


def _compile(rule: Mapping[str, Any], key: str = "pattern") -> re.Pattern[str]:
    name, pattern = rule.get("id", key), rule[key]
    if not str(rule.get("reason", "")).strip():
        raise InputError(f"{FILE}: {name}: a reason is missing")
    if unbounded(pattern):
        raise InputError(f"{FILE}: {name}: every repetition needs an upper bound: {pattern}")
    try:
        return re.compile(pattern, re.IGNORECASE if rule.get("ignore_case") else 0)
    except re.error as error:
        raise InputError(f"{FILE}: {name}: {error}: {pattern}") from error


def _alternatives(rules: Iterable[Mapping[str, Any]]) -> re.Pattern[str]:
    """One pattern that matches where any of the rules does; each is compiled alone first, so that errors name it."""
    parts = [
        f"(?i:{pattern.pattern})" if pattern.flags & re.IGNORECASE else f"(?:{pattern.pattern})"
        for pattern in map(_compile, rules)
    ]
    return re.compile("|".join(parts))


def _headings(rules: Iterable[Mapping[str, Any]]) -> dict[str, _Heading]:
    found: dict[str, _Heading] = {}
    for rule in rules:
        if rule["action"] not in {"drop", "environment", "mark"} or not rule.get("reason"):
            raise InputError(f"{FILE}: heading {rule['id']}: action or reason is missing or unknown")
        for name in rule["names"]:
            if (plain := _plain_name(name)) in found:
                raise InputError(f"{FILE}: heading {name!r} stands twice")
            found[plain] = _Heading(rule["action"], rule.get("becomes", ""))
    return found


def _environment(rule: Mapping[str, Any]) -> _Environment:
    return _Environment(
        frozenset(rule["keys"]), frozenset(rule["weak_keys"]), tuple(rule["starts"]), frozenset(rule["said"])
    )


def _frame(rule: Mapping[str, Any]) -> _Frame:
    if rule["order"] not in {"first", "last"}:
        raise InputError(f"{FILE}: frame {rule['id']}: order must be first or last")
    return _Frame(_compile(rule), rule["order"] == "last", bool(rule["source"]))


def _stack(rule: Mapping[str, Any]) -> _Stack:
    header, line, listing, exception = (_compile(rule, key) for key in ("header", "rule", "listing", "exception"))
    return _Stack(header, line, listing, exception, tuple(rule["noise"]), frozenset(rule["noise_python"]))


def _code(rule: Mapping[str, Any]) -> _Code:
    looks, definite, error = (_compile(rule, key) for key in ("looks", "definite", "error"))
    kinds = ("comment", "string", "word", "number")
    tokens = "|".join(f"(?P<{kind}>{_compile(rule, kind).pattern})" for kind in kinds)
    return _Code(looks, definite, error, re.compile(rf"{tokens}|(?P<rest>[^\s\w]{{1,40}})"), frozenset(rule["stop"]))
