"""The wall around a build: where its folders are, what bubblewrap is told, what the filter refuses, what output becomes."""

from __future__ import annotations

import errno
import json
import os
import re
import socket
import struct
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from torch_embers.errors import InputError, SandboxError
from torch_embers.sandbox import cgroups, doctor, layout, policy, program, rules, seccomp
from torch_embers.sandbox.inside import landlock
from torch_embers.sandbox.output import harmless
from torch_embers.sandbox.runner import Runner

# --- layout -----------------------------------------------------------------------------------------------------------


def installation(folder: Path) -> Path:
    """A folder that looks like an installed Python."""
    (folder / "bin").mkdir(parents=True)
    (folder / "lib" / "python3.11").mkdir(parents=True)
    (folder / "lib" / "python3.11" / "os.py").touch()
    python = folder / "bin" / "python3.11"
    python.write_text("#!/bin/sh\n", encoding="ascii")
    python.chmod(0o755)
    return python


def environment(folder: Path, base: Path) -> Path:
    """A virtual environment on ``base``, made of links as ``python -m venv`` makes it."""
    (folder / "bin").mkdir(parents=True)
    (folder / "pyvenv.cfg").write_text(f"home = {base.parent}\nversion = 3.11.7\n", encoding="ascii")
    (folder / "bin" / "python3").symlink_to(base)
    (folder / "bin" / "python").symlink_to("python3")
    return folder / "bin" / "python"


def test_an_environment_needs_its_own_folder_and_the_one_it_was_made_from(tmp_path: Path) -> None:
    base = installation(tmp_path / "base")
    python = environment(tmp_path / "env", base)
    assert layout.find(python) == layout.Layout(python, (tmp_path / "env", tmp_path / "base"))


def test_a_link_between_the_environment_and_its_base_is_kept(tmp_path: Path) -> None:
    """uv puts a link with the minor version between the two."""
    installation(tmp_path / "cpython-3.11.7")
    (tmp_path / "cpython-3.11").symlink_to("cpython-3.11.7")
    python = environment(tmp_path / "env", tmp_path / "cpython-3.11" / "bin" / "python3.11")
    assert set(layout.find(python).prefixes) == {
        tmp_path / "env",
        tmp_path / "cpython-3.11",
        tmp_path / "cpython-3.11.7",
    }


def test_a_link_outside_of_any_installation_is_followed(tmp_path: Path) -> None:
    base = installation(tmp_path / "base")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "python").symlink_to(base)
    assert layout.find(tmp_path / "bin" / "python").python == base


def test_the_system_python_needs_no_folder_of_its_own() -> None:
    if not Path("/usr/bin/python3").exists():
        pytest.skip("no system Python")
    assert layout.find(Path("/usr/bin/python3")).prefixes == ()


@pytest.mark.parametrize("path", ["/nonexistent/python", "/etc/hostname", "/bin/sh"])
def test_what_is_no_interpreter_is_refused_with_one_line(path: str, tmp_path: Path) -> None:
    with pytest.raises(SandboxError, match=r"no interpreter|no Python installation") as caught:
        layout.find(Path(path) if path != "/bin/sh" else _script(tmp_path))
    assert "\n" not in str(caught.value)
    assert caught.value.exit_code == 6


def _script(folder: Path) -> Path:
    path = folder / "tool"
    path.write_text("#!/bin/sh\n", encoding="ascii")
    path.chmod(0o755)
    return path


def test_a_home_folder_is_never_taken_for_an_installation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    python = installation(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    with pytest.raises(SandboxError):
        layout.find(python)


def test_a_build_that_only_its_owner_can_read_is_named(tmp_path: Path) -> None:
    found = layout.find(installation(tmp_path / "base"))
    assert layout.closed_to_others(found) is None
    (tmp_path / "base" / "lib" / "python3.11").chmod(0o700)
    assert layout.closed_to_others(found) == tmp_path / "base" / "lib" / "python3.11"


# --- the command ------------------------------------------------------------------------------------------------------


def sandbox_policy(**changes: object) -> policy.SandboxPolicy:
    values: dict[str, object] = {
        "layout": layout.Layout(Path("/builds/a/bin/python"), (Path("/builds/a"), Path("/home/u/py"))),
        "profile": "hostile",
        "isolate": True,
    }
    return policy.SandboxPolicy(**{**values, **changes})  # type: ignore[arg-type]


def test_the_command_binds_the_build_read_only_and_nothing_of_the_home(tmp_path: Path) -> None:
    base, project = tmp_path / "base", tmp_path / "project"
    python = environment(project, installation(base))
    (project / "lib" / "python3.11").mkdir(parents=True)
    (project / "lib64").symlink_to("lib")
    for name in (".env", ".git", "lib/own", "embers.duckdb"):
        (project / name).touch()
    command = policy.bubblewrap_command(sandbox_policy(layout=layout.find(python)), {"/etc/passwd": 9}, 7)
    text = " ".join(command)
    for wanted in (
        "--unshare-user",
        "--unshare-pid",
        "--unshare-net",
        "--unshare-ipc",
        "--clearenv",
        "--die-with-parent",
    ):
        assert wanted in command
    for part in (base / "bin", base / "lib", project / "bin", project / "pyvenv.cfg", project / "lib/python3.11"):
        assert f"--ro-bind {part} {part} " in text
    assert f"--symlink lib {project}/lib64 " in text
    for name in ("", "/.env", "/.git", "/lib", "/lib/own", "/embers.duckdb"):
        assert f"--ro-bind {project}{name} " not in text
    assert "--ro-bind-data 9 /etc/passwd" in text
    assert "--remount-ro / " in text
    assert "--bind " not in text
    writable = [command[place + 1] for place, word in enumerate(command) if word in ("--bind", "--dev-bind", "--tmpfs")]
    assert writable == []
    assert command[-1].endswith("sys.exit(steward.main(7))")


def test_the_environment_is_only_what_the_rules_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITHUB_TOKEN", "secret")
    assert set(sandbox_policy().environment()) == {
        *rules.load().environment, "OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS",
    }  # fmt: skip


def test_a_build_below_tmp_is_mounted_again_over_the_private_tmp(tmp_path: Path) -> None:
    python = (
        installation(Path("/tmp") / tmp_path.relative_to("/tmp") / "env") if tmp_path.is_relative_to("/tmp") else None
    )
    if python is None:
        pytest.skip("the tests' folder is not below /tmp")
    one = sandbox_policy(layout=layout.find(python))
    [(source, target)] = one.configuration()["rebinds"]
    assert target == str(tmp_path / "env")
    assert f"--ro-bind {target}/bin {source}/bin " in " ".join(policy.bubblewrap_command(one, {}, 7))


def test_devices_of_a_gpu_are_only_for_reviewed_scripts(monkeypatch: pytest.MonkeyPatch) -> None:
    binds = rules.load().binds.model_copy(update={"devices": ("/dev/nul*",)})
    changed = rules.load().model_copy(update={"binds": binds})
    monkeypatch.setattr(rules, "load", lambda: changed)
    assert "/dev/null" not in policy.bubblewrap_command(sandbox_policy(), {}, 7)
    assert "/dev/null" in policy.bubblewrap_command(sandbox_policy(profile="reviewed"), {}, 7)


def test_every_private_folder_is_bounded() -> None:
    limits = rules.load().limits
    for _, options in sandbox_policy().configuration()["covers"]:
        assert f"size={limits.disk}" in options
        assert f"nr_inodes={limits.inodes}" in options


def test_the_profile_for_macos_allows_the_build_and_the_scratch_folder_and_no_network() -> None:
    text = policy.macos_profile(sandbox_policy(scratch='/private/var/x"y', read_only=(Path("/builds/a"),)))
    assert text.startswith("(version 1)\n(deny default)\n")
    assert "(deny network*)" in text
    assert '(subpath "/builds/a")' in text
    assert json.dumps('/private/var/x"y') in text
    assert text.count("(") == text.count(")")


# --- profiles ---------------------------------------------------------------------------------------------------------


def missing(monkeypatch: pytest.MonkeyPatch, *names: str) -> None:
    found = program.find()
    proof = doctor.Proof(
        {name: "because" if name in names else "" for name in doctor.GUARANTEES},
        "host",
        found.identity if found else "",
    )
    monkeypatch.setattr(doctor, "prove", lambda **_: proof)


def test_hostile_scripts_are_refused_where_one_guarantee_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    missing(monkeypatch, "no_network")
    with pytest.raises(SandboxError, match="no_network does not hold"):
        Runner(Path(sys.executable), "hostile", doctor.prove())


def test_reviewed_scripts_run_with_what_holds(monkeypatch: pytest.MonkeyPatch) -> None:
    missing(monkeypatch, "no_network")
    with Runner(Path(sys.executable), "reviewed", doctor.prove(), preload=()) as runner:
        assert set(runner.guarantees) == set(doctor.GUARANTEES) - {"no_network"}


def test_reviewed_scripts_run_without_a_sandbox_only_where_that_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    missing(monkeypatch, *doctor.GUARANTEES)
    with pytest.raises(SandboxError, match="--unsandboxed") as caught:
        Runner(Path(sys.executable), "reviewed", doctor.prove())
    assert caught.value.exit_code == 6
    with Runner(Path(sys.executable), "reviewed", doctor.prove(), unsandboxed=True) as runner:
        assert runner.guarantees == ()


def test_hostile_scripts_never_run_without_a_sandbox(monkeypatch: pytest.MonkeyPatch) -> None:
    missing(monkeypatch, *doctor.GUARANTEES)
    with pytest.raises(SandboxError, match="are not run here"):
        Runner(Path(sys.executable), "hostile", doctor.prove(), unsandboxed=True)


def test_an_unknown_profile_is_refused() -> None:
    with pytest.raises(InputError, match="use hostile or reviewed"):
        Runner(Path(sys.executable), "friendly")


def test_the_report_says_what_is_missing_and_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "hints", lambda: ["do this"])
    proof = doctor.Proof({**dict.fromkeys(doctor.GUARANTEES, ""), "no_network": "TCP"}, "host")
    lines = doctor.report(proof)
    assert lines[0] == "host"
    assert "MISSING no_network: TCP" in lines
    assert lines[-1] == "hint: do this"
    assert not proof.complete
    assert len(proof.held) == len(doctor.GUARANTEES) - 1


def test_a_proof_with_fewer_guarantees_is_not_complete() -> None:
    assert not doctor.Proof({"no_network": ""}, "host").complete


# --- the page ---------------------------------------------------------------------------------------------------------

ROOT = Path(__file__).resolve().parents[2]


def table_under(heading: str, text: str) -> list[list[str]]:
    """The rows of the first table below a heading."""
    lines = text.split(f"\n## {heading}\n", 1)[1].split("\n## ", 1)[0].splitlines()
    rows = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines if line.startswith("| ")]
    return [row for row in rows if not row[0].startswith(("attack", "---"))] if rows else []


def names_in(cell: str) -> set[str]:
    return set(re.findall(r"`(\w+)`", cell))


def test_the_threat_model_names_every_attack_and_every_probe() -> None:
    text = (ROOT / "docs" / "threats.md").read_text(encoding="utf-8")
    defended = [row[0] for row in table_under("What is defended, and by what", text)]
    tried = table_under("What is tried", text)
    assert [row[0] for row in tried] == defended
    attacks = {path.stem for path in (ROOT / "tests" / "attacks").glob("*.py")}
    bait = doctor.Bait(1, "", "", ("secret",), "value")
    probes = {probe.name for probe in doctor._probes(bait)}
    assert set().union(*(names_in(row[1]) for row in tried)) == attacks
    assert set().union(*(names_in(row[2].split("none for")[0]) for row in tried)) == probes | {"fence"}
    for row in tried:
        for cell in row[1:]:
            assert names_in(cell) or cell.startswith("none"), row
            assert all((ROOT / path).exists() for path in re.findall(r"`(tests/[\w/]+\.py)`", cell))


def test_every_guarantee_has_a_probe() -> None:
    bait = doctor.Bait(1, "", "", ("secret",), "value")
    assert {probe.guarantee for probe in doctor._probes(bait)} == set(doctor.GUARANTEES)


# --- the proof and its program ----------------------------------------------------------------------------------------

needs_bubblewrap = pytest.mark.skipif(program.find() is None, reason="bubblewrap is not installed")


def wrapper(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A program named bwrap, first on PATH, that drops an option and says that it is the real version."""
    real = program.find()
    assert real is not None
    folder.mkdir()
    path = folder / "bwrap"
    words = 'for word in "$@"; do [ "$word" = --unshare-net ] || set -- "$@" "$word"; shift; done'
    path.write_text(f'#!/bin/sh\n{words}\nexec {real.path} "$@"\n', encoding="ascii")
    path.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    return path


@needs_bubblewrap
def test_a_proof_does_not_hold_for_another_program_of_the_same_version(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = program.find()
    proof = doctor.Proof(dict.fromkeys(doctor.GUARANTEES, ""), "host", real.identity if real else "")
    path = wrapper(tmp_path / "bin", monkeypatch)
    found = program.find()
    assert real
    assert found
    assert found.path == str(path)
    assert found.version == real.version
    for profile in ("hostile", "reviewed"):
        with pytest.raises(SandboxError, match="another program"):
            Runner(Path(sys.executable), profile, proof)


@needs_bubblewrap
def test_a_wrapper_that_drops_the_network_namespace_proves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its loopback is the host's: the probe reaches the server that was put out."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    wrapper(tmp_path / "bin", monkeypatch)
    assert "no_network" in doctor.prove().missing


@needs_bubblewrap
def test_a_bubblewrap_that_cannot_start_is_one_reason_for_all_guarantees(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As in a container that forbids namespaces."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    path = wrapper(tmp_path / "bin", monkeypatch)
    path.write_text("#!/bin/sh\necho 'bwrap: No permissions' >&2\nexit 1\n", encoding="ascii")
    proof = doctor.prove(again=True)
    assert len(set(proof.missing.values())) == 1
    assert "bwrap: No permissions" in proof.missing["no_network"]
    assert not proof.held
    assert any(line.startswith("MISSING all 15 guarantees: ") for line in doctor.report(proof))
    assert doctor.as_table(proof)["memory_counted_by"] is None


@needs_bubblewrap
def test_a_bubblewrap_that_others_can_write_is_not_trusted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = wrapper(tmp_path / "bin", monkeypatch)
    path.chmod(0o777)
    assert set(doctor.prove(again=True).missing.values()) == {f"{path} can be written by others"}
    path.chmod(0o755)
    path.parent.chmod(0o777)
    assert set(doctor.prove(again=True).missing.values()) == {f"{path.parent} can be written by others"}


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


# --- Landlock ---------------------------------------------------------------------------------------------------------

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


# --- the filter -------------------------------------------------------------------------------------------------------

X86, ARM = 0xC000003E, 0xC00000B7


def answer(program: bytes, architecture: int, number: int, *arguments: int) -> int:
    """Run the filter as the kernel does; 0 for allow, the error number, or -1 for kill."""
    operand = outcome(program, struct.pack("<IIQ6Q", number, architecture, 0, *(arguments + (0,) * 6)[:6]))
    return {seccomp.ALLOW: 0, seccomp.KILL: -1}.get(operand, operand & 0xFFFF)


def outcome(program: bytes, data: bytes) -> int:
    """What the filter returns for a ``struct seccomp_data``."""
    steps = list(struct.iter_unpack("=HBBI", program))
    place = accumulator = 0
    while True:
        code, true, false, operand = steps[place]
        place += 1
        if code == seccomp.LOAD:
            (accumulator,) = struct.unpack_from("<I", data, operand)
        elif code == seccomp.RETURN:
            return int(operand)
        else:
            holds = {
                seccomp.JUMP_EQUAL: accumulator == operand,
                seccomp.JUMP_AT_LEAST: accumulator >= operand,
                seccomp.JUMP_ANY_BIT: bool(accumulator & operand),
            }[code]
            place += true if holds else false


@pytest.mark.parametrize(("machine", "architecture", "column"), [("x86_64", X86, 0), ("aarch64", ARM, 1)])
class TestFilter:
    def test_denied_calls_get_their_error_and_all_others_pass(
        self, machine: str, architecture: int, column: int
    ) -> None:
        calls = rules.load().seccomp
        program = seccomp.program(calls, machine)
        denied = {numbers[column] for numbers in calls.denied.values()}
        lost = {numbers[column] for numbers in calls.missing.values()}
        for number in range(500):
            expected = errno.EPERM if number in denied else errno.ENOSYS if number in lost else 0
            if number in (seccomp.NUMBERS["socket"][column], seccomp.NUMBERS["socketpair"][column]):
                continue
            assert answer(program, architecture, number) == expected, number

    def test_only_some_socket_families_can_be_opened(self, machine: str, architecture: int, column: int) -> None:
        calls = rules.load().seccomp
        program = seccomp.program(calls, machine)
        for family in range(64):
            expected = 0 if family in calls.families else errno.EAFNOSUPPORT
            assert answer(program, architecture, seccomp.NUMBERS["socket"][column], family) == expected

    def test_sockets_have_the_usual_protocols_alone(self, machine: str, architecture: int, column: int) -> None:
        calls = rules.load().seccomp
        program = seccomp.program(calls, machine)
        number = seccomp.NUMBERS["socket"][column]
        for family in calls.families:
            for protocol in range(300):
                allowed = calls.netlink if family == 16 else calls.protocols
                expected = 0 if family == 1 or protocol in allowed else errno.EPROTONOSUPPORT
                assert answer(program, architecture, number, family, 1, protocol) == expected, (family, protocol)

    def test_buffers_of_sockets_keep_their_size_and_take_no_programs(
        self, machine: str, architecture: int, column: int
    ) -> None:
        calls = rules.load().seccomp
        program = seccomp.program(calls, machine)
        number = seccomp.NUMBERS["setsockopt"][column]
        done = seccomp.FAIL | seccomp.DONE
        for option in range(64):
            data = struct.pack("<IIQ6Q", number, architecture, 0, 3, 1, option, 0, 0, 0)
            expected = errno.EPERM if option in calls.socket_options else 0
            assert answer(program, architecture, number, 3, 1, option) == expected, option
            assert (outcome(program, data) == done) == (option in calls.passed_over), option
            assert (
                outcome(program, struct.pack("<IIQ6Q", number, architecture, 0, 3, 6, option, 0, 0, 0)) == seccomp.ALLOW
            )

    def test_options_of_a_process_that_reach_beyond_it_are_refused(
        self, machine: str, architecture: int, column: int
    ) -> None:
        calls = rules.load().seccomp
        program = seccomp.program(calls, machine)
        for option in range(100):
            expected = errno.EPERM if option in calls.process_options else 0
            assert answer(program, architecture, seccomp.NUMBERS["prctl"][column], option) == expected

    def test_only_unix_sockets_come_in_pairs(self, machine: str, architecture: int, column: int) -> None:
        program = seccomp.program(rules.load().seccomp, machine)
        for family in range(64):
            expected = 0 if family == 1 else errno.EAFNOSUPPORT
            assert answer(program, architecture, seccomp.NUMBERS["socketpair"][column], family) == expected

    def test_no_limit_or_priority_of_the_supervisor_can_be_set(
        self, machine: str, architecture: int, column: int
    ) -> None:
        calls = rules.load().seccomp
        program = seccomp.program(calls, machine)
        for name, call in calls.about_process.items():
            arguments = [0, 0]
            assert answer(program, architecture, call[column], *arguments) == 0, name
            arguments[call[2]] = 1
            assert answer(program, architecture, call[column], *arguments) == errno.EPERM, name
        for name, call in calls.about_user.items():
            assert answer(program, architecture, call[column], call[2], 0) == errno.EPERM, name

    def test_personality_can_be_asked_and_not_changed(self, machine: str, architecture: int, column: int) -> None:
        program = seccomp.program(rules.load().seccomp, machine)
        number = seccomp.NUMBERS["personality"][column]
        assert answer(program, architecture, number, 0xFFFFFFFF) == 0
        assert answer(program, architecture, number, 0x0040000) == errno.EPERM

    def test_clone_makes_processes_and_threads_but_no_namespaces(
        self, machine: str, architecture: int, column: int
    ) -> None:
        program = seccomp.program(rules.load().seccomp, machine)
        clone = seccomp.NUMBERS["clone"][column]
        assert answer(program, architecture, clone, 17) == 0
        assert answer(program, architecture, clone, 0x3D0F00) == 0  # pthread_create
        assert answer(program, architecture, clone, 0x10000000 | 17) == errno.EPERM
        assert answer(program, architecture, clone, 0x8000 | 17) == errno.EPERM  # beside its parent

    def test_terminal_requests_are_refused(self, machine: str, architecture: int, column: int) -> None:
        program = seccomp.program(rules.load().seccomp, machine)
        assert answer(program, architecture, seccomp.NUMBERS["ioctl"][column], 1, 0x5412) == errno.EPERM
        assert answer(program, architecture, seccomp.NUMBERS["ioctl"][column], 1, 0x5401) == 0

    def test_another_architecture_is_killed(self, machine: str, architecture: int, column: int) -> None:
        program = seccomp.program(rules.load().seccomp, machine)
        assert answer(program, 0x40000003, 20) == -1
        assert answer(program, architecture, 0x40000000 + 39) == errno.ENOSYS


def test_a_machine_without_known_numbers_is_not_supported() -> None:
    assert not seccomp.supported("riscv64")


# --- output -----------------------------------------------------------------------------------------------------------


def test_ordinary_text_is_kept() -> None:
    text = "Traceback:\n\tℝ → 模型 🔥 é\n"
    assert harmless(text.encode()) == text


def test_line_ends_of_windows_become_newlines_and_a_lone_return_is_shown() -> None:
    assert harmless(b"a\r\nb\rc") == "a\nb\\x0dc"


@given(st.binary(max_size=300))
def test_no_byte_of_hostile_output_can_steer_a_terminal(data: bytes) -> None:
    text = harmless(data)
    assert all(char.isprintable() or char in "\n\t" or ord(char) > 0x9F for char in text)
    assert "\x1b" not in text
    text.encode("utf-8")


@given(st.text(max_size=200))
def test_output_is_the_same_when_made_harmless_twice(text: str) -> None:
    once = harmless(text.encode(errors="surrogatepass"))
    assert harmless(once.encode()) == once
