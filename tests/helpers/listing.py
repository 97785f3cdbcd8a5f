"""What the tests in test_listing.py share."""

from __future__ import annotations

import csv
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from helpers.timeline_rows import CRASH, GAP, SCRIPT, VALUE, add_script, add_timeline, crashed, ended, raised
from mini_study import insert
from support import case_of
from torch_embers.cases import bank
from torch_embers.extract.script import NoScript
from torch_embers.mine.plan import mine_catalog
from torch_embers.store.store import Store

JSON_KEYS = Path(__file__).resolve().parents[2] / "docs" / "json-keys.csv"
OLD, NEW, DAY = "2.9.1", "2.10.0", "2024-01-01"
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
    mine_catalog(store)
    classes: dict[str, Any] = {"bug_type": "memory", "memory_type": "non_contiguous", "consequence": "crash"}
    cases = [
        case_of(name="pt1_strides", issues=["a/b#1"], **classes),
        case_of(name="pt1_other", issues=["a/b#1", "a/b#4"], code="import torch  # torch.addmm\n"),
        case_of(name="pt2_gone", issues=["a/b#2"], requires=["cuda"], code="import torch\n"),
        case_of(name="pt3_unseen", issues=["a/b#3"], code="import torch, sys\n"),
    ]
    with store.writer("test") as writer, writer.transaction() as connection:
        bank.save(connection, cases)
        items = [
            (1, "sum is wrong", "closed", "2024-01-01", 5),
            (2, "max is wrong", "open", "2024-01-03", 9),
            (3, "min is wrong", "open", "2024-01-02", 1),
            (4, EVIL, "closed", None, None),
            (5, "nothing ran", None, None, None),
        ]
        same: dict[str, Any] = {"repo": "a/b", "kind": "issue", "labels": ["module: mps"]}
        insert(connection, "items", "number title state updated_at comment_count", items, **same)
        builds = [(version, f"named-{version}", f"{version}+cpu") for version in (OLD, NEW)]
        same = {"channel": "release", "platform": "Linux", "python": "3.11", "seen_at": DAY}
        insert(connection, "builds", "build name version", builds, **same)
        insert(
            connection,
            "environments",
            "environment device system processor threads seen_at",
            [("e", "cpu", "Linux", "CPU", 2, DAY)],
        )
        hashes = {case.name: case.hash for case in cases}
        same = {
            "environment": "e",
            "profile": "reviewed",
            "batch": 0,
            "flaky": False,
            "k": 1,
            "n": 3,
            "control": "none",
        }
        same |= {"control_k": 0, "control_n": 0, "detail": "", "decided_at": DAY}
        verdicts = [(hashes[name], build, verdict) for (name, build), verdict in VERDICTS.items()]
        insert(connection, "verdicts", "case_hash build verdict", verdicts, **same)
        status = {"repo": "a/b", "backend": "cpu", "reference": NEW, "evidence": "", "decided_at": DAY}
        insert(connection, "status_history", "number status", [(1, "closed_but_occurs")], **status)
        labels = {"repo": "a/b", "scheme": "consequence", "annotator_kind": "human", "annotator": "x"}
        insert(connection, "gold_labels", "number value", [(1, "crash"), (2, "slow")], **labels)
        same = {"repo": "a/b", "scheme": "consequence", "probability": 0.9, "provenance": "model"}
        same |= {"model": "m", "text_hash": "h", "votes_hash": "h", "predicted_at": DAY}
        insert(connection, "predictions", "number value confidence", [(1, "slow", "low"), (3, "slow", "high")], **same)
        wording = [raised("2.0.1", flip="wording"), raised("2.1.2", flip="wording")]
        crash = [crashed("2.0.1"), ended(NEW, match="other", confirmed=False)]
        with_threads = replace(SCRIPT, environment={"OMP_NUM_THREADS": "1"})
        add_timeline(connection, "a/b", 1, CRASH, with_threads)
        add_script(connection, "a/b", 1, with_threads)
        add_timeline(connection, "a/b", 2, [GAP, *VALUE])
        add_timeline(connection, "a/b", 3, wording)
        add_script(connection, "a/b", 5, NoScript("no_code", "the report holds no Python code"))
        add_timeline(connection, "a/b", 2, crash, provenance="shipped")  # own rows come first
        add_timeline(connection, "a/b", 4, CRASH, replace(SCRIPT, device="cuda"))
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
