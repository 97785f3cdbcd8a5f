"""What a script does on one build, and whether it does the same on another.

Two runs behave equally where they end alike and print alike: integers, shapes, types, booleans, nan and inf are
compared exactly, decimals within the default tolerance of ``torch.testing.assert_close`` for the printed type and one
unit of the last printed digit. Addresses, paths, times, versions and names of autograd nodes are no behaviour. A number
that follows the seed is random and not compared; one that differs between runs with one seed makes the behaviour mixed.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from torch_embers.timeline.model import LOUD

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch_embers.timeline.model import Flip, Observation

WORD, INTEGER, DECIMAL, CONSTANT, BRACKET, RANDOM, VARIES = (
    "word", "integer", "decimal", "constant", "bracket", "random", "varies"
)  # fmt: skip
"""Kinds of tokens."""
RELATED = 0.5
"""Share of the words of the shorter of two messages that the longer one has, if they speak of one thing."""
_LONGEST = 4000
"""Characters of a message that are compared."""
_UNIT_FROM = 3
"""Digits behind the point from which the last one is taken for rounded; a number with fewer is printed exactly."""
_NUMBER = r"[0-9]{1,12}(?:\.[0-9]{1,15})?(?:[eE][-+]?[0-9]{1,2})?"
_PART = r"[\w.+@-]{1,100}"
_UNTOLD = [
    (re.compile(found, re.MULTILINE), instead)
    for instead, found in (
        # a note where a warning comes from, its file and line, the rank or the time of a line of a log
        ("", r"\(Triggered internally at[^()\n]{0,300}\)"),
        ("", r"^[^\s:]{1,300}:[0-9]{1,6}: (?=\w{0,40}Warning: )"),
        ("", r"^\[(?:rank[0-9]{1,4}\]:|[WEI][0-9]{4} [^\]\n]{0,200}\])"),
        # frames of C++, and advice
        ("", r"Exception raised from [^\n]{1,300} \(most recent call first\):(?s:.*)"),
        ("", r"^(?:frame #[0-9]|Set TORCH|You can suppress this exception|To fix this|from user code:).*$"),
        (" grad_fn ", r"\bgrad_fn=<[^<>\n]{0,100}>"),
        (" address ", r"\b(?:0x[0-9a-fA-F]{2,16}|[0-9a-f]{40})\b"),
        (" path ", rf"(?<![\w/.])(?:~|\.{{1,2}})?/{_PART}(?:/{_PART}){{1,40}}/?(?::[0-9]{{1,6}})?"),
        (" time ", r"\b[0-9]{4}-[0-9]{2}-[0-9]{2}(?:[ T][0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:[.,][0-9]{1,9})?)?)?\b"),
        (" time ", r"\b[0-9]{1,2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]{1,9})?\b"),
        (" time ", rf"\b{_NUMBER} ?(?:[numµ]?s|secs?|seconds?|minutes?)\b"),
        (" version ", r"\b[0-9]{1,4}\.[0-9]{1,4}\.[0-9]{1,6}(?:(?:a|b|rc|\.dev)[0-9]{1,10})?(?:\+[\w.]{1,40})?\b"),
    )
]
_TOKEN = re.compile(
    r"(?P<constant>(?:True|False|None|torch\.(?:u?int|float|bfloat|complex|bool|half|double|long|short)\w{0,12})\b"
    r"|(?<![\w.])[-+]?(?:nan|NaN|inf)\b)"
    r"|(?P<word>[^\W0-9]\w*(?:\.[^\W0-9]\w*)*)"
    r"|(?P<decimal>[-+]?(?:[0-9]+\.[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]{1,3})?|[-+]?[0-9]+[eE][-+]?[0-9]{1,3})"
    r"|(?P<integer>[-+]?[0-9]+)"
    r"|(?P<bracket>[\[\]])"
    r"|(?P<dots>\.{3})"
)
_TOLERANCES = {
    "torch.float16": (1e-3, 1e-5),
    "torch.bfloat16": (1.6e-2, 1e-5),
    "torch.float32": (1.3e-6, 1e-5),
    "torch.float64": (1e-7, 1e-7),
    "torch.complex32": (1e-3, 1e-5),
    "torch.complex64": (1.3e-6, 1e-5),
    "torch.complex128": (1e-7, 1e-7),
}
"""Relative and absolute, as torch.testing.assert_close has them."""
_FLOAT32 = "torch.float32"
ERROR = re.compile(r"(?:Error|Exception|Warning)$")
"""A word that names an error."""


class Token(NamedTuple):
    """A word or value of a printed text.

    Attributes:
        kind: one of the kinds above.
        text: as printed, without a plus sign.
        dtype: of the tensor that a number was printed in.
    """

    kind: str
    text: str
    dtype: str = _FLOAT32

    @property
    def is_value(self) -> bool:
        """Whether it is no word."""
        return self.kind != WORD


@dataclass(frozen=True, slots=True)
class Way:
    """One way in which runs of a script end on a build.

    Attributes:
        ending: as in an observation.
        what: as in an observation, of an exception the class without its module.
        message: the words of the message.
        printed: words and values; random and varying ones are marked as such.
        runs: how many ended so.
    """

    ending: str
    what: str
    message: tuple[str, ...]
    printed: tuple[Token, ...]
    runs: int

    @property
    def varies(self) -> bool:
        """Whether runs with one seed printed different values."""
        return any(token.kind == VARIES for token in self.printed)


@dataclass(frozen=True, slots=True)
class Behaviour:
    """What all runs of a script on one build show: the most frequent way first."""

    ways: tuple[Way, ...]

    @property
    def is_mixed(self) -> bool:
        """Whether runs on this build differ in more than random numbers."""
        return len(self.ways) > 1 or any(way.varies for way in self.ways)


def short_class(name: str) -> str:
    """The class of an exception without its module: modules move between releases."""
    return name.rpartition(".")[2]


def plain(text: str) -> str:
    """A text without what two equal runs may print otherwise: addresses, paths, times, versions, autograd nodes."""
    for pattern, instead in _UNTOLD:
        text = pattern.sub(instead, text)
    return text


def words(message: str) -> tuple[str, ...]:
    """The words of a message; all numbers are alike. The words of words are the words again."""
    found = _TOKEN.finditer(plain(message[:_LONGEST]))
    return tuple(
        "number" if match.lastgroup in (DECIMAL, INTEGER) else match[0].lower()
        for match in found
        if match.lastgroup != BRACKET
    )


def tokens(text: str) -> list[Token]:
    """The words and values of a printed text, in linear time."""
    made: list[Token] = []
    start: int | None = None
    for match in _TOKEN.finditer(plain(text)):
        kind, value = match.lastgroup or "", match[0].lstrip("+")
        if kind == CONSTANT and value == "NaN":
            value = "nan"
        if kind == WORD and value.rpartition(".")[2] == "tensor":
            start = len(made)
        if kind == CONSTANT and start is not None and made[-1].text == "dtype":
            made[start:] = [token._replace(dtype=value) for token in made[start:]]
            start = None
        made.append(Token(WORD if kind == "dots" else kind, value))
    return made


def alike(one: Token, other: Token) -> bool:
    """Whether two tokens are equal within the tolerance of what they were printed from."""
    if RANDOM in (one.kind, other.kind):  # its text has the kinds of what it stands for
        kinds, others = ({*token.text.split()} if token.kind == RANDOM else {token.kind} for token in (one, other))
        return not kinds.isdisjoint(others)
    if one.kind != other.kind:
        return False
    if one.kind != DECIMAL:
        return one.text == other.text
    x, y = float(one.text), float(other.text)
    if x == y:
        return True
    bounds = [_TOLERANCES.get(token.dtype, (0.0, 0.0)) for token in (one, other)]
    relative, absolute = max(bound[0] for bound in bounds), max(bound[1] for bound in bounds)
    return abs(x - y) <= absolute + relative * max(abs(x), abs(y)) + last_unit(one, other)


def last_unit(one: Token, other: Token) -> float:
    """One unit of the last printed digit of two decimals, the larger; 0 where both have so few that they are exact."""
    return max(_unit(one.text), _unit(other.text))


def _unit(number: str) -> float:
    digits, _, exponent = number.lower().partition("e")
    places = len(digits.partition(".")[2])
    return float(f"1e{int(exponent or 0) - places}") if places >= _UNIT_FROM else 0.0


def behaviour(runs: Sequence[Observation]) -> Behaviour:
    """What the runs of a script on one build show together.

    Args:
        runs: at least one; of two seeds, where random numbers shall be known.
    """
    groups: dict[tuple[str, str], list[Observation]] = {}
    for run in runs:
        what = short_class(run.what) if run.ending == "exception" else run.what
        groups.setdefault((run.ending, what), []).append(run)
    ways = [_way(ending, what, group) for (ending, what), group in groups.items()]
    return Behaviour(tuple(sorted(ways, key=lambda way: (-way.runs, way.ending, way.what))))


def _way(ending: str, what: str, runs: Sequence[Observation]) -> Way:
    # how much a run prints until it is stopped depends on the machine
    texts = {(run.seed, "" if ending in ("timeout", "out_of_memory") else run.printed) for run in runs}
    printed: dict[int, list[Token]] = {}
    for seed, text in sorted(texts):
        found = tokens(text)
        printed[seed] = _merged(printed[seed], found, VARIES) if seed in printed else found
    first, *others = printed.values()
    for other in others:
        first = _merged(first, other, RANDOM)
    messages = Counter(words(run.message) for run in runs)
    return Way(ending, what, max(messages, key=lambda one: (messages[one], one)), tuple(first), len(runs))


def _merged(one: list[Token], other: list[Token], kind: str) -> list[Token]:
    """Two prints as one, with ``kind`` where their values differ, or in the place of all where they differ in form."""
    if [t.text for t in one if not t.is_value] != [t.text for t in other if not t.is_value] or len(one) != len(other):
        return [Token(kind, "")]
    marked = {RANDOM, VARIES}
    return [
        x if x.kind in marked or alike(x, y) else y if y.kind in marked else Token(kind, f"{x.kind} {y.kind}")
        for x, y in zip(one, other, strict=True)
    ]


def kind_of_flip(one: Behaviour, other: Behaviour) -> Flip | None:
    """In what two behaviours differ, the most telling kind; None where they are equal.

    ``class``: another exception, by its class or by most of its message. ``value``: other printed values, or lines that
    share few words. ``wording``: only words of a message or line.
    """
    if {way.ending for way in one.ways} != {way.ending for way in other.ways}:
        return "ending"
    ours, theirs = ({(way.ending, way.what): way for way in side.ways} for side in (one, other))
    if ours.keys() != theirs.keys():
        return "class"
    pairs = [(way, theirs[key]) for key, way in ours.items()]
    if any(not _related(a.message, b.message) for a, b in pairs):
        return "class"
    if any(not _prints_alike(a.printed, b.printed) for a, b in pairs):
        return "value"
    same_words = all(a.message == b.message and _words(a.printed) == _words(b.printed) for a, b in pairs)
    return None if same_words else "wording"


def same(one: Behaviour, other: Behaviour) -> bool:
    """Whether two behaviours are equal."""
    return kind_of_flip(one, other) is None


def showing(runs: Sequence[Observation], bad: Sequence[Observation]) -> int:
    """How many runs do as those of ``bad``: crash or hang where one of these does, else do as the first of the seed."""
    first = {run.seed: run for run in reversed(bad)}
    loud = {run.ending for run in bad} & LOUD

    def shows(run: Observation) -> bool:
        if loud:
            return run.ending in loud
        other = first.get(run.seed, bad[0])
        return kind_of_flip(behaviour([run]), behaviour([other])) in (None, "wording")

    return sum(map(shows, runs))


def _prints_alike(one: Sequence[Token], other: Sequence[Token]) -> bool:
    values, others = ([token for token in side if token.is_value] for side in (one, other))
    if [Token(RANDOM, "")] in (values, others):  # all follows the seed
        return True
    if len(values) != len(others) or not all(map(alike, values, others)):
        return False
    ours, theirs = _words(one), _words(other)
    # other words of the script itself are another outcome; those of an error that it prints are torch's
    return ours == theirs or (any(ERROR.search(word) for word in (*ours, *theirs)) and _related(ours, theirs))


def _words(printed: Sequence[Token]) -> list[str]:
    return [token.text for token in printed if not token.is_value]


def _related(one: Sequence[str], other: Sequence[str]) -> bool:
    """Whether two lists of words speak of one thing."""
    ours, theirs = set(one), set(other)
    return not ours or not theirs or len(ours & theirs) >= RELATED * min(len(ours), len(theirs))
