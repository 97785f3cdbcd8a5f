"""Builds: installed PyTorches that cases run on.

The registry is a folder with one sub-folder per build, each with a ``build.json``; it needs no database. A build is
what it says it is, not what it is called: version, commit, Python and platform as its own interpreter tells make its
identity, which is the key of runs and verdicts.
"""

from __future__ import annotations

import fcntl
import json
import os
import platform
import re
import shutil
import subprocess
import sys
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from packaging.version import InvalidVersion, Version
from pydantic import TypeAdapter

from torch_embers import folders, resources
from torch_embers.errors import InputError
from torch_embers.normalize import now_utc

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

CURRENT = "current"
"""Name of the torch in the environment that embers itself runs in."""
FILE = "build.json"
ENVIRONMENT = "venv"
LOCKS = ".locks"
FILE_LOCK = ".records"
"""Held while a record is changed; no build can have this name."""
PARTIAL = ".new-"
"""Prefix of folders that are still being made; whoever finds one of a dead process removes it."""
PATIENCE_SECONDS = 180
COMPILE_SECONDS = 600
LONGEST_ANSWER = 64 << 10
_NAME = re.compile(r"[\w][\w.+-]{0,60}")


class BuildError(InputError):
    """A build cannot be added, found or trusted."""


@dataclass(frozen=True, slots=True)
class Build:
    """One installed PyTorch.

    Attributes:
        name: what it is registered under.
        version: ``torch.__version__``, e.g. 2.13.0+cpu.
        git_commit: commit it was built from.
        channel: release, nightly or local.
        platform: operating system and machine, e.g. linux-x86_64.
        python: its interpreter.
        python_version: version of that interpreter.
        devices: devices it can use here.
        capability: CPU capability as torch names it.
        device_name: name of the accelerator, empty without one.
        driver: CUDA runtime or macOS version, empty without an accelerator.
        managed: whether embers installed it and may remove it.
        without_cuda: whether it is a CUDA build whose CUDA libraries embers left out: its CUDA calls fail.
        disk_bytes: room it takes; 0 where embers did not install it.
        used_at: when it was last used (UTC); the least recently used goes first.
        checked: result of each check, empty before the first.
    """

    name: str
    version: str
    git_commit: str
    channel: str
    platform: str
    python: Path
    python_version: str
    devices: tuple[str, ...] = ("cpu",)
    capability: str = ""
    device_name: str = ""
    driver: str = ""
    managed: bool = False
    without_cuda: bool = False
    disk_bytes: int = 0
    used_at: str = ""
    checked: tuple[tuple[str, str], ...] = ()

    @property
    def identity(self) -> str:
        """Key of runs and verdicts: what the build says of itself."""
        commit = self.git_commit[:10] or "unknown"
        return f"{self.version}@{commit}/py{'.'.join(self.python_version.split('.')[:2])}/{self.platform}"

    @property
    def public_version(self) -> str:
        """Version without its local part: 2.13.0."""
        return self.version.partition("+")[0]

    @property
    def broken(self) -> list[str]:
        """What the last check found wrong."""
        return [f"{what}: {result}" for what, result in self.checked if result != "ok"]

    def order(self) -> tuple[Version, str]:
        """Key that sorts builds by release."""
        try:
            return Version(self.version), self.name
        except InvalidVersion:
            return Version("0"), self.name


@cache
def _records() -> TypeAdapter[Build]:
    """Builds as JSON."""
    return TypeAdapter(Build)


# ---- asking an interpreter -----------------------------------------------------------------------------------------


def ask(python: Path, what: str, patience: float = PATIENCE_SECONDS) -> dict[str, Any]:
    """Let an interpreter answer ``identity`` or ``check`` of ``inside/facts.py``.

    Raises:
        BuildError: no such file, not Python, no torch, no answer in time, or an answer that makes no sense.
    """
    script = resources.package_file("sandbox", "inside", "facts.py")
    if not python.is_file() or not os.access(python, os.X_OK):
        raise BuildError(f"{python} is no program: give the path of a Python interpreter, e.g. DIR/bin/python")
    command = [str(python), "-I", "-W", "ignore", str(script), what]
    try:
        done = subprocess.run(
            command, capture_output=True, timeout=patience, check=False, stdin=subprocess.DEVNULL, env=_environment()
        )
    except subprocess.TimeoutExpired as error:
        raise BuildError(f"{python} gave no answer within {patience:g} s: run `{python} -c 'import torch'`") from error
    except OSError as error:
        raise BuildError(f"{python} cannot be run: {error.strerror or error}") from error
    answer = _last_json(done.stdout[-LONGEST_ANSWER:])
    if answer is None:
        raise BuildError(_why_no_answer(python, done.returncode, done.stderr))
    return answer


def _environment() -> dict[str, str]:
    """What an interpreter that is asked may know of ours."""
    return {"PATH": os.environ.get("PATH", ""), "HOME": os.environ.get("HOME", "/"), "LC_ALL": "C.UTF-8"}


def _last_json(output: bytes) -> dict[str, Any] | None:
    for line in reversed(output.decode("utf-8", "replace").splitlines()):
        with suppress(ValueError, RecursionError):
            answer = json.loads(line)
            if isinstance(answer, dict):
                return answer
    return None


def _why_no_answer(python: Path, code: int, errors: bytes) -> str:
    text = errors[-LONGEST_ANSWER:].decode("utf-8", "replace").strip()
    said = text.splitlines()[-1][:200] if text else f"exit {code}"
    if "No module named 'torch'" in text:
        return f"{python} has no torch: install one into its environment"
    if "Traceback" in text:
        return f"{python}: torch cannot be imported: {said}"
    return f"{python} does not answer like a Python interpreter ({said})"


def look(python: Path, name: str = "") -> Build:
    """Ask an interpreter which build it is.

    Raises:
        BuildError: see ``ask``.
    """
    answer = ask(python, "identity")
    try:
        version = str(answer["version"])
        Version(version)
        return Build(
            name=name or version.partition("+")[0],
            version=version,
            git_commit=re.sub(r"[^0-9a-f]", "", str(answer["git_commit"]).lower())[:40],
            channel="nightly" if ".dev" in version else "local" if "git" in version else "release",
            platform=str(answer["platform"])[:60],
            python=python.absolute(),  # not resolved: a venv is known by its symlink
            python_version=str(answer["python"])[:30],
            devices=tuple(str(d) for d in answer["devices"]),
            capability=str(answer.get("capability", ""))[:60],
            device_name=str(answer.get("device_name", ""))[:100],
            driver=str(answer.get("driver", ""))[:60],
        )
    except (KeyError, TypeError, InvalidVersion) as error:
        raise BuildError(f"{python} gives no usable answer about its torch: {error}") from error


def compile_ahead(build: Build) -> None:
    """Let the build's Python write the bytecode of its torch, once, where it lacks and may be written.

    A sandboxed run cannot write it. pip does this as it installs, uv does not: what torch imports late (its compiler)
    then takes 4.3 s of processor time instead of 1.5 in each zygote. A file that does not compile is left as it is.
    """
    script = resources.package_file("sandbox", "inside", "facts.py")
    command = [str(build.python), "-I", str(script), "compile"]
    with suppress(OSError, subprocess.TimeoutExpired):
        subprocess.run(
            command,
            capture_output=True,
            timeout=COMPILE_SECONDS,
            check=False,
            stdin=subprocess.DEVNULL,
            env=_environment(),
        )


# ---- the registry --------------------------------------------------------------------------------------------------


class Registry:
    """The builds of one folder.

    Args:
        folder: where they are kept; made when the first one is added.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def installed(self) -> list[Build]:
        """All builds in order of release; the torch of this environment among them, if there is one."""
        builds = [b for path in sorted(self.folder.glob(f"*/{FILE}")) if (b := self._read(path)) is not None]
        if not any(b.name == CURRENT for b in builds) and (own := self._current()) is not None:
            builds.append(own)
        return sorted(builds, key=Build.order)

    def find(self, wanted: str) -> Build:
        """One build by its name, its version, or the newest with that version.

        Raises:
            BuildError: there is none; the message names those there are.
        """
        known = self.installed()
        for chosen in (
            [b for b in known if b.name == wanted],
            [b for b in known if wanted in (b.version, b.public_version)],
            [b for b in known if b.identity == wanted],
        ):
            if chosen:
                return chosen[-1]
        names = ", ".join(b.name for b in known) or "none"
        raise BuildError(f"no build {wanted!r}: installed are {names} (`embers builds add {wanted}` adds one)")

    def register(self, python: Path, name: str = "", expected: str = "") -> Build:
        """Add an interpreter that is there already.

        Args:
            python: the interpreter.
            name: what to call it; its version where nothing is given.
            expected: the version it must say it has, if any.

        Raises:
            BuildError: it is not what it should be, or the name is taken by another.
        """
        build = look(python, name or expected)
        if expected and expected not in (build.version, build.public_version):
            raise BuildError(f"{python} is torch {build.version}, not {expected}: it was not registered")
        return self.save(build)

    def save(self, build: Build) -> Build:
        """Write a build into the registry, in one step.

        Raises:
            BuildError: the name is impossible, or is that of another build.
        """
        if not _NAME.fullmatch(build.name) or build.name == CURRENT:
            raise BuildError(f"{build.name!r} cannot be the name of a build: letters, digits, dots, dashes")
        known = self._read(self._path(build.name))
        if known is not None and known.identity != build.identity:
            raise BuildError(
                f"{build.name} is taken by {known.identity}: give another name with --name, or `embers builds remove "
                f"{build.name}` first"
            )
        return self._write(build)

    def check(self, build: Build) -> Build:
        """Run the checks of a build and remember what they found; a broken interpreter is a finding, too."""
        try:
            fresh = look(build.python, build.name)
            results = {k: str(v) for k, v in ask(build.python, "check").items()}
            if fresh.identity != build.identity:
                results["identity"] = f"changed: it is {fresh.identity} now"
        except BuildError as error:
            results = {"import": str(error)}
        return self._change(build, checked=tuple(sorted(results.items())))

    def remove(self, name: str) -> Build:
        """Forget a build, and delete it if embers installed it.

        Raises:
            BuildError: unknown, the current one, or in use.
        """
        build = self.find(name)
        if build.name == CURRENT:
            raise BuildError("the torch of this environment is always a build: it cannot be removed")
        with self.locked(build, exclusive=True):
            grave = self.folder / f"{PARTIAL}{build.name}-{os.getpid()}"
            (self.folder / build.name).rename(grave)
            shutil.rmtree(grave, ignore_errors=True)
        return build

    @contextmanager
    def using(self, build: Build) -> Iterator[Build]:
        """Hold a build while the block runs, so that nobody removes it; makes sure that it still is what it was.

        Raises:
            BuildError: it is being removed, is gone, or has become another build.
        """
        with self.locked(build, exclusive=False):
            fresh = look(build.python, build.name)
            if fresh.identity != build.identity:
                raise BuildError(
                    f"build {build.name} was {build.identity} and is {fresh.identity} now: "
                    f"`embers builds remove {build.name}`, then add it again"
                )
            self._change(build, used_at=now_utc())
            yield build

    @contextmanager
    def locked(self, build: Build, *, exclusive: bool) -> Iterator[None]:
        """Hold the lock of a build: shared to use it, exclusive to remove it."""
        home = self.folder / LOCKS
        home.mkdir(parents=True, exist_ok=True)
        with (home / build.name).open("a") as file:
            try:
                fcntl.flock(file, (fcntl.LOCK_EX if exclusive else fcntl.LOCK_SH) | fcntl.LOCK_NB)
            except OSError as error:
                raise BuildError(
                    f"build {build.name} is in use by another embers: try again when it is done"
                ) from error
            yield

    def evict(self, cap: int, room: int = 0) -> list[Build]:
        """Remove the least recently used installed builds until ``room`` more bytes fit under ``cap``; say which."""
        managed = sorted((b for b in self.installed() if b.managed), key=lambda b: b.used_at)
        used = sum(b.disk_bytes for b in managed)
        gone = []
        for build in managed:
            if used + room <= cap:
                break
            with suppress(BuildError):
                self.remove(build.name)
                gone.append(build)
                used -= build.disk_bytes
        return gone

    def _change(self, build: Build, **fields: Any) -> Build:
        """Change fields of a kept build alone: others may change the rest meanwhile. One that is gone stays gone."""
        (self.folder / LOCKS).mkdir(parents=True, exist_ok=True)
        with (self.folder / LOCKS / FILE_LOCK).open("a") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            known = self._read(self._path(build.name))
            return replace(build, **fields) if known is None else self._write(replace(known, **fields))

    def _path(self, name: str) -> Path:
        return self.folder / f".{CURRENT}.json" if name == CURRENT else self.folder / name / FILE

    def _read(self, path: Path) -> Build | None:
        try:
            return _records().validate_json(path.read_bytes())
        except (OSError, ValueError):
            return None

    def _write(self, build: Build) -> Build:
        folders.write(self._path(build.name), _records().dump_json(build, indent=1))
        return build

    def _current(self) -> Build | None:
        """The torch of this environment; asked once, until its files change."""
        stamp = _own_torch()
        if stamp is None:
            return None
        kept = self.folder / f".{CURRENT}.stamp"
        known = self._read(self._path(CURRENT))
        with suppress(OSError):
            if known is not None and kept.read_text(encoding="utf-8") == stamp:
                return known
        try:
            build = replace(look(Path(sys.executable)), name=CURRENT)
        except BuildError:
            return None
        with suppress(OSError, InputError):
            self._write(build)
            kept.write_text(stamp, encoding="utf-8")
        return build


def _own_torch() -> str | None:
    """What tells whether the torch of this environment is still the same; None without one."""
    from importlib.util import find_spec

    spec = find_spec("torch")
    if spec is None or spec.origin is None:
        return None
    place = Path(spec.origin)
    return f"{sys.executable} {place} {(place.parent / 'version.py').stat().st_mtime_ns}"


def machine_here() -> tuple[str, str]:
    """System and processor of this machine, as environments have them.

    The kernel's release is no part of them: it changes with each update, and runs keep it (``runs.kernel``).
    """
    return platform.system(), processor_of(_cpuinfo()) or platform.processor() or platform.machine()


def environment_of(build: Build, threads: int = 1) -> Mapping[str, object]:
    """Where runs of a build are made, as the columns of the table ``environments`` (without its key).

    What a build can use (devices, CPU capability) depends on the machine.
    """
    system, processor = machine_here()
    return {
        "device": next((d for d in build.devices if d != "cpu"), "cpu"),
        "device_name": build.device_name or None,
        "driver": build.driver or None,
        "system": system,
        "processor": processor,
        "capability": build.capability or None,
        "threads": threads,
    }


def environment_key(columns: Iterable[tuple[str, object]]) -> str:
    """Key of an environment: a hash of its columns, 16 hexadecimal digits."""
    text = "\n".join(f"{name}={'' if value is None else value}" for name, value in sorted(columns))
    return sha256(text.encode()).hexdigest()[:16]


def environment_text(columns: Mapping[str, object]) -> str:
    """An environment in one line, as verdicts/matrix.sql has it: device, processor and vendor, capability, system."""
    return ", ".join(str(columns[name]) for name in ("device", "processor", "capability", "system") if columns[name])


def processor_of(facts: str) -> str:
    """Model of the processor from the text of /proc/cpuinfo, with its vendor; empty where it names none.

    Another vendor's kernels may round otherwise or take other paths; virtual machines often hide the model.
    """
    named = {key.strip(): value.strip() for key, _, value in (line.partition(":") for line in facts.splitlines())}
    model, vendor = named.get("model name", ""), named.get("vendor_id", "")
    vendor = {"AuthenticAMD": "AMD", "GenuineIntel": "Intel"}.get(vendor, vendor)
    return model if vendor.lower() in model.lower() else f"{vendor} {model}".strip()


CAPABILITIES = {
    "AVX512": frozenset({"avx512f", "avx512vl", "avx512bw", "avx512dq", "fma"}),
    "AVX2": frozenset({"avx2", "fma"}),
}
"""Flags of the processor that torch asks for, by its name for them (aten/src/ATen/cpu/Utils), the most first."""


def cpu_here(threads: int) -> Mapping[str, object]:
    """Where scripts run that see no accelerator, as ``environment_of``: alike for all builds of this machine.

    The capability is that of the processor; a build that uses less of it is no other environment.
    """
    system, processor = machine_here()
    flags = set(_cpuinfo().split())
    capability = next((name for name, asked in CAPABILITIES.items() if asked <= flags), None)
    own = {"system": system, "processor": processor, "capability": capability, "threads": threads}
    return {"device": "cpu", "device_name": None, "driver": None, **own}


def _cpuinfo() -> str:
    """What Linux says of the processor; empty elsewhere."""
    with suppress(OSError):
        return Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
    return ""
