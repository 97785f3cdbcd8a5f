"""Code in pieces with a class each; the template escapes the pieces, a style sheet of the site colours the classes."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from pygments.formatters import HtmlFormatter
from pygments.lexers import PythonLexer
from pygments.token import STANDARD_TYPES

from torch_embers.escaping import visible

if TYPE_CHECKING:
    from collections.abc import Sequence

LIGHT, DARK = "xcode", "github-dark"
SCOPE = ".code"


@cache
def python(code: str) -> Sequence[tuple[str, str]]:
    """Python code as (class, text); the class is empty for text without a colour."""
    pieces: list[tuple[str, str]] = []
    for kind, text in PythonLexer(stripnl=False).get_tokens(visible(code)):
        name = STANDARD_TYPES.get(kind, "")
        if pieces and pieces[-1][0] == name:
            pieces[-1] = (name, pieces[-1][1] + text)
        else:
            pieces.append((name, text))
    return tuple(pieces)


def style_sheet() -> str:
    """Colours of the classes, for light and dark."""
    light = HtmlFormatter(style=LIGHT).get_style_defs(SCOPE)
    dark = HtmlFormatter(style=DARK).get_style_defs(SCOPE)
    return f"{light}\n@media (prefers-color-scheme: dark) {{\n{dark}\n}}\n"
