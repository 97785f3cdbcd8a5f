"""Tests of merged fixes: which tests a commit brings, what of their file a script needs, and what their runs say."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING
from unittest.mock import MagicMock

import pytest

from helpers.fix_tests import ADDED, FILE, REPO, clone, fixing  # noqa: F401 - fixtures
from helpers.gitlog import Repository
from torch_embers.cases import fix_test_rules
from torch_embers.cases.fix_test_rules import Cut
from torch_embers.errors import InputError
from torch_embers.fixtests import link
from torch_embers.fixtests.classes import Trial, classify, reason_of
from torch_embers.fixtests.closure import RefusedError
from torch_embers.fixtests.first_release import FirstReleases
from torch_embers.fixtests.fix_commits import ChangedFile, FixCommit, files_at, fix_commits, revision_of
from torch_embers.fixtests.link import known_tests
from torch_embers.fixtests.script import make_script
from torch_embers.fixtests.scripts_of_commit import FileOfTests, case_of, scripts_of_commit
from torch_embers.fixtests.scripts_of_commit import TestFound as FoundTest
from torch_embers.fixtests.test_file import read
from torch_embers.fixtests.trial import TrialTest, wanted_releases
from torch_embers.mine.git.gitrepo import Clone

if TYPE_CHECKING:
    from torch_embers.cases.case import Case
    from torch_embers.fixtests.classes import Said
    from torch_embers.fixtests.first_release import Evidence


def script(text: str, owner: str = "TestThing", test: str = "test_new") -> str:
    return make_script(read(textwrap.dedent(text).encode()), owner, test, fix_test_rules.load())


def runs(code: str, folder: Path | None = None) -> tuple[int, str, str]:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=folder)
    return done.returncode, done.stdout, done.stderr


def changed(before: str | None, after: str) -> list[tuple[str, str, str]]:
    files = [FileOfTests("test/test_x.py", after.encode(), before.encode() if before is not None else None)]
    found = scripts_of_commit(files, fix_test_rules.load())
    return [(test.owner, test.test, test.change) for test in found if test.owner and test.test and test.change]


@pytest.fixture
def torch(tmp_path: Path) -> Path:
    """A folder with a package torch that has one submodule, which it does not load itself."""
    (tmp_path / "torch").mkdir()
    (tmp_path / "torch" / "__init__.py").write_text("")
    (tmp_path / "torch" / "_deep.py").write_text("zero = 0")
    return tmp_path


def only(after: bytes | None, before: bytes | None = None) -> tuple[str | None, str]:
    [found] = scripts_of_commit([FileOfTests("test/test_x.py", after, before)], fix_test_rules.load())
    return found.reason, found.detail


def case(verbatim: str, issues: list[int], test: str = "test_new", owner: str = "TestThing") -> Case:
    found = FoundTest("test/test_x.py", owner, test, "added", "print()", verbatim)
    return case_of(found, REPO, issues, "0" * 40, 60)


def refused(text: str, test: str = "test_new", owner: str = "TestThing") -> str:
    with pytest.raises(RefusedError) as error:
        script(text, owner, test)
    return error.value.reason


def test_of_a_new_file_every_test_is_added() -> None:
    assert changed(None, FILE) == [
        ("Base", "test_of_the_base", "added"),
        ("TestThing", "test_old", "added"),
        ("TestThing", "test_new", "added"),
    ]


def test_a_changed_body_or_decorator_counts_and_white_space_and_comments_do_not() -> None:
    other = FILE.replace("self._compare(self._own(), 3)", "self._compare(self._own(),   3)  # why")
    assert changed(FILE, other) == []
    assert changed(FILE, FILE.replace("self._own(), 3)", "self._own(), 4)")) == [("TestThing", "test_new", "changed")]
    skipped = FILE.replace("    def test_new", "    @unittest.skip('x')\n    def test_new")
    assert changed(FILE, skipped) == [("TestThing", "test_new", "changed")]


def test_a_test_that_was_renamed_or_moved_is_no_new_one() -> None:
    assert changed(FILE, FILE.replace("test_new", "test_newer")) == []
    assert changed(FILE, FILE.replace("TestThing", "TestOther")) == []


# ---- what a script needs -------------------------------------------------------------------------------------------


def test_a_script_has_what_the_test_needs_and_no_more() -> None:
    code = script(FILE)
    assert "SIZE = 3" in code
    assert "def helper" in code
    assert "def setUp" in code
    assert "exact = True" in code
    assert "UNUSED" not in code
    assert "test_old" not in code
    assert "test_of_the_base" not in code
    assert "import os\n" not in code.partition("def _embers_run")[0].partition("_embers_cannot_run\n")[2]
    assert runs(code) == (0, "1 of 1 variants ran, 1 pass\n", "")


def test_a_failing_test_exits_1_with_its_traceback() -> None:
    code, out, err = runs(script(FILE.replace("return helper(0)", "return helper(1)")))
    assert (code, out) == (1, "TestThing.test_new fails\n")
    assert "AssertionError: 4 != 3" in err


def test_what_does_not_load_or_fails_before_the_test_exits_125() -> None:
    code, _, err = runs(
        script(
            FILE.replace("import torch\n", "import torch\nfrom unittest import nothing\n").replace(
                "return x + SIZE", "return x + SIZE + nothing"
            )
        )
    )
    assert code == 125
    assert "ImportError" in err
    code, out, _ = runs(script(FILE.replace("self.one = 1", "raise ValueError")))
    assert (code, out) == (125, "TestThing.test_new fails\n")


def test_a_helper_that_fails_within_a_fixture_is_not_the_body_of_the_test() -> None:
    text = FILE.replace("self.one = 1", "self._prepare()").replace(
        "    def test_old", "    def _prepare(self):\n        raise ValueError\n\n    def test_old"
    )
    assert runs(script(text))[:2] == (125, "TestThing.test_new fails\n")
    assert runs(script(FILE.replace("return helper(0)", "return helper(None)")))[0] == 1


LACKING = FILE.replace(
    "import torch\n", "import torch\nfrom torch._nowhere import lost\nimport torch._nowhere as gone\n"
)


def test_a_name_that_the_build_lacks_matters_only_where_it_is_used(torch: Path) -> None:
    unused = LACKING.replace("return x + SIZE", "return x + SIZE if x == 0 else lost(gone.x)")
    assert runs(script(unused), torch)[:2] == (0, "1 of 1 variants ran, 1 pass\n")
    for use in ("lost(x)", "gone.x", "isinstance(x, lost)"):
        code, out, _ = runs(script(LACKING.replace("return x + SIZE", f"return {use}, lost, gone")), torch)
        assert (code, out.partition(":")[0]) == (125, "lacks_interface")


def test_a_failure_where_a_name_is_lacking_is_not_counted(torch: Path) -> None:
    text = LACKING.replace("return x + SIZE", "return x + SIZE + 1 if x == 0 else lost")
    assert runs(script(text), torch)[:2] == (125, "lacks_interface: this build has no lost\n")


def test_submodules_that_another_import_loads_are_loaded(torch: Path) -> None:
    text = FILE.replace("return x + SIZE", "return x + SIZE + torch._deep.zero")
    assert "_embers_submodules('torch._deep.zero')" in script(text)
    assert runs(script(text), torch)[0] == 0
    away = FILE.replace("return x + SIZE", "return x + SIZE if x == 0 else torch.nowhere.at.all")
    assert runs(script(away), torch)[0] == 0


def test_the_tests_of_a_mixin_run_in_the_classes_that_take_it_up() -> None:
    text = FILE.replace("class TestThing(Base)", "class Mixin(object)").replace(
        "if __name__", "class TestThing(TestCase, Mixin):\n    _compare = TestCase.assertEqual\n\n\nif __name__"
    )
    assert runs(script(text, "Mixin"))[:2] == (0, "1 of 1 variants ran, 1 pass\n")
    assert refused(FILE.replace("class TestThing(Base)", "class Mixin"), owner="Mixin") == "template"


def test_a_file_that_takes_its_test_case_away_without_its_device_needs_the_device() -> None:
    text = FILE.replace("SIZE = 3", "SIZE = 3\nif not torch.cuda.is_available():\n    TestCase = NoTest")
    assert refused(text) == "needs_device"
    assert "TestCase = NoTest" in script(text.replace("torch.cuda.is_available()", "TEST_SCIPY"))


def test_packages_that_only_other_tests_of_the_file_need_refuse_nothing() -> None:
    assert "import os" in script(
        FILE.replace("import os", "import os, torchvision").replace(
            "return x + SIZE", "return x + SIZE + len(os.sep) - 1"
        )
    )


def test_a_skipped_or_expected_failure_says_nothing() -> None:
    marked = FILE.replace("    def test_new", "    @unittest.{}\n    def test_new")
    assert runs(script(marked.replace("{}", "skip('no GPU')")))[:2] == (125, "skipped: no GPU\n")
    assert runs(script(marked.replace("{}", "expectedFailure")))[0] == 125


def test_types_in_comments_stay_because_the_text_is_cut_by_lines() -> None:
    text = FILE.replace("def helper(x):\n", "def helper(x):\n    # type: (int) -> int\n")
    assert "# type: (int) -> int" in script(text)


def test_imports_of_helpers_that_moved_are_written_as_builds_have_them() -> None:
    text = FILE.replace("from unittest import TestCase", "from common_utils import TestCase, slowTest")
    text = text.replace("    def test_new", "    @slowTest\n    def test_new")
    code = script(text)
    assert "from torch.testing._internal.common_utils import TestCase\n" in code
    assert "except ImportError:\n    slowTest = _embers_mark" in code


def test_the_call_that_makes_variants_is_kept() -> None:
    text = FILE.replace(
        "if __name__",
        "instantiate_device_type_tests(TestThing, globals())\ninstantiate_device_type_tests(Base, globals())\nif __name__",
    )
    text = "from torch.testing._internal.common_device_type import instantiate_device_type_tests\n" + text
    code = script(text)
    assert "instantiate_device_type_tests(TestThing, globals())" in code
    assert "(Base, globals())" not in code


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("os.chdir('/')", "changes_directory"),
        ("open(__file__)", "needs_data"),
        ("torch.hub.load('x', 'y')", "needs_network"),
        ("torch.utils.cpp_extension.load_inline('x')", "needs_compiler"),
        ("torch.multiprocessing.spawn(f)", "spawns"),
        ("import torchvision", "needs_package"),
        ("import test_other_file", "needs_test_module"),
        ("from .sibling import x", "needs_test_module"),
    ],
)
def test_what_no_script_can_have_is_refused_with_its_reason(body: str, reason: str) -> None:
    assert refused(FILE.replace("self._compare(self._own(), 3)", body)) == reason


@pytest.mark.parametrize(
    ("decorator", "reason"), [("onlyCUDA", "needs_device"), ("ops(op_db)", "generated"), ("modules(db)", "generated")]
)
def test_decorators_that_leave_nothing_to_run_are_refused(decorator: str, reason: str) -> None:
    assert refused(FILE.replace("    def test_new", f"    @{decorator}\n    def test_new")) == reason


def test_thousands_of_variants_are_run_up_to_the_limit() -> None:
    text = FILE + "\nfor i in range(2000):\n    setattr(TestThing, f'test_new_{i:04}', TestThing.test_new)\n"
    code = script(text).replace(
        "\n_embers_run",
        "\nfor i in range(2000):\n    setattr(TestThing, f'test_new_{i:04}', TestThing.test_new)\n_embers_run",
    )
    assert runs(code)[:2] == (0, "60 of 2001 variants ran, 60 pass\n")


def small(*tests: str, body: str = "pass") -> bytes:
    lines = [f"    def {name}(self):\n        self.assertEqual({name!r}, {body!r})\n" for name in tests]
    return (
        "from unittest import TestCase\n\n\nclass TestSmall(TestCase):\n    one = 1\n\n" + "\n".join(lines)
    ).encode()


def test_a_test_that_moved_from_another_file_or_a_deleted_one_is_no_new_one() -> None:
    files = [
        FileOfTests("test/a.py", small("test_here"), small("test_here", "test_moved")),
        FileOfTests("test/b.py", small("test_moved", "test_new", "test_saved"), small()),
        FileOfTests("test/c.py", None, small("test_saved"), is_deleted=True),
    ]
    found = scripts_of_commit(files, fix_test_rules.load())
    assert [(test.path, test.test, test.change) for test in found] == [("test/b.py", "test_new", "added")]


def test_of_a_test_that_is_given_twice_the_one_that_python_runs_counts() -> None:
    twice = FILE.replace("    def test_new", "    def test_new(self):\n        self.fail()\n\n    def test_new")
    assert changed(FILE, twice) == []
    assert runs(script(twice))[0] == 0


@pytest.mark.parametrize("deep", [" + ".join(["1"] * 1500), "x" + ".a" * 1500, "x" + "()" * 1500, "-" * 1500 + "1"])
def test_a_test_that_is_nested_too_deeply_gives_a_reason_and_stops_nothing(deep: str) -> None:
    text = FILE.replace("_own(), 3)", f"_own(), {deep})").encode()
    assert only(text, FILE.encode())[0] == "not_parsed"


def test_nothing_of_a_hostile_file_is_executed_when_its_tests_are_read(tmp_path: Path) -> None:
    mark = tmp_path / "executed"
    evil = f"open({str(mark)!r}, 'w')"
    text = f"""
        import unittest
        @(lambda owner: ({evil}, owner)[1])
        class TestThing(unittest.TestCase):
            @(lambda test: ({evil}, __import__('evil'), test)[2])
            def test_new(self, given={evil}):
                self.assertEqual(1, 2)
    """
    [found] = scripts_of_commit([FileOfTests("test/t.py", textwrap.dedent(text).encode(), None)], fix_test_rules.load())
    assert found.code is not None
    case_of(found, REPO, [1], "0" * 40, 60.0)
    assert not mark.exists()


def test_a_file_that_cannot_be_read_gives_one_row_with_a_reason() -> None:
    assert only(None)[0] == "not_readable"
    assert only(b"print 'two'")[0] == "not_parsed"
    assert only(b"\xff\xfe")[0] == "not_parsed"
    assert only(b"# coding: nonsense\n")[0] == "not_parsed"
    assert only(b"(" * 5_000)[0] == "not_parsed"
    assert only(b"x = 1")[0] == "no_test_changed"
    assert only(b"#" * 5_000_000)[0] == "too_large"


@pytest.mark.parametrize(
    "content",
    [
        FILE.encode("utf-8-sig"),
        f"# -*- coding: latin-1 -*-\nNAME = 'é'\n{FILE}".encode("latin-1"),
        FILE.replace("\n", "\r\n").encode(),
        FILE.replace("\n", "\r").encode(),
    ],
    ids=["bom", "latin-1", "crlf", "cr"],
)
def test_a_file_is_read_in_its_own_encoding_and_line_ends(content: bytes) -> None:
    found = scripts_of_commit([FileOfTests("test/test_x.py", content, None)], fix_test_rules.load())
    [made] = [test for test in found if test.test == "test_new"]
    assert made.code is not None
    assert made.text == "def test_new(self):\n    self._compare(self._own(), 3)"
    assert [
        test.reason for test in scripts_of_commit([FileOfTests("x.py", content, content)], fix_test_rules.load())
    ] == ["no_test_changed"]


@pytest.mark.parametrize(
    "codec", ["rot13", "hex", "base64", "zlib", "no-such", "undefined", "unicode_escape", "utf-16"]
)
def test_a_file_that_declares_a_codec_of_no_text_gives_a_reason(codec: str) -> None:
    content = f"# -*- coding: {codec} -*-\nx = '\\u12'\n".encode()
    for files in (FileOfTests("test/test_x.py", content, None), FileOfTests("test/test_x.py", content, FILE.encode())):
        assert [test.reason for test in scripts_of_commit([files], fix_test_rules.load())] == ["not_parsed"]


@pytest.mark.parametrize(
    ("verbatim", "relations"),
    [
        ("def test_new(self): torch.zeros(128, 512)", {128: "sibling", 512: "sibling"}),
        ("def test_new(self): pass  # see #128", {128: "same", 512: "sibling"}),
        ("def test_new(self): pass  # https://github.com/pytorch/pytorch/issues/512", {128: "sibling", 512: "same"}),
        ("def test_issue_512(self): pass  # Issue 128", {128: "same", 512: "same"}),
        ("def test_of_512(self): pass  # #1281", {128: "sibling", 512: "same"}),
    ],
)
def test_a_test_that_names_an_issue_shows_that_issue_and_a_bare_number_names_none(
    verbatim: str, relations: dict[int, str]
) -> None:
    assert case(verbatim, [128, 512]).relations == {(REPO, number): what for number, what in relations.items()}
    assert case("def test_new(self): pass", [128]).relations == {(REPO, 128): "same"}


def test_long_names_of_tests_give_different_cases() -> None:
    names = {case("x", [1], f"test_{'x' * 200}_{letter}").name for letter in "ab"}
    assert len(names) == 2
    assert max(map(len, names)) <= 150


def test_a_parent_that_does_not_parse_counts_as_none() -> None:
    found = scripts_of_commit([FileOfTests("test/test_x.py", FILE.encode(), b"print 'two'")], fix_test_rules.load())
    assert [test.change for test in found] == ["added"] * 3


def named_fixes(clone: Repository) -> list[FixCommit]:
    opened = Clone(clone.path)
    return fix_commits(opened, REPO, revision_of(opened, "HEAD"), ("test/",))


def test_a_commit_that_takes_a_revert_back_fixes_what_the_reverted_one_fixed(clone: Repository) -> None:
    first = fixing(clone, test__test_x_py=ADDED)
    revert = clone.commit(f'Revert "Mend it"\n\nThis reverts commit {first}.', test__test_x_py=FILE)
    again = clone.commit(f'Revert "Revert "Mend it""\n\nThis reverts commit {revert}.', test__test_x_py=ADDED)
    found = {commit.sha: (commit.issues, commit.is_reverted) for commit in named_fixes(clone)}
    assert found == {first: ((123,), True), again: ((123,), False)}
    third = clone.commit(f"Revert once more\n\nThis reverts commit {again}.", test__test_x_py=FILE)
    fourth = clone.commit(f"Reland\n\nThis reverts commit {third}.", test__test_x_py=ADDED)
    found = {commit.sha: (commit.issues, commit.is_reverted) for commit in named_fixes(clone)}
    assert found == {first: ((123,), True), again: ((123,), True), fourth: ((123,), False)}


def test_a_message_with_the_byte_that_parts_records_is_one_record(clone: Repository) -> None:
    odd = clone.commit("Odd \x01 subject\n\nFixes #9\n\x01" + "a" * 40, test__test_x_py=ADDED)
    assert [(commit.sha, commit.issues) for commit in named_fixes(clone)] == [(odd, (9,))]


def test_a_file_of_which_the_clone_lacks_the_parent_is_no_new_file() -> None:
    files = (ChangedFile("test/x.py", "b", "c"),)
    commit = FixCommit("a" * 40, "", "", (1,), pull=None, is_reverted=False, files=files)
    [file] = link.files_of(commit, iter([("b", FILE.encode()), ("c", None)]))
    assert (file.after, file.before) == (None, None)
    assert only(file.after)[0] == "not_readable"


def test_a_clone_without_contents_lists_files_and_knows_no_version(clone: Repository, tmp_path: Path) -> None:
    clone.commit("Raise", **{"version.txt": "2.1.0a0\n"})
    clone("rm", "-q", "test/test_x.py")
    sha = fixing(clone, test__test_y_py=ADDED)
    clone.commit("Go on", test__test_y_py=FILE, **{"version.txt": "2.2.0a0\n"})
    clone("config", "uploadpack.allowFilter", "true")
    clone("clone", "-q", "--bare", "--filter=blob:none", f"file://{clone.path}", str(tmp_path / "bare"))
    opened = Clone(tmp_path / "bare")
    tip = revision_of(opened, "HEAD")
    [commit] = fix_commits(opened, REPO, tip, ("test/",))
    assert [(file.path, file.blob is None) for file in commit.files or ()] == [
        ("test/test_x.py", True),
        ("test/test_y.py", False),
    ]
    assert FirstReleases(opened, tip, {}, {}).of(sha, commit.committed_at) == (None, "unknown")


def test_what_became_of_a_test_is_known_by_the_bytes_of_its_path_and_not_of_a_file_that_is_lacking(
    clone: Repository,
) -> None:
    for name in (b"test_\xff.py", b"test_a\nb.py"):
        Path(os.fsdecode(os.fsencode(clone.path / "test") + b"/" + name)).write_bytes(small("test_k"))
    clone.commit("Odd names")
    opened = Clone(clone.path)
    files = files_at(opened, revision_of(opened, "HEAD"), ("test/",))
    assert set(files) == {"test/test_x.py", "test/test_\\xff.py", "test/test_a\nb.py"}
    found = known_tests(opened, {**files, "gone": None, "lacking": "0" * 40})
    assert {path: sorted(test for _, test in tests) for path, tests in found.items()} == {
        "test/test_x.py": ["test_before", "test_of_the_base", "test_old"],
        "test/test_\\xff.py": ["test_k"],
        "test/test_a\nb.py": ["test_k"],
        "gone": [],
    }


def test_a_shallow_clone_and_an_unknown_revision_are_clear_errors(clone: Repository, tmp_path: Path) -> None:
    fixing(clone, test__test_x_py=ADDED)
    with pytest.raises(InputError, match="no commit 'nowhere'"):
        revision_of(Clone(clone.path), "nowhere")
    with pytest.raises(InputError, match="no commit '--all'"):
        revision_of(Clone(clone.path), "--all")
    clone("clone", "-q", "--depth", "1", f"file://{clone.path}", str(tmp_path / "shallow"))
    with pytest.raises(InputError, match="shallow"):
        Clone(tmp_path / "shallow")


# ---- releases ------------------------------------------------------------------------------------------------------


def test_the_first_release_comes_from_tags_else_from_the_version_of_the_tree(clone: Repository) -> None:
    early = clone.commit("One")
    clone("tag", "v2.0.0")
    clone("tag", "v2.0.1")
    clone("tag", "v2.1.0-rc1")
    middle = clone.commit("Two", **{"version.txt": "2.1.0a0\n"})
    last = clone.commit("Three", **{"version.txt": "2.2.0a0\n"})
    clone("tag", "v1.9.0", "HEAD:version.txt")  # the tag of a file names no commit
    releases = FirstReleases(Clone(clone.path), revision_of(Clone(clone.path), "HEAD"), {}, {})
    when = [clone("log", "-1", "--format=%cd", "--date=format:%Y-%m-%dT%H:%M:%SZ", sha) for sha in (middle, last)]
    assert releases.of(early, "") == ("2.0.0", "tag")
    assert releases.of(middle, _utc(when[0])) == ("2.1.0", "version_txt")
    assert releases.of(last, _utc(when[1])) == ("2.2.0", "version_txt")


def _utc(text: str) -> str:
    """Two hours earlier: the stamps of the synthetic repository are of +0200."""
    from datetime import datetime, timedelta

    return (datetime.fromisoformat(text.replace("Z", "")) - timedelta(hours=2)).strftime("%Y-%m-%dT%H:%M:%SZ")


def test_without_tags_and_version_a_day_decides_and_else_nothing(tmp_path: Path) -> None:
    bare = Repository(tmp_path / "bare")
    sha = bare.commit("One")
    cuts = {"2.0.0": Cut("2023-01-29T00:00:00Z"), "2.1.0": Cut("2023-08-20T00:00:00Z")}
    releases = FirstReleases(Clone(bare.path), sha, cuts, {})
    assert releases.of(sha, "2023-03-01T00:00:00Z") == ("2.1.0", "release_date")
    assert releases.of(sha, "2024-03-01T00:00:00Z") == (None, "unknown")
    assert releases.of(sha, "2020-03-01T00:00:00Z") == (None, "unknown")


def test_a_measured_cut_decides_to_the_second_and_a_picked_commit_is_in_the_release_all_the_same(
    clone: Repository,
) -> None:
    cuts = {
        "1.9.0": Cut("2021-05-17T18:36:49Z", measured=True),
        "1.10.0": Cut("2021-09-21T16:58:54Z", measured=True),
        "1.11.0": Cut("2022-01-24T00:00:00Z"),
    }
    sha = clone.commit("One", **{"version.txt": "1.11.0a0\n"})
    releases = FirstReleases(Clone(clone.path), revision_of(Clone(clone.path), "HEAD"), cuts, {"picked": "1.9.0"})
    assert releases.of(sha, "2021-05-17T18:36:50Z") == ("1.10.0", "branch_cut")
    assert releases.of(sha, "2021-09-21T16:58:54Z") == ("1.10.0", "branch_cut")
    assert releases.of("picked", "2021-05-20T00:00:00Z") == ("1.9.0", "picked")
    releases._raised = [("2000-01-01", "1.11.0")]
    assert releases.of(sha, "2021-09-21T16:58:55Z") == ("1.11.0", "version_txt")  # the next cut is an estimate
    assert releases.of(sha, "2021-05-17T18:36:49Z") == ("1.11.0", "version_txt")  # so may be the one before the first


def test_a_version_that_was_never_released_or_was_cut_before_moves_to_the_next_release(clone: Repository) -> None:
    sha = clone.commit("One", **{"version.txt": "1.14.0a0\n"})
    moment = clone("log", "-1", "--format=%cs", sha).strip()
    tip = revision_of(Clone(clone.path), "HEAD")
    for days, expected in (
        ({"1.13.0": "2001-01-01", "2.0.0": "2999-01-01"}, "2.0.0"),
        ({"1.13.0": "2001-01-01", "2.0.0": moment, "2.1.0": "2999-01-01"}, "2.1.0"),
        ({"2.0.0": "2999-01-01"}, "1.14.0"),  # older than all that is known of
        ({"1.13.0": "2001-01-01"}, "1.14.0"),
    ):
        cuts = {version: Cut(f"{day}T00:00:00Z") for version, day in days.items()}
        found = FirstReleases(Clone(clone.path), tip, cuts, {}).of(sha, f"{moment}T23:59:59Z")
        assert found == (expected, "version_txt")


# ---- what runs say -------------------------------------------------------------------------------------------------

SAYS: dict[str, Said] = {"F": "failed", "P": "passed", "-": "nothing"}
VERSIONS = ("1.13.1", "2.0.1", "2.1.2", "2.2.2")


def trials(said: str) -> list[Trial]:
    return [
        Trial(
            version,
            SAYS[mark],
            "lacks_interface: x" if mark == "-" else mark,
            "AssertionError: x" if mark == "F" else None,
            reason="lacks_interface" if mark == "-" else None,
        )
        for version, mark in zip(VERSIONS, said, strict=False)
    ]


@pytest.mark.parametrize(
    ("said", "first", "evidence", "expected"),
    [
        ("FPPP", "2.0.0", "tag", ("validated", None, "1.13.1", "2.0.1", False)),
        ("FFPP", "2.0.0", "version_txt", ("validated", None, "2.0.1", "2.1.2", False)),
        ("FFPP", "2.0.0", "tag", ("fails_after", None, None, None, False)),
        ("FPPF", "2.0.0", "tag", ("fails_after", None, "1.13.1", "2.0.1", True)),
        ("PPPP", "2.0.0", "tag", ("never_seen", "passes_before", None, None, False)),
        ("PPPP", "1.8.0", "version_txt", ("never_seen", "no_release_before", None, None, False)),
        ("PPPF", None, "unknown", ("fails_after", None, None, None, True)),
        ("FFFF", "2.0.0", "tag", ("unusable", "fails_everywhere", None, None, True)),
        ("-PPP", "2.0.0", "tag", ("never_seen", "lacks_interface", None, None, False)),
        ("F-PP", "2.1.0", "tag", ("validated", None, "1.13.1", "2.1.2", False)),
        ("FPPP", "2.1.0", "tag", ("doubtful", "mended_before", "1.13.1", "2.0.1", False)),
        ("FPPF", "2.1.0", "branch_cut", ("fails_after", "mended_before", "1.13.1", "2.0.1", True)),
        ("FFPP", "2.0.0", "branch_cut", ("fails_after", None, None, None, False)),
        ("----", "2.0.0", "tag", ("unusable", "lacks_interface", None, None, None)),
        ("F---", "2.0.0", "tag", ("unusable", "unclear", None, None, None)),
        ("", "2.0.0", "tag", ("unusable", "not_run", None, None, None)),
        ("P", "2.0.0", "tag", ("unusable", "not_run", None, None, None)),  # with the fix it did not run
        ("P-", "2.0.0", "tag", ("unusable", "lacks_interface", None, None, None)),
    ],
)
def test_the_class_of_a_test_follows_from_its_runs_around_the_fix(
    said: str, first: str | None, evidence: Evidence, expected: tuple[object, ...]
) -> None:
    found = classify(trials(said), first, evidence)
    assert (found.kind, found.reason, found.validated_before, found.validated_after, found.fails_on_newest) == expected


@pytest.mark.parametrize(
    ("said", "first", "evidence", "wanted"),
    [
        ("", "2.1.0", "tag", {"2.0.1", "2.1.2"}),
        ("", None, "unknown", {"1.13.1"}),
        ("..F-", "2.1.0", "tag", {"2.0.1", "2.1.2", "2.2.2"}),  # says something: the newest, too
        (".F-", "2.1.0", "tag", {"2.0.1", "2.1.2", "2.2.2"}),
        (".--", "2.1.0", "tag", {"1.13.1", "2.0.1", "2.1.2"}),  # does not fail before the fix: one more
        (".FF", "2.1.0", "tag", {"2.0.1", "2.1.2", "2.2.2"}),
        ("FF", "2.0.0", "version_txt", {"1.13.1", "2.0.1", "2.1.2", "2.2.2"}),  # the fix may have come one later
        (".FP", "2.1.0", "tag", set(VERSIONS)),
    ],
)
def test_what_a_test_said_decides_on_which_releases_it_runs(
    said: str, first: str | None, evidence: Evidence, wanted: set[str]
) -> None:
    known = [trial for trial, mark in zip(trials(said.replace(".", "-")), said, strict=True) if mark != "."]
    test = TrialTest(MagicMock(), first, evidence, MagicMock())
    assert set(wanted_releases(test, VERSIONS, known)) == wanted


@pytest.mark.parametrize(
    ("detail", "reason"),
    [
        ("lacks_interface: TypeError: f() got an unexpected keyword argument", "lacks_interface"),
        ("skipped: CUDA not available", "needs_device"),
        ("skipped: needs numba", "skipped"),
        ("skipped: requires mps", "needs_device"),
        ("no variant of the test for the devices at hand", "no_variant"),
        ("not_loaded: ImportError: cannot import name", "lacks_interface"),
        ("not_loaded: ValueError", "not_loaded"),
        ("killed after 60 s", "stopped"),
    ],
)
def test_a_run_that_says_nothing_has_a_reason_of_the_rules(detail: str, reason: str) -> None:
    rules = fix_test_rules.load()
    assert reason_of(detail, rules) == reason
    assert reason in rules.reasons
