"""Bisections over builds: predicates, scripts, cases, nightlies, commits; what they keep, print and refuse."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from helpers.bisect import (  # noqa: F401 - fixtures
    VERSIONS,
    _nothing_but_these_builds_and_cases,
    ahead,
    build,
    database,
    embers,
    git,
    history,
    predicate,
    wheels,
)
from support import assert_clean_error, case_of
from torch_embers.builds import install
from torch_embers.builds.registry import Build, BuildError, Registry
from torch_embers.errors import InputError
from torch_embers.mine.git.gitrepo import Clone
from torch_embers.progress import Silent
from torch_embers.run.bisect import measuring, nightly, rules, sessions, subjects
from torch_embers.run.bisect.commits import Landed, commit_range, operator_words, ranked, words_of
from torch_embers.run.bisect.places import Place, place_of, releases
from torch_embers.run.bisect.replies import NOT_INSTALLED
from torch_embers.run.bisect.request import BisectRequest
from torch_embers.run.bisect.search import Reply
from torch_embers.run.bisect.sources import Sources
from torch_embers.run.bisect.subjects import subject_of
from torch_embers.run.verdict import Control, Observation
from torch_embers.settings import Settings
from torch_embers.store.store import Store

if TYPE_CHECKING:
    from collections.abc import Iterator


def test_without_any_build_there_is_nothing_to_search(database: Path, tmp_path: Path) -> None:
    assert_clean_error(embers(tmp_path / "none", database, "--predicate", "true"), 3, "no build here")


def test_with_one_run_each_build_is_run_once_also_where_another_showed_the_bug() -> None:
    made: list[str] = []

    def once(own: Build, count: int) -> Iterator[Observation]:
        for _ in range(count):
            made.append(own.version)
            yield measuring.exit_observation(int(own.version < "2.2"), "")

    measure = measuring.ExitCodeMeasure(once, lambda place: build(VERSIONS[place]), 1, Control("build", "x", 1, 1))
    decisions = [measure(place, fresh=False, large=False) for place in range(len(VERSIONS))]
    assert [(one.verdict, one.hits, one.runs) for one in decisions if one] == [("occurs", 1, 1)] * 2 + [
        ("not_seen", 0, 1)
    ] * 2
    assert made == list(VERSIONS)


def test_a_resumed_second_batch_is_made_of_new_runs_and_a_missing_build_is_asked_again(database: Path) -> None:
    store, asked = Store(database), []
    places = [Place("2.0.1"), Place("2.1.2")]

    def ask(place: int, /, *, fresh: bool = False) -> Reply:
        asked.append((place, fresh))
        return NOT_INSTALLED if place else Reply("no", 0, 4, 0.99)

    with store.writer("test") as writer:
        for _ in range(2):
            session = sessions.begun(store, writer, "key", "subject", 0, fresh=False)
            remembering = sessions.Remembering(session, writer, places, ask)
            for place in (0, 1):
                remembering(place)
        remembering(0)
    assert asked == [(0, False), (1, False), (1, False), (0, True)]


def test_what_a_command_is_holds_its_folder_and_its_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    check = tmp_path / "check.py"
    check.write_text("1")
    first = measuring.identity_of("{python} check.py --strict")
    check.write_text("2")
    second = measuring.identity_of("{python} check.py --strict")
    assert first != second
    (tmp_path / "sub").mkdir()
    monkeypatch.chdir(tmp_path / "sub")
    assert measuring.identity_of("{python} ../check.py --strict") != second


def test_a_number_means_the_case_of_that_bug_before_its_siblings(monkeypatch: pytest.MonkeyPatch) -> None:
    item = ("pytorch/pytorch", 7)
    near = replace(case_of("x = 1", name="pt8_near"), origin="curated", issues=(item,), relations={item: "sibling"})
    same = replace(near, name="pt7_same", origin="extracted", relations={item: "same"})
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
        build("2.10.0"),
        build("2.9.1+cpu", "current"),
        build("2.9.1+cpu", "mine"),
        build("2.11.0.dev20260101", channel="nightly"),
    ]
    places = releases(installed, ["1.13.1", "no version", "2.12.0.dev20260202"])
    assert [place.version for place in places] == ["1.13.1", "2.9.1", "2.10.0"]
    assert places[0].build is None
    assert place_of(places, "mine") == place_of(places, "2.9.1+cpu") == 1


def test_nightlies_of_one_source_are_one_place_whichever_commit_they_name(
    wheels: Path, history: tuple[Path, dict[str, str], dict[str, str]]
) -> None:
    clone, main, days = history
    sources = Sources(Clone(clone))
    places = nightly.listing(str(wheels), "2.8.0", "2.9.1", sources)
    assert [[one.version[-2:] for one in place.alike] for place in places] == [["02"], ["05"], []]
    assert [(p.version[-2:], p.commit, sources.of(p.commit)) for p in places] == [
        ("01", days["01"], main["a"]),
        ("03", days["03"], main["b"]),
        ("06", days["06"], main["c"]),
    ], "the wheel of the sixth does not say its commit; its day does"
    alone = nightly.listing(str(wheels), "2.8.0", "2.9.1", Sources())
    assert [place.version[-2:] for place in alone] == ["01", "02", "03", "05", "06"], "without a clone nobody can tell"


def test_days_that_the_index_forgot_are_tried_by_the_address_of_their_wheel(
    history: tuple[Path, dict[str, str], dict[str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    clone, _, days = history
    python = f"cp{sys.version_info.major}{sys.version_info.minor}"
    index = "https://index.example/nightly/cpu"
    monkeypatch.setattr(nightly, "_of_index", lambda _: [])
    monkeypatch.setattr(nightly.sysconfig, "get_platform", lambda: "linux-x86_64")
    places = nightly.listing(index, "2.8.0", "2.9.1", Sources(Clone(clone)))
    assert [(place.version, place.commit) for place in places] == [
        (f"2.9.0.dev202508{day}", days[day]) for day in ("01", "03", "06")
    ]
    first = f"{index}/torch-2.9.0.dev20250801%2Bcpu-{python}-{python}"
    assert places[0].addresses == (f"{first}-manylinux_2_28_x86_64.whl", f"{first}-linux_x86_64.whl")
    plans: list[Any] = []
    monkeypatch.setattr(install, "_answers", lambda page, _: "manylinux" not in page.full_url)
    monkeypatch.setattr(install, "_install", lambda _, plan, *__: plans.append(plan))
    install.add_for(Settings(builds_dir=Path("none")), places[0].version, places[0].addresses, index, Silent())
    assert plans == [install.Plan(f"torch @ {first}-linux_x86_64.whl", index, pre=True)]
    monkeypatch.setattr(install, "_answers", lambda *_: False)
    with pytest.raises(BuildError, match=r"no wheel at .*manylinux.* nor at .*-linux_"):
        install.add_for(Settings(builds_dir=Path("none")), places[0].version, places[0].addresses, index, Silent())
    with pytest.raises(BuildError, match="an index keeps some weeks"):
        nightly.listing(index, "2.8.0", "2.9.1", Sources())


def test_the_commits_between_nightlies_are_those_between_their_sources(
    history: tuple[Path, dict[str, str], dict[str, str]],
) -> None:
    folder, main, days = history
    clone = Clone(folder)
    sources, first = Sources(clone), Place("2.9.0.dev20250801", commit=days["01"])
    last = Place("2.9.0.dev20250803", commit=main["b"])
    made = commit_range(clone, "pytorch/pytorch", (first, last), "", [17], rules.load().commits, sources)
    assert (made.total, made.basis) == (1, "by tags or commits of the builds")
    assert [(one.commit.sha, one.files) for one in made.ranked] == [(main["b"], ["b.cpp"])]
    for commit, said in (
        ("d" * 40, "lacks commit dddddddddddd of 2.9.0.dev20250806: fetch it"),
        ("", "2.9.0.dev20250806 does not say its commit"),
    ):
        last = Place("2.9.0.dev20250806", commit=commit)
        with pytest.raises(InputError, match=said):
            commit_range(clone, "pytorch/pytorch", (first, last), "", [7], rules.load().commits, sources)


def test_a_nightly_whose_source_the_clone_lacks_is_told_with_both_commits(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q", "-b", "nightly")
    git(tmp_path, "commit", "-q", "--allow-empty", "-m", f"2025-08-01 nightly release ({'e' * 40})")
    clone, own = Clone(tmp_path), git(tmp_path, "rev-parse", "HEAD")
    first, last = Place("2.9.0.dev20250801", commit=own), Place("2.9.0.dev20250802", commit=own)
    with pytest.raises(InputError, match=f"lacks commit {'e' * 12} .*, the source of its commit {own[:12]}"):
        commit_range(clone, "pytorch/pytorch", (first, last), "", [], rules.load().commits, Sources(clone))
    assert Sources(clone).days == {}, "a tree without version.txt names no release"


def test_a_page_of_an_index_is_read_like_a_folder(wheels: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names = sorted(path.name for path in wheels.iterdir())
    page = "".join(f'<a href="../{name.replace("+", "%2B")}#sha256=0">{name}</a>\n' for name in names)

    class Answer:
        def __enter__(self) -> Answer:
            return self

        def __exit__(self, *_: object) -> None:
            pass

        def read(self, _: int) -> bytes:
            return page.encode()

    monkeypatch.setattr(nightly.urllib.request, "urlopen", lambda *_, **__: Answer())
    places = nightly.listing("https://index.example/nightly", "2.8.0", "2.9.1", Sources())
    assert len(places) == 5, "without the wheels nobody knows their commits"
    assert places[0].addresses[0].startswith("https://index.example/nightly/torch-2.9.0.dev20250801")


@pytest.mark.parametrize(
    ("index", "said"),
    [("https://127.0.0.1:1", "does not answer"), ("nowhere", "is no folder of wheels"), ("", "is no folder")],
)
def test_an_index_that_is_not_there_is_refused_plainly(index: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(Exception, match=said):
        nightly.listing(index or str(tmp_path / "gone"), "2.8.0", "2.9.0", Sources())


def test_a_commit_is_asked_once_whichever_nightlies_were_built_from_it(monkeypatch: pytest.MonkeyPatch) -> None:
    places, asked = [Place(f"{n}") for n in range(4)], []

    def prepare(place: int) -> None:
        places[place] = Place(places[place].version, commit="same" if place < 3 else "other")

    def ask(place: int, /, *, fresh: bool = False) -> Reply:
        del fresh
        asked.append(place)
        return Reply("yes")

    by_commit = nightly.ByCommit(ask, places, prepare, Sources())
    with monkeypatch.context() as patch:
        patch.setattr(by_commit, "_ask", lambda *_, **__: NOT_INSTALLED)
        assert by_commit(1) is NOT_INSTALLED
    for place in (0, 2, 3, 2):
        assert by_commit(place).answer == "yes", "a nightly that is not there says nothing of its source"
    assert asked == [0, 3, 2], "the second batch of a place is made"


def test_builds_are_installed_ahead_one_at_a_time_and_what_is_no_longer_likely_is_dropped(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    builds, begun, go_on = ahead(monkeypatch, tmp_path)
    builds.prefetch([0, 1, 2])
    builds.prefetch([0, 3])
    go_on.set()
    first, third = builds.of(0), builds.of(3)
    assert first is not None
    assert third is not None
    assert (first.version, third.version) == ("2.9.0", "2.9.3")
    assert begun == ["2.9.0", "2.9.3"], "1 and 2 had not begun when they became unlikely"
    assert builds.of(0) is first
    assert begun == ["2.9.0", "2.9.3"], "nothing is installed twice"
    builds.evict()


@pytest.mark.parametrize("evict", [True, False])
def test_what_was_installed_ahead_and_never_asked_is_removed_in_any_case(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, evict: bool
) -> None:
    builds, begun, go_on = ahead(monkeypatch, tmp_path, evict=evict)
    go_on.set()
    builds.prefetch([0, 1, 4])
    assert builds.of(0) is not None
    assert builds.of(4) is None, "an installation ahead that failed is a build that is not there"
    builds.evict()
    assert begun == ["2.9.0", "2.9.1", "2.9.4"]
    left = {build.name for build in Registry(tmp_path / "registry").installed()} & {"2.9.0", "2.9.1", "2.9.4"}
    assert left == (set() if evict else {"2.9.0"})


# ---- commits -------------------------------------------------------------------------------------------------------


def test_words_of_operators_leave_out_what_every_script_calls() -> None:
    assert words_of("aten/src/ATen/native/AdaptiveAvgPool2d.cpp") >= {"adaptive", "avg", "pool", "native"}
    code = "import torch\nx = torch.randn(3)\ntorch.nn.functional.adaptive_avg_pool2d(x).sum()\n"
    assert operator_words(code, rules.load().commits.ignored) == {"adaptive", "avg", "pool"}
    assert operator_words("def (", ()) == set()


def test_a_commit_that_names_the_issue_comes_first_then_rare_words_in_files() -> None:
    def landed(sha: str, subject: str, *files: str, fixes: tuple[int, ...] = ()) -> Landed:
        return Landed(sha, "2023-01-01", subject, "", files, fixes=fixes)

    commits = [
        landed("a", "Clean up"),
        landed("b", "Speed up pool", "native/other.cpp"),
        landed("c", "Fix something", "native/AdaptivePool.cpp"),
        landed("d", "Fix it", fixes=(7,)),
        *(landed(f"e{n}", "about pool") for n in range(9)),
    ]
    best = ranked(commits, {"adaptive", "pool"}, [7], rules.load().commits)
    assert [one.commit.sha for one in best[:2]] == ["d", "c"]
    assert best[1].words[0] == "adaptive"
    assert "a" not in {one.commit.sha for one in best}


@pytest.mark.parametrize("tagged", [True, False])
def test_the_range_comes_from_tags_or_from_the_version_that_the_tree_names(tmp_path: Path, tagged: bool) -> None:
    git(tmp_path, "init", "-q")
    for number, (version, subject) in enumerate(
        [
            ("2.1.0a0", "Start (#92001)"),
            ("2.1.0a0", "Old (#92002)"),
            ("2.2.0a0", "Mend pool (#92003)\n\nFixes #7"),
            ("2.2.0a0", "New (#92004)"),
        ]
    ):
        (tmp_path / "version.txt").write_text(f"{version}\n")
        (tmp_path / f"pool{number}.cpp").write_text("")
        git(tmp_path, "add", ".")
        git(tmp_path, "commit", "-qm", subject, "--date", f"2023-01-0{number + 1}T00:00:00Z")
        if tagged and number in (1, 3):
            git(tmp_path, "tag", "v2.1.2" if number == 1 else "v2.2.2")
    ends = (Place("2.1.2"), Place("2.2.2"))
    made = commit_range(Clone(tmp_path), "pytorch/pytorch", ends, "t.max_pool(x)", [7], rules.load().commits, Sources())
    assert ("tags" in made.basis) is tagged
    assert made.ranked[0].commit.subject == "Mend pool (#92003)"
    assert (made.ranked[0].commit.pull, made.ranked[0].commit.fixes) == (92003, (7,))
    assert "redirect.github.com" in made.markdown()
    if tagged:
        assert made.total == 2
