"""What the layout oracle costs: processor time of a training step of a small transformer, without it, with it, and sampled.

python bench/oracles.py, in an environment with torch; one thread.
"""

import json
import sys
import time
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "pipeline"))

from torch_embers import resources
from torch_embers.oracles.layout import LayoutOracle

STEPS, ROUNDS = 4, 5


def train(steps):
    torch.manual_seed(0)
    model = torch.nn.TransformerEncoderLayer(128, 4, 256, batch_first=True)
    optimizer = torch.optim.Adam(model.parameters())
    start = time.process_time()
    for _ in range(steps):
        optimizer.zero_grad()
        model(torch.randn(8, 64, 128)).pow(2).mean().backward()
        optimizer.step()
    return time.process_time() - start


def measured(every):
    if not every:
        return train(STEPS), 0
    oracle = LayoutOracle(resources.load_toml("oracles.toml"), every=every)
    with oracle:
        spent = train(STEPS)
    return spent, len(oracle.findings)


if __name__ == "__main__":
    torch.set_num_threads(1)
    train(1)
    best = {every: min(measured(every)[0] for _ in range(ROUNDS)) for every in (0, 1, 50)}
    found = measured(1)[1]
    ratios = {"full": best[1] / best[0], "every=50": best[50] / best[0]}
    print(json.dumps({"torch": torch.__version__, "seconds": best, "ratios": ratios, "findings": found}))
