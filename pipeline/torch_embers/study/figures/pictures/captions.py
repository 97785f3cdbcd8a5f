"""Captions of pictures: class names as people write them, and the lines under a picture."""

from __future__ import annotations

import textwrap
from functools import cache
from typing import TYPE_CHECKING

from torch_embers.taxonomy import Taxonomy

if TYPE_CHECKING:
    from torch_embers.study.figures.table import Table

LONGEST = 40
"""Characters of a name; classes are words of data files, but labels and tags can be anybody's."""
WIDTH = 118
"""Characters of the lines under a picture, at its usual width."""
UPPER = {"cpu": "CPU", "cuda": "CUDA", "mps": "MPS", "onnx": "ONNX", "rocm": "ROCm", "xpu": "XPU"}
OWN = {
    "nan_inf": "NaN or infinity",
    "data_path": "data path, wide",
    "data_path_strict": "data path, the study's modules",
    "inductor": "compiler (inductor)",
    "rest": "others",
    "not_a_bug": "no bug",
}


@cache
def _paper_names() -> dict[str, str]:
    return {
        entry.name: entry.paper_name.replace(" Type", " type").replace("Non-contiguous", "Non-contiguity")
        for scheme in Taxonomy.load().schemes.values()
        for entry in scheme.classes
        if entry.paper_name
    }


def plain(text: str) -> str:
    """Foreign text that an SVG may hold: in one line, without control characters, cut where it is long."""
    shown = "".join(c if c.isprintable() else " " for c in text)
    return shown if len(shown) <= LONGEST else shown[: LONGEST - 1] + "…"


def name(value: str) -> str:
    """A class as people write it."""
    value = plain(value)
    known = UPPER.get(value) or OWN.get(value)
    parts = _paper_names().get(value, value.replace("_", " ")).lower().split(" ")
    return known or " ".join(UPPER.get(part, part) for part in parts)


def under(table: Table, note: str) -> list[str]:
    """The lines under a picture: what the marks mean, and one clause on the source; the tables have all notes."""
    text = " ".join(part for part in (note, f"Source: {table.source}." if table.source else "") if part)
    return wrapped(text)


def wrapped(text: str) -> list[str]:
    """Foreign text in lines as wide as a picture, without control characters."""
    return textwrap.wrap("".join(c if c.isprintable() else " " for c in text), WIDTH)
