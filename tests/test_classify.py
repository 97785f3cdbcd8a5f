"""The stage behind `embers classify`: gold to one label, bundles that cannot be tampered with, a fresh machine's labels."""

from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support import rows
from test_cli import assert_clean_error, embers
from torch_embers.classify import gold, stage
from torch_embers.classify.bundle import FILE, Bundle, shipped_folder
from torch_embers.classify.model import ModelError
from torch_embers.classify.taxonomy import Taxonomy
from torch_embers.store.store import Store

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    import numpy as np

VOTES = st.lists(
    st.tuples(st.sampled_from("abc"), st.sampled_from(["human", "paper", "automated"]), st.sampled_from("xyz")),
    min_size=1,
)


# ---- gold ----------------------------------------------------------------------------------------------------------


def test_a_person_outranks_the_paper_and_the_paper_outranks_automated_annotators() -> None:
    votes = [("a", "automated", "x"), ("a", "automated", "y"), ("b", "paper", "p"), ("c", "human", "h")]
    assert gold.decide(votes) == ("c", "human:h")
    assert gold.decide(votes[:3]) == ("b", "paper:p")
    assert gold.decide(votes[:2]) == ("a", "automated:x")


def test_the_majority_of_a_kind_decides_and_a_draw_goes_to_the_first_name() -> None:
    assert gold.decide([("a", "automated", "x"), ("b", "automated", "y"), ("b", "automated", "z")])[0] == "b"
    assert gold.decide([("a", "automated", "y"), ("b", "automated", "x")]) == ("b", "automated:x")


@given(VOTES, st.randoms())
def test_the_order_of_votes_makes_no_difference(votes: list[tuple[str, str, str]], rng: np.random.Generator) -> None:
    shuffled = list(votes)
    rng.shuffle(shuffled)
    assert gold.decide(votes) == gold.decide(shuffled)
    assert gold.decide(votes)[0] in {v[0] for v in votes}


# ---- bundles -------------------------------------------------------------------------------------------------------


@pytest.fixture
def bundle(tmp_path: Path) -> Path:
    """A copy of the shipped classifier."""
    return shutil.copytree(shipped_folder(), tmp_path / "model")


def test_the_shipped_classifier_is_small_and_knows_the_taxonomy() -> None:
    folder = shipped_folder()
    assert sum(p.stat().st_size for p in folder.rglob("*") if p.is_file()) < 4 * 2**20
    taxonomy = Taxonomy.load()
    for scheme, model in Bundle.load(folder).models.items():
        assert set(model.classes) <= set(taxonomy.scheme(scheme).names())
        assert {r for h in Bundle.load(folder).held_out[scheme] for r in (h.repo,)} == {"pytorch/pytorch"}


def test_a_saved_bundle_loads_equal(bundle: Path, tmp_path: Path) -> None:
    first = Bundle.load(bundle)
    first.save(tmp_path / "again")
    again = Bundle.load(tmp_path / "again")
    assert again.version == first.version
    assert again.held_out == first.held_out


@pytest.mark.parametrize(
    "spoil",
    [
        lambda p: (p / FILE).unlink(),
        lambda p: (p / FILE).write_text("{"),
        lambda p: (p / FILE).write_text("[]"),
        lambda p: (p / FILE).write_text(json.dumps({"format": 99})),
        lambda p: (p / FILE).write_text(
            json.dumps(json.loads((p / FILE).read_text()) | {"digests": {"bug_type": "0"}})
        ),
        lambda p: (p / "bug_type" / "arrays.npz").write_bytes((p / "bug_type" / "arrays.npz").read_bytes()[:-9]),
        lambda p: (p / "bug_type" / "model.json").unlink(),
        lambda p: shutil.copytree(p / "consequence", p / "bug_type", dirs_exist_ok=True),
    ],
    ids=["missing", "cut", "list", "version", "digest", "arrays", "model", "swapped"],
)
def test_a_bundle_that_was_changed_is_refused(bundle: Path, spoil: Callable[[Path], object]) -> None:
    spoil(bundle)
    with pytest.raises(ModelError):
        Bundle.load(bundle)


# ---- the command ---------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def labelled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A catalog-only database that was classified with the shipped classifier."""
    database = tmp_path_factory.mktemp("classify") / "e.duckdb"
    mined = embers("mine", "--source", "catalog", "--database", str(database))
    assert mined.returncode == 0, mined.stderr
    done = embers("classify", "--database", str(database), HF_HUB_OFFLINE="1")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "396 items labelled" in done.stdout
    return database


def test_a_fresh_machine_labels_at_once_and_says_where_it_abstains(labelled: Path) -> None:
    for scheme in stage.SCHEMES:
        answered, abstained = rows(
            labelled, f"SELECT count(value), count(*) - count(value) FROM predictions WHERE scheme = '{scheme}'"
        )[0]
        assert answered > 50
        assert abstained > 50
    assert rows(labelled, "SELECT count(*) FROM predictions WHERE abstained <> (value IS NULL)") == [(0,)]


def test_trained_items_are_judged_by_a_model_that_has_not_seen_them(labelled: Path) -> None:
    kinds = dict(rows(labelled, "SELECT provenance, count(*) FROM predictions WHERE scheme = 'bug_type' GROUP BY ALL"))
    assert kinds["out_of_fold"] >= 380


def test_the_memory_type_is_only_given_where_the_bug_type_is_memory(labelled: Path) -> None:
    assert rows(
        labelled,
        "SELECT count(*) FROM predictions m JOIN predictions b USING (repo, number) "
        "WHERE m.scheme = 'memory_type' AND b.scheme = 'bug_type' AND b.likeliest <> 'memory'",
    ) == [(0,)]


def test_a_second_run_labels_nothing_again(labelled: Path) -> None:
    done = embers("classify", "--database", str(labelled), HF_HUB_OFFLINE="1")
    assert "0 items labelled, 0 texts embedded" in done.stdout


def test_a_label_is_explained_by_terms_and_nearest_labelled_items(labelled: Path) -> None:
    done = embers("classify", "--explain", "67513", "--database", str(labelled))
    assert done.returncode == 0, done.stderr
    assert "memory_type: non_contiguous" in done.stdout
    assert "trained without it" in done.stdout
    assert "terms: contiguous" in done.stdout
    assert done.stdout.count("bug_type=") >= 3


def test_similar_and_search_find_by_meaning(labelled: Path) -> None:
    near = embers("similar", "118115", "-k", "5", "--database", str(labelled))
    assert near.returncode == 0, near.stderr
    assert "MPS" in near.stdout
    found = embers("search", "loss becomes NaN", "-k", "8", "--database", str(labelled), HF_HUB_OFFLINE="1")
    assert found.returncode == 0, found.stderr
    assert "nan" in found.stdout.lower()


@pytest.mark.parametrize(
    ("arguments", "code", "word"),
    [
        (("classify", "--explain", "999999"), 3, "not in the database"),
        (("classify", "--model", "nowhere"), 3, "nowhere"),
        (("similar", "999999"), 3, "not in the database"),
        (("search", " "), 3, "words"),
        (("similar", "67513", "-k", "0"), 3, "between"),
    ],
)
def test_wrong_use_gets_one_clean_line(labelled: Path, arguments: tuple[str, ...], code: int, word: str) -> None:
    assert_clean_error(embers(*arguments, "--database", str(labelled), HF_HUB_OFFLINE="1"), code, word)


def test_without_a_database_the_next_step_is_named(tmp_path: Path) -> None:
    done = embers("classify", "--database", str(tmp_path / "none.duckdb"), HF_HUB_OFFLINE="1")
    assert_clean_error(done, 5, "embers mine")


def test_a_replay_keeps_what_people_labelled(tmp_path: Path) -> None:
    database = tmp_path / "e.duckdb"
    embers("mine", "--source", "catalog", "--database", str(database))
    with Store(database).writer("test") as writer, writer.transaction() as connection:
        connection.execute(
            "INSERT INTO gold_labels (repo, number, scheme, value, annotator_kind, annotator, source) "
            "VALUES ('pytorch/pytorch', 67513, 'bug_type', 'memory', 'human', 'somebody', 'label')"
        )
    before = rows(database, "SELECT annotator_kind, count(*) FROM gold_labels GROUP BY ALL ORDER BY ALL")
    assert embers("mine", "--replay", "--database", str(database)).returncode == 0
    assert rows(database, "SELECT annotator_kind, count(*) FROM gold_labels GROUP BY ALL ORDER BY ALL") == before
    assert ("human", 1) in before
