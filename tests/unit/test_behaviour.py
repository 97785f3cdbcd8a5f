"""What counts as the same behaviour, and in what two behaviours differ."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from torch_embers.timeline.behaviour import behaviour, kind_of_flip, same, showing, words
from torch_embers.timeline.model import ENDINGS, Observation
from torch_embers.timeline.segments import segments


def printed(text: str, seed: int = 0) -> Observation:
    return Observation("ok", printed=text, seed=seed)


def raised(message: str, name: str = "RuntimeError") -> Observation:
    return Observation("exception", name, message)


def flip(one: Observation, other: Observation) -> str | None:
    return kind_of_flip(behaviour([one]), behaviour([other]))


EQUAL = [
    ("tensor([0.1000, 2.0000])", "tensor([0.1001, 2.0000])"),  # one unit of the last digit
    ("1.0000000", "1.0000010"),
    ("tensor([1., 2.], grad_fn=<SWhereBackward>)", "tensor([1., 2.], grad_fn=<WhereBackward0>)"),
    ("<object at 0x7f00aa>", "<object at 0x55ff>"),
    ("/usr/lib/python3/x.py:12", "/home/me/envs/torch/x.py:40"),
    ("took 0.31 s", "took 12 ms"),
    ("2026-11-20 10:11:12 done", "2025-01-02 03:04:05 done"),
    ("torch 2.6.0+cpu", "torch 1.13.1+cpu"),
    ("tensor([[1., 0.],\n        [2., 0.]])", "tensor([[1., 0.], [2., 0.]])"),
]
OTHER_VALUES = [
    ("16777217", "16777216"),
    ("tensor([1.])", "tensor([2.])"),
    ("0.1", "0.2"),
    ("True", "False"),
    ("nan", "0.0000"),
    ("inf", "-inf"),
    ("torch.Size([2, 3])", "torch.Size([3, 2])"),
    ("tensor([[1., 2.]])", "tensor([1., 2.])"),
    ("tensor([1, 2])", "tensor([1., 2.])"),
    ("torch.float32", "torch.float64"),
    ("tensor([1.000000], dtype=torch.float64)", "tensor([1.000005], dtype=torch.float64)"),
    ("tensor([1.0000, 5.0000])", "tensor([1.0000, 5.0003])"),
    ("outputs are equal", "outputs differ by far"),
    ("the check: PASSED", "the check: FAILED"),
]


@pytest.mark.parametrize(("one", "other"), EQUAL)
def test_what_differs_between_equal_runs_is_no_behaviour(one: str, other: str) -> None:
    assert flip(printed(one), printed(other)) is None


@pytest.mark.parametrize(("one", "other"), OTHER_VALUES)
def test_other_values_are_a_flip(one: str, other: str) -> None:
    assert flip(printed(one), printed(other)) == "value"
    assert flip(printed(other), printed(one)) == "value"


def test_a_decimal_counts_within_the_tolerance_of_the_printed_type() -> None:
    pair = "tensor([1.00000{}], dtype=torch.{})"
    assert flip(printed(pair.format("00", "bfloat16")), printed(pair.format("91", "bfloat16"))) is None
    assert flip(printed(pair.format("00", "float64")), printed(pair.format("91", "float64"))) == "value"


def test_messages_are_alike_after_numbers_and_places() -> None:
    assert (
        flip(raised("size of a (3) must match b (4) at dim 1"), raised("size of a (5) must match b (6) at dim 0"))
        is None
    )
    assert flip(raised("bad index (Triggered internally at ../x.cpp:12.)"), raised("bad index")) is None
    assert flip(raised("bad", "torch._dynamo.exc.Unsupported"), raised("bad", "torch.exc.Unsupported")) is None


def test_the_kind_of_a_flip_is_the_most_telling_one() -> None:
    crash = Observation("signal", "SIGSEGV")
    assert flip(crash, raised("index out of range in self")) == "ending"
    assert flip(crash, Observation("signal", "SIGABRT")) == "class"
    assert flip(raised("index out of range"), raised("index out of range", "IndexError")) == "class"
    assert flip(raised("index out of range"), raised("not implemented for Half")) == "class"
    assert flip(raised("index out of range in self"), raised("the index is out of range")) == "wording"
    assert flip(printed("ValueError: the size 3 is bad"), printed("ValueError: the size 3 is not good")) == "wording"


def test_numbers_that_follow_the_seed_are_random() -> None:
    old = [printed("loss 0.1234 of 7", 0), printed("loss 0.5678 of 7", 1)]
    new = [printed("loss 0.9999 of 7", 0), printed("loss 0.4444 of 7", 1)]
    other = [printed("loss 0.1234 of 8", 0), printed("loss 0.5678 of 8", 1)]
    assert same(behaviour(old), behaviour(new))
    assert kind_of_flip(behaviour(old), behaviour(other)) == "value"
    assert not behaviour(old).is_mixed
    longer = [printed("1 2 3", 0), printed("4 5", 1)]
    assert same(behaviour(longer), behaviour([printed("7", 0), printed("8 9", 1)]))


def test_a_random_number_is_no_nan_and_no_truth_value() -> None:
    random = behaviour([printed("max 0.25"), printed("max 0.75", seed=1)])
    assert kind_of_flip(random, behaviour([printed("max 0.5"), printed("max 0.5", seed=1)])) is None
    for other in ("max nan", "max inf", "max False"):
        assert kind_of_flip(random, behaviour([printed(other), printed(other, seed=1)])) == "value"


def test_values_that_vary_with_one_seed_are_mixed_and_never_random() -> None:
    garbage = [printed("x 0.1234"), printed("x 0.9876"), printed("x 0.5555", 1)]
    assert behaviour(garbage).is_mixed
    assert kind_of_flip(behaviour(garbage), behaviour([printed("x 0.0000")])) == "value"
    assert same(behaviour(garbage), behaviour([printed("x 0.3333"), printed("x 0.7777")]))
    [segment] = segments({"2.6.0": garbage})
    assert (segment.ending, segment.what) == ("mixed", "ok 3 of 3, with values that vary from run to run")


def test_endings_that_differ_on_one_build_are_k_of_n() -> None:
    [segment] = segments({"2.6.0": [printed(""), printed(""), Observation("signal", "SIGSEGV")]})
    assert (segment.ending, segment.what, segment.runs) == ("mixed", "ok 2 of 3; SIGSEGV 1 of 3", 3)


def test_how_much_an_endless_script_prints_is_no_behaviour() -> None:
    assert flip(Observation("timeout", printed="1\n2\n"), Observation("timeout", printed="1\n2\n3\n")) is None


def test_neighbours_join_across_a_gap_which_stands_alone() -> None:
    gap = Observation("lacks_api", "torch.foo", "module 'torch' has no attribute 'foo'")
    runs = {"2.10.0": [printed("2")], "2.9.1": [printed("1")], "2.7.1": [gap], "2.6.0": [printed("1")], "1.13.1": [gap]}
    found = segments(runs)
    assert [(one.versions, one.ending, one.flip) for one in found] == [
        (("1.13.1",), "lacks_api", None), (("2.6.0",), "ok", None), (("2.7.1",), "lacks_api", None),
        (("2.9.1",), "ok", None), (("2.10.0",), "ok", "value"),
    ]  # fmt: skip
    joined = segments({"2.7.1": [printed("1")], "2.6.0": [printed("1"), gap]})
    assert [(one.versions, one.shown, one.runs) for one in joined] == [(("2.6.0", "2.7.1"), "1", 1)]


TEXTS = st.one_of(
    st.text(max_size=60),
    st.lists(
        st.sampled_from(["tensor([1., 2.])", "0x7f", "nan", "1e-5", "/a/b/c", "RuntimeError: x", "3 s", "-0.5000"])
    ).map(" ".join),
)
RUNS = st.lists(
    st.builds(
        Observation,
        st.sampled_from(ENDINGS),
        st.sampled_from(["", "A"]),
        TEXTS,
        st.just(""),
        TEXTS,
        seed=st.integers(0, 1),
    ),
    min_size=1,
    max_size=4,
)


@given(RUNS, RUNS)
def test_same_is_reflexive_and_symmetric(one: list[Observation], other: list[Observation]) -> None:
    ours, theirs = behaviour(one), behaviour(other)
    assert same(ours, behaviour(one))
    assert kind_of_flip(ours, theirs) == kind_of_flip(theirs, ours)


@given(TEXTS)
def test_normalising_twice_changes_nothing(text: str) -> None:
    assert words(" ".join(words(text))) == words(text)


def test_a_run_shows_what_the_bad_runs_show_although_random_numbers_follow_the_seed() -> None:
    bad = [Observation("ok", printed=f"loss {0.5 + seed} at 0x{seed}f0\n", seed=seed) for seed in (0, 1)]
    other = Observation("ok", printed="loss 7.25 at 0x1f0\n", seed=0)
    assert showing([*bad, other], bad) == 2


def test_a_crash_is_shown_by_any_signal() -> None:
    bad = [Observation("signal", "SIGSEGV", printed="a\n")]
    assert showing([Observation("signal", "SIGABRT"), Observation("ok", printed="a\n")], bad) == 1
