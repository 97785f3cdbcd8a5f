"""What the layout oracle costs: processor time of training steps of transformers, without it, with it, and sampled.

python bench/oracles.py [ROUNDS], in an environment with torch; one thread. The ways take turns in every round, and a
ratio is that of medians with a bootstrap interval over rounds, so that a busy machine widens it instead of moving it.
An empty dispatch mode is measured beside them: what torch itself takes for handing each operator to Python.
"""

import contextlib
import json
import os
import sys
import time
from pathlib import Path

import torch
from torch.utils._python_dispatch import TorchDispatchMode

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "pipeline"))

from torch_embers import resources
from torch_embers.oracles.layout import LayoutOracle
from torch_embers.oracles.timing import interval

SIZES = {
    "tiny": {"layers": 1, "width": 128, "batch": 8, "length": 64, "steps": 4},
    "small": {"layers": 4, "width": 256, "batch": 8, "length": 128, "steps": 1},
}
WAYS = ("off", "empty mode", "full", "every=50")
ROUNDS = 12


class Empty(TorchDispatchMode):
    """Hands each operator on."""

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        """As every mode does at least."""
        return func(*args, **(kwargs or {}))


def watched(way):
    if way == "off":
        return contextlib.nullcontext()
    if way == "empty mode":
        return Empty()
    return LayoutOracle(resources.load_toml("oracles.toml"), every=50 if way == "every=50" else 1)


def train(layers, width, batch, length, steps):
    torch.manual_seed(0)
    layer = torch.nn.TransformerEncoderLayer(width, 4, 2 * width, batch_first=True)
    model = torch.nn.TransformerEncoder(layer, layers, enable_nested_tensor=False)
    optimizer = torch.optim.Adam(model.parameters())
    start = time.process_time()
    for _ in range(steps):
        optimizer.zero_grad()
        model(torch.randn(batch, length, width)).pow(2).mean().backward()
        optimizer.step()
    return (time.process_time() - start) / steps


def measured(size, rounds):
    spent = {way: [] for way in WAYS}
    findings = compared = 0
    train(**SIZES[size])
    for _ in range(rounds):
        for way in WAYS:
            with watched(way) as oracle:
                spent[way].append(train(**SIZES[size]))
            if way == "full":
                findings, compared = len(oracle.findings), oracle.looked()["compared"]
    ratios = {way: [round(part, 3) for part in interval(spent["off"], spent[way])] for way in WAYS[1:]}
    return {
        "seconds per step": round(sorted(spent["off"])[rounds // 2], 4),
        "ratios": ratios,
        "compared per run": compared,
        "findings": findings,
    }


if __name__ == "__main__":
    torch.set_num_threads(1)
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else ROUNDS
    load = os.getloadavg()[0]
    found = {size: measured(size, rounds) for size in SIZES}
    print(json.dumps({"torch": torch.__version__, "rounds": rounds, "load": load, **found}, indent=1))
