"""Why code that parses cannot run in a sandbox on the CPU: packages, data, other processes, an accelerator."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from torch_embers.extract import extract_rules
from torch_embers.extract.changes import guarded, has_package
from torch_embers.extract.names import aliases, dotted, last_name, nodes

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from torch_embers.extract.changes import Draft
    from torch_embers.extract.script_command import Command


def needs(draft: Draft, command: Command) -> tuple[str, str] | None:
    """Reason and what is missing; None where nothing is."""
    own = extract_rules.load().refused
    known = aliases(draft.tree)
    modules = list(_modules(draft))
    calls = [node for node in nodes(draft.tree) if isinstance(node, ast.Call)]
    called = [dotted(call.func, known) for call in calls]
    for reason, names, refused in (
        ("data", modules, own.data_modules),
        ("device", modules, own.device_modules),
        ("machines", modules, own.machine_modules),
        ("package", modules, {name for name in modules if not has_package(name)}),
        ("data", called, own.data_calls),
        ("package", called, own.package_calls),
    ):
        if found := _first(names, refused):
            return reason, found
    return _file(calls, called) or _processes(draft, calls, command) or _device(draft, known)


def _first(names: Sequence[str], wanted: Collection[str]) -> str:
    """The first name that is wanted, by itself or as what is taken from anything: ``.save``."""
    return next((name for name in names if name in wanted or f".{name.rpartition('.')[2]}" in wanted), "")


def _modules(draft: Draft) -> Iterator[str]:
    """Dotted names of what is imported, with all that they are within: ``a``, ``a.b``."""
    for node in nodes(draft.tree):
        match node:
            case ast.Import(names=names):
                full = [alias.name for alias in names]
            case ast.ImportFrom(level=0, module=str(module), names=names):
                full = [f"{module}.{alias.name}" for alias in names]
            case _:
                continue
        for name in full:
            parts = name.split(".")
            yield from (".".join(parts[:length]) for length in range(1, len(parts) + 1))


def _file(calls: list[ast.Call], called: list[str]) -> tuple[str, str] | None:
    """A named file is read in a script that writes none."""
    own = extract_rules.load().refused
    if _first(called, own.writers):
        return None
    for call, name in zip(calls, called, strict=True):
        match call.args:
            case [ast.Constant(value=str(path)), *rest] if name in own.readers and path != "/dev/null":
                mode = [arg.value for arg in rest if isinstance(arg, ast.Constant)]
                if not mode or not set(str(mode[0])) & set("wax+"):
                    return "data", path[:80]
    return None


def _processes(draft: Draft, calls: list[ast.Call], command: Command) -> tuple[str, str] | None:
    """Several processes; one that talks to itself runs anywhere."""
    if command.processes > 1:
        return "machines", "the report starts several"
    for call in calls:
        if last_name(call) not in ("init_process_group", "init_device_mesh"):
            continue
        given = {keyword.arg: getattr(keyword.value, "value", None) for keyword in call.keywords}
        first = getattr(call.args[0], "value", None) if call.args else None
        backend = given.get("backend", first)
        if backend == "fake" or "FakeStore" in draft.text:
            continue
        if backend in ("nccl", "xccl", "hccl"):
            return "device", str(backend)
        size = given.get("world_size", command.processes)
        if size != 1:
            return "machines", f"world_size={size or 'is not said'}"
    return None


def _device(draft: Draft, known: Mapping[str, str]) -> tuple[str, str] | None:
    """What nothing on a CPU answers."""
    needed = extract_rules.load().devices.needed
    asked = guarded(draft)
    used = [node for node in nodes(draft.tree) if isinstance(node, ast.Attribute) and id(node) not in asked]
    names = [*aliases(draft.tree).values(), *(dotted(node, known) for node in used)]
    found = next(filter(needed.fullmatch, names), "")
    return ("device", found) if found else None
