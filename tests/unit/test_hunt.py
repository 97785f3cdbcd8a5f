"""The hunt's driver: what is run in which group, what a journal holds, what is reported."""

import dataclasses
import json
from types import SimpleNamespace

import duckdb
import pytest

from helpers.verdicts import build_of
from torch_embers import toml_models
from torch_embers.builds.registry import Registry
from torch_embers.builds.work import Shard
from torch_embers.errors import InputError, SandboxError
from torch_embers.hunt import drafts, groups, journal, summary, sweep
from torch_embers.hunt.journal import Crash, Hunted, Journal
from torch_embers.hunt.known_findings import Known, judgement_of
from torch_embers.oracles import cells
from torch_embers.oracles.cells import ANY, Cell
from torch_embers.oracles.finding import Difference, Finding
from torch_embers.resources import data_file
from torch_embers.sandbox import bundle
from torch_embers.sandbox.runner import Attempt, RunResult

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
OPS = list("abcdefghij")


def as_json(key, group, _limits, only=None):
    skip = groups.skipped([crash for crash in group[0].crashes if crash.cell != only], 6)
    ops = [[one.op, one.dtype] for one in group]
    return Attempt(key, json.dumps({"ops": ops, "skip": skip, "only": only and list(only)}), "hunt.py")


@pytest.fixture(autouse=True)
def plain_attempts(monkeypatch):
    monkeypatch.setattr(groups, "_attempt", as_json)


@pytest.fixture
def build(monkeypatch):
    monkeypatch.setattr(sweep, "samples_of", lambda _zygotes: {op: ["float32"] for op in OPS})
    return build_of("2.15.0", devices=("cpu",))


FATAL = Cell("out", "b", "destination", "strided, others dense")
JUDGED = Known(
    ops=(RESTRIDED.op,), modes=("out",), severities=("wrong_value",), judged="documented", reason="it says so"
)


def result(key="", stdout="", stderr="", signal=None, ended="exited"):
    code = 0 if signal is None and ended == "exited" else None
    return RunResult(key, code, signal, ended, "", stdout, stderr, 0.0, 0.0, 0.0, 0, "", "reviewed", (), {})


def row(op, findings=()):
    told = {"findings": [one.row() for one in findings], "cells": [["out", op, "0", "strided"] + [1] * 7]}
    return {"op": op, "dtype": "float32", "skipped": {}, "own": "", **told}


class Machine:
    """Runs attempts as a build would in which the operator ``b`` dies in one call, and ``d`` writes outside."""

    def __init__(self):
        self.asked = []

    def __enter__(self):
        return self

    def __exit__(self, *_error):
        pass

    def run(self, attempts, _jobs=1):
        for attempt in attempts:
            options = json.loads(attempt.code)
            self.asked.append([op for op, _ in options["ops"]])
            yield self.answer(attempt.key, options)

    @staticmethod
    def answer(key, options):
        lines = []
        for op, _ in options["ops"]:
            if op == "b" and list(FATAL) not in options["skip"]:
                case = [cells.pack({"case": "import torch\n"})] if options["only"] else []
                told = f"noise\n{cells.CELL}{json.dumps(['b', *FATAL])}\ndouble free\n"
                return result(key, "\n".join([*lines, *case]), told, signal=6, ended="signalled")
            lines.append(cells.pack(row(op, [RESTRIDED] if op == "d" else ())))
            if op == "d":
                break
        return result(key, "\n".join(lines))


MACHINES = SimpleNamespace(on=lambda _build, **_: Machine())
"""A machine whose runners are made up."""


def swept(machine, ops):
    left = [Hunted("2.15.0", op, "float32") for op in ops]
    return list(groups.sweep(machine, left, 2, sweep.rules().limits))


def test_operators_are_chosen_by_name_variant_and_dtype():
    known = {"add": ["float32", "int64"], "pow.scalar": ["float32"], "eq": ["int64"]}
    assert sweep.chosen(known, [], ["float32"]) == [("add", "float32"), ("pow.scalar", "float32")]
    assert sweep.chosen(known, ["pow", "pow"], ["float32", "float32"]) == [("pow.scalar", "float32")]
    with pytest.raises(InputError, match="no operator 'sub'"):
        sweep.chosen(known, ["sub"], ["float32"])
    longer = {f"nn.functional.{name}": ["float32"] for name in ("gelu", "pad.reflect", "norm")} | {"linalg.norm": []}
    assert [name for name, _ in sweep.chosen(longer, ["gelu", "pad"], ["float32"])] == list(longer)[:2]
    with pytest.raises(InputError, match=r"did you mean linalg\.norm or nn\.functional\.norm\?"):
        sweep.chosen(longer, ["norm"], ["float32"])
    with pytest.raises(InputError, match="no dtype 'float33'"):
        sweep.chosen(known, [], ["float33"])


def test_an_operator_that_ends_its_process_costs_itself_alone_and_is_a_finding():
    done = {one.op: one for one in swept(Machine(), OPS)}
    assert sorted(done) == OPS
    assert [one.op for one in done.values() if not one.cells] == []
    crash = [Crash(FATAL, "SIGABRT", "import torch\n")]
    assert {op: one.crashes for op, one in done.items() if one.crashes} == {"b": crash}
    found = done["b"].all_findings()[0]
    assert (found.severity, found.op, found.overload) == ("crash", "b", "out")
    assert "SIGABRT" in found.message


def test_after_a_write_outside_the_others_of_the_group_get_a_fresh_process():
    machine = Machine()
    assert len(swept(machine, list("cdef"))) == 4
    assert machine.asked == [list("cdef"), ["e", "f"]]


def test_an_operator_that_brings_no_result_twice_is_given_up():
    class Dead(Machine):
        @staticmethod
        def answer(key, _options):
            return result(key, ended="sandbox_error")

    (one,) = swept(Dead(), ["a"])
    assert one.ended.startswith(groups.NO_EVIDENCE)


def test_a_mode_that_dies_too_often_is_left_out_whole():
    crashes = [Crash(Cell("out", "add", str(at), "strided"), "SIGSEGV") for at in range(3)]
    left_out = cells.Skipped(groups.skipped(crashes, 3))
    assert ["out", "add", ANY, ANY] in groups.skipped(crashes, 3)
    assert Cell("out", "add", "9", "offset") in left_out
    assert Cell("forward", "add", "9", "offset") not in left_out


def rows(ended):
    return sorted(json.dumps(one.row(), sort_keys=True) for one in ended)


def test_a_hunt_that_was_interrupted_and_resumed_equals_one_that_was_not(build, tmp_path):
    whole = sweep.hunt(build, sweep.HuntRequest([], ["float32"], tmp_path / "whole"), MACHINES)
    expected = rows(whole)
    request = sweep.HuntRequest([], ["float32"], tmp_path / "parts")
    first = sweep.hunt(build, request, MACHINES)
    seen = [next(first) for _ in range(3)]
    first.close()
    with (tmp_path / "parts" / journal.FILE).open("a", encoding="utf-8") as file:
        file.write('{"build": "2.15')  # killed in a write
    assert rows(sweep.hunt(build, request, MACHINES)) == expected
    assert rows(Journal(tmp_path / "parts").read()) == expected
    assert len(seen) == 3
    assert rows(sweep.hunt(build, request, MACHINES)) == expected


def test_other_modes_and_other_rules_are_run_again(build, tmp_path, monkeypatch):
    list(sweep.hunt(build, sweep.HuntRequest(["a"], ["float32"], tmp_path, ["out"]), MACHINES))
    list(sweep.hunt(build, sweep.HuntRequest(["a"], ["float32"], tmp_path, ["out", "forward"]), MACHINES))
    monkeypatch.setattr(sweep, "digest", lambda: "other")
    list(sweep.hunt(build, sweep.HuntRequest(["a"], ["float32"], tmp_path, ["out"]), MACHINES))
    assert [one.modes for one in Journal(tmp_path).read()] == [("out",), ("forward", "out"), ("out",)]


def test_a_draft_of_a_case_reads_its_versions_from_the_matrix(tmp_path, monkeypatch):
    verdicts = (("2.9.1", "occurs"), ("2.10.0", "occurs"), ("1.13.1", "absent"))
    more = {"case": "gelu_out_transposed", "seen": "off by 0.8", "environment": "cpu"}
    matrix = [{"build": build, "verdict": verdict, **more} for build, verdict in verdicts]
    monkeypatch.setattr(drafts.shipped_verdicts, "matrix", lambda: matrix)
    text = summary.act(["report", "gelu_out_transposed"], tmp_path / "no journal")
    assert text.startswith("> **Made by a tool.**")
    assert "case `gelu_out_transposed`: it does not on 1.13.1; it occurs on 2.9.1, 2.10.0." in text
    assert "On 2.10.0: off by 0.8." in text


def test_the_coverage_map_counts_calls_and_says_what_was_not_called(tmp_path):
    counts = [5, 2, 1, 0, 0, 0, 0]
    one = Hunted("2.15.0", "add", "float32", own="tested", cells=[["out", "add", "destination", "strided", *counts]])
    one.skipped["no gradient"] = 3
    for earlier in (Hunted("2.15.0", "add", "float32", rules="old"), one):
        Journal(tmp_path).append(earlier)
    said = summary.act(["coverage", str(tmp_path / "map.parquet")], tmp_path)
    assert said.endswith("map.parquet: 2 rows")
    found = duckdb.sql(f"select mode, layout, tested, guarded, wrong, reason, skipped from '{tmp_path}/map.parquet'")
    assert found.fetchall() == [("out", "strided", 5, 2, 1, "", 0), ("", "", 0, 0, 0, "no gradient", 3)]
    with pytest.raises(InputError, match="embers research hunt coverage FILE"):
        summary.act(["cover"], tmp_path)


def test_a_judged_finding_is_no_news():
    one = Hunted("2.15.0", RESTRIDED.op, "float32", findings=[RESTRIDED])
    judged, unjudged = (summary.Reached([one], known) for known in ([JUDGED], []))
    assert (judged.exit_code, unjudged.exit_code) == (0, 10)
    counts = "1 operators, 0 calls compared, 0 refused, 0 undecided"
    assert unjudged.lines()[0] == f"1 new findings, 0 judged before; {counts}"
    assert judged.lines()[0] == f"0 new findings, 1 judged before; {counts}"
    assert judged.lines()[1:] == [f"{unjudged.lines()[1]} [judged before as documented: it says so]"], "each is listed"


@pytest.mark.parametrize(
    ("other", "version", "known"),
    [
        ({}, "2.15.0", True),
        ({"modes": ("forward",)}, "2.15.0", False),
        ({"severities": ("crash",)}, "2.15.0", False),
        ({"ops": ("matmul",)}, "2.15.0", False),
        ({"until": "2.1.2"}, "2.1.2", True),
        ({"until": "2.1.2"}, "2.0.1+cu117", True),
        ({"until": "2.1.2"}, "2.2.2", False),
        ({"since": "2.4.1"}, "2.3.1", False),
        ({"since": "2.4.1"}, "2.16.0.dev20261101+cpu", True),
        ({"until": "2.15.0"}, "2.16.0.dev20261101+cpu", False),
        ({"until": "2.15.0"}, "my-build", False),
        ({}, "my-build", True),
    ],
)
def test_a_finding_is_judged_only_in_the_calls_and_releases_it_was_judged_on(other, version, known):
    entry = JUDGED.model_copy(update=other)
    assert (judgement_of(RESTRIDED, version, [entry]) is entry) == known


@pytest.mark.parametrize(
    ("table", "error"),
    [
        ({"until": "newest"}, "until: 'newest' is no release"),
        ({"severities": ["wrong"]}, "severities number 1: Input should be 'outside_write'"),
        ({"modes": []}, "modes"),
    ],
)
def test_a_judged_entry_names_calls_severities_and_releases_that_there_are(table, error):
    with pytest.raises(InputError, match=error):
        toml_models.validate(Known, JUDGED.model_dump() | table, "hunt.toml")


def test_every_judged_finding_has_a_reason_and_every_case_that_shows_one_is_there():
    judged = sweep.rules().known
    assert [entry.ops for entry in judged if len(entry.reason) < 20] == []
    named = {case for one in (*judged, *drafts.written()) for case in one.cases}
    assert [name for name in sorted(named) if not data_file(f"cases/{name}.py").is_file()] == []


def test_a_device_that_the_build_cannot_use_is_one_line_and_is_said_before_anything_runs(build, tmp_path):
    request = sweep.HuntRequest(["a"], ["float32"], tmp_path / "out", device="cuda")
    with pytest.raises(InputError, match=r"build 2\.15\.0 cannot use cuda here: use --device cpu"):
        list(sweep.hunt(build, request, MACHINES))
    assert not (tmp_path / "out").exists()


def test_the_script_for_a_build_carries_all_oracles_and_is_python():
    text = bundle.script("hunt", "main", {"op": 'add"\\'})
    compile(text, "bundle", "exec")
    assert "torch_embers.oracles.repeat" in text


def test_a_build_without_a_package_of_the_samples_is_told_which():
    class Bare(Machine):
        def run(self, _attempts, _jobs=1):
            told = "  File \"common_utils.py\", line 58\n    import expecttest\nModuleNotFoundError: No module named 'expecttest'\n"
            yield result(stderr=told)

    with pytest.raises(SandboxError, match=r"lacks expecttest, .*`pip install expecttest`"):
        sweep.samples_of(Bare())


@pytest.mark.parametrize("line", [b"garbage", b'{"build": 1}', b"\x00\xff", b"[]", b"[" * 5000])
def test_a_journal_with_another_line_is_named_with_its_place(tmp_path, line):
    Journal(tmp_path).append(Hunted("2.15.0", "add", "float32"))
    with (tmp_path / journal.FILE).open("ab") as file:
        file.write(line + b"\n")
    with pytest.raises(InputError, match="line 2 is no result of a hunt"):
        summary.act(["report", "00"], tmp_path)


def test_a_map_that_cannot_be_written_is_one_line_and_a_quote_in_its_name_is_a_quote(tmp_path):
    Journal(tmp_path).append(Hunted("2.15.0", "add", "float32"))
    with pytest.raises(InputError, match="cannot be written"):
        summary.act(["coverage", str(tmp_path / "none" / "map.parquet")], tmp_path)
    assert summary.act(["coverage", str(tmp_path / "it's.parquet")], tmp_path).endswith("rows")
    assert (tmp_path / "it's.parquet").is_file()


def test_a_file_in_the_place_of_the_folder_is_one_line(tmp_path, build):
    (tmp_path / "taken").write_text("x")
    with pytest.raises(InputError, match="name a folder that can be written"):
        list(sweep.hunt(build, sweep.HuntRequest(["a"], ["float32"], tmp_path / "taken", ["out"]), MACHINES))


@pytest.fixture
def no_builds(tmp_path, monkeypatch):
    monkeypatch.setenv("EMBERS_BUILDS_DIR", str(tmp_path / "builds"))
    monkeypatch.setattr(Registry, "_current", lambda _: None)


def test_a_journal_gives_findings_and_the_draft_of_a_report(tmp_path, no_builds):
    one = Hunted("2.15.0", RESTRIDED.op, "float32", findings=[RESTRIDED])
    for each in (one, Hunted("2.9.1", RESTRIDED.op, "float32"), Hunted("2.10.0", RESTRIDED.op, "float32")):
        Journal(tmp_path).append(each)
    text = summary.act(["report", journal.finding_id(RESTRIDED)], tmp_path)
    assert text.startswith("> **Made by a tool.**")
    assert "Label to ask for: `topic: fuzzer`" in text
    assert "At [1] it gives 77; 1.5 is expected." in text
    assert "It occurs on: 2.15.0. Not with the same samples on: 2.9.1, 2.10.0. No other" in text
    assert "Build 2.15.0; it is not registered here any more." in text
    with pytest.raises(InputError, match="no journal"):
        summary.act(["report", "00"], tmp_path / "none")
    with pytest.raises(InputError, match=r"no finding 00 .*a case with a draft is one of addbmm_enlarges_destination"):
        summary.act(["report", "00"], tmp_path)


def test_a_draft_shows_the_script_and_says_what_a_crash_is(tmp_path, no_builds):
    shown = dataclasses.replace(RESTRIDED, reproducer="whole = 1\n")
    died = dataclasses.replace(RESTRIDED, severity="crash", reproducer="dies = 1\n")
    Journal(tmp_path).append(Hunted("2.15.0", RESTRIDED.op, "float32", findings=[shown, died]))
    text = summary.act(["report", journal.finding_id(shown)], tmp_path)
    assert "dense copies, checked in double precision. The script\nexits with 1" in text
    assert "whole = 1\n```" in text
    text = summary.act(["report", journal.finding_id(died)], tmp_path)
    assert "The process ends" in text
    assert "dense copies" not in text


def test_the_journals_of_shards_are_that_of_the_whole_hunt_and_merge_once(build, tmp_path):
    whole = rows(sweep.hunt(build, sweep.HuntRequest([], ["float32"], tmp_path / "whole"), MACHINES))
    parts = []
    for number in (1, 2, 3):
        request = sweep.HuntRequest([], ["float32"], tmp_path / f"{number}", shard=Shard(number, 3))
        parts.append(len(list(sweep.hunt(build, request, MACHINES))))
    merged = [journal.merge(tmp_path / name, tmp_path / "all") for name in ("2", "1", "3", "1")]
    assert merged == [parts[1], parts[0], parts[2], 0]
    assert rows(journal.journal_in(tmp_path / "all")) == whole
    elsewhere = Journal(tmp_path / "elsewhere")
    for one in journal.journal_in(tmp_path / "1"):
        elsewhere.append(dataclasses.replace(one, environment="cpu, Intel Xeon, AVX512, Linux"))
    assert journal.merge(tmp_path / "elsewhere", tmp_path / "all") == parts[0], "another processor is another result"


def test_a_hunt_whose_shards_are_made_elsewhere_finds_the_same_and_keeps_it_here(build, tmp_path, monkeypatch):
    whole = rows(sweep.hunt(build, sweep.HuntRequest([], ["float32"], tmp_path / "whole"), MACHINES))
    theirs = SimpleNamespace(installed=lambda: [build_of("2.15.0", devices=("cpu",), name="another name")])
    monkeypatch.setattr(sweep.samples, "runner_on", lambda *_: Machine())

    class Cluster:
        def run(self, plan, _jobs):
            assert plan.builds == [build]
            for number in (2, 1, 3):
                yield plan.make(Shard(number, 3), theirs)

    here = SimpleNamespace(unsandboxed=False)
    request = sweep.HuntRequest([], ["float32"], tmp_path / "out")
    assert rows(sweep.hunt(build, request, here, Cluster())) == whole
    assert rows(journal.journal_in(tmp_path / "out")) == whole
