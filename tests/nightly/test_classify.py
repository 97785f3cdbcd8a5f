"""The shipped classifier, and the command that labels with it on a fresh machine."""

from __future__ import annotations

import ast
import json
import re
import shutil
import sys
import tomllib
from typing import TYPE_CHECKING

import numpy as np
import pytest

from support import CATALOG, assert_clean_error, execute, rows, run_embers
from torch_embers import packages, resources
from torch_embers.classify import card
from torch_embers.classify import model as models
from torch_embers.classify.embedding.embed import load_embedder
from torch_embers.classify.features import Item
from torch_embers.classify.labels import bodies, wild
from torch_embers.classify.questions import NOT, questions
from torch_embers.classify.text import read
from torch_embers.taxonomy import Taxonomy

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(scope="module")
def shipped() -> models.Classifier:
    return models.load(models.shipped_folder())


def test_the_shipped_classifier_is_small_and_knows_the_taxonomy(shipped: models.Classifier) -> None:
    folder = models.shipped_folder()
    assert sum(p.stat().st_size for p in folder.rglob("*") if p.is_file()) < 4 * 2**20
    assert shipped.about.taxonomy == Taxonomy.load().digest
    asked = {question.name: question for question in questions(Taxonomy.load()) if not question.only}
    for name, one in shipped.about.questions.items():
        assert set(one.classes) <= {*asked[name].classes, NOT}
    assert {name for name in asked if name.startswith("memory_subtype")} <= set(shipped.about.questions)


def test_the_card_is_that_of_the_shipped_classifier(shipped: models.Classifier) -> None:
    assert (models.shipped_folder() / card.FILE).read_text(encoding="utf-8") == card.text(shipped), "run `make model`"


def test_every_high_confidence_held_on_two_samples(shipped: models.Classifier) -> None:
    high = [cut for cut in shipped.about.cuts if cut.confidence == "high"]
    assert high
    for cut in high:
        assert all(one.items >= 25 and one.right >= 0.9 * one.items for one in cut.measured)
        assert {one.sample for one in cut.measured} == {"titles", "bodies"}


def test_it_learned_nothing_of_what_is_kept_apart(shipped: models.Classifier) -> None:
    apart = {item.number for item in wild.load() if item.part != "development" and item.number}
    apart |= {answer.number for answer in bodies.load() if answer.part == "test"}
    learned = {int(key.partition("#")[2]) for own in shipped.about.held_out.values() for key in own}
    assert not learned & apart
    assert len(learned) > 1_000


def test_the_shipped_classifier_answers_an_item_the_same_alone_and_in_a_batch(shipped: models.Classifier) -> None:
    lines, encoder = resources.data_file("catalog.jsonl").read_text("utf-8").splitlines(), load_embedder(threads=1)
    items = [Item(read(json.loads(line)["title"], None)) for line in lines[::20]]
    vectors = encoder.encode([item.text.title for item in items])
    columns = shipped.features.rows(items, vectors, vectors)
    batch = shipped.probabilities(columns)
    alone = [shipped.probabilities([one]) for one in columns]
    for name, probabilities in batch.items():
        assert np.vstack([one[name] for one in alone]) == pytest.approx(probabilities, abs=1e-5), name


def test_the_scores_that_the_pages_show_are_of_the_shipped_classifier(shipped: models.Classifier) -> None:
    scores = resources.CHECKOUT_DIR / "analysis" / "results" / "classifier" / "test.json"
    assert json.loads(scores.read_text("utf-8"))["classifier"] == shipped.version


def test_every_package_that_labels_need_is_looked_for_before_it_is_imported() -> None:
    with (resources.CHECKOUT_DIR / "pyproject.toml").open("rb") as stream:
        always = {name.partition(">")[0].lower() for name in tomllib.load(stream)["project"]["dependencies"]}
    labelling, training = set(), set()
    for folder in ("classify", "evaluate", "label"):
        for path in (resources.CHECKOUT_DIR / "pipeline" / "torch_embers" / folder).rglob("*.py"):
            found = training if path.name in ("train.py", "torch_embedder.py") or folder == "evaluate" else labelling
            for node in ast.walk(ast.parse(path.read_text("utf-8"))):
                if isinstance(node, ast.Import):
                    found |= {name.name.partition(".")[0] for name in node.names}
                elif isinstance(node, ast.ImportFrom):
                    found.add(str(node.module).partition(".")[0])
    own = {"torch_embers", *sys.stdlib_module_names}
    assert labelling - own - always <= set(packages.EXTRAS["classify"])
    with_sentence_transformers = {"transformers"}
    known = {*packages.EXTRAS["classify"], *packages.EXTRAS["train"], *with_sentence_transformers}
    assert training - own - always <= known


def test_the_second_draw_is_for_development_alone_and_unlike_what_is_tested() -> None:
    def words(title: str) -> set[str]:
        return set(re.sub(r"\W+", " ", title.lower()).split())

    again = [item for item in wild.load() if not item.two_read]
    assert len(again) >= 1_000
    assert {item.part for item in again if item.sample != wild.TARGETED} == {"development"}
    tested = [(item, words(item.title)) for item in wild.load() if item.part != "development"]
    for item in again:
        own = words(item.title)
        others = [title for one, title in tested if one.two_read or item.part == "development"]
        assert all(2 * len(own & other) < len(own | other) for other in others), item.title


# ---- the command ---------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def labelled(classified_template: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A catalog-only database that was classified with the shipped classifier."""
    return shutil.copy(classified_template, tmp_path_factory.mktemp("classify") / "e.duckdb")


def test_a_fresh_machine_gives_every_item_a_label_in_every_scheme_that_applies(labelled: Path) -> None:
    counted = dict(rows(labelled, "SELECT scheme, count(DISTINCT number) FROM predictions GROUP BY ALL"))
    assert counted["bug_type"] == CATALOG
    kinds = "SELECT value, count(*) FROM predictions WHERE scheme = 'bug_type' GROUP BY ALL"
    by_class = dict(rows(labelled, kinds))
    assert counted["memory_type"] == counted["memory_subtype"] == by_class["memory"]
    assert counted["consequence"] >= CATALOG - by_class["not_a_bug"]
    levels = rows(labelled, "SELECT DISTINCT confidence FROM predictions ORDER BY ALL")
    assert levels == [("high",), ("low",), ("medium",)]


def test_an_item_can_have_several_backends(labelled: Path) -> None:
    backends = "SELECT count(value) AS n FROM predictions WHERE scheme = 'backend' GROUP BY repo, number"
    assert rows(labelled, f"SELECT max(n) >= 2 FROM ({backends})") == [(True,)]
    assert rows(labelled, f"SELECT count(*) FROM predictions WHERE value = '{NOT}'") == [(0,)]


def test_a_label_is_explained_by_terms_and_nearest_labelled_items(labelled: Path) -> None:
    done = run_embers("classify", "--explain", "67513", "--database", str(labelled))
    assert done.returncode == 0, done.stderr
    assert re.search(r"memory_type: non_contiguous, probability 0\.\d\d, confidence \w+, by a model", done.stdout)
    assert "by label-correctness (module: correctness (silent))" in done.stdout
    assert re.search(r"terms: .*\bcontiguous \+0\.", done.stdout)
    assert done.stdout.count("bug_type=") >= 3


def test_counts_by_class_and_confidence_and_examples_are_printed(labelled: Path) -> None:
    done = run_embers("classify", "--database", str(labelled))
    lines = done.stdout.splitlines()
    assert lines[0] == "0 items labelled, 0 texts embedded"
    assert any(re.fullmatch(r"bug_type +labels +high +medium +low", line) for line in lines)
    assert any(re.match(r"  memory +\d+ +\d+ +\d+ +\d+$", line) for line in lines)
    assert len([line for line in lines if line.startswith("  pytorch/pytorch#")]) == 3


@pytest.mark.parametrize(
    ("name", "scheme", "value"),
    [
        ("non-contiguity", "memory_type", "non_contiguous"),
        ("segfault", "memory_type", "segment_fault"),
        ("indexing", "memory_type", "indexing"),
        ("silent correctness", "consequence", "silent_correctness"),
    ],
)
def test_classes_of_the_study_are_found_by_their_plain_names(
    labelled: Path, name: str, scheme: str, value: str
) -> None:
    found = json.loads(run_embers("list", "--class", name, "--json", "--database", str(labelled)).stdout)
    assert found
    assert all(any(own.endswith(f"={value}") for own in row["classes"]) for row in found)
    assert name in " ".join(run_embers("list", "--help").stdout.split())
    exact = ("list", "--class", f"{scheme}={value}", "--json", "--database", str(labelled))
    assert len(json.loads(run_embers(*exact).stdout)) <= len(found)


def test_similar_and_search_find_by_meaning(labelled: Path) -> None:
    near = run_embers("search", "--like", "118115", "-k", "5", "--database", str(labelled))
    assert near.returncode == 0, near.stderr
    assert "MPS" in near.stdout
    found = run_embers("search", "loss becomes NaN", "-k", "8", "--database", str(labelled), HF_HUB_OFFLINE="1")
    assert found.returncode == 0, found.stderr
    assert "nan" in found.stdout.lower()


def test_an_unknown_item_or_classifier_is_one_clean_line(labelled: Path) -> None:
    for option, named, word in (("--explain", "999999", "not in the database"), ("--model", "nowhere", "nowhere")):
        done = run_embers("classify", option, named, "--database", labelled, HF_HUB_OFFLINE="1")
        assert_clean_error(done, 3, word)


def test_a_replay_keeps_what_people_labelled(catalog_database: Path) -> None:
    database = catalog_database
    execute(
        database,
        "INSERT INTO gold_labels (repo, number, scheme, value, annotator_kind, annotator, source) "
        "VALUES ('pytorch/pytorch', 67513, 'bug_type', 'memory', 'human', 'somebody', 'label')",
    )
    counts = "SELECT annotator_kind, count(*) FROM gold_labels GROUP BY ALL ORDER BY ALL"
    before = rows(database, counts)
    assert run_embers("mine", "--replay", "--database", str(database)).returncode == 0
    assert rows(database, counts) == before
    assert ("human", 1) in before
