"""Builds: identity, registry, installation, eviction, and what is refused."""

from __future__ import annotations

import csv
import json
import os
import shutil
import subprocess
import sys
import zipfile
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from support import FAKE_TORCH, fake_python
from torch_embers import resources
from torch_embers import settings as settings_room
from torch_embers.builds import install, pins
from torch_embers.builds.registry import (
    CURRENT,
    PARTIAL,
    Build,
    BuildError,
    Registry,
    ask,
    compile_ahead,
    look,
    processor_of,
)
from torch_embers.progress import Silent
from torch_embers.sandbox.inside.facts import _capability


def fake_wheel(folder: Path, version: str = "2.5.1") -> Path:
    """A wheel of that torch."""
    path = folder / f"torch-{version}-py3-none-any.whl"
    info = f"torch-{version}.dist-info"
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("torch/__init__.py", FAKE_TORCH.format(version=version, commit="00ff"))
        file.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: torch\nVersion: {version}\n")
        file.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nGenerator: t\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        file.writestr(f"{info}/RECORD", "")
    return path


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


def test_a_build_is_what_its_interpreter_says(python: Path) -> None:
    found = look(python)
    assert (found.name, found.version, found.channel) == ("2.5.1", "2.5.1", "release")
    assert found.identity.startswith("2.5.1@a1b2c3d4e5/py3.")


@pytest.mark.slow
def test_a_registered_interpreter_is_found_by_name_and_by_version(registry: Registry, python: Path) -> None:
    registry.register(python, "mine")
    assert registry.find("mine").python == python
    assert registry.find("2.5.1").name == "mine"
    with pytest.raises(BuildError, match=r"no build '2\.0\.1': installed are .*mine"):
        registry.find("2.0.1")


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


def test_an_interpreter_whose_folders_cannot_be_written_is_added_as_it_is(
    registry: Registry, python: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_arguments: object, **_options: object) -> None:
        raise OSError("no process can be started")

    build = registry.register(python, "mine")
    monkeypatch.setattr("torch_embers.builds.registry.subprocess.run", refused)
    compile_ahead(build)


def test_builds_are_listed_in_order_of_release(registry: Registry, tmp_path: Path) -> None:
    for version in ("2.10.0", "2.9.1", "2.10.0.dev20250701"):
        registry.register(fake_python(tmp_path / version, version))
    assert named(registry.installed()) == ["2.9.1", "2.10.0.dev20250701", "2.10.0"]
    assert registry.find("2.10.0.dev20250701").channel == "nightly"


def test_an_interpreter_that_is_not_what_it_is_called_is_refused(registry: Registry, python: Path) -> None:
    with pytest.raises(BuildError, match=r"is torch 2\.5\.1, not 1\.13\.1"):
        registry.register(python, expected="1.13.1")
    assert named(registry.installed()) == []


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


@pytest.mark.parametrize(
    ("script", "message"),
    [
        ("#!/bin/sh\necho hello\n", "does not answer like a Python interpreter"),
        ("#!/bin/sh\nexit 3\n", "exit 3"),
        ("#!/bin/sh\nsleep 30\n", "no answer within 1 s"),
        ("#!/no/such/program\n", "cannot be run"),
        ('#!/bin/sh\necho \'{"version": "2.0"}\'\n', "no usable answer"),
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


def test_a_path_that_is_no_program_is_named(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("no program")
    for path in (tmp_path / "missing", tmp_path / "text", tmp_path):
        with pytest.raises(BuildError, match="is no program"):
            ask(path, "identity")


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


def test_a_build_in_use_is_not_removed(registry: Registry, python: Path) -> None:
    build = registry.register(python)
    with registry.using(build), pytest.raises(BuildError, match="in use"):
        registry.remove(build.name)
    registry.remove(build.name)
    assert named(registry.installed()) == []
    assert python.exists(), "an interpreter that was only registered stays"


def test_a_damaged_entry_does_not_hide_the_others(registry: Registry, python: Path) -> None:
    registry.register(python)
    for name, text in (("broken", "{"), ("empty", ""), ("other", '{"name": "x"}')):
        (registry.folder / name).mkdir()
        (registry.folder / name / "build.json").write_text(text)
    assert named(registry.installed()) == ["2.5.1"]


@pytest.mark.slow
def test_the_torch_of_this_environment_is_a_build_from_the_start(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    registry = Registry(tmp_path / "builds")
    build = registry.find(CURRENT)
    assert build.python.samefile(sys.executable)
    with pytest.raises(BuildError, match="always a build"):
        registry.remove(CURRENT)


@pytest.mark.slow
def test_the_current_build_passes_its_checks(registry: Registry) -> None:
    pytest.importorskip("torch")
    checked = registry.check(registry.find(CURRENT))
    assert checked.broken == []
    assert {"import", "matmul on cpu", "backward on cpu", "numpy"} <= {what for what, _ in checked.checked}


def test_the_least_recently_used_builds_make_room(registry: Registry, python: Path) -> None:
    found = look(python)
    for name, used in (("old", "2026-01-01"), ("new", "2026-03-01"), ("middle", "2026-02-01")):
        (registry.folder / name).mkdir(parents=True)
        registry.save(replace(found, name=name, managed=True, disk_bytes=10, used_at=used))
    registry.register(python, "registered")
    assert [b.name for b in registry.evict(cap=25)] == ["old"]
    assert [b.name for b in registry.evict(cap=25, room=20)] == ["middle", "new"]
    assert named(registry.installed()) == ["registered"]


# ---- installing ----------------------------------------------------------------------------------------------------


def add(folder: Path, **more: Any) -> Build:
    wanted = settings_room.load(builds_dir=folder)
    asked: dict[str, Any] = {"version": None, "python": None, "wheel": None, "name": "", "allow_cuda_packages": False}
    return install.add(wanted, **{**asked, **more}, progress=Silent())


@pytest.fixture
def no_companions(monkeypatch: pytest.MonkeyPatch) -> None:
    """Installations that need no network: the fake torch needs no NumPy."""
    monkeypatch.setattr(install, "companions_of", lambda _: [])


@pytest.mark.slow
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


@pytest.mark.slow
@pytest.mark.usefixtures("no_companions")
def test_a_wheel_that_is_another_version_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(BuildError, match=r"says it is torch 2\.5\.1, not 1\.13\.1"):
        add(tmp_path / "builds", version="1.13.1", wheel=fake_wheel(tmp_path))
    assert [p.name for p in (tmp_path / "builds").iterdir() if not p.name.startswith(".")] == []
    assert not list((tmp_path / "builds").glob(f"{PARTIAL}*"))


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({}, "nothing to add"),
        ({"version": "five"}, "is no version"),
        ({"wheel": "numpy-1.0-py3-none-any.whl"}, "no wheel of torch"),
        ({"wheel": "torch-1.0-py3-none-any.whl", "python": "python"}, "give one of them"),
    ],
)
def test_what_cannot_be_installed_is_named(tmp_path: Path, more: dict[str, str], message: str) -> None:
    given: dict[str, Any] = {k: v if k == "version" else tmp_path / v for k, v in more.items()}
    for key in ("wheel", "python"):
        if key in given:
            given[key].write_text("")
    with pytest.raises(BuildError, match=message):
        add(tmp_path / "builds", **given)


@pytest.mark.slow
def test_a_broken_wheel_is_an_error_in_one_line_and_leaves_nothing(tmp_path: Path) -> None:
    path = tmp_path / "torch-2.5.1-py3-none-any.whl"
    path.write_text("not a wheel")
    with pytest.raises(BuildError, match="failed") as caught:
        add(tmp_path / "builds", wheel=path)
    assert "\n" not in str(caught.value)
    assert not list((tmp_path / "builds").glob(f"{PARTIAL}*"))


def pip_says(monkeypatch: pytest.MonkeyPatch, code: int, out: str, err: str = "") -> None:
    monkeypatch.setattr(install, "_answers", lambda *_: False)
    done = subprocess.CompletedProcess([], code, out, err)
    monkeypatch.setattr(install.subprocess, "run", lambda *_, **__: done)


def test_several_gigabytes_of_cuda_packages_are_not_taken_unasked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    needs = ["filelock", "nvidia-cublas==13.0; platform_system == 'Linux'"]
    report = {"install": [{"metadata": {"name": "torch", "requires_dist": needs}}]}
    pip_says(monkeypatch, 0, json.dumps(report))
    with pytest.raises(BuildError, match="several GB of CUDA packages"):
        add(tmp_path / "builds", version="2.5.1")


def test_an_unknown_version_names_its_neighbours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    complaint = "ERROR: Could not find a version (from versions: 2.1.0, 2.1.2, 2.2.0, 2.2.1, 2.10.0)"
    pip_says(monkeypatch, 1, "", complaint)
    with pytest.raises(BuildError, match=r"no torch 2\.1\.9 .* nearest are 2\.1\.0, 2\.1\.2, 2\.2\.0, 2\.2\.1$"):
        add(tmp_path / "builds", version="2.1.9")


def test_what_a_killed_installation_left_is_swept_up(tmp_path: Path) -> None:
    dead = subprocess.Popen([sys.executable, "-c", ""])
    dead.wait()
    left = tmp_path / f"{PARTIAL}{dead.pid}"
    left.mkdir()
    running = tmp_path / f"{PARTIAL}{os.getppid()}"
    running.mkdir()
    assert install.sweep_up(tmp_path) == [left]
    assert running.exists()


@pytest.mark.parametrize(
    ("version", "packages"),
    [
        ("1.7.1", ["numpy<1.24", "setuptools<59.6"]),
        ("1.10.2", ["numpy<2", "setuptools<59.6"]),
        ("1.13.1", ["numpy<2", "setuptools<80", "expecttest"]),
        ("2.2.2", ["numpy<2", "setuptools", "expecttest"]),
        ("2.13.0", ["numpy", "setuptools", "expecttest"]),
        ("2.16.0.dev20261101", ["numpy", "setuptools", "expecttest"]),
    ],
)
def test_companions_fit_the_release(version: str, packages: list[str]) -> None:
    assert install.companions_of(version) == packages


@pytest.mark.parametrize(
    ("facts", "named"),
    [
        ("vendor_id\t: AuthenticAMD\nmodel name\t: AMD EPYC\n", "AMD EPYC"),
        ("vendor_id\t: GenuineIntel\nmodel name\t: Intel(R) Xeon(R) Platinum 8481C CPU\n", "Intel(R) Xeon(R) Platinum 8481C CPU"),
        ("vendor_id\t: AuthenticAMD\nmodel name\t: QEMU Virtual CPU version 2.5+\n", "AMD QEMU Virtual CPU version 2.5+"),
        ("vendor_id\t: GenuineIntel\n", "Intel"),
        ("processor\t: 0\nBogoMIPS\t: 243.75\n", ""),
    ],
)  # fmt: skip
def test_the_vendor_of_the_processor_is_always_named(facts: str, named: str) -> None:
    assert processor_of(facts) == named


def test_a_release_before_2_1_names_its_cpu_capability_too() -> None:
    settings = "PyTorch built with:\n  - GCC 9.3\n  - CPU capability usage: AVX2\n  - Build settings: ...\n"
    torch = SimpleNamespace(__config__=SimpleNamespace(show=lambda: settings))
    assert _capability(torch) == "AVX2"
    assert _capability(SimpleNamespace(__config__=SimpleNamespace(show=lambda: "nothing"))) == ""


# ---- pinned wheels -------------------------------------------------------------------------------------------------


def installed(name: str, digest: str, **more: object) -> dict[str, Any]:
    """A report of pip that installed one wheel."""
    address = f"https://example.org/whl/cpu/{name.replace('+', '%2B')}"
    info = {"url": address, "archive_info": {"hashes": {"sha256": digest}}}
    return {"install": [{"download_info": info, **more}]}


SHIPPED = install._rules().pinned


def test_a_wheel_of_the_matrix_must_be_the_one_that_pypi_had(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    name = "torch-2.5.1-cp311-cp311-manylinux1_x86_64.whl"
    pins.check(tmp_path, {name: SHIPPED.sha256[name]}, SHIPPED)

    def pip(command: list[str], _home: Path) -> None:
        report = Path(command[command.index("--report") + 1])
        report.write_text(json.dumps(installed(name, "bb")), encoding="utf-8")

    monkeypatch.setattr(install, "_with_pip", lambda *_: None)
    monkeypatch.setattr(install, "_run", pip)
    home = tmp_path / "new"
    home.mkdir()
    expected = rf"is not the wheel that PyPI had on \d{{4}}-\d\d-\d\d: SHA-256 bb instead of {SHIPPED.sha256[name]}"
    with pytest.raises(BuildError, match=expected):
        install._pip(home, Path("python"), install.Plan("torch==2.5.1", None))
    assert pins.read(tmp_path) == {}


def test_every_release_of_the_matrix_is_pinned() -> None:
    lines = csv.DictReader(resources.analysis_text("results", "matrix.csv").splitlines())
    releases = {line["build"] for line in lines}
    assert {name.split("-")[1] for name in SHIPPED.sha256} == releases


def test_a_wheel_must_be_the_one_that_was_installed_before(tmp_path: Path) -> None:
    name = "torch-2.5.1+cpu-cp311-cp311-linux_x86_64.whl"
    first = pins.hashes(installed(name, "aa"))
    assert first == {name: "aa"}
    for _ in range(2):
        pins.check(tmp_path, first, SHIPPED)
        pins.keep(tmp_path, first)
    with pytest.raises(BuildError, match=r"not the wheel that was installed before: SHA-256 bb instead of aa"):
        pins.check(tmp_path, pins.hashes(installed(name, "bb")), SHIPPED)
    pins.keep(tmp_path, {"numpy-2.whl": "cc"})
    assert pins.read(tmp_path) == {name: "aa", "numpy-2.whl": "cc"}


def test_a_file_that_the_user_names_is_not_pinned_and_a_wheel_from_its_address_is() -> None:
    name = "torch-2.5.1-cp311-cp311-linux_x86_64.whl"
    own = installed(name, "aa", is_direct=True)
    assert pins.hashes(own) == {name: "aa"}
    own["install"][0]["download_info"]["url"] = f"file:///tmp/{name}"
    assert pins.hashes(own) == {}


@pytest.mark.parametrize("text", ["{", "[]"])
def test_a_damaged_list_of_pinned_wheels_is_an_error(text: str, tmp_path: Path) -> None:
    (tmp_path / pins.FILE).write_text(text, encoding="ascii")
    with pytest.raises(BuildError, match="is damaged"):
        pins.check(tmp_path, {"torch.whl": "aa"}, SHIPPED)
