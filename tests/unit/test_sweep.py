"""A sweep of one operator: what is called, what is counted, and how random operators and fatal calls are treated."""

import pytest

torch = pytest.importorskip("torch")

from helpers.sweep import RULES, Op, counts, sweep  # noqa: E402
from torch_embers.oracles import cells, gradients, guesses, kernels, lattice, layouts  # noqa: E402
from torch_embers.oracles.cells import ANY  # noqa: E402
from torch_embers.oracles.numerics import tensors_of  # noqa: E402
from torch_embers.oracles.oracle_rules import OracleRules, Skip  # noqa: E402
from torch_embers.oracles.repeat import Plan, examine  # noqa: E402
from torch_embers.oracles.sweep import Bounds, Sweep, destinations  # noqa: E402


def test_a_right_operator_is_quiet_in_all_modes_and_every_cell_is_counted():
    row = sweep(Op(torch.exp, inplace=torch.Tensor.exp_)).run()
    assert row == sweep(Op(torch.exp, inplace=torch.Tensor.exp_)).run()
    assert row["findings"] == []
    for mode in ("forward", "backward", "inplace", "out", "kernels"):
        assert counts(row, mode)["tested"] > 10, mode
    assert counts(row, "out")["guarded"] == counts(row, "out")["tested"]
    assert counts(row, "forward")["guarded"] == 0


def writes_in_order(x, out=None):
    result = x.exp()
    if out is None:
        return result
    torch.as_strided(out, (out.numel(),), (1,)).copy_(result.flatten())
    return out


def test_a_write_outside_is_counted_and_found_once_per_layout():
    row = sweep(Op(writes_in_order), ("out",)).run()
    assert counts(row, "out")["outside"] > 0
    assert {found["severity"] for found in row["findings"]} == {"outside_write", "wrong_value"}


def test_an_operator_that_draws_and_leaves_elements_unwritten_is_found():
    def half(x):
        if not x.is_contiguous():
            x[0].normal_()
            return x
        return x.normal_()

    row = sweep(Op(lambda x: x.clone().normal_(), "normal", half, autograd=False), ("inplace",)).run()
    assert {found["place"] for found in row["findings"]} == {"input"}
    assert "are not written" in row["findings"][0]["message"]


def test_a_number_that_was_there_before_and_is_drawn_again_is_no_finding():
    def drawn(x):
        old = x[0].clone()
        x.normal_()
        if not x.is_contiguous() and torch.initial_seed() % 2 == 0:  # by one of two seeds
            x[0].copy_(old)
        return x

    row = sweep(Op(lambda x: x.clone().normal_(), "normal", drawn, autograd=False), ("inplace",)).run()
    assert row["findings"] == []


def test_cells_that_are_left_out_are_not_called_in_any_sample():
    skip = [["forward", "exp", "0", "transposed"], ["out", "exp", ANY, ANY]]
    row = sweep(Op(torch.exp), ("forward", "out"), skip).run()
    assert not any(entry[:4] == skip[0] or entry[0] == "out" for entry in row["cells"])
    row = sweep(Op(torch.exp, "as_strided"), ("forward",)).run()
    assert row["cells"] == []  # it has no meaning on dense copies
    assert any("strides or memory as an argument" in why for why in row["skipped"])


def test_gradients_of_equal_values_are_left_out_where_elements_share_memory():
    row = sweep(Op(lambda x: torch.sort(x).values, "sort"), ("backward",)).run()
    assert row["findings"] == []
    assert row["skipped"]["the gradient may go to any of equal values"] > 0
    assert not any(entry[3] in lattice.SHARED for entry in row["cells"])


def two_results(x, first, second):
    first.copy_(x)
    second.fill_(1.0 if second.is_contiguous() else 2.0)
    return first, second


@pytest.mark.parametrize(("skip", "found"), [(None, ["second"]), (Skip("hidden_state", "buffer", ("first",)), [])])
def test_destinations_that_are_buffers_for_the_backward_are_not_compared(skip, found):
    plan = Plan("two", names=("x", "first", "second"), written=("first", "second"), skip=skip)
    args = [torch.randn(4, 3), torch.zeros(3, 4).t(), torch.zeros(3, 4).t()]
    done = examine(two_results, plan, args, {}, OracleRules(RULES))
    assert [problem.place for problem in done.problems] == found


def test_an_operator_ends_when_its_time_is_over_and_says_so():
    row = sweep(Op(torch.exp), seconds=0.0).run()
    assert row["skipped"]["out of time"] > 100
    assert row["cells"] == []


@pytest.mark.parametrize("layout", [*lattice.FORMS, *lattice.LAZY])
@pytest.mark.parametrize("size", [(3,), (3, 1), (2, 3, 4), (1, 3, 2, 4), (2, 3, 2, 2, 2)])
def test_a_layout_keeps_the_values_and_lies_in_watched_memory(layout, size):
    values = torch.randn(size)
    laid = lattice.destination(values, layout)
    assert laid is None or torch.equal(laid.resolve_neg(), values)
    assert laid is None or not layouts.overlaps_itself(laid)
    assert laid is None or laid.storage_offset() >= lattice.ROOM
    assert laid is not None or layout not in ("strided", "offset", "sliced", "lazy")


@pytest.mark.parametrize("layout", lattice.REPEATED)
def test_memory_around_a_destination_that_overlaps_itself_is_watched(layout):
    made = lattice.place((3, 4), torch.float32, layout)
    plan = Plan("fill", names=("x",), written=("x",))
    done = examine(lambda x: x.as_strided((2,), (1,)).fill_(1.0), plan, [made], {}, OracleRules(RULES))
    assert (done.refused, done.problems) == ("a destination overlaps itself", [])
    done = examine(lambda x: x.as_strided((40,), (1,)).fill_(2.0), plan, [made], {}, OracleRules(RULES))
    assert [problem.severity for problem in done.problems] == ["outside_write"]


def test_destinations_of_several_results_are_also_varied_one_by_one():
    def parts(x, out=None):
        if out is None:
            return x + 1, x - 1
        out[0].copy_(x + 1)
        out[1].copy_(x + 2 if out[0].is_contiguous() and not out[1].is_contiguous() else x - 1)
        return out

    row = sweep(Op(parts, autograd=False), ("out",)).run()
    assert {found["message"].partition(":")[0].rpartition(" ")[2] for found in row["findings"]} == {"1"}


def test_a_destination_of_another_size_gets_the_size_of_the_result():
    def sized(x, out=None):
        if out is None:
            return x.exp()
        wrong = out.numel() > x.numel() and not out.is_contiguous()
        out.resize_(x.shape)
        return out.copy_(x.exp() + wrong)

    row = sweep(Op(sized, autograd=False), ("out",)).run()
    assert {entry[3] for entry in row["cells"] if entry[4 + cells.COUNTED.index("wrong")]} == {
        "resized_transposed, others dense",
        "resized_transposed, others transposed",
    }


def test_the_in_place_form_of_an_operator_without_a_method_is_called_into_watched_memory():
    row = sweep(Op(torch.nn.functional.silu, "nn.functional.silu"), ("kernels",)).run()
    assert row["findings"] == []
    called = {entry[3]: entry[4 + cells.COUNTED.index("guarded")] for entry in row["cells"] if "silu_" in entry[1]}
    assert called["strided"] > 0
    assert called["expanded"] == 0


def test_operators_without_samples_are_called_with_what_their_schema_suggests():
    row = sweep(guesses.GuessedOperator("aten._foreach_add_")).run()
    assert row["findings"] == []
    assert counts(row, "kernels")["guarded"] > 50


@pytest.mark.skipif(not hasattr(torch.ops.aten, "_fused_sgd_"), reason="this release has no fused optimizer")
def test_a_fused_step_gets_lists_of_tensors_in_its_own_dtype():
    samples = list(guesses.GuessedOperator("aten._fused_sgd_").samples(torch.float32))
    plain = [sample for sample in samples if sample.func is torch.ops.aten._fused_sgd_.default]
    assert 1 <= len(plain) <= guesses.MOST
    parameters, gradients, momenta = plain[0].args[:3]
    assert {tensor.dtype for tensor in (*parameters, *gradients, *momenta)} == {torch.float32}


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("aten.transpose", "a view"),
        ("aten.empty", "no tensor among its arguments"),
        ("aten._cudnn_rnn", "no kernel for this device"),
        ("aten.dropout", "made of other operators: seen by its parts"),
    ],
)
def test_an_operator_that_is_not_called_says_why(name, why):
    row = sweep(guesses.GuessedOperator(name), ("kernels",)).run()
    assert row["cells"] == []
    assert why in row["skipped"]


def test_operators_with_samples_are_not_guessed():
    found = guesses.entries(["add", "nn.functional.gelu", "linalg.qr"])
    assert not {"aten.add", "aten.gelu", "aten.linalg_qr"} & set(found)
    assert {"aten.add_", "aten.gelu_backward"} <= set(found)


def test_arguments_weights_and_destinations_are_made_on_the_device_of_the_hunt(monkeypatch):
    asked = []
    plain = lattice.place
    monkeypatch.setattr(lattice, "place", lambda *about: asked.append(about[3:]) or plain(*about))
    result = torch.zeros(2, 3)
    destinations([result, result], "strided", "destination 0")
    list(kernels.destinations(result, ["out"]))
    assert set(asked) == {(result.device,)}
    args, kwargs = guesses.arguments(torch.ops.aten._fused_sgd_.default, (2, 3), torch.float32, "meta")
    weights = gradients.counted(torch.empty(2, 3, device="meta"))
    assert {tensor.device.type for tensor in [*tensors_of([args, kwargs]), weights]} == {"meta"}


def test_samples_and_findings_are_of_the_device_of_the_hunt():
    asked = []

    class Elsewhere(Op):
        def sample_inputs(self, device, dtype, requires_grad):
            asked.append(device)
            return super().sample_inputs("cpu", dtype, requires_grad)

    op = Elsewhere(lambda x: torch.as_strided(x, x.shape, (x.shape[-1], 1), 0) + 1, samples=[(3, 4)], autograd=False)
    bounds = Bounds(30.0, 4, ("forward",), "cuda")
    row = Sweep(op, op.name, torch.float32, RULES, (), bounds).run()
    assert asked == ["cuda"]
    assert {found["device"] for found in row["findings"]} == {"cuda"}
