"""What the tests in test_bisect.py share."""

from __future__ import annotations

import shlex
import subprocess
import threading
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from support import fake_python, run_embers
from torch_embers.builds import install
from torch_embers.builds.registry import Build, BuildError, Registry
from torch_embers.progress import Silent
from torch_embers.run.bisect import command as bisecting
from torch_embers.run.bisect.build_list import BuildList
from torch_embers.run.bisect.places import Place
from torch_embers.run.bisect.request import BisectRequest
from torch_embers.run.dispatch import LocalDispatcher
from torch_embers.settings import Settings
from torch_embers.store.store import Store

if TYPE_CHECKING:
    from collections.abc import Sequence

VERSIONS = ("2.0.1", "2.1.2", "2.2.2", "2.3.1")


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four registered builds."""
    folder = tmp_path_factory.mktemp("builds")
    registry = Registry(folder / "registry")
    for place, version in enumerate(VERSIONS):
        registry.register(fake_python(folder / version, version, f"{place}" * 16))
    return folder / "registry"


@pytest.fixture(autouse=True)
def _nothing_but_these_builds_and_cases(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever torch the tests run beside is no build of theirs, and the shipped cases take seconds to load."""
    monkeypatch.setattr(Registry, "_current", lambda _: None)
    monkeypatch.setattr(bisecting.shipped, "load", lambda _: 0)


@pytest.fixture
def database(tmp_path: Path) -> Path:
    path = tmp_path / "e.duckdb"
    with Store(path).writer("test", create=True) as writer, writer.transaction():
        pass
    return path


def predicate(bad: Sequence[str], log: Path | None = None, skip: Sequence[str] = ()) -> str:
    """A command that ends with 1 on these versions and with 125 on those, and notes where it ran."""
    code = (
        "import os, sys; v = os.environ['EMBERS_VERSION']; "
        + (f"open({str(log)!r}, 'a').write(v + chr(10)); " if log else "")
        + f"print('seen on', v); sys.exit(125 if v in {tuple(skip)!r} else v in {tuple(bad)!r})"
    )
    return f"{{python}} -c {shlex.quote(code)}"


def embers(home: Path, database: Path, *words: object) -> Any:
    return run_embers("bisect", *words, "--database", database, EMBERS_BUILDS_DIR=str(home))


# ---- places --------------------------------------------------------------------------------------------------------


def build(version: str, name: str = "", **more: Any) -> Build:
    return Build(name or version, version, "c" * 40, more.pop("channel", "release"), "linux", Path("p"), "3.11", **more)


# ---- nightlies -----------------------------------------------------------------------------------------------------


DAYS = (("01", "a"), ("02", "a"), ("03", "b"), ("05", "b"), ("06", "c"))
"""Days of August 2025 and the commits of the main line whose snapshots they are; the fourth had no nightly."""


def git(folder: Path, *words: str) -> str:
    who = ["-c", "user.name=A", "-c", "user.email=a@example.org"]
    done = subprocess.run(["git", "-C", folder, *who, *words], check=True, capture_output=True, text=True)
    return done.stdout.strip()


@pytest.fixture(scope="module")
def history(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, str], dict[str, str]]:
    """A clone with PyTorch's form of the branch nightly; commits of the main line by letter, of the branch by day."""
    folder = tmp_path_factory.mktemp("clone")
    git(folder, "init", "-q", "-b", "main")
    main, days, tip = {}, {}, list[str]()
    for number, letter in enumerate("abc"):
        (folder / "version.txt").write_text("2.9.0a0\n")
        (folder / f"{letter}.cpp").write_text("")
        git(folder, "add", ".")
        git(folder, "commit", "-qm", f"Change {letter} (#9200{number})\n\nFixes #{number}7")
        main[letter] = git(folder, "rev-parse", "HEAD")
    for day, letter in DAYS:
        subject = f"2025-08-{day} nightly release ({main[letter]})"
        days[day] = git(folder, "commit-tree", f"{main[letter]}^{{tree}}", *tip, "-m", subject)
        tip = ["-p", days[day]]
    git(folder, "update-ref", "refs/remotes/origin/nightly", days["06"])
    return folder, main, days


@pytest.fixture
def wheels(tmp_path: Path, history: tuple[Path, dict[str, str], dict[str, str]]) -> Path:
    """Nightlies that name commits of the branch, one a commit of the main line, one none; and wheels for others."""
    _, main, days = history
    tag = next(iter_tag())
    folder = tmp_path / "index"
    folder.mkdir()
    named = {**days, "05": main["b"], "06": "Unknown"}
    for day, _ in DAYS:
        with zipfile.ZipFile(folder / f"torch-2.9.0.dev202508{day}-{tag}.whl", "w") as archive:
            archive.writestr("torch/version.py", f"git_version = '{named[day]}'\n")
    for name in (
        f"torch-2.8.0-{tag}.whl",
        f"torch-2.11.0.dev20260101-{tag}.whl",
        "torch-2.9.0.dev20250804-cp27-cp27m-win32.whl",
        "x.whl",
    ):
        (folder / name).write_bytes(b"")
    return folder


def iter_tag() -> Any:
    import sys
    import sysconfig

    cp = f"cp{sys.version_info.major}{sys.version_info.minor}"
    yield f"{cp}-{cp}-{sysconfig.get_platform().replace('-', '_').replace('.', '_')}"


# ---- builds that are installed ahead -------------------------------------------------------------------------------


def ahead(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, *, evict: bool = False
) -> tuple[BuildList, list[str], threading.Event]:
    """Builds of five releases that can be installed; what is installed, in order; an event that lets it go on."""
    home = tmp_path / "registry"
    begun: list[str] = []
    go_on = threading.Event()

    def installed(_: Settings, version: str, *__: object) -> Build:
        begun.append(version)
        go_on.wait(60)
        if version == "2.9.4":
            raise BuildError("no such wheel")
        return Registry(home).register(fake_python(tmp_path / version, version), version)

    monkeypatch.setattr(install, "add_for", installed)
    places = [Place(f"2.9.{number}") for number in range(5)]
    request = BisectRequest("x", install=True, evict=evict)
    here = LocalDispatcher(Registry(home), Silent())
    return BuildList(Settings(builds_dir=home), places, request, "", Silent(), here), begun, go_on
