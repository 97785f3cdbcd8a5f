"""Inputs on which precision is judged: uniform, normal, Zipf, heavy tail, a constant with small increments.

Uniform inputs spread what is summed evenly and hide a low-precision accumulator; real text does not. So a kernel gets
each distribution at growing sizes. Everything is drawn from its own generator: the global one is left as it was.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Tuple

import torch

DISTRIBUTIONS = ("uniform", "normal", "zipf", "heavy_tail", "increments")
SKEWED = ("zipf", "heavy_tail", "increments")
"""Distributions under which few elements collect most of the sum, or the sum is far larger than what is added."""
ZIPF_EXPONENT = 1.0
"""Frequency of a word against its rank in natural text."""
INCREMENT = 0.9 * 2.0**-11
"""What is added to a constant of 1: below half a unit in its last place in fp16 and TF32 (and so in bf16), which lose
every one of them; fp32 keeps them all."""
TAIL_EXPONENT = 2.5
"""Exponent of the heavy tail: large outliers, but a finite variance."""
_LARGEST = 1000.0
"""Heavy tails end here: fp16 ends at 65,504, and an overflow says nothing about precision."""


@dataclass(frozen=True)
class Draw:
    """One set of inputs: a distribution, a size, a seed.

    ``make_inputs`` gets it and asks for values and tokens; ``n`` is how many terms there are to accumulate.
    """

    distribution: str
    n: int
    seed: int = 0
    device: str = "cpu"

    def _generator(self, salt: int) -> torch.Generator:
        generator = torch.Generator()
        generator.manual_seed(self.seed * 1_000_003 + salt * 7919 + self.n)
        return generator

    def values(self, *shape: int, dtype: torch.dtype = torch.float32, along: int = 0, salt: int = 0) -> torch.Tensor:
        """Floating values of this distribution.

        Args:
            shape: sizes.
            dtype: type of the result; values are drawn in fp64 and rounded once.
            along: dimension in which a constant is followed by small increments.
            salt: another number for another tensor of the same shape.
        """
        generator = self._generator(salt)
        if self.distribution == "uniform":
            drawn = torch.rand(shape, generator=generator, dtype=torch.float64)
        elif self.distribution == "heavy_tail":
            drawn = _heavy(shape, generator)
        elif self.distribution == "increments":
            drawn = torch.full(shape, INCREMENT, dtype=torch.float64)
            if shape:
                drawn.narrow(along, 0, 1).fill_(1.0)
        else:
            drawn = torch.randn(shape, generator=generator, dtype=torch.float64)
        return drawn.to(dtype).to(self.device)

    def tokens(self, count: int, vocabulary: int, salt: int = 0) -> torch.Tensor:
        """Row numbers: Zipf or evenly spread; for ``increments`` all the same row."""
        generator = self._generator(salt + 1)
        if self.distribution == "zipf":
            weights = torch.arange(1, vocabulary + 1, dtype=torch.float64) ** -ZIPF_EXPONENT
            drawn = torch.multinomial(weights, count, replacement=True, generator=generator)
        elif self.distribution == "increments":
            drawn = torch.zeros(count, dtype=torch.int64)
        else:
            drawn = torch.randint(0, vocabulary, (count,), generator=generator)
        return drawn.to(self.device)


def _heavy(shape: Tuple[int, ...], generator: torch.Generator) -> torch.Tensor:
    """Normal values, each divided by a power of a uniform one: a tail as of Pareto's law."""
    normal = torch.randn(shape, generator=generator, dtype=torch.float64)
    spread = torch.rand(shape, generator=generator, dtype=torch.float64).clamp(min=2.0**-53)
    return (normal * spread ** (-1 / TAIL_EXPONENT)).clamp(-_LARGEST, _LARGEST)
