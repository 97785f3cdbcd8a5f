"""The skip ledger: which entries count, which issues they cite, how an entry is decided, what a run leaves behind."""

import unittest
from types import SimpleNamespace

import pytest
import torch

from torch_embers.errors import InputError
from torch_embers.oracles import cells, skip_list, skips
from torch_embers.oracles.oracle_rules import OracleRules
from torch_embers.oracles.skip_list import CRASHES, FAILS, NOTHING, PASSES, UNDECIDED
from torch_embers.research import skips as driver
from torch_embers.research.skips import Journal, SkipEntry
from torch_embers.resources import load_toml
from torch_embers.sandbox.runner import RunResult

LIMITS = {"samples": 4, "seeds": 2}
SOURCE = """
op_db = [
    UnaryInfo("abs", variant_test_name="deep", skips=(
        # of a neighbour: #11111
        DecorateInfo(toleranceOverride({}), "TestCommon", "test_out"),
        # see https://github.com/pytorch/pytorch/issues/84577
        # and numpy/numpy#22222
        DecorateInfo(unittest.expectedFailure, "TestCommon", "test_out"),  # gh-33333
        DecorateInfo(unittest.skip("as in #44444"), "TestCommon",
                     # within: https://github.com/pytorch/pytorch/pull/55555
                     "test_neg_view"),
        DecorateInfo(unittest.skip("https://github.com/scipy/scipy/issues/66666"), "TestJit"),
    )),
]
"""


def info(decorator, test, **more):
    given = {"cls_name": "TestCommon", "device_type": None, "dtypes": None, "active_if": True, **more}
    return SimpleNamespace(decorators=[decorator], test_name=test, **given)


def operator(call, *decorators, **more):
    """A record as PyTorch's database has it, of float32 alone, with one sample a draw."""

    def sample_inputs(device, dtype, requires_grad):
        yield SimpleNamespace(input=torch.randn(3, 4, requires_grad=requires_grad), args=(), kwargs={})

    given = {"name": "op", "variant_test_name": "", "decorators": decorators, "supports_autograd": True}
    given |= {"supports_out": False, "supports_inplace_autograd": True, "sample_inputs": sample_inputs}
    one = SimpleNamespace(**(given | more))
    one.supported_dtypes = one.supported_backward_dtypes = lambda device: {torch.float32}
    record = type("Record", (), {"__call__": lambda self, *args, **kwargs: call(*args, **kwargs)})()
    vars(record).update(vars(one))
    return record


def decide(op, test, dtypes=()):
    return skips.decide(op, {"test": test, "dtypes": dtypes}, OracleRules(load_toml("oracles.toml")), LIMITS)


def only_cuda(test):
    """As PyTorch's decorator of operators whose tests run on CUDA alone, which is known by its name."""
    return test


only_cuda.__name__ = "onlyCUDA"


def test_an_entry_is_an_expected_failure_or_a_skip_that_reaches_the_cpu_and_counts_once():
    found = skips.ledger(
        [
            operator(
                torch.neg,
                info(unittest.expectedFailure, "test_out", dtypes=(torch.int64,)),
                info(unittest.expectedFailure, "test_out", dtypes=(torch.int64,)),
                info(unittest.skip("why"), None),
                info(unittest.skip("why"), "test_neg_view", device_type="cuda"),
                info(unittest.skip("why"), "test_conj_view", active_if=False),
                info(unittest.skipIf(condition=False, reason="why"), "test_dtypes"),
                unittest.skip("of no test"),
                variant_test_name="deep",
            ),
            operator(torch.neg, info(unittest.skip("why"), "test_out"), only_cuda, name="elsewhere"),
        ],
        {("op.deep", "test_out", "expectedFailure"): [7]},
    )
    common = {"op": "op.deep"}
    assert found == [
        {**common, "test": "test_out", "kind": "expectedFailure", "dtypes": ["int64"], "issues": [7], "asked": True},
        {**common, "test": "TestCommon.*", "kind": "skip", "dtypes": [], "issues": [], "asked": False},
    ]


def test_cited_are_numbers_in_reasons_and_in_comments_on_the_lines_of_an_entry_or_directly_above():
    cited = skip_list.cited(SOURCE)
    assert cited["abs.deep", "test_out", "expectedFailure"] == {84577, 33333}
    assert cited["abs.deep", "test_neg_view", "skip"] == {44444, 55555}
    assert cited["abs.deep", "", "skip"] == set()
    assert skip_list.merged([cited, {("abs.deep", "", "skip"): {9, 8}}])["abs.deep", "", "skip"] == [8, 9]


@pytest.mark.parametrize(
    ("said", "reached"),
    [(["", ""], (PASSES, 2, 2)), (["", "late", "later"], (FAILS, 1, 3)), ([], (NOTHING, 0, 0))],
)
def test_one_wrong_answer_makes_an_entry_fail_and_none_at_all_leaves_nothing_to_test(said, reached):
    row = skips.state(said)
    assert (row["state"], row["k"], row["n"]) == reached
    assert row["what"] == next(filter(None, said), "")


def test_an_operator_that_reads_memory_as_if_it_were_dense_still_fails_the_test_of_strides():
    wrong = operator(lambda x: x.as_strided(x.shape, (4, 1)) + 0)
    assert decide(operator(torch.neg), "test_noncontiguous_samples") == {"state": PASSES, "k": 2, "n": 2, "what": ""}
    assert decide(wrong, "test_noncontiguous_samples")["what"] == "result differs"


def test_a_gradient_that_is_wrong_for_strides_still_fails_too():
    class Wrong(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.strided = not x.is_contiguous()
            return x.clone()

        @staticmethod
        def backward(ctx, grad):
            return grad * 2 if ctx.strided else grad

    assert decide(operator(Wrong.apply), "test_noncontiguous_samples")["state"] == FAILS


def test_an_input_with_the_negative_bit_must_keep_its_sign():
    def blind(x):
        return torch._neg_view(x) if x.is_neg() else x.clone()  # the bit is forgotten

    double = {"supported_dtypes": None}
    for call, reached in ((torch.exp, PASSES), (blind, FAILS)):
        op = operator(call, **double)
        op.supported_dtypes = op.supported_backward_dtypes = lambda device: {torch.float64}
        assert decide(op, "test_neg_view")["state"] == reached


def test_a_destination_must_be_filled_as_it_lies_and_a_resize_must_be_said():
    def right(x, out=None):
        return torch.neg(x, out=out)

    def silent(x, out=None):
        if out is not None and out.shape != x.shape:
            out.set_(x.new_empty(x.shape))
        return torch.neg(x, out=out)

    def restrides(x, out=None):
        return x.neg() if out is None else out.set_(x.neg())

    torch.set_warn_always(True)
    assert decide(operator(right, supports_out=True), "test_out")["state"] == PASSES
    assert decide(operator(restrides, supports_out=True), "test_out")["what"] == "strides or memory of out= changed"
    assert decide(operator(right, supports_out=True), "test_out_warning")["state"] == PASSES
    assert decide(operator(silent, supports_out=True), "test_out_warning")["what"] == "no warning of a resize"


def test_method_and_in_place_form_must_agree_with_the_function():
    agreeing = operator(torch.neg, get_method=lambda: torch.Tensor.neg, get_inplace=lambda: torch.Tensor.neg_)
    other = operator(torch.neg, get_method=lambda: torch.Tensor.abs)
    assert decide(agreeing, "test_variant_consistency_eager")["state"] == PASSES
    assert decide(other, "test_variant_consistency_eager")["what"] == "result differs"


def test_a_dtype_that_is_claimed_must_work_and_no_other():
    assert decide(operator(lambda x: x * 2), "test_dtypes")["what"] == "bool works though not claimed"
    raising = operator(lambda x: (_ for _ in ()).throw(RuntimeError))
    assert decide(raising, "test_dtypes")["what"] == "float32 claimed and fails"


def test_what_raises_still_fails_by_its_class_and_what_lacks_a_module_or_defined_memory_is_not_decided():
    def missing(x):
        raise ImportError("none")

    def broken(x):
        raise RuntimeError("none")

    assert decide(operator(broken), "test_noncontiguous_samples")["what"] == "RuntimeError"
    assert decide(operator(missing), "test_noncontiguous_samples")["state"] == UNDECIDED
    assert decide(operator(torch.empty_like, name="empty_like"), "test_noncontiguous_samples")["state"] == UNDECIDED
    assert decide(operator(torch.neg), "test_noncontiguous_samples", ["int64"])["state"] == NOTHING


def result(told, signal=None, ended="exited"):
    stdout = "\n".join(cells.pack({"at": at, **skips.state([""])}) for at in told)
    return RunResult("0", None, signal, ended, "", stdout, "", 0.0, 0.0, 0.0, 0, "", "reviewed", (), {})


def group():
    return [SkipEntry("2.15.0", "op", test, "skip") for test in ("test_out", "test_neg_view", "test_dtypes")]


@pytest.mark.parametrize(
    ("signal", "ended", "reached"),
    [(11, "signalled", CRASHES), (driver.ENDED_BY_TIME, "signalled", UNDECIDED), (None, "memory", UNDECIDED)],
)
def test_an_entry_that_ends_its_process_takes_no_other_with_it(signal, ended, reached):
    done, rest = driver.sort(group(), result([0], signal, ended))
    assert [(one.test, one.state) for one in done] == [("test_out", PASSES), ("test_neg_view", reached)]
    assert [one.test for one in rest] == ["test_dtypes"]


def test_entries_of_tests_without_an_oracle_are_counted_by_test_and_kind():
    others = [SkipEntry("2.15.0", op, "test_jit", "skip") for op in "ab"]
    [row] = driver.counted(others)
    assert (row.operator, row.test, row.state, row.n) == ("", "test_jit", UNDECIDED, 2)


def test_a_folder_keeps_what_was_decided_and_the_rows_of_builds_that_are_not_read_again(tmp_path):
    first, second = (
        SkipEntry("2.9.1", "a", "test_out", "skip", issues=[3, 4]),
        SkipEntry("2.15.0", "b", "test_out", "skip"),
    )
    Journal(tmp_path).append(first)
    Journal(tmp_path).write([first])
    assert list(Journal(tmp_path).known) == [first.key]
    Journal(tmp_path).write([second])
    table = (tmp_path / "skips.csv").read_text().splitlines()
    assert table[1:] == ["2.9.1,a,test_out,skip,,3 4,cannot decide,0,0,", "2.15.0,b,test_out,skip,,,cannot decide,0,0,"]
    (tmp_path / "skips.jsonl").write_text("[]\n{}\n")
    with pytest.raises(InputError, match=r"name another folder, or remove skips\.jsonl"):
        Journal(tmp_path)


def test_a_summary_begins_with_the_stale_skips():
    entries = [SkipEntry("2.15.0", "a", "test_out", "skip", state=PASSES, k=4, n=4)]
    entries += [SkipEntry("2.15.0", "b", "test_out", "expectedFailure", state=PASSES), *driver.counted(group())]
    assert driver.lines(entries) == [
        "1 skips pass",
        "2.15.0 a test_out: passes, 4 of 4",
        "2.15.0: 0 still fails, 2 passes, 0 crashes, 0 nothing to test, 3 cannot decide",
    ]
