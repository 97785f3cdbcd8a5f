"""What the tests in test_hunt.py share."""

import json
from pathlib import Path
from types import SimpleNamespace

import pytest

from torch_embers.oracles.finding import Difference, Finding
from torch_embers.run import hunt, hunt_groups
from torch_embers.sandbox.runner import Attempt

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
    skip = hunt_groups.skipped([crash for crash in group[0].crashes if crash.cell != only], 6)
    ops = [[one.op, one.dtype] for one in group]
    return Attempt(key, json.dumps({"ops": ops, "skip": skip, "only": only and list(only)}), "hunt.py")


@pytest.fixture(autouse=True)
def plain_attempts(monkeypatch):
    monkeypatch.setattr(hunt_groups, "_attempt", as_json)


@pytest.fixture
def build(monkeypatch):
    monkeypatch.setattr(hunt, "samples_of", lambda _zygotes: {op: ["float32"] for op in OPS})
    return SimpleNamespace(name="2.15.0", public_version="2.15.0", devices=("cpu",), python=Path("python"))


MATRIX = [
    {"case": "gelu_out_transposed", "build": build, "verdict": verdict, "detail": "off by 0.8", "environment": "cpu"}
    for build, verdict in (("2.9.1", "occurs"), ("2.10.0", "occurs"), ("1.13.1", "absent"))
]
