"""Installs builds: isolated environments, made aside and moved into place when they work.

An environment is made in a folder whose name starts with ``.new-`` and renamed as the last step, so that a kill leaves
nothing that counts as a build; what dead processes left is removed by the next installation. CPU builds where they can
be had; else CUDA builds without NVIDIA's libraries (``stubs.py``), unless the user asks for these several GB.
"""

from __future__ import annotations

import json
import os
import platform
import re
import shutil
import subprocess
import sys
import urllib.error
import urllib.request
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.version import InvalidVersion, Version
from pydantic import Field

from torch_embers import folders
from torch_embers.builds import pins, stubs
from torch_embers.builds.registry import ENVIRONMENT, PARTIAL, Build, BuildError, Registry, compile_ahead, look
from torch_embers.console import size_text
from torch_embers.toml_models import Entry, load

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch_embers.progress import Progress
    from torch_embers.settings import Settings

FILE = "builds.toml"
NIGHTLY = "nightly"
GB = 1_000_000_000
INSTALL_SECONDS = 3_600


class _Index(Entry):
    cpu: str
    nightly: str
    patience_seconds: float
    reason: str = Field(min_length=1)


class _Companion(Entry):
    torch: str
    packages: tuple[str, ...]
    reason: str = Field(min_length=1)


class _Rules(Entry):
    """``data/builds.toml``: where torch is taken from, what is installed beside it, and which wheels are known."""

    index: _Index
    companions: tuple[_Companion, ...] = Field(alias="companion")
    pinned: pins.Pinned


@cache
def _rules() -> _Rules:
    return load(_Rules, FILE)


@dataclass(frozen=True, slots=True)
class PipInstall:
    """What to hand to pip or uv.

    Attributes:
        requirement: torch as pip wants it.
        index: index to take torch from; None for the configured one.
        pre: whether pre-releases count.
        instead: what is installed instead of all that it needs: its CUDA libraries are left out; None for all of it.
    """

    requirement: str
    index: str | None
    pre: bool = False
    instead: tuple[str, ...] | None = None


def add(
    wanted: Settings,
    *,
    version: str | None,
    python: Path | None,
    wheel: Path | None,
    name: str,
    allow_cuda_packages: bool,
    progress: Progress,
) -> Build:
    """Register an interpreter, or install a release, a nightly or a wheel.

    Raises:
        BuildError: nothing to add, not what it should be, not reachable, not installable, no room.
    """
    registry = Registry(wanted.builds_dir)
    if python is not None:
        if wheel is not None:
            raise BuildError("--python registers what is there, --wheel installs: give one of them")
        build = registry.register(python, name, version or "")
        progress.said("compiling torch's Python files where they are not (once, up to a minute)")
        compile_ahead(build)
        return build
    if version is None and wheel is None:
        raise BuildError("nothing to add: name a version such as 2.5.1 or nightly, or give --python or --wheel")
    chosen = _of_wheel(wheel) if wheel is not None else _of_version(version or "", progress, cuda=allow_cuda_packages)
    if wheel is not None and version is not None:
        progress.said(f"version {version} is checked against what the wheel says")
    cap = int(wanted.builds_cap * GB)
    for gone in registry.evict(cap, room=GB):
        progress.said(f"removed {gone.name}, the least recently used, to keep within {wanted.builds_cap:g} GB")
    expected = version if version not in (None, NIGHTLY) else ""
    return _install(registry, chosen, name, expected or "", progress)


def known_releases() -> list[str]:
    """Releases whose wheels are known here."""
    return sorted({name.split("-")[1] for name in _rules().pinned.sha256 if name.startswith("torch-")})


def nightly_index() -> str:
    """Address of PyTorch's index of nightlies."""
    return _rules().index.nightly


def add_for(wanted: Settings, version: str, addresses: Sequence[str], index: str, progress: Progress) -> Build:
    """Install a release, or a nightly from its wheel, for a search that needs it.

    Args:
        wanted: the settings.
        version: the public version.
        addresses: where the wheel may be: a file, or addresses of which the first that answers counts; none for a
            release.
        index: of nightlies, for what the wheel needs.
        progress: is told.

    Raises:
        BuildError: see ``add``, or no address answers.
    """
    wheel = next((Path(address) for address in addresses if Path(address).is_file()), None)
    if addresses and wheel is None:
        registry = Registry(wanted.builds_dir)
        registry.evict(int(wanted.builds_cap * GB), room=GB)
        plan = PipInstall(f"torch @ {_first_that_answers(addresses)}", index, pre=True)
        return _install(registry, plan, version, version, progress)
    return add(
        wanted,
        version=None if wheel else version,
        python=None,
        wheel=wheel,
        name=version,
        allow_cuda_packages=False,
        progress=progress,
    )


def _first_that_answers(addresses: Sequence[str]) -> str:
    patience = _rules().index.patience_seconds
    for address in addresses:
        if _answers(urllib.request.Request(address, method="HEAD"), patience):  # noqa: S310
            return address
    raise BuildError(f"no wheel at {' nor at '.join(addresses)}")


# ---- what to install -----------------------------------------------------------------------------------------------


def _of_wheel(wheel: Path) -> PipInstall:
    if not wheel.is_file():
        raise BuildError(f"{wheel}: no such file")
    if not re.fullmatch(r"torch-[^-]+(-\d[^-]*)?-[^-]+-[^-]+-[^-]+\.whl", wheel.name):
        raise BuildError(f"{wheel.name} is no wheel of torch: its name must be torch-VERSION-PYTHON-ABI-PLATFORM.whl")
    return PipInstall(str(wheel.absolute()), None)


def _of_version(version: str, progress: Progress, *, cuda: bool) -> PipInstall:
    index = _rules().index
    if version == NIGHTLY:
        if not _answers(f"{index.nightly}/torch/", index.patience_seconds):
            raise BuildError("PyTorch's index of nightlies does not answer: download a wheel and give it with --wheel")
        return PipInstall("torch", index.nightly, pre=True)
    try:
        Version(version)
    except InvalidVersion as error:
        raise BuildError(f"{version!r} is no version: use one such as 2.5.1, or nightly") from error
    if _answers(f"{index.cpu}/torch/", index.patience_seconds):
        return PipInstall(f"torch=={version}", index.cpu)
    progress.said("PyTorch's CPU index does not answer: looking where pip looks")
    return PipInstall(f"torch=={version}", None) if cuda else _where_pip_looks(version, progress)


def _answers(page: str | urllib.request.Request, patience: float) -> bool:
    try:
        with urllib.request.urlopen(page, timeout=patience) as answer:  # noqa: S310
            return bool(answer.status == 200)
    except (OSError, urllib.error.URLError, ValueError):
        return False


def _where_pip_looks(version: str, progress: Progress) -> PipInstall:
    """The build that pip finds, without its CUDA packages; pip can tell what it needs without downloading it.

    Raises:
        BuildError: there is no such version, or its CUDA libraries cannot be left out here.
    """
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", "install", "--quiet", "--dry-run"]
    command += ["--ignore-installed", "--no-deps", "--report", "-", f"torch=={version}"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=600, stdin=subprocess.DEVNULL)
    advice = "give an interpreter that has it (--python), a wheel (--wheel), or --allow-cuda-packages"
    if done.returncode:
        raise BuildError(_pip_error(version, done.stderr))
    try:
        report = json.loads(done.stdout)
        [torch] = [part for part in report["install"] if part["metadata"]["name"].lower() == "torch"]
        needs = [Requirement(need) for need in torch["metadata"].get("requires_dist", [])]
    except (ValueError, KeyError) as error:
        raise BuildError(f"pip does not say which torch {version} it would install: {advice}") from error
    own = [need for need in needs if not re.match(r"(nvidia|cuda|triton|pytorch-triton)\b", need.name)]
    if own == needs:
        return PipInstall(f"torch=={version}", None)
    if (sys.platform, platform.machine()) != ("linux", "x86_64"):
        raise BuildError(f"only a build with several GB of CUDA packages is reachable for torch {version}: {advice}")
    size = _download_size(str(torch.get("download_info", {}).get("url", "")))
    progress.said(
        f"{size} to download: only a CUDA build is reachable; its CUDA libraries are left out, CUDA calls fail"
    )
    fitting = [need for need in own if need.marker is None or need.marker.evaluate({"extra": ""})]
    return PipInstall(f"torch=={version}", None, instead=tuple(f"{need.name}{need.specifier}" for need in fitting))


def _download_size(address: str) -> str:
    try:
        page = urllib.request.Request(address, method="HEAD")  # noqa: S310
        with urllib.request.urlopen(page, timeout=_rules().index.patience_seconds) as answer:  # noqa: S310
            return size_text(int(answer.headers["Content-Length"]))
    except (OSError, urllib.error.URLError, ValueError, TypeError):
        return "an unknown size"


def _pip_error(version: str, text: str) -> str:
    """What pip's complaint means."""
    known = re.search(r"from versions: ([^)]*)\)", text)
    if known and known[1].strip() not in ("", "none"):
        near = _nearest(version, [part.strip() for part in known[1].split(",")])
        return f"there is no torch {version} for this Python: nearest are {', '.join(near)}"
    last = next((line for line in reversed(text.splitlines()) if "ERROR" in line), "pip failed")
    return f"torch {version} cannot be had: {last.removeprefix('ERROR: ')[:200]}"


def _nearest(version: str, known: Sequence[str], count: int = 4) -> list[str]:
    """The known versions around one that does not exist."""
    wanted = Version(version)
    ordered = sorted({Version(v) for v in known if re.fullmatch(r"[\d.]+", v)})
    place = sum(v < wanted for v in ordered)
    return [str(v) for v in ordered[max(0, place - count // 2) : place + count // 2]]


# ---- installing ----------------------------------------------------------------------------------------------------


def _install(registry: Registry, plan: PipInstall, name: str, expected: str, progress: Progress) -> Build:
    registry.folder.mkdir(parents=True, exist_ok=True)
    sweep_up(registry.folder)
    home = registry.folder / f"{PARTIAL}{os.getpid()}"
    try:
        python = _environment(home / ENVIRONMENT)
        progress.said(f"installing {plan.requirement}")
        _pip(home, python, plan)
        if plan.instead is not None:
            _pip(home, python, *[PipInstall(package, None) for package in plan.instead])
            for folder in (home / ENVIRONMENT).glob("lib/python3*/site-packages/torch/lib"):
                stubs.write(folder)
        build = replace(look(python, name), without_cuda=plan.instead is not None)
        companions = companions_of(build.public_version)
        progress.said(f"installing {', '.join(companions)}")
        _pip(home, python, *[PipInstall(package, None) for package in companions])
        if expected and expected not in (build.version, build.public_version):
            raise BuildError(f"what was installed says it is torch {build.version}, not {expected}: it was removed")
        if (registry.folder / build.name).exists():
            raise BuildError(f"there is a build {build.name} already: give another name with --name")
        final = registry.folder / build.name
        done = replace(build, managed=True, disk_bytes=disk_use(home), python=final / ENVIRONMENT / "bin" / "python")
        home.rename(final)
        return registry.check(registry.save(done))
    except OSError as error:
        raise BuildError(f"{registry.folder}: {error.strerror or error}") from error
    finally:
        shutil.rmtree(home, ignore_errors=True)


def companions_of(version: str) -> list[str]:
    """What must be installed beside a torch: (requirement) by data/builds.toml."""
    own = Version(version)
    fitting = [c for c in _rules().companions if SpecifierSet(c.torch, prereleases=True).contains(own)]
    return [package for companion in fitting for package in companion.packages]


def _environment(folder: Path) -> Path:
    """Make an empty environment; with uv where it is present."""
    uv = shutil.which("uv")
    command = [uv, "venv", "-q", "--python", sys.executable, str(folder)] if uv else None
    _run(command or [sys.executable, "-m", "venv", str(folder)], folder.parent)
    return folder / "bin" / "python"


def _pip(home: Path, python: Path, *plans: PipInstall) -> None:
    """Install, and compare each wheel with the pinned or the earlier one, while nothing of it has run."""
    report = home / "report.json"
    for plan in plans:
        options = (["--index-url", plan.index] if plan.index else []) + (["--pre"] if plan.pre else [])
        options += ["--no-deps"] if plan.instead is not None else []
        command = [str(python), "-m", "pip", "--disable-pip-version-check", "install", "-q", "--report", str(report)]
        _with_pip(home, python)
        _run([*command, *options, plan.requirement], home)
        wheels = pins.hashes(json.loads(report.read_text(encoding="utf-8")))
        report.unlink()
        pins.check(home.parent, wheels, _rules().pinned)
        pins.keep(home.parent, wheels)


def _with_pip(home: Path, python: Path) -> None:
    """An environment made by uv has no pip."""
    if subprocess.run([str(python), "-c", "import pip"], check=False, capture_output=True).returncode:
        _run([str(python), "-m", "ensurepip"], home)


def _run(command: Sequence[str], home: Path) -> None:
    home.mkdir(parents=True, exist_ok=True)
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, check=False, timeout=INSTALL_SECONDS, stdin=subprocess.DEVNULL
        )
    except subprocess.TimeoutExpired as error:
        raise BuildError(f"{Path(command[0]).name} took longer than {INSTALL_SECONDS} s: try again") from error
    if done.returncode:
        text = done.stderr.strip() or done.stdout.strip()
        if "No space left" in text:
            raise BuildError("no room on the disk for this build: `embers builds remove` one")
        wanted = command[-1].partition("==")[2]
        if wanted and "from versions" in text:
            raise BuildError(_pip_error(wanted, text))
        last = next((line for line in reversed(text.splitlines()) if "ERROR" in line or "error" in line), text[-200:])
        raise BuildError(f"installing {Path(command[-1]).name} failed: {last[:300]}")


def sweep_up(folder: Path) -> list[Path]:
    """Remove what installations of dead processes left; return it."""
    gone = []
    for path in folder.glob(f"{PARTIAL}*"):
        owner = path.name.rpartition("-")[2]
        if not owner.isdecimal() or not folders.is_alive(int(owner)) or int(owner) == os.getpid():
            shutil.rmtree(path, ignore_errors=True)
            gone.append(path)
    return gone


def disk_use(folder: Path) -> int:
    """Bytes that a folder takes on disk; hard links within it count once."""
    seen: set[tuple[int, int]] = set()
    total = 0
    for root, _, files in os.walk(folder):
        for file in files:
            facts: Any = os.lstat(os.path.join(root, file))  # noqa: PTH118
            if (facts.st_dev, facts.st_ino) not in seen:
                seen.add((facts.st_dev, facts.st_ino))
                total += facts.st_blocks * 512
    return total
