"""Arguments that can be made but make no sense: an operator should refuse them, and the process must not die.

Each call of an operator that the samples reach is changed in one thing (a rank, a length, a position, a dtype, a
number) and made in a child. A call that ends its child is made smaller until it fits on one line, and that line is run
twice more.
"""

from __future__ import annotations

import faulthandler
import os
import resource
import signal
from functools import partial
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List, NamedTuple, Optional, Sequence, Tuple

import torch

from torch_embers.oracles.repeat import mapped, tensors_in
from torch_embers.oracles.reproducer import literal

REFUSED, ACCEPTED = "refused", "accepted"
SECONDS = 3
"""Processor time of one call; the arguments have some hundred elements."""
ENDLESS = "no end within %d s of processor time" % SECONDS
"""What comes of a call that the timer ends."""
MEMORY = 1 << 30
"""Bytes that a call may ask for; beyond, the allocator refuses."""
TRIES = 40
"""Calls by which one is made smaller."""
EXPLICIT = 24
"""Elements of a tensor that are written out."""
LENGTHS = (1, 2, 3)
"""To which axes are cut, the smallest first."""
KINDS = ("rank", "empty", "length", "position", "dtype", "number", "list")


class Tensor(NamedTuple):
    """A tensor as text can make it: one value everywhere, or all values in order."""

    shape: Tuple[int, ...]
    dtype: Any
    values: Tuple[Any, ...]

    def text(self) -> str:
        """Python source."""
        kind = "" if self.dtype is torch.float32 else ", dtype=%s" % self.dtype
        if len(self.values) == 1:
            return "torch.full(%s, %s%s)" % (list(self.shape), _number(self.values[0]), kind or ", dtype=torch.float32")
        inside = ", ".join(_number(value) for value in self.values)
        return "torch.tensor([%s]%s).reshape(%s)" % (inside, kind, list(self.shape))


class Death(NamedTuple):
    """A call that ended its process.

    Attributes:
        kind: what was wrong with the arguments, one of ``KINDS``.
        argument: which one.
        ended: the signal, or that the call had no end.
        line: the call as one line; empty where it was not made so small, or does not die each time.
    """

    kind: str
    argument: str
    ended: str
    line: str


class Variant(NamedTuple):
    """Arguments that are changed in one thing."""

    kind: str
    argument: str
    args: Any
    kwargs: Any


def _number(value: Any) -> str:
    return literal(value) if not isinstance(value, float) or value == value else "float('nan')"


def variants(args: Sequence[Any], kwargs: Dict[str, Any]) -> Iterator[Variant]:
    """The arguments of a call, changed in one thing each."""
    for at, (kind, tensor) in _of_tensors([list(args), kwargs]):
        yield Variant(kind, "tensor %d" % at, *_with([list(args), kwargs], at, tensor))
    for at, value in enumerate(args):
        for kind, new in _of_value(value):
            yield Variant(kind, "argument %d" % at, [*args[:at], new, *args[at + 1 :]], kwargs)
    for name, value in kwargs.items():
        for kind, new in _of_value(value):
            yield Variant(kind, name, list(args), dict(kwargs, **{name: new}))


def _with(tree: Any, at: int, new: Any) -> Any:
    count = iter(range(len(tensors_in(tree))))
    return mapped(tree, lambda tensor: new if next(count) == at else tensor)


def _of_tensors(tree: Any) -> Iterator[Tuple[int, Tuple[str, Any]]]:
    for at, tensor in enumerate(tensors_in(tree)):
        for found in _of_tensor(tensor):
            yield at, found


def _of_tensor(tensor: Any) -> Iterator[Tuple[str, Any]]:
    yield "rank", tensor.unsqueeze(0).clone()
    yield "empty", tensor.new_empty([0] * max(1, tensor.dim()))
    if tensor.dim():
        yield "rank", tensor.flatten()[:1].reshape(()).clone() if tensor.numel() else tensor.new_zeros(())
        yield "rank", tensor.new_zeros(tensor.shape[1:])
        for axis in {0, tensor.dim() - 1}:
            size = list(tensor.shape)
            for length in {0, 1, size[axis] * 2 + 3} - {size[axis]}:
                yield "empty" if not length else "length", tensor.new_zeros([*size[:axis], length, *size[axis + 1 :]])
    if tensor.dtype in (torch.int64, torch.int32) and tensor.numel():
        for number in (-1, -(1 << 30), (1 << 31) - 1):
            yield "position", torch.full_like(tensor, number)
    others = {torch.float32: (torch.int64, torch.float64), torch.int64: (torch.int32, torch.float32)}
    for dtype in others.get(tensor.dtype, ()):
        yield "dtype", tensor.to(dtype)


def _of_value(value: Any) -> Iterator[Tuple[str, Any]]:
    if isinstance(value, int) and not isinstance(value, bool):
        for number in (-1, 0, 1 << 31, (1 << 62) - 1, -(1 << 62)):
            if number != value:
                yield "number", number
    if isinstance(value, (list, tuple)) and value and all(type(one) is int for one in value):
        for number in (-1, 0, 1 << 40):
            yield "number", [number] * len(value)
        yield "list", []
        yield "list", [*value, *value]


def outcomes(calls: Sequence[Callable[[], Any]]) -> List[str]:
    """What comes of calls in children: ``refused``, ``accepted``, ``ENDLESS``, or the name of the signal."""
    ended: List[str] = []
    while len(ended) < len(calls):
        read, write = os.pipe()
        child = os.fork()
        if not child:
            os.close(read)
            _in_child(calls[len(ended) :], write)
        os.close(write)
        with os.fdopen(read, "rb") as file:
            said = file.read().decode()
        _, status = os.waitpid(child, 0)
        ended += [REFUSED if letter == "r" else ACCEPTED for letter in said]
        if len(ended) < len(calls):
            ended.append(_how(status))
    return ended


def _how(status: int) -> str:
    """How a child ended whose last call did not come back."""
    if not os.WIFSIGNALED(status):
        return "exit"
    number = os.WTERMSIG(status)
    return ENDLESS if number == signal.SIGPROF else signal.Signals(number).name


def _in_child(calls: Sequence[Callable[[], Any]], write: int) -> None:
    faulthandler.disable()
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    memory = Path("/proc/self/statm")
    if memory.exists():
        pages = int(memory.read_text(encoding="ascii").split()[0])
        most = pages * resource.getpagesize() + MEMORY
        resource.setrlimit(resource.RLIMIT_AS, (most, most))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    for call in calls:
        signal.setitimer(signal.ITIMER_PROF, SECONDS)
        try:
            call()
            said = b"a"
        except BaseException:  # noqa: BLE001 - any exception is a refusal
            said = b"r"
        os.write(write, said)
    os._exit(0)


def deaths(
    func: Callable[..., Any], name: str, args: Sequence[Any], kwargs: Dict[str, Any]
) -> Tuple[List[Tuple[Variant, str]], List[Death]]:
    """Try all variants of a call: each with what came of it, and the first death of each kind, made small.

    Args:
        func: operator of the dispatcher.
        name: Python source of it.
        args: of a call that works.
        kwargs: of it.
    """
    tried = list(variants(args, kwargs))
    ended = outcomes([partial(_fresh, func, one) for one in tried])
    found: Dict[str, Death] = {}
    for one, how in zip(tried, ended):
        if how not in (REFUSED, ACCEPTED) and one.kind not in found:
            found[one.kind] = Death(one.kind, one.argument, how, Shrinker(name).line(one) or "")
    return list(zip(tried, ended)), list(found.values())


def _fresh(func: Callable[..., Any], one: Variant) -> Any:
    args, kwargs = mapped([list(one.args), one.kwargs], torch.clone)
    return func(*args, **kwargs)


class Shrinker:
    """Makes a call that ends its process so small that it fits on one line.

    Args:
        name: Python source of what is called.
    """

    def __init__(self, name: str) -> None:
        self.name, self.left = name, TRIES

    def line(self, one: Variant) -> Optional[str]:
        """The line, run twice more; None where there is none, or it does not end the process each time."""
        tree = [list(one.args), one.kwargs]
        start = self._plain(tree)
        if start is None:
            return None
        for length in LENGTHS:
            start = self._shorter(start, length)
        text = self.text(start)
        return text if all(how not in (REFUSED, ACCEPTED) for how in outcomes([partial(_run, text)] * 2)) else None

    def text(self, tree: Any) -> str:
        """The call."""
        given = [_text(value) for value in tree[0]] + ["%s=%s" % (key, _text(value)) for key, value in tree[1].items()]
        return "%s(%s)" % (self.name, ", ".join(given))

    def dies(self, tree: Any) -> bool:
        """Whether the call ends its process."""
        self.left -= 1
        if self.left < 0:
            return False
        try:
            text = self.text(tree)
        except ValueError:
            return False
        return outcomes([partial(_run, text)])[0] not in (REFUSED, ACCEPTED)

    def _plain(self, tree: Any) -> Optional[Any]:
        """The same call on tensors that hold one value each, or few values; None where it does not die so."""
        for fill in (0, 1):
            plain = mapped(tree, partial(_filled, value=fill))
            if self.dies(plain):
                return plain
        mixed = mapped(tree, lambda tensor: _kept(tensor) if not tensor.is_floating_point() else _filled(tensor, 1))
        if self.dies(mixed):
            return mixed
        kept = mapped(tree, _kept)
        return kept if self.dies(kept) else None

    def _shorter(self, tree: Any, length: int) -> Any:
        """Each length that an axis has, cut to a smaller one wherever it occurs."""
        for old in sorted({size for tensor in _leaves(tree) for size in tensor.shape if size > length}, reverse=True):
            smaller = _changed(tree, partial(_cut, old=old, new=length))
            if self.dies(smaller):
                tree = smaller
        return tree


def _run(text: str) -> Any:
    return eval(text, {"torch": torch})  # noqa: S307 - the text was made here


def _text(value: Any) -> str:
    if isinstance(value, Tensor):
        return value.text()
    if isinstance(value, (list, tuple)):
        return "[%s]" % ", ".join(_text(one) for one in value)
    return literal(value)


def _filled(tensor: Any, value: int) -> Tensor:
    """One value everywhere; a tensor that has one already keeps it."""
    flat = tensor.flatten()
    if flat.numel() and not tensor.is_floating_point() and bool((flat == flat[0]).all()):
        value = flat[0].item()
    return Tensor(tuple(tensor.shape), tensor.dtype, (value,))


def _kept(tensor: Any) -> Tensor:
    if tensor.numel() <= 1 or tensor.numel() > EXPLICIT:
        return _filled(tensor, 1)
    return Tensor(tuple(tensor.shape), tensor.dtype, tuple(tensor.flatten().tolist()))


def _leaves(tree: Any) -> List[Tensor]:
    if isinstance(tree, Tensor):
        return [tree]
    if isinstance(tree, (list, tuple)):
        return [leaf for part in tree for leaf in _leaves(part)]
    return [leaf for part in tree.values() for leaf in _leaves(part)] if isinstance(tree, dict) else []


def _changed(tree: Any, change: Callable[[Tensor], Tensor]) -> Any:
    if isinstance(tree, Tensor):
        return change(tree)
    if isinstance(tree, (list, tuple)):
        return [_changed(part, change) for part in tree]
    return {key: _changed(part, change) for key, part in tree.items()} if isinstance(tree, dict) else tree


def _cut(tensor: Tensor, old: int, new: int) -> Tensor:
    """Of explicit values those that stay are the first ones."""
    shape = tuple(new if size == old else size for size in tensor.shape)
    count = 1
    for size in shape:
        count *= size
    values = tensor.values if len(tensor.values) == 1 else tensor.values[:count]
    return Tensor(shape, tensor.dtype, values or (0,))
