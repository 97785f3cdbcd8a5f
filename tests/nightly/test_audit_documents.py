"""`embers audit --format vex` and `--format sarif` against the schemas of these formats."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jsonschema
import pytest
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator

from torch_embers.audit import command, formats

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch_embers.audit.command import Audited

# The library brings the schema that CycloneDX publishes; strict refuses keys that the schema does not know.
CYCLONEDX = JsonStrictValidator(SchemaVersion.V1_6)
SARIF = jsonschema.Draft202012Validator(
    json.loads((Path(__file__).parents[1] / "sarif_schema.json").read_text(encoding="utf-8"))
)
MEETS = "import torch\ntorch.logsumexp(torch.ones(1, 4, 4).masked_fill(mask, -torch.inf), 2)\n"
RUN_TIME = f"{MEETS}getattr(torch, name)(x)\n"


def of_code(code: str, release: str) -> Audited:
    return command.audit_texts({Path("a dir/x #1.py"): code}, release)


AUDITS: dict[str, Callable[[], Audited]] = {
    "findings": lambda: of_code(MEETS, "2.6.0"),
    "names made at run time": lambda: of_code(RUN_TIME, "2.6.0"),
    "no finding": lambda: of_code("print('no torch here')\n", "2.15.0"),
    "a release without code": lambda: command.audit([], "2.15.0"),
    "the oldest release without code": lambda: command.audit([], "1.13.1"),
}


def states(made: dict[str, Any]) -> set[str]:
    return {bug["analysis"]["state"] for bug in made["vulnerabilities"]}


@pytest.mark.parametrize("kind", AUDITS)
def test_an_audit_as_vex_and_as_sarif_is_what_the_schemas_ask_for(kind: str) -> None:
    done = AUDITS[kind]()
    assert CYCLONEDX.validate_str(json.dumps(formats.vex(done))) is None
    made = formats.sarif(done)
    SARIF.validate(made)
    ids = [rule["id"] for rule in made["runs"][0]["tool"]["driver"]["rules"]]
    assert len(ids) == len(set(ids))
    assert {result["ruleId"] for result in made["runs"][0]["results"]} == set(ids)


def test_a_statement_says_whether_the_code_meets_the_bug() -> None:
    met, unmet = (formats.vex(AUDITS[kind]()) for kind in ("findings", "no finding"))
    assert {"exploitable", "not_affected"} <= states(met)
    assert states(unmet) == {"not_affected"}
    assert "not_affected" not in states(formats.vex(AUDITS["names made at run time"]()))


def test_statements_are_about_the_audited_code_and_the_release_that_was_asked_for() -> None:
    made = formats.vex(of_code(MEETS, "2.7.0"))
    (torch,) = made["components"]
    assert (torch["version"], torch["purl"]) == ("2.7.0", "pkg:pypi/torch@2.7.0")
    assert {"name": "embers:measured_release", "value": "2.7.1"} in torch["properties"]
    assert "pedigree" not in torch
    subject = made["metadata"]["component"]["bom-ref"]
    assert subject != torch["bom-ref"]
    assert made["dependencies"] == [{"ref": subject, "dependsOn": [torch["bom-ref"]]}]
    assert {place["ref"] for bug in made["vulnerabilities"] for place in bug["affects"]} == {subject}
    local = formats.vex(of_code(MEETS, "2.6.0+cu124"))
    assert local["components"][0]["purl"] == "pkg:pypi/torch@2.6.0%2Bcu124"


@pytest.mark.parametrize(
    ("part", "key", "value"),
    [
        ("analysis", "state", "exploited"),
        ("analysis", "justification", "the code is not reached"),
        ("analysis", "comment", "a key of nobody"),
        ("bug", "affects", [{}]),
        ("bug", "ratings", [{"severity": "dire"}]),
        ("document", "specVersion", 1.6),
        ("document", "bomFormat", "SPDX"),
    ],
)
def test_the_validator_refuses_what_is_no_vex(part: str, key: str, value: object) -> None:
    made = copy.deepcopy(formats.vex(AUDITS["findings"]()))
    bug = made["vulnerabilities"][0]
    {"analysis": bug["analysis"], "bug": bug, "document": made}[part][key] = value
    assert CYCLONEDX.validate_str(json.dumps(made)) is not None


@pytest.mark.parametrize(
    ("part", "key", "value"),
    [
        ("result", "level", "high"),
        ("result", "message", "a text without its object"),
        ("region", "startLine", 0),
        ("place", "uri", "a dir/x.py"),
        ("document", "version", "2.2.0"),
    ],
)
def test_the_schema_refuses_what_is_no_sarif(part: str, key: str, value: object) -> None:
    made = copy.deepcopy(formats.sarif(AUDITS["findings"]()))
    result = made["runs"][0]["results"][0]
    where = result["locations"][0]["physicalLocation"]
    {"result": result, "region": where["region"], "place": where["artifactLocation"], "document": made}[part][key] = (
        value
    )
    with pytest.raises(jsonschema.ValidationError):
        SARIF.validate(made)
