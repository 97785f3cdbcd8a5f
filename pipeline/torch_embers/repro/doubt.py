"""Why a person must look before a run of an extracted script may count: what a report shows may be right.

An error may be right ("does not validate", "as it should"), a printed line an input, a sentence about something else. A
doubt costs a verdict; a wrong expectation costs trust. So every rule here is for abstaining.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from torch_embers.repro import rules
from torch_embers.repro.values import introduction, is_aside, telling, without_volatile

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch_embers.oracles.signature import Signature
    from torch_embers.repro.rules import Edit
    from torch_embers.repro.values import PrintedOutput, Values

_WORD = re.compile(r"[A-Za-z_]{2,60}")
_QUOTED = re.compile(
    r'^[ \t]{0,8}File "(?!.{0,200}(?:site|dist)-packages|.{0,200}/torch/)[^"\n]{1,200}", line \d{1,6}.{0,120}\n'
    r"[ \t]{1,12}(\S.{3,200})$",
    re.MULTILINE,
)
_TEST = re.compile(r"[ \t]{0,40}(?:assert[ (]|(?:self|torch\.testing|np\.testing|numpy\.testing)\.assert)")
_PACKAGE = re.compile(r"(?:site|dist)-packages/([A-Za-z_]\w{0,60})[/.]")
_CLASS = re.compile(r"\b[A-Z]\w{2,40}(?:Error|Exception)\b")
_DECIMAL = re.compile(r"\d\.\d")


@dataclass(frozen=True, slots=True)
class Claim:
    """What was read from a report, with what it was read from.

    Attributes:
        signature: the failure.
        where: output, check, code, prose or title.
        evidence: the words it was read from.
        values: what was printed.
        outputs: all that the report shows.
        code: the script as reported.
        title: of the item.
        errors: how many different errors the outputs show.
    """

    signature: Signature
    where: str
    evidence: str
    values: Values
    outputs: Sequence[PrintedOutput]
    code: str
    title: str
    errors: int


def doubt(claim: Claim) -> str:
    """Why this failure need not be what the report calls wrong; empty where the text is clear."""
    return _of_kind(claim) or _of_words_behind(claim)


def _of_words_behind(claim: Claim) -> str:
    """Doubts from what the report says below an output: that it is right, and wrong elsewhere."""
    own = rules.load().review
    if claim.where not in ("output", "code") and not claim.values.actual:
        return ""
    for shown in claim.outputs:
        if is_aside(shown):
            continue
        if own.right_behind.search(shown.after):
            return "words below the output say that something is right: it may be this output"
        placed = own.on_device.search(shown.after)
        if placed is not None and not own.on_device.search(claim.title):
            return f"words below the output say {placed[0].strip()!r}: the failure may be there alone"
    return ""


def _of_kind(claim: Claim) -> str:
    match claim.signature.kind:
        case "mismatch":
            return _of_value(claim)
        case "memory" | "slow":
            return "time and memory are not the reporter's here"
        case "hang":
            clear = claim.where == "title" and rules.load().review.hangs.search(claim.title)
            return "" if clear else "the title does not say that it hangs: it may only be slow"
        case "signal":
            return _of_signal(claim)
        case _ if claim.where == "check":
            return _of_check(claim)
        case _:
            return _of_title(claim) or (_of_output(claim) if claim.where == "output" else _of_words(claim))


def _is_right(claim: Claim) -> bool:
    return claim.where != "title" and bool(rules.load().review.is_right.search(claim.evidence[:400]))


def _of_signal(claim: Claim) -> str:
    """Doubts about a crash."""
    if _is_right(claim):
        return "the text says that it is right, or gone"
    if claim.where in ("prose", "code") and rules.load().review.no_failure.search(claim.evidence):
        return "the sentence that names the crash may mean another one, or none"
    return ""


def _of_title(claim: Claim) -> str:
    """Doubts about any error."""
    own = rules.load().review
    title = claim.title
    is_failure = bool(own.about_failure.search(title))
    if own.asks_for_error.search(title):
        return "the title asks for an error: the one that is shown may be right"
    if own.about_feature.search(title):
        return "the title asks for a feature: the error that is shown may be meant"
    if own.about_message.search(title):
        return "the title complains of the words of an error"
    named = _CLASS.findall(title)
    told = f"{claim.signature.type}: {claim.signature.message} {claim.evidence}"
    if named and not any(name in told for name in named):
        return f"the title names {named[0]}, the text shows {claim.signature.type}"
    if own.hangs.search(title):
        return "the title says that it hangs, the text shows an error: it may have been interrupted"
    if own.about_cost.search(title) and not is_failure:
        return "the title complains of time or memory, the text shows an error"
    if own.about_value.search(title) and not is_failure and claim.signature.kind != "assertion":
        return "the title complains of a value, the text shows an error"
    return ""


def _of_output(claim: Claim) -> str:
    """Doubts about an error of a traceback."""
    if claim.errors > 1:
        return f"the text shows {claim.errors} different errors"
    shown = [one for one in claim.outputs if not is_aside(one)]
    lines = {line.strip() for line in claim.code.split("\n")}
    quoted = {match[1].strip() for one in shown for match in _QUOTED.finditer(one.text[-20_000:])}
    if quoted and not quoted & lines:
        return "the traceback quotes no line of the script"
    ends = [found[-1] for one in shown if (found := _PACKAGE.findall(one.text[-20_000:]))]
    strange = {name for name in ends if name not in rules.load().review.libraries and name not in claim.code}
    if strange:
        return f"the traceback ends in {min(strange)}, which the script does not name"
    if not claim.signature.message and not quoted:
        return "the error has no message, and nothing ties it to the script"
    if any(rules.load().review.is_right.search(one.before[-200:]) for one in shown if not one.own):
        return "words beside the error say that it is right, or gone"
    headings = " ".join(introduction(one.before) for one in shown if not one.own and claim.signature.type in one.text)
    sides = {match[1].lower() for match in rules.load().review.other_side.finditer(headings)}
    if others := sorted(side for side in sides if side not in claim.title.lower()):
        return f"the error stands under words about {others[0]}, the title does not: it may be the right side"
    return ""


def _of_check(claim: Claim) -> str:
    """Doubts about an assertion or error that the script makes itself."""
    if rules.load().review.about_feature.search(claim.title):
        return "the title is a feature request or a question: the script need not show a failure"
    tests = sum(bool(_TEST.match(line)) for line in claim.code.split("\n"))
    return f"the script makes {tests} assertions" if tests > 1 else ""


def _of_words(claim: Claim) -> str:
    """Doubts about an error that a sentence or a comment names."""
    own = rules.load().review
    if _is_right(claim):
        return "the sentence that names the error says that it is right, or gone"
    if len(_WORD.findall(claim.signature.message)) < own.words:
        return "an error is named without its message"
    if claim.where == "code" and (several := _errors_of_comments(claim.code)) > 1:
        return f"comments of the script name {several} different errors"
    return ""


def _errors_of_comments(code: str) -> int:
    own = rules.load()
    comments = [line[line.find("#") :][: own.limits.line_chars] for line in code.split("\n") if "#" in line]
    return len({match[1] for text in comments if (match := own.exception.comment.search(text)) is not None})


def _of_value(claim: Claim) -> str:
    """Doubts about a wrong value."""
    own = rules.load()
    seen = claim.values
    wrong = without_volatile(seen.wrong)
    if not wrong:
        return "the wrong value is told in words alone"
    if any(own.values.old_form.search(line) for line in wrong):
        return "values are printed in the form of old releases"
    if not seen.is_certain:
        return "the text shows several outputs and does not say which is the script's"
    if seen.contrast and not seen.expected:
        return f"the output stands under words about {seen.contrast.lower()}: it may be the right side"
    if not seen.expected and not telling(wrong, claim.code, claim.title):
        return f"only {wrong[0]!r} and the like is shown: many programs print that"
    if 0 < seen.shown < _prints(claim.code):
        return "fewer lines are shown than the script prints: the wrong one may be missing"
    if not seen.expected and not own.review.about_value.search(claim.title):
        return "the title does not say that a value is wrong"
    return ""


def _prints(code: str) -> int:
    """Calls of ``print`` that a script makes whatever happens."""
    try:
        body = ast.parse(code).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return 0
    calls = [node.value for node in body if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)]
    return sum(isinstance(call.func, ast.Name) and call.func.id == "print" for call in calls)


def doubt_of_device(title: str, requires: Sequence[str]) -> str:
    """Why a script that runs on the CPU need not show what the title places elsewhere.

    Args:
        title: of the item.
        requires: what the completed script needs.
    """
    placed = rules.load().review.on_device.search(title)
    if placed is None or {"cuda", "mps"} & set(requires):
        return ""
    return f"the title says {placed[0].strip()!r}, the script runs on the CPU"


def doubt_of_edits(kind: str, actual: Sequence[str], edits: Sequence[Edit]) -> str:
    """Why the completed script may show other values than the reporter saw.

    Args:
        kind: of the expected failure.
        actual: lines that the reporter's run printed.
        edits: what was done to the script.
    """
    if kind != "mismatch":
        return ""
    changed = sorted({edit.action for edit in edits} & rules.load().review.changed)
    if changed:
        return f"the script was changed ({changed[0]}): its values may be others"
    if any(edit.action == "seed_added" for edit in edits) and any(_DECIMAL.search(line) for line in actual):
        return "its input is random: its values are others each time"
    return ""
