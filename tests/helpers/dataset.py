"""What the tests in test_dataset.py share."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from helpers.rows import CatalogEntry, Comment, GoldLabel, Item, Row, StatedLink, put
from torch_embers.dataset import publish, table_definitions
from torch_embers.store.store import Store

ROOT = Path(__file__).resolve().parents[2]
REPO = "pytorch/pytorch"
PERSON = "octoperson"
SECRET = "whispered"
"""Stands in every text that must not get out; PERSON in every place that names somebody."""
TITLES = (
    "=HYPERLINK(1)",
    "+1",
    "-1",
    "@SUM(A1)",
    "\tTab",
    "'=quoted",
    "a\r\nb\rc",
    'say "x", y',
    "None",
    "é 🔥 ＝1",
    "nul\0",
)
GONE = 99
STATUS_EVIDENCE = f"x7: occurs 1/1 ({SECRET})"


def item(number: int, title: str, **more: Any) -> Row:
    return Item(
        REPO,
        number,
        kind="issue",
        title=title,
        body=f"{SECRET} body",
        author=PERSON,
        author_association="MEMBER",
        head_ref=f"{PERSON}/branch",
        base_ref=f"{PERSON}/base",
        state="closed",
        created_at="2024-01-23T12:00:00.123456Z",
        source="rest",
        fetched_at="2024-02-01T10:00:00Z",
        labels=("module: mps", "has, comma"),
        **more,
    )


def batch() -> dict[str, list[Row]]:
    items = [item(number, title) for number, title in enumerate(TITLES, start=1)]
    gone = item(GONE, f"{SECRET} gone", deleted_at="2024-02-02T00:00:00Z")
    gold = [
        GoldLabel(REPO, 1, "bug_type", "memory", "human", PERSON, "seen in the trace"),
        GoldLabel(REPO, 2, "bug_type", "memory", "automated", "robot|1", "by rule"),
        GoldLabel(REPO, GONE, "bug_type", "memory", "automated", "robot|1", SECRET),
    ]
    return {
        "items": [*items, gone],
        "comments": [Comment(REPO, 1, "1", author=PERSON, body=f"{SECRET} comment")],
        "gold_labels": gold,
        "catalog": [CatalogEntry(REPO, 1, "Our words.", backends=("cpu",), affected_versions=(), fixed_versions=())],
        "stated_links": [StatedLink(REPO, 2, "fixes", REPO, 1, "dataset")],
    }


RUNS = f"""
INSERT INTO links (repo, number, relation, target_repo, target_number, evidence, found_in, found_id, rule, snippet) VALUES
    ('{REPO}', 2, 'fixes', '{REPO}', 1, 'text', 'comment', '{PERSON}-1', 'keyword', '{SECRET}'),
    ('{REPO}', 2, 'fixes', '{REPO}', 1, 'text', 'comment', '{PERSON}-2', 'keyword', '{SECRET}'),
    ('{REPO}', 2, 'mentions', '{REPO}', {GONE}, 'text', 'body', NULL, 'mention', '{SECRET}');
INSERT INTO predictions VALUES
    ('{REPO}', 1, 'bug_type', 'memory', 0.5, 'low', 'model', 'm 1', 'h', 'v', '{SECRET}', '2024-03-01 10:00:00.5');
INSERT INTO cases (case_hash, name, origin, current, code, summary, requires, known_bad, signature, oracle, timeout, saved_at)
VALUES
    ('c1', 'pt1_case', 'curated', true, '# code' || chr(10) || '=1', 'sums', ['cpu'], ['2.9.1'], ['mismatch'], 'self', 60, now()),
    ('c0', 'pt1_case', 'curated', false, '{SECRET}', 'old', ['cpu'], [], ['mismatch'], 'self', 60, now()),
    ('x7', 'x7', 'fix_test', true, '{SECRET} code', '{SECRET}', ['cpu'], [], ['mismatch'], 'self', 60, now()),
    ('o1', 'o1', 'own', true, '{SECRET} code', '{SECRET}', ['cpu'], [], ['mismatch'], 'self', 60, now()),
    ('o2', 'o2', 'own', true, '{SECRET} code', '{SECRET}', ['cpu'], [], ['mismatch'], 'self', 60, now());
INSERT INTO case_items VALUES ('c1', '{REPO}', 1, 'same'), ('c1', '{REPO}', {GONE}, 'same'), ('x7', '{REPO}', 2, NULL);
INSERT INTO builds VALUES
    ('2.10.0@b', '{PERSON}-build', '2.10.0+cpu', '', 'release', 'linux-x86_64', '3.11.7', now()),
    ('2.9.1@a', '{PERSON}-build', '2.9.1+cpu', 'abc', 'release', 'linux-x86_64', '3.11.7', now()),
    ('2.8.0@u', 'unused', '2.8.0', 'abc', 'release', 'linux-x86_64', '3.11.7', now());
INSERT INTO environments VALUES
    ('e1', 'cpu', NULL, NULL, 'Linux', 'EPYC', 'AVX2', 1, now());
INSERT INTO verdicts VALUES
    ('c1', '2.9.1@a', 'e1', 'reviewed', 0, 'occurs', false, 3, 3, NULL, 'build', '2.9.1@a', 3, 3,
     'assert at "/home/{PERSON}/torch/x.cpp":7, see https://example.org/a/b', 'mismatch', '2024-03-01', 'own', NULL),
    ('c1', '2.9.1@a', 'e1', 'reviewed', 1, 'occurs', true, 2, 3, NULL, 'build', '2.9.1@a', 3, 3, 'newer', 'mismatch', '2024-03-02', 'own', NULL),
    ('c1', '2.10.0@b', 'e1', 'reviewed', 0, 'absent', false, 0, 11, 0.34, 'build', '2.9.1@a', 3, 3, '-1', NULL, '2024-03-01', 'own', NULL),
    ('c0', '2.9.1@a', 'e1', 'reviewed', 0, 'occurs', false, 1, 1, NULL, 'none', NULL, 0, 0, '{SECRET}', NULL, '2024-03-01', 'own', NULL),
    ('x7', '2.9.1@a', 'e1', 'hostile', 0, 'occurs', false, 1, 1, NULL, 'none', NULL, 0, 0, '{SECRET}', NULL, '2024-03-01', 'own', NULL);
INSERT INTO runs VALUES
    ('c1', '2.9.1@a', 'e1', 'reviewed', 0, 0, false, 'reproduced', 'at "/home/{PERSON}/x.py":1', 'mismatch', 1, NULL, 'exited',
     '{SECRET}', '{SECRET}', 0.5, 0.4, 1000, '{PERSON}-z9', 7, ['no_network'], '2024-03-01', '', 'cgroup', '6.18.44-{PERSON}'),
    ('c1', '2.9.1@a', 'e1', 'reviewed', 0, 1, false, 'reproduced', 'same', 'mismatch', 1, NULL, 'exited',
     '{SECRET}', '{SECRET}', 0.5, 0.4, 1000, '{PERSON}-z1', 8, ['no_network'], '2024-03-01', '', 'supervisor', 'own-{PERSON}'),
    ('c0', '2.9.1@a', 'e1', 'reviewed', 0, 0, false, 'reproduced', '{SECRET}', NULL, 1, NULL, 'exited',
     '', '', 0.5, 0.4, 1000, 'z', 7, [], '2024-03-01', NULL, NULL, NULL),
    ('x7', '2.9.1@a', 'e1', 'hostile', 0, 0, false, 'reproduced', '{SECRET}', NULL, 1, NULL, 'exited',
     '', '', 0.5, 0.4, 1000, 'z', 7, [], '2024-03-01', '', 'cgroup', '6.18.44-{PERSON}');
INSERT INTO timelines VALUES
    ('{REPO}', 1, 's1', 'e1', NULL, 0, ['2.9.1'], 'signal', 'SIGSEGV', '{SECRET}', 3, false, 'as_reported', '{SECRET}', NULL, NULL, 'own', '2024-03-01'),
    ('{REPO}', 1, 's1', 'e1', NULL, 1, ['2.10.0'], 'ok', '', '{SECRET}', 11, true, 'as_expected', '{SECRET}', 'ending', true, 'own', '2024-03-01'),
    ('{REPO}', 1, 's0', 'e9', 'cuda', 0, ['2.8.0'], 'ok', '', '', 1, false, 'other', '', NULL, NULL, 'shipped', '2024-02-01'),
    ('{REPO}', 2, 's2', 'e1', NULL, 0, ['2.10.0'], 'cannot_run', 'no file /home/{PERSON}/x.py', '', 1, false, NULL, '', NULL, NULL, 'own', '2024-03-01'),
    ('{REPO}', {GONE}, 's3', 'e1', NULL, 0, ['2.10.0'], 'ok', '', '', 1, false, 'other', '', NULL, NULL, 'own', '2024-03-01');
INSERT INTO status_history VALUES
    ('{REPO}', 1, 'cpu', '2.10.0@b', 'undecided', NULL, '{STATUS_EVIDENCE}', '2024-03-02', 'own', NULL),
    ('{REPO}', 1, 'cpu', '2.10.0@b', 'fixed', 'undecided', '{STATUS_EVIDENCE}', '2024-03-03', 'own', NULL),
    ('{REPO}', {GONE}, 'cpu', '2.10.0@b', 'fixed', NULL, '{STATUS_EVIDENCE}', '2024-03-03', 'own', NULL);
"""


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Store:
    """A small database with every kind of row, and with text that must not get out or must not do harm."""
    store = Store(tmp_path_factory.mktemp("hostile") / "it's.duckdb")
    with store.writer("test", create=True) as writer:
        put(writer, **batch())
        with writer.transaction() as connection:
            connection.execute(RUNS)
    return store


@pytest.fixture(scope="module")
def made(hostile: Store, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The dataset of the hostile database."""
    place = tmp_path_factory.mktemp("made") / "new" / "dataset"
    publish.publish(hostile, place)
    return place


def files_of(place: Path) -> dict[str, bytes]:
    return {path.relative_to(place).as_posix(): path.read_bytes() for path in place.rglob("*") if path.is_file()}


def table(place: Path, name: str) -> pd.DataFrame:
    return pd.read_parquet(place / "data" / f"{name}.parquet")


def names() -> list[str]:
    return [entry.name for entry in table_definitions.load()]
