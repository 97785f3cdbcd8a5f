"""CompiledOracle: a function as it is and under torch.compile, each judged against fp64."""

from __future__ import annotations

from typing import Any, Callable, List, Tuple

import torch

from torch_embers.oracles.finding import Finding
from torch_embers.oracles.habits import changed_arguments
from torch_embers.oracles.measure import outputs_of
from torch_embers.oracles.pairs import CannotCompareError, PairOracle, differing, truth_of


class CompiledOracle(PairOracle):
    """Compares results, gradients and changed arguments of a function with those of its compiled form.

    Args:
        backend: of ``torch.compile``; ``aot_eager`` finds faults of tracing, ``inductor`` also those of its kernels.

    Raises:
        CannotCompareError: this build has no torch.compile; of ``check``, the compiler cannot run here (no C++
            compiler, no Triton).
    """

    def __init__(self, backend: str = "inductor") -> None:
        if not hasattr(torch, "compile"):
            raise CannotCompareError("the compiled oracle needs torch 2.0 or newer, not %s" % torch.__version__)
        super().__init__()
        self.backend = backend

    def _compared(self, run: Callable[..., Any], inputs: Tuple[Any, ...], gradients: bool, name: str) -> List[Finding]:
        eager = outputs_of(run, inputs, gradients)
        torch._dynamo.reset()  # noqa: SLF001 - its only name; else an earlier check's code would be run
        compiled = torch.compile(run, backend=self.backend)
        try:
            second = outputs_of(compiled, inputs, gradients)
        except Exception as error:  # whatever the compiler raises, the eager run did not
            if cannot_compile(error):
                raise CannotCompareError("torch.compile cannot run here: %s" % _first_line(error)) from error
            text = "%s raises %s under torch.compile and not without: %s"
            message = text % (name, type(error).__name__, _first_line(error))
            return [Finding("compiled", name, "", "refusal", message, place="call")]
        found = differing(
            "compiled", name, truth_of(run, inputs, gradients), (("eager", eager), (self.backend, second))
        )
        before, after = changed_arguments(run, inputs), changed_arguments(compiled, inputs)
        if before != after:
            text = "%s changes arguments %s eagerly and %s under torch.compile" % (name, before, after)
            found.append(Finding("compiled", name, "", "wrong_value", text, place="arguments"))
        return found


def cannot_compile(error: BaseException) -> bool:
    """Whether an error says that this machine has nothing to compile with."""
    words = ("InvalidCxxCompiler", "No working C++ compiler", "Cannot find a working triton", "TritonMissing")
    text = "%s %s" % (type(error).__name__, error)
    return any(word in text for word in words)


def _first_line(error: BaseException) -> str:
    return (str(error).strip().splitlines() or [""])[0][:200]
