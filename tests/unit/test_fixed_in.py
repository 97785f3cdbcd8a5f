"""Bug fixes of the release notes, executed: the shipped rows agree with their scripts, their draw and their outcomes."""

from __future__ import annotations

import ast
import csv
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SCRIPTS = ROOT / "analysis" / "fixed_in"


def rows_of(name: str) -> list[dict[str, str]]:
    with (ROOT / "analysis" / "results" / name).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def outcome(before: str, named: str, newest: str) -> str:
    """What the three columns say."""
    if "cannot" in (before, named):
        return "cannot"
    if before == "good":
        return "passes before" if named == "good" else "fails after"
    if named == "bad":
        return "still fails"
    return {"good": "fails before, passes after", "bad": "fails again"}.get(newest, "cannot")


ROWS = rows_of("fixed_in.csv")


def test_every_script_is_named_once_and_every_named_script_exists() -> None:
    named = [row["script"] for row in ROWS if row["script"]]
    assert sorted(named) == sorted(path.name for path in SCRIPTS.glob("pr*.py"))
    assert all(row["script"] == f"pr{row['pull']}.py" for row in ROWS if row["script"])


def test_outcomes_follow_from_the_three_columns() -> None:
    for row in ROWS:
        seen = row["before"], row["named"], row["newest"]
        if row["script"]:
            assert row["decidable"] == "yes"
            assert set(seen) <= {"bad", "good", "cannot"}
            assert row["outcome"] == outcome(*seen), row
        else:
            assert row["decidable"] not in ("", "yes"), row
            assert (*seen, row["outcome"]) == ("", "", "", "")


def test_rows_are_the_beginning_of_the_draw() -> None:
    drawn = [row for row in rows_of("fixed_in_list.csv") if row["draw"]]
    keys = ("draw", "pull", "release", "area")
    assert [[row[key] for key in keys] for row in ROWS] == [[row[key] for key in keys] for row in drawn[: len(ROWS)]]


@pytest.mark.parametrize("path", sorted(SCRIPTS.glob("pr*.py")), ids=lambda path: path.stem)
def test_a_script_says_what_it_checks_and_parses_on_old_builds(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert ast.get_docstring(ast.parse(text, feature_version=(3, 8)))
    assert "code = 125" in text
