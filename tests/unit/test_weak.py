"""Weak labels: what functions say, how far gold lets them be believed, how votes add up, and what the table keeps."""

from __future__ import annotations

import copy
import re
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers.timeline_rows import crashed, ended, put
from support import case_of
from torch_embers import resources
from torch_embers.cases import bank
from torch_embers.classify.labels import label_model, weak
from torch_embers.classify.labels.weak import Labeller, WeakLabel
from torch_embers.classify.labels.weak_table import execution_outcomes
from torch_embers.errors import InputError
from torch_embers.signature import Signature
from torch_embers.store.store import Store
from torch_embers.taxonomy import Taxonomy

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from torch_embers.timeline.model import Segment


def said(title: str = "", body: str | None = None, labels: Iterable[str] = ()) -> set[tuple[str, str]]:
    return {(vote.scheme, vote.value) for vote in Labeller.load().votes(title, body, labels)}


def vote(value: str, function: str = "f", kind: str = "keyword", scheme: str = "consequence") -> WeakLabel:
    return WeakLabel(scheme, value, function, kind, "x")


def test_a_word_that_a_pattern_needs_lets_each_of_its_alternatives_through() -> None:
    """``needs`` is a cheap test only: it must never hide what the pattern would find."""
    examples = {
        "title-segfault": ["segmentation fault", "seg fault", "sigfpe", "core dumped", "bus error", "double free"],
        "title-crash": ["aborted", "kernel died", "process killed", "crashes"],
        "title-wrong": ["incorrectly", "erroneous", "bogus", "garbage", "inaccurate"],
        "title-hang": ["hangs", "hung", "dead-lock", "stuck", "freezes", "infinite loop", "never returns"],
        "title-leak": ["oom", "out of memory", "refcount leak", "reference cycles", "memory blow-up"],
        "title-files": ["too many open files", "file descriptors", "fds", "shm_open", "ancdata"],
        "title-wish": ["[rfc] a", "umbrella b", "is there any way", "how can i", "please add"],
        "title-32-bit": ["int32_max", "2**31", "2 ^ 32", "large tensors", "uint32 offset", "integer overflow"],
    }
    functions = {function.id: function for function in Labeller.load().functions}
    for name, texts in examples.items():
        assert functions[name].needs
        for text in texts:
            assert name in {found.function for found in Labeller.load().votes(text, None, [])}, (name, text)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"value": "nonsense"}, "nonsense"),
        ({"scheme": "nonsense"}, "no scheme"),
        ({"kind": "guess"}, "kind"),
        ({"reason": " "}, "reason"),
        ({"id": "Title"}, 'function "Title": keyword: id: '),
        ({"pattern": "seg.*fault"}, "upper bound"),
        ({"pattern": "(?=seg)fault"}, "RE2"),
        ({"pattern": r"(s)\1"}, "RE2"),
        ({"pattern": "SIGSEGV"}, "lower case"),
        ({"pattern": "(seg"}, "title-segfault"),
        ({"where": "thread"}, "where: Input should be 'title' or 'body'"),
        ({"needs": []}, "needs"),
        ({"needs": "seg"}, "needs"),
        ({"labels": ["x"]}, "labels"),
        ({"signature": "x"}, "signature"),
    ],
)
def test_a_wrong_entry_is_refused_by_name(change: dict[str, Any], message: str) -> None:
    data = copy.deepcopy(resources.load_toml(weak.FILE))
    [entry] = [entry for entry in data["function"] if entry["id"] == "title-segfault"]
    entry.update(change)
    with pytest.raises(InputError, match=re.escape(message)):
        Labeller(data, Taxonomy.load())


def test_a_missing_part_another_version_and_a_name_given_twice_are_refused() -> None:
    data = resources.load_toml(weak.FILE)
    twice = data | {"function": [*data["function"], data["function"][0]]}
    for wrong in (data | {"version": 2}, {"version": 1}, data | {"function": [{"id": "a"}]}, twice):
        with pytest.raises(InputError, match=weak.FILE):
            Labeller(wrong, Taxonomy.load())


def test_labels_and_words_vote_whatever_their_case() -> None:
    assert said(labels=["Module: Correctness (silent)"]) == {("consequence", "silent_correctness")}
    assert ("consequence", "crash") in said("SEGFAULT in sort")
    assert ("consequence", "crash") in said("x", "Then it dies:\n\nSegmentation fault (core dumped)")
    assert ("bug_type", "onnx") in said("[ONNX] Export fails", labels=["module: onnx"])
    assert said("Nothing to see", "A calm report.", ["triaged"]) == said("", None, []) == said("", "", []) == set()


def test_a_vote_for_a_memory_type_is_a_vote_for_memory() -> None:
    votes = Labeller.load().votes("sort is wrong for non-contiguous input", None, [])
    found = {vote.function: vote for vote in votes}
    assert found["title-noncontiguous"].value == "non_contiguous"
    implied = found["title-noncontiguous/bug_type"]
    assert (implied.scheme, implied.value, implied.evidence) == ("bug_type", "memory", "non-contiguous")


def test_forms_and_environments_do_not_vote() -> None:
    form = (
        "### Versions\n\nPyTorch version: 2.1\nIs debug build: False\nCUDA runtime version: 12.1\n[pip3] onnx==1.15\n"
    )
    assert said("A matter of style", form) == set()
    wish = "### 🚀 The feature, motivation and pitch\n\nIt could be."
    assert ("bug_type", "not_a_bug") in said("Faster sorting", wish)


@given(st.text(), st.text(), st.lists(st.text()))
def test_any_text_gives_votes_without_repeats_in_any_order_of_labels(title: str, body: str, labels: list[str]) -> None:
    found = Labeller.load().votes(title, body, labels)
    names = [vote.function for vote in found]
    assert len(names) == len(set(names))
    assert set(names) <= set(Labeller.load().names())
    assert {v.function for v in Labeller.load().votes(title, body, labels[::-1])} == set(names)


@pytest.mark.parametrize(
    "unit",
    ["a", "not a ", "without the ", "memory ", "2 ", "x1lr_", "segmentation fault ", "contiguous with ", "(", "\n"],
)
def test_hostile_text_takes_no_longer_than_its_length_asks_for(unit: str) -> None:
    text = unit * (1_000_000 // len(unit))
    started = time.process_time()
    Labeller.load().votes(text[:60_000], text, [text[:60_000]])
    assert time.process_time() - started < 5


def by_run(*shown: str, declared: str = "") -> list[tuple[str, str]]:
    votes = Labeller.load().execution_votes(Signature(*shown), declared, "run 7")
    return [(vote.value, vote.evidence) for vote in votes]


def test_a_run_votes_by_what_it_showed() -> None:
    assert by_run("signal", "SIGSEGV") == [("crash", "run 7")]
    assert by_run("signal", "SIGKILL") == by_run("assertion", "AssertionError") == []
    assert by_run("mismatch") == [("silent_correctness", "run 7")]
    # of several functions that see a run the narrowest speak
    assert by_run("exception", "RuntimeError", "size mismatch") == [("runtime_error", "run 7")]
    assert by_run("exception", "RuntimeError", "N INTERNAL ASSERT FAILED at PATH") == [("crash", "run 7")]
    assert by_run("mismatch", declared="nan_inf") == [("nan_inf", "run 7")]
    assert by_run("mismatch", declared="silent_correctness") == [("silent_correctness", "run 7")]
    assert by_run("signal", "SIGSEGV", declared="nan_inf") == [("crash", "run 7")]


def test_a_function_without_gold_has_no_accuracy() -> None:
    measured = label_model.estimate({}, {})
    assert set(measured) == set(Labeller.load().names())
    assert {(one.right, one.total, one.interval) for one in measured.values()} == {(0, 0, (0.0, 1.0))}


def gold_of(*values: str, scheme: str = "consequence") -> dict[int, dict[str, frozenset[str]]]:
    return {number: {scheme: frozenset({value})} for number, value in enumerate(values)}


def test_accuracy_counts_only_items_whose_scheme_gold_answers() -> None:
    gold = gold_of("crash", "crash", "hang") | {7: {"bug_type": frozenset({"memory"})}}
    votes = {n: [vote("crash", "title-crash")] for n in [0, 1, 2, 7, 8]}
    made = label_model.estimate(votes, gold)["title-crash"]
    assert (made.right, made.total) == (2, 3)
    assert made.base == pytest.approx(2.5 / 4)


@pytest.mark.parametrize(
    ("title", "named"),
    [
        ("CUDNN_STATUS_INTERNAL_ERROR in conv2d", {"cuda"}),
        ("cudnn_convolution_add_relu fails", {"cuda"}),
        ("wrong inverse by cuSOLVER on A100", {"cuda"}),
        ("ProcessGroupGloo hangs", {"distributed"}),
        ("SparseMPS: no kernel, 'AutogradXPU' and QuantizedCPU have one", {"mps", "xpu", "cpu"}),
        ("SparseCsrCUDA falls back", {"cuda"}),
        ("dist.barrier never returns", {"distributed"}),
        ("torch.distance of nothing, barracuda and rtx", set()),
        ("wrong result of processing", set()),
    ],
)
def test_libraries_error_codes_dispatch_keys_and_cards_name_their_backend(title: str, named: set[str]) -> None:
    assert {vote.value for vote in Labeller.load().votes(title, None, None) if vote.scheme == "backend"} == named


# ---- scripts of reports ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("segments", "classes"),
    [
        ([crashed("2.6.0")], {"crash"}),
        ([crashed("2.6.0", match="other")], set()),
        ([crashed("2.6.0", match=None)], set()),
        ([replace(crashed("2.6.0"), ending="exception", what="RuntimeError", shown="size: wrong")], {"runtime_error"}),
        ([ended("2.6.0", match="as_reported")], set()),
        ([ended("2.6.0", match="as_reported"), ended("2.7.1")], {"silent_correctness"}),
        ([replace(crashed("2.6.0"), ending="mixed", what="1 of 3 signal")], set()),
    ],
)
def test_a_script_labels_its_item_only_by_what_the_report_quotes(
    database: Path, segments: list[Segment], classes: set[str]
) -> None:
    put(database, 5, segments)
    with Store(database).read() as connection:
        found = execution_outcomes(connection)
    assert {vote.value for votes in found.values() for vote in votes} == classes
    assert all(vote.kind == "execution" for votes in found.values() for vote in votes)


def test_what_is_shipped_or_has_a_case_gets_no_label_from_its_script(database: Path) -> None:
    put(database, 5, [crashed("2.6.0")], provenance="shipped")
    put(database, 6, [crashed("2.6.0")])
    with Store(database).writer("test") as writer, writer.transaction() as connection:
        bank.save(connection, [case_of(issues=["pytorch/pytorch#6"], relation="same")])
    with Store(database).read() as connection:
        assert execution_outcomes(connection) == {}
