"""Control groups: where one can be made, what it bounds, and that a run joins it. The tree is a folder, or the kernel's.

No test here meets a memory.max of the kernel: that takes a machine with cgroup v2 and its memory controller, delegated. The
texts that are written and the counts that are read are those of files.
"""

from __future__ import annotations

import errno
import os
import sys
from pathlib import Path

import pytest

from support import needs_bubblewrap
from torch_embers.sandbox import cgroups, doctor, policy, sandbox_rules
from torch_embers.sandbox.runner import Attempt, Runner

UNIFIED = next(
    (path for path in map(Path, ("/sys/fs/cgroup", "/sys/fs/cgroup/unified")) if (path / "cgroup.procs").exists()), None
)
FILES = ("cgroup.procs", "memory.max", "memory.swap.max", "memory.oom.group", "pids.max", "cpu.max")


class Tree:
    """A tree of control groups in a folder, with what /proc says of it."""

    def __init__(self, root: Path) -> None:
        self.root, self.top = root, root / "sys/fs/cgroup"
        (root / "proc/self").mkdir(parents=True)
        self.place("0::/user.slice/app.slice/embers.scope\n")
        mounts = "22 1 0:20 / /proc rw - proc proc rw\n30 22 0:26 / /sys/fs/cgroup rw shared:4 - cgroup2 cgroup2 rw\n"
        (root / "proc/self/mountinfo").write_text(mounts, encoding="ascii")
        for name in ("", "user.slice", "user.slice/app.slice", "user.slice/app.slice/embers.scope"):
            self.make(self.top / name)

    def place(self, text: str) -> None:
        """Where this process is."""
        (self.root / "proc/self/cgroup").write_text(text, encoding="ascii")

    def make(self, folder: Path) -> None:
        """As the kernel does: a folder comes with its files."""
        folder.mkdir(parents=True)
        for name in ("cgroup.subtree_control", *FILES):
            (folder / name).write_text("", encoding="ascii")
        (folder / "memory.events").write_text("low 0\noom_kill 0\n", encoding="ascii")

    def give(self, name: str, controllers: str) -> Path:
        """Let a group give controllers to those below."""
        folder = self.top / name
        (folder / "cgroup.subtree_control").write_text(controllers, encoding="ascii")
        return folder


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Tree:
    made = Tree(tmp_path)
    monkeypatch.setattr(cgroups, "make_folder", made.make)
    monkeypatch.setattr(cgroups.os, "geteuid", lambda: 1000)
    return made


def test_the_nearest_group_that_may_be_written_and_shares_out_memory_is_taken(tree: Tree) -> None:
    tree.give("user.slice", "cpu memory pids")
    nearest = tree.give("user.slice/app.slice", "memory pids")
    assert cgroups.find(tree.root) == cgroups.Delegation(nearest)


@pytest.mark.parametrize(
    ("own", "controllers", "why"),
    [
        ("0::/user.slice/app.slice/embers.scope\n", "cpu pids", "memory not given to groups below"),
        ("0::/user.slice/app.slice/embers.scope\n", "", "memory and pids not given to groups below"),
        ("4:memory:/one\n0::/\n", "memory pids", "memory is counted by control groups of version 1 here"),
        ("3:cpu:/\n", "memory pids", "no control groups of version 2 here"),
    ],
)
def test_where_nothing_is_delegated_the_doctor_says_why(own: str, controllers: str, why: str, tree: Tree) -> None:
    tree.give("user.slice/app.slice", controllers)
    tree.place(own)
    found = cgroups.find(tree.root)
    assert found.folder is None
    assert why in found.why


def test_root_takes_only_what_is_marked_as_left_to_others(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tree.give("user.slice/app.slice", "memory pids")
    monkeypatch.setattr(cgroups.os, "geteuid", lambda: 0)
    assert "Delegate=yes" in cgroups.find(tree.root).why
    marked = {str(folder.parent): b"1"}
    monkeypatch.setattr(cgroups.os, "getxattr", lambda place, _name: marked.get(str(place), b"0"))
    assert cgroups.find(tree.root).folder == folder


def test_a_group_bounds_memory_processes_and_processors_and_tells_who_met_the_bound(tree: Tree) -> None:
    parent = tree.give("user.slice/app.slice", "memory pids")
    group = cgroups.Group(parent)
    group.bound(1 << 30, 256, 2)
    texts = {name: (group.folder / name).read_text(encoding="ascii") for name in FILES[1:]}
    assert list(texts.values()) == ["1073741824", "0", "1", "256", "300000 100000"]
    assert not group.ended_by_memory()
    (group.folder / "memory.events").write_text("low 0\noom_kill 3\n", encoding="ascii")
    assert group.ended_by_memory()
    group.bound(0, 256, 1)
    assert not group.ended_by_memory()
    assert (group.folder / "memory.max").read_text(encoding="ascii") == "max"
    group.close()


def test_a_group_that_the_kernel_refuses_is_told(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    parent = tree.give("user.slice/app.slice", "memory pids")
    monkeypatch.setattr(cgroups, "find", lambda: cgroups.Delegation(parent))
    group, place = cgroups.join()
    assert (place.folder, group is not None and group.counts_memory) == (parent, True)
    assert group is not None
    group.close()

    def refuse(_folder: Path) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(cgroups, "make_folder", refuse)
    group, place = cgroups.join()
    assert group is None
    assert place.folder is None
    assert place.why == f"a group below {parent} was refused: No space left on device"


def test_a_proof_made_without_a_group_is_not_used_with_one(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    parent = tree.give("user.slice/app.slice", "memory pids")
    identities = []
    for place in (cgroups.Delegation(parent), cgroups.Delegation(None, "one"), cgroups.Delegation(None, "another")):
        monkeypatch.setattr(cgroups, "find", lambda place=place: place)
        identities.append(doctor._identity())
    assert identities[0] != identities[1] == identities[2]


def test_only_groups_that_no_driver_holds_are_removed(tree: Tree) -> None:
    parent = tree.give("user.slice/app.slice", "memory pids")
    held = cgroups.Group(parent)
    (parent / "embers-abandoned").mkdir()
    cgroups.remove_abandoned(parent)
    assert list(parent.glob("embers-*")) == [held.folder]
    held.close()


@needs_bubblewrap
def test_a_run_joins_the_group_and_its_end_by_memory_is_told(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files stand in for the kernel's: the one by which a run joins, and the count of ends by memory."""
    monkeypatch.undo()
    proof = doctor.prove()
    parent = tree.give("user.slice/app.slice", "memory pids")
    monkeypatch.setattr(cgroups, "make_folder", tree.make)
    monkeypatch.setattr(cgroups, "find", lambda: cgroups.Delegation(parent))
    monkeypatch.setattr(cgroups.Group, "_killed", lambda self: (self.folder / "pids.max").stat().st_size)
    with Runner(Path(sys.executable), "hostile", proof, preload=()) as runner:
        for fresh in (False, True):
            [result] = runner.run([Attempt("one", "print('out')", "case.py", fresh=fresh)])
            assert (result.stdout, result.ended) == ("out\n", "memory"), result
            assert result.memory_counted_by == "cgroup"
        limits = sandbox_rules.load().limits
        bounds = {int((folder / "memory.max").read_text(encoding="ascii")) for folder in parent.glob("embers-*")}
        starts = (limits.copied, limits.interpreter)  # of a fork, and of a fresh process that preloads nothing
        assert bounds == {(4 << 30) + start + 3 * limits.disk for start in starts}
        joined = [(folder / "cgroup.procs").read_text(encoding="ascii") for folder in parent.glob("embers-*")]
        assert runner.delegations() == (cgroups.Delegation(parent),)
    assert sorted(joined) == ["0", "2"]  # a fresh process itself; a fork by its supervisor


@needs_bubblewrap
def test_a_run_without_its_group_says_that_the_supervisor_counted(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    parent = tree.give("user.slice/app.slice", "memory pids")
    monkeypatch.setattr(cgroups, "find", lambda: cgroups.Delegation(parent))  # make_folder makes one without files
    with Runner(Path(sys.executable), policy.PROVING, preload=()) as runner:
        [result] = runner.run([Attempt("one", "print('out')", "case.py")])
        assert (result.stdout, result.ended, result.memory_counted_by) == ("out\n", "exited", "supervisor")
        [place] = runner.delegations()
        assert "was refused" in place.why


@needs_bubblewrap
@pytest.mark.skipif(UNIFIED is None or not os.access(UNIFIED, os.W_OK), reason="no group can be made here")
def test_the_kernel_puts_a_run_and_nothing_else_into_the_group(monkeypatch: pytest.MonkeyPatch) -> None:
    assert UNIFIED is not None
    proof, parent = doctor.prove(), UNIFIED
    monkeypatch.setattr(cgroups, "find", lambda: cgroups.Delegation(parent))
    code = "print(*open('/proc/self/cgroup'), *open('/proc/1/cgroup'))"
    with Runner(Path(sys.executable), "hostile", proof, preload=()) as runner:
        for fresh in (False, True):
            [result] = runner.run([Attempt("one", code, "case.py", fresh=fresh)])
            places = [line for line in result.stdout.splitlines() if line.strip().startswith("0::")]
            assert len(places) == 2, result
            assert "embers-" in places[0]
            assert "embers-" not in places[1]
        folders = list(parent.glob("embers-*"))
        assert folders
    assert not any(folder.exists() for folder in folders)
