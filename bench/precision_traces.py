"""Where operators of bench/precision_samples.json lose precision: the same steps by hand: bench/precision_traces.json.

PYTHON bench/precision_traces.py, with the interpreter of the build that is asked; it needs torch and nothing else. Each
operator is called in bfloat16, and once more in steps of which one is rounded to bfloat16 on purpose. Errors are those
of the worst element against fp64, divided by the mean size of the exact result.
"""

import json
from pathlib import Path

import torch

B = torch.bfloat16
functional = torch.nn.functional


def error(got, truth):
    return float(f"{float((got.double() - truth).abs().max() / truth.abs().mean()):.3g}")


def pooling():
    x = torch.randn(2, 3, 8, 8, 8).to(B)
    got = torch.ops.aten._adaptive_avg_pool3d(x, [1, 1, 1]).flatten()  # noqa: SLF001 - size 1 has another way from outside
    total = torch.zeros(2, 3, dtype=B)
    for term in x.flatten(2).unbind(-1):
        total = total + term
    truth = x.double().mean((2, 3, 4)).flatten()
    hand = ((total / 8) / 8 / 8).flatten()
    return {
        "step": "a running sum in bf16",
        "error": error(got, truth),
        "by hand": error(hand, truth),
        "equal": torch.equal(got, hand),
    }


def sampling():
    image, grid = torch.randn(1, 2, 5, 20).to(B), (torch.rand(1, 13, 10, 2) * 2 - 1).to(B)
    height, width = image.shape[2:]
    got = functional.grid_sample(image, grid, align_corners=False)
    truth = functional.grid_sample(image.double(), grid.double(), align_corners=False)
    x, y = ((grid[..., 0] + 1) * width - 1) / 2, ((grid[..., 1] + 1) * height - 1) / 2  # each step rounded to bf16
    rounded = torch.stack([(x.double() * 2 + 1) / width - 1, (y.double() * 2 + 1) / height - 1], -1)
    hand = functional.grid_sample(image.double(), rounded, align_corners=False)
    honest = functional.grid_sample(image.float(), grid.float(), align_corners=False).to(B)
    about = {"step": "positions in bf16", "error": error(got, truth), "by hand": error(hand, truth)}
    return about | {"honest": error(honest, truth)}


def blended(x, axis, size):
    """Linear interpolation along an axis with weights in bf16."""
    length = x.shape[axis]
    places = ((torch.arange(size).float() + 0.5) * (length / size) - 0.5).clamp(min=0)
    first = places.floor().long()
    weight = (places - first).to(B).float()
    shape = [1] * x.dim()
    shape[axis] = size
    near, far = x.index_select(axis, first), x.index_select(axis, (first + 1).clamp(max=length - 1))
    return near * (1 - weight).to(B).float().view(shape) + far * weight.view(shape)


def resizing():
    x = torch.randn(1, 2, 4, 4, 4).to(B)
    got = functional.interpolate(x, size=(6, 7, 9), mode="trilinear")
    truth = functional.interpolate(x.double(), size=(6, 7, 9), mode="trilinear")
    hand = blended(blended(blended(x.float(), 4, 9), 3, 7), 2, 6).to(B)
    about = {"step": "weights in bf16, sums in float32", "error": error(got, truth), "by hand": error(hand, truth)}
    return about | {"equal": torch.equal(got, hand)}


def logarithms():
    x = (torch.rand(200, 2) * 18 - 9).to(B)
    got, truth = torch.log_softmax(x, 1), torch.log_softmax(x.double(), 1)
    small = truth > -0.01
    return {"elements above -0.01": int(small.sum()), "of these exactly 0": int((got[small] == 0).sum())}


def exponentials():
    turns = {}
    for angle in (0.01, 0.1, 1.0, 5.0):
        turn = torch.tensor([[0.0, angle], [-angle, 0.0]]).to(B)
        turns[str(angle)] = [str(float(f"{number:.3g}")) for number in torch.linalg.matrix_exp(turn).flatten().tolist()]
    return {"exponential of a turn by": turns}


if __name__ == "__main__":
    torch.set_num_threads(1)
    torch.manual_seed(0)
    found = {
        "_adaptive_avg_pool3d": pooling(),
        "grid_sampler_2d": sampling(),
        "upsample_trilinear3d": resizing(),
        "_log_softmax": logarithms(),
        "linalg_matrix_exp": exponentials(),
    }
    about = {"command": "PYTHON bench/precision_traces.py", "torch": torch.__version__}
    result = Path(__file__).parent / "precision_traces.json"
    result.write_text(json.dumps(about | found, indent=1) + "\n", encoding="utf-8")
