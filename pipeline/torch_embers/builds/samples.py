"""PyTorch's own database of operators and samples in a build: runs whose zygotes have it, and what they tell."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from torch_embers.errors import SandboxError
from torch_embers.oracles import cells
from torch_embers.sandbox.runner import PRELOAD

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from torch_embers.builds.registry import Build
    from torch_embers.builds.work import Machine
    from torch_embers.sandbox.runner import Attempt, Runner

SAMPLES = "torch.testing._internal.common_methods_invocations"
"""The zygote imports it once."""
_LACKS = re.compile(r"^ModuleNotFoundError: No module named '([\w.]{1,80})'$", re.MULTILINE)


def runner_on(build: Build, machine: Machine, start: float) -> AbstractContextManager[Runner]:
    """What operators are run by.

    Args:
        build: whose operators.
        machine: makes the runs.
        start: seconds in which the samples must be imported.
    """
    return machine.on(build, preload=(*PRELOAD, SAMPLES), start=start)


def told(runner: Runner, attempt: Attempt) -> Any:
    """The first plain data that an attempt prints.

    Raises:
        SandboxError: it prints none, or the build lacks a package that the samples import.
    """
    why = ""
    for result in runner.run([attempt]):
        for data in cells.unpack(result.stdout):
            return data
        if lacks := _LACKS.search(result.stderr):
            package = lacks[1].partition(".")[0]
            advice = f"install it into the environment of that build (`pip install {package}`)"
            raise SandboxError(f"the build lacks {package}, which PyTorch's samples of operators import: {advice}")
        why = f": {result.detail} {result.stderr[-300:]}"
    raise SandboxError(f"this build tells no operators{why}")
