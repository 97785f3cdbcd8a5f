"""Hostile scripts in the sandbox: nothing escapes, nothing outlives, the harness goes on, the outcome says what happened.

Each file in ``attacks/`` is one attack. Where an attack must not succeed, the script itself finds out and exits 1; the
last line of its docstring names how its run ends.
"""

from __future__ import annotations

import json
import os
import re
import secrets
import socket
import subprocess
import sys
import time
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import pytest

from torch_embers import resources
from torch_embers.sandbox import doctor, program
from torch_embers.sandbox.runner import Attempt, Runner, RunResult

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

ATTACKS = sorted((Path(__file__).parents[1] / "attacks").glob("*.py"))
ENDS = re.compile(
    r"^Ends: (?P<how>\w+(?: or \w+)?)(?: (?P<code>\d+))?(?: within (?P<timeout>\d+) s)?(?P<slow> \(slow\))?\.$", re.M
)
MEMORY = 256 << 20
ORDINARY = 65534
"""User and group that own nothing."""

pytestmark = [
    pytest.mark.skipif(program.find() is None, reason="bubblewrap is not installed"),
]


@dataclass(frozen=True)
class Bait:
    """What the attacks look for."""

    port: int
    socket: str
    abstract: str
    value: str
    secrets: tuple[str, ...]
    database: str

    def untouched(self) -> bool:
        return all(Path(path).read_text(encoding="ascii") == self.value for path in (*self.secrets, self.database))


@pytest.fixture(scope="module")
def bait(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bait]:
    folder = tmp_path_factory.mktemp("bait")
    value = secrets.token_hex(16)
    (folder / "secret").write_text(value, encoding="ascii")
    (folder / "embers.duckdb").write_text(value, encoding="ascii")
    with ExitStack() as stack, pytest.MonkeyPatch.context() as patch:
        patch.setenv("GITHUB_TOKEN", value)
        patch.setenv("EMBERS_TOKENS", value)
        server = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        for address in (str(folder / "s"), "\0" + value):
            listening = stack.enter_context(socket.socket(socket.AF_UNIX))
            listening.bind(address)
            listening.listen()
        yield Bait(
            port=server.getsockname()[1],
            socket=str(folder / "s"),
            abstract=value,
            value=value,
            secrets=(str(folder / "secret"),),
            database=str(folder / "embers.duckdb"),
        )


class Attacked(Protocol):
    """Runs attacks."""

    def run(self, attempts: Sequence[Attempt], jobs: int = 1) -> Iterator[RunResult]: ...

    def left_alive(self) -> list[int]: ...


@pytest.fixture(scope="module")
def runner(bait: Bait) -> Iterator[Runner]:
    """As this user."""
    assert doctor.prove().complete, doctor.prove().missing
    with Runner(Path(sys.executable), "hostile", doctor.prove(), preload=()) as runner:
        yield runner


class OrdinaryUser:
    """The same in a process of an ordinary user, where this one is root's: with the system's Python, for all can read it."""

    def __init__(self, home: Path) -> None:
        packages = next(path for path in sys.path if path.endswith("site-packages"))
        source = Path(resources.__file__).parents[1]
        home.chmod(0o711)
        (home / "own").mkdir()
        os.chown(home / "own", ORDINARY, ORDINARY)
        self._left: list[int] = []
        self._process = subprocess.Popen(
            ["/usr/bin/python3", str(Path(__file__).parents[1] / "hostile_user.py")],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            user=ORDINARY,
            group=ORDINARY,
            extra_groups=[],
            env={**os.environ, "HOME": str(home / "own"), "XDG_CACHE_HOME": str(home / "own"), "PYTHONPATH": f"{source}:{packages}"},
            cwd="/",
        )  # fmt: skip
        missing = json.loads(self._answer() or '"it did not start"')
        assert missing == {}, missing

    def _answer(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline()

    def run(self, attempts: Sequence[Attempt], jobs: int = 1) -> Iterator[RunResult]:
        """One after the other."""
        assert jobs == 1
        for attempt in attempts:
            assert self._process.stdin is not None
            self._process.stdin.write(json.dumps(asdict(attempt)) + "\n")
            self._process.stdin.flush()
            answer = json.loads(self._answer())
            self._left = answer.pop("left")
            yield RunResult(**{**answer, "guarantees": tuple(answer["guarantees"])})

    def left_alive(self) -> list[int]:
        """After the last run."""
        return self._left

    def close(self) -> None:
        """End it."""
        self._process.communicate()


@pytest.fixture(scope="module")
def ordinary(bait: Bait, tmp_path_factory: pytest.TempPathFactory) -> Iterator[OrdinaryUser]:
    """As an ordinary user."""
    if os.geteuid() != 0:
        pytest.skip("this is an ordinary user")
    version = subprocess.run(["/usr/bin/python3", "-V"], capture_output=True, text=True, check=False).stdout
    if not version.startswith(f"Python {sys.version_info[0]}.{sys.version_info[1]}."):
        pytest.skip("needs a system Python of this version")
    for folder in Path(resources.__file__).resolve().parents:
        if folder.stat().st_mode & 0o005 != 0o005:
            pytest.skip(f"{folder} is closed to ordinary users")
    user = OrdinaryUser(tmp_path_factory.mktemp("user"))
    yield user
    user.close()


def cases() -> list[object]:
    found = []
    for path in ATTACKS:
        ends = ENDS.search(path.read_text(encoding="utf-8"))
        assert ends is not None, f"{path.name} does not say how it ends"
        marks = [pytest.mark.slow] if ends["slow"] else []
        found += [
            pytest.param(
                user, path, ends, fresh, id=f"{path.stem}-{'fresh' if fresh else 'zygote'}-{user}", marks=marks
            )
            for user in ("runner", "ordinary")
            for fresh in (False, True)
        ]
    return found


def one(runner: Attacked, code: str, *arguments: str, fresh: bool = False, timeout: float = 60.0) -> RunResult:
    attempt = Attempt("key", code, "attack.py", arguments, timeout=timeout, memory=MEMORY, fresh=fresh)
    result = next(iter(runner.run([attempt])))
    assert not result.repeated, f"the sandbox broke: {result.repeated}"
    return result


@pytest.mark.parametrize(("user", "path", "ends", "fresh"), cases())
def test_an_attack_fails_and_the_next_run_is_good(
    user: str, path: Path, ends: re.Match[str], fresh: bool, bait: Bait, request: pytest.FixtureRequest
) -> None:
    runner: Attacked = request.getfixturevalue(user)
    arguments = json.dumps({name: getattr(bait, name) for name in Bait.__dataclass_fields__})
    timeout = float(ends["timeout"] or 60)
    result = one(runner, path.read_text(encoding="utf-8"), arguments, fresh=fresh, timeout=timeout)

    said = f"{result.ended}, {result.detail}: {result.stdout[-500:]} {result.stderr[-500:]}"
    assert result.ended in ends["how"].split(" or "), said
    wanted = int(ends["code"]) if ends["code"] else None
    if ends["how"] == "exited":
        assert result.exit_code == wanted, said
    elif ends["how"] == "signalled":
        assert result.signal == wanted, said
    assert bait.untouched()
    assert runner.left_alive() == []
    assert "\x1b" not in result.stdout + result.stderr
    assert result.guarantees == doctor.GUARANTEES

    good = one(runner, "print('fine')", fresh=fresh)
    assert (good.ended, good.exit_code, good.stdout, good.stderr) == ("exited", 0, "fine\n", "")


@pytest.mark.parametrize("user", ["runner", "ordinary"])
@pytest.mark.parametrize("name", ["read_other_runs", "system_objects", "ports_of_others", "terminals"])
def test_nothing_is_left_for_the_next_run(name: str, user: str, request: pytest.FixtureRequest) -> None:
    runner: Attacked = request.getfixturevalue(user)
    code = (Path(__file__).parents[1] / "attacks" / f"{name}.py").read_text(encoding="utf-8")
    for fresh in (False, True, False, True):
        result = one(runner, code, fresh=fresh)
        assert result.exit_code == 0, result.stderr


def test_no_text_and_no_output_of_another_run_is_in_memory(runner: Runner) -> None:
    marked = "text = 'REMAINS-OF-A-RUN-123456' * 50\nprint(text)\nraise SystemExit(text[:90])"
    code = (Path(__file__).parents[1] / "attacks" / "remains_in_memory.py").read_text(encoding="utf-8")
    assert "REMAINS-OF-A-RUN-123456" in one(runner, code + f"\n{marked}", "REMAINS-OF-A-RUN-123456").stderr
    for _ in range(3):
        one(runner, marked, "REMAINS-OF-A-RUN-654321")
        result = one(runner, code)
        assert (result.exit_code, result.stdout) == (0, "nothing\n"), result.stderr


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
    bomb = (Path(__file__).parents[1] / "attacks" / "fork_sleepers.py").read_text(encoding="utf-8")
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
    code = (Path(__file__).parents[1] / "attacks" / "terminal_codes.py").read_text(encoding="utf-8")
    result = one(runner, code)
    assert "\\x1b]0;title\\x07" in result.stdout
    assert "\\u202e" in result.stdout
    assert "\\xff\\xfe\\x00not text" in result.stdout
    assert "\u202e" not in result.stdout


def test_the_sandbox_ends_with_its_driver(tmp_path: Path) -> None:
    """Kill the driver in the middle of a run: its whole tree of processes goes."""
    import signal

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
    for _ in range(400):
        if not Path(f"/proc/{first}").exists():
            return
        time.sleep(0.05)
    pytest.fail("the sandbox lives on")
