"""Learners on the same held-out texts: of the catalog, of CSV files."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import numpy as np
import pytest

if TYPE_CHECKING:
    from pathlib import Path

pytest.importorskip("sklearn")

from torch_embers.classify.learning.features import table
from torch_embers.evaluate.compare import Report, compare
from torch_embers.evaluate.csv_evaluation import evaluate_tables, read_table
from torch_embers.evaluate.gold_evaluation import Wanted, evaluate, items

from labelled import embed, examples
from labelled import items as table_of
from support import assert_clean_error, run_embers
from torch_embers.classify.questions import questions
from torch_embers.errors import InputError
from torch_embers.evaluate import plots
from torch_embers.evaluate.learners import Hybrid, Majority, TfidfBaseline, usual
from torch_embers.progress import Silent
from torch_embers.store.store import Store
from torch_embers.taxonomy import Taxonomy


def test_baselines_and_model_are_compared_on_the_same_texts() -> None:
    texts, labels = examples(15)
    learners = (Majority(), TfidfBaseline(balanced=False), TfidfBaseline(), Hybrid())
    report = compare("consequence", table_of(texts), labels, range(len(texts)), learners)
    assert [score.name for score in report.scores] == ["majority", "tfidf+lr", "tfidf+lr balanced", "hybrid"]
    difference = report.score("hybrid").differences["majority"]
    assert not difference.low <= 0 <= difference.high
    assert report.score("majority").macro_f1.value < 0.35
    assert report.texts == sum(report.classes.values()) == 45
    assert len(report.table()) == 4
    json.dumps(report.as_dict())
    with pytest.raises(InputError):
        report.score("nobody")


def test_csv_files_are_evaluated_by_folds_or_on_a_test_file(tmp_path: Path) -> None:
    texts, labels = examples(12)
    for name, start in (("train.csv", 0), ("test.csv", 1)):
        rows = [f'"{text}",{label},{place}' for place, (text, label) in enumerate(zip(texts, labels, strict=True))]
        (tmp_path / name).write_text("\n".join(["text,label,thread", *rows[start::2]]))
    train, test = (read_table(tmp_path / name, ["text"], "label", "thread") for name in ("train.csv", "test.csv"))
    report = evaluate_tables(train, test, embed, [*train.groups, *test.groups])
    assert report.texts == len(test.texts)
    assert evaluate_tables(train, None, embed, train.groups).texts == len(train.texts)
    repeated = evaluate_tables(train, train, embed, [*train.groups, *train.groups])
    assert "18 of 18" in repeated.notes[0]


def test_two_processes_give_the_answers_of_one() -> None:
    texts, labels = examples(12)
    inputs = table_of(texts)
    one, two = (compare("t", inputs, labels, range(len(texts)), usual(), jobs=jobs) for jobs in (1, 2))
    assert one == two


def test_folds_that_are_cut_again_answer_each_text_again() -> None:
    texts, labels = examples(8)
    told: list[int] = []
    report = compare("t", table(texts), labels, range(24), (TfidfBaseline(),), repeats=3, advanced=told.append)
    assert (report.texts, report.groups, report.rounds, sum(told)) == (24, 24, 3, 72)
    assert report.classes == {"crash": 8, "hang": 8, "performance": 8}
    assert sum(map(sum, report.scores[0].confusion)) == 72


@pytest.fixture(scope="module")
def store(catalog_template: Path, tmp_path_factory: pytest.TempPathFactory) -> Store:
    """A database of the catalog alone."""
    return Store(shutil.copy(catalog_template, tmp_path_factory.mktemp("evaluate") / "e.duckdb"))


class Counting(Silent):
    total = done = 0

    def expects(self, total: int | None) -> None:
        self.total += total or 0

    def advanced(self, count: int) -> None:
        self.done += count


def test_each_question_is_measured_or_it_is_said_why_not(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    watcher = Counting()
    monkeypatch.setattr("torch_embers.evaluate.gold_evaluation.usual", lambda: (Majority(),))
    monkeypatch.setattr("torch_embers.evaluate.gold_evaluation.Hybrid", lambda votes: TfidfBaseline())
    found = evaluate(store, Wanted("title"), lambda: embed, watcher)
    measured = {report.task for report in found.reports}
    assert {"bug_type", "memory_type", "consequence"} <= measured
    asked = {question.name for question in questions(Taxonomy.load()) if not question.only}
    assert {line.partition(":")[0] for line in found.skipped} == asked - measured
    assert len(found.reports[0].scores) == 2
    assert watcher.done == watcher.total > 1_000
    assert {one.scheme for one in found.agreements} >= {"bug_type", "consequence"}
    for report in found.reports:
        assert min(report.classes.values()) >= 3


def test_by_time_nothing_is_learned_from_the_future(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    cut = datetime(2023, 1, 1, tzinfo=UTC)
    dates = {item.text: item.gold.created_at for item in items(store, "title")}
    known = {text for text, date in dates.items() if date is not None and date.replace(tzinfo=UTC) < cut}

    class Spy(Majority):
        def answer(self, train, labels, groups, test):
            assert set(train["text"]) <= known
            assert not set(test["text"]) & known
            return super().answer(train, labels, groups, test)

    monkeypatch.setattr("torch_embers.evaluate.gold_evaluation.usual", lambda: (Spy(),))
    monkeypatch.setattr("torch_embers.evaluate.gold_evaluation._with_votes", lambda *_: ())
    wanted = Wanted("title", cut=cut, schemes=("consequence",))
    [report] = evaluate(store, wanted, lambda: embed, Silent()).reports
    assert 100 < report.texts < 400
    assert "before 2023-01-01" in report.notes[-1]


@pytest.fixture(scope="module")
def report() -> Report:
    texts, labels = examples(12)
    return compare("a/b c", table(texts), labels, range(36), (Majority(), TfidfBaseline()))


def test_pictures_and_the_confusion_matrix_are_written_and_repeat_themselves(report: Report, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    first, again = (plots.write(report, tmp_path / name) for name in ("one", "two"))
    assert sorted(path.name for path in first) == [
        "a-b-c-confusion.csv",
        *(f"a-b-c-{what}.{kind}" for what in ("confusion", "coverage", "reliability") for kind in ("png", "svg")),
    ]
    assert [path.read_bytes() for path in first] == [path.read_bytes() for path in again]
    rows = (tmp_path / "one" / "a-b-c-confusion.csv").read_text().splitlines()
    assert rows[0] == "truth,crash,hang,performance"
    assert sum(int(cell) for row in rows[1:] for cell in row.split(",")[1:]) == 36
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="cannot write there"):
        plots.write(report, tmp_path / "file")


def test_a_csv_file_can_be_split_by_its_dates(tmp_path: Path) -> None:
    texts, labels = examples(10)
    days = [f"2020-01-{place % 28 + 1:02}" for place in range(len(texts))]
    rows = [f'"{text}",{label},{day}' for text, label, day in zip(texts, labels, days, strict=True)]
    path = tmp_path / "t.csv"
    path.write_text("\n".join(["text,label,when", *rows, "one more crash,crash,"]))
    table = read_table(path, ["text"], "label", date_column="when")
    assert table.dates[-1] is None
    cut = datetime(2020, 1, 20, tzinfo=UTC)
    found = evaluate_tables(table, None, embed, range(31), cut=cut)
    assert "1 without a date" in found.notes[0]
    with pytest.raises(InputError, match="leave out --test"):
        evaluate_tables(table, table, embed, range(62), cut=cut)
    with pytest.raises(InputError, match="--date-col"):
        evaluate_tables(replace(table, dates=()), None, embed, range(31), cut=cut)
    path.write_text("text,label,when\na,b,yesterday\n")
    with pytest.raises(InputError, match="row 2 has no date in when: 'yesterday'"):
        read_table(path, ["text"], "label", date_column="when")


def test_the_command_prints_writes_and_draws_everything(store: Store, tmp_path: Path) -> None:
    out, folder = tmp_path / "deep" / "e.json", tmp_path / "plots"
    where = ("--database", str(store.path), "--scheme", "memory_type", "--variant", "title")
    done = run_embers("research", "evaluate", *where, "--out", str(out), "--plots", str(folder))
    assert done.returncode == 0, done.stderr
    for words in ("majority", "tfidf+lr balanced", "hybrid+votes - majority", "class by class", "confusion", "kappa"):
        assert words in done.stdout
    kept = json.loads(out.read_text())
    assert kept["about"] == {"split": "folds", "repeats": 1, "variant": "title", "tags": True}
    assert {"reliability", "curve", "confusion", "classes", "differences"} <= kept["reports"][0]["scores"][-1].keys()
    assert len(list(folder.iterdir())) == 7


def test_a_tuned_encoder_brings_texts_of_a_class_together_and_repeats_itself(capfd: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("datasets")
    pytest.importorskip("accelerate")
    from torch_embers.evaluate import tune

    texts, labels = examples(8)
    recipe = tune.contrast.Recipe(rounds=10, batch=8, rate=5e-4, frozen=4, tokens=16)
    known, unseen = tune.tuned_vectors(texts, labels, texts[:3], recipe)
    again, _ = tune.tuned_vectors(texts, labels, texts[:3], recipe)
    assert np.array_equal(known, again)
    assert np.allclose(known[:3], unseen, atol=1e-5)
    assert np.allclose(np.linalg.norm(known, axis=1), 1, atol=1e-5)
    alike = np.equal.outer(labels, labels)
    nearness = known @ known.T
    assert nearness[alike].mean() > nearness[~alike].mean() + 0.2
    with pytest.raises(InputError, match="nothing to tell apart"):
        tune.tuned_vectors(texts, ["one"] * len(texts), [], recipe)
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--split", "random"), ("time:2023-01-01", "random")),
        (("--scheme", "mood"), ("mood",)),
        (("--variant", "haiku"), ("haiku",)),
        (("--date-col", "when"), ("--train",)),
        (("--out", "."), ("--out", "folder")),
        (("--plots", "/dev/null/here"), ("--plots",)),
    ],
)
def test_the_command_refuses_in_one_line(store: Store, arguments: tuple[str, ...], words: tuple[str, ...]) -> None:
    assert_clean_error(run_embers("research", "evaluate", *arguments, "--database", store.path), 3, *words)
