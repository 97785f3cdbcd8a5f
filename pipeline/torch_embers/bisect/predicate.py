"""A user's command as the question of a bisection, run with the user's own rights as `git bisect run` would."""

from __future__ import annotations

import os
import shlex
from hashlib import file_digest
from pathlib import Path
from typing import TYPE_CHECKING

from torch_embers.bisect.measuring import exit_observation, no_end
from torch_embers.errors import InputError
from torch_embers.oracles import bounded
from torch_embers.verdicts.verdict import Observation, last_line

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from torch_embers.bisect.request import Hang
    from torch_embers.builds.registry import Build, Registry

ABORTS = 128
"""`git bisect run` stops at this exit code and above."""


def predicate_runs(
    command: str, registry: Registry, *, timeout: float, hang_is: Hang
) -> Callable[[Build, int], Iterator[Observation]]:
    """Runs of a command with the user's own rights.

    It finds the interpreter of the build in ``EMBERS_PYTHON`` and its version in ``EMBERS_VERSION``; ``{python}`` and
    ``{version}`` in its words stand for the same.

    Raises:
        InputError: the command is empty or its quotes do not close.
    """
    words = words_of(command)

    def runs(build: Build, count: int) -> Iterator[Observation]:
        python, version = str(build.python), build.public_version
        call = [word.replace("{python}", python).replace("{version}", version) for word in words]
        environment = os.environ | {"EMBERS_PYTHON": python, "EMBERS_VERSION": version}
        with registry.using(build):
            for number in range(count):
                yield _predicate_run(call, environment | {"EMBERS_SEED": str(number)}, timeout, hang_is)

    return runs


def words_of(command: str) -> list[str]:
    """The words of a command, split as a shell does.

    Raises:
        InputError: there is none, or its quotes do not close.
    """
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise InputError(f"--predicate {command}: {error}: quote it as a shell would") from error
    if not words:
        raise InputError("--predicate is empty: give a command, such as 'python check.py' or '{python} check.py'")
    return words


def identity_of(command: str) -> tuple[str, list[str]]:
    """What decides what a command does, as far as it can be seen: the folder it runs in, and its words that are files.

    Raises:
        InputError: as of ``words_of``, or a file cannot be read.
    """
    digests = []
    for path in map(Path, words_of(command)):
        try:
            if path.is_file():
                with path.open("rb") as file:
                    digests.append(file_digest(file, "sha256").hexdigest())
        except OSError as error:
            raise InputError(f"--predicate {path}: {error.strerror or error}: give a file that can be read") from error
    return str(Path.cwd()), digests


def _predicate_run(call: Sequence[str], environment: dict[str, str], timeout: float, hang_is: Hang) -> Observation:
    try:
        ended = bounded.run(call, timeout, env=environment)
    except OSError as error:
        what = f"--predicate {call[0]}: {error.strerror or error}"
        raise InputError(f"{what}: give a program that can be run") from error
    if ended.code is None:
        return no_end(f"no end within {timeout:g} s", hang_is)
    if ended.code < 0 or ended.code >= ABORTS:
        how = ended.code if ended.code >= 0 else f"signal {-ended.code}"
        raise InputError(
            f"--predicate ended with {how}: 128 and above stop a bisection, as in `git bisect run`; let it end with 1 "
            "where that is the bug, with 125 where it cannot be tested"
        )
    return exit_observation(ended.code, last_line(ended.err) or last_line(ended.out))
