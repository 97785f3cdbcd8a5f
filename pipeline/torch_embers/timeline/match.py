"""What a run of a script showed, looked for in the text of its report: as reported, as expected, or neither.

Only what was observed is looked for. A run that raises is looked for by its exception, one that dies by its signal, one
that does not end by the words of the title, one that ends by what it printed.
"""

from __future__ import annotations

import re
from dataclasses import replace
from difflib import SequenceMatcher
from typing import TYPE_CHECKING, NamedTuple

from torch_embers.timeline.behaviour import (
    CONSTANT,
    DECIMAL,
    ERROR,
    INTEGER,
    Token,
    alike,
    last_unit,
    plain,
    short_class,
    tokens,
    words,
)  # fmt: skip
from torch_embers.timeline.model import GAPS, Observation
from torch_embers.timeline.passages import Passage, Side, passages, pattern, rules

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from torch_embers.extract.script import ReportText
    from torch_embers.timeline.model import Match, Segment

LEAST_WORDS = 4
"""Words in a row that a message of the report shares with the observed one; all of a shorter message."""
_FEW_WORDS = 3
"""A message with fewer words says nothing unless it is the whole one."""
_SHARED = 0.6
"""Share of the words of the shorter message that both have, in order."""
_WORDS_COMPARED = 60
_TRIVIAL = frozenset({"True", "False", "None", "nan", "-nan", "inf", "-inf"})
_DOUBLE = 1e-12
"""Relative difference of two doubles that are printed to their last digit."""
_EXACT_DIGITS = 5
"""Digits of a single number that no other run prints by chance."""
_MOST_RUNS, _MOST_TOKENS, _MOST_ITEMS, _MOST_STEPS = 8, 20_000, 60, 2_000_000
_CLASS = re.compile(r"^([A-Za-z_][\w.]{0,120}(?:Error|Exception|Unsupported)): ", re.MULTILINE)
_NAME = re.compile(r"'([A-Za-z_][\w.]*)'")
_TENSOR = re.compile(r"(?<![\w.])tensor\(")
_UNPRINTED = re.compile(
    r"Warning\b|^\s*\$ |^\s*File \"|^\s*(?:~+\s*)?\^|^\[?(?:rank\d+|[WEIV]\d{4})\b|^\s*at /|^\S+\.(?:py|cpp|cu|h):\d+"
)


class Found(NamedTuple):
    """Something observed that stands in the report: on which side, and what and where in words."""

    side: Side
    evidence: str


def matched(
    found: Sequence[Segment], by_version: Mapping[str, Sequence[Observation]], text: ReportText
) -> list[Segment]:
    """Say of each segment that is no gap whether it is as the report says.

    Args:
        found: the segments of a timeline.
        by_version: the runs on each release; those on both ends of a segment are looked for.
        text: of the report.
    """
    said = passages(text)
    made = []
    for segment in found:
        if segment.ending in GAPS:
            made.append(segment)
            continue
        match, evidence = _of_runs(by_version[segment.versions[-1]], said)
        # alike within the tolerance of the segment may be no match within that of the report
        if match != "other" and _of_runs(by_version[segment.versions[0]], said)[0] != match:
            match, evidence = "other", ""
        if match == "other" and (quoted := _quoted_error(said)) not in ("", segment.what):
            evidence = f"the report quotes {quoted}"
        made.append(replace(segment, match=match, evidence=evidence))
    return made


def _quoted_error(said: Sequence[Passage]) -> str:
    """The class of the last error in the outputs that the report shows; empty where there is none."""
    outputs = [
        one.text for one in said if (one.kind, one.side, one.where) == ("output", "reported", "an output in the body")
    ]
    names = [found[1] for text in outputs for found in _CLASS.finditer(text)]
    return short_class(names[-1]) if names else ""


def _of_runs(seen: Sequence[Observation], said: Sequence[Passage]) -> tuple[Match, str]:
    """What the runs of a release are for the report: one that does as reported decides."""
    runs = dict.fromkeys(replace(run, seed=0, frame="", threads=1) for run in seen if run.ending not in GAPS)
    each = [_of_run(run, said) for run in list(runs)[:_MOST_RUNS]]
    return min(each, key=lambda one: ("as_reported", "as_expected", "other").index(one[0]))


def with_quoted_errors(
    by_version: Mapping[str, Sequence[Observation]], text: ReportText
) -> dict[str, list[Observation]]:
    """The runs, where a name that the build has not is an exception if the report quotes that very error."""
    missing = {run.message for runs in by_version.values() for run in runs if run.ending == "lacks_api"}
    said = passages(text) if missing else []
    quoted = {message: _missing_class(message) for message in missing}
    is_quoted = {message for message, name in quoted.items() if name and _errors(name, message, said)}
    return {
        version: [
            replace(run, ending="exception", what=quoted[run.message])
            if run.ending == "lacks_api" and run.message in is_quoted
            else run
            for run in runs
        ]
        for version, runs in by_version.items()
    }


def _missing_class(message: str) -> str:
    """The class of the exception that Python raises for a name that is not there; empty for another message."""
    if "No module named" in message:
        return "ModuleNotFoundError"
    if "cannot import name" in message:
        return "ImportError"
    return "AttributeError" if "has no attribute" in message else ""


def _of_run(run: Observation, said: Sequence[Passage]) -> tuple[Match, str]:
    """What one run is for the report, and the evidence."""
    match run.ending:
        case "exception":
            found = _errors(run.what, run.message, said)
            if pattern(rules().errors.silent).search(said[0].text):  # the title
                found = [one for one in found if one.side != "reported"]
            return _decided(found)
        case "signal":
            return _decided(_signals(run.what, said))
        case "timeout" | "out_of_memory":
            title = [one for one in said if one.where == "title"]
            return _decided(_named(rules().endings[run.ending], title if run.ending == "timeout" else said))
        case _:
            return _of_prints(run, said)


def _decided(found: Sequence[Found]) -> tuple[Match, str]:
    """The match that evidence gives; what stands on both sides decides nothing."""
    sides = {one.side for one in found} - {"neither"}
    if len(sides) != 1:
        return "other", ""
    first = next(one for one in found if one.side in sides)
    return ("as_reported" if first.side == "reported" else "as_expected"), first.evidence


# ---- exceptions --------------------------------------------------------------------------------------------------


def _errors(name: str, message: str, said: Sequence[Passage]) -> list[Found]:
    """Where the report has an exception: its class and enough words of its message, or those of the one inside it."""
    for one, its_message in _with_inner(name, message):
        found = [hit for passage in said for hit in _error_in(one, its_message, passage)]
        if found:
            return sorted(found, key=lambda hit: "differs" in hit.evidence)
    return []


def _with_inner(name: str, message: str) -> Iterator[tuple[str, str]]:
    yield short_class(name), message
    for found in pattern(rules().errors.inner).finditer(message[:4000]):
        yield short_class(found[1] or found[3]), found[2] or found[4]


def _error_in(name: str, message: str, passage: Passage) -> Iterator[Found]:
    ours = words(message)[:_WORDS_COMPARED]
    for place in re.finditer(rf"\b{re.escape(name)}\b[:(`'\"\s]{{0,6}}", passage.text[:200_000]):
        rest = passage.text[place.end() : place.end() + len(message) + 400]
        theirs = words(rest.partition("\n\n")[0])[: len(ours) + 30]
        line = words(rest.partition("\n")[0])
        is_header = rest.lstrip().startswith("Traceback (most recent call last)")
        compared = line or theirs
        blocks = SequenceMatcher(None, ours, compared, autojunk=False).get_matching_blocks()
        shared, longest = sum(block.size for block in blocks), max(block.size for block in blocks)
        shorter = max(min(len(ours), len(compared)), 1)
        names, of_report = (set(_NAME.findall(one)) for one in (message.partition("\n")[0], rest.partition("\n")[0]))
        if names and of_report and names.isdisjoint(of_report - {"torch", "Tensor"}):  # the same of another name
            continue
        if is_header or longest < min(LEAST_WORDS, shorter) or shared < _SHARED * shorter:
            continue
        if shorter < _FEW_WORDS and line[: len(ours)] != ours:
            continue
        is_whole = theirs[: len(ours)] == ours and len(line) <= len(ours)
        reported = " ".join(rest.partition("\n")[0].split())[:160]
        differs = "" if is_whole else f"; the message differs: the report has '{reported}'"
        evidence = f"{name} and {shared} of {len(ours)} words of its message: {passage.where}{differs}"
        yield Found(passage.side, evidence)


# ---- signals and endings --------------------------------------------------------------------------------------------


def _signals(name: str, said: Sequence[Passage]) -> list[Found]:
    names = rules().signals
    said = [one for one in said if not one.among_several]
    return [one for one in _named(f"{names.get(name, re.escape(name))}|{names['any']}", said) if one.side == "reported"]


def _named(names: str, said: Sequence[Passage]) -> list[Found]:
    hits = ((passage, pattern(names).search(passage.text)) for passage in said)
    return [Found(passage.side, f"'{hit[0]}': {passage.where}") for passage, hit in hits if hit]


# ---- printed values --------------------------------------------------------------------------------------------------


class _Printed:
    """What a run printed, ready to be searched.

    A comparison of a report's number with a printed one is never looser than the digits that both print.
    """

    def __init__(self, printed: str) -> None:
        self._tokens = tokens(printed)[-_MOST_TOKENS:]
        self._steps = _MOST_STEPS

    def has(self, wanted: Sequence[Token]) -> bool:
        """Whether these words and values were printed one behind the other."""
        own = self._tokens
        for start in range(len(own) - len(wanted) + 1):
            length = 0
            while length < len(wanted) and _equal(wanted[length], own[start + length]):
                length += 1
            self._steps -= length + 1
            if length == len(wanted):
                return True
            if self._steps < 0:
                return False
        return False


def _equal(one: Token, other: Token) -> bool:
    if one.kind != other.kind or one.kind != DECIMAL:
        return one.kind == other.kind and one.text == other.text
    x, y = float(one.text), float(other.text)
    bound = max(1.01 * last_unit(one, other), _DOUBLE * abs(x))
    return x == y or (bool(x) == bool(y) and alike(one, other) and abs(x - y) <= bound)


class _Item(NamedTuple):
    """A line of an output, or a tensor of it."""

    tokens: tuple[Token, ...]
    is_tensor: bool

    @property
    def values(self) -> list[str]:
        return [token.text for token in self.tokens if token.kind in (INTEGER, DECIMAL, CONSTANT)]

    @property
    def telling(self) -> set[str]:
        """The values that not every second run prints."""
        return {token.text for token in self.tokens if not _is_trivial(token)}


def _is_trivial(token: Token) -> bool:
    if token.kind in (INTEGER, DECIMAL):
        return abs(float(token.text)) in (0, 1)
    return token.kind != CONSTANT or token.text in _TRIVIAL


def _of_prints(run: Observation, said: Sequence[Passage]) -> tuple[Match, str]:
    printed = _Printed(run.printed)
    hits: dict[Side, list[Found]] = {"reported": [], "expected": []}
    missed = 0
    own_errors = [hit for name, message in _with_inner("", run.printed) if name for hit in _errors(name, message, said)]
    # what the script prints before the error, crash or hang that is reported says nothing where that is gone
    ends_in = "|".join((rules().errors.traceback, *rules().signals.values()))
    is_cut = bool(_named(f"{ends_in}|{rules().endings['timeout']}", said[:1]))
    for passage in said:
        if passage.side == "neither":
            continue
        is_body = passage.side == "reported" and passage.where.endswith("body")
        if passage.kind == "output" and pattern(ends_in).search(passage.text):
            is_cut |= is_body and not own_errors
            continue
        if passage.label:
            is_printed = all(printed.has(tokens(label)) for label in passage.label.split("\n") if tokens(label))
            if is_printed is passage.label.endswith("\n"):  # the script itself prints the label, or it does not
                continue
        items = _items(passage)
        if all(printed.has(item.tokens) for item in items):
            if items and _tells(items, passage.side):
                hits[passage.side].append(Found(passage.side, f"{_quoted(items)}: {passage.where}"))
        elif is_body:
            missed += any(item.values for item in items) or (passage.kind == "output" and _tells(items, passage.side))
    reported = [] if is_cut else hits["reported"]
    if not missed:
        reported = [one for one in own_errors if one.side == "reported"] + reported
    if len(reported) > missed:
        return "as_reported", reported[0].evidence
    if hits["expected"] and not hits["reported"]:
        return "as_expected", hits["expected"][0].evidence
    return "other", ""


def _items(passage: Passage) -> list[_Item]:
    """What a run would print that does as the passage says."""
    text = plain(passage.text)
    tensors, rest = _tensors_and_rest(text)
    made = [_Item(tuple(tokens(one)), is_tensor=True) for one in tensors]
    if passage.kind == "output":
        lines = [line for line in rest.split("\n") if not _UNPRINTED.search(line)]
        found = [_Item(tuple(tokens(line)), is_tensor=False) for line in lines]
        made += [item for item in found if item.values or len(item.tokens) >= LEAST_WORDS]
    elif not made:
        quotes = [text]
        if passage.kind == "sentence":  # other numbers in a sentence are inputs and shapes
            speaks = passage.side == "expected" or pattern(rules().sides.result).search(text)
            quotes = re.findall(r"`([^`\n]+)`", text) if speaks else []
        found = [_Item(tuple(tokens(one)), is_tensor=False) for one in quotes]
        made += [
            item
            for item in found
            if (item.values and all(token.is_value for token in item.tokens))
            or (passage.kind == "comment" and len(item.tokens) >= LEAST_WORDS)
        ]
    with_values = [item for item in made if item.values]
    return (with_values or made)[:_MOST_ITEMS]


def _tells(items: Sequence[_Item], side: Side) -> bool:
    """Whether a run cannot print all this by chance.

    A script that prints that an error was raised, or was not, may do so on any side: its words show nothing expected.
    """
    telling = set().union(*(item.telling for item in items))
    if len(telling) > 1 or any(item.is_tensor and (len(item.values) > 1 or item.telling) for item in items):
        return True
    if any(sum(map(str.isdigit, value)) >= _EXACT_DIGITS for value in telling):
        return True
    worded = [item.tokens for item in items if sum(not token.is_value for token in item.tokens) >= LEAST_WORDS]
    return any(side != "expected" or not any(ERROR.search(token.text) for token in found) for found in worded)


def _tensors_and_rest(text: str) -> tuple[list[str], str]:
    """The tensors of a text, and its lines without them and the words before them, which are their labels."""
    tensors: list[str] = []
    rest: list[str] = []
    done = 0
    for found in _TENSOR.finditer(text):
        if found.start() < done:
            continue
        depth, end = 1, found.end()
        for mark in re.finditer(r"[()]", text[end : end + 100_000]):
            depth += 1 if mark[0] == "(" else -1
            if depth == 0:
                rest.append(text[done : text.rfind("\n", done, found.start()) + 1 or done])
                done = end + mark.end()
                tensors.append(text[found.start() : done])
                break
    return tensors, "".join((*rest, text[done:]))


def _quoted(items: Sequence[_Item]) -> str:
    shown = " ".join(token.text for token in items[0].tokens)
    return f"'{shown[:80]}'" + f" and {len(items) - 1} more" * (len(items) > 1)
