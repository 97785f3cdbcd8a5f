"""What queries know from files: classes, releases, labels that name a backend, lines of wheels."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from packaging.version import Version

from torch_embers import resources
from torch_embers.study import wheel_lines

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


def tables() -> Iterator[tuple[str, str, Sequence[tuple[Any, ...]]]]:
    """Name, columns with types, and rows of each temporary table, read anew.

    Raises:
        InputError: a file is missing or malformed.
    """
    columns = "scheme VARCHAR, class VARCHAR, parent VARCHAR, place INTEGER, paper_name VARCHAR, definition VARCHAR"
    yield "study_classes", columns, classes()
    yield "study_backend_labels", "label VARCHAR, backend VARCHAR", backend_labels()
    days = wheel_lines.release_days()
    releases = [(version, days[version], place) for place, version in enumerate(sorted(days, key=Version))]
    yield "study_releases", "version VARCHAR, released DATE, place INTEGER", releases
    columns = (
        "version VARCHAR, module VARCHAR, component VARCHAR, subcomponent VARCHAR, strict BOOLEAN, "
        "files INTEGER, lines INTEGER"
    )
    lines = [
        (r.version, r.module, r.component, r.subcomponent, r.strict, r.files, r.lines) for r in wheel_lines.measured()
    ]
    yield "study_wheel_lines", columns, lines


def classes() -> list[tuple[Any, ...]]:
    """Classes of the taxonomy in the order of data/taxonomy.toml."""
    return [
        (scheme["name"], entry["name"], entry.get("parent_class"), place, entry.get("paper_name"), entry["definition"])
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
