"""Programs under an oracle at night: what they compile, hand to other processes or give as functions, and known silent bugs."""

import json
import shutil
import sys
import tomllib
from pathlib import Path

import pytest
from packaging.version import Version
from typer.testing import CliRunner

torch = pytest.importorskip("torch")

import torch.distributed as dist  # noqa: E402 - needs torch
from torch.utils._python_dispatch import TorchDispatchMode  # noqa: E402

import torch_embers as embers  # noqa: E402
from support import is_measured_here  # noqa: E402
from torch_embers.builds.registry import BuildError, Registry  # noqa: E402
from torch_embers.cli import app  # noqa: E402

BOTH = pytest.mark.parametrize("kind", [embers.LayoutOracle, embers.PrecisionOracle])


@BOTH
def test_a_call_in_which_other_processes_take_part_is_made_once(kind):
    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    try:
        values = torch.ones(8)
        with kind() as oracle:
            dist.all_reduce(values[4:])
            dist.broadcast(values.reshape(2, 4).t()[1:], 0)
    finally:
        dist.destroy_process_group()
    assert oracle.findings == []
    assert oracle.looked() == {"compared": 0, "refused": []}


@BOTH
@pytest.mark.skipif(not hasattr(TorchDispatchMode, "supports_higher_order_operators"), reason="refused by this torch")
def test_an_operator_that_takes_functions_runs_and_is_told_as_not_seen(kind):
    given = (torch.tensor(1.0) > 0, lambda x: x.sin(), lambda x: x.cos(), (torch.ones(3, 4).t(),))
    with kind() as oracle:
        made = torch.ops.higher_order.cond(*given)
    assert torch.equal(made, torch.ones(4, 3).sin())
    assert oracle.looked()["refused"] == [["cond", "a higher-order operator: its parts are not seen", 1]]


@BOTH
@pytest.mark.skipif(not hasattr(TorchDispatchMode, "ignore_compile_internals"), reason="this torch does not compile")
def test_what_a_program_compiles_is_compiled(kind):
    graphs = []

    def backend(graph, _):
        graphs.append(graph)
        return graph

    compiled = torch.compile(lambda x: x.t() + 1, backend=backend, fullgraph=True)
    with kind() as oracle:
        assert torch.equal(compiled(torch.ones(3, 4)), torch.full((4, 3), 2.0))
    assert len(graphs) == 1
    assert oracle.findings == []


SCRIPTS = tomllib.loads((Path(__file__).parents[1] / "silent_scripts.toml").read_text(encoding="utf-8"))["script"]


def pythons():
    """Interpreters with torch: this one's, and that of the system."""
    return [sys.executable, *filter(None, [shutil.which("python3", path="/usr/bin")])]


@pytest.mark.parametrize("python", pythons())
@pytest.mark.parametrize("oracle", ["layout", "precision"])
def test_known_silent_bugs_are_found_in_scripts_without_a_check(tmp_path, monkeypatch, python, oracle):
    """On builds at hand: the scripts whose bug their release has are found at the operator, the others are silent."""
    monkeypatch.setenv("EMBERS_BUILDS_DIR", str(tmp_path / "builds"))
    try:
        build = Registry(tmp_path / "builds").register(Path(python))
    except BuildError as error:
        pytest.skip(str(error))
    release = Version(build.public_version).release[:2]
    is_here = is_measured_here(build.public_version, build.capability)
    expected = {}
    for script in SCRIPTS:
        can_be_bad = is_here and script.get("capability", build.capability) == build.capability
        bad = can_be_bad and release in [Version(version).release[:2] for version in script["bad"]]
        good = "good" in script and release >= Version(script["good"]).release[:2]
        if script["oracle"] == oracle and (bad or good):
            (tmp_path / f"{script['name']}.py").write_text(script["code"], encoding="utf-8")
            expected[script["name"]] = script["op"] if bad else ""
    names = [str(tmp_path / f"{name}.py") for name in expected]
    options = ["--oracle", oracle, "--json", "--unsandboxed", "--build", build.name]
    done = CliRunner().invoke(app, ["run", *names, *options])
    assert {row["case"]: (row["findings"] or [{"op": ""}])[0]["op"] for row in json.loads(done.stdout)} == expected
