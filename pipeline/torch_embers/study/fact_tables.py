"""What queries know from files: classes, releases, labels that name a backend, lines of wheels, sizes of fixes."""

from __future__ import annotations

import csv
from datetime import date
from typing import TYPE_CHECKING, Any

from packaging.version import Version

from torch_embers import resources
from torch_embers.cases import fix_test_rules

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

FIX_COMMITS = "fix_commit_facts.csv"


def tables() -> Iterator[tuple[str, str, Sequence[tuple[Any, ...]]]]:
    """Name, columns with types, and rows of each temporary table, read anew.

    Raises:
        InputError: a file is missing or malformed.
    """
    columns = "scheme VARCHAR, class VARCHAR, parent VARCHAR, place INTEGER, paper_name VARCHAR, definition VARCHAR"
    yield "study_classes", columns, classes()
    yield "study_backend_labels", "label VARCHAR, backend VARCHAR", backend_labels()
    days = release_days()
    releases = [(version, days[version], place) for place, version in enumerate(sorted(days, key=Version))]
    yield "study_releases", "version VARCHAR, released DATE, place INTEGER", releases
    columns = (
        "version VARCHAR, module VARCHAR, component VARCHAR, subcomponent VARCHAR, strict BOOLEAN, "
        "files INTEGER, lines INTEGER"
    )
    yield (
        "study_wheel_lines",
        columns,
        [tuple(row[name.split()[0]] for name in columns.split(", ")) for row in wheel_lines()],
    )
    columns = "commit_sha VARCHAR, files INTEGER, lines INTEGER, component VARCHAR"
    yield "study_fix_commits", columns, fix_commits()
    yield "study_first_days", "version VARCHAR, released DATE", first_days()


def wheel_lines() -> list[dict[str, str]]:
    """Python files and lines of each part of a release, as counted in wheels in November 2026.

    The program that counted is ``study/wheel_lines.py`` of commit 9e1468a7.
    """
    return list(csv.DictReader(resources.analysis_text("results", "wheel_lines.csv").splitlines()))


def release_days() -> dict[str, date]:
    """The day of the first upload to PyPI of one release for each minor version."""
    return {row["version"]: date.fromisoformat(row["released"]) for row in wheel_lines()}


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


def fix_commits() -> list[tuple[Any, ...]]:
    """Commits that fix issues: files and lines outside of tests, component (tools/fix_commit_facts.py).

    Raises:
        InputError: the file is missing.
    """
    with resources.data_file(FIX_COMMITS).open(encoding="utf-8", newline="") as file:
        return [
            (row["commit_sha"], int(row["files"]), int(row["lines"]), row["component"]) for row in csv.DictReader(file)
        ]


def first_days() -> list[tuple[str, date]]:
    """The day of the first upload of each release x.y.0; ``study_releases`` has the patch release that was measured."""
    return list(fix_test_rules.load().releases.days.items())
