"""The rules of ``data/text_cleaning.toml``, compiled; every pattern is bounded, and every rule has its reason."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import AfterValidator, Field, StringConstraints, model_validator

from torch_embers import toml_models
from torch_embers.link.relations import bounded_pattern
from torch_embers.toml_models import Entry

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

FILE = "text_cleaning.toml"
TAGS_RULE = "tags-of-html"
"""The inline rule that is also applied to lines before they are classified."""

_HEADING = re.compile(r"#{1,6}(?=[^#\w]|\w)[ \t]*([^\n]{0,120})|(\*\*[^*\n]{1,80}\*\*|__[^_\n]{1,80}__):?")
_NAME_EDGE = re.compile(r"^[\W_]+|[\W_]+$")
_PACKAGE = re.compile(r"(?:site|dist)-packages[/\\](.+)", re.DOTALL)
_SOURCE_TREE = re.compile(
    r"(?:^|[/\\])((?:torch|aten|c10|caffe2|torchgen|functorch|test|benchmarks|tools)[/\\].+)", re.DOTALL
)


Pattern = Annotated[re.Pattern[str], AfterValidator(lambda pattern: bounded_pattern(pattern.pattern))]
Prose = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]
Count = Annotated[int, Field(strict=True, ge=0)]


class CleaningRule(Entry):
    """A part of the file, with its reason."""

    reason: Prose


class Heading(CleaningRule):
    """What a heading of a form does to what follows, and the mark that stands for it."""

    id: str
    action: Literal["drop", "environment", "mark"]
    becomes: str = ""
    names: tuple[str, ...]


class Line(CleaningRule):
    """Lines that are dropped, or their beginning."""

    id: str
    pattern: Pattern
    where: Literal["code", "prose", ""] = ""
    """Fenced code or prose only; both when empty."""
    ignore_case: bool = False


class Span(CleaningRule):
    """Lines that are dropped from one that starts it on, as long as the next ones look alike."""

    id: str
    start: Pattern
    next: Pattern


class Frame(CleaningRule):
    """How a line of a stack looks, where the innermost frame stands, and whether source follows."""

    id: str
    pattern: Pattern
    order: Literal["first", "last"]
    source: bool


class Inline(CleaningRule):
    """A replacement within lines."""

    id: str
    pattern: Pattern
    becomes: str
    needs: tuple[str, ...] = ()

    def apply(self, text: str) -> str:
        """Replace every match."""
        if self.needs and not any(need in text for need in self.needs):
            return text
        return self.pattern.sub(FUNCTIONS.get(self.becomes, self.becomes), text)


class Sign(CleaningRule):
    """What is read of a raw body in lower case beside its prose."""

    id: str
    pattern: Pattern
    each: bool = False
    """Whether every text that matches is a sign of its own."""

    def found(self, text: str) -> set[str]:
        """The signs in a text."""
        if not self.each:
            return {self.id} if self.pattern.search(text) else set()
        return {f"{self.id}:{'_'.join(said.split())}" for said in self.pattern.findall(text)}


class Environment(CleaningRule):
    """Names and beginnings of lines that describe a machine."""

    keys: frozenset[str]
    weak_keys: frozenset[str]
    starts: tuple[str, ...]
    said: frozenset[str]


class Stack(CleaningRule):
    """What begins and ends a stack, and frames that carry no information."""

    header: Pattern
    rule: Pattern
    listing: Pattern
    exception: Pattern
    noise: tuple[str, ...]
    noise_python: frozenset[str]


class Code(CleaningRule):
    """How source looks, and which of its words are kept."""

    looks: Pattern
    definite: Pattern
    error: Pattern
    comment: Pattern
    string: Pattern
    word: Pattern
    number: Pattern
    stop: frozenset[str]


class CleaningLimits(Entry):
    """Numbers of ``[limits]``; the file says what each is for."""

    line_chars: Count
    block_head_chars: Count
    block_tail_chars: Count
    text_head_chars: Count
    text_tail_chars: Count
    thread_chars: Count
    frames: Count
    frame_source_lines: Count
    alike_lines: Count
    prose_words: Count
    literal_chars: Count
    tag_chars: Count
    tags: Count
    prose_chars: Count
    errors: Count


class RulesFile(Entry):
    """The whole file."""

    version: Literal[1]
    limits: CleaningLimits
    heading: tuple[Heading, ...]
    environment: Environment
    line: tuple[Line, ...]
    prefix: tuple[Line, ...]
    span: tuple[Span, ...]
    frame: tuple[Frame, ...]
    stack: Stack
    code: Code
    inline: tuple[Inline, ...]
    whole: tuple[Line, ...]
    sign: tuple[Sign, ...]

    @model_validator(mode="after")
    def _check(self) -> RulesFile:
        names = [plain_name(name) for heading in self.heading for name in heading.names]
        if twice := [name for name in names if names.count(name) > 1]:
            raise ValueError(f"heading {twice[0]!r} stands twice")
        return self


class CleaningRules:
    """The compiled rules."""

    def __init__(self, data: Mapping[str, Any]) -> None:
        """Compile the parsed TOML.

        Raises:
            InputError: another version, a missing key, a rule without a reason, a bad or unbounded pattern.
        """
        file = toml_models.validate(RulesFile, data, FILE)
        self.limits, self.environment, self.stack, self.code = file.limits, file.environment, file.stack, file.code
        self.spans, self.frames, self.inline, self.signs = file.span, file.frame, file.inline, file.sign
        self.headings = {plain_name(name): heading for heading in file.heading for name in heading.names}
        self.prose_lines = _alternatives(rule for rule in file.line if rule.where != "code")
        self.code_lines = _alternatives(rule for rule in file.line if rule.where != "prose")
        self.prefixes, self.whole = _alternatives(file.prefix), _alternatives(file.whole)
        self.tags = next(rule.pattern for rule in file.inline if rule.id == TAGS_RULE)
        kinds = ("comment", "string", "word", "number")
        tokens = "|".join(f"(?P<{kind}>{getattr(file.code, kind).pattern})" for kind in kinds)
        self.token = re.compile(rf"{tokens}|(?P<rest>[^\s\w]{{1,40}})")

    def within_lines(self, text: str) -> str:
        """Apply the ``[[inline]]`` rules."""
        for rule in self.inline:
            text = rule.apply(text)
        return text


def _alternatives(rules: Iterable[Line]) -> re.Pattern[str]:
    """One pattern that matches where any of the rules does."""
    return re.compile("|".join(f"(?{'i' * rule.ignore_case}:{rule.pattern.pattern})" for rule in rules))


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


FUNCTIONS: Mapping[str, Callable[[re.Match[str]], str]] = {"url": _end_of_url, "path": _end_of_path}
"""Replacements that ``becomes`` can name."""
