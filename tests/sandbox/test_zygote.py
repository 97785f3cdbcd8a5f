"""Runs by fork and by fresh process: the same as ``python script``, and a broken zygote costs one run."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from support import needs_bubblewrap
from torch_embers import resources
from torch_embers.sandbox import doctor, policy, program, sandbox_rules
from torch_embers.sandbox.runner import Attempt, Runner, RunResult

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="module")
def runner() -> Iterator[Runner]:
    with Runner(Path(sys.executable), "hostile", doctor.prove(), preload=()) as runner:
        yield runner


@pytest.fixture(scope="module", params=["isolated", "plain"])
def any_runner(request: pytest.FixtureRequest) -> Iterator[Runner]:
    """In the sandbox, and as on a host without one."""
    with pytest.MonkeyPatch.context() as patch:
        if request.param == "plain":
            patch.setattr(doctor, "prove", lambda **_: doctor.Proof(dict.fromkeys(doctor.GUARANTEES, "no"), "host"))
        elif program.find() is None:
            pytest.skip("bubblewrap is not installed")
        runner = Runner(Path(sys.executable), "reviewed", doctor.prove(), preload=(), unsandboxed=True)
    with runner:
        yield runner


def one(runner: Runner, code: str, **more: object) -> RunResult:
    return next(iter(runner.run([Attempt("key", code, "case.py", **more)])))  # type: ignore[arg-type]


def test_at_an_exit_only_finalizers_of_the_script_run() -> None:
    """In a process of its own, where what is registered now stands for what torch registered."""
    code = """
import os, weakref
from torch_embers.sandbox.inside.execute import Finalizers
class Thing: pass
kept, gone = Thing(), Thing()
for thing, name in ((kept, "preloaded"), (gone, "preloaded, gone")):
    weakref.finalize(thing, print, name)
finalizers = Finalizers()
finalizers.take_over()
weakref.finalize(kept, print, "script")
del gone, thing
if os.environ["GIVE_BACK"]:
    finalizers.give_back()
else:
    finalizers.pass_over()
"""
    for give_back, expected in (("", ["script"]), ("1", ["script", "preloaded"])):
        done = subprocess.run(
            [sys.executable, "-c", code], env={**os.environ, "GIVE_BACK": give_back}, capture_output=True, text=True, check=True
        )  # fmt: skip
        assert done.stdout.splitlines() == ["preloaded, gone", *expected]


def test_arguments_seed_and_plant_reach_the_script(any_runner: Runner) -> None:
    code = "import os, sys; print(sys.argv[1:], os.environ['EMBERS_SEED'], os.environ.get('EMBERS_PLANT'), os.environ['OMP_NUM_THREADS'])"
    for fresh in (False, True):
        result = one(any_runner, code, arguments=("a b", "é"), seed=7, inject=True, threads=2, fresh=fresh)
        assert result.stdout == "['a b', 'é'] 7 1 2\n", result
        assert one(any_runner, code, fresh=fresh).stdout == "[] 0 None 1\n"


@needs_bubblewrap
def test_a_run_sees_the_variables_that_the_page_names(runner: Runner) -> None:
    page = (Path(__file__).resolve().parents[2] / "docs" / "running.md").read_text(encoding="utf-8")
    part = page.split("Variables that a run sees:", 1)[1].split("\n\n", 1)[0]
    named = {name for name in re.findall(r"`([A-Z_]+)`", part) if name != "LC_CTYPE"}
    named |= set(resources.load_toml("sandbox.toml")["environment"])
    for fresh in (False, True):
        result = one(runner, "import os; print(*sorted(os.environ))", fresh=fresh, inject=True)
        assert set(result.stdout.split()) - {"LC_CTYPE"} == named - (set() if fresh else {"PYTHONHASHSEED"})


def test_the_script_sees_no_token_and_an_empty_home(any_runner: Runner, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITHUB_TOKEN", "secret")
    code = "import os; print('GITHUB_TOKEN' in os.environ, os.path.isdir(os.environ['HOME']), os.listdir(os.environ['HOME']))"
    any_runner.close()
    assert one(any_runner, code).stdout in ("False True []\n", "False True ['case.py']\n")


def test_time_and_output_are_capped_everywhere(any_runner: Runner) -> None:
    assert one(any_runner, "while True: pass", timeout=0.3).ended == "timeout"
    assert one(any_runner, "import os\nwhile True: os.write(1, b'x' * 65536)").ended == "output"
    assert one(any_runner, "print('still here')").stdout == "still here\n"


def test_only_the_end_of_a_long_output_is_kept(any_runner: Runner) -> None:
    result = one(any_runner, "print('a' * 100000)\nprint('b' * 100000)\nprint('last line')")
    assert result.exit_code == 0
    assert result.stdout.endswith("b\nlast line\n")
    assert len(result.stdout) == sandbox_rules.load().limits.tail
    assert "stdout cut to its last 64 KiB" in result.detail


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="RLIMIT_DATA counts on Linux")
def test_a_runaway_allocation_is_a_clean_error(any_runner: Runner) -> None:
    result = one(any_runner, "bytearray(10 << 30)", memory=100 << 20)
    assert (result.ended, result.exit_code) == ("exited", 1)
    assert result.stderr.endswith("MemoryError\n")


def test_measurements_come_with_a_run(any_runner: Runner) -> None:
    result = one(any_runner, "data = bytearray(b'x') * (50 << 20)\nend = 0\nfor i in range(10 ** 6): end += i")
    assert result.duration > 0
    assert result.cpu > 0
    assert result.peak_memory > 50 << 20
    assert result.versions["python"].startswith("3.")


@needs_bubblewrap
@pytest.mark.serial  # five runs against a pause
def test_results_come_as_they_are_ready_and_each_once(runner: Runner) -> None:
    attempts = [
        Attempt(str(number), f"import time; time.sleep({4 if number == 0 else 0})", "x.py") for number in range(6)
    ]
    keys = [result.key for result in runner.run(attempts, jobs=2)]
    assert sorted(keys) == ["0", "1", "2", "3", "4", "5"]
    assert keys[0] != "0"


@needs_bubblewrap
def test_attempts_are_taken_only_when_there_is_room(runner: Runner) -> None:
    taken = []

    def attempts() -> Iterator[Attempt]:
        for number in range(10):
            taken.append(number)
            yield Attempt(str(number), "", "x.py")

    results = runner.run(attempts(), jobs=1)
    next(results)
    assert len(taken) <= 2
    results.close()
    assert one(runner, "print(1)").stdout == "1\n"


@needs_bubblewrap
def test_a_restart_gives_another_zygote_and_a_fresh_run_has_none(runner: Runner) -> None:
    with Runner(Path(sys.executable), "hostile", doctor.prove(), preload=("json",)) as loaded:
        first = one(loaded, "").zygote
        assert first
        assert one(loaded, "").zygote == first
        loaded.close()
        assert one(loaded, "").zygote not in ("", first)
        assert one(loaded, "", fresh=True).zygote == ""
    with Runner(Path(sys.executable), "hostile", doctor.prove(), zygote=False, preload=("json",)) as without:
        assert one(without, "").zygote == ""


@needs_bubblewrap
def test_a_zygote_that_is_killed_costs_one_run_which_is_repeated_fresh() -> None:
    with Runner(Path(sys.executable), "hostile", doctor.prove(), preload=("json",)) as runner:
        assert one(runner, "").zygote
        [first] = runner.first_pids()
        threading.Timer(0.3, os.kill, (first, signal.SIGKILL)).start()
        result = one(runner, "import time; time.sleep(1); print('done')")
        assert (result.exit_code, result.stdout, result.zygote) == (0, "done\n", "")
        assert (result.detail, bool(result.repeated)) == ("exit 0", True)
        assert one(runner, "").zygote


@needs_bubblewrap
@pytest.mark.parametrize("fresh", [False, True], ids=["zygote", "fresh"])
def test_a_sandbox_that_breaks_while_guarantees_are_proven_is_a_breach(fresh: bool) -> None:
    """It is not repeated there: in a fresh process the probe would end as if nothing had been possible."""
    probe = doctor.Probe("no_survivors", "outlive")
    with Runner(Path(sys.executable), policy.PROVING, preload=()) as runner:
        good = one(runner, "", fresh=fresh)
        assert doctor._breach(probe, good) == ""
        again = replace(good, repeated="the zygote ended")
        assert doctor._breach(probe, again).startswith("outlive: the sandbox broke")
        [first] = runner.first_pids()
        threading.Timer(0.3, os.kill, (first, signal.SIGKILL)).start()
        broken = one(runner, "import time; time.sleep(1)", fresh=fresh)
    assert (broken.ended, broken.exit_code, broken.repeated) == ("sandbox_error", None, "")
    assert doctor._breach(probe, broken)


@needs_bubblewrap
def test_a_zygote_that_is_stuck_costs_one_run(monkeypatch: pytest.MonkeyPatch) -> None:
    shipped = sandbox_rules.load()
    hasty = shipped.model_copy(update={"limits": shipped.limits.model_copy(update={"grace": 0.5})})
    monkeypatch.setattr(sandbox_rules, "load", lambda: hasty)
    with Runner(Path(sys.executable), "hostile", doctor.prove(), preload=("json",)) as runner:
        one(runner, "")
        os.kill(runner.first_pids()[0], signal.SIGSTOP)
        result = one(runner, "print('done')", timeout=1)
        assert (result.stdout, result.zygote) == ("done\n", "")
        assert result.repeated == "it did not answer in time"


@needs_bubblewrap
def test_a_build_without_torch_is_told_for_each_run() -> None:
    python = Path("/usr/bin/python3")
    if (
        not python.exists()
        or subprocess.run([python, "-c", "import torch"], capture_output=True, check=False).returncode == 0
    ):
        pytest.skip("needs a system Python without torch")
    with Runner(python, "hostile", doctor.prove()) as runner:
        for _ in range(2):
            result = one(runner, "print(1)")
            assert result.ended == "sandbox_error"
            assert "import torch: ModuleNotFoundError" in result.detail


@needs_bubblewrap
def test_odd_names_and_texts_of_scripts_never_leave_the_run_s_folder_or_break_the_harness(runner: Runner) -> None:
    for name in ("../../x.py", "/etc/passwd", "", "..", "a b.py"):
        [result] = runner.run([Attempt("key", "print(__file__)", name)])
        assert result.exit_code == 0
        assert result.stdout.startswith("/tmp/")
        assert result.stdout.count("/") == 2
    for code in ("print('\ud800')", "x = 1\0", "\udcff = 1", "print('''\u2028 \x0c''')"):
        assert one(runner, code).ended == "exited", code


@needs_bubblewrap
def test_a_run_has_a_name_a_host_and_a_loopback_of_its_own(runner: Runner) -> None:
    code = """
import getpass, os, pwd, socket
print(getpass.getuser(), pwd.getpwuid(os.getuid()).pw_dir, socket.gethostname())
for family in (socket.AF_INET, socket.AF_INET6):
    for name in ("localhost", socket.gethostname()):
        address = socket.getaddrinfo(name, 0, family, socket.SOCK_STREAM)[0][4]
        server = socket.socket(family)
        server.bind(address)
        server.listen()
        socket.create_connection(server.getsockname()[:2]).close()
"""
    result = one(runner, code)
    assert (result.stdout, result.stderr) == ("embers /home/embers embers\n", "")


@needs_bubblewrap
def test_of_an_environment_at_a_project_s_root_only_the_interpreter_is_visible(tmp_path: Path) -> None:
    project = tmp_path / "project"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", "--symlinks", str(project)], check=True)
    tmp_path.chmod(0o755)
    for name in (".env", ".git/config", "data/embers.duckdb", "src/own.py", "lib/own.py"):
        (project / name).parent.mkdir(exist_ok=True)
        (project / name).write_text("secret", encoding="ascii")
    code = f"""
import sys
from pathlib import Path
project = Path({str(project)!r})
assert sys.prefix == str(project)
print(sorted(path.name for path in project.iterdir()), sorted(path.name for path in (project / "lib").iterdir()))
"""
    version = f"python{sys.version_info[0]}.{sys.version_info[1]}"
    links = ["lib64"] if (project / "lib64").exists() else []
    for fresh in (False, True):
        with Runner(project / "bin" / "python", "hostile", doctor.prove(), preload=()) as inside:
            result = one(inside, code, fresh=fresh)
        assert result.stdout == f"{['bin', 'lib', *links, 'pyvenv.cfg']} {[version]}\n", result


MODULE = """
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
status = dict(line.split(":", 1) for line in open("/proc/self/status") if ":" in line)
found = [name for name in ("CapPrm", "CapEff", "CapBnd", "CapAmb") if int(status[name], 16)]
found += [] if status["NoNewPrivs"].strip() == "1" and status["Seccomp"].strip() == "2" else ["rights"]
calls = {
    "mount": (None, b"/usr", None, 4096 | 32, None),  # writable
    "unshare": (0x10000000,),
    "setns": (os.open("/proc/self/ns/mnt", os.O_RDONLY), 0),
    "umount2": (b"/usr", 2),
    "inotify_init1": (0,),
}
found += [name for name, arguments in calls.items() if getattr(libc, name)(*arguments) >= 0]
for path in ("/usr/left", "/proc/1/environ", "/proc/sys/user/max_user_namespaces"):
    try:
        open(path, "r+").close()
    except OSError:
        continue
    found.append(path)
"""


@needs_bubblewrap
def test_a_build_is_imported_without_rights_and_held_to_the_listed_calls(tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", "--symlinks", str(tmp_path / "env")], check=True)
    tmp_path.chmod(0o755)
    [packages] = (tmp_path / "env").glob("lib/python3*/site-packages")
    (packages / "hostile.py").write_text(MODULE, encoding="ascii")
    with Runner(tmp_path / "env/bin/python", "hostile", doctor.prove(), preload=("hostile",)) as runner:
        for _ in range(2):
            assert one(runner, "import hostile; print(hostile.found)").stdout == "[]\n"


@needs_bubblewrap
def test_time_of_processes_that_outlive_their_parent_counts(runner: Runner) -> None:
    code = """
import os, time
def spin(seconds):
    while time.process_time() < seconds: pass
if os.fork() == 0:
    if os.fork() == 0:
        spin(0.4)
    os._exit(0)
os.wait()
time.sleep(0.1)
while os.path.exists("/proc/4"): time.sleep(0.01)
"""
    for fresh in (False, True):
        result = one(runner, code, fresh=fresh)
        assert (result.exit_code, result.stderr) == (0, "")
        assert result.cpu > 0.35


@needs_bubblewrap
def test_processes_have_the_same_numbers_in_each_run(runner: Runner) -> None:
    code = "import os; pid = os.fork() or os._exit(0); os.wait(); print(os.getpid(), pid)"
    assert {one(runner, code, fresh=fresh).stdout for fresh in (False, True, False)} == {"2 3\n"}


@needs_bubblewrap
def test_the_script_cannot_import_the_zygote(runner: Runner) -> None:
    result = one(runner, "import sys\nassert not [n for n in sys.modules if n.startswith('inside')]\nimport inside")
    assert "ModuleNotFoundError: No module named 'inside'" in result.stderr
