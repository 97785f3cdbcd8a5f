"""`embers audit --format vex` and `--format sarif` against the schemas of these formats."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from torch_embers.audit import command, formats

if TYPE_CHECKING:
    from torch_embers.audit.command import Audited
MEETS = "import torch\ntorch.logsumexp(torch.ones(1, 4, 4).masked_fill(mask, -torch.inf), 2)\n"


def of_code(code: str, release: str) -> Audited:
    return command.audit_texts({Path("a dir/x #1.py"): code}, release)


def states(made: dict[str, Any]) -> set[str]:
    return {bug["analysis"]["state"] for bug in made["vulnerabilities"]}


def test_without_code_the_statements_are_about_torch() -> None:
    made = formats.vex(command.audit([], "2.15.0"))
    assert made["metadata"]["component"]["name"] == "torch"
    assert states(made) == {"in_triage"}
    assert {place["ref"] for bug in made["vulnerabilities"] for place in bug["affects"]} == {
        made["metadata"]["component"]["bom-ref"]
    }


def test_sarif_names_the_release_and_where_it_was_measured() -> None:
    (run,) = formats.sarif(of_code(MEETS, "2.7.0"))["runs"]
    assert (run["properties"]["torch"], run["properties"]["measured_on"]) == ("2.7.0", "2.7.1")
    assert run["properties"]["environments"]
