"""Runs by fork and by fresh process: the same as ``python script``, and a broken zygote costs one run."""

from __future__ import annotations

import ast
import os
import re
import signal
import subprocess
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from torch_embers import resources
from torch_embers.sandbox import doctor, policy, program, rules
from torch_embers.sandbox import runner as runner_module
from torch_embers.sandbox.inside import supervisor
from torch_embers.sandbox.runner import Attempt, Runner, RunResult

if TYPE_CHECKING:
    from collections.abc import Iterator

INSIDE = sorted(policy.own_code().glob("*.py"))
needs_bubblewrap = pytest.mark.skipif(program.find() is None, reason="bubblewrap is not installed")


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


@pytest.mark.parametrize("path", [*INSIDE, resources.package_file("sandbox", "probes.py")], ids=lambda path: path.name)
def test_code_that_runs_inside_a_build_keeps_to_python_38(path: Path) -> None:
    tree = ast.parse(path.read_text(encoding="utf-8"), feature_version=(3, 8))
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.level == 0:
            assert (node.module or "").split(".")[0] in sys.stdlib_module_names
        elif isinstance(node, ast.Import):
            assert all(alias.name.split(".")[0] in sys.stdlib_module_names for alias in node.names)


SCRIPTS = {
    "nothing": "",
    "output": "import sys\nprint('out')\nprint('err', file=sys.stderr)",
    "exception": "def f():\n    raise ValueError('no')\ntry:\n    f()\nexcept ValueError as error:\n    raise KeyError(1) from error",
    "syntax": "x = = 1",
    "exit code": "raise SystemExit(125)",
    "exit text": "import sys; sys.exit('told')",
    "exit large": "import sys; sys.exit(257)",
    "exit none": "import sys; sys.exit()",
    "at exit": "import atexit\natexit.register(print, 'bye')\nprint('hello')",
    "exit fails": "import atexit\natexit.register(lambda: 1 / 0)",
    "thread": "import threading, time\nthreading.Thread(target=lambda: (time.sleep(0.05), print('late'))).start()",
    "main": "print(__name__, __file__.rsplit('/')[-1], __builtins__.__name__)\nimport __main__\nprint(__main__.__name__)",
    "abort": "import os; os.abort()",
    "kill": "import os, signal; os.kill(os.getpid(), signal.SIGSEGV)",
    "hook": "import sys\nsys.excepthook = lambda *a: print('mine', a[0].__name__)\n1 / 0",
    "interrupt": "raise KeyboardInterrupt",
    "encoding": "# -*- coding: latin-1 -*-\nprint(len('\u00e9'))",
    "source": "import inspect\ndef f(): return 1\nprint(inspect.getsource(f))",
    "fork": "import os, sys\npid = os.fork()\nif pid == 0: sys.exit(3)\nprint(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))",
    "pool": "from multiprocessing import Pool\nif __name__ == '__main__':\n    with Pool(2) as pool: print(pool.map(abs, [-1, 2]))",
    "spawn": (
        "import multiprocessing as m\ndef f(x): return x + 1\n"
        "if __name__ == '__main__':\n    with m.get_context('spawn').Pool(1) as pool: print(pool.map(f, [1]))"
    ),
    "subprocess": "import subprocess, sys\nprint(subprocess.run([sys.executable, '-c', 'exit(4)']).returncode)",
    "future": "from __future__ import annotations\ndef f(x: nothing): pass\nprint(f.__annotations__)",
    "no future": "def f(x: int): pass\nprint(f.__annotations__)",
    "finalizer": "import weakref\nclass A: pass\na = A()\nfor n in (1, 2): weakref.finalize(a, print, n)\nweakref.finalize(A(), print, 0)",
    "handler": "import signal\nprint(signal.getsignal(signal.SIGINT))",
    "long": "x = 1\n" * 100000 + "print(x)",
    "closed output": "import sys\nsys.stdout.close()",
}


@needs_bubblewrap
@pytest.mark.parametrize("name", SCRIPTS)
def test_a_run_is_what_python_makes_of_the_script(name: str, runner: Runner, tmp_path: Path) -> None:
    script = tmp_path / "case.py"
    script.write_text(SCRIPTS[name], encoding="utf-8")
    plain = subprocess.run([sys.executable, script.name], capture_output=True, text=True, cwd=tmp_path, check=False)
    for fresh, finalise in ((False, False), (False, True), (True, False)):
        result = one(runner, SCRIPTS[name], fresh=fresh, finalise=finalise)
        expected = plain.returncode
        assert (result.exit_code if result.signal is None else -result.signal) == expected, result
        assert result.stdout == plain.stdout
        assert without_places(result.stderr) == without_places(plain.stderr)


def without_places(text: str) -> str:
    """A traceback without the folders of its files, and without what differs from run to run."""
    lines = [
        line.replace(line.split('"')[1], line.split('"')[1].rsplit("/")[-1]) if line.startswith('  File "') else line
        for line in text.splitlines()
    ]
    return "\n".join(line for line in lines if "object at 0x" not in line and "lambda" not in line)


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
    any_runner.restart()
    assert one(any_runner, code).stdout in ("False True []\n", "False True ['case.py']\n")


def test_time_and_output_are_capped_everywhere(any_runner: Runner) -> None:
    assert one(any_runner, "while True: pass", timeout=0.3).ended == "timeout"
    assert one(any_runner, "import os\nwhile True: os.write(1, b'x' * 65536)").ended == "output"
    assert one(any_runner, "print('still here')").stdout == "still here\n"


WORK = """
import sys, time
while time.process_time() < float(sys.argv[1]): pass
print("done")
"""


@needs_bubblewrap
@pytest.mark.serial
@pytest.mark.skipif(
    not Path("/proc/self/schedstat").exists(), reason="the kernel does not count waiting for a processor"
)
def test_waiting_for_a_processor_is_no_part_of_the_time_limit_up_to_a_bound(runner: Runner) -> None:
    def ended(seconds: float, timeout: float) -> RunResult:
        return one(runner, WORK, arguments=(str(seconds),), timeout=timeout)

    processors = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(processors)})
    runner.restart()
    others = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(2)]
    try:
        slow = ended(0.8, timeout=1.2)
        assert (slow.ended, slow.stdout) == ("exited", "done\n")
        assert slow.duration > 1.2
        assert slow.waited > 0.2 * slow.duration
        endless = ended(60, timeout=0.4)
        assert endless.ended == "timeout"
        assert endless.duration < 0.4 * rules.load().limits.patience + 1
        assert one(runner, "import time; time.sleep(60)", timeout=0.5).duration < 1
    finally:
        for other in others:
            other.kill()
            other.wait()
        os.sched_setaffinity(0, processors)
        runner.restart()


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


def test_only_the_end_of_a_long_output_is_kept(any_runner: Runner) -> None:
    result = one(any_runner, "print('a' * 100000)\nprint('b' * 100000)\nprint('last line')")
    assert result.exit_code == 0
    assert result.stdout.endswith("b\nlast line\n")
    assert len(result.stdout) == rules.load().limits.tail
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
        loaded.restart()
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
        assert doctor._breach(probe, replace(good, repeated="the zygote ended")).startswith(
            "outlive: the sandbox broke"
        )
        [first] = runner.first_pids()
        threading.Timer(0.3, os.kill, (first, signal.SIGKILL)).start()
        broken = one(runner, "import time; time.sleep(1)", fresh=fresh)
    assert (broken.ended, broken.exit_code, broken.repeated) == ("sandbox_error", None, "")
    assert doctor._breach(probe, broken)


@needs_bubblewrap
def test_a_zygote_that_is_stuck_costs_one_run(monkeypatch: pytest.MonkeyPatch) -> None:
    shipped = rules.load()
    hasty = shipped.model_copy(update={"limits": shipped.limits.model_copy(update={"grace": 0.5})})
    monkeypatch.setattr(rules, "load", lambda: hasty)
    with Runner(Path(sys.executable), "hostile", doctor.prove(), preload=("json",)) as runner:
        one(runner, "")
        os.kill(runner.first_pids()[0], signal.SIGSTOP)
        result = one(runner, "print('done')", timeout=1)
        assert (result.stdout, result.zygote) == ("done\n", "")
        assert result.repeated == "it did not answer in time"


@needs_bubblewrap
def test_a_sandbox_that_breaks_twice_is_told_and_the_next_run_is_good(monkeypatch: pytest.MonkeyPatch) -> None:
    with Runner(Path(sys.executable), "hostile", doctor.prove(), preload=()) as runner:
        one(runner, "")
        stop = threading.Event()

        def kill_all() -> None:
            while not stop.is_set():
                for pid in runner.first_pids():
                    try:
                        os.kill(pid, signal.SIGKILL)
                    except ProcessLookupError:
                        continue
                time.sleep(0.01)

        thread = threading.Thread(target=kill_all)
        thread.start()
        result = one(runner, "import time; time.sleep(5)", timeout=20)
        stop.set()
        thread.join()
        assert result.ended == "sandbox_error"
        assert result.exit_code is None
        assert one(runner, "print(1)").stdout == "1\n"


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
def test_further_folders_can_be_read_and_not_written(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("read me", encoding="ascii")
    code = f"""
from pathlib import Path
print(Path({str(tmp_path)!r}, "data").read_text())
Path({str(tmp_path)!r}, "more").touch()
"""
    tmp_path.chmod(0o755)
    with Runner(Path(sys.executable), "hostile", doctor.prove(), preload=(), read_only=[tmp_path]) as runner:
        result = one(runner, code)
    assert result.stdout == "read me\n"
    assert "Read-only file system" in result.stderr


@needs_bubblewrap
@pytest.mark.parametrize("name", ["../../x.py", "/etc/passwd", "", "..", "a b.py"])
def test_a_script_is_written_into_the_run_s_own_folder_whatever_its_name(name: str, runner: Runner) -> None:
    [result] = runner.run([Attempt("key", "print(__file__)", name)])
    assert result.exit_code == 0
    assert result.stdout.startswith("/tmp/")
    assert result.stdout.count("/") == 2


@needs_bubblewrap
@pytest.mark.parametrize("code", ["print('\ud800')", "x = 1\0", "\udcff = 1", "print('''\u2028 \x0c''')"])
def test_odd_text_never_breaks_the_harness(code: str, runner: Runner) -> None:
    assert one(runner, code).ended == "exited"


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


@needs_bubblewrap
@pytest.mark.serial
@pytest.mark.parametrize("kind", ["isolated", "plain"])
def test_a_driver_that_is_killed_right_after_the_start_leaves_no_process(kind: str) -> None:
    """Also while the zygote still imports: nothing asks whether the driver lives but the kernel and the steward."""
    mark = f"MARK{os.getpid()}{kind}"
    code = f"""
import sys
from pathlib import Path
from torch_embers.sandbox import doctor, proof
from torch_embers.sandbox import runner as runner_module
from torch_embers.sandbox.runner import Attempt, Runner
known = doctor.prove() if {kind == "isolated"} else None
with Runner(Path(sys.executable), "reviewed", known, preload=("json", "this", "{mark}"), unsandboxed=True) as runner:
    print("starting", flush=True)
    list(runner.run([Attempt("long", "import time; time.sleep(600)  # {mark}", "x.py", timeout=900)]))
"""
    doctor.prove()
    for wait in (0.0, 0.01, 0.03, 0.06, 0.1, 0.2, 0.4):
        driver = subprocess.Popen([sys.executable, "-c", code, mark], stdout=subprocess.PIPE, text=True)
        assert driver.stdout is not None
        assert driver.stdout.readline() == "starting\n"
        time.sleep(wait)
        below = {pid: started(pid) for pid in runner_module.descendants(driver.pid)}
        driver.kill()
        driver.wait()
        driver.stdout.close()
        end = time.monotonic() + 20
        while left := [pid for pid, when in below.items() if when and started(pid) == when]:
            assert time.monotonic() < end, left
            time.sleep(0.02)


def started(pid: int) -> str:
    """When a process began; empty where it has ended."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    except OSError:
        return ""
    return "" if fields[0] == "Z" else fields[19]


@needs_bubblewrap
def test_the_script_cannot_import_the_zygote(runner: Runner) -> None:
    result = one(runner, "import sys\nassert not [n for n in sys.modules if n.startswith('inside')]\nimport inside")
    assert "ModuleNotFoundError: No module named 'inside'" in result.stderr


# --- with torch -------------------------------------------------------------------------------------------------------

TORCH = {
    "backward": "import torch\na = torch.ones(3, 3, requires_grad=True)\n(a @ a).sum().backward()\nprint(a.grad.sum().item())",
    "conv": "import torch\nprint(torch.nn.Conv2d(3, 8, 3)(torch.ones(2, 3, 16, 16)).shape)",
    "seeded": "import torch\ntorch.manual_seed(0)\nprint(torch.rand(1).item())",
    "threads": "import torch\nprint(torch.get_num_threads())",
    "loader": (
        "import torch\nfrom torch.utils.data import DataLoader, TensorDataset\n"
        "print(sum(b[0].sum().item() for b in DataLoader(TensorDataset(torch.ones(8, 2)), 2, num_workers=2)))"
    ),
    "gloo": (
        "import os, torch, torch.distributed as d\nos.environ.update(MASTER_ADDR='localhost', MASTER_PORT='29500')\n"
        "d.init_process_group('gloo', rank=0, world_size=1)\nx = torch.ones(2)\nd.all_reduce(x)\nprint(x)\nd.destroy_process_group()"
    ),
    "script": "import torch\n@torch.jit.script\ndef f(x):\n    return x + 1\nprint(f(torch.ones(1)))",
    "exception": "import torch\ntorch.ones(2) @ torch.ones(3)",
}


@needs_bubblewrap
def test_torch_behaves_in_a_fork_as_in_a_process_of_its_own(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    environment = {"PATH": "/usr/bin:/bin", "OMP_NUM_THREADS": "1", "HOME": str(tmp_path)}
    with Runner(Path(sys.executable), "hostile", doctor.prove()) as runner:
        for name, code in TORCH.items():
            script = tmp_path / "case.py"
            script.write_text(code, encoding="utf-8")
            plain = subprocess.run(
                [sys.executable, "case.py"], capture_output=True, text=True, cwd=tmp_path, env=environment, check=False
            )
            for fresh in (False, True):
                result = one(runner, code, fresh=fresh, timeout=120.0)
                assert (name, result.exit_code, result.stdout) == (name, plain.returncode, plain.stdout), result.stderr
                assert result.stderr.splitlines()[-1:] == plain.stderr.splitlines()[-1:]
                assert result.versions.get("torch", "") == ("" if fresh else __import__("torch").__version__)
        assert one(runner, TORCH["threads"], threads=2).stdout == "2\n"
        assert one(runner, TORCH["backward"], finalise=True).exit_code == 0


MODULES = {
    "ordinary": "",
    "wants_folder": "import tempfile\nplace = tempfile.mkdtemp()",
    "heavy": "block = b'x' * (200 << 20)",
    "leaves_thread": "import threading, time\nthreading.Thread(target=time.sleep, args=(60,), daemon=True).start()",
    "leaves_process": "import os, signal\nif os.fork() == 0:\n    signal.pause()",
    "broken": "raise SystemExit('no')",
}


@pytest.fixture(scope="module")
def environment_with_modules(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An interpreter with a module of each kind."""
    folder = tmp_path_factory.mktemp("environment")
    folder.chmod(0o755)
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    [packages] = folder.glob("lib/python3*/site-packages")
    for name, code in MODULES.items():
        (packages / f"{name}.py").write_text(code, encoding="utf-8")
    return folder / "bin" / "python"


@needs_bubblewrap
@pytest.mark.parametrize(
    ("name", "imported"), [(name, name in {"ordinary", "wants_folder", "heavy"}) for name in (*MODULES, "missing")]
)
def test_a_script_starts_with_the_modules_that_its_words_ask_for_where_a_fork_can_have_them(
    name: str, imported: bool, environment_with_modules: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rules, "modules_for", lambda code, _torch: [name] if "please" in code else [])
    report = f"import os, sys, threading\nprint({name!r} in sys.modules, [one for one in os.listdir('/tmp') if 'tmp' in one], threading.active_count())"
    with Runner(environment_with_modules, "hostile", doctor.prove(), preload=()) as runner:
        plain, first, second = runner.run(
            Attempt(str(number), code, "case.py", memory=64 << 20)
            for number, code in enumerate((report, f"{report}  # please", f"{report}  # please"))
        )
        left = runner.left_alive()
    assert plain.stdout == "False [] 1\n"
    assert first.stdout == second.stdout == f"{imported} [] 1\n", "what was imported beforehand is no part of the cap"
    assert not left


@needs_bubblewrap
def test_zygotes_with_several_modules_build_on_each_other_and_leave_out_what_fails(
    environment_with_modules: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = {"a": ["ordinary"], "b": ["ordinary", "wants_folder"], "c": ["broken", "ordinary"]}
    monkeypatch.setattr(rules, "modules_for", lambda code, _torch: asked.get(code[-1], []))
    report = "import sys\nprint([name for name in ('ordinary', 'wants_folder', 'broken') if name in sys.modules])  # "
    with Runner(environment_with_modules, "hostile", doctor.prove(), preload=()) as runner:
        results = list(runner.run(Attempt(letter, report + letter, "case.py") for letter in asked))
        assert not runner.left_alive()
    wanted = ["['ordinary']", "['ordinary', 'wants_folder']", "['ordinary']"]
    assert [result.stdout.strip() for result in results] == wanted


def test_words_of_a_script_and_the_release_decide_what_is_imported_beforehand() -> None:
    code = "import torch\noptimizer = torch.optim.SGD([], lr=0.1)\n"
    assert rules.modules_for(code, "2.13.0+cu130") == ["torch.fx.experimental.symbolic_shapes", "torch._dynamo"]
    assert rules.modules_for(code, "2.0.1+cu117") == []
    assert rules.modules_for("import torch\ntorch.ones(3).sum().backward()\n", "2.13.0+cu130") == []
    first, *others = rules.modules_for(code, "2.15.0+cu132")
    assert (
        first == "torch.nested._internal.nested_tensor"
    )  # what all scripts need stands first, so that zygotes are shared
    assert others == rules.modules_for(code, "2.13.0+cu130")
    given = "import torch\nresult.backward(torch.ones(3))\n"
    assert rules.modules_for(given, "2.13.0+cu130") == ["torch.fx.experimental.symbolic_shapes"]
    assert rules.modules_for(given, "2.1.2+cu121") == []
    transform = "from functorch import jacrev\n"
    assert rules.modules_for(transform, "1.13.1+cu117") == ["functorch"]
    assert "functorch" not in rules.modules_for(transform, "2.0.1+cu117")
    assert rules.modules_for(code, "") == rules.modules_for(code, "our own build") == []


@pytest.mark.parametrize(
    ("code", "before", "since"),
    [
        ("torch.nested.nested_tensor(parts, layout=torch.jagged)", "2.2.2", "2.3.1"),
        ("from torch.func import jacrev", "2.3.1", "2.4.1"),
        ("torch.ones(3, device='meta')", "2.6.0", "2.7.1"),
        ("FakeTensorMode()", "2.0.1", "2.1.2"),
    ],
)
def test_the_compiler_is_imported_beforehand_only_by_releases_that_need_it_for_these_words(
    code: str, before: str, since: str
) -> None:
    assert "torch._dynamo" not in rules.modules_for(code, before)
    assert "torch._dynamo" in rules.modules_for(code, since)
