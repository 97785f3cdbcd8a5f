"""How wrong the gradients of a LayerNorm's weight and bias are by the number of rows: bench/layer_norm.json.

PYTHON bench/layer_norm.py, with the interpreter of the build that is asked; it needs torch and nothing else. One thread,
rows of 64 standard normal numbers, gradients of the result evenly spread over 0 to 1 or standard normal. The error is
that of the worst element, divided by the mean size of the exact gradient (fp64 on the same inputs). The honest one is
that of the same operator in float32 on the same inputs, its gradients rounded once.
"""

import json
from pathlib import Path

import torch

ROWS = (32, 128, 512, 2048, 8192, 32768)
WIDTH = 64
TYPES = {
    "bfloat16": (torch.bfloat16, torch.bfloat16),
    "bfloat16, parameters in float32": (torch.bfloat16, torch.float32),
    "float16": (torch.float16, torch.float16),
}


def gradients(inputs, slopes, parameters):
    leaves = [torch.ones(WIDTH, dtype=parameters), torch.zeros(WIDTH, dtype=parameters)]
    leaves = [leaf.requires_grad_() for leaf in leaves]
    return torch.autograd.grad(torch.nn.functional.layer_norm(inputs, (WIDTH,), *leaves), leaves, slopes)


def measured(rows, types, spread):
    torch.manual_seed(0)
    kind, parameters = types
    inputs = torch.randn(rows, WIDTH).to(kind)
    slopes = (torch.rand(rows, WIDTH) if spread == "uniform" else torch.randn(rows, WIDTH)).to(kind)
    exact = gradients(inputs.double(), slopes.double(), torch.float64)
    honest = [one.to(parameters) for one in gradients(inputs.float(), slopes.float(), torch.float32)]
    row = {"rows": rows, "gradients": spread}
    for who, found in (("operator", gradients(inputs, slopes, parameters)), ("honest", honest)):
        for name, got, truth in zip(("weight", "bias"), found, exact, strict=True):
            error = (got.double() - truth).abs().max() / truth.abs().mean()
            row[f"{who}, {name}"] = float(f"{float(error):.3g}")
    return row | {"first of the bias": [float(gradients(inputs, slopes, parameters)[1][0]), float(exact[1][0])]}


if __name__ == "__main__":
    torch.set_num_threads(1)
    found = [
        {"type": name} | measured(rows, types, spread)
        for name, types in TYPES.items()
        for spread in ("uniform", "normal")
        for rows in ROWS
    ]
    about = {"command": "PYTHON bench/layer_norm.py", "torch": torch.__version__, "threads": 1}
    lines = ",\n ".join(map(json.dumps, found))
    result = Path(__file__).parent / "layer_norm.json"
    result.write_text(f'{json.dumps(about)[:-1]}, "measured": [\n {lines}\n]}}\n', encoding="utf-8")
