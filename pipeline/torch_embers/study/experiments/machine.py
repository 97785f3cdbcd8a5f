"""The machine in words that a reader of a time needs: no names of hosts, no paths."""

from __future__ import annotations

import os
import platform
from contextlib import suppress
from pathlib import Path
from typing import Any

MEMORY = Path("/proc/meminfo")
PROCESSOR = Path("/proc/cpuinfo")
GROUP = Path("/sys/fs/cgroup")


def describe(torch: Any, devices: tuple[str, ...]) -> dict[str, str | int | float]:
    """What the times depend on: processor, cores, threads, memory, kernel, torch and its devices."""
    machine: dict[str, str | int | float] = {
        "processor": _first(PROCESSOR, "model name") or platform.processor() or platform.machine(),
        "cores": cores(),
        "threads": torch.get_num_threads(),
        "memory_gb": round(total_bytes() / 1e9, 1),
        # the rest of a release names one machine's own kernel
        "system": f"{platform.system()} {'.'.join(platform.release().split('.')[:2])}",
        "python": platform.python_version(),
        "torch": str(torch.__version__),
        "capability": str(torch.backends.cpu.get_cpu_capability()),
    }
    if "cuda" in devices:
        machine["cuda"] = str(torch.cuda.get_device_name(0))
    return machine


def cores() -> int:
    """Processors that this process may use."""
    with suppress(AttributeError):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def total_bytes() -> int:
    """Memory of the machine; 0 where it is unknown."""
    return _kilobytes("MemTotal") or _pages("SC_PHYS_PAGES")


def free_bytes() -> int:
    """Memory that can be had without swapping, in bytes: what the kernel says, or the limit of the container.

    Where the kernel does not say, half of all memory.
    """
    free = _kilobytes("MemAvailable") or total_bytes() // 2
    with suppress(OSError, ValueError):
        limit = int((GROUP / "memory.max").read_text(encoding="ascii"))
        used = int((GROUP / "memory.current").read_text(encoding="ascii"))
        free = min(free, max(limit - used, 0))
    return free


def _first(path: Path, name: str) -> str:
    with suppress(OSError):
        for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
            key, _, value = line.partition(":")
            if key.strip() == name:
                return value.strip()
    return ""


def _kilobytes(name: str) -> int:
    """An entry of /proc/meminfo in bytes; its kB are of 1,024 bytes."""
    digits = _first(MEMORY, name).split(" ")[0]
    return int(digits) * 1024 if digits.isdigit() else 0


def _pages(name: str) -> int:
    with suppress(ValueError, OSError, AttributeError):
        return os.sysconf(name) * os.sysconf("SC_PAGE_SIZE")
    return 0
