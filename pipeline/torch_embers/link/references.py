"""References of a text to other items and commits: a pure parser, linear in the text.

Two steps. First every token that can name an item or a commit is located (``#1``, ``GH-1``, ``owner/name#1``, an
address, a hash) and replaced by one private character; then the rules of ``data/relations.toml`` look for phrases
around these characters. What no rule claims is a mention.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from torch_embers.link import relations
from torch_embers.link.markdown import blank_unsaid
from torch_embers.link.relations import COMMIT, KINDS, MENTIONS, TARGET, Kind, contains_any

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch_embers.link.relations import Block, Ignore, RelationRule, Rulebook

SNIPPET = 160
SNIPPET_BEFORE = 100
GUARD_WINDOW = 60
"""Characters before a match in which a guard looks for a negation or an intention."""
LINES_BEFORE = 2
"""Phrases reach back over this many line feeds: a keyword above its reference, the header of a block."""

_GAP = "\n\n"
_HASH_WORDS = ("changeset", "cherry", "revert")
_PLAIN = re.compile(r"#[1-9]")
SIGNS = ("github\\.com/", "gh-", "#[1-9]", *_HASH_WORDS)
"""Patterns of which a text in lower case has one where it refers to anything."""
_CANDIDATE = re.compile(r"https?://|#[1-9]|gh-[1-9]")
_URL = re.compile(r"https?://[^\s<>\"'`\])}|\\]*")
_GITHUB = re.compile(
    r"https?://(?:www\.)?github\.com/([\w.-]{1,100}/[\w.-]{1,100})/"
    r"(?:(?:issues|pull|discussions)/([1-9]\d{0,6})(?![\w-])|(?:commit|pull/\d{1,7}/commits)/([0-9a-f]{7,40})(?![0-9a-z]))"
)
_NUMBER = re.compile(r"(?:#|gh-)([1-9]\d{0,6})(?!\w)(?!\.\d)(?!-[a-z])")
_REPO_BEFORE = re.compile(r"(?<![\w./-])([\w-][\w.-]{0,99}/[\w.-]{1,100})$")
_GLUED = re.compile(r"(?<!\w)(?:pr|prs|pull|issue|issues|bug|gh)$")
_SHA = re.compile(r"(?<![\w/#.@-])(?!d\d{5,}\b)([0-9a-f]{7,40})(?![\w-])")
_BAD_NEIGHBOURS = "&#"


@dataclass(frozen=True, slots=True)
class Reference:
    """One statement of a text about another item or commit."""

    relation: str
    """A name of data/relations.toml."""
    target_repo: str
    target_number: int | None
    target_sha: str | None
    """7 to 40 hexadecimal digits, lower case; set where there is no number."""
    snippet: str
    rule: str
    """Id of the rule that matched, or ``mention``."""
    inverse: bool = False
    """The target does it to this item: "superseded by #2"."""


class _Token(NamedTuple):
    start: int
    end: int
    repo: str
    number: int | None
    sha: str | None


class Parsed(NamedTuple):
    """The references of a text, and what of it was not read."""

    references: list[Reference]
    unread: str
    """Empty where the whole text was read."""


def parse(
    text: str, *, repo: str, number: int | None = None, title: bool = False, kind: Kind | None = None
) -> list[Reference]:
    """Find the references of one text; see ``read``."""
    return read(text, repo=repo, number=number, title=title, kind=kind).references


def read(text: str, *, repo: str, number: int | None = None, title: bool = False, kind: Kind | None = None) -> Parsed:
    """Find the references of one text, in order of their first place, up to the limits of data/relations.toml.

    Args:
        text: title, body, comment or commit message (its subject as a title of its own).
        repo: ``owner/name`` whose numbers ``#1`` means.
        number: the item that the text belongs to; references to it are dropped. ``None`` for a commit.
        title: whether the text is a title or a commit's subject.
        kind: issue, pull, comment or commit, where known: only pulls and commits revert, land or fix.

    Returns:
        At most one reference per relation, direction and target; a mention only without a stronger relation.
    """
    book = relations.load()
    limits = book.limits
    unread = ""
    if len(text) > limits.text_chars:
        unread = f"only the first {limits.text_chars:,} of {len(text):,} characters were read for references"
    text = _one_kind_of_line(text[: limits.text_chars])
    lower = _lower(text)
    if not _may_refer(lower):
        return Parsed([], unread)
    prose = blank_unsaid(lower)
    tokens = _tokens(prose, text, repo)
    if len(tokens) > limits.references:
        unread = f"only the first {limits.references:,} references were read"
        del tokens[limits.references :]
    if not tokens:
        return Parsed([], unread)
    findings = _Reading(prose, tokens).references(book, _kinds(kind, number), title=title)
    return Parsed(_merge(findings, text, repo, number, book), unread)


def _one_kind_of_line(text: str) -> str:
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    if not text.isascii() and (TARGET in text or COMMIT in text):
        text = text.replace(TARGET, " ").replace(COMMIT, " ")
    return text


def _lower(text: str) -> str:
    """Lower case with every character in its place (one capital letter would become two)."""
    lower = text.lower()
    return lower if len(lower) == len(text) else text.replace("\u0130", "i").lower()


def _kinds(kind: Kind | None, number: int | None) -> frozenset[Kind]:
    if kind is not None:
        return frozenset({kind})
    return frozenset({"commit"}) if number is None else KINDS - {"commit"}


def _may_refer(lower: str) -> bool:
    if "github.com/" in lower or "gh-" in lower or ("#" in lower and _PLAIN.search(lower)):
        return True
    return contains_any(lower, _HASH_WORDS)


def _tokens(prose: str, text: str, repo: str) -> list[_Token]:
    """Everything that can name an item or a commit, left to right, without overlaps."""
    tokens = list(_item_tokens(prose, text, repo))
    if contains_any(prose, _HASH_WORDS):
        taken = {place for token in tokens for place in range(token.start, token.end)}
        hashes = (match for match in _SHA.finditer(prose) if match.start() not in taken)
        tokens += [_Token(match.start(), match.end(), repo, None, match[1]) for match in hashes]
    return sorted(tokens, key=lambda token: token.start)


def _item_tokens(prose: str, text: str, repo: str) -> Iterator[_Token]:
    place = 0
    while match := _CANDIDATE.search(prose, place):
        start = match.start()
        if match[0].startswith("http"):
            address = _URL.match(prose, start)
            place = address.end() if address else match.end()
            token = _address_token(prose, text, repo, start, place)
        else:
            token = _number_token(prose, text, repo, start, place)
            place = token.end if token else match.end()
        if token:
            yield token


def _address_token(prose: str, text: str, repo: str, start: int, end: int) -> _Token | None:
    github = _GITHUB.match(prose, start, end)
    if github is None:
        return None
    end = start + len(prose[start:end].rstrip(".,;:!?*_"))
    end = max(end, github.end())
    target = _same_repo(text[github.start(1) : github.end(1)], repo)
    return _Token(start, end, target, int(github[2]) if github[2] else None, github[3])


def _number_token(prose: str, text: str, repo: str, start: int, floor: int) -> _Token | None:
    match = _NUMBER.match(prose, start)
    if match is None:
        return None
    target = repo
    before = prose[max(floor, start - 202) : start]
    if before and (before[-1].isalnum() or before[-1] in "_.-/" or before[-1] in _BAD_NEIGHBOURS):
        named = _REPO_BEFORE.search(before) if "/" in before and prose[start] == "#" else None
        if named:
            begin = start - len(named[1])
            target = _same_repo(text[begin:start], repo)
            start = begin
        elif before[-1] in _BAD_NEIGHBOURS or not (before[-1] in "./-" or _GLUED.search(before)):
            return None
    return _Token(start, match.end(), target, int(match[1]), None)


def _same_repo(named: str, repo: str) -> str:
    return repo if named.lower() == repo.lower() else named


class _Finding(NamedTuple):
    token: _Token
    relation: str
    rule: str
    inverse: bool


def _lines_before(prose: str, floor: int, place: int) -> int:
    """Where the lines begin that a phrase around ``place`` can reach back to; not before ``floor``."""
    for _ in range(LINES_BEFORE + 1):
        place = prose.rfind("\n", floor, place)
        if place < 0:
            return floor
    return place + 1


def _rest_of_line(prose: str, start: int, end: int) -> str:
    line_feed = prose.find("\n", start, end)
    return prose[start : end if line_feed < 0 else line_feed]


class _Reading:
    """A text with its tokens replaced, cut down to the lines around them, while rules are tried on it."""

    def __init__(self, prose: str, tokens: list[_Token]) -> None:
        self._tokens = tokens
        self._places: list[int] = []
        parts: list[str] = []
        done = length = 0
        for token in tokens:
            start = _lines_before(prose, done, token.start)
            if start > done:
                parts.append(_rest_of_line(prose, done, start) + _GAP)
                length += len(parts[-1])
            parts.append(prose[start : token.start])
            length += token.start - start
            self._places.append(length)
            parts.append(COMMIT if token.number is None else TARGET)
            length += 1
            done = token.end
        parts.append(_rest_of_line(prose, done, len(prose)))
        self._text = "".join(parts)
        self._silent: set[int] = set()
        self._quoted: set[int] = set()

    def references(self, book: Rulebook, kinds: frozenset[Kind], *, title: bool) -> Iterator[_Finding]:
        """Apply ignored forms, blocks and rules; what is left over is mentioned."""
        for ignore in book.ignores:
            self._drop(ignore)
        for block in book.blocks:
            yield from self._block(block)
        for rule in book.rules:
            if rule.applies(kinds, title=title) and contains_any(self._text, rule.needs):
                yield from self._rule(rule)
        for at, token in enumerate(self._tokens):
            if at not in self._silent and (token.number or token.end - token.start > len(token.sha or "")):
                yield _Finding(token, MENTIONS, "mention", inverse=False)

    def _silence(self, indices: list[int]) -> None:
        """Keep later rules from seeing these tokens."""
        if not indices:
            return
        self._silent.update(indices)
        characters = list(self._text)
        for at in indices:
            characters[self._places[at]] = " "
        self._text = "".join(characters)

    def _within(self, start: int, end: int) -> range:
        return range(bisect_left(self._places, start), bisect_left(self._places, end))

    def _drop(self, ignore: Ignore) -> None:
        limit = ignore.max_number
        if limit is not None and not any(token.number and token.number <= limit for token in self._tokens):
            return
        if not contains_any(self._text, ignore.needs):
            return
        hits = [at for match in ignore.pattern.finditer(self._text) for at in self._within(*match.span("t"))]
        self._silence([at for at in hits if limit is None or (self._tokens[at].number or 0) <= limit])

    def _block(self, block: Block) -> Iterator[_Finding]:
        if not contains_any(self._text, block.needs):
            return
        silent: list[int] = []
        floor = 0
        while header := block.header.search(self._text, floor):
            place = floor = header.end() + 1
            while (end := self._line_end(place)) and (
                block.line.match(self._text, place, end) or (place == floor and end == place + 1)
            ):
                if match := block.target.match(self._text, place, end):
                    token = self._tokens[self._within(*match.span("t"))[0]]
                    yield _Finding(token, block.relation, block.id, inverse=False)
                silent += self._within(place, end)
                place = end
            floor = max(floor, place)
        self._silence(silent)

    def _line_end(self, start: int) -> int:
        """Just after the line that begins at ``start``; 0 at the end of the text."""
        if start >= len(self._text):
            return 0
        return (self._text.find("\n", start) + 1) or len(self._text)

    def _rule(self, rule: RelationRule) -> Iterator[_Finding]:
        for match in rule.pattern.finditer(self._text):
            before = self._text[max(0, match.start() - GUARD_WINDOW) : match.start()]
            if any(guard.search(before) for guard in rule.unless):
                continue
            for at in self._within(*match.span("t")):
                if at not in self._quoted:
                    yield _Finding(self._tokens[at], rule.relation, rule.id, rule.inverse)
            if rule.closes:
                self._quoted.update(self._within(*match.span()))


def _merge(findings: Iterator[_Finding], text: str, repo: str, number: int | None, book: Rulebook) -> list[Reference]:
    """One finding per relation, direction and target; no self references; no mention beside anything stronger."""
    kept: dict[tuple[object, ...], _Finding] = {}
    related: set[tuple[object, ...]] = set()
    for finding in findings:
        token = finding.token
        if token.number is not None and token.number == number and token.repo == repo:
            continue
        target = (token.repo.lower(), token.number, token.sha)
        if finding.relation != MENTIONS:
            related.add(target)
        kept.setdefault((target, finding.relation, finding.inverse), finding)
    stated = [f for (target, relation, _), f in kept.items() if relation != MENTIONS or target not in related]
    stated.sort(key=lambda f: (f.token.start, -book.relations[f.relation].rank))
    return [
        Reference(relation, token.repo, token.number, token.sha, _snippet(text, token), rule, inverse)
        for token, relation, rule, inverse in stated
    ]


def _snippet(text: str, token: _Token) -> str:
    start = max(0, token.start - SNIPPET_BEFORE)
    around = text[start : start + 2 * SNIPPET]
    return " ".join(around.split())[:SNIPPET].rstrip()
