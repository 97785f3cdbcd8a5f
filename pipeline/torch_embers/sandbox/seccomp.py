"""Turn the system calls that a run may not make into the kernel's filter program (classic BPF).

The namespaces already make most of these calls useless; the filter also shuts what no namespace covers: vsock,
key rings, memory that no limit counts. Format: Linux ``Documentation/userspace-api/seccomp_filter.rst``.
"""

from __future__ import annotations

import errno
import platform
import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from torch_embers.sandbox.sandbox_rules import Seccomp

ARCHITECTURES = {"x86_64": (0, 0xC000003E), "aarch64": (1, 0xC00000B7)}
"""Machine -> column in ``data/sandbox.toml`` and AUDIT_ARCH number."""

NUMBERS = {
    "clone": (56, 220),
    "socket": (41, 198),
    "ioctl": (16, 29),
    "socketpair": (53, 199),
    "personality": (135, 92),
    "prctl": (157, 167),
    "setsockopt": (54, 208),
}
"""Calls that are looked at by argument."""

DONE = 0
"""In place of an error: the call does nothing and says that it was done."""
SOCKET_LEVEL = 1
"""Options of all sockets, whatever their family."""
UNIX, NETLINK = 1, 16
"""Families of sockets whose protocols are looked at in another way."""

SUPERVISOR = 1
"""The supervisor's number in the namespace of its run."""

X32_BIT = 0x40000000
LOAD, JUMP_EQUAL, JUMP_AT_LEAST, JUMP_ANY_BIT, RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
ALLOW, KILL, FAIL = 0x7FFF0000, 0x80000000, 0x00050000
NUMBER, ARCHITECTURE, ARGUMENTS = 0, 4, 16
"""Offsets in ``struct seccomp_data``; each argument has 8 bytes, the low half first on both machines."""


@dataclass(frozen=True, slots=True)
class Instruction:
    """One BPF instruction: operation, jumps when true and when false (in instructions), operand."""

    code: int
    true: int
    false: int
    operand: int

    def packed(self) -> bytes:
        """``struct sock_filter``."""
        return struct.pack("=HBBI", self.code, self.true, self.false, self.operand)


def supported(machine: str | None = None) -> bool:
    """Whether call numbers of this machine are known."""
    return (machine or platform.machine()) in ARCHITECTURES


def program(rules: Seccomp, machine: str | None = None) -> bytes:
    """Return the filter of the ``[seccomp]`` table for ``machine`` (default: this one), as ``struct sock_filter[]``.

    Raises:
        KeyError: the machine's call numbers are not known; ask ``supported`` first.
    """
    column, architecture = ARCHITECTURES[machine or platform.machine()]
    steps = [
        Instruction(LOAD, 0, 0, ARCHITECTURE),
        Instruction(JUMP_EQUAL, 1, 0, architecture),
        Instruction(RETURN, 0, 0, KILL),
        Instruction(LOAD, 0, 0, NUMBER),
        Instruction(JUMP_AT_LEAST, 0, 1, X32_BIT),
        Instruction(RETURN, 0, 0, FAIL | errno.ENOSYS),
    ]
    for calls, error in ((rules.denied, errno.EPERM), (rules.missing, errno.ENOSYS)):
        for numbers in calls.values():
            if numbers[column] >= 0:
                steps += _answer(numbers[column], error)
    shut = [(JUMP_ANY_BIT, rules.namespaces), (JUMP_ANY_BIT, rules.siblings)]
    steps += _by_argument(NUMBERS["clone"][column], 0, shut, errno.EPERM)
    steps += _by_argument(NUMBERS["prctl"][column], 0, _equal(rules.process_options), errno.EPERM)
    steps += _by_argument(NUMBERS["ioctl"][column], 1, _equal(rules.ioctls), errno.EPERM)
    for call in rules.about_process.values():
        steps += _by_argument(call[column], call[2], _equal([SUPERVISOR]), errno.EPERM)
    for call in rules.about_user.values():
        steps += _by_argument(call[column], 0, _equal([call[2]]), errno.EPERM)
    steps += _unless(NUMBERS["personality"][column], 0, rules.personalities, errno.EPERM)
    steps += _unless(NUMBERS["socketpair"][column], 0, rules.pairs, errno.EAFNOSUPPORT)
    steps += _unless(NUMBERS["socket"][column], 0, rules.families, errno.EAFNOSUPPORT)
    steps += _options(NUMBERS["setsockopt"][column], rules)
    steps += _protocols(NUMBERS["socket"][column], rules)
    steps.append(Instruction(RETURN, 0, 0, ALLOW))
    return b"".join(step.packed() for step in steps)


def _answer(number: int, error: int) -> list[Instruction]:
    return [Instruction(JUMP_EQUAL, 0, 1, number), Instruction(RETURN, 0, 0, FAIL | error)]


def _equal(values: Iterable[int]) -> list[tuple[int, int]]:
    return [(JUMP_EQUAL, value) for value in values]


def _by_argument(number: int, index: int, tests: list[tuple[int, int]], error: int) -> list[Instruction]:
    """Refuse call ``number`` where any test of its argument ``index`` holds; the call's number stays loaded."""
    body = [Instruction(LOAD, 0, 0, ARGUMENTS + 8 * index)]
    for code, operand in tests:
        body += [Instruction(code, 0, 1, operand), Instruction(RETURN, 0, 0, FAIL | error)]
    body.append(Instruction(LOAD, 0, 0, NUMBER))
    return [Instruction(JUMP_EQUAL, 0, len(body), number), *body]


def _options(number: int, rules: Seccomp) -> list[Instruction]:
    """Pass over, or refuse, options that concern every socket; the call's number stays loaded."""
    tests = [Instruction(LOAD, 0, 0, ARGUMENTS + 8 * 2)]
    for options, answer in ((rules.passed_over, DONE), (rules.socket_options, errno.EPERM)):
        for option in options:
            tests += _answer(option, answer)
    level = [Instruction(LOAD, 0, 0, ARGUMENTS + 8), Instruction(JUMP_EQUAL, 0, len(tests), SOCKET_LEVEL)]
    body = [*level, *tests, Instruction(LOAD, 0, 0, NUMBER)]
    return [Instruction(JUMP_EQUAL, 0, len(body), number), *body]


def _protocols(number: int, rules: Seccomp) -> list[Instruction]:
    """Refuse sockets of other protocols than those allowed for their family; a pair of unix sockets has none."""
    refuse = Instruction(RETURN, 0, 0, FAIL | errno.EPROTONOSUPPORT)
    checks: list[list[Instruction]] = []
    for allowed in (rules.netlink, rules.protocols):
        body = [Instruction(LOAD, 0, 0, ARGUMENTS + 8 * 2)]
        body += [Instruction(JUMP_EQUAL, len(allowed) - place, 0, value) for place, value in enumerate(allowed)]
        checks.append([*body, refuse, Instruction(RETURN, 0, 0, ALLOW)])
    netlink, others = checks
    family = [
        Instruction(LOAD, 0, 0, ARGUMENTS),
        Instruction(JUMP_EQUAL, 0, 1, UNIX),
        Instruction(RETURN, 0, 0, ALLOW),
        Instruction(JUMP_EQUAL, 0, len(netlink), NETLINK),
    ]
    body = [*family, *netlink, *others]
    return [Instruction(JUMP_EQUAL, 0, len(body), number), *body]


def _unless(number: int, index: int, allowed: Iterable[int], error: int) -> list[Instruction]:
    """Refuse call ``number`` where its argument ``index`` is none of ``allowed``."""
    values = list(allowed)
    body = [Instruction(LOAD, 0, 0, ARGUMENTS + 8 * index)]
    body += [Instruction(JUMP_EQUAL, len(values) - place, 0, value) for place, value in enumerate(values)]
    body += [Instruction(RETURN, 0, 0, FAIL | error), Instruction(LOAD, 0, 0, NUMBER)]
    return [Instruction(JUMP_EQUAL, 0, len(body), number), *body]
