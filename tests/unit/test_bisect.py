"""Bisections over builds: predicates, scripts, cases, nightlies, commits; what they keep, print and refuse."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from helpers.verdicts import build_of, decision_of
from support import case_of
from torch_embers.bisect import measuring, predicate, subjects
from torch_embers.bisect.commits import Commit, operator_words, ranked, words_of
from torch_embers.bisect.places import place_of, releases
from torch_embers.bisect.request import BisectRequest
from torch_embers.bisect.subjects import subject_of
from torch_embers.settings import Settings
from torch_embers.store.store import Store
from torch_embers.verdicts.executor import SweepRequest
from torch_embers.verdicts.verdict import Control, Observation

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pytest

VERSIONS = ("2.0.1", "2.1.2", "2.2.2", "2.3.1")


def test_with_one_run_each_build_is_run_once_also_where_another_showed_the_bug() -> None:
    made: list[str] = []

    def once(own: Any, count: int) -> Iterator[Observation]:
        for _ in range(count):
            made.append(own.version)
            yield measuring.exit_observation(int(own.version < "2.2"), "")

    measure = measuring.ExitCodeMeasure(once, 1, Control("build", "x", 1, 1))
    decisions = [measure(build_of(version), fresh=False) for version in VERSIONS]
    occurs, not_seen = ("occurs", 1, 1), ("not_seen", 0, 1)
    assert [(one.verdict, one.hits, one.runs) for one in decisions] == [occurs, occurs, not_seen, not_seen]
    assert made == list(VERSIONS)


def test_a_case_whose_control_hits_too_rarely_gets_a_larger_one_from_then_on() -> None:
    swept: list[str] = []

    def executor(size: str, hits: int) -> Any:
        def sweep(_: SweepRequest) -> list[Any]:
            swept.append(size)
            return [SimpleNamespace(decision=decision_of("not_seen", Control("build", "x", hits, 10)))]

        return SimpleNamespace(sweep=sweep, afresh=lambda request: request)

    registry: Any = SimpleNamespace(installed=list)
    request = SweepRequest([case_of("x = 1")], [], [])
    measure = measuring.CaseMeasure(executor("usual", 2), executor("larger", 12), request, registry)
    for _ in range(2):
        assert measure(build_of("2.0.1"), fresh=False).control.hits == 12
    assert swept == ["usual", "larger", "larger"]


def test_what_a_command_is_holds_its_folder_and_its_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    check = tmp_path / "check.py"
    check.write_text("1")
    first = predicate.identity_of("{python} check.py --strict")
    check.write_text("2")
    second = predicate.identity_of("{python} check.py --strict")
    assert first != second
    (tmp_path / "sub").mkdir()
    monkeypatch.chdir(tmp_path / "sub")
    assert predicate.identity_of("{python} ../check.py --strict") != second


def test_a_number_means_the_case_of_that_bug_before_its_siblings(monkeypatch: pytest.MonkeyPatch) -> None:
    item = ("pytorch/pytorch", 7)
    near = replace(case_of("x = 1", name="pt8_near"), origin="curated", issues=(item,), relations={item: "sibling"})
    same = replace(near, name="pt7_same", origin="fix_test", relations={item: "same"})
    found: list[Any] = [near, same]
    monkeypatch.setattr(subjects.bank, "load", lambda *_: found)
    store, wanted = Store(Path("none")), Settings()
    subject = subject_of(store, wanted, BisectRequest("#7"))
    assert (subject.name, subject.sibling_of) == ("pt7_same", None)
    found.pop()
    subject = subject_of(store, wanted, BisectRequest("7"))
    assert (subject.name, subject.sibling_of) == ("pt8_near", item)


def test_the_list_has_one_build_per_release_in_order_and_no_nightly() -> None:
    installed = [
        build_of("2.10.0"),
        build_of("2.9.1+cpu", name="current"),
        build_of("2.9.1+cpu", name="mine"),
        build_of("2.11.0.dev20260101", channel="nightly"),
    ]
    places = releases(installed, ["1.13.1", "no version", "2.12.0.dev20260202"])
    assert [place.version for place in places] == ["1.13.1", "2.9.1", "2.10.0"]
    assert places[0].build is None
    assert place_of(places, "mine") == place_of(places, "2.9.1+cpu") == 1


# ---- commits -------------------------------------------------------------------------------------------------------


def test_words_of_operators_leave_out_what_every_script_calls() -> None:
    assert words_of("aten/src/ATen/native/AdaptiveAvgPool2d.cpp") >= {"adaptive", "avg", "pool", "native"}
    code = "import torch\nx = torch.randn(3)\ntorch.nn.functional.adaptive_avg_pool2d(x).sum()\n"
    assert operator_words(code) == {"adaptive", "avg", "pool"}
    assert operator_words("def (") == set()


def test_a_commit_that_names_the_issue_comes_first_then_rare_words_in_files() -> None:
    def landed(sha: str, subject: str, *files: str, fixes: tuple[int, ...] = ()) -> tuple[Commit, str]:
        return Commit(sha, "2023-01-01", subject, files=files, fixes=fixes), ""

    commits = [
        landed("a", "Clean up"),
        landed("b", "Speed up pool", "native/other.cpp"),
        landed("c", "Fix something", "native/AdaptivePool.cpp"),
        landed("d", "Fix it", fixes=(7,)),
        *(landed(f"e{n}", "about pool") for n in range(9)),
    ]
    best = ranked(commits, {"adaptive", "pool"}, [7])
    assert [one.sha for one in best[:2]] == ["d", "c"]
    assert best[1].words[0] == "adaptive"
    assert "a" not in {one.sha for one in best}
