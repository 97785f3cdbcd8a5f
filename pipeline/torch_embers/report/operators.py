"""Which operators of torch a script names, for the pages of operators."""

from __future__ import annotations

from torch_embers.torch_names import ROOT, uses_of


def operators(code: str, leave_out: frozenset[str] = frozenset(), modules: frozenset[str] = frozenset()) -> list[str]:
    """Names below ``torch`` that the code takes, such as ``nn.functional.pad``, sorted; none where it cannot be parsed.

    Args:
        code: a Python script.
        leave_out: names that count as no operators; all names below them are left out, too, but those of ``nn``.
        modules: names that hold operators and are none themselves.
    """
    try:
        found = uses_of(code).found
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []
    names = {use.name.removeprefix(f"{ROOT}.") for use in found if use.name.startswith(f"{ROOT}.")}
    kept = names - leave_out - modules
    return sorted(name for name in kept if name.split(".", 1)[0] not in leave_out - {"nn"})
