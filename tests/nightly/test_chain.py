"""The chain of a change: the real one of 172340, cycles, limits, hostile titles, and the stage that fills tables."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest

from helpers.rows import Comment, Commit, Event, Item, PullFile, Row, StatedLink, put
from torch_embers.link import update_links
from torch_embers.link.chain import Node, chain, render
from torch_embers.link.graph import around
from torch_embers.link.update_links import LinkCounts, link_changed
from torch_embers.store import connection as store_connection
from torch_embers.store import rows as table_rows
from torch_embers.store.store import Store

if TYPE_CHECKING:
    from pathlib import Path

REPO = "pytorch/pytorch"
LANDED = "dd82c6ba3b37910568b2a25674149c1653768ec2"
PULL = f"https://github.com/{REPO}/pull"


TEXTS = [
    (172231, "issue", "addmm ignores the chosen backend", "Wrong numbers."),
    (172340, "pull", "let addmm know the backend: a simple fix for #172231", "* __->__ #172340"),
    (174594, "pull", "[CUDA] Lt by default", "We follow."),
    (177703, "pull", 'Back out "[CUDA] Lt by default (#174594)" (#177703)', f"Original commit changeset: {LANDED}"),
    (
        179151,
        "pull",
        f"revert {PULL}/172340",
        f"Waits for {PULL}/177703. Will become obsolete once {PULL}/170571 is merged; see {PULL}/174594",
    ),
    (170571, "pull", "Better Lt path", ""),
    (180875, "pull", "Numerics of the bias fusion", ""),
]


def real_batch() -> dict[str, list[Row]]:
    return {
        "items": [Item(REPO, *item, state="closed", created_at="2026-01-01T00:00:00Z", page_id="p") for item in TEXTS],
        "comments": [Comment(REPO, 174594, "c1", body=f"Reverted in {PULL}/177703")],
        "events": [
            Event(REPO, 172231, "e1", "closed", other_repo=REPO, other_number=172340),
            Event(REPO, 172231, "e2", "cross_referenced", other_repo=REPO, other_number=172340, will_close=True),
            Event(REPO, 180875, "e3", "marked_as_duplicate", "2026-01-01T00:00:00Z", other_number=9),
            Event(REPO, 180875, "e4", "unmarked_as_duplicate", "2026-01-02T00:00:00Z", other_number=9),
        ],
        "commits": [Commit(REPO, LANDED, subject="Lt (#174594)", message="Lt (#174594)", pull_number=174594)],
        "pull_files": [PullFile(REPO, 172340, "aten/src/ATen/native/cuda/Blas.cpp")],
        "stated_links": [
            StatedLink(REPO, 180875, "explains", REPO, 174594, "catalog"),
            StatedLink(REPO, 170571, "supersedes", REPO, 172340, "catalog"),
        ],
    }


@pytest.fixture
def store(tmp_path: Path) -> Store:
    store = Store(tmp_path / "e.duckdb")
    with store.writer("test", create=True) as writer:
        put(writer, **real_batch())
    return store


def rows(store: Store, table: str) -> list[tuple[object, ...]]:
    with store.read() as connection:
        return connection.execute(f"SELECT * FROM {table} ORDER BY ALL").fetchall()


def test_the_real_chain_comes_out_of_the_database(store: Store) -> None:
    link_changed(store)
    with store.read() as connection:
        start = Node(REPO, 172340)
        lines = render(chain(start, *around(connection, start)))
    assert [re.split(r" \(| https://github\.com/\S+$", line)[0] for line in lines] == [
        "pytorch/pytorch#172340 let addmm know the backend: a simple fix for #172231",
        f"├─ reverted by #179151 revert {PULL}/172340",
        "│  ├─ superseded by #170571",
        "│  └─ mentions #174594 [CUDA] Lt by default",
        '│     ├─ backed out by #177703 Back out "[CUDA] Lt by default',
        "│     └─ explained by #180875 Numerics of the bias fusion",
        "├─ superseded by #170571 Better Lt path",
        "└─ fixes #172231 addmm ignores the chosen backend",
    ]


def test_texts_events_commits_and_stated_links_keep_their_evidence(store: Store) -> None:
    link_changed(store)
    with store.read() as connection:
        found = connection.execute(
            "SELECT number, sha, relation, target_number, evidence, found_in FROM links WHERE relation <> 'mentions'"
        ).fetchall()
    assert sorted(found, key=str) == sorted(
        [
            (172340, None, "fixes", 172231, "text", "title"),
            (172340, None, "fixes", 172231, "event", "event"),
            (172231, None, "closed_by", 172340, "event", "event"),
            (177703, None, "backs_out", 174594, "text", "title"),
            (177703, None, "backs_out", 174594, "text", "body"),
            (177703, None, "reverts", 174594, "text", "comment"),
            (179151, None, "reverts", 172340, "text", "title"),
            (170571, None, "supersedes", 179151, "text", "body"),
            (170571, None, "supersedes", 172340, "catalog", "catalog"),
            (180875, None, "explains", 174594, "catalog", "catalog"),
            (None, LANDED, "lands", 174594, "commit", "message"),
        ],
        key=str,
    )


def test_a_second_run_parses_nothing_and_changes_nothing(store: Store) -> None:
    seen: list[tuple[int, int]] = []
    first = link_changed(store, progress=lambda done, total: seen.append((done, total)))
    assert seen[-1] == (9, 9)
    before = rows(store, "links"), rows(store, "components"), rows(store, "link_scans")
    assert first == LinkCounts(7, 1, 1, first.links, first.components)
    assert link_changed(store) == LinkCounts(0, 0, 0, first.links, first.components)
    assert before == (rows(store, "links"), rows(store, "components"), rows(store, "link_scans"))


def test_an_interrupted_run_keeps_what_it_committed_and_the_next_one_goes_on(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = Store(tmp_path / "other.duckdb")
    with other.writer("test", create=True) as writer:
        put(writer, **real_batch())
    append = table_rows.append
    written: list[str] = []

    def struck(connection: Any, table: str, new: Any) -> None:
        written.append(table)
        if written.count("links") == 3:
            raise KeyboardInterrupt
        append(connection, table, new)

    monkeypatch.setattr(update_links, "BATCH", 2)
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(table_rows, "append", struck)
        link_changed(store)
    left, whole = link_changed(store), link_changed(other)
    assert left.items + left.comments + left.commits == whole.items + whole.comments + whole.commits - 4
    for table in ("links", "components", "rejects", "link_scans"):
        assert rows(store, table) == rows(other, table)


def test_texts_that_all_changed_are_found_in_limited_memory(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(store_connection.OPTIONS, "memory_limit", "32MB")
    with store.writer("test") as writer, writer.transaction() as made:
        made.execute(
            "INSERT INTO comments (repo, number, comment_id, body) "
            "SELECT 'o/r', n, md5(n::VARCHAR), 'text' FROM range(200_000) r(n)"
        )
        made.execute("INSERT INTO link_scans SELECT repo, 'comment', comment_id, 'by other rules' FROM comments")
    changed = update_links._changed(store)
    places = [row["place"] for row in changed.select(["origin", "place"]).to_pylist() if row["origin"] == "comment"]
    assert places == list(range(200_001))


def test_changed_texts_replace_what_they_gave_before(store: Store) -> None:
    link_changed(store)
    edited = [
        Item(REPO, 179151, "pull", "something else", "Nothing.", updated_at="2026-02-01T00:00:00Z"),
        Item(REPO, 172340, "pull", "plain", "Nothing.", updated_at="2026-02-01T00:00:00Z"),
    ]
    with store.writer("test", create=True) as writer:
        put(writer, items=edited, comments=[Comment(REPO, 174594, "c1", body="Oh.")])
    counts = link_changed(store)
    assert (counts.items, counts.comments, counts.commits) == (2, 1, 0)
    left = {(row[1], row[3], row[5], row[8]) for row in rows(store, "links") if row[7] == "text"}
    assert left == {(177703, "backs_out", 174594, "title"), (177703, "backs_out", 174594, "body")}


def test_the_result_does_not_depend_on_the_order_of_arrival(store: Store, tmp_path: Path) -> None:
    link_changed(store)
    other = Store(tmp_path / "other.duckdb")
    whole = real_batch()
    with other.writer("test", create=True) as writer:
        for part in [{"items": [item]} for item in whole["items"][::-1]]:
            put(writer, **part)
            link_changed(other, writer)
        whole["items"].clear()
        put(writer, **whole)
        link_changed(other, writer)
    assert rows(other, "links") == rows(store, "links")
    assert rows(other, "components") == rows(store, "components")


def test_components_come_from_files_of_the_fix_labels_and_words(store: Store) -> None:
    with store.writer("test", create=True) as writer:
        put(writer, items=[Item(REPO, 180875, labels=("module: sparse", "triaged"))])
    link_changed(store)
    found = {(row[1], row[3], row[4], row[5]) for row in rows(store, "components")}
    assert (172231, "native_cuda", False, "path") in found
    assert (180875, "sparse", True, "label") in found
    assert (174594, "device_memory", False, "text") in found
