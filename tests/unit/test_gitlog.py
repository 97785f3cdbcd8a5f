"""Reading a local clone: what a commit says, what a hostile clone must not do, and where a run goes on."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import time
from contextlib import nullcontext
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers.gitlog import REPO, Repository, mine, plain_components, remove_blob, repository  # noqa: F401 - fixtures
from torch_embers.errors import InputError
from torch_embers.mine.git import gitsizes
from torch_embers.mine.git.commits import Rows, pull_number
from torch_embers.mine.git.git_records import read_git_log

if TYPE_CHECKING:
    from pathlib import Path
pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")


shipped_component_of = gitsizes.component_of


def test_a_commit_carries_its_files_dates_and_pull_request(repository: Repository) -> None:
    first = repository.commit("Start", a_py="1\n2\n")
    message = "Fix strides (#42)\n\nFixes #7\n\nPull Request resolved: https://github.com/pytorch/pytorch/pull/42\n"
    second = repository.commit(message, a_py="1\n3\n4\n", picture=b"\0\1\2")
    batch = mine(repository.path)
    one, two = batch.commits
    assert (one.sha, two.sha) == (first, second)
    assert (two.subject, two.pull_number, one.pull_number) == ("Fix strides (#42)", 42, None)
    assert two.message == message.rstrip("\n")
    assert (two.author, str(two.committed_at)) == ("Ann", "2016-07-31 21:22:00")
    files = {(f.sha, f.path): f.change for f in batch.commit_files}
    assert files == {(first, "a.py"): "added", (second, "a.py"): "modified", (second, "picture"): "added"}


def test_a_renamed_file_stands_under_its_new_name(repository: Repository) -> None:
    repository.commit("Start", old_py="1\n2\n3\n4\n5\n", other_py="x\n")
    repository("mv", "old.py", "new.py")
    sha = repository.commit("Rename", other_py="y\n")
    batch = mine(repository.path)
    files = {f.path: f.change for f in batch.commit_files if f.sha == sha}
    assert files == {"new.py": "renamed", "other.py": "modified"}


def test_names_and_messages_that_are_no_utf8_are_kept_readable(repository: Repository) -> None:
    repository.commit("Start", a_py="1\n")
    (repository.path / os.fsdecode(b"caf\xe9\n.py")).write_bytes(b"1\n")
    repository.commit("Placeholder")
    # git itself would convert such a message: only an object written by hand carries it
    made = repository("cat-file", "commit", "HEAD").partition("\n\n")[0].encode()
    raw = made + b"\n\nGr\xfc\xdfe (#3)\n\nbody \xff\n"
    repository("reset", "-q", "--soft", repository("hash-object", "-w", "-t", "commit", "--stdin", stdin=raw))
    batch = mine(repository.path)
    assert "caf\\xe9\n.py" in {file.path for file in batch.commit_files}
    assert (batch.commits[-1].subject, batch.commits[-1].pull_number) == ("Gr\ufffd\ufffde (#3)", 3)
    assert batch.commits[-1].message == "Gr\ufffd\ufffde (#3)\n\nbody \ufffd"
    assert json.dumps([commit.message for commit in batch.commits]).isascii()


def test_a_second_run_reads_a_clone_whole_where_it_has_changed(repository: Repository) -> None:
    repository.commit("One", a_py="1\n")
    repository("tag", "v1.0.0")
    assert mine(repository.path).read.commits == 1
    assert mine(repository.path).read.commits == 0
    repository.commit("Two", a_py="2\n")
    repository("tag", "v1.0.1")
    more = mine(repository.path)
    assert more.read.commits == 2
    assert [commit.subject for commit in more.commits] == ["One", "Two"]
    assert {size.tag for size in more.code_sizes} == {"v1.0.0", "v1.0.1"}


def test_a_rewritten_history_is_read_again(repository: Repository) -> None:
    repository.commit("One", a_py="1\n")
    mine(repository.path)
    shutil.rmtree(repository.path)
    other = Repository(repository.path)
    shas = {other.commit("Another one"), other.commit("Two")}
    assert {commit.sha for commit in mine(other.path).commits} == shas


def test_release_branches_and_version_tags_are_read_and_other_branches_are_not(repository: Repository) -> None:
    repository.commit("Start")
    repository("checkout", "-q", "-b", "release/1.7")
    repository.commit("[v1.7 cherry-pick] fix (#9)")
    repository("checkout", "-q", "-b", "gh/somebody/1/head", "main")
    repository.commit("not landed")
    repository("checkout", "-q", "--detach", "main")
    repository.commit("tagged only")
    repository("tag", "-a", "-m", "release", "v0.1.0")
    repository("checkout", "-q", "main")
    subjects = {commit.subject for commit in mine(repository.path).commits}
    assert subjects == {"Start", "[v1.7 cherry-pick] fix (#9)", "tagged only"}


# --- lines of code ---------------------------------------------------------------------------------------


def test_lines_of_code_are_counted_per_release_and_component(repository: Repository) -> None:
    repository.commit("One", c10__a_py="1\n2\n", aten__b_py="1\n2\n3\n", README="many\nlines\n", tool_py="1\n")
    repository("tag", "-a", "-m", "first", "v1.0.0")
    for unwanted in ("v1.1.0-rc1", "v1.1.0a0", "nightly", "v1x"):
        repository("tag", unwanted)
    repository.commit("Two", c10__a_py="1\n2\n3\n4\n", c10__bin_py=b"\0\n\n", c10__empty_py="")
    repository("tag", "v1.1.0")
    sizes = {(s.tag, s.component, s.subcomponent): (s.files, s.lines) for s in mine(repository.path).code_sizes}
    assert sizes == {
        ("v1.0.0", "data_path", "aten"): (1, 3),
        ("v1.0.0", "data_path", "c10"): (1, 2),
        ("v1.0.0", "data_path_strict", "c10"): (1, 2),
        ("v1.0.0", "other", ""): (1, 1),
        ("v1.1.0", "data_path", "aten"): (1, 3),
        ("v1.1.0", "data_path", "c10"): (2, 4),
        ("v1.1.0", "data_path_strict", "c10"): (2, 4),
        ("v1.1.0", "other", ""): (1, 1),
    }


def test_the_shipped_table_decides_the_component_of_a_file() -> None:
    assert shipped_component_of("c10/core/TensorImpl.cpp")[::2] == ("data_path", True)
    assert shipped_component_of("torch/optim/adam.py")[0] == "computation"
    assert shipped_component_of("no/such/place.py") == ("other", "", False)


def test_lfs_pointers_count_as_nothing_and_are_reported_once(repository: Repository) -> None:
    pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 5\n"
    repository.commit("One", c10__a_py="1\n", c10__b_py=pointer, c10__c_py=pointer)
    repository("tag", "v1.0.0")
    batch = mine(repository.path)
    assert [(s.files, s.lines) for s in batch.code_sizes if s.component == "data_path"] == [(1, 1)]
    (reject,) = batch.rejects
    assert "2 source files are Git LFS pointers" in reject.reason
    assert "c10/b.py" in reject.raw


def test_symbolic_links_and_submodules_have_no_lines(repository: Repository) -> None:
    repository.commit("One", c10__a_py="1\n")
    (repository.path / "c10/link.py").symlink_to("a.py")
    head = repository("rev-parse", "HEAD")
    repository("update-index", "--add", "--cacheinfo", f"160000,{head},c10/sub.py")
    repository("add", "c10/link.py")
    repository("commit", "-q", "-m", "link")
    repository("tag", "v1.0.0")
    batch = mine(repository.path)
    assert [s.files for s in batch.code_sizes if s.component == "data_path"] == [1]


# --- clones that cannot be read --------------------------------------------------------------------------


def test_a_folder_without_a_repository_is_refused_even_inside_one(repository: Repository, tmp_path: Path) -> None:
    inner = repository.path / "inner"
    inner.mkdir()
    for folder, text in ((tmp_path, "not a git"), (inner, "not a git"), (tmp_path / "none", "no such folder")):
        with pytest.raises(InputError, match=text):
            mine(folder)


def test_a_repository_without_commits_says_so(repository: Repository) -> None:
    with pytest.raises(InputError, match="no commits"):
        mine(repository.path)


def test_a_missing_git_says_so(repository: Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("torch_embers.mine.git.gitrepo.shutil.which", lambda _: None)
    with pytest.raises(InputError, match="git is not installed"):
        mine(repository.path)


def test_a_shallow_clone_names_the_command_that_completes_it(repository: Repository, tmp_path: Path) -> None:
    repository.commit("One")
    repository.commit("Two")
    subprocess.run(["git", "clone", "-q", "--depth=1", f"file://{repository.path}", tmp_path / "shallow"], check=True)
    with pytest.raises(InputError, match="git fetch --unshallow"):
        mine(tmp_path / "shallow")


def test_one_missing_file_costs_the_lines_of_code_of_its_releases_and_nothing_else(repository: Repository) -> None:
    repository.commit("One (#1)", c10__a_py="1\n", aten__b_py="b\n")
    repository("tag", "v1.0.0")
    repository.commit("Two (#2)", c10__d_py="1\n2\n")
    remove_blob(repository, "c10/a.py")
    repository("rm", "-q", "--cached", "c10/a.py")
    repository("commit", "-q", "-m", "Three (#3)")
    repository("tag", "v1.1.0")
    batch = mine(repository.path)
    assert sorted(commit.files or 0 for commit in batch.commits) == [1, 1, 2]
    assert {(f.path, f.change) for f in batch.pull_files} == {
        ("c10/a.py", "added"),
        ("aten/b.py", "added"),
        ("c10/d.py", "added"),
        ("c10/a.py", "deleted"),
    }
    assert {size.tag for size in batch.code_sizes} == {"v1.1.0"}
    (note,) = batch.read.notes
    assert "1 release tags without lines of code" in note


def test_a_blobless_clone_gives_paths_and_kinds_of_change_and_fetches_nothing(
    repository: Repository, tmp_path: Path
) -> None:
    repository.commit("One", c10__a_py="1\n2\n3\n", c10__b_py="x\n")
    repository("mv", "c10/a.py", "c10/moved.py")
    repository("rm", "-q", "c10/b.py")
    repository.commit("Two (#2)", README="1\n")
    repository("config", "uploadpack.allowFilter", "true")
    clone = tmp_path / "blobless.git"
    command = ["git", "clone", "-q", "--bare", "--single-branch", "--filter=blob:none", f"file://{repository.path}"]
    subprocess.run([*command, clone], check=True)
    before = sorted((clone / "objects").rglob("*.pack"))
    batch = mine(clone)
    assert {(f.path, f.change) for f in batch.pull_files} == {
        ("c10/moved.py", "renamed"),
        ("c10/b.py", "deleted"),
        ("README", "added"),
    }
    assert batch.read.notes == []
    assert sorted((clone / "objects").rglob("*.pack")) == before


def test_a_treeless_clone_gives_messages(repository: Repository, tmp_path: Path) -> None:
    repository.commit("One", a_py="1\n")
    repository.commit("Two (#2)\n\nFixes #7", a_py="2\n")
    repository("config", "uploadpack.allowFilter", "true")
    clone = tmp_path / "treeless.git"
    command = ["git", "clone", "-q", "--bare", "--filter=tree:0", f"file://{repository.path}", clone]
    subprocess.run(command, check=True)
    batch = mine(clone)
    assert [commit.files for commit in batch.commits] == [None, None]
    assert {(item.number, item.kind) for item in batch.items} == {(2, "pull"), (7, "issue")}


def test_a_missing_tree_below_the_top_costs_the_paths_of_the_commits_that_need_it(repository: Repository) -> None:
    repository.commit("One", c10__core__a_py="1\n")
    repository.commit("Two", README="1\n")
    repository.commit("Three", c10__core__a_py="2\n")
    sha = repository("rev-parse", "HEAD~2:c10/core")
    (repository.path / ".git/objects" / sha[:2] / sha[2:]).unlink()
    batch = mine(repository.path)
    assert {commit.subject: commit.files for commit in batch.commits} == {"One": None, "Two": 1, "Three": None}


def test_a_missing_commit_is_an_error_that_says_what_to_run(repository: Repository) -> None:
    first = repository.commit("One")
    repository.commit("Two")
    (repository.path / ".git/objects" / first[:2] / first[2:]).unlink()
    with pytest.raises(InputError, match="git fsck"):
        mine(repository.path)


# --- pull requests and issues ----------------------------------------------------------------------------


def test_a_merged_pull_request_becomes_an_item_and_a_fixed_issue_a_row(repository: Repository) -> None:
    repository.commit("Start", a_py="1\n")
    message = (
        "Fix strides (#41)\n\nSummary:\nFixes #7 and other/repo#8\n\n"
        "Pull Request resolved: https://github.com/pytorch/pytorch/pull/41\n"
    )
    sha = repository.commit(message, a_py="2\n", b_py="")
    batch = mine(repository.path)
    issue, pull = sorted(batch.items, key=lambda item: item.number)
    assert (pull.number, pull.kind, pull.title, pull.state, pull.state_reason) == (
        *(41, "pull", "Fix strides", "closed", "merged"),
    )
    assert (pull.merge_sha, str(pull.merged_at), pull.source) == (sha, "2016-07-31 21:22:00", "git")
    assert str(pull.body).startswith("Summary:")
    assert (issue.number, issue.kind, issue.title, issue.state) == (7, "issue", None, None)
    assert {(f.number, f.path, f.change) for f in batch.pull_files} == {
        *((41, "a.py", "modified"), (41, "b.py", "added")),
    }


def test_a_merge_commit_gives_the_title_and_the_files_of_its_branch(repository: Repository) -> None:
    repository.commit("Start", a_py="1\n")
    repository("checkout", "-q", "-b", "topic")
    repository.commit("Work (#3)", b_py="1\n")
    repository("checkout", "-q", "main")
    repository.commit("Meanwhile", a_py="2\n")
    repository("merge", "-q", "--no-ff", "-m", "Merge pull request #12 from x/topic\n\nFaster copies", "topic")
    batch = mine(repository.path)
    (item,) = batch.items
    assert (item.number, item.title, item.body) == (12, "Faster copies", "")
    assert [(f.number, f.path) for f in batch.pull_files] == [(12, "b.py")]
    assert [f.path for f in batch.commit_files if f.sha == item.merge_sha] == ["b.py"]
    assert [commit.line for commit in batch.commits].count("branch") == 1


def test_what_a_branch_takes_in_is_not_its_own(repository: Repository) -> None:
    repository.commit("Start", a_py="1\n")
    repository("checkout", "-q", "-b", "topic")
    repository.commit("Work", b_py="1\n")
    repository("checkout", "-q", "main")
    repository.commit("Meanwhile", a_py="2\n")
    repository("checkout", "-q", "topic")
    repository("merge", "-q", "--no-ff", "-m", "Merge branch 'main'", "main")
    repository("checkout", "-q", "main")
    repository("merge", "-q", "--no-ff", "-m", "Merge branch 'topic'\n\nMerges #12\nCloses #12", "topic")
    batch = mine(repository.path)
    merges = {commit.line: commit for commit in batch.commits if commit.subject.startswith("Merge")}
    assert (merges["branch"].files, merges["main"].files, merges["main"].pull_number) == (0, 1, 12)
    assert [(item.number, item.kind, item.title) for item in batch.items] == [(12, "pull", None)]
    assert [(f.number, f.path) for f in batch.pull_files] == [(12, "b.py")]


def test_numbers_of_another_repository_that_was_merged_in_are_not_this_ones(repository: Repository) -> None:
    repository.commit("Start", a_py="1\n")
    repository("checkout", "-q", "--orphan", "imported")
    repository.commit("Their change (#5)\n\nCloses #6", their_py="1\n")
    repository("checkout", "-q", "main")
    merge = ("-c", "user.name=x", "merge", "-q", "--no-ff", "--allow-unrelated-histories")
    repository(*merge, "-m", "Merge caffe2 with pytorch.", "imported")
    batch = mine(repository.path)
    assert not batch.items
    assert {commit.subject: commit.line for commit in batch.commits} == {
        "Start": "main",
        "Their change (#5)": "foreign",
        "Merge caffe2 with pytorch.": "main",
    }


def test_a_copy_on_a_release_branch_is_not_the_landing(repository: Repository) -> None:
    repository.commit("Start", a_py="1\n")
    landed = repository.commit("Strides (#9)", a_py="2\n")
    repository("checkout", "-q", "-b", "release/1.7", "HEAD~1")
    repository.commit("Strides (#9)\n\ncopied", a_py="2\n")
    own = repository.commit("[v1.7 cherry-pick] Strides (#9) (#10)", a_py="3\n")
    repository("checkout", "-q", "main")
    batch = mine(repository.path)
    assert {(item.number, item.merge_sha) for item in batch.items} == {(9, landed), (10, own)}


def test_a_number_that_is_too_old_for_its_commit_is_another_repositorys() -> None:
    for subject, day, number in (
        ("Fix strides (#51000)", "2021-02-18", 51000),
        ("[glow] More fields (#5359)", "2021-02-18", None),
        ("Faster barrier (#34)", "2017-01-31", None),
        ("Faster barrier (#34)", "2016-09-30", 34),
        ("[auto] Update onnx to b8c4238 - Add docs (#714) https://github.com/onnx/onnx", "2018-04-05", None),
    ):
        assert pull_number(REPO, subject, "", f"{day}T00:00:00Z") == number, subject


# --- other clones ----------------------------------------------------------------------------------------


def test_local_notes_on_history_do_not_redraw_it(repository: Repository) -> None:
    first = repository.commit("One")
    second = repository.commit("Two")
    third = repository.commit("Three")
    repository("replace", "--graft", third, first)
    shas = [commit.sha for commit in mine(repository.path).commits]
    assert shas == [first, second, third]


# --- the readers -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("subject", "message", "number"),
    [
        ("Fix (#12)", "", 12),
        ("Fix (#12) ", "", 12),
        ("[v1.7 cherry-pick] Fix (#12) (#34)", "", 34),
        ('Revert "Fix (#12)"', "", None),
        ('Revert "Fix (#12)" (#34)', "", 34),
        ("Fix", "Summary\n\nPull Request resolved: https://github.com/pytorch/pytorch/pull/21617\n", 21617),
        ("Fix", "Pull Request resolved: https://github.com/PyTorch/PyTorch/pull/5", 5),
        ("Fix", "Pull Request resolved: https://github.com/other/repo/pull/5", None),
        ("Fix", "see Pull Request resolved: https://github.com/pytorch/pytorch/pull/5", None),
        ("Fix (#12)", "Pull Request resolved: https://github.com/pytorch/pytorch/pull/5", 5),
        ("Fix (#12)", "Pull Request resolved: https://github.com/pytorch/glow/pull/12", None),
        ("Fix (#0)", "", None),
        ("Fix (#9999999999)", "", None),
        ("Merge pull request #7 from a/b", "", 7),
        ("Auto merge of #7 - a:b, r=c", "Auto merge of #7 - a:b, r=c\n\nFaster", 7),
        ("Merge branch 'b' of 'https://a'", "Merge branch 'b' of 'https://a'\n\nMerges #7\nCloses #8\n", 7),
        ("Fix", "Fix\n\nMerges #7", None),
        ("Fix", "ghstack-source-id: 9bc6\nPull-Request-resolved: https://github.com/pytorch/pytorch/pull/8", 8),
        ("Fix", "ghstack-source-id: 9bc6\nPull-Request: https://github.com/pytorch/pytorch/pull/9", 9),
        ("Fix", "Pull-Request: https://github.com/pytorch/glow/pull/9", None),
    ],
)
def test_the_pull_request_of_a_commit_is_read_from_its_message(subject: str, message: str, number: int | None) -> None:
    assert pull_number(REPO, subject, message) == number


@given(st.binary(max_size=400))
def test_what_git_did_not_print_is_an_error_and_no_commit(body: bytes) -> None:
    page = Rows("2024-01-01")
    with nullcontext() if b"\0" not in body else pytest.raises(InputError, match="is no commit"):
        read_git_log(body, REPO, page, {})
    assert not page.commits


_WORD = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=30)
_NAME = _WORD.filter(bool)


@given(
    st.lists(
        st.tuples(_WORD, _WORD, st.lists(st.tuples(_NAME, st.none() | _NAME), max_size=4, unique=True)), max_size=5
    )
)
def test_any_message_and_any_file_name_is_read_back(
    commits: list[tuple[str, str, list[tuple[str, str | None]]]],
) -> None:
    tokens: list[str] = []
    for place, (subject, message, entries) in enumerate(commits):
        tokens += [f"{place:040x}", "", "Ann", "0", "0", subject, message, ""]
        for number, (name, old) in enumerate(entries):
            lead = "\n" if number == 0 else ""
            tokens.append(f"{lead}:100644 100644 {'a' * 40} {'b' * 40} {'M' if old is None else 'R100'}")
            tokens += [name] if old is None else [old, name]
    page = Rows("2024-01-01")
    read_git_log("".join(f"{token}\0" for token in tokens).encode(), REPO, page, {})
    assert [commit["subject"] for commit in page.commits] == [subject for subject, _, _ in commits]
    paths = [name for _, _, entries in commits for name in dict.fromkeys(name for name, _ in entries)]
    assert [file["path"] for file in page.files] == paths


def test_the_time_to_find_a_pull_request_grows_with_the_message_only() -> None:
    def seconds(size: int) -> float:
        hostile = "Pull Request resolved: https://github.com/" + "a" * size
        start = time.thread_time()
        for _ in range(20):
            pull_number(REPO, "(#" * size, "\n".join([hostile[:60]] * (size // 60)) + " " * size)
        return time.thread_time() - start

    seconds(10_000)
    assert seconds(160_000) < 64 * max(seconds(10_000), 0.001)
