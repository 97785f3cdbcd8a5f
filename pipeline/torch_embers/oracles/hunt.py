"""One operator of PyTorch's own samples through the lattice of layouts: forward, backward, in-place, ``out=``.

Runs inside a build. What is found goes to standard output, one line each; before each call its name goes to standard
error, so that the driver knows which one ended the process.
"""

from __future__ import annotations

import json
import os
import time
import warnings
from collections import Counter
from functools import partial
from typing import Any, Callable, Dict, Iterator, List, Mapping, Optional, Sequence, Set, Tuple
from typing import Counter as Counts

import torch

from torch_embers.oracles import kernels, lattice, layouts, reproducer
from torch_embers.oracles.compare import same
from torch_embers.oracles.finding import Finding
from torch_embers.oracles.repeat import Plan, Problem, examine, mapped, named, plan_of, tensors_in
from torch_embers.oracles.rules import Rules

CELLS = "embers-cells "
"""What the line of counts begins with."""
MODES = ("forward", "backward", "inplace", "out", "kernels")
"""The last one: operators of the dispatcher that the samples reach and that have no samples of their own."""
ERRORS = (RuntimeError, TypeError, ValueError, NotImplementedError, IndexError, AttributeError, AssertionError)
WEIGHTS = "embers_weights"
"""Keyword by which a call for gradients is given the gradients of the results."""


def database() -> Dict[str, Any]:
    """The operators of this build by name and variant."""
    from torch.testing._internal.common_methods_invocations import op_db

    return {op.name + ("." + op.variant_test_name if op.variant_test_name else ""): op for op in op_db}


class Sweep:
    """All cells of one operator and dtype.

    Args:
        op: entry of the database.
        name: of the entry.
        dtype: of the samples.
        rules: the parsed data/oracles.toml.
        skip: cells that ended the process before.
        seconds: of processor time after which no further sample is begun.
        samples: at most so many.
        modes: some of ``MODES``.
        others: names of the other operators of the database; a kernel of such a name is left to it.
    """

    def __init__(
        self,
        op: Any,
        name: str,
        dtype: Any,
        rules: Mapping[str, Any],
        skip: Sequence[str],
        seconds: float,
        samples: int,
        modes: Sequence[str] = MODES,
        others: Sequence[str] = (),
    ) -> None:
        self.op, self.name, self.dtype = op, name, dtype
        self.rules = Rules(rules)
        self.skip = frozenset(skip)
        self.deadline = time.process_time() + seconds
        self.samples = samples
        self.modes = frozenset(modes)
        self.others = frozenset(others) - {name}
        self.counts: Counts[str] = Counter()
        self.known: Set[Tuple[str, ...]] = set()
        self.sample = 0

    def run(self) -> None:
        """Go through all samples and print what is found."""
        warnings.simplefilter("ignore")
        torch.manual_seed(0)
        for number, sample in enumerate(self._chosen()):
            self.sample = number
            if time.process_time() > self.deadline:
                self.counts["time"] += 1
                break
            self._one(sample)
        if "kernels" in self.modes:
            self._kernels()
        print(CELLS + json.dumps({"op": self.name, "counts": self.counts}), flush=True)  # noqa: T201 - the way out

    def _kernels(self) -> None:
        """Operators of the dispatcher that forward and backward of the samples reach: arguments and destinations."""
        recorder = kernels.Recorder(self.rules)
        for sample in self._chosen():
            args, kwargs = mapped([[sample.input, *sample.args], sample.kwargs], lattice.dense)
            try:
                with recorder:
                    results = [t for t in tensors_in([self.op(*args, **kwargs)]) if t.is_floating_point()]
                    if self.op.supports_autograd and results:
                        gradients(self.op)(*args, **dict(kwargs, **{WEIGHTS: [counted(t) for t in results]}))
            except ERRORS:
                self.counts["kernels refused"] += 1
        for name, calls in recorder.calls.items():
            if name.split(".")[1] in self.others:
                continue  # it has samples of its own
            for number, (func, args, kwargs) in enumerate(calls):
                self.sample = number
                self._kernel(func, args, kwargs)

    def _kernel(self, func: Any, args: Any, kwargs: Any) -> None:
        plan = plan_of(func, self.rules)
        for what, changed in lattice.variations(tensors_in([args, kwargs])):
            new_args, new_kwargs = mapped([args, kwargs], partial(_next_of, iter(changed)))
            self._cell("kernels", what + " of " + str(func), func, plan, new_args, new_kwargs, None)
        try:
            result = func(*mapped(args, lattice.dense), **mapped(kwargs, lattice.dense))
        except ERRORS:
            return
        form = kernels.into(func, result)
        if form is None:
            return
        plan = plan_of(form[0], self.rules)
        for what, made in kernels.destinations(result, form[1]):
            rest = mapped([args, kwargs], lattice.dense)
            self._cell("kernels", what + " of " + str(form[0]), form[0], plan, rest[0], dict(rest[1], **made), None)

    def _chosen(self) -> Iterator[Any]:
        """Samples that differ in the numbers of axes or the names of options, then the others."""
        seen: Set[Any] = set()
        later = []
        taken = 0
        for sample in self.op.sample_inputs("cpu", self.dtype, requires_grad=False):
            tensors = tensors_in([sample.input, sample.args, sample.kwargs])
            if any(tensor.numel() > 20000 for tensor in tensors):
                continue
            form = (tuple(t.dim() for t in tensors), tuple(sorted(sample.kwargs)), any(not t.numel() for t in tensors))
            if form in seen:
                later.append(sample)
                continue
            seen.add(form)
            taken += 1
            if taken <= self.samples:
                yield sample
        for sample in later[: max(0, self.samples - taken)]:
            yield sample

    def _one(self, sample: Any) -> None:
        args, kwargs = [sample.input, *sample.args], dict(sample.kwargs)
        try:
            base = self.op(*mapped(args, lattice.dense), **mapped(kwargs, lattice.dense))
            again = self.op(*mapped(args, lattice.dense), **mapped(kwargs, lattice.dense))
        except ERRORS:
            self.counts["sample refused"] += 1
            return
        first, second = tensors_in(base), tensors_in(again)
        if len(first) != len(second) or not all(same(a, b) for a, b in zip(first, second)):
            self.counts["random"] += 1
            return
        if "forward" in self.modes:
            self._arguments("forward", self.op, args, kwargs, first)
        if (
            "backward" in self.modes
            and self.op.supports_autograd
            and (self.dtype.is_floating_point or self.dtype.is_complex)
        ):
            self._backward(args, kwargs, first)
        inplace = self.op.get_inplace() if hasattr(self.op, "get_inplace") else None
        if inplace is not None and "inplace" in self.modes:
            self._inplace(inplace, args, kwargs)
        if self.op.supports_out and first and "out" in self.modes:
            self._out(args, kwargs, base)

    def _arguments(
        self,
        mode: str,
        call: Callable[..., Any],
        args: Any,
        kwargs: Any,
        expected: Optional[List[Any]],
        written: Any = (),
    ) -> None:
        """Vary the layouts of all tensors of a call."""
        tensors = tensors_in([args, kwargs])
        if not tensors:
            return
        plan = Plan(
            self.name,
            mode,
            names=tuple("input" if not at else "argument %d" % at for at in range(len(args))),
            written=written,
            may_alias=True,
            ties=self.rules.ties("aten." + self.op.name),
        )
        for what, changed in lattice.variations(tensors):
            pool = iter(changed)
            new_args, new_kwargs = mapped([args, kwargs], partial(_next_of, pool))
            changes_values = what.startswith(("expanded", "overlapping"))
            self._cell(mode, what, call, plan, new_args, new_kwargs, None if changes_values else expected)

    def _cell(
        self,
        mode: str,
        what: str,
        call: Callable[..., Any],
        plan: Plan,
        args: Any,
        kwargs: Any,
        expected: Optional[List[Any]],
    ) -> None:
        cell = "%s %d %s" % (mode, self.sample, what)
        if cell in self.skip:
            return
        os.write(2, (cell + "\n").encode())
        self.counts[mode] += 1
        try:
            if expected is not None and not plan.written:
                got = tensors_in(call(*args, **kwargs))
                if len(got) == len(expected) and all(same(a, b) for a, b in zip(got, expected)):
                    return
            origin = reproducer.Origin(args, kwargs, plan)
            done = examine(call, plan, args, kwargs, self.rules)
        except ERRORS as error:
            self.counts[mode + " refused"] += 1
            del error
            return
        for problem in done.problems[:1]:
            self._note(mode, what, call, plan, origin, problem, args, kwargs)

    def _note(
        self,
        mode: str,
        what: str,
        call: Callable[..., Any],
        plan: Plan,
        origin: reproducer.Origin,
        problem: Problem,
        args: Any,
        kwargs: Any,
    ) -> None:
        severity = "wrong_gradient" if mode == "backward" and problem.severity == "wrong_value" else problem.severity
        self.counts[severity] += 1
        layout = what.partition(" ")[0]
        key = (plan.op, mode, severity, problem.place, layout)
        if key in self.known or len(self.known) > 24:
            return
        self.known.add(key)
        described = tuple("%s: %s" % (name, layouts.describe(tensor)) for name, tensor in named(plan, args, kwargs))
        first = not any(old[:3] == key[:3] for old in self.known - {key})
        source = self.text(mode, call)
        text = reproducer.write(call, plan, origin, problem, self.rules, source) if first and source is not None else ""
        finding = Finding(
            oracle="layout",
            op=plan.op,
            overload=plan.overload or mode,
            severity=severity,
            message="%s, %s, %s: %s" % (plan.op, plan.overload or mode, what, problem.message),
            layouts=described,
            dtype=problem.dtype or str(self.dtype).replace("torch.", ""),
            device="cpu",
            place=problem.place,
            difference=problem.difference,
            reproducer=text,
        )
        print(finding.dump(), flush=True)  # noqa: T201 - the way out of the sandbox

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

    def _backward(self, args: Any, kwargs: Any, first: List[Any]) -> None:
        results = [tensor for tensor in first if tensor.is_floating_point() or tensor.is_complex()]
        if not results:
            return
        call = gradients(self.op)
        weights = [counted(tensor) for tensor in results]
        try:
            expected = tensors_in(
                call(*mapped(args, lattice.dense), **mapped(kwargs, lattice.dense), **{WEIGHTS: weights})
            )
        except ERRORS:
            self.counts["backward refused"] += 1
            return
        self._arguments("backward", call, args, dict(kwargs, **{WEIGHTS: weights}), expected)

    def _inplace(self, inplace: Callable[..., Any], args: Any, kwargs: Any) -> None:
        if not tensors_in([args[0]]):
            return
        plan = Plan(self.name, "inplace", names=("input",), written=("input",))
        for layout in lattice.DESTINATIONS:
            for others in ("", "transposed"):
                destination = lattice.lay(args[0], layout) if isinstance(args[0], torch.Tensor) else None
                if destination is None:
                    continue
                rest = mapped(
                    [args[1:], kwargs],
                    partial(_others, layout=others),
                )
                self._cell(
                    "inplace",
                    "%s, others %s" % (layout, others or "dense"),
                    inplace,
                    plan,
                    [destination, *rest[0]],
                    rest[1],
                    None,
                )

    def _out(self, args: Any, kwargs: Any, base: Any) -> None:
        plan = Plan(self.name, "out", names=("input",), written=("out",))
        for layout in lattice.DESTINATIONS:
            for others in ("", "transposed"):
                destination = mapped(base, partial(self._place, layout=layout))
                if not tensors_in([destination]):
                    continue
                rest = mapped(
                    [args, kwargs],
                    partial(_others, layout=others),
                )
                if isinstance(destination, (list, tuple)):
                    destination = tuple(destination)
                self._cell(
                    "out",
                    "%s, others %s" % (layout, others or "dense"),
                    self.op,
                    plan,
                    rest[0],
                    dict(rest[1], out=destination),
                    None,
                )

    @staticmethod
    def _place(tensor: Any, layout: str) -> Any:
        made = lattice.place(tensor.shape, tensor.dtype, layout)
        return torch.full_like(tensor, lattice.SENTINEL) if made is None else made


def _next_of(pool: Iterator[Any], _: Any) -> Any:
    return next(pool)


def _others(tensor: Any, layout: str) -> Any:
    """An argument beside the destination: dense, or in a layout where it has such a form."""
    laid = lattice.lay(tensor, layout) if layout else None
    return lattice.dense(tensor) if laid is None else laid


def counted(tensor: Any) -> Any:
    """Weights 1, 2, 3 ... 7 again and again in the shape of a tensor."""
    return (torch.arange(tensor.numel()) % 7 + 1).reshape(tensor.shape).to(tensor.dtype)


def gradients(call: Callable[..., Any]) -> Callable[..., Any]:
    """A function that gives the gradients of all floating arguments, from weights of the results."""

    def run(*args: Any, **kwargs: Any) -> List[Any]:
        weights = kwargs.pop(WEIGHTS)
        leaves: List[Any] = []

        def leaf(tensor: Any) -> Any:
            if not (tensor.is_floating_point() or tensor.is_complex()):
                return tensor
            leaves.append(tensor.detach().requires_grad_())
            return leaves[-1]

        new_args, new_kwargs = mapped([list(args), kwargs], leaf)
        results = [t for t in tensors_in(call(*new_args, **new_kwargs)) if t.is_floating_point() or t.is_complex()]
        pairs = [(result, weight) for result, weight in zip(results, weights) if result.requires_grad]
        grads = torch.autograd.grad([r for r, _ in pairs], leaves, [w for _, w in pairs], allow_unused=True)
        return [grad for grad in grads if grad is not None]

    return run


def names(options: Mapping[str, Any]) -> None:
    """Print which operators this build's database has for each dtype."""
    found = {name: sorted(str(dtype).replace("torch.", "") for dtype in op.dtypes) for name, op in database().items()}
    print(CELLS + json.dumps(found))  # noqa: T201 - the way out of the sandbox
    del options


def main(options: Mapping[str, Any]) -> None:
    """Sweep one operator; the entry of a sandboxed run."""
    torch.set_num_threads(1)
    name, dtype = options["op"], getattr(torch, options["dtype"])
    ops = database()
    sizes = (options["seconds"], options["samples"], options["modes"])
    others = [op.name for op in ops.values()]
    Sweep(ops[name], name, dtype, options["rules"], options["skip"], *sizes, others).run()
