"""CPU counters of the calling thread: what this machine has is counted, what it has not is left out.

Instructions and cycles come from the processor by Linux's ``perf_event_open``; a virtual machine, a container or the
setting ``kernel.perf_event_paranoid`` may withhold them. Page faults and context switches come from the kernel's own
account of the thread. Standard library only: this file is also part of the program that is timed.
"""

import contextlib
import ctypes
import os
import platform
import struct
from typing import Dict, Optional

HARDWARE = {"instructions": 1, "cycles": 0}
"""Number of the event in linux/perf_event.h."""
SOFTWARE = ("page_faults", "context_switches")
NAMES = (*HARDWARE, *SOFTWARE)
_CALLS = {"x86_64": 298, "aarch64": 241}
"""Number of the system call by machine."""
_SIZE = 64
"""Of the first version of ``perf_event_attr``."""
_USER_ONLY = 1 << 5 | 1 << 6
"""``exclude_kernel`` and ``exclude_hv``: what an ordinary user may count."""


def _opened(event: int) -> Optional[int]:
    """A counter of this thread as a file, None where the machine has none."""
    number = _CALLS.get(platform.machine()) if platform.system() == "Linux" else None
    if number is None:
        return None
    attributes = struct.pack("IIQQQQQ", 0, _SIZE, event, 0, 0, 0, _USER_ONLY).ljust(_SIZE, b"\0")
    file: int = ctypes.CDLL(None, use_errno=True).syscall(number, attributes, 0, -1, -1, 0)
    return file if file >= 0 else None


class Counters:
    """Counts from now on, until it is closed."""

    def __init__(self) -> None:
        files = {name: _opened(event) for name, event in HARDWARE.items()}
        self._files = {name: file for name, file in files.items() if file is not None}

    def read(self) -> Dict[str, float]:
        """Return what was counted so far, by name."""
        counted: Dict[str, float] = {
            name: struct.unpack("Q", os.read(file, 8))[0] for name, file in self._files.items()
        }
        with contextlib.suppress(ImportError, AttributeError):  # Windows has no such account, macOS none of a thread
            import resource

            used = resource.getrusage(resource.RUSAGE_THREAD)
            counted["page_faults"] = used.ru_minflt + used.ru_majflt
            counted["context_switches"] = used.ru_nvcsw + used.ru_nivcsw
        return counted

    def close(self) -> None:
        """Give the counters back."""
        for file in self._files.values():
            os.close(file)
        self._files = {}
