"""The chain of a change: the real one of 172340, cycles, limits, hostile titles, and the stage that fills tables."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from torch_embers.link import chain as chain_module
from torch_embers.link import relations
from torch_embers.link.chain import ChainFacts, Link, Node, Tree, chain, printable, render

REPO = "pytorch/pytorch"
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
    facts = {node(172340): ChainFacts("Lt aware addmm", "pull", "closed", "2026-01-20")}
    assert drawn(chain(node(172340), REAL, facts)) == [
        "pytorch/pytorch#172340 Lt aware addmm (pull, closed, 2026-01-20)",
        "├─ reverted by #179151 [text]",
        "│  ├─ superseded by #170571 (see elsewhere in this tree) [text]",
        "│  └─ mentions #174594 [text]",
        "│     ├─ backed out by #177703 [text]",
        "│     └─ explained by #180875 [catalog]",
        "└─ superseded by #170571 [catalog]",
    ]
    for start in (179151, 170571, 174594, 177703):
        numbers = {found.number for found in chain(node(start), REAL).nodes()}
        assert numbers == {174594, 177703, 180875, 179151, 172340, 170571}, "it is whole from every change in it"


def test_evidence_is_gathered_unknown_relations_are_passed_over_and_other_repositories_named() -> None:
    links = [link(1, "fixes", 2), link(1, "fixes", 2, "event"), link(1, "haunts", 2)]
    assert drawn(chain(node(1), links)) == ["pytorch/pytorch#1", "└─ fixes #2 [event, text]"]
    elsewhere = [Link(node(1), "fixes", Node("pytorch/vision", 2), "text")]
    assert drawn(chain(node(1), elsewhere))[1] == "└─ fixes pytorch/vision#2 [text]"


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
    stacked = [link(1, "stacked_with", 2), link(2, "reverts", 3)]
    assert list(chain(node(1), stacked).nodes()) == [node(1)], "stacks are no part of a chain"


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


def test_every_item_has_its_address_once() -> None:
    facts = {node(172340): ChainFacts(kind="pull")}
    lines = render(chain(node(172340), REAL, facts))
    assert lines[0].endswith(f" {PULL}/172340")
    assert lines[1].endswith(f" https://github.com/{REPO}/issues/179151")
    assert "https" not in lines[2]
    commit = Node(REPO, 0, "c" * 40)
    assert chain(commit, [Link(commit, "reverts", node(2), "commit")]).address().endswith(f"/{REPO}/commit/{'c' * 40}")


@pytest.mark.parametrize("width", [20, 60, 80])
def test_long_lines_are_folded_below_their_branch(width: int) -> None:
    facts = {node(174594): ChainFacts("wide " * 30, "pull")}
    lines = render(chain(node(172340), REAL, facts), width)
    assert "".join(lines).count("https://") == 6
    assert max(len(line) for line in lines if "https" not in line) <= max(width, chain_module.MIN_ROOM + 12)
    inside = [line for line in lines if line.startswith("│     ")]
    assert len(inside) > 4


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
