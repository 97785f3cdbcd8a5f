"""Measure figures 8 and 9 of the paper on this machine: ``python analysis/figures_8_and_9.py --out FOLDER``.

Figure 8 times a chain of augmentations as it is (``default``) and with ``contiguous()`` behind each operation
(``contiguity-aware``), in pairs side by side. Figure 9 times ``permute()`` and ``contiguous()`` for orders of six
dimensions, beside a plain copy of the same tensor. It needs PyTorch, some minutes on two cores, and 1.5 GB of memory.

Raw times are appended round by round (a pair of passes, or each order once): Ctrl-C loses one round, and the same
command goes on. At the end ``analysis/draw_figures_8_and_9.py`` writes tables and pictures.
The authors' code is not published: what the paper does not print is chosen, with its reason in a comment.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import platform
import sys
from datetime import UTC, datetime
from itertools import permutations
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

import draw_figures_8_and_9 as drawn
import numpy as np
import pandas as pd
import torch
from torch.nn import functional

from torch_embers.errors import EmbersError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    Order = tuple[int, ...]
    Steps = list[tuple[str, Any]]
    Time = tuple[str, str, float]  # variant, step, seconds

HEADING = "experiment,device,series,variant,step,repeat,seconds,amount"
ARMS = ("default", "contiguity-aware")
SEED = 0
PADDING, FIRST, SECOND = 4, 32, 28  # CIFAR-10's usual crop moves the image; the second one is a plain window
DEGREES, JITTER, HUE = 15, 0.4, 0.1  # usual strengths
FLIP = 0.5  # chance of each flip, the default of torchvision
WEIGHTS = (0.299, 0.587, 0.114)  # red, green and blue in grey, as ITU-R BT.601 has them
MEAN, DEVIATION = (0.4914, 0.4822, 0.4465), (0.2470, 0.2435, 0.2616)  # of CIFAR-10's training images
STEP_PASSES = 7  # passes that time each operation by itself: these only explain, so the quickest of a few will do
BATCH_PASSES = 4  # passes over the images in batches count so often: one takes a seventh of the time of single images
PLAIN_COPIES = 3  # in each round, spread over it like the orders
PER_PLACE = 3  # orders drawn for each place that the last dimension can take
CALLS = 2000  # where nothing is copied, a call takes about a microsecond: so many are timed as one


class Measuring:
    """A device, its clock, and the raw times in a folder."""

    def __init__(self, out: Path, device: str) -> None:
        self.out, self.device = out, device

    def now(self) -> float:
        """Seconds on a steady clock, after everything asked of the device is done."""
        getattr(torch, self.device).synchronize()
        return perf_counter()

    def rounds(self, figure: int, series: str, count: int) -> Iterator[int]:
        """Numbers of the rounds that are not in the folder yet."""
        file = self.out / f"figure_{figure}_raw.csv"
        done = set(pd.read_csv(file).query("series == @series")["repeat"]) if file.exists() else set()
        print(f"figure {figure}, {self.device}, {series}: {len(done)} of {count} rounds are there", flush=True)
        return (number for number in range(count) if number not in done)

    def append(self, figure: int, series: str, repeat: int, amount: int, rows: Sequence[Time]) -> None:
        """Add a round in one write."""
        file = self.out / f"figure_{figure}_raw.csv"
        name = f'{"augmentation" if figure == 8 else "permutation"},{self.device},"{series}"'
        lines = [] if file.exists() else [HEADING]
        lines += [f"{name},{variant},{step},{repeat},{seconds:.6g},{amount}" for variant, step, seconds in rows]
        with file.open("a", encoding="utf-8") as raw:
            raw.write("\n".join(lines) + "\n")


def images(count: int, file: Path | None) -> tuple[torch.Tensor, str]:
    """uint8 in (images, 32, 32, 3), and in words where they are from: a file of CIFAR-10, or smooth noise."""
    if file:  # the binary version: a byte of label, then 32 x 32 values of red, of green and of blue
        records = np.fromfile(file, dtype=np.uint8).reshape(-1, 3073)[:count, 1:]
        found = records.reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1).copy()
        return torch.from_numpy(found), f"{len(found):,} images of CIFAR-10"
    grid = torch.rand(count, 3, 8, 8, generator=torch.Generator().manual_seed(SEED))
    smooth = functional.interpolate(grid, (32, 32), mode="bilinear", align_corners=True)
    made = (255 * smooth).to(torch.uint8).permute(0, 2, 3, 1).contiguous()
    return made, f"{count:,} generated images (smooth noise, seed {SEED}), not CIFAR-10"


def chain(source: torch.Generator, device: str) -> Steps:
    """The operations in their order, with random numbers that all images of a batch share.

    The default arm keeps whatever layout an operation yields: turned to channel, height, width, an image stays in its
    place in memory, so that the chain begins channels last.
    """
    a, b, c, d, e, f, g, h, i, j, k = torch.rand(11, generator=source, dtype=torch.float64).tolist()
    angle = math.radians((2 * e - 1) * DEGREES)
    turn = [[[math.cos(angle), -math.sin(angle), 0.0], [math.sin(angle), math.cos(angle), 0.0]]]
    matrix = torch.tensor(turn, device=device)
    factors = [1 + (2 * chance - 1) * JITTER for chance in (f, g, h)]
    mean, deviation = (torch.tensor(numbers, device=device).view(1, 3, 1, 1) for numbers in (MEAN, DEVIATION))
    return [
        ("to tensor", lambda x: x.permute(0, 3, 1, 2).to(torch.float32).div(255)),
        ("crop with padding", lambda x: window(functional.pad(x, [PADDING] * 4), FIRST, a, b)),
        ("vertical flip", lambda x: x.flip(-2) if c < FLIP else x),
        ("horizontal flip", lambda x: x.flip(-1) if d < FLIP else x),
        ("rotation", lambda x: rotate(x, matrix)),
        ("colour jitter", lambda x: jitter(x, factors, (2 * i - 1) * HUE)),
        ("crop", lambda x: window(x, SECOND, j, k)),
        ("grayscale", lambda x: grey(x).expand(-1, 3, -1, -1)),
        ("normalise", lambda x: (x - mean) / deviation),
    ]


def window(x: torch.Tensor, side: int, top: float, left: float) -> torch.Tensor:
    """A view of a square; its place is given as parts of the places that there are."""
    y, z = (int(part * (x.shape[-1] - side + 1)) for part in (top, left))
    return x[..., y : y + side, z : z + side]


def rotate(x: torch.Tensor, matrix: torch.Tensor) -> torch.Tensor:
    """Rotation around the middle: nearest neighbour, black outside."""
    grid = functional.affine_grid(matrix.expand(len(x), -1, -1), list(x.shape), align_corners=False)
    return functional.grid_sample(x, grid, mode="nearest", padding_mode="zeros", align_corners=False)


def grey(x: torch.Tensor) -> torch.Tensor:
    """Weighted sum of red, green and blue, one channel."""
    red, green, blue = x.unbind(1)
    return (WEIGHTS[0] * red + WEIGHTS[1] * green + WEIGHTS[2] * blue).unsqueeze(1)


def jitter(x: torch.Tensor, factors: Sequence[float], hue: float) -> torch.Tensor:
    """Change brightness, contrast, saturation and hue, in this order."""
    bright, contrast, saturation = factors
    x = (bright * x).clamp(0, 1)
    x = (contrast * x + (1 - contrast) * grey(x).mean((1, 2, 3), keepdim=True)).clamp(0, 1)
    return turn_hue((saturation * x + (1 - saturation) * grey(x)).clamp(0, 1), hue)


def turn_hue(x: torch.Tensor, by: float) -> torch.Tensor:
    """Turn the hue by a part of the circle, of six sectors, and keep value and saturation (the HSV model)."""
    red, green, blue = x.unbind(1)
    value, spread = x.amax(1), x.amax(1) - x.amin(1)
    unit = torch.where(spread == 0, torch.ones_like(spread), spread)
    others = torch.where(value == green, 2 + (blue - red) / unit, 4 + (red - green) / unit)
    turned = torch.where(value == red, (green - blue) / unit, others) + 6 * by
    # each channel is the value less the spread, as far as its own place on the circle is from the hue
    places = [torch.remainder(turned + start, 6) for start in (5, 3, 1)]
    return torch.stack([value - spread * torch.minimum(at, 4 - at).clamp(0, 1) for at in places], 1)


def through(x: torch.Tensor, steps: Steps, *, aware: bool) -> torch.Tensor:
    """One batch through the chain, in one of the arms."""
    for _, step in steps:
        x = step(x).contiguous() if aware else step(x)
    return x


def figure_8(measuring: Measuring, pixels: torch.Tensor, sizes: Sequence[int], pairs: int) -> dict[str, float]:
    """Time both arms, on the CPU with one thread and with all; returns how much the arms' results differ, by series."""
    most, differences = torch.get_num_threads(), {}
    for size in sizes:
        batches = pixels.to(measuring.device).split(size) * (1 if size == 1 else BATCH_PASSES)
        source = torch.Generator().manual_seed(SEED)
        work = [(batch, chain(source, measuring.device)) for batch in batches]
        for threads in sorted({1, most}) if measuring.device == "cpu" else [0]:
            series = f"batch {size}" + (f", {threads} thread{'s' * (threads > 1)}" if threads else "")
            torch.set_num_threads(threads or most)
            # these passes also ask for memory and build caches, so that the first pair is like the others
            worst = max(float((through(x, s, aware=True) - through(x, s, aware=False)).abs().max()) for x, s in work)
            differences[f"{measuring.device}, {series}"] = worst
            for repeat in measuring.rounds(8, series, pairs):
                rows = []
                for arm in ARMS if repeat % 2 == 0 else ARMS[::-1]:
                    start = measuring.now()
                    for x, steps in work:
                        through(x, steps, aware=arm != "default")
                    rows.append((arm, "chain", measuring.now() - start))
                    if repeat % max(pairs // STEP_PASSES, 1) == 0:
                        rows += [(arm, *one) for one in one_by_one(measuring, work, aware=arm != "default").items()]
                measuring.append(8, series, repeat, sum(map(len, batches)), rows)
    torch.set_num_threads(most)
    return differences


def one_by_one(measuring: Measuring, work: Sequence[tuple[torch.Tensor, Steps]], *, aware: bool) -> dict[str, float]:
    """Seconds of each operation in a pass, and of the ``contiguous()`` behind it."""
    spent = dict.fromkeys((name for name, _ in work[0][1]), 0.0)
    spent |= dict.fromkeys((f"contiguous() {name}" for name in spent), 0.0) if aware else {}
    for first, steps in work:
        x = first
        for name, step in steps:
            start = measuring.now()
            x = step(x)
            middle = measuring.now()
            spent[name] += middle - start
            if aware:
                x = x.contiguous()
                spent[f"contiguous() {name}"] += measuring.now() - middle
    return spent


def every_order() -> list[Order]:
    """Every order of the five real dimensions, and five that only move the first, which is of size 1."""
    real: list[Order] = [(0, *order) for order in permutations(range(1, 6))]
    return real + [(*range(1, place), 0, *range(place, 6)) for place in range(2, 7)]


def some_orders() -> list[Order]:
    """Four telling orders, and some for each place that the last dimension can take."""
    telling: list[Order] = [(0, 1, 2, 3, 4, 5), (0, 1, 2, 3, 5, 4), (0, 5, 2, 3, 4, 1), (0, 5, 4, 3, 2, 1)]
    source, drawn = np.random.default_rng(SEED), []
    for place in range(5, 0, -1):
        there = [order for order in every_order() if order.index(0) == 0 and order[place] == 5 and order not in telling]
        drawn += [there[i] for i in source.choice(len(there), PER_PLACE, replace=False)]
    return telling + drawn


def figure_9(measuring: Measuring, sides: Sequence[int], rounds: int) -> None:
    """Time every order at the first size and some at the others; each round measures in an order of its own."""
    for side in sides:
        series = f"d = {side}"
        jobs = [*(every_order() if side == sides[0] else some_orders()), *[None] * PLAIN_COPIES]
        tensor = torch.rand((1, *[side] * 5), device=measuring.device)
        target = torch.zeros_like(tensor)
        for repeat in measuring.rounds(9, series, rounds):
            rows = []
            for place in np.random.default_rng((SEED, repeat)).permutation(len(jobs)):
                rows += one_order(measuring, tensor, target, jobs[place])
            measuring.append(9, series, repeat, tensor.nbytes, rows)


def one_order(measuring: Measuring, tensor: torch.Tensor, target: torch.Tensor, order: Order | None) -> list[Time]:
    """Seconds of a copy into memory asked for with each call (fresh), and into memory that was there (placed)."""
    variant = " ".join(map(str, order)) if order else "plain copy"
    view = tensor.permute(order) if order else tensor
    if order and view.is_contiguous():  # contiguous() copies nothing
        start = measuring.now()
        for _ in range(CALLS):
            tensor.permute(order).contiguous()
        return [(variant, "fresh", (measuring.now() - start) / CALLS)]
    start = measuring.now()
    made = tensor.permute(order).contiguous() if order else tensor.clone()
    fresh = measuring.now() - start
    del made
    start = measuring.now()
    target.view(view.shape).copy_(view)
    return [(variant, "fresh", fresh), (variant, "placed", measuring.now() - start)]


def machine(device: str) -> dict[str, str | int | float]:
    """What the times depend on; no names of hosts, no paths."""
    about = Path("/proc/cpuinfo").read_text(encoding="utf-8") if Path("/proc/cpuinfo").exists() else ""
    models = [line.partition(": ")[2] for line in about.splitlines() if line.startswith("model name")]
    return {
        "processor": models[0] if models else platform.processor() or platform.machine(),
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1,
        "threads": torch.get_num_threads(),
        "memory_gb": round(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 1e9, 1),
        "system": f"{platform.system()} {'.'.join(platform.release().split('.')[:2])}",
        "python": platform.python_version(),
        "torch": str(torch.__version__),
        "capability": str(torch.backends.cpu.get_cpu_capability()),
    } | ({"cuda": torch.cuda.get_device_name(0)} if device == "cuda" else {})


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure what a folder lacks, and write what follows from its times."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition(":")[0])
    parser.add_argument("--out", type=Path, required=True, help="folder; an unfinished measurement there goes on")
    parser.add_argument("--device", choices=("cpu", "cuda", "mps"), default="cpu")
    parser.add_argument("--images", type=Path, help="a file of CIFAR-10's binary version; generated images without it")
    parser.add_argument("--count", type=int, default=256, help="images of a pass")
    parser.add_argument("--batches", type=int, nargs="+", default=[1, 128], help="sizes of batches")
    parser.add_argument("--pairs", type=int, default=40, help="pairs of passes; 6 at least for intervals of 95 %%")
    parser.add_argument("--sides", type=int, nargs="+", default=[25, 32, 41], help="of the tensors of figure 9")
    parser.add_argument("--rounds", type=int, default=5, help="rounds of figure 9")
    given = parser.parse_args(arguments)
    pixels, source = images(given.count, given.images)
    facts = {"machine": machine(given.device), "images": source}
    given.out.mkdir(parents=True, exist_ok=True)
    file = given.out / drawn.FACTS
    known = json.loads(file.read_text(encoding="utf-8")) if file.exists() else facts
    if {name: known[name] for name in facts} != facts:
        print(f"{given.out}: measured on another machine or on other images: choose another folder", file=sys.stderr)
        return 3
    facts = {"measured_on": known.get("measured_on", str(datetime.now(UTC).date())), **facts}
    file.write_text(json.dumps(facts | {"arms_differ_by": {}}), encoding="utf-8")
    measuring = Measuring(given.out, given.device)
    facts["arms_differ_by"] = figure_8(measuring, pixels, given.batches, given.pairs)
    file.write_text(json.dumps(facts), encoding="utf-8")
    figure_9(measuring, given.sides, given.rounds)
    print(*drawn.write(given.out), sep="\n")
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except EmbersError as error:
        sys.exit(str(error))
