"""One operator of PyTorch's samples through the lattice of layouts: forward, backward, in-place, ``out=``, kernels."""

from __future__ import annotations

import random
import time
import warnings
from functools import partial
from typing import Any, Callable, Dict, Iterator, List, Mapping, NamedTuple, Optional, Sequence, Set, Tuple

import torch

from torch_embers.oracles import cells, chance, guesses, kernels, lattice, layouts, reproducer
from torch_embers.oracles.cells import MODES, Cell, Skipped, Tally
from torch_embers.oracles.compare import same
from torch_embers.oracles.finding import Finding
from torch_embers.oracles.gradients import WEIGHTS, counted, gradients, real_results
from torch_embers.oracles.oracle_rules import OracleRules
from torch_embers.oracles.repeat import Plan, Problem, examine, mapped, named, plan_of, tensors_in

ERRORS = (RuntimeError, TypeError, ValueError, NotImplementedError, LookupError, AttributeError, AssertionError)
LARGEST = 20000
"""Elements of a tensor above which a sample is not taken."""
OWN_TEST = "test_noncontiguous_samples"
FINDINGS = 24
"""Findings of one operator that are kept: an operator that is wrong in all layouts tells nothing more by the others."""


class Bounds(NamedTuple):
    """How much of one operator is tried.

    Attributes:
        seconds: of processor time after which no further call is begun.
        samples: at most so many.
        modes: some of ``MODES``.
        device: on which the operators are called.
    """

    seconds: float
    samples: int
    modes: Sequence[str] = MODES
    device: str = "cpu"


class OperatorCall(NamedTuple):
    """What is called, and how it is judged."""

    run: Callable[..., Any]
    plan: Plan
    drawn: bool = False


class Sweep:
    """All cells of one operator and dtype.

    Args:
        op: entry of the database.
        name: of the entry.
        dtype: of the samples.
        rules: the parsed data/oracles.toml.
        skip: cells that ended the process before.
        bounds: how much is tried.
        others: names of the other operators of the database; a kernel of such a name is left to it.

    Attributes:
        only: the one cell that is called, its case being printed before: it ends the process.
    """

    def __init__(
        self,
        op: Any,
        name: str,
        dtype: Any,
        rules: Mapping[str, Any],
        skip: Sequence[Sequence[str]],
        bounds: Bounds,
        others: Sequence[str] = (),
    ) -> None:
        self.op, self.name, self.dtype, self.bounds = op, name, dtype, bounds
        self.rules = OracleRules(rules)
        self.skip = Skipped(skip)
        self.deadline = time.process_time() + bounds.seconds
        self.others = frozenset(others) - {op.name}
        self.tally = Tally()
        self.known: Set[Tuple[str, ...]] = set()
        self.findings: List[Finding] = []
        self.only: Optional[Cell] = None

    def run(self) -> Dict[str, Any]:
        """Go through all samples; plain data of what was called and found."""
        warnings.simplefilter("ignore")
        random.seed(0)
        torch.manual_seed(0)
        self._goes_on(Cell("samples", self.name, "all", "dense"))
        if isinstance(self.op, guesses.GuessedOperator):
            self._vary(self._guessed(self.op))
        else:
            samples = list(self._chosen())
            for sample in samples if self._meaningful(self.op.name) else ():
                self._one(sample)
            if "kernels" in self.bounds.modes:
                self._kernels(samples)
        return {
            "op": self.name,
            "dtype": str(self.dtype).replace("torch.", ""),
            "cells": self.tally.rows(),
            "skipped": dict(self.tally.skipped),
            "findings": [found.row() for found in self.findings],
            "own": "absent" if isinstance(self.op, guesses.GuessedOperator) else own_test(self.op, self.dtype),
        }

    def _guessed(self, entry: guesses.GuessedOperator) -> Dict[str, List[kernels.Call]]:
        """Calls of an operator without samples, by overload."""
        calls: Dict[str, List[kernels.Call]] = {}
        if Cell("samples", self.name, "all", "dense") in self.skip:
            self.tally.skipped["a call with simple arguments ends the process"] += 1
            return calls
        for sample in entry.samples(self.dtype):
            if kernels.is_varied(plan_of(sample.func, self.rules)):
                calls.setdefault(str(sample.func), []).append(sample)
            else:
                self.tally.skipped["left out by a rule"] += 1
        self.tally.skipped.update(entry.reasons)
        return calls

    def _meaningful(self, name: str) -> bool:
        """Whether dense copies say anything of an operator: not where memory or strides are its arguments."""
        rule = self.rules.skip("aten." + name)
        if rule is None or rule.kind not in ("view", "undefined") or rule.checks:
            return True
        self.tally.skipped["%s: %s" % (name, rule.reason)] += 1
        return False

    def _chosen(self) -> Iterator[Any]:
        """Samples that differ in the numbers of axes or the names of options, then the others."""
        seen: Set[Any] = set()
        later = []
        for sample in self.op.sample_inputs(self.bounds.device, self.dtype, requires_grad=False):
            tensors = tensors_in([sample.input, sample.args, sample.kwargs])
            if any(tensor.numel() > LARGEST for tensor in tensors):
                self.tally.skipped["sample is large"] += 1
                continue
            form = (tuple(t.dim() for t in tensors), tuple(sorted(sample.kwargs)), any(not t.numel() for t in tensors))
            if form in seen:
                later.append(sample)
            elif len(seen) < self.bounds.samples:
                seen.add(form)
                yield sample
        yield from later[: max(0, self.bounds.samples - len(seen))]

    def _one(self, sample: Any) -> None:
        args, kwargs = [sample.input, *sample.args], dict(sample.kwargs)
        if not self._goes_on(Cell("dense", self.name, "all", "dense")):
            return
        try:
            drawn = chance.draws(self.op, args, kwargs, self.rules)
            call = chance.seeded(self.op) if drawn else self.op
            base, again = (call(*mapped(args, layouts.twin), **mapped(kwargs, layouts.twin)) for _ in range(2))
        except ERRORS:
            self.tally.skipped["sample is refused"] += 1
            return
        first, second = tensors_in([base]), tensors_in([again])
        if len(first) != len(second) or not all(same(a, b) for a, b in zip(first, second)):
            self.tally.skipped["two dense calls differ"] += 1
            return
        if "forward" in self.bounds.modes:
            plan = self._plan("forward", args)
            self._arguments(OperatorCall(self.op, plan, drawn), args, kwargs, None if drawn else first)
        if "backward" in self.bounds.modes:
            self._backward(args, kwargs, first, drawn)
        if "inplace" in self.bounds.modes:
            self._inplace(args, kwargs, drawn)
        if "out" in self.bounds.modes:
            self._out(args, kwargs, base, drawn)

    def _plan(self, mode: str, args: Sequence[Any], written: Tuple[str, ...] = ()) -> Plan:
        names = tuple("input" if not at else "argument %d" % at for at in range(len(args)))
        ties = self.rules.ties("aten." + self.op.name)
        return Plan(self.name, mode, names=names, written=written, may_alias=True, ties=ties)

    def _backward(self, args: Any, kwargs: Any, first: List[Any], drawn: bool) -> None:
        results = real_results(first)
        floating = self.dtype.is_floating_point or self.dtype.is_complex
        if not (self.op.supports_autograd and floating and results):
            self.tally.skipped["no gradient"] += 1
            return
        run = gradients(chance.seeded(self.op) if drawn else self.op)
        kwargs = dict(kwargs, **{WEIGHTS: [counted(tensor) for tensor in results]})
        if not self._goes_on(Cell("backward", self.name, "all", "dense")):
            return
        try:
            expected = tensors_in(run(*mapped(args, layouts.twin), **mapped(kwargs, layouts.twin)))
        except ERRORS:
            self.tally.skipped["gradient is refused"] += 1
            return
        plan = self._plan("backward", args)
        self._arguments(OperatorCall(run, plan, drawn), args, kwargs, None if drawn else expected)

    def _inplace(self, args: Any, kwargs: Any, drawn: bool) -> None:
        run = self.op.get_inplace() if hasattr(self.op, "get_inplace") else None
        if run is not None and not self._meaningful(run.__name__):
            return
        if run is None or not isinstance(args[0], torch.Tensor) or not tensors_in([args[0]]):
            self.tally.skipped["no in-place form"] += 1
            return
        plan = self._plan("inplace", args, ("input",))
        for layout in lattice.DESTINATIONS:
            for others in ("dense", "transposed"):
                destination = lattice.destination(args[0], layout)
                if destination is not None:
                    rest, named_rest = mapped([args[1:], kwargs], partial(_others, layout=others))
                    cell = Cell("inplace", self.name, "destination", "%s, others %s" % (layout, others))
                    self._cell(cell, OperatorCall(run, plan, drawn), [destination, *rest], named_rest, None)

    def _out(self, args: Any, kwargs: Any, base: Any, drawn: bool) -> None:
        if not self.op.supports_out or not tensors_in([base]):
            self.tally.skipped["no out="] += 1
            return
        plan = self._plan("out", args, ("out",))
        results = len(tensors_in([base]))
        apart = ["destination %d" % number for number in range(results)] if results > 1 else []
        for layout in (*lattice.DESTINATIONS, *lattice.SIZED):
            for which in ("destination", *apart):
                for others in ("dense", "transposed") if which == "destination" else ("dense",):
                    destination, laid = destinations(base, layout, which)
                    if laid:
                        rest, named_rest = mapped([args, kwargs], partial(_others, layout=others))
                        cell = Cell("out", self.name, which, "%s, others %s" % (layout, others))
                        self._cell(
                            cell, OperatorCall(self.op, plan, drawn), rest, dict(named_rest, out=destination), None
                        )

    def _arguments(self, call: OperatorCall, args: Any, kwargs: Any, expected: Optional[List[Any]]) -> None:
        """Vary the layouts of all tensors of a call."""
        for which, layout, changed in lattice.variations(tensors_in([args, kwargs])):
            new_args, new_kwargs = mapped([args, kwargs], partial(_next_of, iter(changed)))
            cell = Cell(call.plan.overload, self.name, which, layout)
            if layout in lattice.SHARED and call.plan.ties and call.plan.overload == "backward":
                self.tally.skipped["the gradient may go to any of equal values"] += 1
                continue
            other_values = layout in lattice.SHARED
            self._cell(cell, call, new_args, new_kwargs, None if other_values else expected)

    def _kernels(self, samples: Sequence[Any]) -> None:
        """Operators of the dispatcher that forward and backward of the samples reach: arguments and destinations."""
        recorder = kernels.Recorder(self.rules)
        if not self._goes_on(Cell("kernels", self.name, "all", "dense")):
            return
        for sample in samples:
            args, kwargs = mapped([[sample.input, *sample.args], dict(sample.kwargs)], layouts.twin)
            try:
                with recorder:
                    results = real_results(self.op(*args, **kwargs))
                    if self.op.supports_autograd and results:
                        gradients(self.op)(*args, **dict(kwargs, **{WEIGHTS: [counted(t) for t in results]}))
            except ERRORS:
                self.tally.skipped["kernels are not reached"] += 1
        own = (calls for name, calls in recorder.calls.items() if name.split(".")[1] not in self.others)
        self._vary({str(calls[0][0]): calls for calls in own})  # the others have samples of their own

    def _vary(self, found: Mapping[str, Sequence[kernels.Call]]) -> None:
        """Operators of the dispatcher through layouts."""
        for calls in found.values():
            for func, args, kwargs in calls:
                self._kernel(func, args, kwargs)

    def _kernel(self, func: Any, args: Any, kwargs: Any) -> None:
        plan = plan_of(func, self.rules)
        call = OperatorCall(func, plan, chance.is_random(plan, args, kwargs))
        tensors = tensors_in([args, kwargs])
        for which, layout, changed in lattice.variations(tensors):
            given = changed
            if plan.written:  # a call must not change what the next one gets
                given = [layouts.twin(tensor) if tensor is old else tensor for tensor, old in zip(changed, tensors)]
            new_args, new_kwargs = mapped([args, kwargs], partial(_next_of, iter(given)))
            self._cell(Cell("kernels", str(func), which, layout), call, new_args, new_kwargs, None)
        self._written(call, args, kwargs)
        try:
            result = func(*mapped(args, layouts.twin), **mapped(kwargs, layouts.twin))
        except ERRORS:
            return
        form = kernels.into(func, result)
        if form is None:
            return
        call = call._replace(run=form[0], plan=plan_of(form[0], self.rules))
        for layout, made in kernels.destinations(result, form[1]):
            rest, named_rest = mapped([args, kwargs], layouts.twin)
            self._cell(Cell("kernels", str(form[0]), "destination", layout), call, rest, dict(named_rest, **made), None)

    def _written(self, call: OperatorCall, args: Any, kwargs: Any) -> None:
        """Destinations of an operator that writes into its first argument, or of its form that does."""
        form: Any = call.run
        shown: Sequence[str] = lattice.REPEATED
        if not call.plan.written:
            form, shown = kernels.in_place(form), lattice.DESTINATIONS
        if form is None or not args or not tensors_in([args[:1]]) or not isinstance(args[0], torch.Tensor):
            return
        plan = plan_of(form, self.rules)
        if plan.written[:1] != plan.names[:1]:
            return
        for layout in shown:
            made = lattice.destination(args[0], layout)
            if made is not None:
                rest, named_rest = mapped([args[1:], kwargs], layouts.twin)
                cell = Cell("kernels", str(form), "destination", layout)
                self._cell(cell, call._replace(run=form, plan=plan), [made, *rest], named_rest, None)

    def _goes_on(self, cell: Cell) -> bool:
        """Whether a call is made; then it is announced."""
        if cell in self.skip:
            self.tally.skipped["dense call ends the process"] += cell.layout == "dense"
            return False
        cells.announce(self.name, cell)
        return True

    def _cell(self, cell: Cell, call: OperatorCall, args: Any, kwargs: Any, expected: Optional[List[Any]]) -> None:
        if self.only not in (None, cell):
            return
        if time.process_time() > self.deadline:
            self.tally.skipped["out of time"] += 1
            return
        if not self._goes_on(cell):
            return
        if self.only is not None:
            print(cells.pack({"case": self._fatal(cell, call, args, kwargs)}), flush=True)  # noqa: T201 - the way out
        try:
            if expected is not None:
                got = tensors_in([call.run(*args, **kwargs)])
                if len(got) == len(expected) and all(same(a, b) for a, b in zip(got, expected)):
                    self.tally.add(cell, "tested")
                    return
            origin = reproducer.Origin(args, kwargs, call.plan)
            judge = chance.examine_drawn if call.drawn else examine
            done = judge(call.run, call.plan, args, kwargs, self.rules)
        except ERRORS:
            self.tally.add(cell, "refused")
            return
        if done.refused and not done.problems:
            self.tally.add(cell, "undecided")
            return
        self.tally.add(cell, "tested")
        if call.plan.written:
            self.tally.add(cell, "guarded")
        if done.problems:
            problem = done.problems[0]
            self.tally.add(cell, "outside" if problem.severity == "outside_write" else "wrong")
            self._note(cell, call, origin, problem, args, kwargs)

    def _note(
        self, cell: Cell, call: OperatorCall, origin: reproducer.Origin, problem: Problem, args: Any, kwargs: Any
    ) -> None:
        plan, severity = call.plan, problem.severity
        if cell.mode == "backward" and severity == "wrong_value":
            severity = "wrong_gradient"
        key = (plan.op, plan.overload or cell.mode, severity, problem.place, cell.layout)
        if key in self.known or len(self.known) >= FINDINGS:
            return
        first = not any(old[:3] == key[:3] for old in self.known)
        self.known.add(key)
        case = ""
        source = self.text(cell.mode, call.run)
        if first and source is not None and not call.drawn:
            case = reproducer.write(call.run, plan, origin, problem, self.rules, source)
        place = "%s %s" % (cell.layout, cell.argument)
        self.findings.append(
            Finding(
                oracle="layout",
                op=plan.op,
                overload=plan.overload or cell.mode,
                severity=severity,
                message="%s, %s, %s: %s" % (plan.op, plan.overload or cell.mode, place, problem.message),
                layouts=tuple("%s: %s" % (name, layouts.describe(t)) for name, t in named(plan, args, kwargs)),
                dtype=problem.dtype or str(self.dtype).replace("torch.", ""),
                device=self.bounds.device,
                place=problem.place,
                difference=problem.difference,
                reproducer=case,
            )
        )

    def _fatal(self, cell: Cell, call: OperatorCall, args: Any, kwargs: Any) -> str:
        """A case file for a call that ends the process; empty where it has no text."""
        source = self.text(cell.mode, call.run)
        origin = reproducer.Origin(args, kwargs, call.plan)
        problem = Problem("crash", cell.argument, "the process ends by a signal")
        try:
            return reproducer.case_text(call.plan, (origin.args, origin.kwargs), problem, self.rules, source or "")
        except ValueError:
            return ""

    def text(self, mode: str, call: Any) -> Optional[str]:
        """Python source of what is called; None where it has none, empty for an operator of the dispatcher."""
        name = self.op.name
        if mode == "kernels":
            return ""
        if mode == "inplace":
            return "torch.Tensor.%s" % call.__name__
        path = name if name.startswith(("nn.", "linalg.", "special.", "fft.", "masked.")) else name.partition(".")[0]
        target: Any = torch
        for part in path.split("."):
            target = getattr(target, part, None)
        if target is None:
            path = "Tensor." + name
            if not hasattr(torch.Tensor, name):
                return None
        return "gradients(torch.%s)" % path if mode == "backward" else "torch.%s" % path


def own_test(op: Any, dtype: Any) -> str:
    """What PyTorch's own test of strided samples does with it: tested, expected_failure, skipped, or absent."""
    if dtype not in (torch.float32, torch.int64, torch.complex64):
        return "absent"
    for rule in getattr(op, "decorators", ()):
        if getattr(rule, "test_name", "") != OWN_TEST:
            continue
        try:
            active = rule.is_active("TestCommon", OWN_TEST, "cpu", dtype, {})
        except TypeError:  # before 2.1 it takes no parameters
            active = rule.is_active("TestCommon", OWN_TEST, "cpu", dtype)
        if active:
            names = [getattr(one, "__qualname__", "") for one in rule.decorators]
            if "expectedFailure" in names:
                return "expected_failure"
            if any(name.startswith("skip") for name in names):
                return "skipped"
    return "tested"


def destinations(base: Any, layout: str, which: str) -> Tuple[Any, bool]:
    """Destinations for results, in a layout: all of them or one; and whether any of them has it."""
    number, laid = 0, False

    def place(tensor: Any) -> Any:
        nonlocal number, laid
        made = None
        if which in ("destination", "destination %d" % number):
            made = lattice.place(tensor.shape, tensor.dtype, layout, tensor.device)
        number += 1
        laid = laid or made is not None
        if made is not None:
            return made
        return torch.full_like(tensor, lattice.SENTINEL, memory_format=torch.contiguous_format)

    made = mapped(base, place)
    return (tuple(made) if isinstance(made, (list, tuple)) else made), laid


def _next_of(pool: Iterator[Any], _: Any) -> Any:
    return next(pool)


def _others(tensor: Any, layout: str) -> Any:
    """An argument beside the destination: dense, or in a layout where it has such a form."""
    laid = None if layout == "dense" else lattice.lay(tensor, layout)
    return layouts.twin(tensor) if laid is None else laid
