"""The consistency checks of a claim: entries of data/claims.toml, computed.

Each check says whether it holds and why, in words made from the numbers. One that ``decides`` shows that the printed
number itself is impossible; the others show two numbers that do not go together, without saying which is wrong.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from torch_embers.errors import InputError
from torch_embers.study.claims import consistency, formulas

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from torch_embers.study.claims.consistency import Printed
    from torch_embers.study.claims.definitions import Claim, PaperClaims

UP_TO = 100
"""Largest number of things that is tried where the paper states none: its own largest set in detail is 73 bugs."""


@dataclass(frozen=True, slots=True)
class CheckResult:
    """Whether a check holds, and why."""

    check: str
    holds: bool
    decides: bool
    text: str


def number(value: float) -> str:
    """A number in a sentence: no more digits than it needs, and years without a comma."""
    if value == int(value):
        return f"{value:,.0f}" if abs(value) >= 10_000 else f"{value:.0f}"
    return f"{value:.4g}" if abs(value) >= 0.001 else f"{value:.6f}".rstrip("0")


def _shown(value: Printed) -> str:
    text = f"{float(value.value):,.{value.decimals}f}"
    return f"{text} %"


def _grim(paper: PaperClaims, claim: Claim, entry: dict[str, Any]) -> tuple[bool, str]:
    n = entry["n"] if not isinstance(entry["n"], str) else int(paper.value(entry["n"]).value)
    fitting = consistency.counts(claim.printed, n)
    if fitting:
        return True, f"{' or '.join(map(str, fitting))} of {n} gives {_shown(claim.printed)}"
    near = consistency.neighbours(claim.printed, n)
    shares = " and ".join(f"{k} of {n} gives {100 * k / n:.{max(1, claim.printed.decimals)}f} %" for k in near)
    others = [str(w.n) for w in consistency.wholes([claim.printed], UP_TO)][:6]
    fits = f"; it fits n = {', '.join(others)}, ..." if others else ""
    return False, f"no count of {n} gives {_shown(claim.printed)}: {shares}{fits}"


def _percents(paper: PaperClaims, claim: Claim, entry: dict[str, Any]) -> list[Printed]:
    return [claim.printed, *(paper.value(other) for other in entry["with"])]


def _joint(paper: PaperClaims, claim: Claim, entry: dict[str, Any]) -> tuple[bool, str]:
    up_to = entry.get("up_to", UP_TO)
    wholes = consistency.wholes(_percents(paper, claim, entry), up_to)
    fits = [f"{', '.join(map(str, w.counts))} of {w.n}" for w in wholes[:4]] or [f"no n up to {up_to}"]
    together = f"with {', '.join(_shown(paper.value(o)) for o in entry['with'])} it fits {' or '.join(fits)}"
    stated = entry.get("n")
    if stated is None:
        return bool(wholes), together
    holds = stated in [w.n for w in wholes]
    return holds, f"{together}{'' if holds else f', not {stated}'}"


def _clash(paper: PaperClaims, claim: Claim, entry: dict[str, Any]) -> tuple[bool, str]:
    mine = {w.counts[0] for w in consistency.wholes(_percents(paper, claim, entry), UP_TO)}
    theirs = {w.n for w in consistency.wholes([paper.value(o) for o in entry["wholes_of"]], UP_TO)}
    ours, others = ("/".join(map(str, sorted(s))) or "none" for s in (mine, theirs))
    return bool(mine & theirs), f"{ours} {entry['what']} by these shares, {others} by the shares of their parts"


def _sum(paper: PaperClaims, claim: Claim, entry: dict[str, Any]) -> tuple[bool, str]:
    parts = [paper.value(part) for part in entry["parts"]]
    whole = paper.value(entry["to"]).value if "to" in entry else claim.printed.value
    total = float(sum(part.value for part in parts))
    holds = consistency.sums_to(parts, whole)
    terms = " + ".join(number(float(part.value)) for part in parts)
    return holds, f"{terms} = {number(round(total, 6))}{'' if holds else f', not {number(float(whole))}'}"


def _fits_into(paper: PaperClaims, claim: Claim, entry: dict[str, Any]) -> tuple[bool, str]:
    parts = [paper.value(part) for part in entry["parts"]]
    if "of" in entry:  # the count that the printed share of so many things is
        whole = Fraction(max(consistency.counts(claim.printed, entry["of"])))
    else:
        whole = paper.value(entry["whole"]).value
    holds = consistency.fits_into(parts, whole)
    total = float(sum(part.value for part in parts))
    terms = " + ".join(number(float(part.value)) for part in parts)
    terms = f"{terms} = {number(total)}" if len(parts) > 1 else terms
    what = entry.get("what", "there are")
    return holds, f"{terms} {'within' if holds else 'do not fit into the'} {number(float(whole))} {what}"


def _equals(paper: PaperClaims, claim: Claim, entry: dict[str, Any]) -> tuple[bool, str]:
    other = paper.value(entry["other"])
    holds = claim.printed.holds(other.value) or other.holds(claim.printed.value)
    values = f"{number(claim.value)} here, {number(float(other.value))} there"
    return holds, f"{values} ({entry['what']})"


def _share_of(paper: PaperClaims, claim: Claim, entry: dict[str, Any]) -> tuple[bool, str]:
    part, whole = (float(paper.value(entry[key]).value) for key in ("part", "whole"))
    exact = paper.value(entry["part"]).value * 100 / paper.value(entry["whole"]).value
    holds = claim.printed.holds(exact)
    what = f" ({entry['what']})" if "what" in entry else ""
    return holds, f"{number(part)} of {number(whole)} is {float(exact):.1f} %{what}, printed {_shown(claim.printed)}"


def _disjoint(paper: PaperClaims, _: Claim, entry: dict[str, Any]) -> tuple[bool, str]:
    sets = [{r.number for r in paper.references if a <= r.ref <= b} for a, b in (entry["first"], entry["second"])]
    both = sorted(sets[0] & sets[1])
    names = ", ".join(f"#{thread}" for thread in both) or "no thread"
    return not both, f"{names} is cited both {entry['what']}"


def _at_least(paper: PaperClaims, claim: Claim, entry: dict[str, Any]) -> tuple[bool, str]:
    bound = formulas.compute(paper, entry["formula"])
    words = formulas.GEOMETRIC.get(entry["formula"][0], entry["formula"][0])
    holds = claim.value >= bound
    return holds, f"{number(claim.value)} is {'not less' if holds else 'less'} than the {number(bound)} {words}"


CHECKS: dict[str, tuple[Callable[[PaperClaims, Claim, dict[str, Any]], tuple[bool, str]], str]] = {
    "grim": (_grim, "some whole count of the stated n gives the printed percentage"),
    "joint": (_joint, "some n gives all the percentages of one whole, and it is the stated one"),
    "clash": (_clash, "two sets of percentages imply the same count"),
    "sum": (_sum, "the parts add up, rounding allowed for"),
    "fits_into": (_fits_into, "the parts fit into the whole"),
    "equals": (_equals, "two places print the same number for the same thing"),
    "share_of": (_share_of, "the percentage is that of the printed counts"),
    "disjoint": (_disjoint, "no thread is cited as two things that exclude each other"),
    "at_least": (_at_least, "the number is not below what physics or geometry demands"),
}
"""Kinds of checks: how they are made, and what holds when they pass."""


def run(paper: PaperClaims, claim: Claim) -> tuple[CheckResult, ...]:
    """Make all checks of a claim.

    Raises:
        InputError: a check is malformed.
    """
    return tuple(_run(paper, claim, entry) for entry in claim.checks)


def _run(paper: PaperClaims, claim: Claim, entry: dict[str, Any]) -> CheckResult:
    kind = entry.get("check", "")
    if kind not in CHECKS:
        raise InputError(f"data/claims.toml: claim {claim.id!r}: no check is called {kind!r}")
    try:
        holds, text = CHECKS[kind][0](paper, claim, entry)
    except (KeyError, TypeError, ZeroDivisionError) as error:
        raise InputError(f"data/claims.toml: claim {claim.id!r}: check {kind!r} cannot be made: {error!r}") from error
    return CheckResult(kind, holds, bool(entry.get("decides", False)), text)


def failed(results: Sequence[CheckResult]) -> tuple[CheckResult, ...]:
    """Those that do not hold."""
    return tuple(result for result in results if not result.holds)
