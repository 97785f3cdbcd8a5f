"""Attacks on the sandbox, run as root or as an ordinary user, in a fork or in a fresh process, with bait to be found.

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
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import pytest

from torch_embers import resources
from torch_embers.sandbox import doctor
from torch_embers.sandbox.runner import Attempt, Runner, RunResult

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

ATTACKS = sorted((Path(__file__).parents[1] / "attacks").glob("*.py"))
CODE = {path.stem: path.read_text(encoding="utf-8") for path in ATTACKS}
LOOKING_FOR_TRACES = ("read_other_runs", "system_objects", "ports_of_others", "terminals")
ENDS = re.compile(
    r"^Ends: (?P<how>\w+(?: or \w+)?)(?: (?P<code>\d+))?(?: within (?P<timeout>\d+) s)?(?P<slow> \(slow\))?\.$", re.M
)
MEMORY = 256 << 20
ORDINARY = 65534
"""User and group that own nothing."""


@dataclass(frozen=True)
class Bait:
    """What the attacks look for."""

    port: int
    socket: str
    abstract: str
    value: str
    secrets: tuple[str, ...]
    database: str
    locked: tuple[str, ...]

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
            locked=doctor._locked(stack),
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


def declared_end(path: Path) -> re.Match[str]:
    """How an attack says that its run ends."""
    ends = ENDS.search(path.read_text(encoding="utf-8"))
    assert ends is not None, f"{path.name} does not say how it ends"
    return ends


def one(runner: Attacked, code: str, *arguments: str, fresh: bool = False, timeout: float = 60.0) -> RunResult:
    attempt = Attempt("key", code, "attack.py", arguments, timeout=timeout, memory=MEMORY, fresh=fresh)
    result = next(iter(runner.run([attempt])))
    assert not result.repeated, f"the sandbox broke: {result.repeated}"
    return result


def assert_nothing_is_left(runner: Attacked, name: str) -> None:
    """Run an attack that looks for traces of other runs again and again."""
    for fresh in (False, True, False, True):
        result = one(runner, CODE[name], fresh=fresh)
        assert result.exit_code == 0, result.stderr


def assert_attack_fails(runner: Attacked, path: Path, bait: Bait, *, fresh: bool) -> None:
    """Run an attack: it ends as declared, finds no bait, leaves nothing alive, and the next run is good."""
    ends = declared_end(path)
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
    assert {name.partition(" ")[0] for name in result.guarantees} == set(doctor.GUARANTEES)

    good = one(runner, "print('fine')", fresh=fresh)
    assert (good.ended, good.exit_code, good.stdout, good.stderr) == ("exited", 0, "fine\n", "")
