"""What stands in pictures: class names as people write them, and the lines under a picture."""

from __future__ import annotations

import textwrap
from functools import cache
from typing import TYPE_CHECKING

from torch_embers import resources

if TYPE_CHECKING:
    from torch_embers.study.exhibits.table import Table

WIDTH = 118
"""Characters of the lines under a picture, at its usual width."""
UPPER = {"cpu": "CPU", "cuda": "CUDA", "mps": "MPS", "rocm": "ROCm", "xpu": "XPU", "nan_inf": "NaN or infinity"}
OWN = {
    "data_path": "data path, wide",
    "data_path_strict": "data path, the study's modules",
    "inductor": "compiler (inductor)",
    "rest": "others",
    "not_a_bug": "no bug",
}


@cache
def _paper_names() -> dict[str, str]:
    return {
        entry["name"]: entry["paper_name"].replace(" Type", " type").replace("Non-contiguous", "Non-contiguity")
        for scheme in resources.load_toml("taxonomy.toml")["scheme"]
        for entry in scheme["class"]
        if entry.get("paper_name")
    }


def name(value: str) -> str:
    """A class as people write it."""
    return (
        UPPER.get(value)
        or OWN.get(value)
        or _paper_names().get(value, value.replace("_", " ")).lower().replace("onnx", "ONNX").replace("cuda", "CUDA")
    )


def under(table: Table, *more: str) -> list[str]:
    """The lines under a picture: who was counted and what the marks mean, wrapped."""
    return [line for text in (*more, *table.notes) for line in textwrap.wrap(text, WIDTH)]
