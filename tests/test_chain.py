"""The chain of a change: the real one of 172340, cycles, limits, hostile titles, and the stage that fills tables."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from torch_embers.link import chain as chain_module
from torch_embers.link import relations, stage
from torch_embers.link.chain import Facts, Link, Node, Tree, chain, printable, render
from torch_embers.link.graph import around
from torch_embers.link.stage import LinkCounts, link_changed
from torch_embers.store import connection as store_connection
from torch_embers.store.records import Batch, Comment, Commit, Event, Item, PullFile, StatedLink
from torch_embers.store.store import Store

if TYPE_CHECKING:
    from pathlib import Path

REPO = "pytorch/pytorch"
LANDED = "dd82c6ba3b37910568b2a25674149c1653768ec2"
PULL = f"https://github.com/{REPO}/pull"


def node(number: int) -> Node:
    return Node(REPO, number)


def link(source: int, relation: str, target: int, evidence: str = "text") -> Link:
    return Link(node(source), relation, node(target), evidence)


def drawn(tree: Tree) -> list[str]:
    """Lines of the tree without the address at the end of each."""
    return [re.sub(r" https://github\.com/\S+$", "", line) for line in render(tree)]


REAL = [
    link(179151, "reverts", 172340),
    link(179151, "mentions", 174594),
    link(179151, "mentions", 177703),
    link(170571, "supersedes", 179151),
    link(170571, "supersedes", 172340, "catalog"),
    link(177703, "backs_out", 174594),
    link(180875, "explains", 174594, "catalog"),
]


def test_the_real_chain_is_told_whole_from_the_reverted_change() -> None:
    facts = {node(172340): Facts("Lt aware addmm", "pull", "closed", "2026-01-20")}
    assert drawn(chain(node(172340), REAL, facts)) == [
        "pytorch/pytorch#172340 Lt aware addmm (pull, closed, 2026-01-20)",
        "├─ reverted by #179151 [text]",
        "│  ├─ superseded by #170571 (see elsewhere in this tree) [text]",
        "│  └─ mentions #174594 [text]",
        "│     ├─ backed out by #177703 [text]",
        "│     └─ explained by #180875 [catalog]",
        "└─ superseded by #170571 [catalog]",
    ]


@pytest.mark.parametrize("start", [172340, 179151, 170571, 174594, 177703])
def test_the_real_chain_is_told_whole_from_every_change_in_it(start: int) -> None:
    numbers = {found.number for found in chain(node(start), REAL).nodes()}
    assert numbers == {174594, 177703, 180875, 179151, 172340, 170571}


def test_cycles_are_cut_and_each_node_stands_once() -> None:
    links = [link(1, "reverts", 2), link(2, "relands", 3), link(3, "reverts", 1), link(2, "reverts", 1)]
    tree = chain(node(1), links)
    assert sorted(found.number for found in tree.nodes()) == [1, 2, 3]


def test_mentions_are_followed_one_step_and_only_to_items_with_a_story() -> None:
    links = [
        link(1, "mentions", 2),
        link(2, "fixes", 3),
        link(3, "mentions", 4),
        link(4, "reverts", 5),
        link(1, "mentions", 6),
        link(7, "mentions", 1),
        link(7, "fixes", 8),
        link(9, "mentions", 1),
        link(9, "reverts", 10),
    ]
    numbers = {found.number for found in chain(node(1), links).nodes()}
    assert numbers == {1, 2, 3, 9, 10}


def test_stacks_are_no_part_of_a_chain() -> None:
    assert [found.number for found in chain(node(1), [link(1, "stacked_with", 2), link(2, "reverts", 3)]).nodes()] == [
        1
    ]


def test_a_commit_stands_for_the_pull_request_it_landed() -> None:
    commit, lone = Node(REPO, 0, "a" * 40), Node(REPO, 0, "b" * 40)
    links = [
        Link(commit, "lands", node(1), "commit"),
        Link(commit, "reverts", node(2), "commit"),
        Link(lone, "reverts", node(1), "commit"),
    ]
    assert drawn(chain(commit, links)) == [
        "pytorch/pytorch#1",
        "├─ reverted by bbbbbbbbbb [commit]",
        "└─ reverts #2 [commit]",
    ]


def test_evidence_of_one_edge_is_gathered_and_unknown_relations_are_passed_over() -> None:
    links = [link(1, "fixes", 2), link(1, "fixes", 2, "event"), link(1, "haunts", 2)]
    assert drawn(chain(node(1), links)) == ["pytorch/pytorch#1", "└─ fixes #2 [event, text]"]


def test_every_item_has_its_address_once() -> None:
    facts = {node(172340): Facts(kind="pull")}
    lines = render(chain(node(172340), REAL, facts))
    assert lines[0].endswith(f" {PULL}/172340")
    assert lines[1].endswith(f" https://github.com/{REPO}/issues/179151")
    assert "https" not in lines[2]
    commit = Node(REPO, 0, "c" * 40)
    assert chain(commit, [Link(commit, "reverts", node(2), "commit")]).address().endswith(f"/{REPO}/commit/{'c' * 40}")


@pytest.mark.parametrize("width", [20, 60, 80])
def test_long_lines_are_folded_below_their_branch(width: int) -> None:
    facts = {node(174594): Facts("wide " * 30, "pull")}
    lines = render(chain(node(172340), REAL, facts), width)
    assert "".join(lines).count("https://") == 6
    assert max(len(line) for line in lines if "https" not in line) <= max(width, chain_module.MIN_ROOM + 12)
    inside = [line for line in lines if line.startswith("│     ")]
    assert len(inside) > 4


def test_other_repositories_keep_their_name() -> None:
    links = [Link(node(1), "fixes", Node("pytorch/vision", 2), "text")]
    assert drawn(chain(node(1), links))[1] == "└─ fixes pytorch/vision#2 [text]"


def test_a_large_story_is_cut_and_says_so() -> None:
    tree = chain(node(0x1000), [link(n, "fixes", 0x1000) for n in range(1, 500)])
    lines = drawn(tree)
    assert len(list(tree.nodes())) == chain_module.MAX_NODES
    assert lines[-1] == f"… {500 - chain_module.MAX_NODES} more left out"


def test_titles_cannot_steer_the_terminal_or_break_a_line() -> None:
    assert printable("a\x1b[31m\nb\u202ec\x00\x9b d" + "x" * 500).startswith("a[31m bc d")
    assert len(printable("y" * 500)) == chain_module.MAX_TITLE


numbers = st.integers(1, 12)
names = st.sampled_from(sorted(relations.load().relations))


@given(numbers, st.lists(st.builds(link, numbers, names, numbers), max_size=40))
def test_any_graph_gives_a_tree_with_every_strong_neighbour_and_no_node_twice(start: int, links: list[Link]) -> None:
    book = relations.load().relations
    tree = chain(node(start), links)
    found = list(tree.nodes())
    assert len(found) == len(set(found))
    assert found[0] == node(start)
    for one in links:
        if book[one.relation].strength == "strong":
            assert (one.source in found) == (one.target in found)
    assert tree == chain(node(start), links[::-1] + links)
    assert all(line[0] in "├└│ " for line in render(tree)[1:])


def items() -> list[Item]:
    texts: list[tuple[int, str, str, str]] = [
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
    return [
        Item(REPO, number, kind, title, body, state="closed", created_at="2026-01-01T00:00:00Z", page_id="p")
        for number, kind, title, body in texts
    ]


def real_batch() -> Batch:
    return Batch(
        items=items(),
        comments=[Comment(REPO, 174594, "c1", body=f"Reverted in {PULL}/177703")],
        events=[
            Event(REPO, 172231, "e1", "closed", other_repo=REPO, other_number=172340),
            Event(REPO, 172231, "e2", "cross_referenced", other_repo=REPO, other_number=172340, will_close=True),
            Event(REPO, 180875, "e3", "marked_as_duplicate", "2026-01-01T00:00:00Z", other_number=9),
            Event(REPO, 180875, "e4", "unmarked_as_duplicate", "2026-01-02T00:00:00Z", other_number=9),
        ],
        commits=[Commit(REPO, LANDED, subject="Lt (#174594)", message="Lt (#174594)", pull_number=174594)],
        pull_files=[PullFile(REPO, 172340, "aten/src/ATen/native/cuda/Blas.cpp")],
        stated_links=[
            StatedLink(REPO, 180875, "explains", REPO, 174594, "catalog"),
            StatedLink(REPO, 170571, "supersedes", REPO, 172340, "catalog"),
        ],
    )


@pytest.fixture
def store(tmp_path: Path) -> Store:
    store = Store(tmp_path / "e.duckdb")
    with store.writer("test", create=True) as writer:
        writer.commit(real_batch())
    return store


def rows(store: Store, table: str) -> list[tuple[object, ...]]:
    with store.read() as connection:
        return connection.execute(f"SELECT * FROM {table} ORDER BY ALL").fetchall()


@pytest.mark.slow
def test_the_real_chain_comes_out_of_the_database(store: Store) -> None:
    link_changed(store)
    with store.read() as connection:
        links, facts = around(connection, node(172340))
    lines = [line.split(" (")[0] for line in drawn(chain(node(172340), links, facts))]
    assert lines == [
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


@pytest.mark.slow
def test_a_second_run_parses_nothing_and_changes_nothing(store: Store) -> None:
    first = link_changed(store)
    before = rows(store, "links"), rows(store, "components"), rows(store, "link_scans")
    assert first == LinkCounts(7, 1, 1, first.links, first.components)
    assert link_changed(store) == LinkCounts(0, 0, 0, first.links, first.components)
    assert before == (rows(store, "links"), rows(store, "components"), rows(store, "link_scans"))


@pytest.mark.slow
def test_texts_that_all_changed_are_found_within_the_memory_limit(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(store_connection.OPTIONS, "memory_limit", "32MB")
    with store.writer("test") as writer, writer.transaction() as made:
        made.execute(
            "INSERT INTO comments (repo, number, comment_id, body) "
            "SELECT 'o/r', n, md5(n::VARCHAR), 'text' FROM range(200_000) r(n)"
        )
        made.execute("INSERT INTO link_scans SELECT repo, 'comment', comment_id, 'by other rules' FROM comments")
    changed = stage._changed(store)
    places = [row["place"] for row in changed.select(["origin", "place"]).to_pylist() if row["origin"] == "comment"]
    assert places == list(range(200_001))


@pytest.mark.slow
def test_changed_texts_replace_what_they_gave_before(store: Store) -> None:
    link_changed(store)
    edited = [
        Item(REPO, 179151, "pull", "something else", "Nothing.", updated_at="2026-02-01T00:00:00Z"),
        Item(REPO, 172340, "pull", "plain", "Nothing.", updated_at="2026-02-01T00:00:00Z"),
    ]
    with store.writer("test", create=True) as writer:
        writer.commit(Batch(items=edited, comments=[Comment(REPO, 174594, "c1", body="Oh.")]))
    counts = link_changed(store)
    assert (counts.items, counts.comments, counts.commits) == (2, 1, 0)
    left = {(row[1], row[3], row[5], row[8]) for row in rows(store, "links") if row[7] == "text"}
    assert left == {(177703, "backs_out", 174594, "title"), (177703, "backs_out", 174594, "body")}


@pytest.mark.slow
def test_the_result_does_not_depend_on_the_order_of_arrival(store: Store, tmp_path: Path) -> None:
    link_changed(store)
    other = Store(tmp_path / "other.duckdb")
    whole = real_batch()
    with other.writer("test", create=True) as writer:
        for part in [Batch(items=[item]) for item in whole.items[::-1]]:
            writer.commit(part)
            link_changed(other, writer)
        whole.items.clear()
        writer.commit(whole)
        link_changed(other, writer)
    assert rows(other, "links") == rows(store, "links")
    assert rows(other, "components") == rows(store, "components")


@pytest.mark.slow
def test_components_come_from_files_of_the_fix_labels_and_words(store: Store) -> None:
    with store.writer("test", create=True) as writer:
        writer.commit(Batch(items=[Item(REPO, 180875, labels=("module: sparse", "triaged"))]))
    link_changed(store)
    found = {(row[1], row[3], row[4], row[5]) for row in rows(store, "components")}
    assert (172231, "native_cuda", False, "path") in found
    assert (180875, "sparse", True, "label") in found
    assert (174594, "device_memory", False, "text") in found


def test_progress_counts_up_to_the_whole(store: Store) -> None:
    seen: list[tuple[int, int]] = []
    link_changed(store, progress=lambda done, total: seen.append((done, total)))
    assert seen[-1] == (9, 9)
    assert all(first[0] < second[0] for first, second in pairwise(seen))
