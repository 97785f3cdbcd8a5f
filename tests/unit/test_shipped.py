"""The cases and verdicts that come with embers: the texts are those that ran; own verdicts are never taken for them."""

from __future__ import annotations

import csv
import re
from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest
from packaging.version import Version

from support import case_of, rows
from torch_embers import resources
from torch_embers.cases import case, shipped_verdicts
from torch_embers.cli import print_runs
from torch_embers.errors import InputError, StoreBusyError
from torch_embers.run import cases as run_cases
from torch_embers.store import lock
from torch_embers.store.status import status
from torch_embers.store.store import Store
from torch_embers.verdicts import shipped_mark
from torch_embers.verdicts.matrix import MatrixEntry, as_csv
from torch_embers.views import matrix_files

if TYPE_CHECKING:
    from pathlib import Path

COMMITTED = shipped_verdicts.matrix()


@pytest.fixture
def mined(catalog_database: Path) -> Store:
    return Store(catalog_database)


# ---- the file ------------------------------------------------------------------------------------------------------


def test_every_case_is_the_one_whose_verdicts_are_shipped() -> None:
    known = {(row["case"], row["case_hash"]) for row in COMMITTED}
    changed = [one.name for one in case.shipped() if (one.name, one.hash) not in known]
    assert not changed, f"run these, then `embers list --matrix --own --add-to`: {changed}"
    lines = shipped_verdicts.parse(resources.analysis_text(*shipped_verdicts.FILE), "")
    former = {line["case"] for line in lines} - {line["case"] for line in shipped_verdicts.read()}
    assert len(lines) == len(shipped_verdicts.read()), f"lines of a former text: {former}"


def test_no_detectable_rate_stands_beside_an_injected_fault(catalog_database: Path) -> None:
    asked = (
        "SELECT DISTINCT control, verdict, detectable_rate IS NOT NULL FROM verdicts WHERE k = 0 AND n > 0 ORDER BY ALL"
    )
    assert rows(catalog_database, asked) == [("build", "absent", True), ("injected", "not_seen", False)]


def test_no_number_of_verdicts_counts_what_could_not_be_tested(
    mined: Store, capsys: pytest.CaptureFixture[str]
) -> None:
    decided = sum(row["verdict"] != "untestable" for row in COMMITTED)
    assert 0 < decided < len(COMMITTED)
    assert status(mined).rows["verdicts"] == decided
    query = resources.package_file("report", "queries", "builds.sql").read_text(encoding="utf-8")
    assert sum(row[5] for row in rows(mined.path, query)) == decided
    print_runs.print_summary(run_cases.RunSummary({"occurs": 2, "untestable": 3}, [], [], []))
    assert capsys.readouterr().out == "\n2 verdicts: 2 occurs\n3 times a case could not be tested on a build\n"


def test_shipped_verdicts_are_in_order_and_have_one_sweep_per_case_and_release() -> None:
    keys = [(row["case"], Version(row["build"]), row["environment"], row["day"]) for row in shipped_verdicts.read()]
    assert keys == sorted(keys)
    assert len({(row["case"], row["build"]) for row in COMMITTED}) == len(COMMITTED)


def test_what_a_verdict_is_for_follows_from_case_environment_and_day(monkeypatch: pytest.MonkeyPatch) -> None:
    bug = {"case": "a", "case_hash": "1", "build": "2.1.2", "environment": "cpu, X, AVX512, Linux", "verdict": "absent"}
    wide = bug | {"day": "2026-01-02"}
    narrow = bug | {"day": "2026-01-03", "environment": "cpu, X, AVX2, Linux"}
    again = bug | {"day": "2026-01-04"}
    advisory = wide | {"case": "b", "case_hash": "2"}
    monkeypatch.setattr(shipped_verdicts, "read", lambda: [narrow, wide, again, advisory])
    monkeypatch.setattr(case, "shipped", lambda: [replace(case_of(), hash="1")])
    assert shipped_verdicts.matrix() == [wide]
    assert shipped_verdicts.second_batch("2.1.2") == {"1": again}
    assert shipped_verdicts.second_batch("2.2.2") == {}
    occurs = narrow | {"verdict": "occurs"}
    monkeypatch.setattr(shipped_verdicts, "read", lambda: [wide, again, occurs])
    assert shipped_verdicts.matrix() == [occurs], "an earlier absence elsewhere hides no failure"


def test_a_verdict_of_a_former_text_says_nothing_of_the_case(monkeypatch: pytest.MonkeyPatch) -> None:
    former = COMMITTED[0] | {"case_hash": "0" * 32}
    lines = (COMMITTED[0].keys(), former.values(), COMMITTED[0].values())
    text = "".join(",".join(f'"{cell}"' for cell in line) + "\n" for line in lines)
    monkeypatch.setattr(resources, "analysis_text", lambda *_: text)
    assert shipped_verdicts.read() == [COMMITTED[0]]


def entry(build: str, day: int, seen: str) -> MatrixEntry:
    numbers, moment = (3, 3, None, "none", None, 0, 0), datetime(2026, 1, day, 9, tzinfo=UTC)
    return MatrixEntry("a", "", build, "cpu, X", "occurs", numbers[0] < 3, *numbers, seen, moment, "1")


def test_verdicts_are_added_to_a_file_once_and_in_its_order() -> None:
    old, new = [entry("2.9.1", 2, "=1"), entry("2.10.0", 2, "b")], [entry("2.9.1", 3, "c"), entry("2.2.2", 3, "d")]
    first = as_csv(old)
    assert shipped_verdicts.parse(first, "")[0]["seen"] == "'=1", "no formula for a spreadsheet"
    both = as_csv([*old, *new], shipped_verdicts.parse(first, ""))
    assert [(line["build"], line["day"][-1]) for line in shipped_verdicts.parse(both, "")] == [
        ("2.2.2", "3"),
        ("2.9.1", "2"),
        ("2.9.1", "3"),
        ("2.10.0", "2"),
    ]
    assert as_csv(new, shipped_verdicts.parse(both, "")) == both
    changed = [replace(new[0], case_hash="2")]
    assert as_csv(changed, shipped_verdicts.parse(both, "")) == as_csv(changed), "lines of a former text go"


def test_a_former_text_of_a_shipped_case_is_neither_added_nor_takes_lines_of_the_present_one_away(
    tmp_path: Path,
) -> None:
    path = tmp_path / "v.csv"
    present = replace(entry("2.9.1", 2, "b"), case=COMMITTED[0]["case"], case_hash=COMMITTED[0]["case_hash"])
    former, other = replace(present, build="2.2.2", case_hash="0" * 32), entry("2.9.1", 2, "c")
    path.write_text(as_csv([former]), encoding="utf-8")
    assert matrix_files.add_to_file([former, other], path) == [former]
    assert path.read_text(encoding="utf-8") == as_csv([former, other]), "lines in it stay until new ones come"
    assert matrix_files.add_to_file([former, present], path) == [former]
    assert path.read_text(encoding="utf-8") == as_csv([present, other])


def test_two_that_add_to_a_file_lose_no_line(tmp_path: Path) -> None:
    path = tmp_path / "v.csv"
    path.write_text(as_csv([]), encoding="utf-8")
    with (
        lock.writer_lock(path, "another"),
        pytest.raises(StoreBusyError, match=r"v\.csv is being written by `another`"),
    ):
        matrix_files.add_to_file([entry("2.9.1", 2, "b")], path)
    assert path.read_text(encoding="utf-8") == as_csv([])


@pytest.mark.parametrize(
    "wrong",
    [
        {"k": "9"},
        {"k": "x"},
        {"k": "-1"},
        {"k": "0"},
        {"control_k": "1"},
        {"verdict": "Occurs"},
        {"verdict": "absent", "k": "0"},
        {"verdict": "absent", "k": "0", "control": "injected", "control_k": "3", "control_n": "3"},
        {"verdict": "absent", "k": "0", "control": "build", "control_n": "3"},
        {"verdict": "absent", "k": "0", "n": "0", "control": "build", "control_k": "3", "control_n": "3"},
    ],
    ids=str,
)
def test_a_line_whose_numbers_do_not_support_its_verdict_is_refused(wrong: dict[str, str]) -> None:
    lines = list(csv.reader(as_csv([entry("2.9.1", 2, "b")]).splitlines()))
    line = dict(zip(*lines, strict=True)) | wrong
    text = "\n".join(",".join(f'"{cell}"' for cell in row) for row in (line.keys(), line.values()))
    with pytest.raises(InputError, match=r"^v\.csv: a on 2\.9\.1 is said to be .*: correct this line or delete it$"):
        shipped_verdicts.parse(text, "v.csv")


@pytest.mark.parametrize("text", ["", "case,k\n", f"{','.join(shipped_verdicts.FILE_COLUMNS)}\npt1\n"])
def test_what_is_no_file_of_verdicts_is_refused(text: str) -> None:
    with pytest.raises(InputError, match=r"v\.csv: its columns are not case, case_hash"):
        shipped_verdicts.parse(text, "v.csv")


def test_another_text_of_a_shipped_file_is_noticed(mined: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shipped_mark, "_of_files", lambda: b"other")
    assert not shipped_mark.is_current(mined)


@pytest.mark.parametrize("name", ["verdicts/verdict.py", "fixtests/classes.py", "verdicts/matrix.sql"])
def test_code_in_subfolders_counts_as_shipped(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resources, "PACKAGE_DIR", tmp_path)
    path = tmp_path / name
    path.parent.mkdir(parents=True)
    path.write_text("before")
    before = shipped_mark._of_files.__wrapped__()
    path.write_text("after")
    assert shipped_mark._of_files.__wrapped__() != before


def test_cases_stay_absent_with_the_capability_of_their_control_forced() -> None:
    swept = {(row["case"], row["build"]): row for row in COMMITTED}
    pairs = [(row, swept.get((row["case"], row["build"]), row)) for row in shipped_verdicts.read()]
    forced = [
        (row["environment"], row["verdict"], first["verdict"])
        for row, first in pairs
        if row["environment"] != first["environment"]
    ]
    assert Counter(forced) == {(f"cpu, AMD EPYC, {one}, Linux", "absent", "absent"): 28 for one in ("AVX2", "DEFAULT")}


CLOSINGS: list[dict[str, Any]] = resources.load_toml("cannot_reproduce.toml")["closing"]
SHOWING = {one.name: one for one in case.shipped("closing")}
CASES = [one["case"] for one in CLOSINGS if "case" in one]


def test_each_closing_has_a_case_with_what_was_said_or_a_reason() -> None:
    for one in CLOSINGS:
        assert ("case" in one) is not ("reason" in one), one["number"]
        assert ("said" in one) is ("said_on" in one), one["number"]
        assert "case" not in one or "said" in one, one["number"]
    assert sorted(CASES) == sorted(SHOWING)


def test_a_case_is_of_its_issue_and_states_where_it_was_seen() -> None:
    lines = shipped_verdicts.read()
    for one in (one for one in CLOSINGS if "case" in one):
        shown = SHOWING[one["case"]]
        assert shown.issues == (("pytorch/pytorch", one["number"]),)
        seen = [row for row in lines if row["case"] == shown.name]
        assert list(shown.known_bad) == [row["build"] for row in seen if row["verdict"] == "occurs"]


def test_the_shipped_verdicts_hold_no_path_of_a_machine() -> None:
    absolute = re.compile(r"""(^|[\s"'(=:])/[^/\s"':,()]+/""")
    assert [row["case"] for row in shipped_verdicts.read() if absolute.search(row["seen"])] == []
