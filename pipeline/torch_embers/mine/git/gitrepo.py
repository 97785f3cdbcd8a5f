"""Queries to a local clone that never run a program the clone names.

A clone is untrusted: its configuration can name programs (hooks, text converters, diff drivers, monitors,
signature checkers, transports). ``Clone`` disables them for every git command, reads no configuration but the
clone's own, and cannot prompt, page or reach the network.

Objects are read through an empty repository of its own that borrows the clone's objects. There the clone is no partial
clone, so git takes a missing object for missing instead of fetching it; older releases of git know no other way.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, TYPE_CHECKING

from torch_embers.errors import InputError
from torch_embers.normalize import clean_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_SETTINGS = (
    # setting on the command line (it outranks the clone's own), and what it disables
    "core.fsmonitor=false",  # a program asked for changed files
    "core.hooksPath=/dev/null",  # programs run on events
    "core.attributesFile=/dev/null",  # names diff drivers for paths
    "log.showSignature=false",  # runs gpg.program on each commit
    "log.mailmap=false",  # would rewrite authors by a file of the user's
    "log.showRoot=true",  # else the first commit has no files
    "protocol.allow=never",  # a partial clone fetches missing objects
    "gc.auto=0",
    "maintenance.auto=false",
)
_ENVIRONMENT = {
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_NO_REPLACE_OBJECTS": "1",  # history as it is, not as local notes redraw it
    "GIT_GRAFT_FILE": os.devnull,
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_ALLOW_PROTOCOL": "none",  # no protocol has this name; outranks protocol.*.allow of the clone
    "GIT_PAGER": "cat",
    "LC_ALL": "C",
    "TZ": "UTC",
}
_MISSING_OBJECT = (
    *("unable to read", "bad object", "could not read", "missing object", "bad tree object", "invalid object"),
    *("revision walk setup failed", "failed to traverse"),
)


class MissingObjectError(InputError):
    """The clone lacks an object that a command needs."""


def path_text(raw: bytes) -> str:
    """Decode a file name; bytes that are no UTF-8 stay visible, so that two names never become one."""
    return clean_text(raw.decode("utf-8", "backslashreplace"))


def moment(seconds: bytes) -> str | None:
    """Time of git (seconds since 1970) as ISO text in UTC; ``None`` where it is none."""
    try:
        return datetime.fromtimestamp(int(seconds), UTC).strftime("%Y-%m-%dT%H:%M:%SZ").rjust(20, "0")
    except (ValueError, OverflowError, OSError):
        return None


class Clone:
    """A local clone or bare repository, opened for reading."""

    def __init__(self, path: Path) -> None:
        """Check that there is a repository at ``path`` itself, not merely in a folder above.

        Raises:
            InputError: git is missing, there is no repository, or it is a shallow clone.
        """
        self.path = path.expanduser().resolve()
        program = shutil.which("git")
        if program is None:
            raise InputError("git is not installed (or not on PATH): install git to read a local clone")
        if not self.path.is_dir():
            raise InputError(f"{path}: no such folder; pass the folder of a local clone")
        self._command = [program, "--no-pager", "--no-optional-locks", "-C", str(self.path)]
        for setting in (f"safe.directory={self.path}", *_SETTINGS):
            self._command += ["-c", setting]
        self._environment = _ENVIRONMENT | {
            "PATH": os.environ.get("PATH", os.defpath),
            "HOME": os.devnull,
            "GIT_CEILING_DIRECTORIES": str(self.path.parent),
        }
        if self.ask("rev-parse", "--is-shallow-repository").strip() == b"true":
            raise InputError(f"{self.path} is a shallow clone: complete it first with `git fetch --unshallow`")
        self._borrowing = self._borrow()

    def _borrow(self) -> dict[str, str]:
        """Make the empty repository; it lives as long as this object."""
        objects = os.fsdecode(self.ask("rev-parse", "--git-path", "objects").rstrip(b"\n"))
        form = self.ask("rev-parse", "--show-object-format").decode().strip()
        self._folder = tempfile.TemporaryDirectory(prefix="embers-git-")
        folder = Path(self._folder.name)
        (folder / "refs").mkdir()
        (folder / "HEAD").write_text("ref: refs/heads/none\n", encoding="ascii")
        version, extension = (1, f"[extensions]\nobjectFormat = {form}\n") if form != "sha1" else (0, "")
        config = f"[core]\nbare = true\nrepositoryFormatVersion = {version}\n{extension}"
        (folder / "config").write_text(config, encoding="ascii")
        return self._environment | {"GIT_DIR": str(folder), "GIT_OBJECT_DIRECTORY": str(self.path / objects)}

    def ask(self, *arguments: str, lines: Iterable[str] = ()) -> bytes:
        """Run one git command about the clone itself (its refs, its form); return its standard output.

        Raises:
            InputError: git failed; the message says what to do where that is known.
        """
        return self._run(self._environment, arguments, lines)

    def run(self, *arguments: str, lines: Iterable[str] = ()) -> bytes:
        """Run one git command about objects, with ``lines`` on its standard input; return its standard output.

        Raises:
            MissingObjectError: the clone lacks an object that the command needs.
            InputError: git failed; the message says what to do where that is known.
        """
        return self._run(self._borrowing, arguments, lines)

    def _run(self, environment: dict[str, str], arguments: tuple[str, ...], lines: Iterable[str]) -> bytes:
        text = "".join(f"{line}\n" for line in lines).encode()
        done = subprocess.run(
            [*self._command, *arguments], input=text, capture_output=True, env=environment, check=False
        )
        if done.returncode:
            raise self._failure(arguments[0], done.stderr)
        return done.stdout

    @contextmanager
    def stream(self, *arguments: str, lines: Iterable[str]) -> Iterator[IO[bytes]]:
        """Run one git command and give its standard output while it runs.

        Input and error output go through files, so that no full pipe can make both sides wait.

        Raises:
            InputError: git failed, seen when the block ends.
        """
        with tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as errors:
            given.writelines(f"{line}\n".encode() for line in lines)
            given.seek(0)
            process = subprocess.Popen(
                [*self._command, *arguments], stdin=given, stdout=subprocess.PIPE, stderr=errors, env=self._borrowing
            )
            try:
                if process.stdout is not None:
                    with process.stdout as output:
                        yield output
            except BaseException:
                process.kill()
                raise
            finally:
                code = process.wait()
            if code:
                errors.seek(0)
                raise self._failure(arguments[0], errors.read())

    def _failure(self, command: str, stderr: bytes) -> InputError:
        text = clean_text(stderr.decode("utf-8", "replace")).strip()
        if "not a git repository" in text:
            return InputError(f"{self.path} is not a git repository: pass the top folder of a local clone")
        if "dubious ownership" in text:
            return InputError(
                f"{self.path} belongs to another user: run `git config --global --add safe.directory {self.path}`"
            )
        last = next((line for line in reversed(text.splitlines()) if "fatal:" in line), text[-300:])
        if any(mark in text.lower() for mark in _MISSING_OBJECT):
            return MissingObjectError(
                f"{self.path}: objects that the history itself consists of are missing ({last}): "
                "run `git fsck`, then fetch or clone again"
            )
        return InputError(f"git {command} failed in {self.path}: {last or 'no message'}")
