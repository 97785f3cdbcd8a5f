"""Bisections of time: stand-in builds whose calls are slowed by hand, comparisons that decide, and what is refused."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING, Any

import pytest

from helpers.gitlog import Repository
from helpers.verdicts import registered
from support import case_of, rows
from torch_embers.bisect import command as bisecting
from torch_embers.bisect import report, speed
from torch_embers.bisect.request import BisectRequest
from torch_embers.builds.registry import Registry
from torch_embers.cases.case import shipped
from torch_embers.errors import InputError
from torch_embers.perf import measure as perf
from torch_embers.perf import timed_cases as perf_cases
from torch_embers.progress import Silent
from torch_embers.settings import Settings
from torch_embers.store.store import Store

if TYPE_CHECKING:
    from pathlib import Path

VERSIONS = ("2.0.1", "2.1.2", "2.2.2", "2.3.1")
SLOWED = """
import time
spent = [0.0]
time.thread_time = lambda: spent[0]
def manual_seed(n): pass
def set_num_threads(n): pass
def burn(): spent[0] += {seconds}
"""
"""A call that takes as long as it is told to, by a clock of its own that no load moves, and what the program needs."""
CALL = perf.Call(name="pool", setup="x = torch", call="x.burn()")
TIMED = """
import torch
LIMIT = 2.0
slow = {slow}[torch.__version__]
print("times: %s s affected, 1.0 s otherwise" % slow)
print("seen")
"""


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Builds whose call takes so many seconds."""
    folder = tmp_path_factory.mktemp("builds")
    registry = registered(folder, *VERSIONS)
    for version, each in zip(VERSIONS, (1e-5, 1e-5, 4e-5, 4e-5), strict=True):
        [torch] = (folder / version / "lib").glob("python3*/site-packages/torch")
        with (torch / "__init__.py").open("a", encoding="utf-8") as file:
            file.write(SLOWED.format(seconds=each))
        (torch / "nn").mkdir()
        for name in ("__init__.py", "functional.py"):
            (torch / "nn" / name).touch()
    return registry.folder


@pytest.fixture(autouse=True)
def _these_builds_calls_and_cases(monkeypatch: pytest.MonkeyPatch) -> None:
    shipped = perf.Rules.load()
    quick = shipped.limits.model_copy(update={"chunk_seconds": 0.002, "chunks": 3, "rounds": 6})
    monkeypatch.setattr(perf.Rules, "load", lambda: perf.Rules(limits=quick, call=(CALL,)))
    monkeypatch.setattr(speed, "shipped", lambda _: [])
    monkeypatch.setattr(Registry, "_current", lambda _: None)
    monkeypatch.setattr(bisecting.shipped, "load", lambda _: 0)


def searched(home: Path, at: Path, progress: Any = None, **request: Any) -> report.Bisection:
    store = Store(at / "e.duckdb")
    if not store.path.exists():
        with store.writer("test", create=True) as writer, writer.transaction():
            pass
    wanted = Settings(database=store.path, builds_dir=home)
    asked = BisectRequest(**request)
    return bisecting.bisect(store, wanted, asked, progress or Silent())


def case_by_version(monkeypatch: pytest.MonkeyPatch, *slow: float, **meta: Any) -> None:
    """One case about time that prints these seconds beside one second of its workaround."""
    code = TIMED.format(slow=dict(zip(VERSIONS, slow, strict=True)))
    case = case_of(code, name="pt7_slow_pool", issues=["pytorch/pytorch#7"], **meta)
    monkeypatch.setattr(speed, "shipped", lambda _: [case])


def test_a_call_that_was_slowed_by_hand_is_bisected_to_its_build_and_commits(home: Path, tmp_path: Path) -> None:
    clone = Repository(tmp_path / "clone")
    for name, subject, tag in (
        ("a.cpp", "Start (#1)", "v2.1.2"),
        ("burn.cpp", "Rewrite it (#2)", "between"),
        ("b.cpp", "Other (#3)", "v2.2.2"),
    ):
        clone.commit(subject, **{name: subject})
        clone("tag", tag)
    made = searched(home, tmp_path, call="pool", clone=clone.path, validation=0)
    assert made.sentence == "The slow-down came with 2.2.2 (2.1.2 is the last build without it)."
    assert made.commits is not None
    assert made.commits.total == 2
    assert [one.commit.subject for one in made.commits.ranked] == ["Rewrite it (#2)"]
    text = report.markdown(made)
    assert "Time of call pool; it is held against the same call on the good build" in text
    assert "| slow-down | comparisons that showed it |" in text
    slow = made.history.replies[2]
    assert (slow.answer, slow.hits, slow.runs) == ("yes", 1, 1)
    assert "6 pairs of processes" in slow.detail


def test_the_good_build_itself_is_timed_twice_and_a_wrong_end_is_refused(home: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"2\.1\.2 was said to be bad, but it is clean here \(not slower: ratio"):
        searched(home, tmp_path, call="pool", good="2.0.1", bad="2.1.2")


def test_a_case_about_time_is_searched_by_name_or_number_beside_its_workaround(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    case_by_version(monkeypatch, 6.0, 6.0, 6.0, 1.1, known_bad=["2.0.1"])
    made = searched(home, tmp_path, name="7")
    assert made.sentence == "The slow-down is gone since 2.3.1 (2.2.2 is the last build with it)."
    assert made.items == (("pytorch/pytorch", 7),)
    assert "print(" in report.markdown(made)
    again = searched(home, tmp_path, name="pt7_slow_pool")
    assert again.sentence == made.sentence
    assert not any(reply.asked_on for reply in again.history.replies.values()), "a finished search is made anew"
    assert rows(tmp_path / "e.duckdb", "SELECT count(*), count(finished_at) FROM bisections") == [(2, 2)]


def test_a_build_that_vanishes_while_others_are_timed_has_no_answer_and_ends_no_search(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = registered(tmp_path / "builds", *VERSIONS).folder
    case_by_version(monkeypatch, 6.0, 6.0, 6.0, 1.0)
    real = perf_cases.time_cases

    def timed(builds: Any, *more: Any) -> perf_cases.TimedCases:
        shutil.rmtree(tmp_path / "builds" / "2.2.2", ignore_errors=True)
        return real(builds, *more)

    monkeypatch.setattr(perf_cases, "time_cases", timed)
    made = searched(home, tmp_path, name="pt7_slow_pool")
    assert made.sentence == ("The slow-down went after 2.1.2 and no later than 2.3.1 (2.2.2 cannot be tested).")
    assert rows(tmp_path / "e.duckdb", "SELECT count(*) FROM bisection_steps WHERE version = '2.2.2'") == [(0,)]


@pytest.mark.parametrize(
    ("request_", "said"),
    [
        ({"call": "frobnicate"}, "no call 'frobnicate'"),
        ({"call": "pool", "name": "7"}, "give one thing"),
        ({"name": "7", "margin": 0.03}, "--margin goes with --call"),
        ({"call": "pool", "runs": 3}, "--runs 3: a ratio has an interval from 6 processes on"),
    ],
)
def test_what_cannot_be_timed_is_refused(home: Path, tmp_path: Path, request_: Any, said: str) -> None:
    with pytest.raises(InputError, match=said):
        searched(home, tmp_path, **request_)


def test_every_shipped_case_about_time_says_its_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    assert speed.of_call(perf.Rules.load().call[0].name, 0.03).limit == 1.03
    assert all(speed.limit_of(case) > 1 for case in shipped("timing"))
    with pytest.raises(InputError, match="73328 has 2 cases about time: name one of"):
        speed.of_case("73328", "pytorch/pytorch", by_number=True)
    assert speed.of_case("frobnicate", "pytorch/pytorch", by_number=True) is None
    with pytest.raises(InputError, match="has no LIMIT"):
        speed.limit_of(case_of("x = 1"))
