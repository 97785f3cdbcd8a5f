"""`embers data judge`: what a person says of a report's script is kept beside the database and counts in its timeline."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from helpers.timeline_rows import NOON, crashed, ended, put
from support import assert_clean_error, rows, run_embers
from torch_embers import judgements
from torch_embers.store import rows as rows_of
from torch_embers.store.store import Store
from torch_embers.timeline import judged

if TYPE_CHECKING:
    from pathlib import Path

MATCHES = "SELECT versions, match, evidence FROM timelines ORDER BY number, place"
SEGMENTS = (crashed("2.5.1", "2.6.0", match="other"), ended("2.7.1", "2.8.0", match="other"))


def say(database: Path, *options: str, number: int = 5) -> Any:
    return run_embers("data", "judge", number, "--reason", "seen", "--annotator", "ann", *options, "-d", database)


def matches(database: Path) -> list[str | None]:
    return [match for _, match, _ in rows(database, MATCHES)]


def test_what_a_person_says_of_the_newest_behaviour_counts_in_the_timeline(database: Path) -> None:
    put(database, 5, SEGMENTS, provenance="shipped")
    done = say(database, "--right-script", "yes", "--match", "as_expected", "--relation", "same")
    assert done.stdout.startswith(
        "#5: right_script yes, match as_expected, script_relation same, says human:ann; it counts"
    )
    assert matches(database) == ["other", "as_expected"]
    [_, (_, _, evidence)] = rows(database, MATCHES)
    assert evidence.startswith("judged by a person (ann, ")


def test_another_release_can_be_judged_and_the_newest_answer_counts(database: Path) -> None:
    put(database, 5, SEGMENTS, provenance="shipped")
    assert say(database, "--match", "as_expected", "--on", "2.5.1").returncode == 0
    assert say(database, "--match", "as_reported", "--on", "2.5.1").returncode == 0
    assert matches(database) == ["as_reported", "other"]


def test_where_a_reader_agrees_the_evidence_stays_what_was_found(database: Path) -> None:
    put(database, 5, SEGMENTS, provenance="shipped")
    before = rows(database, "SELECT evidence FROM timelines ORDER BY place")
    assert say(database, "--match", matches(database)[0], "--on", "2.5.1").returncode == 0
    assert rows(database, "SELECT evidence FROM timelines ORDER BY place") == before


@pytest.mark.parametrize("said", [("--right-script", "no"), ("--relation", "sibling"), ("--relation", "none")])
def test_a_script_of_something_else_says_nothing_of_the_report(database: Path, said: tuple[str, str]) -> None:
    put(database, 5, (crashed("2.5.1"), ended("2.7.1")), provenance="shipped")
    put(database, 6, (crashed("2.5.1"),), provenance="shipped")
    assert say(database, *said).returncode == 0
    assert matches(database) == [None, None, "as_reported"]


def test_a_judgement_of_another_script_says_nothing_of_this_one(database: Path) -> None:
    put(database, 5, SEGMENTS, code="import torch\n", provenance="shipped")
    assert say(database, "--match", "as_reported").returncode == 0
    with Store(database).writer("test") as writer, writer.transaction() as connection:
        connection.execute("UPDATE timelines SET script = 'new', match = 'other'")
        judged.apply(connection, database)
    assert matches(database) == ["other", "other"]


def test_rows_are_of_the_form_that_the_project_takes(database: Path) -> None:
    script = put(database, 5, SEGMENTS, provenance="shipped")
    done = say(database, "--match", "as_reported", "--json")
    [line] = (database.parent / judgements.OWN_FILE).read_text().splitlines()
    assert judgements.read(line.encode() + b"\n")[0].answer == "as_reported"
    assert json.loads(done.stdout) == [json.loads(line)]
    assert json.loads(line)["facts"] == {"script": script, "version": "2.8.0"}


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ((), ("nothing is said", "--match")),
        (("--match", "as_reported", "--on", "1.0.0"), ("--on 1.0.0", "2.5.1, 2.6.0, 2.7.1, 2.8.0")),
        (("--match", "other", "--repo", "a/b"), ("judgements are of pytorch/pytorch",)),
        (("--match", "other", "--annotator", "a|b"), ("reader", "bar")),
    ],
)
def test_a_judgement_that_cannot_be_written_is_one_clean_line(
    database: Path, options: tuple[str, ...], words: tuple[str, ...]
) -> None:
    put(database, 5, SEGMENTS, provenance="shipped")
    assert_clean_error(say(database, *options), 3, *words)
    assert not (database.parent / judgements.OWN_FILE).exists()


def test_a_report_without_a_script_or_a_run_cannot_be_judged(database: Path) -> None:
    put(database, 5)
    assert_clean_error(say(database, "--match", "other"), 3, "nothing is known of what the script of #5 does")
    assert_clean_error(
        say(database, "--match", "other", number=7), 3, "nothing is known of a script of pytorch/pytorch#7"
    )


def test_a_line_that_cannot_be_read_is_named_and_nothing_is_added(database: Path) -> None:
    put(database, 5, SEGMENTS, provenance="shipped")
    (database.parent / judgements.OWN_FILE).write_text('{"subject": 1}\n')
    assert_clean_error(say(database, "--match", "other"), 3, "judged.jsonl, line 1")
    assert (database.parent / judgements.OWN_FILE).read_text() == '{"subject": 1}\n'


def found_by_oracle(database: Path, script: str, version: str) -> None:
    """A run of a script under the layout oracle, with a finding, on a build."""
    with Store(database).writer("test") as writer, writer.transaction() as connection:
        builds = {"build": "b", "name": version, "version": f"{version}+cpu", "git_commit": "", "channel": "release"}
        rows_of.append(connection, "builds", [builds | {"platform": "l", "python": "3.11", "seen_at": NOON}])
        run = {
            "run": "r",
            "name": "report5",
            "case_hash": script,
            "build": "b",
            "environment": "e",
            "profile": "hostile",
        }
        run |= {"oracles": ["layout"], "result": "found", "detail": "", "compared": 1, "looked": "{}", "duration": 1.0}
        rows_of.append(connection, "oracle_runs", [run | {"guarantees": [], "ran_at": NOON}])
        seen = {"run": "r", "place": 0, "oracle": "layout", "op": "aten::sum", "overload": "", "severity": "wrong"}
        rows_of.append(
            connection, "oracle_findings", [seen | {"line": 1, "message": "m", "value": "out", "finding": "{}"}]
        )
        judged.apply(connection, database)


def test_a_mismatch_that_an_oracle_finds_is_the_match_unless_a_person_says_otherwise(database: Path) -> None:
    script = put(database, 5, [*SEGMENTS, ended("2.9.1")], provenance="shipped")
    found_by_oracle(database, script, "2.5.1")
    assert matches(database) == ["as_reported", "other", "as_expected"], "of that release, and of no other"
    [(_, _, evidence), *_] = rows(database, MATCHES)
    assert evidence == "the layout oracle finds a mismatch in aten::sum"
    assert say(database, "--match", "other", "--on", "2.5.1").returncode == 0
    assert matches(database)[0] == "other"


def test_where_a_report_is_about_another_device_an_oracle_matches_nothing(database: Path) -> None:
    script = put(database, 5, [crashed("2.5.1", match=None)], device="cuda", provenance="shipped")
    found_by_oracle(database, script, "2.5.1")
    assert matches(database) == [None]
