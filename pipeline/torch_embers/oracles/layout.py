"""The layout oracle: repeats every call that meets a tensor which is not dense, on dense copies, and compares.

``with LayoutOracle(rules) as oracle: train()``; afterwards ``oracle.findings`` holds what is wrong. It sees the calls
that reach the dispatcher, the backward's too, so composite functions are looked at by their parts.
"""

from __future__ import annotations

from collections import Counter
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Set, Tuple
from typing import Counter as Counts

import torch

from torch_embers.oracles import caller, layouts, reproducer
from torch_embers.oracles.dispatch import (
    HIGHER_ORDER,
    Generators,
    SampledMode,
    generators_of,
    is_higher_order,
    is_own_call,
    is_tracing,
    own_calls,
)
from torch_embers.oracles.finding import Finding
from torch_embers.oracles.oracle_rules import OracleRules
from torch_embers.oracles.repeat import Plan, Problem, examine, is_written, named, plan_of, shared_with

ALSO = ", the same as "
"""What stands in the words of a destination before the name of the argument that it is as well."""


class _Asked:
    """An operator whose first call is the user's; all others are the oracle's own.

    Attributes:
        made: whether the user's call came to its end.
        failed: whether it raised.
        result: of that call.
        after: the user's generators then, for an operator that may draw.
        draws: whether it did: a second call would give something else.
    """

    def __init__(self, func: Any) -> None:
        self.func = func
        self.made, self.failed, self.result = False, False, None
        self.after: Optional[Generators] = None
        self.draws = False

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the operator."""
        if self.made:
            with own_calls():
                return self.func(*args, **kwargs)
        before, self.failed = generators_of(self.func), True
        self.result = self.func(*args, **kwargs)
        self.made, self.failed = True, False
        self.after = generators_of(self.func)
        self.draws = self.after is not None and before is not None and self.after.differ_from(before)
        if self.draws:
            raise RuntimeError("it draws numbers")
        return self.result


class LayoutOracle(SampledMode):
    """Watches the operators that a block of code calls.

    Args:
        rules: the parsed data/oracles.toml.
        every: look at one call in so many on average, and once an optimizer has stepped at all calls of one step in so
            many (``SampledMode``); at random, so that no period of a training loop is missed.
        ops: look at these operators alone, such as ``addcmul_``; at all where none is given.
        on_finding: is called with each new finding.
        reproduce: whether to write a case file for each finding.

    Attributes:
        findings: one per defect (operator, kind of problem, line); further ones are only counted.
        counts: calls by what became of them.
        refused: (operator, reason) of calls that could not be decided.
    """

    def __init__(
        self,
        rules: Mapping[str, Any],
        every: int = 1,
        ops: Sequence[str] = (),
        on_finding: Optional[Callable[[Finding], None]] = None,
        reproduce: bool = True,
    ) -> None:
        super().__init__(every)
        if every < 1:
            raise ValueError("every must be at least 1, not %d" % every)
        self.rules = OracleRules(rules)
        self.ops = frozenset(ops)
        self.on_finding = on_finding
        self.reproduce = reproduce
        self.findings: List[Finding] = []
        self.counts: Counts[str] = Counter()
        self.refused: Counts[Tuple[str, str]] = Counter()
        self._plans: Dict[Any, Plan] = {}
        self._known: Set[Tuple[str, str]] = set()
        self._wait = 0

    def __torch_dispatch__(
        self, func: Any, types: Sequence[type], args: Sequence[Any] = (), kwargs: Optional[Dict[str, Any]] = None
    ) -> Any:
        """Run one operator for the user, and look at it if its turn has come."""
        kwargs = kwargs or {}
        if is_higher_order(func):
            self.refused[str(func), HIGHER_ORDER] += 1
            return func(*args, **kwargs)
        if self.every > 1 and not self.in_steps:
            self._wait -= 1
            if self._wait > 0:
                return func(*args, **kwargs)
            self._wait = self.draw.randint(1, 2 * self.every - 1)
        plan = self._plans.get(func)
        if plan is None:
            plan = self._plans[func] = plan_of(func, self.rules)
        if not self._wanted(plan, args, kwargs):
            return func(*args, **kwargs)
        return self._look(func, plan, args, kwargs)

    def looked(self) -> Dict[str, Any]:
        """What was compared, and what could not be decided, as plain data."""
        refused = [[op, why, count] for (op, why), count in sorted(self.refused.items())]
        return {"compared": self.counts["repeated"] - self.counts["undecided"], "refused": refused}

    def _wanted(self, plan: Plan, args: Sequence[Any], kwargs: Dict[str, Any]) -> bool:
        """Whether this call meets a tensor that is not dense, and a repetition would say something."""
        if plan.view or (self.ops and plan.op.rpartition(".")[2] not in self.ops):
            return False
        is_left_out = plan.random or (plan.skip is not None and not plan.skip.checks)
        if is_left_out and not _voids(plan, args, kwargs):
            return False
        tensors = [tensor for _, tensor in named(plan, args, kwargs)]
        self.counts["seen"] += 1
        if all(map(layouts.is_dense, tensors)) and not self._writes_oddly(plan, args, kwargs):
            return False
        if any(tensor.numel() * tensor.element_size() > self.rules.largest for tensor in tensors):
            self.counts["too large"] += 1
            return False
        return not (is_own_call() or is_tracing())

    def _writes_oddly(self, plan: Plan, args: Sequence[Any], kwargs: Dict[str, Any]) -> bool:
        """Whether a call writes to a tensor behind which its memory goes on, or that is also another argument."""
        if not plan.written:
            return False
        tensors = named(plan, args, kwargs)
        written = [tensor for name, tensor in tensors if is_written(plan, name)]
        return not all(map(layouts.covers_memory, written)) or bool(shared_with(plan, tensors))

    def _look(self, func: Any, plan: Plan, args: Sequence[Any], kwargs: Dict[str, Any]) -> Any:
        """The user's call, compared; what fails in the comparison is counted and never reaches the user."""
        call, known = _Asked(func), len(self.findings)
        self.counts["repeated"] += 1
        try:
            self._examine(call, plan, args, kwargs)
        except Exception as error:
            if call.failed:
                raise
            self.counts["undecided"] += 1
            why = "it draws numbers" if call.draws else "the comparison fails: %s" % str(error).partition("\n")[0]
            self.refused[plan.op, why] += 1
        finally:
            if call.after is not None:
                call.after.put_back()
        result = call.result if call.made else func(*args, **kwargs)
        if self.on_finding is not None:
            for finding in self.findings[known:]:
                self.on_finding(finding)
        return result

    def _examine(self, call: _Asked, plan: Plan, args: Sequence[Any], kwargs: Dict[str, Any]) -> None:
        described = _described(plan, named(plan, args, kwargs))
        origin = reproducer.Origin(args, kwargs, plan) if self.reproduce and plan.written else None
        done = examine(call, plan, args, kwargs, self.rules)
        if done.refused:
            self.counts["undecided"] += 1
            self.refused[plan.op, done.refused] += 1
        self.counts["rounding"] += done.honest
        for problem in done.problems[:1]:
            self._note(call.func, plan, problem, described, origin or reproducer.Origin(args, kwargs, plan))
        if plan.op in self.rules.unwatched and not done.problems and caller.in_backward():
            self._look_inplace(call.func, args, kwargs)

    def _look_inplace(self, func: Any, args: Sequence[Any], kwargs: Dict[str, Any]) -> None:
        """The same on a destination: gradient formulas write in place, but not while a dispatch mode watches them."""
        form = inplace_of(func)
        if form is None or not args or not layouts.is_plain(args[0]) or layouts.is_dense(args[0]):
            return
        if layouts.overlaps_itself(args[0]):
            return  # no formula writes to it in place
        plan = self._plans.get(form)
        if plan is None:
            plan = self._plans[form] = plan_of(form, self.rules)
        own = [layouts.copy_as_laid(args[0]), *args[1:]]
        described = [(name, layouts.describe(tensor)) for name, tensor in named(plan, own, kwargs)]
        origin = reproducer.Origin(own, kwargs, plan)
        for problem in examine(form, plan, own, kwargs, self.rules).problems[:1]:
            self._note(form, plan, problem, described, origin)

    def _note(
        self,
        func: Any,
        plan: Plan,
        problem: Problem,
        described: Sequence[Tuple[str, str]],
        origin: reproducer.Origin,
    ) -> None:
        line, source = caller.user_line()
        self.counts["wrong"] += 1
        key = ("%s %s %s" % (plan.op, problem.severity, problem.place), line)
        if key in self._known or len(self.findings) >= self.rules.findings:
            return
        self._known.add(key)
        case = reproducer.write(func, plan, origin, problem, self.rules) if self.reproduce else ""
        shown = [pair for pair in described if not pair[1].startswith("dense") or ALSO in pair[1]] or list(described)
        finding = Finding(
            oracle="layout",
            op=plan.op,
            overload=plan.overload,
            severity=problem.severity,
            message="%s with %s: %s" % (plan.op, ", ".join(map(_briefly, shown)), _said(problem)),
            layouts=tuple("%s: %s" % pair for pair in described),
            dtype=problem.dtype,
            device=origin.device,
            place=problem.place,
            difference=problem.difference,
            line=line,
            source=source,
            reproducer=case,
        )
        self.findings.append(finding)


def inplace_of(func: Any) -> Any:
    """The overload that does the same in place, as ``masked_scatter_`` for ``masked_scatter``; None without one."""
    namespace, _, name = func._schema.name.partition("::")  # noqa: SLF001 - it has no other name
    packet = getattr(getattr(torch.ops, namespace), name + "_", None)
    return getattr(packet, func._overloadname or "default", None)  # noqa: SLF001


def _voids(plan: Plan, args: Sequence[Any], kwargs: Dict[str, Any]) -> bool:
    """Whether an argument makes the rule void that leaves the operator out."""
    names = plan.skip.unless_zero if plan.skip is not None else ()
    if not names or not set(names) & set(plan.names):
        return False
    values = dict(zip(plan.names, args), **kwargs)
    return all(not values.get(name) for name in names)


def _described(plan: Plan, tensors: Sequence[Tuple[str, Any]]) -> List[Tuple[str, str]]:
    """Each argument with its layout in words; of a destination also which argument it is."""
    also = shared_with(plan, tensors)
    return [
        (name, layouts.describe(tensor) + (ALSO + " and ".join(also[name]) if name in also else ""))
        for name, tensor in tensors
    ]


def _briefly(described: Tuple[str, str]) -> str:
    name, words = described
    also = words.partition(ALSO)[2]
    return "%s %s%s" % (name, words.split(" ")[0], " and the same as " + also if also else "")


def _said(problem: Problem) -> str:
    return "%s %s" % (problem.place, problem.message) if problem.severity == "wrong_value" else problem.message
