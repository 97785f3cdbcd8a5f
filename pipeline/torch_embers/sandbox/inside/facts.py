"""Asks an interpreter which torch it has, or whether that torch works. Runs inside builds: Python 3.8 syntax.

Usage: ``python -I facts.py identity|check|compile``; the answer is one line of JSON, the last of its output.
``compile`` writes the bytecode of torch, and of what it imports late, where it lacks.
"""

import compileall
import importlib.util
import json
import os
import platform
import sys
from typing import Any, Callable, Dict, List


def identity() -> Dict[str, object]:
    """What the build says of itself."""
    torch: Any = __import__("torch")
    cuda = getattr(torch.version, "cuda", None)
    hip = getattr(torch.version, "hip", None)
    backends = getattr(torch, "backends", None)
    cpu: Any = getattr(backends, "cpu", None)
    mps = getattr(backends, "mps", None)
    devices: List[str] = ["cpu"]
    found: Dict[str, object] = {
        "version": str(torch.__version__),
        "git_commit": str(getattr(torch.version, "git_version", "") or ""),
        "debug": bool(getattr(torch.version, "debug", False)),
        "compiled_for": "cuda " + str(cuda) if cuda else ("rocm " + str(hip) if hip else "cpu"),
        "python": platform.python_version(),
        "platform": sys.platform + "-" + platform.machine(),
        "capability": str(cpu.get_cpu_capability()) if hasattr(cpu, "get_cpu_capability") else _capability(torch),
        "devices": devices,
        "device_name": "",
        "driver": "",
        "numpy": "",
        "base": sys.base_prefix,
        "torch_home": str(torch.__file__),
    }
    if torch.cuda.is_available():
        devices.append("cuda")
        found["device_name"] = str(torch.cuda.get_device_name(0))
        found["driver"] = str(cuda)
    if mps is not None and mps.is_available():
        devices.append("mps")
        found["driver"] = platform.mac_ver()[0]
    try:
        found["numpy"] = str(__import__("numpy").__version__)
    except Exception as error:
        found["numpy"] = "unusable: " + type(error).__name__
    return found


def _capability(torch: Any) -> str:
    """CPU capability of a release before 2.1, which names it among its settings only."""
    config: Any = getattr(torch, "__config__", None)
    for line in str(config.show()).splitlines() if config is not None else ():
        if "CPU capability usage:" in line:
            return line.partition("usage:")[2].strip()
    return ""


def _matmul(torch: Any, device: str) -> None:
    left = torch.arange(6.0).reshape(2, 3).to(device)
    got = (left @ left.t()).cpu().tolist()
    assert got == [[5.0, 14.0], [14.0, 50.0]], got


def _backward(torch: Any, device: str) -> None:
    leaf = torch.ones(3, device=device, requires_grad=True)
    (leaf * leaf * leaf).sum().backward()
    assert leaf.grad.cpu().tolist() == [3.0, 3.0, 3.0], leaf.grad


def _numpy(torch: Any, device: str) -> None:
    del device
    assert torch.tensor([1.0, 2.0]).numpy().tolist() == [1.0, 2.0]


def _pkg_resources(torch: Any, device: str) -> None:
    """Releases before 2.2 import it in places: its lack looks like a bug of torch."""
    del device
    major, minor = (int(part) for part in torch.__version__.split(".")[:2])
    if (major, minor) < (2, 2):
        __import__("pkg_resources")


def check() -> Dict[str, str]:
    """Name -> ok, or what went wrong."""
    torch: Any = __import__("torch")
    devices = ["cpu"]
    if torch.cuda.is_available():
        devices.append("cuda")
    mps = getattr(torch.backends, "mps", None)
    if mps is not None and mps.is_available():
        devices.append("mps")
    found = {"import": "ok"}
    for device in devices:
        for step in (_matmul, _backward):
            found[step.__name__[1:] + " on " + device] = _tried(step, torch, device)
    for step in (_numpy, _pkg_resources):
        found[step.__name__[1:]] = _tried(step, torch, "cpu")
    return found


def _tried(step: Callable[[Any, str], None], torch: Any, device: str) -> str:
    try:
        step(torch, device)
    except Exception as error:
        return (type(error).__name__ + ": " + str(error))[:300]
    return "ok"


COMPILED = ("torch", "functorch", "sympy", "mpmath", "networkx", "numpy", "setuptools", "torchgen")
"""Packages whose modules torch and scripts for it import."""


def compile_all() -> Dict[str, bool]:
    """Write the bytecode that lacks; package -> whether every file of it has one now."""
    found = {}
    for name in COMPILED:
        spec = importlib.util.find_spec(name)
        for folder in (spec.submodule_search_locations or ()) if spec else ():
            if os.access(folder, os.W_OK):
                found[name] = bool(compileall.compile_dir(folder, quiet=2, workers=0))
    return found


if __name__ == "__main__":
    print(json.dumps({"identity": identity, "check": check, "compile": compile_all}[sys.argv[1]]()))
