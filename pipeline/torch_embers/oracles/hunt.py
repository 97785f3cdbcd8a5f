"""The hunt inside a build: which operators there are, and sweeps over some of them, one line of output each."""

from __future__ import annotations

import signal
from typing import Any, Dict, List, Mapping

import torch

from torch_embers.oracles import guesses
from torch_embers.oracles.cells import Cell, pack
from torch_embers.oracles.sweep import Bounds, Sweep


def database(device: str = "cpu") -> Dict[str, Any]:
    """The operators of this build by name and variant: those with samples, then those of the dispatcher without."""
    from torch.testing._internal.common_methods_invocations import op_db

    found: Dict[str, Any] = {op.name + ("." + op.variant_test_name if op.variant_test_name else ""): op for op in op_db}
    found.update(guesses.entries([name for op in op_db for name in (op.name, *alias_names(op))], device))
    return found


def alias_names(op: Any) -> List[str]:
    """Other names of an operator."""
    return [str(alias.name) for alias in getattr(op, "aliases", ())]


def names(options: Mapping[str, Any]) -> None:
    """Print which operators this build's database has for each dtype."""
    found = {name: sorted(str(dtype).replace("torch.", "") for dtype in op.dtypes) for name, op in database().items()}
    print(pack(found), flush=True)  # noqa: T201 - the way out of the sandbox
    del options


def main(options: Mapping[str, Any]) -> None:
    """Sweep operators one after the other; the entry of a sandboxed run.

    It ends early where the memory of the process may be damaged, and where the output would be cut: the driver goes on
    with what is missing.
    """
    torch.set_num_threads(1)
    ops = database(options["device"])
    others = [op.name for op in ops.values()]
    bounds = Bounds(options["seconds"], options["samples"], options["modes"], options["device"])
    room = int(options["room"])
    for name, dtype in options["ops"]:
        signal.setitimer(signal.ITIMER_PROF, options["hard"])  # ends a call that does not come back
        sweep = Sweep(ops[name], name, getattr(torch, dtype), options["rules"], options["skip"], bounds, others)
        sweep.only = Cell(*options["only"]) if options["only"] else None
        row = swept(sweep)
        line = pack(row)
        print(line, flush=True)  # noqa: T201 - the way out of the sandbox
        room -= len(line)
        if room < 0 or any(found["severity"] == "outside_write" for found in row["findings"]):
            break
    signal.setitimer(signal.ITIMER_PROF, 0)


def swept(sweep: Sweep) -> Dict[str, Any]:
    """What a sweep came to; an exception of the samples themselves is told in ``skipped``."""
    try:
        return sweep.run()
    except Exception as error:  # noqa: BLE001 - samples are foreign code, and the next operator must have its turn
        dtype = str(sweep.dtype).replace("torch.", "")
        why = "%s: %s" % (type(error).__name__, str(error).partition("\n")[0][:120])
        return {"op": sweep.name, "dtype": dtype, "cells": [], "skipped": {why: 1}, "findings": [], "own": ""}
