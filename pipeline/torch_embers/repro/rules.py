"""``data/extraction.toml`` as objects: limits, reasons, patterns, packages, edit actions; compiled once.

The lists of reasons and of edit actions are closed: naming one that the file does not have is an error, so that tables
counted over them are complete.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from torch_embers import resources
from torch_embers.errors import InputError
from torch_embers.link.relations import unbounded

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

FILE = "extraction.toml"
VERSION = 1


@dataclass(frozen=True, slots=True)
class Edit:
    """One thing that was done to a script on its way from verbatim to runnable.

    Attributes:
        action: an ``[[action]]`` of data/extraction.toml.
        line: 1-based, in the script as it was just before this edit.
        before: what stood there; empty for an addition.
        after: what stands there now; empty for a removal.
        reason: why, in the words of the data file where the rule has its own.
    """

    action: str
    line: int
    before: str
    after: str
    reason: str


@dataclass(frozen=True, slots=True)
class Limits:
    """Numbers of ``[limits]``; what each is for stands there."""

    text_chars: int
    line_chars: int
    blocks: int
    comments: int
    block_chars: int
    script_chars: int
    script_lines: int
    output_chars: int
    repairs: int
    brackets: int
    chain: int
    story_chars: int
    item_chars: int


@dataclass(frozen=True, slots=True)
class LineRule:
    """Lines that tell the kind of a block."""

    kind: str
    sure: bool
    pattern: re.Pattern[str]


@dataclass(frozen=True, slots=True)
class Import:
    """How an undefined name is imported."""

    code: str
    when: str
    """attribute (used as ``name.x``), call (used as ``name(...)``), or empty (used at all)."""
    reason: str


@dataclass(frozen=True, slots=True)
class Default:
    """A value for an undefined name, or a present name for an old one."""

    value: str
    reason: str


@dataclass(frozen=True, slots=True)
class Package:
    """What is done with a script that imports a package."""

    do: str
    becomes: str


@dataclass(frozen=True, slots=True)
class Refusal:
    """Calls and modules that no run here can serve."""

    becomes: str
    calls: frozenset[str]
    modules: frozenset[str]
    unless: re.Pattern[str] | None


@dataclass(frozen=True, slots=True)
class Drift:
    """A function that was renamed or removed."""

    becomes: str
    drop: frozenset[str]
    swap: bool
    needs: str
    reason: str


@dataclass(frozen=True, slots=True)
class Symptom:
    """Words that tell how something failed."""

    signature: str
    outputs: re.Pattern[str] | None
    words: re.Pattern[str]


class Rules:
    """The compiled file; ``load()`` gives the shipped one."""

    def __init__(self, data: Mapping[str, Any]) -> None:
        """Compile the parsed TOML.

        Raises:
            InputError: another version, a missing key, an entry without a reason, a bad or unbounded pattern.
        """
        if data.get("version") != VERSION:
            raise InputError(f"{FILE}: version {data.get('version')!r} is not {VERSION}, the one this embers reads")
        try:
            self._read(data)
        except (KeyError, TypeError, AttributeError) as error:
            raise InputError(f"{FILE}: an entry lacks a key or has a value of another kind: {error}") from error

    def _read(self, data: Mapping[str, Any]) -> None:
        self.limits = Limits(**{name: int(value) for name, value in data["limits"].items()})
        self.reasons = {e["id"]: str(e["text"]) for e in _reasoned(data["reason"])}
        self.actions = {e["id"]: str(e["reason"]) for e in _reasoned(data["action"])}
        self.tags = {name: str(e["kind"]) for e in _reasoned(data["tag"]) for name in e["names"]}
        self.lines = [LineRule(e["kind"], e["sure"], pattern(e["pattern"])) for e in _reasoned(data["line"])]
        self.printed = frozenset(name for e in _reasoned(data["output"]) for name in e["names"])
        self.imports = {
            name: Import(e["code"].format(name=name), e.get("when", ""), e["reason"])
            for e in _reasoned(data["import"])
            for name in e["names"]
        }
        self.python2 = {e["name"]: Default(e["becomes"], e["reason"]) for e in _reasoned(data["python2"])}
        self.defaults = {
            name: Default(e["value"], e["reason"]) for e in _reasoned(data["default"]) for name in e["names"]
        }
        self.packages = {
            name: Package(e["do"], e.get("becomes", "external_package"))
            for e in _reasoned(data["package"])
            for name in e["names"]
        }
        self._read_code(data)
        self._read_words(data)
        for refusal in self.refusals:
            self.reason(refusal.becomes)

    def _read_code(self, data: Mapping[str, Any]) -> None:
        self.refusals = [
            Refusal(
                e["becomes"],
                frozenset(e["calls"]),
                frozenset(e["modules"]),
                pattern(e["unless"]) if "unless" in e else None,
            )
            for e in _reasoned(data["refuse"])
        ]
        self.readers = frozenset(data["readers"]["calls"])
        self.writers = frozenset(data["readers"]["writers"])
        self.debuggers = frozenset(data["debuggers"]["calls"])
        self.plots = frozenset(data["plots"]["roots"])
        self.random = frozenset(data["random"]["calls"])
        device = data["device"]
        self.device_title = pattern(device["title"])
        self.device_evidence = pattern(device["evidence"])
        self.needs_cuda = frozenset(device["needs_cuda"])
        self.harmless_cuda = frozenset(device["harmless"])
        self.other_devices = frozenset(device["others"])
        self.drift = {
            e["call"]: Drift(
                e.get("becomes", ""),
                frozenset(e.get("drop", ())),
                e.get("swap", False),
                e.get("needs", ""),
                e["reason"],
            )
            for e in _reasoned(data["drift"])
        }
        self.name_drift = {
            name: Default(e["becomes"], e["reason"]) for e in _reasoned(data["name_drift"]) for name in e["names"]
        }
        self.keyword_drift = {
            (call, e["keyword"]): str(e["reason"]) for e in _reasoned(data["keyword_drift"]) for call in e["calls"]
        }
        self.methods2 = {str(old): str(new) for old, new in data["methods2"].items()}

    def _read_words(self, data: Mapping[str, Any]) -> None:
        self.symptoms = [
            Symptom(e["signature"], pattern(e["outputs"], lines=True) if e["outputs"] else None, pattern(e["words"]))
            for e in _reasoned(data["symptom"])
        ]
        exception = data["exception"]
        self.exception_line = pattern(exception["line"], lines=True)
        self.exception_prose = pattern(exception["prose"])
        self.exception_wanted = pattern(exception["wanted"])
        self.exception_comment = pattern(exception["comment"])
        self.slips = frozenset(exception["slips"])
        self.warnings = frozenset(exception["warnings"])
        self.message_words = int(exception["words"])
        self.wrapping = tuple(exception["wrapping"])
        self.likeness = float(exception["likeness"])
        self.definite = frozenset(data["prefer"]["definite"])
        self.values = {
            key: pattern(data["values"][key], lines=True) for key in ("actual", "expected", "wish", "false", "nan")
        }
        self.prefer = {key: pattern(data["prefer"][key]) for key in ("more", "less", "reproduces", "installing")}

    def edit(self, action: str, line: int, before: str, after: str, reason: str = "") -> Edit:
        """Build an edit; the action's own reason stands where none is given.

        Raises:
            InputError: an action that the file does not list.
        """
        if action not in self.actions:
            raise InputError(f"{FILE}: no action is called {action!r}")
        return Edit(action, line, before, after, reason or self.actions[action])

    def reason(self, name: str) -> str:
        """Check that a reason is listed, and return its name.

        Raises:
            InputError: it is not.
        """
        if name not in self.reasons:
            raise InputError(f"{FILE}: no reason is called {name!r}")
        return name


def _reasoned(entries: Iterable[Mapping[str, Any]]) -> Iterable[Mapping[str, Any]]:
    for entry in entries:
        if not entry.get("reason"):
            raise InputError(f"{FILE}: an entry gives no reason: {dict(entry)!r}"[:300])
        yield entry


def pattern(text: str, *, lines: bool = False) -> re.Pattern[str]:
    """Compile a pattern of the file; with ``lines``, ``^`` and ``$`` stand at every line.

    Raises:
        InputError: no regular expression, or a repetition without an upper bound.
    """
    if unbounded(text):
        raise InputError(f"{FILE}: every repetition needs an upper bound: {text}")
    try:
        return re.compile(text, re.MULTILINE if lines else 0)
    except re.error as error:
        raise InputError(f"{FILE}: {error}: {text}") from error


@cache
def load() -> Rules:
    """Read and compile the shipped rules.

    Raises:
        InputError: the file is missing, or an entry is wrong.
    """
    return Rules(resources.load_toml(FILE))
