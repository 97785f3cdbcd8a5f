"""The rules of ``data/text_cleaning.toml``, compiled; every pattern is bounded, and every rule has its reason."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from torch_embers.errors import InputError
from torch_embers.link.relations import unbounded

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

FILE = "text_cleaning.toml"
VERSION = 1
TAGS_RULE = "tags-of-html"
"""The inline rule that is also applied to lines before they are told apart."""

_HEADING = re.compile(r"#{1,6}(?=[^#\w]|\w)[ \t]*([^\n]{0,120})|(\*\*[^*\n]{1,80}\*\*|__[^_\n]{1,80}__):?")
_NAME_EDGE = re.compile(r"^[\W_]+|[\W_]+$")
_PACKAGE = re.compile(r"(?:site|dist)-packages[/\\](.+)", re.DOTALL)
_SOURCE_TREE = re.compile(
    r"(?:^|[/\\])((?:torch|aten|c10|caffe2|torchgen|functorch|test|benchmarks|tools)[/\\].+)", re.DOTALL
)


class Pattern(NamedTuple):
    """A pattern of the file and what to do with it."""

    pattern: re.Pattern[str]
    becomes: str | Callable[[re.Match[str]], str]
    needs: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Heading:
    """What a heading of a form does to what follows, and the mark that stands for it."""

    action: str
    becomes: str


@dataclass(frozen=True, slots=True)
class Frame:
    """How a line of a stack looks, where the innermost frame stands, and whether source follows."""

    pattern: re.Pattern[str]
    innermost_last: bool
    source: bool


@dataclass(frozen=True, slots=True)
class Span:
    """Lines that are dropped from one that starts it on, as long as the next ones look alike."""

    start: re.Pattern[str]
    next: re.Pattern[str]


@dataclass(frozen=True, slots=True)
class Environment:
    """Names and beginnings of lines that describe a machine."""

    keys: frozenset[str]
    weak_keys: frozenset[str]
    starts: tuple[str, ...]
    said: frozenset[str]


@dataclass(frozen=True, slots=True)
class Stack:
    """What begins and ends a stack, and frames that say nothing."""

    header: re.Pattern[str]
    rule: re.Pattern[str]
    listing: re.Pattern[str]
    exception: re.Pattern[str]
    noise: tuple[str, ...]
    noise_python: frozenset[str]


@dataclass(frozen=True, slots=True)
class Code:
    """How source looks, and which of its words are kept."""

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


class Rules:
    """The compiled rules."""

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
        self.spans = [Span(_compile(rule, "start"), _compile(rule, "next")) for rule in data["span"]]
        self.frames = [_frame(rule) for rule in data["frame"]]
        self.stack = _stack(data["stack"])
        self.code = _code(data["code"])
        self.tags = next(_compile(rule) for rule in data["inline"] if rule["id"] == TAGS_RULE)
        self.inline = [self._inline(rule) for rule in data["inline"]]
        self.whole = _alternatives(data["whole"])

    def _inline(self, rule: Mapping[str, Any]) -> Pattern:
        functions = {"url": _end_of_url, "path": _end_of_path}
        becomes = rule["becomes"]
        return Pattern(_compile(rule), functions.get(becomes, becomes), tuple(rule.get("needs", ())))

    def within_lines(self, text: str) -> str:
        """Apply the ``[[inline]]`` rules."""
        for rule in self.inline:
            if not rule.needs or any(need in text for need in rule.needs):
                text = rule.pattern.sub(rule.becomes, text)
        return text


def heading_name(line: str) -> str:
    """Return what a heading says in lower case, without #, *, emoji and closing punctuation; empty if it is none."""
    found = _HEADING.fullmatch(line)
    if found is None:
        return ""
    return plain_name(found[1] if found[1] is not None else found[2])


def plain_name(text: str) -> str:
    """A heading's words in lower case, without what stands around them."""
    return " ".join(_NAME_EDGE.sub("", text.casefold()).split())


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


def _headings(rules: Iterable[Mapping[str, Any]]) -> dict[str, Heading]:
    found: dict[str, Heading] = {}
    for rule in rules:
        if rule["action"] not in {"drop", "environment", "mark"} or not rule.get("reason"):
            raise InputError(f"{FILE}: heading {rule['id']}: action or reason is missing or unknown")
        for name in rule["names"]:
            if (plain := plain_name(name)) in found:
                raise InputError(f"{FILE}: heading {name!r} stands twice")
            found[plain] = Heading(rule["action"], rule.get("becomes", ""))
    return found


def _environment(rule: Mapping[str, Any]) -> Environment:
    return Environment(
        frozenset(rule["keys"]), frozenset(rule["weak_keys"]), tuple(rule["starts"]), frozenset(rule["said"])
    )


def _frame(rule: Mapping[str, Any]) -> Frame:
    if rule["order"] not in {"first", "last"}:
        raise InputError(f"{FILE}: frame {rule['id']}: order must be first or last")
    return Frame(_compile(rule), rule["order"] == "last", bool(rule["source"]))


def _stack(rule: Mapping[str, Any]) -> Stack:
    header, line, listing, exception = (_compile(rule, key) for key in ("header", "rule", "listing", "exception"))
    return Stack(header, line, listing, exception, tuple(rule["noise"]), frozenset(rule["noise_python"]))


def _code(rule: Mapping[str, Any]) -> Code:
    looks, definite, error = (_compile(rule, key) for key in ("looks", "definite", "error"))
    kinds = ("comment", "string", "word", "number")
    tokens = "|".join(f"(?P<{kind}>{_compile(rule, kind).pattern})" for kind in kinds)
    return Code(looks, definite, error, re.compile(rf"{tokens}|(?P<rest>[^\s\w]{{1,40}})"), frozenset(rule["stop"]))
