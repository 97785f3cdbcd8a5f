"""What the tests in test_listing.py share."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import pytest

from support import case_of
from torch_embers.mine.runner import mine_catalog
from torch_embers.repro import bank
from torch_embers.store.store import Store

JSON_KEYS = Path(__file__).resolve().parents[2] / "docs" / "json-keys.csv"
OLD, NEW = "2.9.1", "2.10.0"
VERDICTS = {
    ("pt1_strides", OLD): "occurs",
    ("pt1_strides", NEW): "absent",
    ("pt1_other", OLD): "absent",
    ("pt1_other", NEW): "occurs",
    ("pt2_gone", OLD): "occurs",
    ("pt2_gone", NEW): "absent",
    ("pt3_unseen", NEW): "not_seen",
}
EVIL = "\x1b[31m\x7f\u202e\u2028 <script>"


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    """The catalog without shipped verdicts, five items with cases on two builds, one of them with a hostile title."""
    store = Store(tmp_path_factory.mktemp("listing") / "e.duckdb")
    mine_catalog(store, "pytorch/pytorch")
    classes: dict[str, Any] = {"bug_type": "memory", "memory_type": "non_contiguous", "consequence": "crash"}
    cases = [
        case_of(name="pt1_strides", issues=["a/b#1"], **classes),
        case_of(name="pt1_other", issues=["a/b#1", "a/b#4"], code="import torch  # torch.addmm\n"),
        case_of(name="pt2_gone", issues=["a/b#2"], requires=["cuda"], code="import torch\n"),
        case_of(name="pt3_unseen", issues=["a/b#3"], code="import torch, sys\n"),
    ]
    with store.writer("test") as writer, writer.transaction() as connection:
        bank.save(connection, cases)
        connection.executemany(
            "INSERT INTO items (repo, number, kind, title, state, updated_at, comment_count, labels) "
            "VALUES ('a/b', ?, 'issue', ?, ?, ?, ?, ['module: mps'])",
            [
                (1, "sum is wrong", "closed", "2024-01-01", 5),
                (2, "max is wrong", "open", "2024-01-03", 9),
                (3, "min is wrong", "open", "2024-01-02", 1),
                (4, EVIL, "closed", None, None),
                (5, "nothing ran", None, None, None),
            ],
        )
        for version in (OLD, NEW):
            connection.execute(
                "INSERT INTO builds (build, name, version, channel, platform, python, seen_at) "
                "VALUES (?, ?, ?, 'release', 'Linux', '3.11', '2024-01-01')",
                [version, f"named-{version}", f"{version}+cpu"],
            )
        connection.execute(
            "INSERT INTO environments (environment, device, system, processor, threads, seen_at) "
            "VALUES ('e', 'cpu', 'Linux', 'CPU', 2, '2024-01-01')"
        )
        connection.executemany(
            "INSERT INTO verdicts (case_hash, build, environment, profile, batch, verdict, flaky, k, n, control, "
            "control_k, control_n, detail, decided_at) "
            "VALUES (?, ?, 'e', 'reviewed', 0, ?, false, 1, 3, 'none', 0, 0, '', '2024-01-01')",
            [
                (case.hash, build, verdict)
                for (name, build), verdict in VERDICTS.items()
                for case in cases
                if case.name == name
            ],
        )
        connection.execute(
            "INSERT INTO status_history (repo, number, backend, reference, status, evidence, decided_at) "
            "VALUES ('a/b', 1, 'cpu', '2.10.0', 'closed_but_occurs', '', '2024-01-01')"
        )
        connection.executemany(
            "INSERT INTO gold_labels (repo, number, scheme, value, annotator_kind, annotator) "
            "VALUES ('a/b', ?, 'consequence', ?, 'human', 'x')",
            [(1, "crash"), (2, "slow")],
        )
        connection.execute(
            "INSERT INTO predictions (repo, number, scheme, value, likeliest, probability, abstained, provenance, model, "
            "variant, text_hash, votes_hash, predicted_at) SELECT 'a/b', unnest([1, 3]), 'consequence', 'slow', 'slow', "
            "0.9, false, 'model', 'm', 'title', 'h', 'h', '2024-01-01'::TIMESTAMP"
        )
    return store


def explained() -> dict[str, set[str]]:
    """The keys that docs/json-keys.csv explains, by command; those of the objects below them are apart."""
    keys: dict[str, set[str]] = {}
    with JSON_KEYS.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            if not row["object"]:
                keys.setdefault(row["command"], set()).add(row["key"])
    return keys


def documented(command: str) -> set[str]:
    return explained()[command]
