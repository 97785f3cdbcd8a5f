"""What the oracles cost: processor time of training steps of transformers, without them, with them, and sampled.

python bench/oracles.py [ROUNDS [SIZE ...]] writes bench/oracles.json, with torch; one thread. The ways take turns
in every round, and a ratio is that of medians with a bootstrap interval over rounds, so that a busy machine widens it
instead of moving it. An empty dispatch mode is measured beside them: what torch itself takes for handing each operator
to Python. With every=50 a round is a training of its own, of as many steps as on average hold one that is watched
whole; its first step is sampled operator by operator, the first call of each always by the precision oracle.
"""

import contextlib
import datetime as dt
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
from torch_embers.oracles.precision import PrecisionOracle
from torch_embers.oracles.timing import interval

SIZES = {
    "tiny": {"layers": 1, "width": 128, "batch": 8, "length": 64, "steps": 4},
    "small": {"layers": 4, "width": 256, "batch": 8, "length": 128, "steps": 1},
}
EVERY = 50
WAYS = ("off", "empty mode", "layout", "layout, every=50", "precision", "precision, every=50")
ROUNDS = 12
RESULT = Path(__file__).parent / "oracles.json"


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
    every = EVERY if way.endswith("every=50") else 1
    if way.startswith("layout"):
        return LayoutOracle(resources.load_toml("oracles.toml"), every=every)
    return PrecisionOracle(every=every)


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
    found, compared = {}, {}
    about = SIZES[size]
    train(**about)
    for number in range(rounds):
        for way in WAYS:
            oracle = watched(way)
            if hasattr(oracle, "draw"):  # another draw of watched steps in each round
                oracle.draw.seed(number)
                oracle._left = oracle.draw.randint(1, 2 * EVERY - 1)  # noqa: SLF001
            with oracle:
                steps = 2 * EVERY if way.endswith("every=50") else about["steps"]
                spent[way].append(train(**about | {"steps": steps}))
            if hasattr(oracle, "findings"):
                found[way], compared[way] = len(oracle.findings), oracle.looked()["compared"]
    ratios = {way: [round(part, 3) for part in interval(spent["off"], spent[way])] for way in WAYS[1:]}
    return {
        "seconds per step": round(sorted(spent["off"])[rounds // 2], 4),
        "ratios": ratios,
        "compared in the last round": compared,
        "findings in the last round": found,
    }


if __name__ == "__main__":
    torch.set_num_threads(1)
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else ROUNDS
    load = os.getloadavg()[0]
    sizes = sys.argv[2:] or list(SIZES)
    found = {size: measured(size, rounds) for size in sizes}
    about = {
        "command": " ".join(["python bench/oracles.py", str(rounds), *sys.argv[2:]]),
        "day": dt.datetime.now(dt.UTC).date().isoformat(),
    }
    about |= {"torch": torch.__version__, "rounds": rounds, "load at the beginning": round(load, 1)}
    RESULT.write_text(json.dumps(about | found, indent=1) + "\n", encoding="utf-8")
