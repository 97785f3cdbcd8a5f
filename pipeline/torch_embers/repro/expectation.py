"""How a report says that it fails: the signature to look for in a run, and where in the text it was found.

What a program printed counts before comments in its code, those before sentences, and an exception or a signal before
words that are common in any report. Where none of this is found, nothing is claimed. Where it is found, but the text
does not say clearly that this is what is wrong, the expectation carries a doubt (``doubt.py``) and waits for a person.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Literal

from torch_embers.oracles.signature import (
    Family,
    Signature,
    any_matches,
    from_traceback,
    normalise,
    of_exception,
    parse,
)
from torch_embers.repro import rules
from torch_embers.repro.budget import spend
from torch_embers.repro.doubt import Claim, doubt
from torch_embers.repro.values import PrintedOutput, is_aside, prints_again, values, without_volatile

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence


Where = Literal["output", "check", "code", "prose", "title", ""]

_WORD = re.compile(r"[A-Za-z_]{2,60}")
_PLACE = re.compile(r" (?:at|in file|\() ?(?:PATH|\.\./|\S{1,80}\.(?:cpp|h|cu|py)\b)")
_LONGEST_EVIDENCE = 300
_TITLE = 400
_LAST_LINES = 12
"""Of an error output, in which the words of its error stand."""
_WRAPPED = 6_000
"""Characters at the end of an error output in which the compiler names what it wrapped."""
_KEPT = 128
"""Texts whose failures are kept: each candidate script of an item is held against the same outputs and sentences."""
_OF_ANOTHER_CLASS = 0.9
"""Share of words in common where the class of the exception differs."""


@dataclass(frozen=True, slots=True)
class Expectation:
    """The failure that a report tells of.

    Attributes:
        signature: any of its members counts; empty where the text does not say.
        where: kind of evidence: output, check (an assertion or error of the script itself), code (a comment in it),
            prose or title.
        evidence: the words it was read from, at most 300 characters.
        actual: lines that the reporter's run printed and that are wrong, as far as the text tells them from right ones.
        expected: lines that it should have printed.
        doubt: why a person must say what a run should show; empty where the text is clear.
    """

    signature: Family = ()
    where: Where = ""
    evidence: str = ""
    actual: tuple[str, ...] = ()
    expected: tuple[str, ...] = ()
    doubt: str = ""

    @property
    def kind(self) -> str:
        """Kind of the first signature; empty where there is none."""
        return self.signature[0].kind if self.signature else ""


def infer(outputs: Sequence[PrintedOutput], code: str, prose: str, title: str) -> Expectation:
    """Read the expected failure from a report.

    Args:
        outputs: what was printed, nearest to the script first.
        code: the script as reported, with its comments.
        prose: the text without code.
        title: of the item.
    """
    own = rules.load()
    spend(len(code))
    limit = own.limits.output_chars
    is_wanted = own.exception.wanted.search(title[:_TITLE]) is not None
    shown = values(outputs)
    failures = [one.text[-limit:] for one in outputs if not is_aside(one)]
    steps: list[tuple[Where, Found | None]] = [
        ("output", _first(map(_from_output, failures))),
        ("check", _from_check(code)),
        ("code", None if is_wanted else _from_comments(code[:limit])),
        ("output", _from_values(shown.actual, shown.expected)),
        ("prose", None if is_wanted else _from_sentence(prose[:limit], definite=True)),
        ("title", _from_sentence(title[:_TITLE], definite=True)),
        ("check", _from_assertion(code)),
        ("title", _from_sentence(title[:_TITLE], definite=False)),
        ("prose", _from_sentence(prose[:limit], definite=False)),
        ("code", _from_contradiction(code[:limit])),
        ("output", _from_prints(shown.actual)),
    ]
    for where, found in steps:
        if found is not None:
            signature, evidence = found
            claim = Claim(signature, where, evidence, shown, outputs, code, title[:_TITLE], _errors(failures))
            family = _family(signature, code)
            return Expectation(family, where, evidence[:_LONGEST_EVIDENCE], shown.wrong, shown.expected, doubt(claim))
    return Expectation((), "", "", shown.wrong, shown.expected, "the text does not say how it fails")


Found = tuple[Signature, str]


def _family(signature: Signature, code: str) -> Family:
    """With the same exception inside of another: the compiler wraps what it meets, and with what differs by release."""
    compiled = any(word in code for word in rules.load().exception.wrapping)
    if signature.kind != "exception" or not signature.type or not signature.message or not compiled:
        return (signature,)
    return signature, Signature("exception", "", f"{signature.type}: {signature.message}")


def _errors(failures: Sequence[str]) -> int:
    """How many different errors outputs show; one that another one's words contain is the same."""
    distinct: list[tuple[Signature, str]] = []
    for text in failures:
        found = _from_output(text)
        if found is None:
            continue
        end = " ".join(normalise(line) for line in text.strip().split("\n")[-_LAST_LINES:])
        if not any(found[0].message in other or one.message in end for one, other in distinct):
            distinct.append((found[0], end))
    return len(distinct)


def _first(found: Iterable[Found | None]) -> Found | None:
    return next((one for one in found if one is not None), None)


@lru_cache(maxsize=_KEPT)
def _from_output(text: str) -> Found | None:
    """A signal that ended the process, else the exception; slips such as a NameError are no report."""
    own = rules.load()
    exception = _exception(text)
    for symptom in own.symptoms:
        match = symptom.outputs.search(text) if symptom.outputs else None
        if match is None:
            continue
        words = match[0]
        if exception is not None and (
            symptom.signature not in own.prefer.definite or words.lower() in exception[1].lower()
        ):
            break
        return parse(symptom.signature), _around(text, match.start())
    return exception


def _exception(text: str) -> Found | None:
    own = rules.load()
    seen = unwrapped(from_traceback(text), text)
    if seen is not None and seen.type not in own.exception.unreported:
        return declared(seen), f"{seen.type}: {seen.message}"
    last = None
    for match in own.exception.line.finditer(text):
        short = match[1].rpartition(".")[2]
        if short not in own.exception.unreported and not short.endswith("Warning"):
            last = match
    if last is None:
        return None
    message = last[2] or _next_line(text, last.end())
    found = unwrapped(of_exception(last[1], message), text[last.start() :])
    return None if found is None else (declared(found), last[0])


def unwrapped(seen: Signature | None, text: str) -> Signature | None:
    """The error that the compiler wrapped, with the place of the outer one; ``seen`` itself where it wraps none.

    Args:
        seen: what ended the program.
        text: its error output.
    """
    match = None
    for found in rules.load().exception.inner.finditer(text[-_WRAPPED:] if seen is not None else ""):
        match = found
    if seen is None or match is None or seen.type in (match[1], match[3]):
        return seen
    within = of_exception(match[1] or match[3], match[2] or match[4] or "", seen.place)
    return within if within.message else seen


def _next_line(text: str, place: int) -> str:
    """The line behind an exception without a message on its own line, unless it is what torch adds to all of them."""
    line = text[place : place + _LONGEST_EVIDENCE].partition("\n")[2].partition("\n")[0].strip()
    return "" if line.startswith(("from user code", "Set TORCH", "The above", "During", "File ")) else line


def declared(seen: Signature) -> Signature:
    """A signature to look for: the beginning of the message, without the place in the source it names."""
    message = _PLACE.split(seen.message, maxsplit=1)[0]
    words = message.split(" ")[: rules.load().exception.words]
    return Signature(seen.kind, seen.type, " ".join(words).strip(" ,;:("), seen.place)


def _around(text: str, place: int) -> str:
    start = text.rfind("\n", 0, place) + 1
    end = text.find("\n", place)
    return text[max(start, place - 150) : end if end >= 0 else len(text)].strip()


def _comments(code: str) -> Iterator[str]:
    """What stands behind the first ``#`` of each line, as far as patterns see it."""
    longest = rules.load().limits.line_chars
    return (line[place : place + longest] for line in code.split("\n") if (place := line.find("#")) >= 0)


def _from_comments(code: str) -> Found | None:
    """``# RuntimeError: ...``, ``# segfault`` and the like behind a line of code."""
    own = rules.load()
    for comment in _comments(code):
        match = own.exception.comment.search(comment)
        if match and match[1] not in own.exception.slips:
            return declared(of_exception(match[1], match[2] or "")), comment
        for symptom in own.symptoms:
            if symptom.signature in own.prefer.definite and symptom.words.search(comment):
                return parse(symptom.signature), comment
    return None


def _from_contradiction(code: str) -> Found | None:
    """``# expected 4 here``: a comment that contradicts the line it stands behind."""
    contradiction = rules.load().values.contradiction
    return next(((Signature("mismatch"), text) for text in _comments(code) if contradiction.search(text)), None)


def _from_values(actual: Sequence[str], expected: Sequence[str]) -> Found | None:
    """Printed values beside those that should have been printed."""
    if expected and actual:
        return Signature("mismatch"), f"expected {expected[0][:120]}, got {actual[0][:120]}"
    return None


def _from_prints(actual: Sequence[str]) -> Found | None:
    """The last resort: what the reporter's run printed; a run that prints it again behaves as reported."""
    return (Signature("mismatch"), f"prints {actual[0]}") if actual else None


@lru_cache(maxsize=_KEPT)
def _from_sentence(text: str, *, definite: bool) -> Found | None:
    own = rules.load()
    if definite:
        for found in own.exception.prose.finditer(text):
            around = _around(text, found.start())
            if found[1] in own.exception.unreported or own.exception.wanted.search(around[: own.limits.line_chars]):
                continue
            return declared(of_exception(found[1], found[2] or "")), around
    for symptom in own.symptoms:
        if (symptom.signature in own.prefer.definite) is definite:
            match = symptom.words.search(text)
            if match:
                return parse(symptom.signature), _around(text, match.start())
    return None


def _from_check(code: str) -> Found | None:
    """An error that the script raises itself when it finds the fault: ``if bad: raise AssertionError("...")``."""
    own = rules.load()
    if "raise " not in code:
        return None
    raised = [node.exc for node in ast.walk(_guarded(code)) if isinstance(node, ast.Raise)]
    checks = [call for call in raised if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.args]
    if len(checks) != 1:
        return None
    [check] = checks
    message = _literal(check.args[0])
    if len(_WORD.findall(message)) < own.review.words or not isinstance(check.func, ast.Name):
        return None
    return declared(of_exception(check.func.id, message)), f"raise {check.func.id}: {message}"


def _guarded(code: str) -> ast.Module:
    """The statements that a script runs by itself, without its functions and classes."""
    try:
        tree = ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ast.Module(body=[], type_ignores=[])
    kept = [node for node in tree.body if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)]
    return ast.Module(body=kept, type_ignores=[])


def _literal(node: ast.expr) -> str:
    """The beginning of a text, up to the first value in it."""
    match node:
        case ast.Constant(value=str(text)):
            return text
        case ast.JoinedStr(values=[ast.Constant(value=str(text)), *_]):
            return text
        case _:
            return ""


_TESTERS = {
    "torch.testing.assert": "are not",
    "self.assert": "not",
    "np.testing.assert": "not equal",
    "numpy.testing.assert": "not equal",
}
"""Beginnings of calls that compare, and words that all their messages have."""


def _from_assertion(code: str) -> Found | None:
    for line in code.split("\n"):
        tested = next((words for start, words in _TESTERS.items() if line.lstrip().startswith(start)), None)
        if tested is not None:
            return Signature("assertion", "AssertionError", tested), line.strip()
        if line.startswith(("assert ", "assert(")):  # those within functions check arguments
            return Signature("assertion", "AssertionError"), line.strip()
    return None


# --- held against a run -------------------------------------------------------------------------------------------


def shows(expectation: Expectation, seen: Signature | None, printed: str) -> bool | None:
    """Whether a run shows the reported failure.

    Args:
        expectation: of the report.
        seen: signature of the run; None where it ended by itself.
        printed: its standard output.

    Returns:
        None where the report gives nothing that a run could be held against.
    """
    if not expectation.signature:
        return None
    if seen is not None:
        if seen.kind == "assertion" and not expectation.signature[0].message and not _OWN_FRAME.search(seen.place):
            return False  # an assertion without words counts where the script makes it, not within torch
        return any_matches(expectation.signature, seen) or any(_alike(own, seen) for own in expectation.signature)
    if expectation.kind != "mismatch":
        return None if expectation.kind == "slow" else False
    wrong = without_volatile(expectation.actual)
    return prints_again(printed, wrong) if wrong else None


_OWN_FRAME = re.compile(r"(?:^|-)x\d{1,9}\.py:|^<(?:stdin|string|ipython)")


def _alike(own: Signature, seen: Signature) -> bool:
    """The same words of an exception: releases reword messages, and change a class while they keep the message."""
    if own.kind != seen.kind or not own.message:
        return False
    wanted = {word.lower() for word in _WORD.findall(own.message)}
    shared = {word.lower() for word in _WORD.findall(seen.message)}
    needed = rules.load().exception.likeness if own.type == seen.type else _OF_ANOTHER_CLASS
    return len(wanted) > 1 and len(wanted & shared) >= needed * len(wanted)
