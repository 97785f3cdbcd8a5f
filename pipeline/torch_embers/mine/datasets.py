"""Records of published datasets as objects of REST's form; data/record_shapes.toml says what their fields mean."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any, Literal

from torch_embers import resources, toml_models
from torch_embers.toml_models import Entry

if TYPE_CHECKING:
    from collections.abc import Sequence

BY_NAMES = "known names"
"""Value of a shape's ``split_labels`` for labels joined by blanks."""
_LINE_ENDS = "\r\n"
_GAP = re.compile(r"(?:\r?\n){3,}")


# ---- shapes -----------------------------------------------------------------------------------------------------


class Shape(Entry):
    """How a dataset's record becomes a REST-like object; see data/record_shapes.toml."""

    id: str
    requires: frozenset[str]
    fields: Mapping[str, str]
    split_labels: str | None = None
    kind_unknown: bool = False
    title_from_body: bool = False
    comments: str | None = None
    comments_form: Literal["python_list", "dated_blocks"] | None = None
    code_blocks: str | None = None
    pull_number: str | None = None
    pull_files: str | None = None
    reason: str


class _Shapes(Entry):
    shape: tuple[Shape, ...]


@cache
def shapes() -> tuple[Shape, ...]:
    """All declared shapes."""
    return toml_models.load(_Shapes, "record_shapes.toml").shape


def _number(value: object) -> object:
    """Datasets write numbers as text, as float or as a list of one."""
    if isinstance(value, list):
        value = value[0] if value else None
    if isinstance(value, str) and re.fullmatch(r"\s*#?\d{1,10}(\.0)?\s*", value):
        return int(value.strip().lstrip("#").split(".", 1)[0])
    return int(value) if isinstance(value, float) and value.is_integer() else value


@cache
def label_names() -> frozenset[str]:
    """Known label names (data/label_names.txt)."""
    lines = resources.data_file("label_names.txt").read_text(encoding="utf-8").splitlines()
    return frozenset(line.strip() for line in lines if line.strip() and not line.startswith("#"))


def split_by_names(text: str, names: frozenset[str]) -> list[str]:
    """Take apart labels that were joined by blanks: the longest known name first; unknown words stay together."""
    words, labels, unknown = text.split(), [], []
    longest = max((len(name.split()) for name in names), default=1)
    place = 0
    while place < len(words):
        ends = range(min(len(words), place + longest), place, -1)
        end = next((e for e in ends if " ".join(words[place:e]) in names), None)
        if end is None:
            unknown.append(words[place])
            place += 1
            continue
        labels += [*([" ".join(unknown)] if unknown else []), " ".join(words[place:end])]
        unknown, place = [], end
    return labels + ([" ".join(unknown)] if unknown else [])


def _labels(value: object, shape: Shape) -> object:
    if isinstance(value, str) and shape.split_labels == BY_NAMES:
        return split_by_names(value, label_names())
    if isinstance(value, str) and shape.split_labels:
        return [part.strip() for part in value.split(shape.split_labels) if part.strip()]
    return value


def to_rest(record: Mapping[str, Any], shape: Shape) -> dict[str, Any]:
    """Rename the fields of a dataset's record to those of a REST object."""
    obj: dict[str, Any] = {target: record[source] for target, source in shape.fields.items() if source in record}
    obj["number"] = _number(obj.get("number"))
    if "labels" in obj:
        obj["labels"] = _labels(obj["labels"], shape)
    if isinstance(obj.get("state"), str):
        obj["state"] = obj["state"].lower()
    if isinstance(obj.get("user"), str):
        obj["user"] = {"login": obj["user"]}
    if shape.title_from_body and isinstance(obj.get("body"), str):
        title, _, rest = obj["body"].partition("\n")
        obj["title"], obj["body"] = title.strip(), rest.lstrip("\n")
    if shape.code_blocks and isinstance(obj.get("body"), str):
        obj["body"] = with_blocks(obj["body"], _python_list(record.get(shape.code_blocks)))
    return obj


def with_blocks(body: str, blocks: Sequence[str]) -> str:
    """Put back code that a dataset has cut out of a body: into the gaps it left, if there are as many, else behind.

    A gap is what removing a block leaves between two paragraphs: three or more line ends. Behind the text the code gets
    a heading: it stood in no section that is known.
    """
    fenced = [_fenced(block) for block in blocks if block.strip()]
    gaps = [gap for gap in _GAP.finditer(body) if not body.startswith("cc @", gap.end())]
    if not fenced or len(gaps) != len(fenced):
        return "".join([body.rstrip("\r\n"), "\n\n## Code", *fenced]) if fenced else body
    kept, end = [], 0
    for gap, block in zip(gaps, fenced, strict=True):
        kept += [body[end : gap.start()], block]
        end = gap.end()
    return "".join([*kept, body[end:]])


def _fenced(block: str) -> str:
    """A block within a fence that is longer than any in it."""
    longest = max((len(run) for run in re.findall(r"`{3,}", block)), default=2)
    fence = "`" * (longest + 1)
    return f"\n\n{fence}\n{block.strip(_LINE_ENDS)}\n{fence}\n\n"


def _python_list(value: object) -> list[str]:
    """Texts of a printed Python list; nothing where it is none."""
    if not isinstance(value, str):
        return []
    try:
        parsed = ast.literal_eval(value)
        return [str(entry) for entry in parsed] if isinstance(parsed, list) else []
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return []


def comment_texts(record: Mapping[str, Any], shape: Shape) -> list[tuple[str | None, str | None, str]]:
    """(author, time, text) of the comments inside a dataset's record."""
    value = record.get(shape.comments) if shape.comments else None
    if not isinstance(value, str) or not value.strip():
        return []
    if shape.comments_form == "python_list":
        return [(None, None, text) for text in _python_list(value) or ([value] if value.strip() != "[]" else [])]
    parts = re.split(r"(?m)^\[([^\]\n]{1,60}) · (\d{4}-\d\d-\d\d)\]\n", value)
    return [(parts[i], f"{parts[i + 1]}T00:00:00Z", parts[i + 2].strip("\n")) for i in range(1, len(parts) - 2, 3)]
