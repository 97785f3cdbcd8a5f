"""Builds: identity, registry, installation, eviction, and what is refused."""

from __future__ import annotations

import shutil
import sys
import zipfile
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from support import FAKE_TORCH, fake_python
from torch_embers import settings as settings_room
from torch_embers.builds import install, stubs
from torch_embers.builds.registry import CURRENT, PARTIAL, Build, BuildError, Registry, look
from torch_embers.cli.builds import print_builds
from torch_embers.progress import Silent

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A registry that has asked the torch of this environment, which takes seconds, and knows no other build."""
    folder = tmp_path_factory.mktemp("asked") / "builds"
    folder.mkdir()
    Registry(folder).installed()
    return folder


@pytest.fixture
def registry(asked: Path, tmp_path: Path) -> Registry:
    return Registry(shutil.copytree(asked, tmp_path / "builds"))


@pytest.fixture
def python(tmp_path: Path) -> Path:
    return fake_python(tmp_path / "env")


def named(builds: list[Build]) -> list[str]:
    return [b.name for b in builds if b.name != CURRENT]


def add(folder: Path, **more: Any) -> Build:
    wanted = settings_room.load(builds_dir=folder)
    asked: dict[str, Any] = {"version": None, "python": None, "wheel": None, "name": "", "allow_cuda_packages": False}
    return install.add(wanted, **{**asked, **more}, progress=Silent())


def fake_wheel(folder: Path, version: str = "2.5.1", *, cuda: bool = False) -> Path:
    """A wheel of that torch; with ``cuda`` it needs a package that is nowhere."""
    path = folder / f"torch-{version}-py3-none-any.whl"
    info = f"torch-{version}.dist-info"
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("torch/__init__.py", FAKE_TORCH.format(version=version, commit="00ff"))
        file.writestr("torch/lib/libtorch_cuda.so", "no library")
        needs = "Requires-Dist: nvidia-not-there==1\n"
        file.writestr(
            f"{info}/METADATA", f"Metadata-Version: 2.1\nName: torch\nVersion: {version}\n{needs if cuda else ''}"
        )
        file.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nGenerator: t\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        file.writestr(f"{info}/RECORD", "")
    return path


def test_registered_builds_are_found_by_name_and_by_version_in_order_of_release(
    registry: Registry, python: Path, tmp_path: Path
) -> None:
    build = registry.register(python, "mine")
    assert (build.version, build.channel) == ("2.5.1", "release")
    assert build.identity.startswith("2.5.1@a1b2c3d4e5/py3.")
    assert registry.find("mine").python == python
    assert registry.find("2.5.1").name == "mine"
    with pytest.raises(BuildError, match=r"no build '2\.0\.1': installed are .*mine"):
        registry.find("2.0.1")
    for version in ("2.10.0", "2.9.1", "2.10.0.dev20250701"):
        registry.register(fake_python(tmp_path / version, version))
    assert named(registry.installed()) == ["mine", "2.9.1", "2.10.0.dev20250701", "2.10.0"]
    assert registry.find("2.10.0.dev20250701").channel == "nightly"


def test_bytecode_that_an_added_interpreter_lacks_is_compiled_and_a_file_that_is_no_python_stops_nothing(
    registry: Registry, python: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = next((python.parents[1] / "lib").glob("python3*")) / "site-packages" / "torch"
    (package / "late").mkdir()
    (package / "late" / "__init__.py").write_text("x = 1\n")
    (package / "broken.py").write_text("this is no Python\n")
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")  # of whoever calls; it is not the build's
    given: dict[str, Any] = {"version": None, "wheel": None, "allow_cuda_packages": False, "progress": Silent()}
    wanted = settings_room.load(builds_dir=registry.folder)
    build = install.add(wanted, python=python, name="mine", **given)
    assert registry.find("mine").identity == build.identity
    assert list((package / "late" / "__pycache__").glob("__init__.*.pyc"))
    assert not list((package / "__pycache__").glob("broken.*"))


def test_a_name_stands_for_one_build_only(registry: Registry, python: Path, tmp_path: Path) -> None:
    registry.register(python, "mine")
    registry.register(python, "mine")
    other = fake_python(tmp_path / "other", commit="ffff")
    with pytest.raises(BuildError, match="mine is taken by"):
        registry.register(other, "mine")
    with pytest.raises(BuildError, match="cannot be the name"):
        registry.register(other, "../escape")
    with pytest.raises(BuildError, match="cannot be the name"):
        registry.register(other, CURRENT)
    with pytest.raises(BuildError, match=r"is torch 2\.5\.1, not 1\.13\.1"):
        registry.register(other, expected="1.13.1")
    assert named(registry.installed()) == ["mine"]


@pytest.mark.parametrize(
    ("script", "message"),
    [
        ("#!/bin/sh\necho hello\n", "does not answer like a Python interpreter"),
        ("#!/bin/sh\nexit 3\n", "exit 3"),
        ("#!/bin/sh\nsleep 30\n", "no answer within 1 s"),
        ("#!/no/such/program\n", "cannot be run"),
        ('#!/bin/sh\necho \'{"version": "five"}\'\n', "no usable answer"),
        ("#!/bin/sh\necho \"No module named 'torch'\" >&2; exit 1\n", "has no torch"),
        ("#!/bin/sh\nhead -c 3000000 /dev/zero\n", "does not answer like a Python interpreter"),
    ],
)
def test_a_program_that_is_no_python_with_torch_is_named(
    tmp_path: Path, script: str, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "python"
    path.write_text(script)
    path.chmod(0o755)
    monkeypatch.setattr("torch_embers.builds.registry.ask.__defaults__", (1.0,))
    with pytest.raises(BuildError, match=message):
        look(path)
    (tmp_path / "text").write_text("no program")
    for other in (tmp_path / "missing", tmp_path / "text", tmp_path):
        with pytest.raises(BuildError, match="is no program"):
            look(other)


def test_a_build_that_changed_or_vanished_is_not_used(registry: Registry, python: Path) -> None:
    build = registry.register(python)
    with registry.using(build) as held:
        assert held == build
    module = next(python.parent.parent.glob("lib/python3*/site-packages/torch/__init__.py"))
    module.write_text(FAKE_TORCH.format(version="2.6.0", commit="1234"))
    with pytest.raises(BuildError, match=r"was 2\.5\.1.* and is 2\.6\.0"), registry.using(build):
        pass
    assert any("changed" in text for _, text in registry.check(build).checked)
    shutil.rmtree(python.parent.parent)
    with pytest.raises(BuildError, match="is no program"), registry.using(build):
        pass
    assert registry.check(build).broken


def test_use_and_check_of_a_build_each_change_their_own_part_of_its_record(registry: Registry, python: Path) -> None:
    first = registry.register(python)
    registry.check(first)
    with registry.using(first):
        pass
    kept = registry.find(first.name)
    assert kept.checked, "what was read before the check does not undo it"
    registry.check(first)
    assert registry.find(first.name).used_at == kept.used_at != ""
    registry.remove(first.name)
    registry.check(first)
    assert named(registry.installed()) == [], "a check does not bring it back"


def test_a_build_in_use_is_not_removed(registry: Registry, python: Path) -> None:
    build = registry.register(python)
    with registry.using(build), pytest.raises(BuildError, match="in use"):
        registry.remove(build.name)
    registry.remove(build.name)
    assert named(registry.installed()) == []
    assert python.exists(), "an interpreter that was only registered stays"


def test_the_torch_of_this_environment_is_a_build_from_the_start(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    registry = Registry(tmp_path / "builds")
    build = registry.find(CURRENT)
    assert build.python.samefile(sys.executable)
    checked = registry.check(build)
    assert checked.broken == []
    assert {"import", "matmul on cpu", "backward on cpu", "numpy"} <= {what for what, _ in checked.checked}
    with pytest.raises(BuildError, match="always a build"):
        registry.remove(CURRENT)


def test_the_least_recently_used_builds_make_room(registry: Registry, python: Path) -> None:
    found = look(python)
    for name, used in (("old", "2026-01-01"), ("new", "2026-03-01"), ("middle", "2026-02-01")):
        (registry.folder / name).mkdir(parents=True)
        registry.save(replace(found, name=name, managed=True, disk_bytes=10, used_at=used))
    registry.register(python, "registered")
    assert [b.name for b in registry.evict(cap=25)] == ["old"]
    assert [b.name for b in registry.evict(cap=25, room=20)] == ["middle", "new"]
    assert named(registry.installed()) == ["registered"]


@pytest.fixture
def no_companions(monkeypatch: pytest.MonkeyPatch) -> None:
    """Installations that need no network: the fake torch needs no NumPy."""
    monkeypatch.setattr(install, "companions_of", lambda _: [])


@pytest.mark.usefixtures("no_companions")
def test_a_wheel_is_installed_into_an_environment_of_its_own(tmp_path: Path) -> None:
    build = add(tmp_path / "builds", wheel=fake_wheel(tmp_path))
    assert (build.name, build.managed) == ("2.5.1", True)
    assert build.disk_bytes > 100_000
    assert look(build.python).identity == build.identity
    assert not list((tmp_path / "builds").glob(f"{PARTIAL}*"))
    with pytest.raises(BuildError, match=r"there is a build 2\.5\.1 already"):
        add(tmp_path / "builds", wheel=fake_wheel(tmp_path))
    Registry(tmp_path / "builds").remove("2.5.1")
    assert not build.python.exists()


@pytest.mark.usefixtures("no_companions")
def test_a_cuda_build_is_installed_without_its_cuda_packages_and_listed_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    plan = install.PipInstall(str(fake_wheel(tmp_path, cuda=True)), None, instead=())
    monkeypatch.setattr(install, "_of_version", lambda *_, **__: plan)
    build = add(tmp_path / "builds", version="2.5.1")
    assert build.without_cuda
    assert list(build.python.parent.parent.glob(f"lib/python3*/site-packages/torch/lib/{stubs.NAME}"))
    print_builds([build], 40)
    assert "cpu (CUDA calls fail)" in capsys.readouterr().out


@pytest.mark.usefixtures("no_companions")
@pytest.mark.parametrize("how", ["another version", "broken"])
def test_a_wheel_that_is_broken_or_another_version_is_one_line_and_leaves_nothing(tmp_path: Path, how: str) -> None:
    wheel = fake_wheel(tmp_path)
    if how == "broken":
        wheel.write_text("not a wheel")
    said = "failed" if how == "broken" else r"says it is torch 2\.5\.1, not 1\.13\.1"
    with pytest.raises(BuildError, match=said) as caught:
        add(tmp_path / "builds", version=None if how == "broken" else "1.13.1", wheel=wheel)
    assert "\n" not in str(caught.value)
    assert [p.name for p in (tmp_path / "builds").iterdir() if not p.name.startswith(".")] == []
    assert not list((tmp_path / "builds").glob(f"{PARTIAL}*"))


def test_a_damaged_entry_does_not_hide_the_others(registry: Registry, python: Path) -> None:
    registry.register(python)
    for name, text in (("broken", "{"), ("empty", ""), ("other", '{"name": "x"}')):
        (registry.folder / name).mkdir()
        (registry.folder / name / "build.json").write_text(text)
    assert named(registry.installed()) == ["2.5.1"]
