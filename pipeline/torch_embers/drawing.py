"""One style for every picture: colours, lines, sizes, and files that are the same bytes each time.

Colours are those of Okabe and Ito, which people with any kind of colour vision can tell apart, and lines also differ by
their dashes, points by their shape, areas by their hatching: no picture relies on colour alone. A class has the same
colour in every picture (data/drawing.toml). Each picture is written as SVG, for papers, and as PNG.
"""

from __future__ import annotations

from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure

from torch_embers import toml_models
from torch_embers.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

DEFINITIONS = "drawing.toml"
DASHES = ("solid", (0, (5, 2)), (0, (2, 1.5)), "dashdot", (0, (1, 1)), (0, (6, 1.5, 1, 1.5)), (0, (8, 2)))
SHAPES = ("o", "s", "^", "D", "v", "P", "X")
GREY = "#666666"
PALE = "#d9d9d9"
FORMATS = ("svg", "png")
DPI = 150
RESET: Any = {
    "svg.hashsalt": "embers",
    "svg.fonttype": "none",
    "text.parse_math": False,  # class names and tags come from outside: a dollar is a dollar
    "font.family": "DejaVu Sans",
    "font.size": 9,
    "axes.titlesize": 10,
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "hatch.linewidth": 0.5,
    "legend.frameon": False,
    "legend.fontsize": 8,
}


class Look(toml_models.Entry):
    """How classes are drawn."""

    classes: tuple[str, ...] = ()
    colour: str
    hatch: str = ""
    reason: str = ""


class _File(toml_models.Entry):
    colours: tuple[str, ...]
    look: tuple[Look, ...]


@cache
def _file() -> _File:
    return toml_models.load(_File, DEFINITIONS)


@cache
def _looks() -> dict[str, Look]:
    return {name: look for look in _file().look for name in look.classes}


def look(name: str, place: int = 0) -> Look:
    """How a class is drawn; one that data/drawing.toml does not name gets a colour by its place.

    Raises:
        InputError: the file is malformed.
    """
    return _looks().get(name) or Look(colour=colours()[place % len(colours())])


def colours() -> tuple[str, ...]:
    """Okabe and Ito's colours in the order in which they are used."""
    return _file().colours


@contextmanager
def styled() -> Iterator[None]:
    """Draw in the style of this module while the block runs; afterwards the caller's settings are back."""
    with mpl.rc_context(RESET):
        yield


def new(width: float = 6.4, height: float = 3.6, *, rows: int = 1, columns: int = 1, **options: Any) -> tuple[Any, Any]:
    """A Matplotlib figure without any window, and its axes.

    Args:
        width: inches.
        height: inches.
        rows: rows of axes.
        columns: columns of axes.
        options: further options of ``Figure.subplots``.
    """
    with mpl.rc_context(RESET):
        figure = Figure(figsize=(width, height), layout="constrained")
        return figure, figure.subplots(rows, columns, **options)


def shades() -> Any:
    """A colour map from white to the first colour, for counts."""
    return LinearSegmentedColormap.from_list("embers", ["#ffffff", colours()[0]])


def note(figure: Any, lines: Sequence[str]) -> None:
    """Write small grey lines below everything: how many, which selection, what the bars mean."""
    figure.supxlabel("\n".join(lines), x=0.01, ha="left", fontsize=7, color=GREY)


def save(figure: Any, folder: Path, name: str) -> tuple[Path, ...]:
    """Write a figure as ``folder/name.svg`` and ``.png``; the same figure gives the same bytes.

    Raises:
        InputError: the folder cannot be written to.
    """
    paths = tuple(folder / f"{name}.{kind}" for kind in FORMATS)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with mpl.rc_context(RESET):
            for path in paths:
                about = {"Date": None} if path.suffix == ".svg" else {"Software": None}
                figure.savefig(path, dpi=DPI, metadata=about)
                figure.set_layout_engine("none")  # placed once, for both files
    except OSError as error:
        raise InputError(f"{folder}: cannot write there: {error.strerror}; choose another folder") from error
    return paths
