"""Runs on the nodes of a Ray cluster: who takes part, what a node refuses, equal tables, nodes and drivers that die."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from helpers.verdicts import build_of
from support import case_of, case_text
from torch_embers import packages
from torch_embers.builds.registry import Placed, Registry
from torch_embers.errors import MissingPackageError
from torch_embers.progress import Silent
from torch_embers.repro.case import parse
from torch_embers.run.batch import Batch
from torch_embers.run.cluster import worker
from torch_embers.run.cluster.jobs import Share, fitting, shares_of
from torch_embers.run.cluster.limits import limits
from torch_embers.run.cluster.nodes import Node, placed_on, same_kind
from torch_embers.run.verdict import Rules
from torch_embers.run.where import Where, opened
from torch_embers.sandbox.proof import GUARANTEES, Proof

if TYPE_CHECKING:
    from pathlib import Path

HERE, OTHER, CODE = ("Linux 6", "AMD EPYC"), ("Linux 6", "Intel Xeon"), "0.9 (abc)"
WHERE = {"device": "cpu", "system": HERE[0], "processor": HERE[1], "capability": "AVX2", "threads": 1}
BUILD = build_of("2.5.1")
PROOF = Proof(dict.fromkeys(GUARANTEES, ""), "here")


def node(ident: str, cpus: int = 2, machine: tuple[str, str] = HERE, code: str = CODE, *placed: Placed) -> Node:
    facts = worker.Facts(ident, code, machine, 8 << 30, PROOF, placed)
    return Node(ident, {"CPU": cpus, "memory": 4 << 30}, facts)


def sized(cpus: int, gib: int) -> Node:
    return replace(node("s"), total={"CPU": cpus, "memory": gib << 30})


def batches(count: int, **meta: Any) -> list[Batch]:
    cases = [case_of(f"print({number})", f"pt{number}_example", **meta) for number in range(count)]
    return [Batch(case, BUILD, "e", 0) for case in cases]


# ---- who takes part, and what is a task ----------------------------------------------------------------------------


def test_a_sweep_keeps_to_the_kind_of_machine_with_most_processors() -> None:
    many = [node("a", 2), node("b", 2), node("c", 3, OTHER)]
    chosen, lines = same_kind(many, OTHER, CODE)
    assert [one.ident for one in chosen] == ["a", "b"]
    assert lines == [
        "1 nodes are left out, a sweep keeps to one kind of machine: they are Linux 6, Intel Xeon, not Linux 6, AMD EPYC"
    ]
    for here in (HERE, OTHER):  # of equal kinds that of the driver
        [one] = same_kind([many[1], node("d", 2, OTHER)], here, CODE)[0]
        assert one.facts.machine == here


def test_a_node_with_another_embers_or_without_processors_gets_no_work() -> None:
    chosen, lines = same_kind([node("a", code="0.8 (x)"), node("b", 0), node("c")], HERE, CODE)
    assert [one.ident for one in chosen] == ["c"]
    assert lines == ["node a is left out: it has embers 0.8 (x), this is 0.9 (abc)"]


def test_a_build_is_pinned_to_the_environment_that_most_processors_have() -> None:
    narrow, wide = (Placed(BUILD, {**WHERE, "capability": name}) for name in ("AVX2", "AVX512"))
    nodes = [node("a", 2, HERE, CODE, narrow), node("b", 3, HERE, CODE, wide), node("c", 2, HERE, CODE, narrow)]
    assert placed_on(nodes, BUILD.identity) == narrow
    assert placed_on(nodes, "another") is None


def test_every_batch_is_in_one_task_of_its_own_kind() -> None:
    asked = [*batches(100), *batches(3, requires=["cpu", "threads>=2"]), *batches(2, requires=["cuda"])]
    extracted = parse(case_text("pass", signature="ValueError", oracle="exception"), "x1", "extracted")
    asked.append(Batch(extracted, BUILD, "e", 0))
    made = shares_of(asked, 4, limits(), Rules.load())
    assert sorted(id(batch) for share in made for batch in share.batches) == sorted(map(id, asked))
    for share in made:
        kinds = {(b.profile, b.preload, b.case.device, b.case.threads, b.build.identity) for b in share.batches}
        assert len(kinds) == 1
        assert len(share.batches) <= limits().most_cases
    sizes = sorted(len(share.batches) for share in made)
    assert sizes[:3] == [1, 2, 3]
    assert max(sizes) - min(sizes[3:]) <= 1


def test_a_task_asks_for_what_its_cases_need_and_never_for_more_than_there_is() -> None:
    def asked(*nodes: Node, **meta: Any) -> tuple[int, int, dict[str, float]]:
        return Share(batches(1, **meta), Rules.load()).asks(nodes or [sized(8, 64)], limits())

    large = ["cpu", "threads>=4", "memory>=16GiB"]
    assert asked() == (1, limits().memory, {})
    assert asked(requires=large) == (4, 16 << 30, {})
    assert asked(sized(2, 4), requires=large) == (2, 4 << 30, {})
    assert asked(sized(8, 4), sized(2, 64), requires=large) == (2, 16 << 30, {})
    assert asked(requires=["cuda"])[2] == {"GPU": 1.0}
    assert asked(requires=["mps"])[2] == {"mps": 1.0}


def test_a_node_that_refused_gets_no_more_of_that_kind_and_the_least_busy_goes_first() -> None:
    share, nodes = Share(batches(1), Rules.load()), [node("a"), node("b"), node("c")]
    nodes[0].busy = 1
    refused = {("sandbox", "hostile"): {"b"}, ("build", BUILD.identity): {"c"}}
    assert [one.ident for one in fitting(nodes, share, refused)] == ["b", "a"]


# ---- the command line ----------------------------------------------------------------------------------------------


def test_without_ray_the_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(packages.EXTRAS, "cluster", ("no_such_package",))
    with pytest.raises(MissingPackageError, match=r"pip install 'torch-embers\[cluster\]'"):
        opened(Where("ray"), Registry(tmp_path), Silent(), jobs=1).__enter__()
