"""Which guarantees of the sandbox were proven on this host."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

GUARANTEES = (
    "no_network",
    "private_home",
    "clean_environment",
    "read_only_build",
    "private_tmp",
    "own_pid_namespace",
    "no_user_namespaces",
    "memory_cap",
    "process_cap",
    "output_cap",
    "time_cap",
    "no_new_privileges",
    "sibling_isolation",
    "no_survivors",
    "sealed_result",
)
"""All of them, in the order of reports."""


ESTIMATED = "memory_cap (estimated)"
"""What runs say of the memory cap where no control group counts, but the supervisor, which looks 50 times a second."""


@dataclass(frozen=True, slots=True)
class Proof:
    """What holds on this host: guarantee -> empty, or why not."""

    guarantees: Mapping[str, str]
    host: str
    """One line naming the machine's system."""
    program: str = ""
    """Identity of the bubblewrap that it was tried with."""
    cgroup: str = ""
    """The group below which the groups of runs were made; empty where none was."""
    cgroup_reason: str = ""
    """Why none was; both are empty where no sandbox could be started."""

    @property
    def held(self) -> tuple[str, ...]:
        """The guarantees that hold."""
        return tuple(name for name, why in self.guarantees.items() if not why)

    def is_estimated(self, name: str) -> bool:
        """Whether a guarantee that holds is kept by an estimate."""
        return name == "memory_cap" and not self.cgroup

    @property
    def missing(self) -> dict[str, str]:
        """The others, with the reason."""
        return {name: why for name, why in self.guarantees.items() if why}

    @property
    def complete(self) -> bool:
        """Whether hostile scripts may run here."""
        return not self.missing and set(self.guarantees) == set(GUARANTEES)
