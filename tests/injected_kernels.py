"""Operators with an injected fault, and correct ones that look suspicious: what the layout oracle must tell apart.

Run as a script by the interpreter of any build (`python tests/injected_kernels.py`), it prints the table as JSON.
"""

import json
import sys
from collections import namedtuple
from pathlib import Path

import torch

NAMESPACE = "embers_injected"
Kernel = namedtuple("Kernel", "name about schema function arguments wrong")
KERNELS = []


def kernel(schema, arguments, wrong):
    """Register a function as an operator; ``wrong`` is the severity that must be found, or None for a correct one."""

    def add(function):
        KERNELS.append(Kernel(function.__name__, function.__doc__, schema, function, arguments, wrong))
        return function

    return add


def rows(*shape, dtype=torch.float32, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed)).to(dtype)


def flat_of(x, count):
    """Elements of the storage from its beginning, as a kernel sees them that knows nothing of strides."""
    have = x.as_strided((min(count, reach(x) + 1 + x.storage_offset()),), (1,), 0)
    return torch.cat([have, have.new_zeros(max(0, count - len(have)))])


def reach(x):
    return sum((size - 1) * stride for size, stride in zip(x.size(), x.stride()))


def dense(x):
    return x.is_contiguous() and not x.storage_offset()


def turned(*shape, **more):
    return rows(*shape, **more).t()


ONE = "(Tensor x) -> Tensor"
TWO = "(Tensor x, Tensor y) -> Tensor"
INPLACE = "(Tensor(a!) x, Tensor y) -> Tensor(a!)"
OUT = "(Tensor x, *, Tensor(a!) out) -> Tensor(a!)"


# --- injected faults


@kernel(
    "(Tensor(a!) x, Tensor y, Tensor z) -> Tensor(a!)", lambda: (turned(5, 4), rows(4, 5), rows(4, 5)), "wrong_value"
)
def result_stays_in_copy(x, y, z):
    """addcmul_ into a contiguous copy that is never copied back, as on MPS before 2.9"""
    x.contiguous().add_(y * z)
    return x


@kernel(INPLACE, lambda: (rows(6, 8)[:, ::2], rows(6, 4)), "outside_write")
def writes_in_order(x, y):
    """writes its elements one behind the other over the gaps of the view"""
    x.as_strided((x.numel(),), (1,), x.storage_offset()).copy_(y.reshape(-1))
    return x


@kernel(INPLACE, lambda: (rows(6, 4)[1:3], rows(2, 4)), "outside_write")
def writes_one_too_many(x, y):
    """writes one element behind the end of the view"""
    x.copy_(y)
    x.as_strided((1,), (1,), x.storage_offset() + reach(x) + 1).fill_(3)
    return x


@kernel(ONE, lambda: rows(8).as_strided((5, 4), (1, 1)), "wrong_value")
def counts_overlap_twice(x):
    """changes a copy of the storage once per element of the view"""
    copy = x.as_strided((reach(x) + 1,), (1,), x.storage_offset()).clone().as_strided(x.size(), x.stride())
    for place in range(x.size(0)):
        copy[place] *= 2
    return copy.clone()


@kernel(ONE, lambda: rows(4, 3000).abs().t(), "wrong_value")
def sums_in_bfloat16(x):
    """a strided sum that keeps its partial sums in bfloat16"""
    if dense(x):
        return x.sum(0)
    total = x.new_zeros(x.shape[1:], dtype=torch.bfloat16)
    for row in x[::25]:
        total = total + row.bfloat16()
    return x.sum(0) - x[::25].sum(0) + total.float()


@kernel(OUT, lambda: (rows(4, 5), torch.zeros(5, 4).t()), "wrong_value")
def out_ignores_strides(x, out):
    """writes the result into the destination's memory in the order of rows"""
    out.as_strided(out.size(), (out.size(1), 1), out.storage_offset()).copy_(x * 2)
    return out


@kernel(
    "(Tensor(a!)[] x, Tensor[] y) -> ()", lambda: ([rows(3, 4), turned(4, 3)], [rows(3, 4), rows(3, 4)]), "wrong_value"
)
def list_strides_of_first(x, y):
    """uses the strides of the first tensor of a list for all"""
    for one, other in zip(x, y):
        one.as_strided(one.size(), x[0].stride(), 0).add_(other)


@kernel(OUT, lambda: (rows(4, 5), torch.zeros(4, 10)[:, ::2]), "outside_write")
def fills_the_gaps(x, out):
    """fills the memory between the elements of a strided destination with ones"""
    out.as_strided((reach(out) + 1,), (1,), out.storage_offset()).fill_(1)
    return out.copy_(x)


# --- correct though awkward


@kernel(
    "(Tensor x) -> (Tensor, Tensor)",
    lambda: torch.randint(0, 3, (9, 6), generator=torch.Generator().manual_seed(1)).float().t(),
    None,
)
def unstable_sort(x):
    """orders equal elements differently where the tensor is strided"""
    if dense(x):
        return x.sort(dim=1, stable=True)
    value, place = x.flip(1).sort(dim=1, stable=True)
    return value, x.size(1) - 1 - place


@kernel("(Tensor x, *, Generator? generator=None) -> Tensor", lambda: turned(5, 4), None)
def draws(x, generator=None):
    """draws random numbers"""
    return x + torch.rand(x.shape)


@kernel(ONE, lambda: rows(30, 50).t(), None)
def other_softmax(x):
    """takes the sum of powers along another way"""
    if dense(x):
        return x.softmax(1)
    powers = x.exp()
    return powers / powers.double().sum(1, keepdim=True).float()


@kernel(TWO, lambda: (rows(300, 16).t(), rows(300, 8)), None)
def blocked_product(x, y):
    """splits a matrix product along the inner axis"""
    if dense(x):
        return x @ y
    return sum((x[:, at : at + 70] @ y[at : at + 70] for at in range(0, 300, 70)), torch.zeros(16, 8))


@kernel(ONE, lambda: rows(40, 300).t(), None)
def single_precision_alone(x):
    """refuses double precision, so that there is no reference"""
    if x.dtype is not torch.float32:
        raise RuntimeError("float32 only")
    return x.sum(0) if dense(x) else x.flip(0).cumsum(0)[-1]


@kernel(ONE, lambda: turned(5, 4), None)
def strided_alone(x):
    """refuses a dense argument"""
    if x.is_contiguous():
        raise RuntimeError("give me a transposed tensor")
    return x * 2


@kernel(
    TWO,
    lambda: (torch.complex(rows(4, 5), rows(4, 5, seed=1)).t(), torch.complex(rows(5, 4), rows(5, 4, seed=2))),
    None,
)
def other_complex_product(x, y):
    """multiplies complex numbers by three products instead of four"""
    if dense(x):
        return x * y
    first, second, third = x.real * y.real, x.imag * y.imag, (x.real + x.imag) * (y.real + y.imag)
    return torch.complex(first - second, third - first - second)


SIMPLE = {
    ("wrong_value", ONE): {
        "reads the storage in order, whatever the strides": (
            lambda: turned(5, 4),
            lambda x: flat_of(x, x.numel()).reshape(x.shape) * 2,
        ),
        "reads from the beginning of the storage": (
            lambda: rows(6, 4)[2:],
            lambda x: x.as_strided(x.size(), x.stride(), 0) * 2,
        ),
        "takes channels_last memory for the usual order": (
            lambda: rows(2, 3, 4, 4).contiguous(memory_format=torch.channels_last),
            lambda x: flat_of(x, x.numel()).reshape(x.shape).relu(),
        ),
        "gives the shape of the memory, not of the view": (
            lambda: turned(5, 4),
            lambda x: x * 2 if dense(x) else x.t().contiguous() * 2,
        ),
        "the strided loop turns NaN into zero": (
            lambda: torch.tensor([[1.0, float("nan")], [2.0, 3.0]]).t(),
            lambda x: x.clone() if dense(x) else torch.nan_to_num(x),
        ),
        "scales its argument in place where it is not dense": (
            lambda: turned(5, 4),
            lambda x: (x if dense(x) else x.mul_(0.5)).sum(0) * (1 if dense(x) else 2),
        ),
        "the strided loop computes in half precision": (
            lambda: rows(64, 64).t(),
            lambda x: x.exp() if dense(x) else x.exp().half().float(),
        ),
        "a strided sum of integers that overflows 32 bits": (
            lambda: torch.full((4, 5), 2**30).t(),
            lambda x: x.sum(0) if dense(x) else x.sum(0).int().long(),
        ),
    },
    ("wrong_value", "(Tensor grad, Tensor x) -> Tensor"): {
        "reads an expanded gradient as if it were dense": (
            lambda: (torch.ones(()).expand(4, 5), rows(4, 5)),
            lambda grad, x: flat_of(grad, grad.numel()).reshape(x.shape) * x,
        ),
    },
    ("broken_promise", OUT): {
        "hands new memory to a destination that has the right shape already": (
            lambda: (rows(4, 5), torch.zeros(5, 4).t()),
            lambda x, out: out.set_((x * 2).contiguous()),
        ),
    },
    ("wrong_value", TWO): {
        "uses the strides of the first argument for the second": (
            lambda: (rows(4, 5), turned(5, 4)),
            lambda x, y: x + y.as_strided(x.size(), x.stride(), y.storage_offset()),
        ),
        "reads strided positions as if they were dense": (
            lambda: (rows(9, 3), torch.arange(8)[::2]),
            lambda x, y: x[flat_of(y, y.numel())],
        ),
    },
    ("broken_promise", ONE): {
        "hands its argument on where it promises new memory": (lambda: turned(5, 4), lambda x: x.view_as(x)),
    },
    (None, INPLACE): {
        "works on a dense copy and copies it back": (
            lambda: (turned(5, 4), rows(4, 5)),
            lambda x, y: x.copy_(x.contiguous().mul_(y)),
        ),
        "gets one tensor as destination and as argument": (
            lambda: (lambda x: (x, x))(turned(5, 4)),
            lambda x, y: x.add_(y),
        ),
    },
    (None, ONE): {
        "sums a strided tensor from its end": (
            lambda: rows(40, 300).t(),
            lambda x: x.sum(0) if dense(x) else x.flip(0).cumsum(0)[-1],
        ),
        "gives its result the strides of the argument": (
            lambda: turned(5, 4),
            lambda x: torch.empty_like(x).copy_(x.abs()),
        ),
        "gives its result in channels_last, whatever the argument": (
            lambda: rows(2, 3, 4, 4).contiguous(memory_format=torch.channels_last),
            lambda x: x.relu().contiguous(memory_format=torch.channels_last),
        ),
        "sums terms that cancel, in another order: only the rounding is left": (
            lambda: (
                torch.cat([rows(500, 4), -rows(500, 4)])[
                    torch.randperm(1000, generator=torch.Generator().manual_seed(0))
                ]
                .t()
                .contiguous()
                .t()
            ),
            lambda x: x.sum(0) if dense(x) else x.flip(0).cumsum(0)[-1],
        ),
        "overflows to infinity in some places": (lambda: rows(20, 30).mul(60).t(), lambda x: x.exp()),
        "hands NaN and infinity on": (
            lambda: torch.tensor([[1.0, float("nan")], [float("inf"), 3.0]]).t(),
            lambda x: x * 2,
        ),
        "lets integers overflow": (lambda: torch.full((4, 5), 2**62).t(), lambda x: x * 3),
        "has nothing to do": (lambda: rows(0, 4).t(), lambda x: x * 2),
        "gets one number from the middle of a storage": (lambda: rows(7)[3], lambda x: x.sigmoid()),
        "sums in single precision and rounds once to bfloat16, in another order": (
            lambda: rows(40, 300, dtype=torch.bfloat16).t(),
            lambda x: x.float().sum(0).bfloat16() if dense(x) else x.float().flip(0).cumsum(0)[-1].bfloat16(),
        ),
    },
    (None, "(Tensor(a) x) -> Tensor(a)"): {
        "is a view and says so": (
            lambda: turned(5, 4),
            lambda x: x.as_strided(x.size(), x.stride(), x.storage_offset()),
        ),
    },
    (None, OUT): {
        "resizes an empty destination": (
            lambda: (turned(5, 4), torch.empty(0)),
            lambda x, out: out.resize_(x.shape).copy_(x),
        ),
    },
    (None, "(Tensor[] x) -> Tensor[]"): {
        "takes and gives a list": (lambda: [turned(5, 4), rows(4)], lambda x: [part * 2 for part in x]),
    },
}
"""What fits in an expression: by severity and schema what it does, its arguments and the function."""
for (wrong, schema), made in SIMPLE.items():
    for about, (arguments, function) in made.items():
        name = "".join(letter if letter.isalnum() else "_" for letter in about)
        KERNELS.append(Kernel(name, about, schema, function, arguments, wrong))


def examined(rules):
    """What the oracle says of each operator: rows of name, about, wrong (expected severity) and found (severities)."""
    from torch_embers.oracles.layout import LayoutOracle

    library = torch.library.Library(NAMESPACE, "DEF")
    table = []
    for one in KERNELS:
        library.define(one.name + one.schema)
        library.impl(one.name, one.function, "CPU")
        oracle = LayoutOracle(with_ties(rules))
        args, kwargs = one.arguments(), {}
        args = args if isinstance(args, tuple) else (args,)
        if one.schema == OUT:
            args, kwargs = args[:-1], {"out": args[-1]}
        with oracle:
            getattr(getattr(torch.ops, NAMESPACE), one.name)(*args, **kwargs)
        found = sorted({finding.severity for finding in oracle.findings})
        table.append({"name": one.name, "about": one.about, "wrong": one.wrong, "found": found})
    KEPT.append(library)
    return table


KEPT = []
"""A library that is collected takes its operators with it."""


def with_ties(rules):
    """The rules, and one more as the author of an unstable sort would write it."""
    tie = {"ops": [NAMESPACE + ".unstable_sort"], "along": "dim", "reason": "equal elements come in any order"}
    return {**rules, "ties": [*rules["ties"], tie]}


if __name__ == "__main__":
    root = Path(__file__).resolve().parent.parent
    sys.path.insert(0, str(root / "pipeline"))
    import tomllib

    table = examined(tomllib.loads((root / "data" / "oracles.toml").read_text(encoding="utf-8")))
    for line in table:
        verdict = "ok" if (line["found"] == [line["wrong"]] if line["wrong"] else not line["found"]) else "BAD"
        print(verdict, json.dumps(line))
