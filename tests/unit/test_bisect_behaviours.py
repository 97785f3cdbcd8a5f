"""`embers bisect N` without a case: between which two behaviours is searched, and what each run shows of them."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from helpers.timeline_rows import SCRIPT, crashed, ended, observe, put
from helpers.verdicts import build_of
from support import assert_clean_error, run_embers
from torch_embers.bisect.behaviours import Compared, Side, Sides, sides_of
from torch_embers.bisect.bisection import sentence
from torch_embers.bisect.request import BisectRequest
from torch_embers.bisect.search import Reply, Search
from torch_embers.bisect.thresholds import load
from torch_embers.errors import InputError
from torch_embers.extract.script import Script
from torch_embers.sandbox.runner import RunResult
from torch_embers.store.store import Store
from torch_embers.timeline.item_script import ItemScript
from torch_embers.timeline.model import Observation, Timeline

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from torch_embers.timeline.model import Segment

ITEM = ItemScript("pytorch/pytorch", 5, Script("import torch\n"))
BUILDS = [build_of(version) for version in ("2.5.1", "2.6.0", "2.7.1", "2.8.0")]
CRASH, CLEAN = Observation("signal", "SIGSEGV"), Observation("ok", printed="4.0\n")


def sides(database: Path, *segments: Segment, builds: Any = BUILDS, **asked: str) -> Sides:
    script = put(database, 5, segments)
    observe(database, script, "2.6.0")
    timeline = Timeline("pytorch/pytorch", 5, script, "e", segments)
    item = replace(ITEM, script=replace(SCRIPT, changes=()))
    with Store(database).read() as connection:
        return sides_of(connection, item, timeline, builds, BisectRequest(name="5", **asked))


def versions(found: Sides) -> tuple[str, str]:
    return found.bad.version, found.good.version


def test_the_search_is_between_the_builds_beside_the_newest_flip(database: Path) -> None:
    older = crashed("2.3.1", "2.5.1"), replace(crashed("2.6.0", flip="class"), what="SIGABRT")
    found = sides(database, *older, ended("2.7.1", "2.8.0"))
    assert versions(found) == ("2.6.0", "2.7.1")
    assert found.bad.seen == (CRASH,) or found.bad.seen[0].what == "SIGSEGV"
    assert found.question == (
        "Asked of each build: does the script of pytorch/pytorch#5 behave as on 2.6.0 (where it dies by the reported SIGABRT) or as on "
        "2.7.1 (where it prints the expected value)?"
    )


@pytest.mark.parametrize(
    ("segments", "bad"),
    [
        ((crashed("2.6.0"), ended("2.7.1")), "2.6.0"),
        ((ended("2.6.0"), replace(crashed("2.7.1"), flip="ending")), "2.7.1"),
        ((crashed("2.6.0", match="other"), ended("2.7.1", match="other")), "2.6.0"),
        ((crashed("2.6.0", match="other"), ended("2.7.1", match="as_reported")), "2.7.1"),
        ((ended("2.6.0", match="other"), replace(ended("2.7.1", match="other"), flip="value")), "2.7.1"),
    ],
)
def test_what_was_reported_is_what_is_looked_for_else_what_fails_else_what_is_new(
    database: Path, segments: tuple[Segment, ...], bad: str
) -> None:
    assert sides(database, *segments).bad.version == bad


def test_a_version_stands_for_a_side_of_which_nothing_is_installed(database: Path) -> None:
    assert versions(sides(database, crashed("1.13.1", "2.0.1"), ended("2.7.1"))) == ("2.0.1", "2.7.1")


def test_two_builds_can_be_named_and_one_alone_cannot(database: Path, tmp_path: Path) -> None:
    segments = crashed("2.5.1", "2.6.0"), replace(crashed("2.7.1"), flip="wording")
    with pytest.raises(InputError, match="has no two behaviours to search between"):
        sides(tmp_path / "a.duckdb", *segments)
    assert versions(sides(tmp_path / "b.duckdb", *segments, bad="2.5.1", good="2.7.1")) == ("2.5.1", "2.7.1")
    with pytest.raises(InputError, match="give --good and --bad, or neither"):
        sides(database, *segments, good="2.7.1")


class Machine:
    """A machine on which a script dies up to 2.6.0, ends after that, and raises on 2.8.0."""

    @contextmanager
    def on(self, build: Any, profile: str) -> Iterator[Any]:
        assert profile == "hostile"
        yield SimpleNamespace(close=lambda: None, run=lambda attempts: [self.ended(build, one) for one in attempts])

    def ended(self, build: Any, attempt: Any) -> RunResult:
        is_dead, is_new = build.public_version <= "2.6.0", build.public_version == "2.8.0"
        code, stdout = (None, "") if is_dead else (3, "") if is_new else (0, "4.0\n")
        rest = ("", 1.0, 0.0, 0.0, 0, "z", "hostile", (), {})
        how = "signalled" if is_dead else "exited"
        return RunResult(attempt.key, code, 11 if is_dead else None, how, "", stdout, *rest)  # type: ignore[arg-type]


def compared(bad: Sequence[Observation] = (), good: Sequence[Observation] = ()) -> Compared:
    places = [SimpleNamespace(version=build.public_version, build=build) for build in BUILDS]
    builds: Any = SimpleNamespace(places=places, of=lambda place: BUILDS[place])
    found = Sides(ITEM, Side("2.6.0", "", tuple(bad)), Side("2.7.1", "", tuple(good)))
    return Compared(found, Machine(), builds, 10.0)  # type: ignore[arg-type]


@pytest.mark.parametrize("known", [((CRASH,), (CLEAN,)), ((), ())], ids=["observed", "run now"])
def test_a_build_behaves_as_one_side_or_decides_nothing(known: tuple[Any, Any]) -> None:
    ask = compared(*known)
    outcomes = [{one.outcome for one in ask(build, 2)} for build in BUILDS]
    assert outcomes == [{"reproduced"}, {"reproduced"}, {"not_reproduced"}, {"cannot_run"}]


def test_a_run_that_both_sides_can_show_shows_nothing_of_the_bad_one() -> None:
    ask = compared((CRASH, CLEAN), (CLEAN,))
    assert [one.outcome for one in ask(BUILDS[2], 1)] == ["not_reproduced"]


def test_the_answer_speaks_of_the_behaviour() -> None:
    def ask(place: int) -> Reply:
        return Reply("yes" if place < 2 else "no", int(place < 2), 1)

    found = Search(4, ask, load().search, lambda places: places[0]).run()
    said = sentence(found, [build.public_version for build in BUILDS], "behaviour of 2.6.0")
    assert said.startswith("The behaviour of 2.6.0 is gone since 2.7.1 (2.6.0 is the last build with it).")


def test_a_report_without_a_script_says_why(database: Path) -> None:
    put(database, 5)
    with Store(database).writer("test") as writer, writer.transaction() as connection:
        connection.execute(
            "UPDATE scripts SET script = NULL, code = NULL, reason = 'no_code', detail = 'it shows no code'"
        )
    assert_clean_error(run_embers("bisect", 5, "-d", database), 3, "pytorch/pytorch#5 has no script: it shows no code")
