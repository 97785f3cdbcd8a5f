"""The hunt's driver: what is run, what a journal holds, what is reported."""

import json

import pytest

from torch_embers.errors import InputError
from torch_embers.oracles.finding import Difference, Finding
from torch_embers.run import hunt, hunt_command
from torch_embers.sandbox import bundle
from torch_embers.sandbox.runner import RunResult

RESTRIDED = Finding(
    "layout",
    "nn.functional.linear",
    "out",
    "wrong_value",
    "nn.functional.linear, out, strided: differs",
    ("out: strided float32[4]",),
    place="out",
    difference=Difference((1,), "77", "1.5"),
    reproducer="import torch\n",
)


def result(stdout="", stderr="", signal=None):
    return RunResult("", 0, signal, "exited", "", stdout, stderr, 0.0, 0.0, 0.0, 0, "", "reviewed", (), {})


def test_operators_are_chosen_by_name_variant_and_dtype():
    known = {"add": ["float32", "int64"], "pow.scalar": ["float32"], "eq": ["int64"]}
    assert hunt.chosen(known, [], ["float32"]) == [("add", "float32"), ("pow.scalar", "float32")]
    assert hunt.chosen(known, ["pow"], ["float32"]) == [("pow.scalar", "float32")]
    with pytest.raises(InputError, match="no operator 'sub'"):
        hunt.chosen(known, ["sub"], ["float32"])
    with pytest.raises(InputError, match="no dtype 'float33'"):
        hunt.chosen(known, [], ["float33"])


def test_an_operator_that_ends_the_process_is_begun_again_behind_the_call():
    one = hunt.Hunted("2.15.0", "add", "float32")
    assert hunt._note(one, result(RESTRIDED.dump(), "forward 0 strided 0\nout 1 offset\n", signal=11))
    assert one.crashes == [("out 1 offset", 11)]
    assert not hunt._note(one, result(RESTRIDED.dump() + '\nembers-cells {"counts": {"out": 3}}', "out 2 offset"))
    assert (len(one.findings), one.counts) == (1, {"out": 3})


def test_one_that_ends_at_the_same_call_again_is_given_up():
    one = hunt.Hunted("2.15.0", "add", "float32", crashes=[("out 1 offset", 11)])
    assert not hunt._note(one, result("", "out 1 offset\n", signal=11))


def test_a_journal_gives_findings_and_the_draft_of_a_report(tmp_path):
    one = hunt.Hunted("2.15.0", RESTRIDED.op, "float32", findings=[RESTRIDED])
    (tmp_path / hunt.FILE).write_text(json.dumps(one.row()) + "\n", encoding="utf-8")
    assert hunt.findings_in(tmp_path) == [("2.15.0", RESTRIDED)]
    text = hunt_command.draft(["report", hunt.ident(RESTRIDED)], tmp_path)
    assert text.startswith("<!-- Made by a tool")
    assert "At [1] it gives 77; 1.5 is expected." in text
    assert "It occurs on: 2.15.0." in text
    with pytest.raises(InputError, match="no finding 00"):
        hunt_command.draft(["report", "00"], tmp_path)


def test_a_judged_finding_is_no_news():
    judged = hunt.Known(op=RESTRIDED.op, mode="out", severity="wrong_value", judged="documented", reason="it says so")
    one = hunt.Hunted("2.15.0", RESTRIDED.op, "float32", findings=[RESTRIDED])
    assert hunt_command.Reached([one], [judged]).exit_code == 0
    unjudged = hunt_command.Reached([one], [])
    assert unjudged.exit_code == 10
    assert unjudged.lines()[-1] == "1 operators, 0 calls, 1 new findings, 0 judged before"


def test_every_judged_finding_has_a_reason():
    assert [entry.op for entry in hunt.rules().known if len(entry.reason) < 20] == []


def test_the_script_for_a_build_carries_all_oracles_and_is_python():
    text = bundle.script("hunt", "main", {"op": 'add"\\'})
    compile(text, "bundle", "exec")
    assert "torch_embers.oracles.repeat" in text
