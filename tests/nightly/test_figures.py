"""Tables and figures of the study: every query against a database counted by hand, and what is computed from its rows.

The database is that of mini_study.py. Its samples: patched bugs to July 2024 are 10, 40, 60 and 70; to June 2026 also
100; candidates are 10, 20, 26, 30, 40, 50, 60, 70, 80, 100, 110, 115 and 120.
"""

from __future__ import annotations

from datetime import date

import numpy as np
import pytest

import mini_study
from torch_embers.classify.confusions import Confusion
from torch_embers.errors import InputError
from torch_embers.study import prevalence, samples
from torch_embers.study.figures import definitions, display, make
from torch_embers.study.figures import table as tables
from torch_embers.study.prevalence import Prevalence

FIGURES = {definition.id: definition for definition in definitions.load()}


def test_a_case_that_nobody_could_compare_is_not_the_reports_own(monkeypatch: pytest.MonkeyPatch) -> None:
    occurs = [(*row[:3], "occurs") if row[0] == "c110" else row for row in mini_study.MATRIX]
    monkeypatch.setattr(mini_study, "MATRIX", occurs)
    connection = mini_study.database()
    connection.execute("UPDATE case_items SET relation = NULL WHERE number = 110")
    with mini_study.small_facts():
        samples.prepare(connection, samples.load(mini_study.AS_OF))
    found = [tuple(row.values()) for row in tables.query(connection, FIGURES["still_occurring"])]
    assert ("2.10.0", "all", "all", "open, case of another input", 1, 1) in found
    assert not [row for row in found if row[3] == "open"]


def test_lines_of_a_clone_go_before_those_of_wheels() -> None:
    found = tables.query(mini_study.prepared(clone=True), FIGURES["figure_1"])
    assert [tuple(row.values()) for row in found] == [
        ("clone", "v1.3.0", date(2019, 10, 10), "computation", 1000),
        ("clone", "v1.3.0", date(2019, 10, 10), "data_path", 110),
        ("clone", "v1.3.0", date(2019, 10, 10), "data_path_strict", 100),
        ("clone", "v2.4.0", date(2024, 7, 24), "computation", 3000),
        ("clone", "v2.4.0", date(2024, 7, 24), "data_path", 500),
    ]


def test_an_empty_database_has_no_rows_and_every_figure_names_what_is_missing() -> None:
    with mini_study.small_facts():
        study = make.make(mini_study.empty(), samples.load(mini_study.AS_OF))
    for made in study.tables:
        if made.definition.id == "figure_1":  # lines of wheels come with embers
            assert made.rows
        elif made.definition.id == "funnel":
            assert [row["k"] for row in made.rows] == [0] * 6
        elif made.definition.id == "prevalence":
            assert made.rows == ()
            assert made.notes[2:] == tuple(
                f"{scheme}: insufficient data: 0 predictions, 100 are needed"
                for scheme in ("bug_type", "consequence", "memory_type")
            )
        else:
            assert made.rows == ()
            assert made.notes[-1] == f"nothing to show; missing: {made.definition.empty}"


def test_a_query_that_fails_is_named() -> None:
    with pytest.raises(InputError, match=r"analysis/tables/table_1\.sql: "):
        tables.query(mini_study.empty(), FIGURES["table_1"])


def test_all_figures_of_the_database_at_once_say_how_many_and_how_selected() -> None:
    with mini_study.small_facts():
        study = make.make(mini_study.database(), samples.load(mini_study.AS_OF))
    assert study.sizes == {"paper": 4, "today": 5, "candidates": 13}
    # the numbers 1 to 120 of the tracker: all items but 130, of them 45 deleted and so not the last
    assert (study.frame.known, study.frame.numbers, study.frame.census) == (22, 120, False)
    assert study.verdicts == (8, 18)
    assert [table.definition.id for table in study.tables] == list(FIGURES)
    for table in study.tables:
        if table.definition.counts in ("samples", "candidates"):
            assert table.notes[1] == "selected sample: 22 of 120 numbers of the tracker up to June 2026"
        if table.definition.counts == "samples":
            assert table.notes[0] == "patched bugs to July 2024: 4; patched bugs to June 2026: 5; all candidates: 13"
        if table.definition.counts == "candidates":
            assert table.notes[0] == "13 candidates"
        if table.definition.counts == "cases":
            assert table.notes[0].endswith(" 8 of this database and 18 of the shipped matrix")
    names, rows = display.display(study.table("table_1"), study.plan, ["definition"])
    assert names == ("class", "paper_name", "patched bugs to July 2024", "patched bugs to June 2026", "all candidates")
    assert rows[0][2:] == ("3 of 4", "4 of 5 (80.0 % [37.6, 96.4])", "7 of 10 (70.0 % [39.7, 89.2])")


def test_the_interval_holds_the_true_shares_about_as_often_as_it_says() -> None:
    """Gold of another mix than the population; the raw shares are far off, the corrected ones are not."""
    rates = np.array([[0.8, 0.15, 0.05], [0.1, 0.7, 0.2], [0.05, 0.15, 0.8]])
    truth, gold, trials = np.array([0.1, 0.3, 0.6]), [60, 50, 40], 200
    random, held, raw, means = np.random.default_rng(5), np.zeros(3), np.zeros(3), np.zeros(3)
    for trial in range(trials):
        counts: list[list[float]] = [
            [float(n) for n in random.multinomial(size, row)] for size, row in zip(gold, rates, strict=True)
        ]
        called = random.multinomial(800, rates.T @ truth).tolist()
        confusion = Confusion("bug_type", ("c0", "c1", "c2"), tuple(map(tuple, counts)))
        found = prevalence.correct(
            confusion, {f"c{n}": count for n, count in enumerate(called)}, samples=200, seed=trial
        )
        assert isinstance(found, Prevalence)
        for at, share in enumerate(found.shares):
            held[at] += share.corrected.low <= truth[at] <= share.corrected.high
            raw[at] += share.raw.low <= truth[at] <= share.raw.high
            means[at] += share.corrected.value / trials
    assert ((held / trials >= 0.90) & (held / trials <= 0.99)).all(), held / trials
    assert (raw / trials).min() < 0.1
    assert means == pytest.approx(truth, abs=0.02)
