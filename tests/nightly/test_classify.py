"""The stage behind `embers classify`: bundles that cannot be tampered with, a fresh machine's labels, what decides them."""

from __future__ import annotations

import ast
import json
import math
import re
import shutil
import subprocess
import sys
import tomllib
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from torch_embers.classify.bundle import Bundle, shipped_folder
from torch_embers.classify.learning.features import table

from support import assert_clean_error, rows, run_embers
from torch_embers import packages, resources
from torch_embers.classify.card import files
from torch_embers.classify.embedding.embed import load_matching
from torch_embers.classify.labels import wild
from torch_embers.classify.labels.weak import Labeller
from torch_embers.classify.questions import NOT, questions
from torch_embers.classify.text import title_text
from torch_embers.classify.train import DRAWN, GOLD
from torch_embers.store.store import Store
from torch_embers.taxonomy import Taxonomy

if TYPE_CHECKING:
    from pathlib import Path

BY_TITLE = {DRAWN, f"{GOLD}:{wild.TARGETED_BY}"}
"""Sources of items that the catalog does not hold."""


def test_the_shipped_classifier_is_small_and_knows_the_taxonomy() -> None:
    folder = shipped_folder()
    assert sum(p.stat().st_size for p in folder.rglob("*") if p.is_file()) < 17 * 2**20
    shipped = Bundle.load(folder)
    asked = {question.name: question for question in questions(Taxonomy.load())}
    for name, classifier in shipped.classifiers.items():
        assert set(classifier.classes) <= {*asked[name].classes, NOT}
        assert {own.repo for own in shipped.held_out[name]} <= {wild.REPO, *(item.sample for item in wild.load())}
        assert all(row.source.startswith(("gold:", "weak:")) for row in shipped.rows[name])


def test_card_counts_and_confusions_are_those_of_the_shipped_classifier() -> None:
    folder = shipped_folder()
    for name, content in files(Bundle.load(folder)).items():
        assert (folder / name).read_bytes() == content, f"{name}: run `make model`"


def test_it_was_trained_on_the_shipped_catalog_and_taxonomy() -> None:
    shipped = Bundle.load(shipped_folder())
    assert shipped.taxonomy == Taxonomy.load().digest
    lines = resources.data_file("catalog.jsonl").read_text(encoding="utf-8").splitlines()
    catalog = [json.loads(line) for line in lines]
    numbers = {entry["number"] for entry in catalog if "bug_type" in {label["scheme"] for label in entry["taxonomy"]}}
    gold = {row.number: row.source for row in shipped.rows["bug_type"] if row.source.startswith("gold")}
    assert {number for number, source in gold.items() if source not in BY_TITLE} <= numbers
    assert len(shipped.held_out["bug_type"]) >= len(numbers) - 5, "classes of fewer than three items are left out"


def test_it_learned_from_the_development_half_of_the_drawn_items_alone() -> None:
    shipped, titles = Bundle.load(shipped_folder()), {item.place: item.part for item in wild.load()}
    rows = [row for own in shipped.rows.values() for row in own]
    assert {titles[row.repo, row.number] for row in rows if row.source in BY_TITLE} == {"development"}
    assert {titles.get((row.repo, row.number), "") for row in rows if row.source not in BY_TITLE} == {""}


def test_the_shipped_classifier_answers_an_item_the_same_alone_and_in_a_batch() -> None:
    shipped, lines = Bundle.load(shipped_folder()), resources.data_file("catalog.jsonl").read_text("utf-8").splitlines()
    titles = [json.loads(line)["title"] for line in lines[::20]]
    # so plain a wish that other classes have next to nothing left
    titles.append("[Feature request] Add support for documentation of nn.Module")
    texts = [title_text(title) for title in titles]
    items = table(texts, load_matching(shipped.embedding).encode(texts), [[] for _ in texts])
    batch = shipped.probabilities(items)
    alone = [shipped.probabilities(items.iloc[[place]]) for place in range(len(items))]
    for name, probabilities in batch.items():
        assert np.vstack([one[name] for one in alone]) == pytest.approx(probabilities, abs=1e-5), name


def test_every_score_that_the_pages_show_is_of_the_shipped_classifier() -> None:
    scores = resources.CHECKOUT_DIR / "analysis" / "results" / "classifier" / "drawn.json"
    found, shipped = json.loads(scores.read_text("utf-8")), Bundle.load(shipped_folder()).version
    parts = ("development", "again", "test", "targeted", "recent")
    assert {part: found[part]["model"] for part in parts} == dict.fromkeys(parts, shipped)


def test_every_package_that_labels_need_is_looked_for_before_it_is_imported() -> None:
    with (resources.CHECKOUT_DIR / "pyproject.toml").open("rb") as stream:
        always = {name.partition(">")[0].lower() for name in tomllib.load(stream)["project"]["dependencies"]}
    imported, for_tuning = {"matplotlib"}, set()  # matplotlib by drawing.py, for `embers research evaluate`
    for folder in ("classify", "evaluate", "annotate"):
        for path in (resources.CHECKOUT_DIR / "pipeline" / "torch_embers" / folder).rglob("*.py"):
            found = for_tuning if path.name == "contrast.py" else imported
            for node in ast.walk(ast.parse(path.read_text("utf-8"))):
                if isinstance(node, ast.Import):
                    found |= {name.name.partition(".")[0] for name in node.names}
                elif isinstance(node, ast.ImportFrom):
                    found.add(str(node.module).partition(".")[0])
    with_scikit_learn = {"joblib"}
    own = {"torch_embers", *sys.stdlib_module_names}
    assert imported - own - always - with_scikit_learn <= set(packages.EXTRAS["classify"])
    assert for_tuning - own - always <= {*packages.EXTRAS["classify"], *packages.EXTRAS["tune"]}


# ---- items that nobody chose ---------------------------------------------------------------------------------------


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


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"labels": [["bug_type", "gremlins"]]}, "line 2: .*gremlins"),
        ({"key": "2", "number": 2, "part": "recent"}, "no issue of development"),
    ],
    ids=["an unknown class", "nothing to score"],
)
def test_a_file_that_cannot_be_scored_is_one_line(tmp_path: Path, change: dict[str, Any], said: str) -> None:
    one = json.loads(resources.data_file(wild.FILE).read_text(encoding="utf-8").splitlines()[0]) | {"part": "test"}
    (tmp_path / "wild.jsonl").write_text(f"{json.dumps(one)}\n{json.dumps(one | change)}\n")
    command = [sys.executable, resources.CHECKOUT_DIR / "tools" / "drawn_scores.py", "--part", "development"]
    command += ["--items", tmp_path / "wild.jsonl", "--out", tmp_path / "out.json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (3, "", 1)
    assert re.search(said, done.stderr)
    assert not (tmp_path / "out.json").exists()


# ---- the command ---------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def labelled(classified_template: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A catalog-only database that was classified with the shipped classifier."""
    return shutil.copy(classified_template, tmp_path_factory.mktemp("classify") / "e.duckdb")


def test_a_fresh_machine_labels_at_once_and_says_where_it_abstains(labelled: Path) -> None:
    shipped = Bundle.load(shipped_folder()).classifiers
    for scheme in ("bug_type", "memory_type", "consequence"):
        counted = f"SELECT count(value), count(*) - count(value) FROM predictions WHERE scheme = '{scheme}'"
        [(answered, abstained)] = rows(labelled, counted)
        threshold = math.isfinite(shipped[scheme].threshold)
        confirmed = Labeller.load().uses[scheme].confirmed is not None
        assert (answered > 50) == (threshold or confirmed), "no label without a threshold that holds, or a second voice"
        assert abstained > 50
    assert rows(labelled, "SELECT count(*) FROM predictions WHERE abstained <> (value IS NULL)") == [(0,)]


def test_an_item_can_have_several_backends(labelled: Path) -> None:
    backends = "SELECT count(value) AS n FROM predictions WHERE scheme = 'backend' GROUP BY repo, number"
    assert rows(labelled, f"SELECT max(n) >= 2 FROM ({backends})") == [(True,)]
    assert rows(labelled, f"SELECT count(*) FROM predictions WHERE likeliest = '{NOT}'") == [(0,)]


def test_a_label_is_explained_by_terms_and_nearest_labelled_items(labelled: Path) -> None:
    done = run_embers("classify", "--explain", "67513", "--database", str(labelled))
    assert done.returncode == 0, done.stderr
    assert "memory_type: no answer (suggestion: non_contiguous), probability" in done.stdout
    assert "trained without it, votes counted" in done.stdout
    assert "by label-correctness (module: correctness (silent))" in done.stdout
    assert "learned from: memory by gold:paper:data-path-study" in done.stdout
    assert re.search(r"terms: .*\bnon contiguous \+0\.", done.stdout)
    assert done.stdout.count("bug_type=") >= 3


def test_labels_that_are_probably_wrong_are_listed(labelled: Path) -> None:
    done = run_embers(
        "data", "label", "--errors", "--scheme", "consequence", "--limit", "3", "--database", str(labelled)
    )
    assert done.returncode == 0, done.stderr
    *listed, last = done.stdout.splitlines()
    assert len(listed) == 3
    assert all(" consequence: " in line and ", suggested " in line and ", margin " in line for line in listed)
    assert last.startswith("3 of ")


def test_similar_and_search_find_by_meaning(labelled: Path) -> None:
    near = run_embers("search", "--like", "118115", "-k", "5", "--database", str(labelled))
    assert near.returncode == 0, near.stderr
    assert "MPS" in near.stdout
    found = run_embers("search", "loss becomes NaN", "-k", "8", "--database", str(labelled), HF_HUB_OFFLINE="1")
    assert found.returncode == 0, found.stderr
    assert "nan" in found.stdout.lower()


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (("classify", "--explain", "999999"), "not in the database"),
        (("classify", "--model", "nowhere"), "nowhere"),
        (("data", "label", "--errors", "--scheme", "colour"), "colour"),
        (("data", "label", "--model", "nowhere"), "--errors"),
        (("data", "label", "--errors", "--model", "nowhere"), "nowhere"),
        (("search", "--like", "67513", "-k", "0"), "between"),
    ],
)
def test_wrong_use_gets_one_clean_line(labelled: Path, arguments: tuple[str, ...], word: str) -> None:
    assert_clean_error(run_embers(*arguments, "--database", str(labelled), HF_HUB_OFFLINE="1"), 3, word)


def test_without_a_database_the_next_step_is_named(database: Path) -> None:
    assert_clean_error(run_embers("classify", "--database", database, HF_HUB_OFFLINE="1"), 5, "embers mine")


def test_a_replay_keeps_what_people_labelled(catalog_database: Path) -> None:
    database = catalog_database
    with Store(database).writer("test") as writer, writer.transaction() as connection:
        connection.execute(
            "INSERT INTO gold_labels (repo, number, scheme, value, annotator_kind, annotator, source) "
            "VALUES ('pytorch/pytorch', 67513, 'bug_type', 'memory', 'human', 'somebody', 'label')"
        )
    counts = "SELECT annotator_kind, count(*) FROM gold_labels GROUP BY ALL ORDER BY ALL"
    before = rows(database, counts)
    assert run_embers("mine", "--replay", "--database", str(database)).returncode == 0
    assert rows(database, counts) == before
    assert ("human", 1) in before
