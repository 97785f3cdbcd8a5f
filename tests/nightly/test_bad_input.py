"""Strange items, labels, files and models: each gets a label, an abstention or one clean line, never a traceback."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import pytest

pytest.importorskip("sklearn")

from helpers.search import Words
from support import rows
from torch_embers import cli
from torch_embers.classify.bundle import FILE, Bundle
from torch_embers.classify.embedding import embed
from torch_embers.classify.labels import wild
from torch_embers.classify.learning import kept
from torch_embers.classify.learning.features import table
from torch_embers.classify.learning.model import Classifier
from torch_embers.store.records import Batch, Item
from torch_embers.store.store import Store
from torch_embers.taxonomy import Taxonomy

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from torch_embers.classify.embedding.embedder import Vectors

    Capture = pytest.CaptureFixture[str]


REPO = "pytorch/pytorch"
EMBEDDING = "words@0"
SCHEME, OTHER = "bug_type", "consequence"


@dataclass(frozen=True)
class Done:
    """What a command left behind."""

    code: int
    out: str
    err: str

    def failed(self, code: int, *words: str) -> None:
        """It ended with this code and one line that holds these words."""
        assert self.code == code, self.out + self.err
        assert "Traceback" not in self.err
        [line] = [line for line in self.err.splitlines() if line.startswith("error: ")]
        assert len(line) < 600
        for word in words:
            assert word in line

    def went_well(self) -> None:
        assert self.code == 0, self.out + self.err


class Steady(Words):
    """Counts words, and fails on one word alone."""

    def _encode(self, texts: Sequence[str]) -> Vectors:
        made = super()._encode([re.sub(r"(?i)\bnan\b", "not-a-number", text) for text in texts])
        made[["unembeddable" in text for text in texts]] = np.nan
        return made


@pytest.fixture
def embers(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Done]:
    """The command line in this process, with a quick embedder in place of the model it stands for."""
    monkeypatch.setattr(embed, "load_embedder", lambda *_, **__: Steady(384, f"{EMBEDDING}/words"))
    monkeypatch.setenv("COLUMNS", "1000")

    def run(*arguments: object) -> Done:
        capsys.readouterr()
        with pytest.raises(SystemExit) as stop:
            cli.main([str(argument) for argument in arguments])
        said = capsys.readouterr()
        return Done(int(stop.value.code or 0), said.out, said.err)

    return run


def filled(database: Path, *items: Item) -> Path:
    with Store(database).writer("test", create=True) as writer:
        writer.commit(Batch(items=list(items)))
    return database


def item(number: int, title: str | None, body: str | None = None) -> Item:
    return Item(REPO, number, title=title, body=body, updated_at="2024-01-01T00:00:00Z")


def gold(database: Path, *labels: tuple[int, str, str]) -> None:
    with Store(database).writer("test", create=True) as writer, writer.transaction() as connection:
        connection.executemany(
            "INSERT INTO gold_labels (repo, number, scheme, value, annotator_kind, annotator, source) "
            f"VALUES ('{REPO}', ?, ?, ?, 'human', 'somebody', 'label')",
            [list(label) for label in labels],
        )


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> Bundle:
    """A small set of classifiers that reads titles and bodies."""
    taxonomy = Taxonomy.load()
    texts = [f"{word} in op {n}" for n in range(6) for word in ("segfault", "slow")]
    classifiers = {}
    for scheme in (SCHEME, OTHER):
        names = taxonomy.scheme(scheme).names()[:2]
        labels = [names[(place if scheme == SCHEME else place // 2) % 2] for place in range(len(texts))]
        classifiers[scheme] = Classifier(scheme, features=None).fit(table(texts, Steady(384).encode(texts)), labels)
    return Bundle("made", "title_body", EMBEDDING, taxonomy.digest, classifiers)


@pytest.fixture
def model(made: Bundle, tmp_path: Path) -> Path:
    """Its folder."""
    made.save(tmp_path / "model")
    return tmp_path / "model"


# ---- items ---------------------------------------------------------------------------------------------------------

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
    12: ("unembeddable", "word"),
    13: ("'; DROP TABLE items; --", "%s %(a)s {0} $1"),
}


def record(number: int, title: str | None, body: str | None) -> dict[str, object]:
    """An issue as GitHub's REST interface gives it."""
    moment = "2024-01-01T00:00:00Z"
    return {
        "id": number,
        "node_id": f"I_{number}",
        "number": number,
        "title": title,
        "body": body,
        "state": "open",
        "user": {"login": "somebody", "id": 1},
        "labels": [],
        "created_at": moment,
        "updated_at": moment,
    }


SILENT = {1, 2, 3, 4, 5, 7, 8, 11, 12}
"""Nothing can be said of these: no text, (7, 8) another script, or (12) an embedding that is not finite."""


def test_strange_items_get_a_label_or_an_abstention(
    embers: Callable[..., Done], database: Path, model: Path, tmp_path: Path
) -> None:
    assert len(LOG) > 900_000
    lines = (json.dumps(record(n, title, body)) for n, (title, body) in STRANGE.items())
    (tmp_path / "strange.jsonl").write_text("\n".join(lines), encoding="ascii")
    embers("mine", "--source", "jsonl", tmp_path / "strange.jsonl", "--database", database).went_well()
    embers("classify", "--model", model, "--database", database).went_well()
    found = dict(rows(database, "SELECT number, min(probability) FROM predictions GROUP BY ALL"))
    assert found.keys() == STRANGE.keys() - SILENT
    assert all(0 < probability <= 1 for probability in found.values())
    again = embers("classify", "--model", model, "--database", database)
    assert "0 items labelled, 0 texts embedded" in again.out
    embers("classify", "--explain", 9, "--model", model, "--database", database).went_well()
    for number in (7, 9):
        embers("similar", number, "--database", database).went_well()
    for number in (4, 7, 12):
        embers("classify", "--explain", number, "--model", model, "--database", database).failed(3, f"#{number}")
    embers("similar", 4, "--database", database).failed(3, "#4", "no text")
    alone = embers("similar", 12, "--database", database)
    alone.went_well()
    assert "#12 has no vector" in alone.err


# ---- gold ----------------------------------------------------------------------------------------------------------


def test_without_gold_nothing_is_trained_or_evaluated(
    embers: Callable[..., Done], database: Path, tmp_path: Path
) -> None:
    filled(database, item(1, "wrong gradient"))
    embers("classify", "--train", "--database", database).failed(3, "no gold labels", "embers mine")
    embers("evaluate", "--database", database).failed(3, "no gold labels", "embers mine")
    assert not (tmp_path / "e.model").exists()


def test_gold_of_one_class_or_of_items_that_were_never_mined_cannot_be_learned(
    embers: Callable[..., Done], database: Path
) -> None:
    filled(database, *(item(n, f"wrong gradient {n}") for n in range(1, 9)))
    gold(database, *((n, "bug_type", "memory") for n in range(1, 9)))
    gold(database, *((n, "bug_type", "numerical") for n in range(50, 60)))
    embers("classify", "--train", "--database", database).failed(3, "two classes")


def test_a_class_with_one_example_is_left_out_and_named(
    embers: Callable[..., Done], database: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(wild, "load", list)  # they have examples of every class, and take a minute to learn
    said = {"memory": "segfault in op", "logical": "wrong sum of op", "file_descriptor": "too many open files in op"}
    common, rare = ("memory", "logical"), "file_descriptor"
    labels = [(n, SCHEME, common[n % 2]) for n in range(1, 25)] + [(25, SCHEME, rare)]
    filled(database, *(item(n, f"{said[value]} {n}") for n, _, value in labels))
    gold(database, *labels)
    done = embers("classify", "--train", "--database", database)
    done.went_well()
    assert re.search(r"bug_type: too few labelled items of .*file_descriptor \(1\)", done.err)
    assert "25 items labelled" in done.out


# ---- CSV files -----------------------------------------------------------------------------------------------------

GOOD = "text,label\n" + "".join(
    f"{'segfault' if n % 2 else 'slow'} in op {n},{'a' if n % 2 else 'b'}\n" for n in range(30)
)


@pytest.mark.parametrize(
    ("train", "test", "word"),
    [
        (None, None, "train.csv"),
        (b"\x89PNG\r\n\x1a\n\x00\xff\xfe", None, "train.csv"),
        (b"text,label\nonly,one\n", None, "one class alone"),
        (b"text,label\n" + b"same,a\nsame,b\n" * 10, None, ""),
        (GOOD.encode(), b"text,label\nunheard of,c\n", "c"),
        (GOOD.encode(), b"text,label\n", ""),
        (GOOD.encode(), b"text\nno label\n", "label"),
    ],
    ids=["missing", "picture", "one row", "one text", "unknown label", "empty test", "test without labels"],
)
def test_csv_files_that_cannot_be_used(
    embers: Callable[..., Done], tmp_path: Path, train: bytes | None, test: bytes | None, word: str
) -> None:
    arguments: list[object] = ["evaluate", "--train", tmp_path / "train.csv"]
    if train is not None:
        (tmp_path / "train.csv").write_bytes(train)
    if test is not None:
        (tmp_path / "test.csv").write_bytes(test)
        arguments += ["--test", tmp_path / "test.csv"]
    embers(*arguments).failed(3, word)


# ---- models --------------------------------------------------------------------------------------------------------


@pytest.fixture
def small(database: Path) -> Path:
    return filled(database, item(1, "wrong gradient for a strided input"))


def edit(folder: Path, **change: object) -> None:
    """Change a bundle as somebody would who knows the format, down to the seal."""
    place = folder / FILE
    place.write_text(json.dumps({**json.loads(place.read_text()), **change}))
    kept.seal(folder)


SPOILED: dict[str, Callable[[Path], object]] = {
    "no folder": shutil.rmtree,
    "no seal": lambda at: (at / kept.SEAL).unlink(),
    "bundle is cut": lambda at: (at / FILE).write_bytes((at / FILE).read_bytes()[:-20]),
    "bundle is a folder": lambda at: ((at / FILE).unlink(), (at / FILE).mkdir()),
    "bundle of an unknown text": lambda at: edit(at, variant="poem"),
}
"""Others: tests/nightly/test_kept.py."""


@pytest.mark.parametrize("how", list(SPOILED))
def test_a_spoiled_model_is_refused_by_name(embers: Callable[..., Done], small: Path, model: Path, how: str) -> None:
    SPOILED[how](model)
    embers("classify", "--model", model, "--database", small).failed(3)
    assert rows(small, "SELECT count(*) FROM predictions") == [(0,)]


def test_a_model_for_another_embedding_is_refused(embers: Callable[..., Done], small: Path, model: Path) -> None:
    edit(model, embedding="all-mpnet-base-v2@000000000000")
    done = embers("classify", "--model", model, "--database", small)
    done.failed(3, "all-mpnet-base-v2@000000000000", "--train")


def test_a_model_for_vectors_of_another_size_is_refused(
    embers: Callable[..., Done], small: Path, made: Bundle, tmp_path: Path
) -> None:
    texts = [f"{word} in op {n}" for n in range(12) for word in ("segfault", "slow")]
    learned = Classifier(SCHEME).fit(table(texts, Words(400).encode(texts)), ["indexing", "logical"] * 12)
    replace(made, classifiers={SCHEME: learned}, held_out={}, rows={}).save(tmp_path / "other")
    done = embers("classify", "--model", tmp_path / "other", "--database", small)
    done.failed(3, "another embedder")


def test_an_unusable_place_for_a_trained_model_is_named(
    embers: Callable[..., Done], database: Path, tmp_path: Path
) -> None:
    embers("mine", "--source", "catalog", "--database", database).went_well()
    (tmp_path / "taken").write_text("")
    done = embers("classify", "--train", "--variant", "title", "--model", tmp_path / "taken", "--database", database)
    done.failed(3, "taken")


# ---- interruption --------------------------------------------------------------------------------------------------

SLOW = """
import sys, time
sys.path.insert(0, sys.argv[1])
from helpers.search import Words
from torch_embers import cli
from torch_embers.classify.embedding import embed, vectors
class Slow(Words):
    def _encode(self, texts):
        print("embedding", flush=True)
        time.sleep(float(sys.argv[2]))
        return super()._encode(texts)
embed.load_embedder = lambda *_, **__: Slow(384, "words@0/words")
vectors.BATCH = 4
cli.main(["classify", "--model", sys.argv[4], "--database", sys.argv[3]])
"""


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
def test_ctrl_c_is_one_line_and_the_next_run_goes_on(
    database: Path, model: Path, request: pytest.FixtureRequest
) -> None:
    filled(database, *(item(n, f"wrong gradient {n}") for n in range(1, 15)))
    command = [sys.executable, "-c", SLOW, str(request.path.parents[1])]
    process = subprocess.Popen(
        [*command, "0.4", str(database), str(model)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    for _ in range(2):
        assert process.stdout.readline() == "embedding\n"
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 130
    assert said.count("\n") == 1
    assert "interrupted" in said
    before = rows(database, "SELECT count(*) FROM embeddings")[0][0]
    assert 4 <= before < 14
    done = subprocess.run([*command, "0", str(database), str(model)], capture_output=True, text=True, check=True)
    assert f"14 items labelled, {14 - before} texts embedded" in done.stdout
    assert rows(database, "SELECT count(*), count(DISTINCT text_hash) FROM embeddings") == [(14, 14)]


def test_csv_with_strange_texts_and_a_class_of_one_example_is_evaluated(
    embers: Callable[..., Done], tmp_path: Path
) -> None:
    strange = ['"",a', "在非连续张量上,b", "نتيجة,a", f"{'y ' * 100_000},b", "odd,once"]
    (tmp_path / "train.csv").write_text(GOOD + "\n".join(strange), encoding="utf-8")
    embers("evaluate", "--train", tmp_path / "train.csv").went_well()
