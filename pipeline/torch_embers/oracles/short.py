"""A script of a few lines that shows what a finding says: tensors laid by hand, the call, an assertion.

The case file of a finding judges by honest rounding and repeats itself on dense copies; this script has what a reader
of the report needs to see the fault, and nothing else. It is kept only where it was run and fails, and where the same
script on dense tensors does not.
"""

from __future__ import annotations

import keyword
from typing import Any, Dict, List, NamedTuple, Sequence, Tuple

import torch

from torch_embers.oracles import layouts

LONGEST = 160
"""Characters of a line; a script with longer ones is not short."""
MARGIN = 16
"""Elements behind the last one of a tensor."""


class Called(NamedTuple):
    """One call.

    Attributes:
        source: Python source of what is called.
        args: positional arguments; tensors as ``reproducer.Laid``.
        kwargs: the others.
        names: of the positional arguments.
        written: names of the arguments that are written to.
        literal: makes Python source of an argument that is no tensor.
    """

    source: str
    args: Sequence[Any]
    kwargs: Dict[str, Any]
    names: Sequence[str]
    written: Sequence[str]
    literal: Any


def write(called: Called, severity: str) -> str:
    """The script; empty where the fault does not show in one, or the call has no text.

    Args:
        called: the call on tensors that lie as they did when it failed.
        severity: wrong_value or outside_write; of others there is no script.

    Returns:
        Python source that ends with an AssertionError.
    """
    if severity not in ("wrong_value", "outside_write") or called.source.startswith("gradients("):
        return ""
    try:
        text = _script(called, severity)
        plain = _script(called._replace(args=_densely(called.args), kwargs=_densely(called.kwargs)), severity)
    except ValueError:
        return ""
    if max(map(len, text.splitlines())) > LONGEST or not _fails(text) or _fails(plain):
        return ""
    return text


def _fails(text: str) -> bool:
    """Whether the assertion of a script fails; a call that is refused shows nothing."""
    try:
        exec(compile(text, "<short>", "exec"), {})  # noqa: S102 - the text was made here
    except AssertionError:
        return True
    except Exception:  # noqa: BLE001 - whatever torch raises
        return False
    return False


def _is_laid(value: Any) -> bool:
    return hasattr(value, "stride") and hasattr(value, "negated")


def _densely(value: Any) -> Any:
    """The same arguments without their layouts."""
    if _is_laid(value):
        return value._replace(stride=layouts.dense_strides(value.size), offset=0, conjugated=False, negated=False)
    if isinstance(value, (list, tuple)):
        return [_densely(part) for part in value]
    if isinstance(value, dict):
        return {key: _densely(part) for key, part in value.items()}
    return value


class _Tensors:
    """The lines that make tensors, and what stands for these in the calls.

    Args:
        roomy: whether tensors that are written to lie in memory of their own with elements around them.
    """

    def __init__(self, roomy: bool) -> None:
        self.roomy = roomy
        self.lines: List[str] = []
        self.written: List[str] = []
        self.inside: List[Tuple[str, str, str]] = []
        self.used: Dict[str, int] = {}

    def name(self, wanted: str) -> str:
        """A name that is free and can be one."""
        plain = "x" if wanted in ("self", "input") or not wanted.isidentifier() or keyword.iskeyword(wanted) else wanted
        self.used[plain] = self.used.get(plain, 0) + 1
        return plain if self.used[plain] == 1 else "%s_%d" % (plain, self.used[plain])

    def text(self, value: Any, wanted: str, written: bool, literal: Any) -> Tuple[str, str]:
        """An argument as it stands in the call and in the call on dense copies."""
        if isinstance(value, (list, tuple)) and any(_is_laid(part) for part in value):
            parts = [self.text(part, wanted, written, literal) for part in value]
            return "[%s]" % ", ".join(one for one, _ in parts), "[%s]" % ", ".join(other for _, other in parts)
        if not _is_laid(value):
            source = literal(value)
            return source, source
        name = self.name(wanted)
        plain = self.make(value, name, written)
        if written and self.roomy:
            return name, name
        if written:
            self.written.append(name)
            self.lines.append("want_%s = %s" % (name, _dense(value, name)))
            return name, "want_" + name
        return name, name if plain else _dense(value, name)

    def make(self, laid: Any, name: str, written: bool) -> bool:
        """The lines of one tensor; whether it is dense."""
        dtype, size = laid.values.dtype, tuple(laid.size)
        dense = layouts.dense_strides(size) == tuple(laid.stride) and not laid.offset
        lazy = laid.negated or laid.conjugated
        if dense and not lazy and not (written and self.roomy):
            self.lines.append("%s = %s" % (name, _values(laid)))
            return True
        last = sum((length - 1) * step for length, step in zip(size, laid.stride)) if laid.values.numel() else 0
        length = laid.offset + last + 1 + MARGIN
        fill = "77" if laid.values.is_floating_point() or laid.values.is_complex() else "1"
        places = "as_strided(%s, %s, %d)" % (size, tuple(laid.stride), laid.offset)
        memory = "memory_of_%s" % name
        self.lines.append("%s = torch.full((%d,), %s, dtype=%s)" % (memory, length, fill, dtype))
        view = "%s.%s" % (memory, places)
        view = "torch._neg_view(%s)" % view if laid.negated else view + ".conj()" if laid.conjugated else view
        self.lines.append("%s = %s" % (name, view))
        if layouts.overlaps_itself(laid.build()):
            self.lines.append("%s[torch.arange(%d).%s] = %s" % (memory, length, places, _values(laid)))
        else:
            self.lines.append("%s.copy_(%s)" % (name, _values(laid)))
        if written:
            self.inside.append((name, memory, places))
        return False


def _values(laid: Any) -> str:
    """The values of a tensor, dense."""
    flat = laid.values.flatten()
    count = torch.arange(1, flat.numel() + 1)
    if flat.numel() and torch.equal((count % 8).to(flat.dtype), flat):
        source = "torch.arange(1, %d)%s" % (flat.numel() + 1, "" if flat.numel() < 8 else ".remainder(8)")
        source += "" if flat.dtype is torch.int64 else ".to(%s)" % flat.dtype
    else:
        listed = repr(flat.tolist()).replace("nan", "float('nan')").replace("inf", "float('inf')")
        source = "torch.tensor(%s, dtype=%s)" % (listed, flat.dtype)
    return source if tuple(laid.size) == (flat.numel(),) else "%s.reshape(%s)" % (source, tuple(laid.size))


def _dense(laid: Any, name: str) -> str:
    lazy = ".resolve_neg()" if laid.negated else ".resolve_conj()" if laid.conjugated else ""
    return "%s%s.clone(memory_format=torch.contiguous_format)" % (name, lazy)


def _script(called: Called, severity: str) -> str:
    """Lines of the script.

    Raises:
        ValueError: an argument has no text.
    """
    outside = severity == "outside_write"
    tensors = _Tensors(outside)
    given, wanted = [], []
    for place, value in enumerate(called.args):
        name = called.names[place] if place < len(called.names) else "x"
        one, other = tensors.text(value, name, name in called.written, called.literal)
        given.append(one)
        wanted.append(other)
    for name, value in called.kwargs.items():
        one, other = tensors.text(value, name, name in called.written, called.literal)
        given.append("%s=%s" % (name, one))
        wanted.append("%s=%s" % (name, other))
    lines = ["import torch", "", *tensors.lines]
    call = "%s(%s)" % (called.source, ", ".join(given))
    if outside:
        if not tensors.inside:
            raise ValueError("nothing is written")
        lines += ["before_%s = %s.clone()" % (name, memory) for name, memory, _ in tensors.inside]
        lines.append(call)
        for name, memory, places in tensors.inside:
            lines.append("before_%s.%s.copy_(%s.%s)  # what may be written" % (name, places, memory, places))
            lines.append("assert torch.equal(%s, before_%s), 'memory outside %s was changed'" % (memory, name, name))
        return "\n".join(lines) + "\n"
    right = "%s(%s)" % (called.source, ", ".join(wanted))
    if tensors.written:
        lines += [right, call]
        lines += ["torch.testing.assert_close(%s, want_%s)" % (name, name) for name in tensors.written]
    else:
        lines += ["want = " + right, "got = " + call, "torch.testing.assert_close(got, want)"]
    return "\n".join(lines) + "\n"
