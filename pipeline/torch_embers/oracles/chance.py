"""Operators that draw random numbers: seeded alike on both sides, and judged by what must hold whatever is drawn.

An operator may draw in the order of memory, so that the same seed gives a transposed tensor other values than a dense
one, and both are right. What must hold nevertheless: shapes and dtypes, the memory around destinations, that every
element of a destination is written, and that no value is NaN where dense copies have none.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any, Callable, Dict, List, Optional, Sequence

import torch

from torch_embers.oracles import layouts
from torch_embers.oracles.dispatch import DispatchMode
from torch_embers.oracles.repeat import (
    CHANGED,
    Examined,
    Plan,
    Problem,
    examine,
    is_written,
    mapped,
    named,
    outputs,
    plan_of,
)

if TYPE_CHECKING:
    from torch_embers.oracles.oracle_rules import OracleRules

SEED = 20
ENOUGH = 4
"""Elements of a destination from which on some unwritten ones are no chance: a coin shows its old side often."""


class Draws(DispatchMode):
    """Notes whether an operator that draws numbers reaches the dispatcher.

    Args:
        rules: what draws though its schema does not say so.
    """

    def __init__(self, rules: OracleRules) -> None:
        super().__init__()
        self.rules, self.seen = rules, False

    def __torch_dispatch__(
        self, func: Any, types: Sequence[type], args: Sequence[Any] = (), kwargs: Optional[Dict[str, Any]] = None
    ) -> Any:
        """Look at an operator and run it."""
        self.seen = self.seen or is_random(plan_of(func, self.rules), args, kwargs or {})
        return func(*args, **(kwargs or {}))


def is_random(plan: Plan, args: Sequence[Any], kwargs: Dict[str, Any]) -> bool:
    """Whether an operator draws numbers; attention without dropout does not."""
    names = plan.skip.unless_zero if plan.skip is not None and plan.skip.kind == "random" else ()
    if set(names) & set(plan.names):
        values = dict(zip(plan.names, args), **kwargs)
        return any(values.get(name) for name in names)
    return plan.random or (plan.skip is not None and plan.skip.kind == "random")


def draws(call: Callable[..., Any], args: Any, kwargs: Any, rules: OracleRules) -> bool:
    """Whether a call draws numbers; one that fails under the mode is asked up to where it failed."""
    mode = Draws(rules)
    with contextlib.suppress(Exception), mode:
        call(*mapped(args, layouts.twin), **mapped(kwargs, layouts.twin))
    return mode.seen


def seeded(call: Callable[..., Any]) -> Callable[..., Any]:
    """The same call with the generators set before it."""

    def run(*args: Any, **kwargs: Any) -> Any:
        torch.manual_seed(SEED)
        return call(*args, **kwargs)

    return run


def examine_drawn(
    call: Callable[..., Any], plan: Plan, args: Sequence[Any], kwargs: Dict[str, Any], rules: OracleRules
) -> Examined:
    """As ``examine``, for a call that draws: values that differ are no problem, those not written and NaN are."""
    before = {name: layouts.twin(tensor) for name, tensor in named(plan, args, kwargs) if is_written(plan, name)}
    twins = (mapped(list(args), layouts.twin), mapped(kwargs, layouts.twin))
    run = seeded(call)
    done = examine(run, plan, args, kwargs, rules)
    kept = [problem for problem in done.problems if problem.severity != "wrong_value" or _other_shape(problem)]
    differs, done.problems = len(kept) < len(done.problems), kept
    if differs and not kept:
        after = dict(named(plan, args, kwargs))
        done.problems = _unwritten(plan, before, [after, _drawn_anew(call, plan, args, kwargs, before)], run, twins)
        done.problems += _not_numbers(done.result, run, twins)
    return done


def _other_shape(problem: Problem) -> bool:
    if problem.message == CHANGED:
        return False  # some samples draw into their input
    return problem.difference is None or problem.difference.got.endswith("]")


def _drawn_anew(
    call: Callable[..., Any], plan: Plan, args: Sequence[Any], kwargs: Dict[str, Any], before: Dict[str, Any]
) -> Dict[str, Any]:
    """What destinations of the same layout hold after the same call with other numbers."""
    laid = (mapped(list(args), layouts.copy_as_laid), mapped(kwargs, layouts.copy_as_laid))
    for name, tensor in named(plan, *laid):
        if name in before:
            tensor.copy_(before[name])
    torch.manual_seed(SEED + 1)
    call(*laid[0], **laid[1])
    return dict(named(plan, *laid))


def _unwritten(
    plan: Plan, before: Dict[str, Any], after: Sequence[Dict[str, Any]], run: Any, twins: Any
) -> List[Problem]:
    """Destinations that keep elements of before in each of two draws, though all of a dense one are written.

    In one draw a number may be what was there: bfloat16 has few of them.
    """
    again = (mapped(twins[0], layouts.twin), mapped(twins[1], layouts.twin))
    run(*again[0], **again[1])
    written = dict(named(plan, *again))
    problems = []
    for name, old in before.items():
        kept, dense = (after[0][name] == old) & (after[1][name] == old), written[name] == old
        if old.numel() >= ENOUGH and bool(kept.any()) and not bool(dense.any()):
            said = "%d of %d elements are not written" % (int(kept.sum()), old.numel())
            problems.append(Problem("wrong_value", name, said))
    return problems


def _not_numbers(result: Any, run: Any, twins: Any) -> List[Problem]:
    dense = outputs(run(*mapped(twins[0], layouts.twin), **mapped(twins[1], layouts.twin)))
    for got, expected in zip(outputs(result), dense):
        if bool(torch.isnan(got).any()) and not bool(torch.isnan(expected).any()):
            return [Problem("wrong_value", "result", "holds NaN where dense copies hold none")]
    return []
