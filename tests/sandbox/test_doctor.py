"""The proof of the sandbox's guarantees: for which program it holds, who may have written it, and Landlock alone."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from support import needs_bubblewrap
from torch_embers.errors import SandboxError
from torch_embers.sandbox import cgroups, doctor, program
from torch_embers.sandbox.inside import landlock
from torch_embers.sandbox.runner import Runner


@pytest.fixture
def wrapper(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A program named bwrap, first on PATH, that drops an option and says that it is the real version."""
    real = program.find()
    assert real is not None
    path = tmp_path / "bin" / "bwrap"
    path.parent.mkdir()
    words = 'for word in "$@"; do [ "$word" = --unshare-net ] || set -- "$@" "$word"; shift; done'
    path.write_text(f'#!/bin/sh\n{words}\nexec {real.path} "$@"\n', encoding="ascii")
    path.chmod(0o755)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("PATH", f"{path.parent}:{os.environ['PATH']}")
    return path


@needs_bubblewrap
def test_a_proof_does_not_hold_for_another_program_of_the_same_version(request: pytest.FixtureRequest) -> None:
    real = program.find()
    assert real
    proof = doctor.Proof(dict.fromkeys(doctor.GUARANTEES, ""), "host", real.identity)
    path = request.getfixturevalue("wrapper")
    found = program.find()
    assert found
    assert (found.path, found.version) == (str(path), real.version)
    for profile in ("hostile", "reviewed"):
        with pytest.raises(SandboxError, match="another program"):
            Runner(Path(sys.executable), profile, proof)


@needs_bubblewrap
def test_a_wrapper_that_drops_the_network_namespace_proves_nothing(wrapper: Path) -> None:
    """Its loopback is the host's: the probe reaches the server that was put out."""
    assert "no_network" in doctor.prove().missing


@needs_bubblewrap
def test_a_bubblewrap_that_cannot_start_is_one_reason_for_all_guarantees(wrapper: Path) -> None:
    """As in a container that forbids namespaces."""
    wrapper.write_text("#!/bin/sh\necho 'bwrap: No permissions' >&2\nexit 1\n", encoding="ascii")
    proof = doctor.prove(again=True)
    assert len(set(proof.missing.values())) == 1
    assert "bwrap: No permissions" in proof.missing["no_network"]
    assert not proof.held
    assert any(line.startswith("MISSING all 15 guarantees: ") for line in doctor.report(proof))
    assert doctor.as_table(proof)["memory_counted_by"] is None


@needs_bubblewrap
@pytest.mark.skipif(os.geteuid() != 0, reason="only root mounts")
def test_mounts_below_folders_of_the_system_leave_it_read_only(tmp_path: Path) -> None:
    """As the driver of a GPU is mounted: the kernel makes no layer over a folder that has others below."""
    folder, file = next(filter(Path.is_dir, sorted(Path("/usr/share").iterdir()))), Path("/usr/lib/os-release")
    script = f"mount --bind {tmp_path} {folder} && mount --bind {file} {file} && exec {sys.executable} -m torch_embers doctor"
    command = ["unshare", "--mount", "sh", "-c", script]
    environment = os.environ | {"XDG_CACHE_HOME": str(tmp_path)}
    found = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert "held    read_only_build" in found.stdout, found.stdout + found.stderr


@needs_bubblewrap
def test_a_bubblewrap_that_others_can_write_is_not_trusted(wrapper: Path) -> None:
    wrapper.chmod(0o777)
    assert set(doctor.prove(again=True).missing.values()) == {f"{wrapper} can be written by others"}
    wrapper.chmod(0o755)
    wrapper.parent.chmod(0o777)
    assert set(doctor.prove(again=True).missing.values()) == {f"{wrapper.parent} can be written by others"}


@pytest.mark.parametrize("forged", ["owner", "writable", "folder", "link"])
def test_a_proof_that_somebody_else_could_have_written_is_not_taken(
    forged: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(doctor, "_memory", doctor._Memory())
    nowhere = cgroups.Delegation(None, "none here")
    monkeypatch.setattr(doctor, "_tried", lambda: (dict.fromkeys(doctor.GUARANTEES, ""), nowhere))
    if program.find() is None:
        pytest.skip("bubblewrap is not installed")
    assert doctor.prove().complete
    file = doctor._cache_file()
    monkeypatch.setattr(doctor, "_memory", doctor._Memory())
    kept = doctor._kept()
    assert kept is not None
    assert doctor.as_table(kept)["cgroup_reason"] == "none here"
    if forged == "owner":
        if os.geteuid() != 0:
            pytest.skip("needs root")
        os.chown(file, 65534, 65534)
    elif forged == "writable":
        file.chmod(0o666)
    elif forged == "folder":
        file.parent.chmod(0o777)
    else:
        file.rename(tmp_path / "other.json")
        file.symlink_to(tmp_path / "other.json")
    monkeypatch.setattr(doctor, "_memory", doctor._Memory())
    assert doctor._kept() is None


FENCED = """
import errno, json, os, socket, stat, sys
from pathlib import Path
from torch_embers.sandbox.inside import kernel, landlock

own, other, parent = Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3])
kernel.prctl(kernel.NO_NEW_PRIVILEGES, 1)
landlock.restrict({"landlock": landlock.version(), "devices": False, "covers": [(str(own), "")]})

def outcome(action, *arguments):
    try:
        action(*arguments)
    except OSError as error:
        return errno.errorcode[error.errno]
    return ""

def connect():
    with socket.socket(socket.AF_UNIX) as one:
        one.connect("\\0" + sys.argv[4])

print(json.dumps({
    "write": outcome((own / "file").write_text, "x"),
    "make a folder": outcome((own / "folder").mkdir),
    "read outside": outcome((other / "file").read_text),
    "write outside": outcome((other / "file").write_text, "x"),
    "make a file outside": outcome((other / "new").touch),
    "make a folder outside": outcome((other / "folder").mkdir),
    "delete outside": outcome((other / "file").unlink),
    "link from outside": outcome(os.link, other / "file", own / "linked"),
    "a device": outcome(os.mknod, own / "device", 0o600 | stat.S_IFBLK, os.makedev(7, 0)),
    "write a device": outcome(Path(os.devnull).write_text, "x"),
    "signal": outcome(os.kill, parent, 0),
    "abstract socket": outcome(connect),
}))
"""


@pytest.mark.skipif(landlock.version() == 0, reason="the kernel has no Landlock")
def test_landlock_alone_keeps_a_process_in_its_folders(tmp_path: Path) -> None:
    """Outside of all namespaces, as this user, so that nothing else stands in the way."""
    own, other = tmp_path / "own", tmp_path / "other"
    own.mkdir()
    other.mkdir()
    (other / "file").write_text("kept", encoding="ascii")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(f"\0{tmp_path}")
        server.listen()
        arguments = [str(own), str(other), str(os.getpid()), str(tmp_path)]
        done = subprocess.run([sys.executable, "-c", FENCED, *arguments], capture_output=True, text=True, check=True)
    found = json.loads(done.stdout)
    scoped = "EPERM" if landlock.version() >= 6 else ""
    assert found == {
        **dict.fromkeys(("write", "make a folder", "read outside", "write a device"), ""),
        **dict.fromkeys(("write outside", "make a file outside", "make a folder outside", "delete outside"), "EACCES"),
        "link from outside": "EXDEV",
        "a device": "EACCES",
        "signal": scoped,
        "abstract socket": scoped,
    }
    assert (other / "file").read_text(encoding="ascii") == "kept"
