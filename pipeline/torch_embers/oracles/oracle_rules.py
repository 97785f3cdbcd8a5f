"""What the oracles leave out and allow, from the plain data of data/oracles.toml.

Inside a build there may be no reader of TOML, so the data comes from outside: the Python API reads the file, the runner
hands it over as JSON.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Dict, Mapping, Optional, Tuple

from torch_embers.oracles.compare import Yardstick


@dataclass(frozen=True)
class Skip:
    """Operators of which a repetition says nothing, or only a part.

    Attributes:
        kind: view, undefined, random, not_unique, bookkeeping, communicates or hidden_state.
        reason: why.
        checks: what is looked at nevertheless: ``outside`` (memory around destinations), ``first`` (the first result).
        unless_zero: arguments that make the rule void where they are zero or absent.
    """

    kind: str
    reason: str
    checks: Tuple[str, ...] = ()
    unless_zero: Tuple[str, ...] = ()


class OracleRules:
    """The rules by operator.

    Args:
        data: the parsed file.

    Attributes:
        case_file: texts of the case file that repeats one call.
        unwatched: operators that gradient formulas call in place where no dispatch mode watches.
    """

    def __init__(self, data: Mapping[str, Any]) -> None:
        numbers = {key: value for key, value in data["yardstick"].items() if not key.endswith("_reason")}
        self.yardstick = Yardstick(**numbers)
        limits = data["limits"]
        self.largest = int(limits["largest"])
        self.reproducer = int(limits["reproducer"])
        self.shrink = int(limits["shrink"])
        self.findings = int(limits["findings"])
        self.case_file: Mapping[str, str] = data["case_file"]
        self._skips: Dict[str, Skip] = {}
        for entry in data["skip"]:
            skip = Skip(
                entry["kind"], entry["reason"], tuple(entry.get("checks", ())), tuple(entry.get("unless_zero", ()))
            )
            self._skips.update((name, skip) for name in entry["ops"])
        self._ties = {name: str(entry["along"]) for entry in data["ties"] for name in entry["ops"]}
        self.unwatched = frozenset(name for entry in data["unwatched"] for name in entry["ops"])
        self._alias = frozenset(name for entry in data["alias"] for name in entry["ops"])

    def skip(self, op: str) -> Optional[Skip]:
        """Why an operator, such as ``aten.empty_like``, is left out; None where it is not."""
        by_prefix = (skip for name, skip in self._skips.items() if name.endswith("*") and op.startswith(name[:-1]))
        return self._skips.get(op) or next(by_prefix, None)

    def ties(self, op: str) -> str:
        """Along what positions of an operator's result count: dim, plane2, plane3; empty where it gives none."""
        return self._ties.get(op, "")

    def may_alias(self, op: str) -> bool:
        """Whether an operator may hand its argument on though its schema does not say so."""
        return op in self._alias
