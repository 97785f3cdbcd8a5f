"""Runs by fork and by fresh process in every variant: scripts, modules imported beforehand, a busy machine, kills."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from support import eventually, needs_bubblewrap
from torch_embers.sandbox import doctor, sandbox_rules
from torch_embers.sandbox import runner as runner_module
from torch_embers.sandbox.runner import Attempt, Runner, RunResult

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="module")
def runner() -> Iterator[Runner]:
    with Runner(Path(sys.executable), "hostile", doctor.prove(), preload=()) as runner:
        yield runner


def one(runner: Runner, code: str, **more: object) -> RunResult:
    return next(iter(runner.run([Attempt("key", code, "case.py", **more)])))  # type: ignore[arg-type]


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
    runner.close()
    others = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(2)]
    try:
        slow = ended(0.8, timeout=1.2)
        assert (slow.ended, slow.stdout) == ("exited", "done\n")
        assert slow.duration > 1.2
        assert slow.waited > 0.2 * slow.duration
        endless = ended(60, timeout=0.4)
        assert endless.ended == "timeout"
        assert endless.duration < 0.4 * sandbox_rules.load().limits.patience + 1
        assert one(runner, "import time; time.sleep(60)", timeout=0.5).duration < 1
    finally:
        for other in others:
            other.kill()
            other.wait()
        os.sched_setaffinity(0, processors)
        runner.close()


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
                stop.wait(0.01)

        thread = threading.Thread(target=kill_all)
        thread.start()
        result = one(runner, "import time; time.sleep(5)", timeout=20)
        stop.set()
        thread.join()
        assert result.ended == "sandbox_error"
        assert result.exit_code is None
        assert one(runner, "print(1)").stdout == "1\n"


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
    for moment in range(4):  # so many processes below the driver: from none to the zygote's
        driver = subprocess.Popen([sys.executable, "-c", code, mark], stdout=subprocess.PIPE, text=True)
        assert driver.stdout is not None
        assert driver.stdout.readline() == "starting\n"
        eventually(lambda driver=driver, moment=moment: len(runner_module.descendants(driver.pid)) >= moment)
        below = {pid: started(pid) for pid in runner_module.descendants(driver.pid)}
        driver.kill()
        driver.wait()
        driver.stdout.close()
        eventually(lambda below=below: not any(when and started(pid) == when for pid, when in below.items()), 20)


def started(pid: int) -> str:
    """When a process began; empty where it has ended."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    except OSError:
        return ""
    return "" if fields[0] == "Z" else fields[19]


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
    monkeypatch.setattr(sandbox_rules, "modules_for", lambda code, _torch: [name] if "please" in code else [])
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
