"""Tests of merged fixes: which tests a commit brings, what of their file a script needs, and what their runs say."""

from __future__ import annotations

import shutil
from contextlib import contextmanager
from dataclasses import replace
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any
from unittest.mock import MagicMock

import pytest

from helpers.fix_tests import ADDED, FILE, REPO, begin, clone, fixing  # noqa: F401 - fixtures
from support import assert_clean_error, rows, run_embers
from support import case_of as case_by_hand
from torch_embers import resources
from torch_embers.cases import bank, shipped_fix_tests
from torch_embers.errors import InputError
from torch_embers.fixtests import link, trial
from torch_embers.fixtests.fix_commits import contents, fix_commits, revision_of
from torch_embers.fixtests.fix_test_yield import yield_of
from torch_embers.fixtests.link import link_fix_tests
from torch_embers.fixtests.trial import class_tests
from torch_embers.mine.git.gitrepo import Clone
from torch_embers.progress import Silent
from torch_embers.store.store import Store
from torch_embers.verdicts.batch import PROFILES
from torch_embers.verdicts.status import Tracked, statuses_of
from torch_embers.views.item_evidence import report_of
from torch_embers.views.item_report import headline

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

    from helpers.gitlog import Repository
    from torch_embers.cases.case import Case
    from torch_embers.fixtests.link import LinkedTests


def linked(clone: Repository, store: Store, **more: str) -> LinkedTests:
    with store.writer("test", create=True) as writer, writer.transaction():
        pass
    return link_fix_tests(store, REPO, clone.path, Silent(), jobs=1, **more)


TRACE = 'Traceback (most recent call last):\n  File "fix.py", line 3, in test_more\n{}\n'


def stored_run(store: Store, version: str, exit_code: int, failure: str = "", frame: str = "") -> None:
    """A trial run as the ledger keeps it."""
    stderr = TRACE.format(f'  File "common_utils.py", line 5, in {frame}\n{failure}' if frame else failure)
    with store.writer("test") as writer, writer.transaction() as connection:
        connection.execute(
            "INSERT INTO builds (build, name, version, channel, platform, python, seen_at) "
            "VALUES ($v, $v, $v || '+cpu', 'release', 'linux', '3.11', now())",
            {"v": version},
        )
        connection.execute(
            "INSERT INTO runs BY NAME SELECT case_hash, $v AS build, 'e' AS environment, 'hostile' AS profile, 0 AS batch, "
            "0 AS attempt, false AS injected, 'cannot_run' AS outcome, 'x' AS detail, '1 of 1 variants ran, 1 pass' AS stdout, "
            "$e AS stderr, $c AS exit_code, 'exited' AS ended, 0.1 AS duration, 0.1 AS cpu, 1 AS peak_memory, "
            "'z' AS zygote, 0 AS seed, [] AS guarantees, now() AS ran_at FROM fix_tests WHERE status = 'script'",
            {"v": version, "e": stderr if failure else "", "c": exit_code},
        )


def fails_before_and_passes_after(store: Store) -> None:
    stored_run(store, "1.13.1", 1, "AssertionError: 3 != 4")
    stored_run(store, "2.0.1", 0)


def counted(store: Store) -> list[Case]:
    """Fix tests that are run without being named."""
    return [case for case in bank.load(store) if case.origin == "fix_test"]


@pytest.fixture(scope="module")
def one_test_database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A database with one fix test, first released in 2.0.0; to be copied."""
    folder = tmp_path_factory.mktemp("one")
    begun = begin(folder / "clone")
    fixing(begun, test__test_x_py=ADDED)
    store = Store(folder / "e.duckdb")
    linked(begun, store)
    return store.path


@pytest.fixture
def one_test(one_test_database: Path, tmp_path: Path) -> Store:
    """A copy of that database."""
    return Store(shutil.copy(one_test_database, tmp_path / "e.duckdb"))


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "e.duckdb")


def table(store: Store) -> list[tuple[object, ...]]:
    return rows(
        store.path, "SELECT issues, path, test, status, reason FROM fix_tests ORDER BY committed_at DESC, path, test"
    )


def test_a_fix_with_a_test_becomes_a_case_with_its_texts_and_edits(clone: Repository, store: Store) -> None:
    sha = fixing(clone, test__test_x_py=ADDED)
    done = linked(clone, store)
    assert (done.commits, done.read, done.scripts) == (1, 1, 1)
    assert table(store) == [(["123"], "test/test_x.py", "test_more", "script", None)]
    [(name, origin, summary, oracle)] = rows(
        store.path, "SELECT name, origin, summary, oracle FROM cases WHERE origin = 'fix_test'"
    )
    assert name.startswith(f"fix123_{sha[:8]}_")
    assert "python test/test_x.py TestThing.test_more" in summary
    assert (origin, oracle) == ("fix_test", "test")
    assert rows(store.path, "SELECT number, relation FROM case_items") == [(123, "same")]
    assert rows(store.path, "SELECT kind FROM artifacts ORDER BY 1") == [("verbatim",)]


def test_a_second_run_reads_only_what_is_new(clone: Repository, store: Store) -> None:
    fixing(clone, test__test_x_py=ADDED)
    linked(clone, store)
    assert linked(clone, store).read == 0
    fixing(clone, "Closes #124", test__test_x_py=ADDED.replace("test_more", "test_most").replace("(1, 1)", "(2, 2)"))
    assert linked(clone, store).read == 1
    assert [row[2] for row in table(store)] == ["test_most", "test_more"]


def interrupted(*_: object) -> None:
    raise KeyboardInterrupt


def as_fresh(clone: Repository, store: Store, tmp_path: Path) -> bool:
    """Whether a second run says what a run into an empty database says."""
    query = "SELECT path, test, status, reason, name, first_release, first_release_by FROM fix_tests ORDER BY ALL"
    cases = "SELECT name FROM cases WHERE current ORDER BY ALL"
    linked(clone, store)
    fresh = Store(tmp_path / "fresh.duckdb")
    linked(clone, fresh)
    same = all(rows(store.path, text) == rows(fresh.path, text) for text in (query, cases))
    fresh.path.unlink()
    return same


def test_a_second_run_says_what_a_fresh_one_says_when_the_clone_says_more(
    clone: Repository, tmp_path: Path, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    sha = fixing(clone, test__test_x_py=ADDED)
    blob = clone("rev-parse", "HEAD:test/test_x.py")
    place = clone.path / ".git" / "objects" / blob[:2] / blob[2:]
    place.rename(tmp_path / "kept")
    linked(clone, store)
    assert table(store)[0][4] == "not_readable"
    (tmp_path / "kept").rename(place)
    assert as_fresh(clone, store, tmp_path)
    assert table(store)[0][3] == "script"
    stored_run(store, "2.1.2", 0)
    assert classed(store)[0] == "never_seen"
    clone("tag", "v2.1.0")
    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr(link, "class_tests", interrupted)
        linked(clone, store)  # stopped when all is read, and nothing has a class
    assert as_fresh(clone, store, tmp_path)
    assert rows(store.path, "SELECT count(*) FROM fix_test_classes") == [(1,)]
    clone.commit(f'Revert "Mend it"\n\nThis reverts commit {sha}.', test__test_x_py=FILE)
    assert as_fresh(clone, store, tmp_path)
    assert table(store)[0][4] == "reverted"
    assert rows(store.path, "SELECT count(*) FROM fix_test_classes") == [(0,)]


def test_a_revert_by_the_number_of_a_change_takes_back_what_landed_before_it(clone: Repository) -> None:
    """Until 2022 changes came by way of Phabricator, and a revert named the number there and not always the hash."""

    def lands(number: int, diff: str) -> str:
        body = f"Fixes #{number}\n\nDifferential Revision: [{diff}](https://x/{diff})"
        return clone.commit(f"Mend {number}\n\n{body}", test__test_x_py=f"{FILE}\n# {number}")

    by_title, by_message, again = lands(11, "D11111111"), lands(22, "D22222222"), lands(33, "D33333333")
    clone.commit("Revert D11111111: Mend 11\n\nTest Plan: revert-hammer", test__test_x_py=FILE)
    clone.commit('Back out "Mend 22"\n\nOriginal Phabricator Diff: D22222222', test__test_x_py=f"{FILE}\n#")
    clone.commit("Revert D33333333: [a] Mend 33", test__test_x_py=FILE)
    relanded, kept = lands(33, "D33333333"), lands(44, "D44444444")
    clone.commit("Keep D44444444\n\nOriginal Phabricator Diff: D44444444", test__test_x_py=FILE)
    found = fix_commits(Clone(clone.path), REPO, revision_of(Clone(clone.path), "HEAD"), ("test/",))
    reverted = {commit.sha: commit.is_reverted for commit in found}
    assert reverted == {by_title: True, by_message: True, again: True, relanded: False, kept: False}


def damage(clone: Repository, blob: str, content: Callable[[bytes], bytes]) -> None:
    place = clone.path / ".git" / "objects" / blob[:2] / blob[2:]
    place.chmod(0o644)
    place.write_bytes(content(place.read_bytes()))


def test_a_damaged_object_costs_itself_and_nothing_behind_it(clone: Repository) -> None:
    ways = (lambda raw: raw[: len(raw) // 2], lambda _: b"no object", lambda raw: raw[:-6] + bytes(6), lambda _: b"")
    whole, broken = [], []
    for number, way in enumerate(ways):
        clone.commit("One", test__test_x_py=f"{FILE}\n# {number}", test__test_y_py=f"{FILE}\n# whole {number}")
        broken.append(clone("rev-parse", "HEAD:test/test_x.py"))
        whole.append(clone("rev-parse", "HEAD:test/test_y.py"))
        damage(clone, broken[-1], way)
    asked = [blob for pair in zip(broken, whole, strict=True) for blob in pair]
    found = list(contents(Clone(clone.path), asked))
    assert [blob for blob, _ in found] == asked
    assert [content for blob, content in found if blob in broken] == [None] * len(ways)
    assert [content and content[-8:] for blob, content in found if blob in whole] == [
        f" whole {number}".encode() for number in range(len(ways))
    ]


def test_a_run_that_stopped_in_the_middle_goes_on_where_it_was(
    clone: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(1, 4):
        fixing(clone, f"Fixes #{number}", test__test_x_py=ADDED.replace("(1, 1)", f"({number}, {number})"))
    store, written, really = Store(tmp_path / "e.duckdb"), [], link._write
    monkeypatch.setattr(link, "BATCH", 1)

    def stops(*arguments: Any) -> None:
        if written:
            raise KeyboardInterrupt
        written.append(really(*arguments))

    monkeypatch.setattr(link, "_write", stops)
    with pytest.raises(KeyboardInterrupt):
        linked(clone, store)
    assert len(table(store)) == 1
    monkeypatch.setattr(link, "_write", really)
    assert linked(clone, store).read == 2
    assert len(table(store)) == 3
    assert as_fresh(clone, store, tmp_path)


def test_a_clone_without_its_trees_gives_a_reason_per_commit(clone: Repository, tmp_path: Path, store: Store) -> None:
    fixing(clone, test__test_x_py=ADDED)
    tree = clone("rev-parse", "HEAD:test")
    place = clone.path / ".git" / "objects" / tree[:2] / tree[2:]
    place.rename(tmp_path / "kept")
    linked(clone, store)
    assert table(store) == [(["123"], None, None, "not_possible", "not_readable")]
    (tmp_path / "kept").rename(place)
    assert as_fresh(clone, store, tmp_path)
    assert table(store)[0][3] == "script"


def test_commits_without_a_test_that_can_be_used_keep_a_reason(clone: Repository, store: Store) -> None:
    fixing(clone, "Fixes #1", torch__nn_py="x = 1")
    fixing(clone, "Fixes #2", test__test_x_py=FILE.replace("x + SIZE", "SIZE + x").replace("test_new", "test_before"))
    fixing(clone, " ".join(f"Fixes #{n}." for n in range(30, 40)), test__test_x_py=ADDED)
    bad = fixing(clone, "Fixes #4", test__test_y_py=FILE)
    clone.commit(f'Revert "Mend it"\n\nThis reverts commit {bad}.', test__test_y_py="")
    linked(clone, store)
    found = rows(store.path, "SELECT issues[1], reason FROM fix_tests ORDER BY committed_at DESC, path, test")
    assert found == [("4", "reverted"), ("30", "many_issues"), ("2", "no_test_changed"), ("1", "no_test_file")]


def test_a_commit_that_changes_a_dozen_tests_and_more_makes_no_script(clone: Repository, store: Store) -> None:
    many = "".join(f"    def test_{n}(self):\n        self.assertEqual({n}, {n})\n\n" for n in range(13))
    fixing(
        clone,
        test__test_x_py=FILE.replace("test_new", "test_before").replace("    def test_old", f"{many}    def test_old"),
    )
    linked(clone, store)
    assert rows(store.path, "SELECT status, reason, count(*) FROM fix_tests GROUP BY ALL") == [
        ("not_possible", "many_tests", 13)
    ]


def test_what_became_of_a_test_later_is_noted_and_it_stays(clone: Repository, store: Store) -> None:
    fixing(clone, test__test_x_py=ADDED)
    found = []
    for text in (ADDED, ADDED.replace("(1, 1)", "(2, 2)"), FILE, "print 'two'"):
        clone.commit("Go on", test__test_x_py=text)
        linked(clone, store)
        found += rows(store.path, "SELECT status, later FROM fix_tests")
    assert found == [("script", later) for later in ("same", "changed", "gone", "gone")]


def test_mining_a_clone_makes_scripts_of_its_fix_tests_when_asked(clone: Repository, tmp_path: Path) -> None:
    fixing(clone, test__test_x_py=ADDED)
    database = tmp_path / "e.duckdb"
    done = run_embers("mine", "--source", "git", clone.path, "--fix-tests", "--database", database)
    assert "1 commits fix issues; 1 read now; 1 tests make a script" in done.stdout
    own = "SELECT test, status FROM fix_tests WHERE provenance = 'own'"
    assert rows(database, own) == [("test_more", "script")]
    assert_clean_error(run_embers("mine", "--fix-tests", "--database", database), 3, "--source git CLONE")


def test_a_test_of_a_renamed_file_is_compared_with_the_old_file(clone: Repository, store: Store) -> None:
    clone("mv", "test/test_x.py", "test/test_y.py")
    fixing(clone, test__test_y_py=ADDED)
    linked(clone, store)
    assert [row[1:3] for row in table(store)] == [("test/test_y.py", "test_more")]


def classed(store: Store) -> tuple[object, ...]:
    with store.writer("test") as writer:
        class_tests(store, writer, REPO)
    [found] = rows(store.path, "SELECT class, reason, failed, passed, unusable, validated_before FROM fix_test_classes")
    return found


@pytest.mark.parametrize("codes", [(1, 0), (0, 1)])
def test_a_test_fails_on_a_release_if_it_fails_on_one_of_its_builds(one_test: Store, codes: tuple[int, int]) -> None:
    stored_run(one_test, "1.13.1", 1, "AssertionError: 3 != 4")
    for build, code in zip(("2.0.1", "2.0.1+cu118"), codes, strict=True):
        stored_run(one_test, build, code, "AssertionError: 3 != 4" if code else "")
    stored_run(one_test, "2.15.0", 0)
    assert classed(one_test)[2:4] == (["1.13.1", "2.0.1"], ["2.15.0"])


def test_trial_runs_that_stopped_in_the_middle_go_on_with_what_is_missing(
    one_test: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Writer:
        @contextmanager
        def transaction(self) -> Iterator[Any]:
            with one_test.writer("test") as writer, writer.transaction() as connection:
                yield connection

    class Ledger:
        def __init__(self, *_: object) -> None: ...
        def note_builds(self, builds: Iterable[Any]) -> dict[str, str]:
            return {build.identity: "e" for build in builds}

        def keep(self, *_: object) -> None: ...
        def commit(self) -> None: ...

    asked: list[str] = []

    class Machine:
        def make(self, works: Iterable[Any], _jobs: int) -> Iterator[tuple[Any, Any]]:
            for work in works:
                asked.append(work.build.name)
                if asked == ["1.13.1", "2.0.1"]:
                    raise KeyboardInterrupt
                stored_run(one_test, work.build.name, int(work.build.name == "1.13.1"), "AssertionError: 3 != 4")
                yield work, MagicMock(exit_code=1, signal=None, ended="exited", stdout="", stderr="")

    noted = lambda _, places: dict.fromkeys((build.identity for build, _ in places), "e")  # noqa: E731
    for name, fake in (("Ledger", Ledger), ("environment_of", lambda *_: {}), ("note_builds", noted)):
        monkeypatch.setattr(trial, name, fake)
    builds: Any = [
        SimpleNamespace(identity=version, public_version=version, name=version)
        for version in ("1.12.1", "1.13.1", "2.0.1", "2.15.0")
    ]
    builds.append(SimpleNamespace(identity="2.15.0+cu132", public_version="2.15.0", name="2.15.0+cu132"))
    request = trial.TrialRequest(REPO, builds, sample=5)
    more: Any = (Writer(), Machine(), request, Silent())
    with pytest.raises(KeyboardInterrupt):
        trial.run_trials(one_test, *more)
    assert trial.run_trials(one_test, *more) == 4
    assert asked == ["1.13.1", "2.0.1", "2.0.1", "2.15.0", "2.15.0+cu132", "1.12.1"]  # the fix came with 2.0.0
    assert trial.run_trials(one_test, *more) == 0
    assert classed(one_test)[:2] == ("validated", None)


def test_a_validated_test_gets_the_signature_of_its_failure_and_is_run_like_every_case(one_test: Store) -> None:
    fails_before_and_passes_after(one_test)
    assert classed(one_test) == ("validated", None, ["1.13.1"], ["2.0.1"], [], "1.13.1")
    [case] = counted(one_test)
    assert (case.signature_texts, case.known_bad) == (("AssertionError: N != N",), ("1.13.1",))
    assert PROFILES[case.origin] == "hostile"
    fixed = {(REPO, 123): Tracked("closed", "fixed")}
    assert set(statuses_of([case], fixed, {case.hash: ["occurs", "absent"]}).values()) == {"fixed"}
    assert set(statuses_of([case], fixed, {case.hash: ["occurs", "absent", "occurs"]}).values()) == {"regressed"}
    assert set(statuses_of([case], fixed, {case.hash: ["occurs"]}).values()) == {"closed_but_occurs"}
    assert classed(one_test)[0] == "validated"  # its trial runs belong to it still


def test_a_fix_test_counts_behind_a_curated_case_and_both_decide(one_test: Store) -> None:
    by_hand = case_by_hand(issues=[f"{REPO}#123"], relation="same")
    with one_test.writer("test") as writer, writer.transaction() as connection:
        bank.save(connection, [by_hand])
    assert [found["origin"] for found in report_of(one_test, REPO, 123).cases] == ["curated", "fix_test"]
    fails_before_and_passes_after(one_test)
    classed(one_test)
    [fix] = counted(one_test)
    closed = {(REPO, 123): Tracked("closed", "fixed")}
    for seen, status in (("absent", "fixed"), ("occurs", "regressed"), ("not_seen", "undecided")):
        verdicts = {by_hand.hash: ["occurs", "absent", "absent"], fix.hash: ["occurs", "absent", seen]}
        assert set(statuses_of([by_hand, fix], closed, verdicts).values()) == {status}


def test_what_is_shipped_of_fix_tests_is_in_a_new_database_and_gives_way_to_what_a_clone_says(
    one_test: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fails_before_and_passes_after(one_test)
    classed(one_test)
    facts = tmp_path / "facts.csv"
    with one_test.read() as connection:
        shipped_fix_tests.write(connection, facts)
    home = SimpleNamespace(data_file=lambda _: facts, package_file=resources.package_file)
    monkeypatch.setattr(shipped_fix_tests, "resources", home)
    other = Store(tmp_path / "other.duckdb")
    with other.writer("test", create=True) as writer, writer.transaction() as connection:
        shipped_fix_tests.load(connection)
    assert yield_of(other, REPO) == yield_of(one_test, REPO)
    own, shipped = report_of(one_test, REPO, 123).fix_tests, report_of(other, REPO, 123).fix_tests
    assert [row | {"provenance": "shipped"} for row in own] == shipped
    assert shipped[0]["command"].endswith("&& python test/test_x.py TestThing.test_more")
    assert "TestThing.test_more, fails on torch 1.13.1 and passes on 2.0.1 (" in headline(report_of(other, REPO, 123))
    hostile = "test/$(evil) x.py"
    with other.writer("test") as writer, writer.transaction() as connection:
        connection.execute("UPDATE fix_tests SET path = ?", [hostile])
    assert f"python '{hostile}' TestThing" in report_of(other, REPO, 123).fix_tests[0]["command"]
    with one_test.writer("test") as writer, writer.transaction() as connection:
        shipped_fix_tests.load(connection)
        assert connection.execute("SELECT DISTINCT provenance FROM fix_tests").fetchall() == [("own",)]
    facts.write_text("name,commit_sha\n1,2\n")
    with other.writer("test") as writer, writer.transaction() as connection, pytest.raises(InputError, match="anew"):
        shipped_fix_tests.load(connection)


def test_of_a_test_with_more_variants_than_run_both_numbers_are_kept(one_test: Store) -> None:
    stored_run(one_test, "2.0.1", 0)
    with one_test.writer("test") as writer, writer.transaction() as connection:
        connection.execute("UPDATE runs SET stdout = 'warming up' || chr(10) || '60 of 2001 variants ran, 58 pass'")
    classed(one_test)
    assert rows(one_test.path, "SELECT variants_run, variants FROM fix_test_classes") == [(60, 2001)]


def test_a_traceback_that_was_cut_leaves_the_outcome_of_the_run(one_test: Store) -> None:
    stored_run(one_test, "1.13.1", 1)
    stored_run(one_test, "2.0.1", 0)
    with one_test.writer("test") as writer, writer.transaction() as connection:
        connection.execute("UPDATE runs SET outcome = 'reproduced', signature = 'ValueError: x' WHERE exit_code = 1")
    assert classed(one_test)[0] == "validated"


def test_a_test_that_is_not_validated_is_run_only_where_it_is_named(one_test: Store) -> None:
    stored_run(one_test, "2.0.1", 0)
    assert classed(one_test)[0] == "never_seen"
    assert counted(one_test) == []
    [case] = bank.load(one_test, ["123"], REPO)
    assert bank.load(one_test, [case.name]) == [case]


@pytest.mark.parametrize(
    ("question", "unread", "unclear"), [("shows_bug_again", "fails_after", False), ("shows_bug", "validated", True)]
)
def test_what_readers_saw_decides_whether_a_failure_after_or_before_the_fix_counts(
    one_test: Store, monkeypatch: pytest.MonkeyPatch, question: str, unread: str, unclear: bool
) -> None:
    fails_before_and_passes_after(one_test)
    if question == "shows_bug_again":
        stored_run(one_test, "2.1.2", 1, "AssertionError: 3 != 4")
    assert classed(one_test)[0] == unread
    [case] = bank.load(one_test, ["123"], REPO)
    assert counted(one_test) == ([] if question == "shows_bug_again" else [case])
    for verdict, counts in (("wrong", False), ("unclear", unclear), ("right", True)):
        read = {"shows_bug": {}, "shows_bug_again": {}} | {question: {case.name: verdict}}
        monkeypatch.setattr(bank, "fix_test_answers", lambda read=read: read)
        assert counted(one_test) == ([case] if counts else [])


NO_SIGNATURE = "received an invalid combination of arguments -"


def test_a_known_argument_with_a_refused_value_is_a_failure(one_test: Store) -> None:
    failure = f"TypeError: f() {NO_SIGNATURE} got (Tensor, x=float), but expected one of:\n * (Tensor y, int x)"
    stored_run(one_test, "1.13.1", 1, failure)
    stored_run(one_test, "2.0.1", 0)
    assert classed(one_test)[0] == "validated"


@pytest.mark.parametrize(
    ("exit_code", "failure", "frame", "reason"),
    [
        (1, "TypeError: f() got an unexpected keyword argument 'x'", "", "lacks_interface"),
        (1, "TypeError: f() missing 2 required keyword-only arguments: 'x' and 'y'", "", "lacks_interface"),
        (1, "AttributeError: module 'torch' has no attribute 'y'", "", "lacks_interface"),
        (1, "ValueError: Unexpected keyword arguments: x", "", "lacks_interface"),
        (1, "AttributeError: M does not have a field with name 'z'", "", "lacks_interface"),
        (
            1,
            f"TypeError: f() {NO_SIGNATURE} got (Tensor, y=int), but expected one of:\n * (Tensor x)",
            "",
            "lacks_interface",
        ),
        (
            1,
            f"TypeError: f() {NO_SIGNATURE} got (y=int, ), but expected one of:\n * (Tensor x) keywords were incorrect: z, y",
            "",
            "lacks_interface",
        ),
        (1, "KeyError: 'x'", 'test\n  File "torch/testing/_internal/common.py", line 5, in make', "testing_package"),
        (1, "AssertionError: 'a' != 'b'", "assertExpectedInline", "expected_text"),
        (1, "RuntimeError: Found no NVIDIA driver on your system", "", "needs_device"),
        (1, 'AssertionError: "low must be less" does not match "low is not less"', "", "expected_text"),
        (1, "torch.onnx.errors.OnnxExporterError: Module onnx is not installed!", "", "needs_package"),
        (1, "AssertionError: GRAPH_EXECUTOR must be set", "", "needs_runner"),
        (125, "ImportError: cannot import name 'z'", "", "lacks_interface"),
        (125, "ValueError: fixture", "setUp", "not_loaded"),
    ],
)
def test_a_failure_of_the_harness_says_nothing(
    one_test: Store, exit_code: int, failure: str, frame: str, reason: str
) -> None:
    stored_run(one_test, "2.0.1", exit_code, failure, frame)
    assert classed(one_test)[:2] == ("unusable", reason)


def test_the_yield_counts_commits_and_gives_the_share_with_its_interval(one_test: Store) -> None:
    assert "no share can be given" in yield_of(one_test, REPO).sentence()
    assert yield_of(one_test, REPO).decided() == "No test was run yet."
    fails_before_and_passes_after(one_test)
    stored_run(one_test, "2.1.2", 1, "AssertionError: 3 != 4")
    assert classed(one_test)[0] == "fails_after"
    found = yield_of(one_test, REPO)
    assert found.decided().startswith("Of 1 tests that ran and need no accelerator, 0 are decided")
    others = [
        {"class": "never_seen", "reason": "passes_before", "tests": 6},
        {"class": "unusable", "reason": "needs_device", "tests": 9},
    ]
    assert "Of 6 tests that ran and need no accelerator, 6 (100 %, " in replace(found, rows=others).decided()
    assert (found.alive.issues, found.alive.fails, found.alive.open) == (1, 1, 1)
    assert "tests of 1 were run and of 1 decided. Of 1 issues" in found.sentence()
    merged = [[row[key] for key in ("class", "commits", "released", "on_newest", "holds")] for row in found.merged]
    assert merged == [["fails_after", 1, 1, 1, 0], ["all", 1, 1, 1, 0]]
    assert found.counted("folder", "class") == [("test", "fails_after", 1)]
    assert [row["test"] for row in found.failing] == ["TestThing.test_more"]


def test_the_commands_list_show_and_count_fix_tests(one_test: Store) -> None:
    done = run_embers("research", "fix-tests", "--database", one_test.path)
    assert "not_run" in done.stdout
    assert "1 commits that fix issues were read" in " ".join(done.stdout.split())
    done = run_embers("show", "123", "--database", one_test.path)
    assert "python test/test_x.py TestThing.test_more" in " ".join(done.stdout.split())
    with one_test.writer("test") as writer, writer.transaction() as connection:
        connection.execute("INSERT INTO items (repo, number, kind, state) VALUES (?, 123, 'issue', 'closed')", [REPO])
    done = run_embers("list", "--origin", "fix_test", "--database", one_test.path)
    assert "123" in done.stdout
    assert_clean_error(
        run_embers("research", "fix-tests", "--build", "all", "--since", "soon", "--database", one_test.path), 3, "soon"
    )


def test_a_changed_test_that_fails_in_front_of_the_change_decides_no_status(clone: Repository, store: Store) -> None:
    clone.commit("Add", test__test_x_py=ADDED)
    changed = ADDED.replace("self.assertEqual(1, 1)", "self.assertEqual(1, 1)\n        self.assertEqual(2, 2)")
    fixing(clone, test__test_x_py=changed)
    linked(clone, store)
    [(name, code)] = rows(store.path, "SELECT name, code FROM cases")
    line = next(n for n, text in enumerate(code.split("\n"), 1) if "assertEqual(1, 1)" in text)
    frame = f'Traceback (most recent call last):\n  File "/x/{name}.py", line {line}, in test_more\nAssertionError: 3\n'
    stored_run(store, "1.13.1", 1, "AssertionError: 3")
    stored_run(store, "2.0.1", 0)
    with store.writer("test") as writer:
        with writer.transaction() as connection:
            connection.execute("UPDATE runs SET stderr = $e WHERE exit_code = 1", {"e": frame})
        class_tests(store, writer, REPO)
    [found] = rows(store.path, "SELECT class, reason, detail, validated_before FROM fix_test_classes")
    assert found == ("doubtful", "other_line", "other_line: self.assertEqual(1, 1)", "1.13.1")
    assert counted(store) == []
    assert rows(store.path, "SELECT subject FROM fix_tests") == [("Mend it (#200)",)]
