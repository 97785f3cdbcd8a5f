"""Tables and figures of the study: every query against a database counted by hand, and what is computed from its rows.

The database is that of mini_study.py. Its samples: patched bugs to July 2024 are 10, 40, 60 and 70; to June 2026 also
100; candidates are 10, 20, 26, 30, 40, 50, 60, 70, 80, 100, 110, 115 and 120.
"""

from __future__ import annotations

import math
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import mini_study
from torch_embers import resources
from torch_embers.classify.evaluation.confusions import Confusion
from torch_embers.errors import InputError
from torch_embers.study import population
from torch_embers.study.exhibits import definitions, make
from torch_embers.study.exhibits import table as tables
from torch_embers.study.exhibits.derive import derive
from torch_embers.study.statistics import prevalence

if TYPE_CHECKING:
    from collections.abc import Iterator

    import duckdb

    from torch_embers.study.exhibits.definitions import Exhibit
    from torch_embers.study.exhibits.table import Row

ANALYSIS = Path(__file__).resolve().parent.parent / "analysis"
QUERIES = {path.stem: path for kind in ("tables", "figures") for path in sorted((ANALYSIS / kind).glob("*.sql"))}
EXHIBITS = {exhibit.id: exhibit for exhibit in definitions.load()}
LIMITS = population.Limits(least_share=5, least_group=8, least_statement=20)
NOTHING: tuple[Any, ...] = ()

NC, SF, MF = "non_contiguous", "segment_fault", "memory_format"
SILENT, RUNTIME, NESTED = "silent_correctness", "runtime_error", "nested or distributed tensors"
EXPECTED: dict[str, list[tuple[Any, ...]]] = {
    # closed issues of the data path to July 2024: 10 25 26 40 50 60 70 90, later 100 120; by their labels bugs:
    # 10 40 50 60 70, later 100 120 (25 is only triaged, 26 has no label, 90 was declined); with a patch all but 50, 120
    "funnel": [
        ("paper", "closed issues of the data path", 8),
        ("paper", "reporting a bug", 5),
        ("paper", "patched", 4),
        ("today", "closed issues of the data path", 10),
        ("today", "reporting a bug", 7),
        ("today", "patched", 5),
    ],
    # memory: 10 40 70 (paper), and 100 (today), and 30 50 80; logical: 60, and 110; data type: 20; 26 115 120: no label
    "table_1": [
        ("candidates", "memory", "MEMORY", 7, 10),
        ("candidates", "logical", "LOGICAL", 2, 10),
        ("candidates", "data_type", "DATA_TYPE", 1, 10),
        ("candidates", "other", "OTHER", 0, 10),
        ("paper", "memory", "MEMORY", 3, 4),
        ("paper", "logical", "LOGICAL", 1, 4),
        ("paper", "data_type", "DATA_TYPE", 0, 4),
        ("paper", "other", "OTHER", 0, 4),
        ("today", "memory", "MEMORY", 4, 5),
        ("today", "logical", "LOGICAL", 1, 5),
        ("today", "data_type", "DATA_TYPE", 0, 5),
        ("today", "other", "OTHER", 0, 5),
    ],
    # of the non-contiguity bugs 10 30 40 70 only 10 has a sub-type, of the faults 50 100 only 50, and 80 has none
    "table_2": [
        ("candidates", MF, "channel_management", "CHANNEL_MANAGEMENT", 0, 0),
        ("candidates", NC, "cuda_limitation", "CUDA_LIMITATION", 1, 1),
        ("candidates", NC, "channel_management", "CHANNEL_MANAGEMENT", 0, 1),
        ("candidates", SF, "invalid_memory_address", "INVALID_MEMORY_ADDRESS", 1, 1),
        ("paper", NC, "cuda_limitation", "CUDA_LIMITATION", 1, 1),
        ("paper", NC, "channel_management", "CHANNEL_MANAGEMENT", 0, 1),
        ("today", NC, "cuda_limitation", "CUDA_LIMITATION", 1, 1),
        ("today", NC, "channel_management", "CHANNEL_MANAGEMENT", 0, 1),
        ("today", SF, "invalid_memory_address", "INVALID_MEMORY_ADDRESS", 0, 0),
    ],
    # strict parts count twice: as data path, and by themselves; 2.1.2 and 2.9.1 hold nothing but other lines
    "figure_1": [
        ("python lines of wheels", "1.13.1", date(2022, 12, 15), "computation", 100),
        ("python lines of wheels", "1.13.1", date(2022, 12, 15), "data_path", 10 + 20),
        ("python lines of wheels", "1.13.1", date(2022, 12, 15), "data_path_strict", 10),
        ("python lines of wheels", "2.10.0", date(2026, 1, 21), "computation", 130),
        ("python lines of wheels", "2.10.0", date(2026, 1, 21), "data_path", 15),
        ("python lines of wheels", "2.10.0", date(2026, 1, 21), "data_path_strict", 15),
    ],
    # 70 has no date of its own: by its number it is of July 2023
    "figure_2": [
        ("candidates", 2019, 1, "memory", 1, 1),
        ("candidates", 2020, 1, "data_type", 1, 2),  # 20
        ("candidates", 2020, 1, "memory", 1, 2),  # 30
        ("candidates", 2021, 1, "memory", 1, 1),
        ("candidates", 2022, 2, "memory", 1, 1),
        ("candidates", 2023, 1, "logical", 1, 1),
        ("candidates", 2023, 2, "memory", 1, 1),
        ("candidates", 2024, 1, "memory", 1, 1),
        ("candidates", 2024, 2, "memory", 1, 1),
        ("candidates", 2025, 1, "logical", 1, 1),
        ("paper", 2019, 1, "memory", 1, 1),
        ("paper", 2021, 1, "memory", 1, 1),
        ("paper", 2023, 1, "logical", 1, 1),
        ("paper", 2023, 2, "memory", 1, 1),
        ("today", 2019, 1, "memory", 1, 1),
        ("today", 2021, 1, "memory", 1, 1),
        ("today", 2023, 1, "logical", 1, 1),
        ("today", 2023, 2, "memory", 1, 1),
        ("today", 2024, 2, "memory", 1, 1),
    ],
    "figure_3": [
        ("candidates", "memory", 7, 10),
        ("candidates", "logical", 2, 10),
        ("candidates", "data_type", 1, 10),
        ("paper", "memory", 3, 4),
        ("paper", "logical", 1, 4),
        ("today", "memory", 4, 5),
        ("today", "logical", 1, 5),
    ],
    # 11 (2019, two parts by its files) fixes 10 and 30 and counts once; 41 and 71 have no files: the parts of 40 and
    # 70; 101 has files of computation only: the part of 100; the patch of 60 is a commit, which has no number
    "figure_4": [
        ("candidates", 2019, 1, "sparse", 1),
        ("candidates", 2019, 1, "storage", 1),
        ("candidates", 2021, 1, "nested", 1),
        ("candidates", 2021, 1, "sparse", 1),
        ("candidates", 2023, 2, "serialization", 1),
        ("candidates", 2024, 2, "sparse", 1),
        ("paper", 2019, 1, "sparse", 1),
        ("paper", 2019, 1, "storage", 1),
        ("paper", 2021, 1, "nested", 1),
        ("paper", 2021, 1, "sparse", 1),
        ("paper", 2023, 2, "serialization", 1),
        ("today", 2019, 1, "sparse", 1),
        ("today", 2019, 1, "storage", 1),
        ("today", 2021, 1, "nested", 1),
        ("today", 2021, 1, "sparse", 1),
        ("today", 2023, 2, "serialization", 1),
        ("today", 2024, 2, "sparse", 1),
    ],
    # candidates: 10 30 40 70, 50 100, 80: seven memory bugs with a type
    "figure_5": [
        ("candidates", NC, "", 3, 4, 7),
        ("candidates", NC, "cuda_limitation", 1, 4, 7),
        ("candidates", SF, "", 1, 2, 7),
        ("candidates", SF, "invalid_memory_address", 1, 2, 7),
        ("candidates", MF, "", 1, 1, 7),
        ("paper", NC, "", 2, 3, 3),
        ("paper", NC, "cuda_limitation", 1, 3, 3),
        ("today", NC, "", 2, 3, 4),
        ("today", NC, "cuda_limitation", 1, 3, 4),
        ("today", SF, "", 1, 1, 4),
    ],
    # crashes: 10 30 50 100; silent: 40 70 80
    "figure_6": [
        ("candidates", NC, "crash", 2, 4),
        ("candidates", NC, SILENT, 2, 4),
        ("candidates", SF, "crash", 2, 2),
        ("candidates", MF, SILENT, 1, 1),
        ("paper", NC, SILENT, 2, 3),
        ("paper", NC, "crash", 1, 3),
        ("today", NC, SILENT, 2, 3),
        ("today", NC, "crash", 1, 3),
        ("today", SF, "crash", 1, 1),
    ],
    # 40 is about nested tensors
    "figure_7": [
        ("candidates", "all", "crash", 2, 4),
        ("candidates", "all", SILENT, 2, 4),
        ("candidates", NESTED, SILENT, 1, 1),
        ("paper", "all", SILENT, 2, 3),
        ("paper", "all", "crash", 1, 3),
        ("paper", NESTED, SILENT, 1, 1),
        ("today", "all", SILENT, 2, 3),
        ("today", "all", "crash", 1, 3),
        ("today", NESTED, SILENT, 1, 1),
    ],
    # left out: 20, closed on an unknown day without a patch, and 80, a pull request
    "time_to_patch": [
        (10, "memory", NC, "crash", True, 10.0),  # 1 to 11 March 2019
        (26, None, None, None, False, 47.0),  # closed: 15 June to 1 August 2020, 15 + 31 + 1
        (30, "memory", NC, "crash", True, 0.0),  # its patch is older than it
        (40, "memory", NC, SILENT, True, 20.0),
        (50, "memory", SF, "crash", False, 31.0),  # closed: August 2022
        (60, "logical", None, RUNTIME, True, 30.0),  # the commit
        (70, "memory", NC, SILENT, True, 18.25),  # 365 days from 60 to 80: 11/20 - 10/20 of them
        (100, "memory", SF, "crash", True, 11.0),
        (110, "logical", None, None, False, 30.0),  # open: looked up on 31 March 2025
        (115, None, None, None, False, 395.0),  # open: to the end of the study, 365 + 30 of June 2026
        (120, None, None, None, False, 10.0),
    ],
    # pairs that both labelled; the paper's labels were known to the others; 40: a person against both
    "agreement": [
        ("bug_type", "guide-1", "guide-2", "logical", "data_type", 1),  # 20
        ("bug_type", "guide-1", "guide-2", "logical", "logical", 2),  # 40 110
        ("bug_type", "guide-1", "guide-2", "memory", "memory", 3),  # 10 30 60
        ("bug_type", "guide-1", "guide-2", "memory", "other", 1),  # 70
        ("bug_type", "guide-1", "guide-3", "memory", "memory", 1),  # 70
        ("bug_type", "guide-1", "person", "logical", "memory", 1),
        ("bug_type", "guide-2", "guide-3", "other", "memory", 1),  # 70
        ("bug_type", "guide-2", "person", "logical", "memory", 1),
        ("consequence", "guide-1", "guide-2", "crash", "crash", 1),  # 10
        ("consequence", "guide-1", "guide-2", SILENT, SILENT, 1),  # 40
        ("memory_type", "guide-1", "guide-2", NC, NC, 1),  # 10
        ("memory_type", "guide-1", "guide-2", SF, NC, 1),  # 40
    ],
    # predicted: candidates without a label (26 115 120); labelled: the other candidates
    "prevalence": [
        ("bug_type", "memory", 2, 7),
        ("bug_type", "logical", 1, 2),
        ("bug_type", "data_type", 0, 1),
        ("bug_type", "other", 0, 0),
        ("consequence", "crash", 1, 4),
        ("consequence", SILENT, 0, 3),
        ("consequence", RUNTIME, 0, 1),
        ("memory_type", NC, 0, 4),
        ("memory_type", SF, 0, 2),
        ("memory_type", MF, 1, 1),
    ],
    # after July 2024: 110 115 120; n of backends: 10 100, later all three
    "changed_since": [
        ("backend", "cuda", 2, 2, 1, 3),
        ("backend", "inductor", 0, 2, 2, 3),
        ("backend", "cpu", 1, 2, 0, 3),
        ("backend", "mps", 0, 2, 1, 3),
        ("bug_type", "memory", 7, 9, 0, 1),
        ("bug_type", "logical", 1, 9, 1, 1),
        ("bug_type", "data_type", 1, 9, 0, 1),
        ("consequence", "crash", 4, 8, 0, 0),
        ("consequence", SILENT, 3, 8, 0, 0),
        ("consequence", RUNTIME, 1, 8, 0, 0),
        ("memory_type", NC, 4, 7, 0, 0),
        ("memory_type", SF, 2, 7, 0, 0),
        ("memory_type", MF, 1, 7, 0, 0),
    ],
    "backends": [
        ("candidates", 2019, 1, "cpu", 1, 1),  # 10
        ("candidates", 2019, 1, "cuda", 1, 1),
        ("candidates", 2024, 2, "cuda", 1, 1),  # 100
        ("candidates", 2025, 1, "cuda", 1, 2),  # 110
        ("candidates", 2025, 1, "inductor", 2, 2),  # 110 115
        ("candidates", 2025, 2, "mps", 1, 1),  # 120
    ],
    # 2.9.1 stands before 2.10.0; rest: 60 110 120 999
    "releases": [
        ("1.13.1", date(2022, 12, 15), "memory", 4, 5),  # 10 30 40 70, not 50
        ("1.13.1", date(2022, 12, 15), "rest", 1, 2),  # 120, not 60
        ("2.1.2", date(2023, 12, 14), "memory", 2, 5),  # 40 100, not 10 30 70
        ("2.1.2", date(2023, 12, 14), "rest", 0, 1),
        ("2.9.1", date(2025, 11, 12), "memory", 0, 3),  # not 40 80 100
        ("2.9.1", date(2025, 11, 12), "rest", 1, 1),  # 110
        ("2.10.0", date(2026, 1, 21), "memory", 3, 6),  # 40 50 80, not 10 30 100
        ("2.10.0", date(2026, 1, 21), "rest", 1, 2),  # 999, not 110
    ],
    # on 2.10.0: 40 50 80 occur, 10 30 100 110 do not; open are 30 and 110; the database does not hold 999
    "still_occurring": [
        ("2.10.0", "all", "all", "closed", 3, 5),
        ("2.10.0", "all", "all", "open", 0, 2),
        ("2.10.0", "bug_type", "logical", "open", 0, 1),
        ("2.10.0", "bug_type", "memory", "closed", 3, 5),
        ("2.10.0", "bug_type", "memory", "open", 0, 1),
        ("2.10.0", "consequence", "crash", "closed", 1, 3),  # 50, not 10 100
        ("2.10.0", "consequence", "crash", "open", 0, 1),
        ("2.10.0", "consequence", SILENT, "closed", 2, 2),  # 40 80
        ("2.10.0", "memory_type", MF, "closed", 1, 1),
        ("2.10.0", "memory_type", NC, "closed", 1, 2),  # 40, not 10
        ("2.10.0", "memory_type", NC, "open", 0, 1),
        ("2.10.0", "memory_type", SF, "closed", 1, 2),  # 50, not 100
    ],
    # reported after 1.13.1 came out, 15 December 2022; 80 is back on the newest release
    "first_fixed_release": [
        (70, "memory", NC, SILENT, date(2023, 7, 2), True, 165),  # to 14 December 2023: 29 + 31 + 30 + 31 + 30 + 14
        (80, "memory", MF, SILENT, date(2024, 1, 1), False, 751),  # to 21 January 2026: 366 + 365 + 20
        (100, "memory", SF, "crash", date(2024, 7, 30), True, 470),  # to 12 November 2025: 365 + 1 + 31 + 30 + 31 + 12
        (110, "logical", None, None, date(2025, 3, 1), True, 326),  # to 21 January 2026: 365 - 39
        (120, None, None, None, date(2025, 9, 1), True, 0),  # gone before
    ],
}


@pytest.fixture(scope="module")
def prepared() -> Iterator[duckdb.DuckDBPyConnection]:
    """The database counted by hand, with the tables that exhibits stand on."""
    connection = mini_study.prepared()
    yield connection
    connection.close()


# ---- the queries -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", QUERIES)
def test_a_query_counts_what_was_counted_by_hand(prepared: duckdb.DuckDBPyConnection, name: str) -> None:
    found = tables.query(prepared, EXHIBITS[name])
    assert [tuple(row.values()) for row in found] == EXPECTED[name]


def test_every_query_is_an_exhibit_and_was_counted_by_hand() -> None:
    assert set(QUERIES) == set(EXHIBITS) == set(EXPECTED)
    assert all(ANALYSIS.joinpath(*exhibit.query).is_file() for exhibit in EXHIBITS.values())


@pytest.mark.parametrize("name", QUERIES)
def test_a_query_begins_with_what_it_answers(name: str) -> None:
    first, *_ = QUERIES[name].read_text(encoding="utf-8").split("\n")
    assert first.startswith("-- ")
    said = first.removeprefix("-- ")
    assert "?" in said or said.startswith(("Table ", "The study's stages")), said
    assert EXHIBITS[name].question.endswith("?")


def test_lines_of_a_clone_go_before_those_of_wheels() -> None:
    found = tables.query(mini_study.prepared(clone=True), EXHIBITS["figure_1"])
    assert [tuple(row.values()) for row in found] == [
        ("clone", "v1.3.0", date(2019, 10, 10), "computation", 1000),
        ("clone", "v1.3.0", date(2019, 10, 10), "data_path", 110),
        ("clone", "v1.3.0", date(2019, 10, 10), "data_path_strict", 100),
        ("clone", "v2.4.0", date(2024, 7, 24), "computation", 3000),
        ("clone", "v2.4.0", date(2024, 7, 24), "data_path", 500),
    ]


@pytest.mark.parametrize("name", QUERIES)
def test_a_query_on_an_empty_database_finds_nothing_and_does_not_fail(name: str) -> None:
    connection = mini_study.empty()
    population.prepare(connection, population.load(mini_study.AS_OF))
    found = derive(EXHIBITS[name], tables.query(connection, EXHIBITS[name]), LIMITS)
    if name in ("figure_1", "releases"):  # lines of wheels and the matrix come with embers
        assert found.rows
    elif name not in ("funnel", "prevalence"):
        assert (found.rows, found.notes) == ((), (f"nothing to show; missing: {EXHIBITS[name].empty}",))


def test_a_query_that_fails_is_named() -> None:
    with pytest.raises(InputError, match=r"analysis/tables/table_1\.sql: "):
        tables.query(mini_study.empty(), EXHIBITS["table_1"])


def test_all_exhibits_of_the_database_at_once_say_how_many_and_how_selected() -> None:
    with mini_study.small_facts():
        study = make.make(mini_study.database(), population.load(mini_study.AS_OF))
    assert study.sizes == {"paper": 4, "today": 5, "candidates": 13}
    # the numbers 1 to 120 of the tracker: all items but 130, of them 45 deleted and so not the last
    assert (study.frame.known, study.frame.numbers, study.frame.census) == (22, 120, False)
    assert study.verdicts == (8, 15)
    assert [table.exhibit.id for table in study.tables] == list(EXHIBITS)
    for table in study.tables:
        if table.exhibit.counts in ("samples", "candidates"):
            assert table.notes[1] == "selected sample: 22 of 120 numbers of the tracker up to June 2026"
        if table.exhibit.counts == "samples":
            assert table.notes[0] == "patched bugs to July 2024: 4; patched bugs to today: 5; all candidates: 13"
        if table.exhibit.counts == "candidates":
            assert table.notes[0] == "13 candidates"
        if table.exhibit.counts == "cases":
            assert table.notes[0].endswith(": 8 verdicts of this database, 15 of the shipped matrix")
    with pytest.raises(KeyError):
        study.table("figure_99")
