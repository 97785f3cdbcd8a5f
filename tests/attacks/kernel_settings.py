"""Change settings of the kernel.

Ends: exited 0.
"""

import sys
from pathlib import Path

for place in (
    "sys/kernel/core_pattern",
    "sys/kernel/hostname",
    "sys/kernel/modprobe",
    "sys/kernel/pid_max",
    "sys/vm/drop_caches",
    "sys/user/max_user_namespaces",
    "sys/net/ipv4/ip_forward",
    "sysrq-trigger",
    "1/oom_score_adj",
    "self/oom_score_adj",
    "self/uid_map",
    "irq/0/smp_affinity",
):
    path = Path("/proc", place)
    try:
        text = path.read_text() if path.is_file() and not place.startswith("sysrq") else "h"
        path.write_text(text)
    except OSError:
        continue
    sys.exit(f"{path} can be written")
