"""Which operators a report names: its words against the names that a build's database of samples knows. Pure."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

MOST = 4
"""Operators of one report that are tried: a text that names more is about none of them in particular."""
COMMON = frozenset(
    [
        "abs",
        "add",
        "all",
        "any",
        "argument",
        "clone",
        "complex",
        "contiguous",
        "copy",
        "cross",
        "dot",
        "double",
        "empty",
        "expand",
        "fill",
        "flip",
        "float",
        "floor",
        "full",
        "gradient",
        "half",
        "index",
        "int",
        "item",
        "like",
        "long",
        "max",
        "mean",
        "min",
        "mode",
        "neg",
        "norm",
        "normal",
        "not",
        "ones",
        "outer",
        "pad",
        "positive",
        "prod",
        "put",
        "range",
        "real",
        "repeat",
        "reshape",
        "resize",
        "round",
        "select",
        "short",
        "sign",
        "slice",
        "sort",
        "split",
        "square",
        "stack",
        "std",
        "sub",
        "sum",
        "take",
        "to",
        "trace",
        "transpose",
        "true",
        "type",
        "unique",
        "view",
        "where",
        "zero",
        "zeros",
    ]
)
"""Names of operators that are words of reports, too: they count only where they are written as code."""
DISPATCHER = "aten."
"""What names of operators begin with that have no samples; they count where no name with samples fits, and an
underscore shows that a word is no word of English."""
SPACES = ("linalg", "special", "fft", "masked", "sparse")
"""First parts of names of samples that belong to the function; what follows another first part is a variant."""
DTYPES = {
    "bf16": "bfloat16",
    "bfloat16": "bfloat16",
    "fp16": "float16",
    "float16": "float16",
    "half": "float16",
    "float64": "float64",
    "double": "float64",
    "complex": "complex64",
    "complex64": "complex64",
    "int8": "int8",
    "int64": "int64",
}
_WORD = re.compile(r"[A-Za-z_][\w.:]{0,80}")
_PREFIX = re.compile(r"^(?:torch\.|tensor\.|aten\.|nn\.functional\.|functional\.|nn\.|f\.|ops\.)+")
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


def named_operators(text: str, known: Iterable[str]) -> list[str]:
    """Names of samples that a text means, those written as code first, then the longer ones.

    ``masked_fill_``, ``torch.Tensor.masked_fill``, ``aten::masked_fill`` and ``F.interpolate`` are understood, and
    modules such as ``ConvTranspose2d`` and ``NLLLoss``.

    Args:
        text: a title, or a title and a body.
        known: names such as ``masked_fill`` and ``nn.functional.interpolate``.
    """
    by_form: dict[str, list[str]] = {}
    bare: dict[str, list[str]] = {}
    for name in known:
        for form in _of_sample(name):
            (bare if name.startswith(DISPATCHER) else by_form).setdefault(form, []).append(name)
    marks: dict[str, bool] = {}
    for match in _WORD.finditer(text):
        around = text[max(0, match.start() - 1) : match.start()] + match[0].rstrip(".:") + text[match.end() :][:1]
        is_code = any(sign in around for sign in "._`(") or "::" in around
        forms = list(_of_word(match[0]))
        known_as = next((one for one in forms if one in by_form), "")
        if known_as and (is_code or known_as not in COMMON):
            for name in by_form[known_as]:
                marks[name] = marks.get(name, False) or is_code
        elif not known_as and (one := next((one for one in forms if one in bare and "_" in one), "")):
            marks.update(dict.fromkeys(bare[one], True))
    ordered = sorted(marks, key=lambda name: (not marks[name], -len(name.rpartition(".")[2]), name))
    return ordered[:MOST]


def _of_sample(name: str) -> set[str]:
    if name.startswith(DISPATCHER):
        return {name.lower().removeprefix(DISPATCHER)}
    plain = name.lower().removeprefix("nn.functional.")
    first, _, _ = plain.partition(".")
    return {plain} if first in SPACES else {plain, first}


def _of_word(word: str) -> Iterator[str]:
    """What a word may be among the names, the most literal first."""
    plain = word.replace("::", ".").strip(".:")
    bare = _PREFIX.sub("", plain.lower())
    for form in (bare, bare.rstrip("_"), bare.removesuffix("_backward")):
        if len(form) > 1:
            yield form
    last = plain.rpartition(".")[2]
    if last[:1].isupper():
        snake = _CAMEL.sub("_", last).lower()
        yield from (snake, re.sub(r"(?<=norm)[123]d$", "", snake))


def named_dtypes(text: str) -> list[str]:
    """Types of numbers that a text names, single precision in any case."""
    words = re.findall(r"[a-z]+\d*", text.lower())
    return list(dict.fromkeys(["float32", *(DTYPES[word] for word in words if word in DTYPES)]))
