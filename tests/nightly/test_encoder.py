"""The shipped encoder: nothing that is measured was learned from, its files are sealed, and each classifier keeps its own."""

from __future__ import annotations

import csv
import gzip
import importlib
import json
import shutil
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest

import support
from helpers.rows import Item, Link, Row, store_of
from torch_embers import cli, resources
from torch_embers.classify.embedding import shipped
from torch_embers.search.rules import SearchRules

if TYPE_CHECKING:
    from pathlib import Path

    from torch_embers.store.store import Store

TOOL: Any = support.tool("encoder")
for module in ("excluded", "pairs", "command"):
    importlib.import_module(f"embers_encoder.{module}")
REPO = "pytorch/pytorch"
LIMIT = 30 * 2**20
"""Bytes that the encoder may add to the package."""


def test_an_excluded_title_is_known_with_another_tag_number_case_or_word() -> None:
    barred = TOOL.excluded.Excluded.of([7], ["[MPS] addcmul ignores the output when it is strided (#12)"])
    assert barred.title("addcmul ignores the output when it is strided")
    assert barred.title("[cuda] Addcmul: ignores the output, when it is strided (#99)")
    assert barred.title("addcmul_ ignores the output when it's strided")
    assert not barred.title("addcmul is slow")
    assert barred.item(7, "anything")
    assert barred.item(8, "a fix", "Fixes #7")
    assert barred.item(8, "a fix", "see https://github.com/pytorch/pytorch/issues/7")
    assert barred.item(8, "a fix", "The report: addcmul ignores the output, when it is strided.")
    assert not barred.item(8, "a fix", "Fixes #77")


def linked(database: Path, items: list[Row], *fixes: tuple[int, int]) -> Store:
    """Items, and which of them fixes which."""
    return store_of(database, items, links=[Link(REPO, pull, "fixes", REPO, issue) for pull, issue in fixes])


def test_no_item_that_is_measured_is_learned_from(
    database: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    catalog = json.loads(resources.data_file("catalog.jsonl").read_text(encoding="utf-8").splitlines()[0])
    wild = [json.loads(line) for line in resources.data_file("wild_labels.jsonl").read_text("utf-8").splitlines()]
    halves = [next(row for row in wild if row["part"] == part) for part in ("test", "development", "recent")]
    with gzip.open(tmp_path / "mhnurf_pytorch.csv.gz", "wt", encoding="utf-8", newline="") as stream:
        csv.writer(stream).writerows([["Number", "Title"], [901, "conv3d takes twice the memory of last year's"]])
    body = "The kernel took the stride of the first argument for that of the second one."
    items = [
        *(Item(REPO, 910 + n, kind="pull", title=row["title"], body=body) for n, row in enumerate(halves)),
        Item(REPO, catalog["number"], kind="issue", title="renamed since"),
        Item(REPO, 901, kind="issue", title="also renamed since"),
        Item(REPO, 920, kind="issue", title="a report of last week", created_at="2026-01-01T00:00:00Z"),
        Item(REPO, 921, kind="pull", title="Speed up conv3d", body=f"{body} Fixes #901"),
        Item(REPO, 930, kind="pull", title="Use the stride of the right argument", body=body),
        Item(REPO, 931, kind="issue", title="eye_ is wrong for a view"),
        Item(REPO, 932, kind="pull", title="eye_ reads the strides of views", body=body),
    ]
    linked(database, items, (932, 931))
    (tmp_path / "pairs.csv").write_text("pairs,query,partner\nfix,931,932\nrelated,931,940\n", encoding="utf-8")
    monkeypatch.setattr(TOOL.excluded, "MEASURED", tmp_path / "pairs.csv")
    out = tmp_path / "made.json"
    TOOL.command.main(["pairs", "--database", str(database), "--benchmarks", str(tmp_path), str(out)])
    assert json.loads(capsys.readouterr().out)["measured and without a title here"] == 1  # 940
    made = json.loads(out.read_text(encoding="utf-8"))
    assert made["used"] == [930]
    assert made["learn"]["pull_body"] == [["Use the stride of the right argument", body]]
    assert {name: len(rows) for name, rows in made["learn"].items() if rows} == {"pull_body": 1}


def test_every_item_of_the_pairs_that_were_measured_is_kept_from_learning() -> None:
    with TOOL.excluded.MEASURED.open(encoding="utf-8", newline="") as file:
        frozen = [(row["pairs"], int(row["query"]), int(row["partner"])) for row in csv.DictReader(file)]
    assert Counter(name for name, _, _ in frozen) == {"related": 100, "same fix": 98, "fix": 150}
    assert TOOL.excluded.measured_numbers() == {number for _, *pair in frozen for number in pair}


def test_pairs_to_choose_by_are_not_learned_from(database: Path, tmp_path: Path) -> None:
    with gzip.open(tmp_path / "mhnurf_pytorch.csv.gz", "wt", encoding="utf-8", newline="") as stream:
        csv.writer(stream).writerow(["Number", "Title"])
    names = ["sort", "topk", "cumsum", "einsum", "norm", "dot", "gather", "where", "eye", "kron", "roll", "flip"]
    issues = [Item(REPO, 100 + n, kind="issue", title=f"{name} broken {name * 2}") for n, name in enumerate(names)]
    pulls = [Item(REPO, 200 + n, kind="pull", title=f"repair {name} {name * 3}") for n, name in enumerate(names)]
    store = linked(database, [*issues, *pulls], *((200 + n, 100 + n) for n in range(len(names))))
    made = TOOL.pairs.make(store, tmp_path, set())
    chosen = {number for pair in made["choose"]["fix"] for number in pair}
    assert chosen
    assert made["learn"]["fix"]
    assert chosen.isdisjoint(made["used"])
    assert len(chosen) + len(made["used"]) == 2 * len(names)


def test_the_shipped_encoder_is_small_sealed_licensed_and_rated() -> None:
    folder = shipped.folder()
    about = shipped.find(folder)
    assert about is not None
    assert about.model_id == shipped.model_id(about.graph_sha256)
    assert sum(path.stat().st_size for path in folder.iterdir()) < LIMIT
    card = (folder / "README.md").read_text(encoding="utf-8")
    assert about.graph_sha256 in card
    assert about.tokens_sha256 in card
    assert "Apache-2.0" in card
    assert about.model_id.partition("/")[0] in {pair.model for pair in SearchRules.load().pairs}


@pytest.mark.parametrize(
    ("file", "change", "said"),
    [
        ("graph.onnx", lambda path: path.unlink(), "graph.onnx is missing"),
        ("about.json", lambda path: path.unlink(), "about.json is missing"),
        ("graph.onnx", lambda path: path.write_bytes(path.read_bytes()[:-1] + b"x"), "by their SHA-256"),
        ("tokenizer.json", lambda path: path.write_text("{}"), "by their SHA-256"),
        ("about.json", lambda path: path.write_text(path.read_text().replace("encoder@", "encoder@0")), "SHA-256"),
        ("about.json", lambda path: path.write_text("[" * 9_999), "by their SHA-256"),
    ],
)
def test_an_encoder_that_is_missing_or_another_one_is_refused_before_anything_is_written(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    database: Path,
    capsys: pytest.CaptureFixture[str],
    file: str,
    change: Any,
    said: str,
) -> None:
    copied = shutil.copytree(shipped.folder(), tmp_path / "copy")
    monkeypatch.setattr(shipped, "folder", lambda: copied)
    store_of(database, [Item(REPO, 1, title="wrong gradient")])
    before = database.read_bytes()
    change(copied / file)
    with pytest.raises(SystemExit) as end:
        cli.main(["classify", "--train", "--model", str(tmp_path / "made"), "--database", str(database)])
    assert end.value.code == 3
    [line] = [line for line in capsys.readouterr().err.splitlines() if line.startswith("error: ")]
    assert said in line
    assert "reinstall torch-embers" in line
    assert database.read_bytes() == before
    assert not (tmp_path / "made").exists()
