"""Python lines of wheels: the counting rule, hostile archives, and what the shipped measurement says."""

from __future__ import annotations

import stat
import zipfile
from datetime import date
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from torch_embers import resources
from torch_embers.errors import InputError
from torch_embers.study import wheel_lines
from torch_embers.study.wheel_lines import WheelLines, count, from_csv, in_order, measured, to_csv

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

VERSION = b"__version__ = '2.0.1+cpu'\n"
FILES = {
    "torch/version.py": VERSION,
    "torch/__init__.py": b"a\n\n# comment\nlast line without an end",
    "torch/sparse/__init__.py": b"x\ny\n",
    "torch/sparse/deep/table.py": b"1\n" * 10,
    "torch/nested/__init__.py": b"",
    "torch/utils/data/loader.py": b"\n\n\n",
    "torch/nn/modules/linear.py": b"z\n",
    "torch/_C/stubs.pyi": b"generated\n",
    "torch/include/core.h": b"header\n",
    "torch/binary.py": b"\0\n\n",
    "torchgen/gen.py": b"not torch\n",
    "torch-2.0.1.dist-info/WHEEL": b"Wheel-Version: 1.0\nTag: cp311-cp311-linux_x86_64\n",
}
EXPECTED = {
    ("torch", "other", "", False): (2, 4),
    ("torch/nested", "data_path", "nested", True): (1, 0),
    ("torch/nn", "computation", "nn", False): (1, 1),
    ("torch/sparse", "data_path", "sparse", True): (2, 12),
    ("torch/utils", "data_path", "data_loading", True): (1, 3),
}


def unpacked(folder: Path, files: dict[str, bytes]) -> Path:
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return folder


def packed(folder: Path, files: dict[str, bytes]) -> Path:
    place = folder / "torch-2.0.1-py3-none-any.whl"
    with zipfile.ZipFile(place, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return place


def lines_of(rows: Iterable[WheelLines], version: str, module: str) -> int | None:
    """Lines of one folder in one release; None where the release has none."""
    found = [row.lines for row in rows if row.version == version and row.module == module]
    return sum(found) if found else None


@pytest.mark.parametrize("form", ["wheel", "site-packages", "torch folder"])
def test_a_wheel_and_what_it_unpacks_to_have_the_same_lines(tmp_path: Path, form: str) -> None:
    place = packed(tmp_path, FILES) if form == "wheel" else unpacked(tmp_path / "site", FILES)
    rows = count(place / "torch" if form == "torch folder" else place, {"2.0.1": date(2023, 5, 8)})
    assert {
        (row.module, row.component, row.subcomponent, row.strict): (row.files, row.lines) for row in rows
    } == EXPECTED
    assert {(row.version, row.released, row.platform) for row in rows} == {("2.0.1", date(2023, 5, 8), "linux_x86_64")}


def test_symbolic_links_have_no_lines_of_their_own(tmp_path: Path) -> None:
    folder = unpacked(tmp_path / "site", {"torch/version.py": VERSION, "secret.py": b"1\n2\n"})
    (folder / "torch" / "link.py").symlink_to(folder / "secret.py")
    assert sum(row.files for row in count(folder)) == 1
    place = packed(tmp_path, {"torch/version.py": VERSION})
    with zipfile.ZipFile(place, "a") as archive:
        link = zipfile.ZipInfo("torch/link.py")
        link.external_attr = (stat.S_IFLNK | 0o777) << 16
        archive.writestr(link, "../secret.py\n")
    assert sum(row.files for row in count(place)) == 1


@pytest.mark.parametrize(
    ("said", "version"),
    [
        (b"", None),
        (b"__version__ = 'not a version'\n", None),
        (b"__version__ = version()\n", None),  # never executed
        (b'__version__ = "2.1.0a0+git1"\n', "2.1.0a0"),
        (b"__all__ = ['x']\n__version__: str = '2.1.0a0'\n", "2.1.0a0"),
    ],
)
def test_a_version_is_read_without_its_local_part_or_refused(tmp_path: Path, said: bytes, version: str | None) -> None:
    place = packed(tmp_path, {"torch/version.py": said})
    if version:
        rows = count(place)
        assert {(row.version, row.released) for row in rows} == {(version, None)}, "the day of release is not known"
        assert from_csv(to_csv(rows)) == rows
        return
    for nothing in (place, tmp_path):
        with pytest.raises(InputError, match="tells a version"):
            count(nothing)


def test_a_damaged_archive_is_named_in_one_line(tmp_path: Path) -> None:
    place = packed(tmp_path, FILES)
    raw = place.read_bytes()
    for damaged in (b"hello", raw[:200], raw[:60] + b"\xff\xff" + raw[62:]):
        place.write_bytes(damaged)
        with pytest.raises(InputError, match="cannot be read as a PyTorch wheel"):
            count(place)


def test_an_archive_that_unpacks_to_too_much_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wheel_lines, "MOST_BYTES", 3 << 20)
    files = {"torch/version.py": VERSION} | {f"torch/bomb{n}.py": b"0" * (2 << 20) for n in range(2)}
    with pytest.raises(InputError, match="more than 3 MiB"):
        count(packed(tmp_path, files))


@given(st.lists(st.sampled_from([b"\n", b"x", b"\r\n", b"# c\n", "é".encode(), b"\x0c"]), max_size=30))
def test_a_line_is_a_line_feed(tmp_path_factory: pytest.TempPathFactory, parts: list[bytes]) -> None:
    content = b"".join(parts)
    folder = unpacked(tmp_path_factory.mktemp("w"), {"torch/version.py": VERSION, "torch/sparse/a.py": content})
    assert lines_of(count(folder), "2.0.1", "torch/sparse") == content.count(b"\n")


# --- the shipped measurement -----------------------------------------------------------------------------


def test_the_shipped_measurement_is_complete_in_order_of_release_and_has_the_sizes_that_the_study_prints() -> None:
    rows = measured()
    assert lines_of(rows, "1.3.1", "torch/sparse") == 136  # the study: 136
    assert lines_of(rows, "2.5.1", "torch/sparse") == 11_677  # the study: 11,677
    assert lines_of(rows, "2.0.1", "torch/nested") == 149  # the study: 149
    assert lines_of(rows, "2.5.1", "torch/nested") == 3_575  # the study: 3,537, of a day between 2.4.1 and 2.5.1
    assert lines_of(rows, "1.3.1", "torch/nested") is None  # there was none
    days = list(dict.fromkeys((row.version, row.released) for row in rows))
    assert len(days) == 27
    assert [day for _, day in days] == sorted(day for _, day in days if day)
    assert len({row.version for row in rows}) == len(days)
    assert len({(row.version, row.module, row.component, row.subcomponent, row.strict) for row in rows}) == len(rows)
    assert list(rows) == in_order(rows)
    shipped = resources.CHECKOUT_DIR / "analysis" / "results" / "wheel_lines.csv"
    assert to_csv(rows) == shipped.read_text(encoding="utf-8")
    assert wheel_lines.release_days()["2.0.1"] == date(2023, 5, 8)


@pytest.mark.parametrize(
    ("before", "after"),
    [("files,", "fails,"), (",true,", ",yes,"), ("2.0.1,", "two,"), (",2023-05-08,", ",May,"), (",12\n", ",many\n")],
)
def test_a_damaged_file_of_results_is_named_with_its_line(tmp_path: Path, before: str, after: str) -> None:
    text = to_csv(count(packed(tmp_path, FILES), {"2.0.1": date(2023, 5, 8)}))
    assert before in text
    with pytest.raises(InputError, match=r"wheel_lines\.csv, line \d+"):
        from_csv(text.replace(before, after))
