"""Signatures: how a failure looks, in words that stay the same from run to run and from release to release.

A case declares the signature that counts; a run shows one or none. Comparing the two is what keeps a re-check from
taking another failure for the reported one. Heap damage flickers between a wrong value and a signal, so a declaration
is a family: any of its members counts.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

KINDS = ("exception", "signal", "assertion", "mismatch", "hang", "memory", "slow")
SIGNALS = {
    "SIGILL": 4,
    "SIGTRAP": 5,
    "SIGABRT": 6,
    "SIGBUS": 7,
    "SIGFPE": 8,
    "SIGKILL": 9,
    "SIGSEGV": 11,
    "SIGPIPE": 13,
    "SIGTERM": 15,
    "SIGSYS": 31,
}
"""Numbers on Linux x86-64 and arm64; SIGBUS and SIGSYS differ on macOS, see ``signal_name``."""
_MAC = {7: "SIGEMT", 10: "SIGBUS", 12: "SIGSYS"}

LONGEST_MESSAGE = 400
"""Characters of a message that are kept: enough to tell errors apart, too few to carry a tensor's print."""
_TAIL = 64_000
"""Characters of an output that are looked at, from its end."""

_EXCEPTION = re.compile(r"^((?:[A-Za-z_][A-Za-z0-9_]{0,60}\.){0,8}_?[A-Z][A-Za-z0-9_]{0,60})(?::[ \t](.{0,2000}).*)?$")
_TRACEBACK = re.compile(r"^[ \t+|]{0,40}Traceback \(most recent call last\):", re.MULTILINE)
_UNPARSED = re.compile(
    r'^  File "[^"\n]{1,400}", line \d{1,9}\n'
    r"(?:[ \t][^\n]{0,2000}\n){0,3}((?:Syntax|Indentation|Tab)Error): ([^\n]{0,2000})",
    re.MULTILINE,
)
"""What the interpreter says of a script that it cannot read: there was no call, so there is no traceback."""
_FRAME = re.compile(r'^  File "([^"\n]{1,400})", line \d{1,9}, in ([^\n]{1,120})$', re.MULTILINE)
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,80}")

_RULES = (
    (re.compile(r"(?<!\w)0x[0-9a-fA-F]{1,16}\b"), "0xADDR"),
    (re.compile(r"\b\d{1,20}(?:x\d{1,20}){1,8}\b"), "NxN"),
    (re.compile(r"(?:/+[\w.+@-]{1,100}){2,20}"), "PATH"),
    (re.compile(r"[A-Za-z0-9]:\\[^\s\"']{1,200}"), "PATH"),
    (re.compile(r"\b\d{1,40}(?:\.\d{1,40})?(?:[eE][+-]?\d{1,4})?\b"), "N"),
    (re.compile(r"\s{1,1000}"), " "),
)
_NOT_MESSAGE = ("Exception raised from", "frame #", "The above exception", "Traceback")
_MEMORY = (
    *("out of memory", "can't allocate memory", "cannot allocate memory", "not enough memory", "std::bad_alloc"),
    *("unable to allocate", "could not allocate", "failed to allocate", "invalid buffer size", "_alloc_failed"),
    "std::bad_array_new_length",
)
"""What PyTorch, NumPy, CUDA's libraries and the C++ library say where an allocation is refused."""


class SignatureError(ValueError):
    """A declared signature has no meaning."""


@dataclass(frozen=True)
class Signature:
    """One way to fail.

    Attributes:
        kind: one of ``KINDS``.
        type: exception class without its module, or signal name; empty matches any.
        message: normalised (part of the) message; empty matches any.
        place: top frame as ``file:function``, or an operator; told, not compared.
        size: largest difference of a mismatch; told, not compared.
    """

    kind: str
    type: str = ""
    message: str = ""
    place: str = ""
    size: float | None = None

    def __str__(self) -> str:
        """The declaration that would match it."""
        head = self.type or self.kind
        return f"{head}: {self.message}" if self.message else head


Family = tuple[Signature, ...]


def normalise(message: str) -> str:
    """A message without what changes from run to run: addresses, paths, numbers, white space."""
    found = message[: 4 * LONGEST_MESSAGE]
    for pattern, replacement in _RULES:
        found = pattern.sub(replacement, found)
    return found.strip()[:LONGEST_MESSAGE]


def parse(text: str) -> Signature:
    """Read one declared signature: a kind, a signal's name, an exception class, or ``Class: part of its message``.

    Raises:
        SignatureError: the text is none of these.
    """
    head, colon, message = text.strip().partition(":")
    head, message = head.strip(), message.strip()
    if head in SIGNALS:
        if colon:
            raise SignatureError(f"a signal has no message: {text!r}")
        return Signature("signal", head)
    if head in KINDS:
        return Signature(head, "", normalise(message))
    if _NAME.fullmatch(head) and head[0].isupper():
        return of_exception(head, message)
    raise SignatureError(
        f"{text[:80]!r} is no signature: use {', '.join(KINDS)}, a signal such as SIGSEGV, or an exception class"
    )


def parse_family(value: str | Sequence[str]) -> Family:
    """Read a declaration: one signature, or a list of alternatives.

    Raises:
        SignatureError: empty, or one of them has no meaning.
    """
    texts: Sequence[str] = [value] if isinstance(value, str) else value
    if (
        not isinstance(texts, (list, tuple))
        or not texts
        or not all(isinstance(text, str) and text.strip() for text in texts)
    ):
        raise SignatureError("a signature is a text or a list of texts")
    return tuple(parse(text) for text in texts)


def of_exception(name: str, message: str = "", place: str = "") -> Signature:
    """Signature of an exception by its class name: assertions and exhausted memory are kinds of their own."""
    short = name.rpartition(".")[2]
    said = normalise(message)
    if short == "AssertionError":
        return Signature("assertion", short, said, place)
    lowered = message.lower()
    if short.endswith("MemoryError") or any(words in lowered for words in _MEMORY):
        return Signature("memory", short, said, place)
    return Signature("exception", short, said, place)


def signal_name(number: int, platform: str = "linux") -> str:
    """Name of a signal by its number on a platform as ``sys.platform`` has it."""
    if platform == "darwin" and number in _MAC:
        return _MAC[number]
    return next((name for name, own in SIGNALS.items() if own == number), f"SIG{number}")


def matches(declared: Signature, seen: Signature) -> bool:
    """Whether what was seen is what was declared: same kind, and type and message where the declaration has them."""
    if declared.kind != seen.kind:
        return False
    if declared.type and declared.type != seen.type:
        return False
    return declared.message.lower() in seen.message.lower()


def any_matches(family: Iterable[Signature], seen: Signature | None) -> bool:
    """Whether any member of a family is what was seen."""
    return seen is not None and any(matches(declared, seen) for declared in family)


def from_traceback(text: str) -> Signature | None:
    """The exception that ended a program, from the last traceback of its error output.

    Args:
        text: error output; only its last 64,000 characters are looked at.

    Returns:
        None where no traceback ends in an exception.
    """
    tail = text[-_TAIL:]
    starts = [found.end() for found in _TRACEBACK.finditer(tail)]
    if not starts:
        unread = _UNPARSED.search(tail)
        return of_exception(unread[1], unread[2]) if unread else None
    lines = tail[starts[-1] :].splitlines()
    for place, line in enumerate(lines):
        if line.startswith((" ", "\t")) or not line.strip():
            continue
        found = _EXCEPTION.match(line)
        if found is None:
            continue
        frames = _FRAME.findall("\n".join(lines[:place]))
        top = f"{frames[-1][0].rpartition('/')[2]}:{frames[-1][1]}" if frames else ""
        return of_exception(found[1], _message(found[2] or "", lines[place + 1 :]), top)
    return None


def _message(first: str, rest: Sequence[str]) -> str:
    """A message with its further lines, up to what the interpreter or torch adds behind it."""
    kept = [first]
    for line in rest[:4]:
        if not line.strip() or line.startswith(_NOT_MESSAGE):
            break
        kept.append(line.strip())
    return " ".join(kept)
