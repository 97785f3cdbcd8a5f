"""The same chain by torchvision, where it is installed: what most users mean by the default.

torchvision's transforms of one image, given the same random numbers as our own. Its to_tensor calls ``contiguous()``
itself, so that the default arm begins contiguous. Not every result equals that of our chain (a rotation samples other
neighbours, a jitter clamps at other places); the two arms of one chain are compared, never two chains.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from torch import Tensor

    from torch_embers.study.experiments.augmentation import Draw, Step
    from torch_embers.study.experiments.plan import Chain


def functions() -> Any | None:
    """The functions of torchvision on images; None where it is not installed or does not fit the installed torch."""
    try:
        return import_module("torchvision.transforms.functional")
    except (ImportError, OSError, RuntimeError):  # a torchvision of another torch fails in the latter ways
        return None


def steps(chain: Chain, functional: Any) -> tuple[Step, ...]:
    """The chain's operations in their order, on one image at a time: a batch of 1 on the CPU."""
    mean, deviation = list(chain.mean), list(chain.deviation)
    first, second = [chain.first_size] * 2, [chain.second_size] * 2

    def jitter(x: Tensor, draw: Draw) -> Any:
        bright = functional.adjust_brightness(x, draw.brightness)
        strong = functional.adjust_contrast(bright, draw.contrast)
        return functional.adjust_hue(functional.adjust_saturation(strong, draw.saturation), draw.hue)

    return (
        ("to tensor", lambda x, _: functional.to_tensor(x[0].numpy()).unsqueeze(0)),
        ("crop with padding", lambda x, d: functional.crop(functional.pad(x, [chain.padding] * 4), *d.first, *first)),
        ("vertical flip", lambda x, d: functional.vflip(x) if d.vertical else x),
        ("horizontal flip", lambda x, d: functional.hflip(x) if d.horizontal else x),
        ("rotation", lambda x, d: functional.rotate(x, d.degrees)),
        ("colour jitter", jitter),
        ("crop", lambda x, d: functional.crop(x, *d.second, *second)),
        ("grayscale", lambda x, _: functional.rgb_to_grayscale(x, 3)),
        ("normalise", lambda x, _: functional.normalize(x, mean, deviation)),
    )
