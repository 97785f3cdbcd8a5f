"""The augmentation chain of figure 8 in plain torch operations, and its two arms.

Both arms apply the same operations with the same random numbers; the contiguity-aware one also calls ``contiguous()``
behind each operation. The default arm keeps whatever layout an operation yields: an image in height, width, channel
that is turned to channel, height, width stays in its place in memory, so that the default chain begins channels last.
torchvision's own ToTensor calls ``contiguous()`` at this point; here that is left to the arm.

Images are (batch, channel, height, width) once they are tensors. All images of a batch share one draw, as they do in
torchvision's transforms of a batch.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch.nn import functional

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from torch import Tensor

    from torch_embers.study.experiments.plan import Chain

SECTORS = 6
"""The circle of hues has six sectors, between red, yellow, green, cyan, blue and magenta."""


@dataclass(frozen=True, slots=True)
class Draw:
    """The random numbers of a batch in the chain: pixels, factors, an angle and its (1, 2, 3) matrix."""

    first: tuple[int, int]
    vertical: bool
    horizontal: bool
    degrees: float
    turn: Tensor
    brightness: float
    contrast: float
    saturation: float
    hue: float
    second: tuple[int, int]


Step = tuple[str, "Callable[[Tensor, Draw], Tensor]"]


def draws(chain: Chain, count: int, seed: int, device: str) -> tuple[Draw, ...]:
    """The random numbers of ``count`` batches, the same for the same seed on every device."""
    source = torch.Generator().manual_seed(seed)
    made = []
    for _ in range(count):
        a, b, c, d, e, f, g, h, i, j, k = torch.rand(11, generator=source, dtype=torch.float64).tolist()
        low, high = 2 * chain.padding + 1, chain.first_size - chain.second_size + 1
        degrees = (2 * e - 1) * chain.degrees
        angle = math.radians(degrees)
        turn = [[math.cos(angle), -math.sin(angle), 0.0], [math.sin(angle), math.cos(angle), 0.0]]
        made.append(
            Draw(
                first=(int(a * low), int(b * low)),
                vertical=c < chain.flip,
                horizontal=d < chain.flip,
                degrees=degrees,
                turn=torch.tensor([turn], dtype=torch.float32, device=device),
                brightness=1 + (2 * f - 1) * chain.jitter,
                contrast=1 + (2 * g - 1) * chain.jitter,
                saturation=1 + (2 * h - 1) * chain.jitter,
                hue=(2 * i - 1) * chain.hue,
                second=(int(j * high), int(k * high)),
            )
        )
    return tuple(made)


def to_tensor(images: Tensor) -> Tensor:
    """uint8 in (batch, height, width, channel) to float32 in 0..1, (batch, channel, height, width)."""
    return images.permute(0, 3, 1, 2).to(torch.float32).div(255)


def window(images: Tensor, place: tuple[int, int], side: int) -> Tensor:
    """The square of ``side`` pixels whose upper left corner is at ``place``: a view."""
    top, left = place
    return images[..., top : top + side, left : left + side]


def rotate(images: Tensor, turn: Tensor) -> Tensor:
    """Rotation around the middle by a (1, 2, 3) matrix: nearest neighbour, black outside."""
    grid = functional.affine_grid(turn.expand(len(images), -1, -1), list(images.shape), align_corners=False)
    return functional.grid_sample(images, grid, mode="nearest", padding_mode="zeros", align_corners=False)


def grey(images: Tensor, weights: Sequence[float]) -> Tensor:
    """Weighted sum of red, green and blue, one channel."""
    red, green, blue = images.unbind(1)
    return (weights[0] * red + weights[1] * green + weights[2] * blue).unsqueeze(1)


def blend(images: Tensor, other: Tensor | float, factor: float) -> Tensor:
    """``factor`` of the images and the rest of the other, cut to 0..1."""
    return (factor * images + (1 - factor) * other).clamp(0, 1)


def turn_hue(images: Tensor, by: float) -> Tensor:
    """Turn the hue by a part of the circle, in -0.5..0.5, and keep value and saturation (the HSV model)."""
    red, green, blue = images.unbind(1)
    value, spread = images.amax(1), images.amax(1) - images.amin(1)
    unit = torch.where(spread == 0, torch.ones_like(spread), spread)
    hue = torch.where(
        value == red,
        (green - blue) / unit,
        torch.where(value == green, 2 + (blue - red) / unit, 4 + (red - green) / unit),
    )
    turned = hue + SECTORS * by
    # each channel is the value less the spread, as far as its own place on the circle is from the hue
    channels = [
        value - spread * torch.minimum(k, 4 - k).clamp(0, 1)
        for k in (torch.remainder(turned + place, SECTORS) for place in (5, 3, 1))
    ]
    return torch.stack(channels, dim=1)


def jitter(images: Tensor, draw: Draw, weights: Sequence[float]) -> Tensor:
    """Change brightness, contrast, saturation and hue, in this order."""
    bright = (images * draw.brightness).clamp(0, 1)
    strong = blend(bright, grey(bright, weights).mean((1, 2, 3), keepdim=True), draw.contrast)
    colourful = blend(strong, grey(strong, weights), draw.saturation)
    return turn_hue(colourful, draw.hue)


def steps(chain: Chain, device: str) -> tuple[Step, ...]:
    """The chain's operations in their order, each a function of images and draw."""
    mean = torch.tensor(chain.mean, device=device).view(1, -1, 1, 1)
    deviation = torch.tensor(chain.deviation, device=device).view(1, -1, 1, 1)
    pad = [chain.padding] * 4
    return (
        ("to tensor", lambda x, _: to_tensor(x)),
        ("crop with padding", lambda x, draw: window(functional.pad(x, pad), draw.first, chain.first_size)),
        ("vertical flip", lambda x, draw: x.flip(-2) if draw.vertical else x),
        ("horizontal flip", lambda x, draw: x.flip(-1) if draw.horizontal else x),
        ("rotation", lambda x, draw: rotate(x, draw.turn)),
        ("colour jitter", lambda x, draw: jitter(x, draw, chain.weights)),
        ("crop", lambda x, draw: window(x, draw.second, chain.second_size)),
        ("grayscale", lambda x, _: grey(x, chain.weights).expand(-1, 3, -1, -1)),
        ("normalise", lambda x, _: (x - mean) / deviation),
    )


def through(batch: Tensor, draw: Draw, chain: Sequence[Step], *, aware: bool) -> Tensor:
    """One batch through the chain, in one of the arms."""
    for _, step in chain:
        batch = step(batch, draw)
        if aware:
            batch = batch.contiguous()
    return batch


def layout(images: Tensor) -> str:
    """How a tensor lies in memory, in words."""
    if images.is_contiguous():
        return "contiguous"
    if any(stride == 0 and size > 1 for stride, size in zip(images.stride(), images.shape, strict=True)):
        return "expanded"
    if images.dim() == 4 and images.is_contiguous(memory_format=torch.channels_last):
        return "channels last"
    return "window"
