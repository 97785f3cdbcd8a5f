"""Hostile scripts in the sandbox: nothing escapes, nothing outlives, the harness goes on, the outcome says what happened."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from helpers import attacks
from helpers.attacks import Bait, bait, one, runner  # noqa: F401 - fixtures
from support import eventually, needs_bubblewrap
from torch_embers.sandbox import doctor
from torch_embers.sandbox.runner import Attempt, Runner

pytestmark = needs_bubblewrap


@pytest.mark.parametrize("path", attacks.ATTACKS, ids=lambda path: path.stem)
def test_an_attack_fails_and_the_next_run_is_good(path: Path, runner: Runner, bait: Bait) -> None:
    attacks.assert_attack_fails(runner, path, bait, fresh=False)


@pytest.mark.parametrize("name", attacks.LOOKING_FOR_TRACES)
def test_nothing_is_left_for_the_next_run(name: str, runner: Runner) -> None:
    attacks.assert_nothing_is_left(runner, name)


def test_no_text_and_no_output_of_another_run_is_in_memory(runner: Runner) -> None:
    marked = "text = 'REMAINS-OF-A-RUN-123456' * 50\nprint(text)\nraise SystemExit(text[:90])"
    code = attacks.CODE["remains_in_memory"]
    assert "REMAINS-OF-A-RUN-123456" in one(runner, code + f"\n{marked}", "REMAINS-OF-A-RUN-123456").stderr
    for _ in range(3):
        one(runner, marked, "REMAINS-OF-A-RUN-654321")
        result = one(runner, code)
        assert (result.exit_code, result.stdout) == (0, "nothing\n"), result.stderr


def test_memory_of_a_script_counts_once_while_it_starts_programs(runner: Runner) -> None:
    """Until a child has become the program it has the memory of its parent."""
    code = "import subprocess\nheld = bytearray(b'x') * (160 << 20)\nfor _ in range(300): subprocess.run(['/bin/true'])"
    result = one(runner, code)
    assert (result.ended, result.exit_code) == ("exited", 0), result.detail


def test_runs_at_the_same_time_cannot_find_each_other(runner: Runner) -> None:
    looking = """
import os, time
from pathlib import Path
Path("/tmp/shared").write_text("x"); Path("/dev/shm/shared").write_text("x")
end = time.monotonic() + 0.5
while time.monotonic() < end:
    seen = {int(path.name) for path in Path("/proc").iterdir() if path.name.isdigit()}
    assert seen <= {1, os.getpid()}, seen
    for pid in range(3, 200):
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            continue
        raise SystemExit(f"process {pid} can be signalled")
    assert len(list(Path("/tmp").glob("shared*"))) == 1
"""
    attempts = [Attempt(str(number), looking, "look.py") for number in range(4)]
    results = list(runner.run(attempts, jobs=2))
    assert {result.key for result in results} == {"0", "1", "2", "3"}
    assert [(result.ended, result.exit_code, result.stderr, result.repeated) for result in results] == [
        ("exited", 0, "", "")
    ] * 4
    assert len({result.zygote for result in results}) <= 2


def test_a_fork_bomb_does_not_take_processes_from_another_run(runner: Runner) -> None:
    bomb = attacks.CODE["fork_sleepers"]
    friend = """
import os, time
for _ in range(20):
    time.sleep(0.05)
    pid = os.fork()
    if pid == 0:
        os._exit(0)
    os.waitpid(pid, 0)
"""
    results = list(runner.run([Attempt("bomb", bomb, "bomb.py"), Attempt("friend", friend, "friend.py")], jobs=2))
    assert {result.key: result.exit_code for result in results}["friend"] == 0
    assert not any(result.repeated for result in results)


def test_escape_codes_and_hidden_text_are_written_out(runner: Runner) -> None:
    code = attacks.CODE["terminal_codes"]
    result = one(runner, code)
    assert "\\x1b]0;title\\x07" in result.stdout
    assert "\\u202e" in result.stdout
    assert "\\xff\\xfe\\x00not text" in result.stdout
    assert "\u202e" not in result.stdout


def test_the_sandbox_ends_with_its_driver(tmp_path: Path) -> None:
    """Kill the driver in the middle of a run: its whole tree of processes goes."""
    code = """
import sys, threading, time
from pathlib import Path
from torch_embers.sandbox import doctor
from torch_embers.sandbox.runner import Attempt, Runner
with Runner(Path(sys.executable), "hostile", doctor.prove(), preload=()) as runner:
    list(runner.run([Attempt("warm", "", "x.py")]))
    print(*runner.first_pids(), flush=True)
    list(runner.run([Attempt("long", "import time; time.sleep(600)", "x.py", timeout=900)]))
"""
    doctor.prove()
    driver = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert driver.stdout is not None
    first = int(driver.stdout.readline())
    os.kill(driver.pid, signal.SIGKILL)
    driver.wait()
    driver.stdout.close()
    eventually(lambda: not Path(f"/proc/{first}").exists(), 20)
