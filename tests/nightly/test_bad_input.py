"""Strange items, labels, files and models: each gets a label, nothing or one clean line, never a traceback."""

from __future__ import annotations

import json
from functools import partial
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("sklearn")


from helpers.rows import GoldLabel, store_of
from helpers.search import Words, item
from support import Ended, rows, run_embers
from torch_embers.classify.embedding import embed
from torch_embers.classify.labels import bodies, wild
from torch_embers.classify.model import FILE
from torch_embers.taxonomy import Taxonomy

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    Embers = Callable[..., Ended]


REPO = "pytorch/pytorch"
EMBEDDING = "words@0"
SCHEME, OTHER = "bug_type", "consequence"


def assert_refused(done: Ended, *words: str) -> None:
    """It ended with code 3 and one line that holds these words."""
    assert done.returncode == 3, done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    [line] = [line for line in done.stderr.splitlines() if line.startswith("error: ")]
    assert len(line) < 600
    assert all(word in line for word in words), line


@pytest.fixture
def embers(monkeypatch: pytest.MonkeyPatch) -> Embers:
    """The command line in this process, with a quick embedder in place of the model it stands for."""
    monkeypatch.setattr(embed, "load_embedder", lambda *_, **__: Words(384, f"{EMBEDDING}/words"))
    return partial(run_embers, COLUMNS="1000")


def filled(database: Path, titles: dict[int, str], *gold: tuple[int, str, str]) -> None:
    """Items with these titles, and what a person said of some."""
    items = [item(number, title, repo=REPO) for number, title in titles.items()]
    store_of(
        database, items, gold_labels=[GoldLabel(REPO, *label, "human", "somebody", source="label") for label in gold]
    )


@pytest.fixture(autouse=True)
def _alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is learned from the shipped labels, which take a minute."""
    monkeypatch.setattr(wild, "load", list)
    monkeypatch.setattr(bodies, "load", list)


@pytest.fixture
def model(embers: Embers, tmp_path: Path) -> Path:
    """Folder of a small classifier that reads titles and bodies."""
    names = [Taxonomy.load().scheme(scheme).names()[:2] for scheme in (SCHEME, OTHER)]
    titles = {n: f"{'segfault' if n % 2 else 'slow'} in op {n}" for n in range(12)}
    labels = [(n, scheme, own[n % 2]) for scheme, own in zip((SCHEME, OTHER), names, strict=True) for n in titles]
    filled(tmp_path / "made.duckdb", titles, *labels)
    done = embers("classify", "--train", "--model", tmp_path / "model", "--database", tmp_path / "made.duckdb")
    assert done.returncode == 0, done.stderr
    return tmp_path / "model"


IMAGE = "![image](https://user-images.githubusercontent.com/1/2.png)\n<img width=300 src='https://x/y.png'>"
LOG = "\n".join(f"2024-01-01 00:{n % 60:02d} INFO step {n} loss 0.{n} lr 1e-4 " + "x" * (n % 50) for n in range(14_000))
STRANGE = {
    1: ("", ""),
    2: (None, None),
    3: (" \n\t ", "\u200b\ufeff"),
    4: ("", IMAGE),
    5: ("[]", "<!-- nothing but the form -->"),
    6: ("Wrong result on the GPU", IMAGE),
    7: ("在非连续张量上结果不一致", "运行以下代码时，结果错误：\n```\nx.t().contiguous()\n```"),
    8: ("نتيجة خاطئة عند استخدام الموتر غير المتجاور", "النتيجة مختلفة بين المعالج وبطاقة الرسومات"),
    9: ("Training log", LOG),
    10: ("one line of a megabyte", "A" * 1_000_000),
    11: ("\x00\x1b[31m\ud800 🐛", "\ud83d \udcff \x00"),
    12: ("nan", "a word that this embedder makes no numbers of"),
    13: ("'; DROP TABLE items; --", "%s %(a)s {0} $1"),
}


SILENT = {1, 2, 3, 4, 5, 7, 8, 11, 12}
"""Nothing can be said of these: no text, (7, 8) another script, or (12) an embedding that is not finite."""


def test_strange_items_get_a_label_or_nothing(embers: Embers, database: Path, model: Path, tmp_path: Path) -> None:
    assert len(LOG) > 900_000
    rest = {"state": "open", "created_at": "2024-01-01T00:00:00Z", "updated_at": "2024-01-01T00:00:00Z"}
    lines = (json.dumps({"number": n, "title": title, "body": body} | rest) for n, (title, body) in STRANGE.items())
    (tmp_path / "strange.jsonl").write_text("\n".join(lines), encoding="ascii")
    assert embers("mine", "--source", "jsonl", tmp_path / "strange.jsonl", "--database", database).returncode == 0
    assert embers("classify", "--model", model, "--database", database).returncode == 0
    found = dict(rows(database, "SELECT number, min(probability) FROM predictions GROUP BY ALL"))
    assert found.keys() == STRANGE.keys() - SILENT
    assert all(0 < probability <= 1 for probability in found.values())
    again = embers("classify", "--model", model, "--database", database)
    assert "0 items labelled, 0 texts embedded" in again.stdout
    assert embers("classify", "--explain", 9, "--model", model, "--database", database).returncode == 0
    for number in (7, 9):
        assert embers("search", "--like", number, "--database", database).returncode == 0
    for number in (4, 7, 12):
        assert_refused(embers("classify", "--explain", number, "--model", model, "--database", database), f"#{number}")
    assert_refused(embers("search", "--like", 4, "--database", database), "#4", "no text")
    alone = embers("search", "--like", 12, "--database", database)
    assert alone.returncode == 0, alone.stderr
    assert "#12 has no vector" in alone.stderr


def test_without_gold_nothing_is_trained_or_evaluated(embers: Embers, database: Path, tmp_path: Path) -> None:
    filled(database, {1: "wrong gradient"})
    assert_refused(embers("classify", "--train", "--database", database), "no gold labels", "embers mine")
    assert_refused(embers("research", "evaluate", "--database", database), "no gold labels", "embers mine")
    assert not (tmp_path / "e.model").exists()


def test_gold_of_one_class_or_of_unknown_items_cannot_be_learned(embers: Embers, database: Path) -> None:
    labels = [(n, SCHEME, "memory") for n in range(1, 9)] + [(n, SCHEME, "numerical") for n in range(50, 60)]
    filled(database, {n: f"wrong gradient {n}" for n in range(1, 9)}, *labels)
    assert_refused(embers("classify", "--train", "--database", database), "label more")


def test_a_classifier_of_another_encoder_is_refused(embers: Embers, database: Path, model: Path) -> None:
    filled(database, {1: "wrong gradient for a strided input"})
    about = json.loads((model / FILE).read_text()) | {"embedding": "all-mpnet-base-v2@000000000000"}
    (model / FILE).write_text(json.dumps(about))
    assert_refused(
        embers("classify", "--model", model, "--database", database), "all-mpnet-base-v2@000000000000", "--train"
    )
    assert rows(database, "SELECT count(*) FROM predictions") == [(0,)]


def test_an_unusable_place_for_a_trained_model_is_named(embers: Embers, database: Path, tmp_path: Path) -> None:
    assert embers("mine", "--source", "catalog", "--database", database).returncode == 0
    (tmp_path / "taken").write_text("")
    assert_refused(
        embers("classify", "--train", "--model", tmp_path / "taken", "--database", database),
        "taken",
    )
