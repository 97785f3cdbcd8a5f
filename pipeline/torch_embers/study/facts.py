"""What queries know from files: classes, releases, labels that name a backend, lines of wheels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from packaging.version import Version

from torch_embers import resources
from torch_embers.study import wheel_lines

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(frozen=True, slots=True)
class FactTable:
    """A temporary table: its name, its columns with types, its rows."""

    name: str
    columns: str
    rows: Sequence[tuple[Any, ...]]


def tables() -> tuple[FactTable, ...]:
    """All of them, read anew.

    Raises:
        InputError: a file is missing or malformed.
    """
    return (
        FactTable(
            "study_classes",
            "scheme VARCHAR, class VARCHAR, parent VARCHAR, place INTEGER, paper_name VARCHAR, definition VARCHAR",
            classes(),
        ),
        FactTable("study_backend_labels", "label VARCHAR, backend VARCHAR", backend_labels()),
        FactTable("study_releases", "version VARCHAR, released DATE, place INTEGER", releases()),
        FactTable(
            "study_wheel_lines",
            "version VARCHAR, module VARCHAR, component VARCHAR, subcomponent VARCHAR, strict BOOLEAN, "
            "files INTEGER, lines INTEGER",
            [
                (r.version, r.module, r.component, r.subcomponent, r.strict, r.files, r.lines)
                for r in wheel_lines.measured()
            ],
        ),
    )


def classes() -> list[tuple[Any, ...]]:
    """Classes of the taxonomy in the order of data/taxonomy.toml."""
    return [
        (
            scheme["name"],
            entry["name"],
            entry.get("parent_class"),
            place,
            entry.get("paper_name"),
            entry["definition"],
        )
        for scheme in resources.load_toml("taxonomy.toml")["scheme"]
        for place, entry in enumerate(scheme["class"])
    ]


def backend_labels() -> list[tuple[str, str]]:
    """Maintainers' labels that name a backend, in lower case (data/labelling.toml)."""
    return [
        (label.lower(), function["value"])
        for function in resources.load_toml("labelling.toml")["function"]
        if function["scheme"] == "backend" and function["kind"] == "label"
        for label in function["labels"]
    ]


def releases() -> list[tuple[Any, ...]]:
    """Releases with the day on which they came out, in order."""
    days = wheel_lines.release_days()
    return [(version, days[version], place) for place, version in enumerate(sorted(days, key=Version))]
