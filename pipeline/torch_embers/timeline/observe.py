"""From the end of a run to an observation. Pure: the kernel's word decides, and the last traceback of what it printed.

Nothing that a script prints on its standard output changes how its end is read.
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Literal, NamedTuple

from pydantic import Field

from torch_embers.signature import of_exception, signal_name
from torch_embers.timeline.model import Observation
from torch_embers.toml_models import Entry, Explained, load

if TYPE_CHECKING:
    from torch_embers.sandbox.runner import RunResult

FILE = "timeline.toml"
ENDED = {
    "output": "it prints more than the sandbox takes",
    "disk": "it writes more than the sandbox takes",
    "processes": "it starts more processes than the sandbox allows",
}
"""Limits of the sandbox that no report is about."""
_HEADER = re.compile(r"^[ +|]{0,40}Traceback \(most recent call last\):\n", re.MULTILINE)
_ASIDE = re.compile(
    r"^(?:Exception ignored in|Exception in thread|Error in atexit)[^\n]*\nTraceback \(most recent call last\):\n"
    r"(?:[ \t][^\n]*\n)*[^\n]*\n?",
    re.MULTILINE,
)
"""The traceback of a thread or of a destructor: it does not end the script, and may stand behind the one that does."""
_FRAME = re.compile(r'^  File "([^"\n]{1,400})", line \d{1,9}(?:, in ([^\n]{1,200}))?$', re.MULTILINE)
_RAISED = re.compile(r"^((?:[A-Za-z_]\w{0,80}\.){0,12}[A-Za-z_]\w{0,80})(?:: ?(.*))?$")
_TORCH = re.compile(
    r"(?:.*/(?:site|dist)-packages/|(?!.*-packages/)(?:.*/)?)((?:torch|functorch|torchgen)/[^\n]+\.py)$"
)
_THROWN = re.compile(r"^terminate called [^\n]{1,200}\n(?:  what\(\):  ([^\n]{0,2000}))?", re.MULTILINE)
_SPECIAL = re.compile(r"__\w+__")


class RunLimits(Explained):
    """``[limits]`` of ``data/timeline.toml``: seconds, bytes, characters, threads."""

    timeout: float = Field(gt=0)
    compile_timeout: float = Field(gt=0)
    compiles: re.Pattern[str]
    memory: int = Field(gt=0)
    printed: int = Field(gt=0)
    message: int = Field(gt=0)
    least_threads: int = Field(gt=0)
    passing: frozenset[str]


class EndingRule(Entry):
    """What an exception says about the build or the machine rather than about the behaviour of torch."""

    ending: Literal["lacks_api", "cannot_run"]
    types: tuple[str, ...] = ()
    """Classes without their module; any where there are none."""
    message: re.Pattern[str] = re.compile("")
    by_script: bool = False
    """Only where the script's own lines raise it, not where torch does inside."""
    what: str
    reason: str = Field(min_length=1)


class _File(Entry):
    limits: RunLimits
    rules: tuple[EndingRule, ...]


class Raised(NamedTuple):
    """The exception that ended a script.

    Attributes:
        type: its class without module.
        frame: the last one inside torch.
        by_script: whether the script's own lines raised it.
    """

    type: str
    message: str
    frame: str
    by_script: bool


@cache
def _file() -> _File:
    return load(_File, FILE)


def limits() -> RunLimits:
    """The numbers of the file.

    Raises:
        InputError: it is missing or an entry is wrong.
    """
    return _file().limits


def observe(run: RunResult, code: str) -> Observation:
    """How a run of a script ended.

    Args:
        run: as the sandbox gives it.
        code: the script, which tells its own classes and functions from those of torch.
    """
    printed = _end(run.stdout)
    if run.ended == "timeout":
        return Observation("timeout", printed=printed)
    if run.ended == "memory":
        return Observation("out_of_memory", printed=printed)
    if run.ended not in ("exited", "signalled"):
        return Observation("cannot_run", ENDED.get(run.ended, run.detail), printed=printed)
    if run.signal is not None:
        thrown = _THROWN.search(run.stderr)
        return Observation("signal", signal_name(run.signal), (thrown and thrown[1]) or "", printed=printed)
    if run.exit_code == 0:
        return Observation("ok", printed=printed)
    raised = last_exception(run.stderr) if run.exit_code == 1 else None
    if raised is None:
        return Observation("exit", str(run.exit_code), printed=printed)
    for rule in _file().rules:
        if what := _fits(rule, raised, code):
            return Observation(rule.ending, what, raised.message, raised.frame, printed)
    is_memory = of_exception(raised.type, raised.message).kind == "memory"
    return Observation("out_of_memory" if is_memory else "exception", *raised[:3], printed)


def last_exception(text: str) -> Raised | None:
    """The exception of the last traceback in an error output; of a chain that is the outermost one."""
    text = _ASIDE.sub("", text)
    headers = list(_HEADER.finditer(text))
    start = headers[-1] if headers else _FRAME.search(text)  # a script that cannot be read has no traceback
    if start is None:
        return None
    lines = text[start.end() :].splitlines()
    for place, line in enumerate(lines):
        found = None if line.startswith((" ", "\t")) else _RAISED.match(line)
        if found is None:
            continue
        message = "\n".join([found[2] or "", *lines[place + 1 :]])
        frames = _FRAME.findall("\n".join(lines[:place]))
        inside = [(path[1], function) for name, function in frames if (path := _TORCH.match(name))]
        frame = ":".join(inside[-1]) if inside else ""
        last_is_torch = bool(frames) and _TORCH.match(frames[-1][0]) is not None
        by_script = not last_is_torch or frames[-1][1] in limits().passing
        return Raised(found[1].rpartition(".")[2], message.strip()[: limits().message], frame, by_script)
    return None


def _fits(rule: EndingRule, raised: Raised, code: str) -> str:
    """What is missing, where the rule fits; else empty."""
    if (rule.types and raised.type not in rule.types) or (rule.by_script and not raised.by_script):
        return ""
    found = rule.message.search(raised.message)
    if found is None or (rule.ending == "lacks_api" and _defines(code, found[1] or "")):
        return ""
    return found.expand(rule.what)


def _defines(code: str, name: str) -> bool:
    """Whether the script itself defines a class or function of this name, or of a part of it."""
    parts = name.split(".")
    own = [part for part in parts if not _SPECIAL.fullmatch(part)] or parts
    return any(re.search(rf"\b(?:class|def)\s+{re.escape(part)}\b", code) for part in own)


def _end(text: str) -> str:
    """The end of an output, whole lines of it."""
    most = limits().printed
    if len(text) <= most:
        return text
    cut = text[-most:]
    return cut.partition("\n")[2] or cut
