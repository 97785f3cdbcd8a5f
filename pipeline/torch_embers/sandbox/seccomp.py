"""Turn the list of system calls that a run may make into the kernel's filter program (classic BPF).

The namespaces already make most other calls useless; the filter also shuts what no namespace covers: vsock, key rings,
memory that no limit counts, and kernel code that a script has no use for. What is not listed does not exist (ENOSYS),
so that the C library falls back. Format: Linux ``Documentation/userspace-api/seccomp_filter.rst``.
"""

from __future__ import annotations

import csv
import errno
import platform
import struct
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING

from torch_embers import resources

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from torch_embers.sandbox.sandbox_rules import Checked, Condition, Seccomp

NUMBERS = "system_calls.csv"
"""Numbers of calls by machine, of the headers of Linux 6.1 (``asm/unistd_64.h``, ``asm-generic/unistd.h``) and those
added up to 6.15, which are equal on both."""
ARCHITECTURES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
"""Machine -> AUDIT_ARCH number."""

LOAD, AND, JUMP, JUMP_EQUAL, JUMP_AT_LEAST, RETURN = 0x20, 0x54, 0x05, 0x15, 0x35, 0x06
ALLOW, KILL, FAIL = 0x7FFF0000, 0x80000000, 0x00050000
DONE = FAIL
"""Error 0: the call does nothing and says that it was done."""
NUMBER, ARCHITECTURE, ARGUMENTS = 0, 4, 16
"""Offsets in ``struct seccomp_data``; each argument has 8 bytes, the low half first on both machines."""
EVERY_BIT = 0xFFFFFFFF


@dataclass(frozen=True, slots=True)
class Instruction:
    """One BPF instruction: operation, operand, jumps when true and when false (in instructions)."""

    code: int
    operand: int
    true: int = 0
    false: int = 0

    def packed(self) -> bytes:
        """``struct sock_filter``."""
        return struct.pack("=HBBI", self.code, self.true, self.false, self.operand)


def supported(machine: str | None = None) -> bool:
    """Whether call numbers of this machine are known."""
    return (machine or platform.machine()) in ARCHITECTURES


@cache
def numbers(machine: str) -> Mapping[str, int | None]:
    """Name -> number of every call; None where this machine has no such call."""
    with resources.data_file(NUMBERS).open(encoding="ascii", newline="") as file:
        return {row["name"]: int(row[machine]) if row[machine] else None for row in csv.DictReader(file)}


def program(rules: Seccomp, machine: str | None = None, *, devices: bool = False, more: Iterable[str] = ()) -> bytes:
    """Return the filter of the ``[seccomp]`` table for ``machine`` (default: this one), as ``struct sock_filter[]``.

    Args:
        rules: which calls, and which arguments of those that do many things.
        machine: name of an architecture.
        devices: whether the run sees devices of a GPU, whose drivers take requests of their own.
        more: calls that are allowed, too.

    Raises:
        KeyError: the machine's call numbers are not known (ask ``supported`` first), or no call has such a name.
    """
    machine = machine or platform.machine()
    known = numbers(machine)
    steps = [
        Instruction(LOAD, ARCHITECTURE),
        Instruction(JUMP_EQUAL, ARCHITECTURES[machine], true=1),
        Instruction(RETURN, KILL),
        Instruction(LOAD, NUMBER),
    ]
    allowed = {known[name] for group in rules.allowed for name in group.calls} | {known[name] for name in more}
    for entry in rules.checked:
        for number in filter(None, (known[name] for name in entry.calls)):
            steps += _only(number, _arguments(entry, devices=devices))
    for group in rules.refused:
        for number in filter(None, (known[name] for name in group.calls)):
            steps += _only(number, [Instruction(RETURN, FAIL | getattr(errno, group.error))])
    steps += _ranges(number for number in allowed if number is not None)
    steps.append(Instruction(RETURN, FAIL | errno.ENOSYS))
    return b"".join(step.packed() for step in steps)


def _only(number: int, body: list[Instruction]) -> list[Instruction]:
    """Do ``body``, which returns, where the call has this number."""
    return [Instruction(JUMP_EQUAL, number, true=1), Instruction(JUMP, len(body)), *body]


def _ranges(allowed: Iterable[int]) -> list[Instruction]:
    """Allow these numbers; neighbours share a comparison."""
    ordered = sorted(allowed)
    gaps = [(low, high) for low, high in pairwise(ordered) if high != low + 1]
    starts, ends = [ordered[0], *(high for _, high in gaps)], [*(low for low, _ in gaps), ordered[-1]]
    steps = []
    for start, end in zip(starts, ends, strict=True):
        steps += [
            Instruction(JUMP_AT_LEAST, start, false=2),
            Instruction(JUMP_AT_LEAST, end + 1, true=1),
            Instruction(RETURN, ALLOW),
        ]
    return steps


def _arguments(entry: Checked, *, devices: bool) -> list[Instruction]:
    """Allow a call in one of its ways, pass it over in others, and refuse it in all that are left."""
    steps = []
    for ways, answer in ((entry.ways + entry.with_devices * devices, ALLOW), (entry.passed_over, DONE)):
        for way in ways:
            body = [Instruction(RETURN, answer)]
            for condition in reversed(way):
                body = [*_unless(condition, len(body)), *body]
            steps += body
    return [*steps, Instruction(RETURN, FAIL | getattr(errno, entry.error))]


def _unless(condition: Condition, distance: int) -> list[Instruction]:
    """Jump over ``distance`` further instructions unless the condition holds."""
    steps = [Instruction(LOAD, ARGUMENTS + 8 * condition.argument)]
    if condition.mask != EVERY_BIT:
        steps.append(Instruction(AND, condition.mask))
    values = condition.among or condition.without
    # An equal value jumps behind the last of these tests and what stands there: the jump out, or one over it.
    for place, value in enumerate(values):
        steps.append(Instruction(JUMP_EQUAL, value, true=len(values) - place))
    if condition.without:
        steps.append(Instruction(JUMP, 1))
    return [*steps, Instruction(JUMP, distance)]
