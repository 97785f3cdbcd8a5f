"""Builds: identity, registry, installation, eviction, and what is refused."""

from __future__ import annotations

import _ctypes
import ctypes
import json
import os
import platform
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from support import Recorded
from torch_embers import settings as settings_room
from torch_embers.builds import install, pins, stubs
from torch_embers.builds.registry import PARTIAL, Build, BuildError, processor_of
from torch_embers.cases import shipped_verdicts
from torch_embers.progress import Silent
from torch_embers.sandbox.inside.facts import _capability


def add(folder: Path, **more: Any) -> Build:
    wanted = settings_room.load(builds_dir=folder)
    asked: dict[str, Any] = {"version": None, "python": None, "wheel": None, "name": "", "allow_cuda_packages": False}
    return install.add(wanted, **{**asked, **more}, progress=Silent())


def installed(name: str, digest: str, **more: object) -> dict[str, Any]:
    """A report of pip that installed one wheel."""
    address = f"https://example.org/whl/cpu/{name.replace('+', '%2B')}"
    info = {"url": address, "archive_info": {"hashes": {"sha256": digest}}}
    return {"install": [{"download_info": info, **more}]}


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


def pip_says(monkeypatch: pytest.MonkeyPatch, code: int, out: str, err: str = "") -> None:
    monkeypatch.setattr(install, "_answers", lambda *_: False)
    done = subprocess.CompletedProcess([], code, out, err)
    monkeypatch.setattr(install.subprocess, "run", lambda *_, **__: done)


def test_gigabytes_of_cuda_packages_are_left_out_unasked_where_they_can_be(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    needs = ["filelock", "sympy (==1.13.1) ; python_version >= '3.9'", "optree ; extra == 'optree'", "triton==3.2.0"]
    needs.append("nvidia-cublas==13.0; platform_system == 'Linux'")
    wheel = tmp_path / "torch.whl"
    wheel.write_bytes(bytes(2_000_000))
    torch = {"metadata": {"name": "torch", "requires_dist": needs}, "download_info": {"url": wheel.as_uri()}}
    pip_says(monkeypatch, 0, json.dumps({"install": [torch]}))
    monkeypatch.setattr(install.sys, "platform", "linux")
    monkeypatch.setattr(install.platform, "machine", lambda: "x86_64")
    progress = Recorded()
    planned = install.PipInstall("torch==2.5.1", None, instead=("filelock", "sympy==1.13.1"))
    assert install._of_version("2.5.1", progress, cuda=False) == planned
    assert progress.lines[-1].startswith("2.0 MB to download: ")
    assert progress.lines[-1].endswith("CUDA calls fail")
    assert install._of_version("2.5.1", progress, cuda=True) == install.PipInstall("torch==2.5.1", None)
    monkeypatch.setattr(install.platform, "machine", lambda: "aarch64")
    with pytest.raises(BuildError, match="several GB of CUDA packages"):
        add(tmp_path / "builds", version="2.5.1")
    torch["metadata"]["requires_dist"] = needs[:3]
    pip_says(monkeypatch, 0, json.dumps({"install": [torch]}))
    assert install._of_version("2.5.1", progress, cuda=False) == install.PipInstall("torch==2.5.1", None), "a CPU build"


COUNT, VERSIONED = stubs.Symbol("cudaGetDeviceCount"), stubs.Symbol("cublasCreate_v2", "libcublas.so.12")


def test_missing_cuda_libraries_are_links_to_one_that_defines_what_is_asked_of_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = {COUNT, VERSIONED, *map(stubs.Symbol, ("cudnnCreate", "PyObject_Call", "_ZNSt6localeD1Ev"))}
    needed = {"libcudart.so.12", "libcudnn.so.9", "libcublas.so.12", "libc.so.6"}
    monkeypatch.setattr(stubs, "read", lambda _: stubs.Linked(needed, {"cudnnCreate"}, asked))
    for name in ("libtorch_cuda.so", "libcudnn.so.9"):
        (tmp_path / name).write_bytes(b"x")
    assert stubs.write(tmp_path) == ["libcublas.so.12", "libcudart.so.12"]
    content = (tmp_path / "libcublas.so.12").read_bytes()
    assert content == (tmp_path / "libcudart.so.12").read_bytes() == stubs.library([COUNT, VERSIONED])


def test_a_library_is_read_as_the_dynamic_linker_does() -> None:
    linked = stubs.read(Path(_ctypes.__file__).read_bytes())
    assert "libc.so.6" in linked.needed
    assert "PyInit__ctypes" in linked.defined
    assert stubs.Symbol("PyErr_SetString") in linked.lacked
    assert any(symbol.version.startswith("GLIBC_2") for symbol in linked.lacked)
    assert stubs.read(b"GROUP ( libc.so.6 )") == (set(), set(), set())


@pytest.mark.skipif((sys.platform, platform.machine()) != ("linux", "x86_64"), reason="its code is for x86-64 Linux")
def test_stubs_of_cuda_load_and_say_that_there_is_no_device(tmp_path: Path) -> None:
    names = ("cudaGetLastError", "cudaGetErrorString", "__cudaRegisterFatBinary", "cudaMalloc")
    (tmp_path / stubs.NAME).write_bytes(stubs.library([COUNT, VERSIONED, *map(stubs.Symbol, names)]))
    loaded = ctypes.CDLL(str(tmp_path / stubs.NAME), os.RTLD_NOW)
    count = ctypes.c_int(7)
    assert (loaded.cudaGetDeviceCount(ctypes.byref(count)), count.value) == (100, 0)
    assert (loaded.cudaMalloc(), loaded.cudaGetLastError(), loaded["__cudaRegisterFatBinary"]()) == (100, 0, 0)
    loaded.cudaGetErrorString.restype = ctypes.c_char_p
    assert loaded.cudaGetErrorString(3) == b"no CUDA here"
    find = ctypes.CDLL(None).dlvsym
    find.restype, find.argtypes = ctypes.c_void_p, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_char_p]
    assert find(loaded._handle, b"cublasCreate_v2", b"libcublas.so.12")
    assert not find(loaded._handle, b"cublasCreate_v2", b"libcublas.so.11")


def test_an_unknown_version_names_its_neighbours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    complaint = "ERROR: Could not find a version (from versions: 2.1.0, 2.1.2, 2.2.0, 2.2.1, 2.10.0)"
    pip_says(monkeypatch, 1, "", complaint)
    with pytest.raises(BuildError, match=r"no torch 2\.1\.9 .* nearest are 2\.1\.0, 2\.1\.2, 2\.2\.0, 2\.2\.1$"):
        add(tmp_path / "builds", version="2.1.9")


def test_what_a_killed_installation_left_is_swept_up(tmp_path: Path) -> None:
    dead = subprocess.Popen(["true"])
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
        ("1.7.1", "numpy<1.24 setuptools<59.6"),
        ("1.10.2", "numpy<2 setuptools<59.6"),
        ("1.13.1", "numpy<2 setuptools<80 expecttest"),
        ("2.2.2", "numpy<2 setuptools expecttest"),
        ("2.13.0", "numpy setuptools expecttest"),
        ("2.16.0.dev20261101", "numpy setuptools expecttest"),
    ],
)
def test_companions_fit_the_release(version: str, packages: str) -> None:
    assert install.companions_of(version) == packages.split()


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
        install._pip(home, Path("python"), install.PipInstall("torch==2.5.1", None))
    assert pins.read(tmp_path) == {}


def test_every_release_of_the_matrix_is_pinned() -> None:
    releases = {line["build"] for line in shipped_verdicts.matrix()}
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
