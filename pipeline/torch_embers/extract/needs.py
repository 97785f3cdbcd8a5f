"""Why code that parses cannot run in a sandbox on the CPU: packages, data, other processes, an accelerator."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from torch_embers.extract import extract_rules
from torch_embers.extract.changes import guarded, has_package
from torch_embers.extract.names import aliases, dotted, last_name, nodes

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch_embers.extract.changes import Draft
    from torch_embers.extract.script_command import Command

_STARTS_GROUP = frozenset({"init_process_group", "init_device_mesh"})


def needs(draft: Draft, command: Command) -> tuple[str, str] | None:
    """Reason and what is missing; None where nothing is."""
    own = extract_rules.load().refused
    known = draft.known()
    calls = [node for node in nodes(draft.tree) if isinstance(node, ast.Call)]
    called = [dotted(call.func, known) for call in calls]
    for reason, modules in (
        ("data", own.data_modules),
        ("device", own.device_modules),
        ("machines", own.machine_modules),
    ):
        for module in _modules(draft):
            if module in modules or module.partition(".")[0] in modules:
                return reason, module
    for module in _modules(draft):
        if not has_package(module):
            return "package", module.partition(".")[0]
    for reason, names in (("data", own.data_calls), ("package", own.package_calls)):
        for name in called:
            if name in names or f".{name.rpartition('.')[2]}" in names:
                return reason, name
    return _file(calls, called) or _processes(draft, calls, command) or _device(draft, known)


def _modules(draft: Draft) -> Iterator[str]:
    """Dotted names of what is imported, with all that they are within: ``a``, ``a.b``."""
    for node in nodes(draft.tree):
        match node:
            case ast.Import(names=names):
                full = [alias.name for alias in names]
            case ast.ImportFrom(level=0, module=str(module), names=names):
                full = [f"{module}.{alias.name}" for alias in names]
            case ast.ImportFrom(module=module):
                full = [f"a relative import of {module or 'names'}"]
            case _:
                continue
        for name in full:
            parts = name.split(".")
            yield from (".".join(parts[:length]) for length in range(1, len(parts) + 1))


def _file(calls: list[ast.Call], called: list[str]) -> tuple[str, str] | None:
    """A named file is read in a script that writes none."""
    own = extract_rules.load().refused
    if any(name in own.writers or f".{name.rpartition('.')[2]}" in own.writers for name in called):
        return None
    for call, name in zip(calls, called, strict=True):
        match call.args:
            case [ast.Constant(value=str(path)), *rest] if name in own.readers and path != "/dev/null":
                mode = [arg.value for arg in rest if isinstance(arg, ast.Constant)]
                if not mode or not set(str(mode[0])) & set("wax+"):
                    return "data", path[:80]
            case _:
                continue
    return None


def _processes(draft: Draft, calls: list[ast.Call], command: Command) -> tuple[str, str] | None:
    """Several processes; one that talks to itself runs anywhere."""
    if command.processes > 1:
        return "machines", "the report starts several"
    for call in calls:
        name = last_name(call)
        given = {keyword.arg: getattr(keyword.value, "value", None) for keyword in call.keywords}
        first = getattr(call.args[0], "value", None) if call.args else None
        if name == "spawn" and given.get("nprocs", 0) != 1 and "nprocs" in given:
            return "machines", f"nprocs={given['nprocs'] or 'several'}"
        if name not in _STARTS_GROUP:
            continue
        backend = given.get("backend", first)
        if backend == "fake" or "FakeStore" in draft.text:
            continue
        if backend in ("nccl", "xccl", "hccl"):
            return "device", str(backend)
        size = given.get("world_size")
        if "world_size" not in given and (
            command.processes == 1 or 'WORLD_SIZE"] = "1"' in draft.text.replace("'", '"')
        ):
            size = 1
        if size != 1:
            return "machines", f"world_size={size or 'is not said'}"
    return None


def _device(draft: Draft, known: dict[str, str]) -> tuple[str, str] | None:
    """What nothing on a CPU answers."""
    own = extract_rules.load().devices
    asked = guarded(draft)
    used = [node for node in nodes(draft.tree) if isinstance(node, ast.Attribute) and id(node) not in asked]
    names = [*aliases(draft.tree).values(), *(dotted(node, known) for node in used)]
    for name in names:
        if own.needed.fullmatch(name):
            return "device", name
    for node in used:  # a property of the device
        if isinstance(node.value, ast.Call) and own.guarded.fullmatch(dotted(node.value.func, known)):
            return "device", dotted(node.value.func, known)
    return None
