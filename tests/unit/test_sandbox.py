"""The wall around a build: where its folders are, what bubblewrap is told, what the filter refuses, what output becomes."""

from __future__ import annotations

import ast
import errno
import json
import re
import struct
import sys
from pathlib import Path
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from torch_embers import resources
from torch_embers.errors import InputError, SandboxError
from torch_embers.sandbox import doctor, layout, policy, program, sandbox_rules, seccomp
from torch_embers.sandbox.inside import supervisor
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


@pytest.mark.parametrize("path", ["/nonexistent/python", "/etc/hostname", "tool"])
def test_what_is_no_interpreter_is_refused_with_one_line(path: str, tmp_path: Path) -> None:
    tool = tmp_path / "tool"
    tool.write_text("#!/bin/sh\n", encoding="ascii")
    tool.chmod(0o755)
    with pytest.raises(SandboxError, match=r"no interpreter|no Python installation") as caught:
        layout.find(tmp_path / path)
    assert "\n" not in str(caught.value)
    assert caught.value.exit_code == 6


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
    unshared = {f"--unshare-{name}" for name in ("user", "pid", "net", "ipc")}
    assert {*unshared, "--clearenv", "--die-with-parent"} <= {*command}
    for part in (base / "bin", base / "lib", project / "bin", project / "pyvenv.cfg", project / "lib/python3.11"):
        assert f"--ro-bind {part} {part} " in text
    assert f"--symlink lib {project}/lib64 " in text
    for name in ("", "/.env", "/.git", "/lib", "/lib/own", "/embers.duckdb"):
        assert f"--ro-bind {project}{name} " not in text
    assert "--ro-bind-data 9 /etc/passwd" in text
    assert "--remount-ro / " in text
    assert "--bind " not in text
    writable = [command[place + 1] for place, word in enumerate(command) if word in ("--bind", "--dev-bind", "--tmpfs")]
    assert writable == ["/dev/full"]  # in place of /dev/zero
    assert command[-1].endswith("sys.exit(steward.main(7))")


def test_what_a_driver_of_a_gpu_reads_stands_in_folders_that_are_open_to_the_run(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(policy.SandboxPolicy, "devices", [Path("/dev/nvidia0")])
    text = " ".join(policy.bubblewrap_command(sandbox_policy(), {}, 7))
    for path in ("/sys/bus/pci", "/sys/module/nvidia", "/sys/devices/pci0000:00", "/sys/class/drm"):
        assert text.index(f"--perms 0755 --dir {Path(path).parent} ") < text.index(f"--ro-bind-try {path} {path} ")


def test_the_environment_is_only_what_the_rules_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITHUB_TOKEN", "secret")
    assert set(sandbox_policy().environment()) == {
        *sandbox_rules.load().environment, "OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS",
    }  # fmt: skip


def test_a_build_below_tmp_is_mounted_again_over_the_private_tmp(tmp_path: Path) -> None:
    if not tmp_path.is_relative_to("/tmp"):
        pytest.skip("the tests' folder is not below /tmp")
    one = sandbox_policy(layout=layout.find(installation(tmp_path / "env")))
    [(source, target)] = one.configuration()["rebinds"]
    assert target == str(tmp_path / "env")
    assert f"--ro-bind {target}/bin {source}/bin " in " ".join(policy.bubblewrap_command(one, {}, 7))


def test_devices_of_a_gpu_are_only_for_reviewed_scripts(monkeypatch: pytest.MonkeyPatch) -> None:
    binds = sandbox_rules.load().binds.model_copy(update={"devices": ("/dev/nul*",)})
    changed = sandbox_rules.load().model_copy(update={"binds": binds})
    monkeypatch.setattr(sandbox_rules, "load", lambda: changed)
    assert "/dev/null" not in policy.bubblewrap_command(sandbox_policy(), {}, 7)
    assert "/dev/null" in policy.bubblewrap_command(sandbox_policy(profile="reviewed"), {}, 7)


def test_every_private_folder_is_bounded() -> None:
    limits = sandbox_rules.load().limits
    for _, options in sandbox_policy().configuration()["covers"]:
        assert f"size={limits.disk}" in options
        assert f"nr_inodes={limits.inodes}" in options


def test_the_profile_for_macos_allows_the_build_and_the_scratch_folder_and_no_network(tmp_path: Path) -> None:
    build = layout.find(installation(tmp_path / "a"))
    text = policy.macos_profile(sandbox_policy(scratch='/private/var/x"y', layout=build))
    assert text.startswith("(version 1)\n(deny default)\n")
    assert "(deny network*)" in text
    assert f'(subpath "{tmp_path}/a/lib")' in text
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
    missing(monkeypatch, *doctor.GUARANTEES)
    with pytest.raises(SandboxError, match="are not run here"):
        Runner(Path(sys.executable), "hostile", doctor.prove(), unsandboxed=True)


def test_reviewed_scripts_run_with_what_holds_and_without_a_sandbox_only_where_that_is_asked_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with pytest.raises(InputError, match="use hostile or reviewed"):
        Runner(Path(sys.executable), "friendly")
    missing(monkeypatch, "no_network")
    with Runner(Path(sys.executable), "reviewed", doctor.prove(), preload=()) as runner:
        assert set(runner.guarantees) == set(doctor.GUARANTEES) - {"no_network"}
    missing(monkeypatch, *doctor.GUARANTEES)
    with pytest.raises(SandboxError, match="--unsandboxed") as caught:
        Runner(Path(sys.executable), "reviewed", doctor.prove())
    assert caught.value.exit_code == 6
    with Runner(Path(sys.executable), "reviewed", doctor.prove(), unsandboxed=True) as runner:
        assert runner.guarantees == ()


def test_the_report_says_what_is_missing_and_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "hints", lambda: ["do this"])
    proof = doctor.Proof({**dict.fromkeys(doctor.GUARANTEES, ""), "no_network": "TCP"}, "host")
    lines = doctor.report(proof)
    assert lines[0] == "host"
    assert "MISSING no_network: TCP" in lines
    assert lines[-1] == "hint: do this"
    assert not proof.complete
    assert not doctor.Proof({"no_network": ""}, "host").complete
    assert len(proof.held) == len(doctor.GUARANTEES) - 1


# --- the page ---------------------------------------------------------------------------------------------------------

ROOT = Path(__file__).resolve().parents[2]


def test_the_threat_model_names_every_attack_and_every_probe_and_every_guarantee_has_one() -> None:
    named = set(re.findall(r"`(\w+)`", (ROOT / "docs" / "threats.md").read_text(encoding="utf-8")))
    attacks = {path.stem for path in (ROOT / "tests" / "attacks").glob("*.py")}
    probes = doctor._probes(doctor.Bait(1, "", "", ("secret",), ("/usr",), "value"))
    assert attacks | {probe.name for probe in probes} <= named
    assert {probe.guarantee for probe in probes} == set(doctor.GUARANTEES)


# --- the filter -------------------------------------------------------------------------------------------------------

X86, ARM = 0xC000003E, 0xC00000B7


def outcome(program: bytes, architecture: int, number: int, *arguments: int) -> int:
    """What the filter returns for a ``struct seccomp_data``, run as the kernel does."""
    data = struct.pack("<IIQ6Q", number, architecture, 0, *(arguments + (0,) * 6)[:6])
    steps = list(struct.iter_unpack("=HBBI", program))
    place = accumulator = 0
    while True:
        code, true, false, operand = steps[place]
        place += 1
        if code == seccomp.LOAD:
            (accumulator,) = struct.unpack_from("<I", data, operand)
        elif code == seccomp.AND:
            accumulator &= operand
        elif code == seccomp.JUMP:
            place += operand
        elif code == seccomp.RETURN:
            return int(operand)
        else:
            holds = {
                seccomp.JUMP_EQUAL: accumulator == operand,
                seccomp.JUMP_AT_LEAST: accumulator >= operand,
            }[code]
            place += true if holds else false


class Filter(NamedTuple):
    """The filter of one machine."""

    program: bytes
    architecture: int
    machine: str

    def answer(self, call: str | int, *arguments: int) -> int:
        """To a call, by its name or number: 0 for allow, the error number, or -1 for kill."""
        number = seccomp.numbers(self.machine)[call] if isinstance(call, str) else call
        assert number is not None
        operand = outcome(self.program, self.architecture, number, *arguments)
        return {seccomp.ALLOW: 0, seccomp.KILL: -1, seccomp.DONE: -2}.get(operand, operand & 0xFFFF)


@pytest.fixture(params=[("x86_64", X86), ("aarch64", ARM)], ids=["x86_64", "aarch64"])
def own(request: pytest.FixtureRequest) -> Filter:
    machine, architecture = request.param
    return Filter(seccomp.program(CALLS, machine), architecture, machine)


CALLS = sandbox_rules.load().seccomp


def test_a_call_is_allowed_where_it_is_listed_and_does_not_exist_elsewhere(own: Filter) -> None:
    allowed = {name for group in CALLS.allowed for name in group.calls}
    errors = {name: group.error for group in CALLS.refused for name in group.calls}
    checked = {name for entry in CALLS.checked for name in entry.calls}
    assert len(allowed) + len(errors) + len(checked) == sum(
        len(group.calls) for group in (*CALLS.allowed, *CALLS.refused, *CALLS.checked)
    )
    names = {number: name for name, number in seccomp.numbers(own.machine).items()}
    for number in range(1000):
        name = names.get(number, "")
        if name not in checked:
            expected = 0 if name in allowed else getattr(errno, errors.get(name, "ENOSYS"))
            assert own.answer(number) == expected, (number, name)


def test_a_call_that_no_machine_has_is_an_error(own: Filter) -> None:
    wrong = CALLS.model_copy(update={"allowed": (CALLS.allowed[0].model_copy(update={"calls": ("raed",)}),)})
    with pytest.raises(KeyError, match="raed"):
        seccomp.program(wrong, own.machine)


def test_only_sockets_of_unix_tcp_udp_and_routing_can_be_opened(own: Filter) -> None:
    for flags in (0, 0x80800):
        for family in (0, 1, 2, 10, 16, 17, 38, 40):
            for kind in (1, 2, 3, 5, 6):
                for protocol in (0, 1, 6, 17, 33, 132, 136, 262):
                    inet = family in (2, 10) and (kind, protocol) in {(1, 0), (1, 6), (2, 0), (2, 17)}
                    routing = family == 16 and kind in (2, 3) and protocol == 0
                    expected = 0 if family == 1 or inet or routing else errno.EAFNOSUPPORT
                    assert own.answer("socket", family, kind | flags, protocol) == expected, (family, kind, protocol)
    for family in range(64):
        assert own.answer("socketpair", family) == (0 if family == 1 else errno.EAFNOSUPPORT)


@pytest.mark.parametrize(
    ("call", "place", "allowed", "refused"),
    [
        ("mmap", 3, [0x01, 0x02, 0x22, 0x4022, 0x20022, 0x100022], [0x21, 0x4021, 0x40022, 0x40021, 0x40001, 0x23, 0x58040022]),
        ("madvise", 2, [4, 8, 14, 25], [12, 13, 20, 21, 100, 101]),
        ("clone", 0, [17, 0x3D0F00], [0x10000011, 0x8011, 0x20000, 0x40000011, 0x411]),
        ("prctl", 0, [15, 38], [22, 35, 62, 67, 78]),
        ("personality", 0, [0, 0xFFFFFFFF], [0x0040000]),
        ("fcntl", 1, [0, 4, 6, 1030, 1031], [36, 37, 1024, 1026]),
        ("ioctl", 1, [0x5401, 0x541B, 0x8912], [0x5412, 0x541C, 0x8982, 0x8940]),
        ("prlimit64", 0, [0, 2], [1]),
        ("sched_setaffinity", 0, [0, 2], [1]),
    ],
)  # fmt: skip
def test_calls_that_do_many_things_are_allowed_by_argument(
    own: Filter, call: str, place: int, allowed: list[int], refused: list[int]
) -> None:
    answers = {value: own.answer(call, *[0] * place, value) for value in (*allowed, *refused)}
    assert {value for value, answer in answers.items() if answer == 0} == set(allowed), answers
    assert {value for value, answer in answers.items() if answer > 0} == set(refused)


def test_buffers_of_sockets_keep_their_size_and_take_no_programs(own: Filter) -> None:
    for option in range(64):
        expected = -2 if option in (7, 8) else errno.ENOPROTOOPT if option in (26, 50, 51, 52, 60) else 0
        assert own.answer("setsockopt", 3, 1, option) == expected, option
    assert own.answer("setsockopt", 3, 6, 1) == 0  # TCP_NODELAY
    assert own.answer("setsockopt", 3, 6, 31) == errno.ENOPROTOOPT  # TCP_ULP
    assert own.answer("setsockopt", 3, 6, 13) == errno.ENOPROTOOPT  # TCP_CONGESTION
    assert own.answer("setsockopt", 3, 263, 1) == errno.ENOPROTOOPT


def test_no_priority_of_the_supervisor_or_of_its_user_can_be_set(own: Filter) -> None:
    assert own.answer("setpriority", 0, 0) == 0
    assert own.answer("setpriority", 0, 1) == errno.EPERM
    assert own.answer("setpriority", 2, 0) == errno.EPERM


def test_another_architecture_is_killed_and_x32_does_not_exist(own: Filter) -> None:
    assert own._replace(architecture=0x40000003).answer(20) == -1
    assert own.answer(0x40000000 + 39) == errno.ENOSYS


def test_drivers_of_a_gpu_are_spoken_to_where_their_devices_are_seen(own: Filter) -> None:
    seen = own._replace(program=seccomp.program(CALLS, own.machine, devices=True))
    for request in (0xC020462A, 0xC90046C8, 0x17, 0x30000001, 0x5401):
        assert seen.answer("ioctl", 3, request) == 0
    assert {seen.answer("ioctl", 3, request) for request in (0x5412, 0x8982, 0x4B47)} == {errno.ENOTTY}
    assert seen.answer("mmap", 0, 0, 0, 0x31) == 0
    assert seen.answer("mmap", 0, 0, 0, 0x40022) == errno.ENOMEM
    assert (seen.answer("mbind"), own.answer("mbind")) == (0, errno.ENOSYS)
    assert seen.answer("clone", 0x10000011) == errno.EPERM


# --- output -----------------------------------------------------------------------------------------------------------


def test_ordinary_text_is_kept() -> None:
    text = "Traceback:\n\tℝ → 模型 🔥 é\n"
    assert harmless(text.encode()) == text
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


# --- zygotes ----------------------------------------------------------------------------------------------------------


def test_waits_of_processes_that_have_ended_count_and_only_those_that_are_there_are_remembered(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    waits = {"2": 1.0, "3": 4.0}
    monkeypatch.setattr(supervisor, "wait_of", lambda pid: waits[str(pid)])
    watch = object.__new__(supervisor.Watch)
    watch.waited, watch.waits = 0.0, {}
    watch.note_waits(["2", "3"])
    waits.update({"2": 1.5, "3": 0.5})  # the number 3 now names another process
    watch.note_waits(["2", "3"])
    watch.note_waits(["2"])
    assert (watch.waited, watch.waits) == (5.5, {"2": 1.5})


def test_words_of_a_script_and_the_release_decide_what_is_imported_beforehand() -> None:
    code = "import torch\noptimizer = torch.optim.SGD([], lr=0.1)\n"
    assert sandbox_rules.modules_for(code, "2.13.0+cu130") == ["torch.fx.experimental.symbolic_shapes", "torch._dynamo"]
    assert sandbox_rules.modules_for(code, "2.0.1+cu117") == []
    assert sandbox_rules.modules_for("import torch\ntorch.ones(3).sum().backward()\n", "2.13.0+cu130") == []
    first, *others = sandbox_rules.modules_for(code, "2.15.0+cu132")
    assert (
        first == "torch.nested._internal.nested_tensor"
    )  # what all scripts need stands first, so that zygotes are shared
    assert others == sandbox_rules.modules_for(code, "2.13.0+cu130")
    given = "import torch\nresult.backward(torch.ones(3))\n"
    assert sandbox_rules.modules_for(given, "2.13.0+cu130") == ["torch.fx.experimental.symbolic_shapes"]
    assert sandbox_rules.modules_for(given, "2.1.2+cu121") == []
    transform = "from functorch import jacrev\n"
    assert sandbox_rules.modules_for(transform, "1.13.1+cu117") == ["functorch"]
    assert "functorch" not in sandbox_rules.modules_for(transform, "2.0.1+cu117")
    assert sandbox_rules.modules_for(code, "") == sandbox_rules.modules_for(code, "our own build") == []


def test_code_that_runs_inside_a_build_keeps_to_python_38_and_its_standard_library() -> None:
    inside = [*policy.own_code().glob("*.py"), resources.package_file("sandbox", "probes.py")]
    for path in [*inside, resources.package_file("oracles", "__init__.py")]:
        tree = ast.parse(path.read_text(encoding="utf-8"), feature_version=(3, 8))
        for node in ast.walk(tree):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom) and node.level == 0:
                names = [node.module or ""]
            assert {name.partition(".")[0] for name in names} <= sys.stdlib_module_names, path
