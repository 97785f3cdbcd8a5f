"""Which oracles a script can be run under, by the names that a user gives."""

from __future__ import annotations

from torch_embers.errors import InputError
from torch_embers.oracles import attach

ELSEWHERE = {
    "compiled": "it compares a function with its compiled form: `embers.CompiledOracle().check(function, *inputs)`",
    "device": "it compares a function on two devices: `embers.DeviceOracle().check(function, *inputs)`",
    "timing": "it compares two builds: `embers research perf SCRIPT --build A --build B`",
}
"""Oracles that no single run of a script can be put under, and what to use."""


def oracles_of(text: str) -> list[str]:
    """The oracles of an option, names separated by commas.

    Raises:
        InputError: there is no such oracle, or it looks at something else than a run.
    """
    names = [name.strip() for name in text.split(",") if name.strip()]
    for name in names or [text]:
        if name in ELSEWHERE:
            raise InputError(f"a script cannot be run under the oracle {name!r}: {ELSEWHERE[name]}")
        if name not in attach.ORACLES:
            raise InputError(f"no oracle {name!r}: use {' or '.join(attach.ORACLES)}")
    return list(dict.fromkeys(names))
