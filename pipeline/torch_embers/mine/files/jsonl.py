"""Files of records: JSON Lines of GitHub REST objects, and published datasets in other shapes.

``.jsonl``, ``.ndjson``, ``.json`` (an array) and ``.csv`` are read, each also as ``.gz``. What the fields of a
dataset mean is declared in data/record_shapes.toml; an object that fits no shape is taken as a REST object.
"""

from __future__ import annotations

import ast
import hashlib
import os
import re
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from itertools import islice
from typing import TYPE_CHECKING, Any, Literal

from torch_embers import resources, toml_models
from torch_embers.errors import InputError
from torch_embers.mine.files.record_files import CUT, SUFFIXES, TOO_LONG, base_suffix, lines_of
from torch_embers.mine.git import commit_lines
from torch_embers.mine.pages import make_page, reject
from torch_embers.mine.records import rest_records
from torch_embers.mine.records.rest_records import BadRecordError, parse_line
from torch_embers.mine.source import DamagedFileError, damage_report, read_cursor, sync_state
from torch_embers.normalize import clean_text, iso_utc
from torch_embers.store.records import Batch, Comment, Page, PullFile, StatedLink
from torch_embers.toml_models import Entry

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

KIND = "jsonl.records"
PAGE_RECORDS = 5_000
PAGE_BYTES = 16 * 2**20
"""A page ends at either bound, so that neither a transaction nor memory grows with the file."""
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


def shape_of(record: Mapping[str, Any]) -> Shape | None:
    """The first shape whose required fields are all there; ``None`` means a REST object."""
    if "updated_at" in record or "node_id" in record:
        return None
    keys = record.keys()
    return next((shape for shape in shapes() if shape.requires <= keys), None)


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


# ---- reading a page ------------------------------------------------------------------------------------------------


def origin_of(page: Page) -> tuple[str, int]:
    """File name and first line of a page's request ``name:line``."""
    name, _, line = page.request.rpartition(":")
    return name, int(line)


def read_jsonl(page: Page) -> Batch:
    """Turn a chunk of lines into records; what cannot be used is set aside with its line number."""
    batch = Batch()
    _, first = origin_of(page)
    for line_number, line in enumerate(page.body.split(b"\n"), start=first):
        if not line or line.isspace():
            continue
        try:
            if line.endswith(CUT):
                raise BadRecordError(TOO_LONG)
            _read_record(parse_line(line), page, batch)
        except BadRecordError as error:
            batch.rejects.append(reject(page, line_number, str(error), line))
    return batch


def _read_record(record: object, page: Page, batch: Batch) -> None:
    if not isinstance(record, dict):
        raise BadRecordError(f"not an object but {type(record).__name__}")
    if commit_lines.is_commit(record):
        commit_lines.add(record, page, batch)
        return
    shape = shape_of(record)
    if shape is None:
        batch.items.append(rest_records.item(record, page))
        return
    item = rest_records.item(to_rest(record, shape), page)
    if shape.kind_unknown:
        item = replace(item, kind=None)
    batch.items.append(item)
    for place, (author, moment, body) in enumerate(comment_texts(record, shape), start=1):
        batch.comments.append(
            Comment(
                repo=item.repo,
                number=item.number,
                comment_id=f"{shape.id}:{item.number}:{place}",
                author=clean_text(author) if author else None,
                created_at=iso_utc(moment),
                body=clean_text(body),
                **page.stamp,
            )
        )
    if shape.pull_number:
        _read_fix(record, shape, item.repo, item.number, page, batch)


def _read_fix(record: dict[str, Any], shape: Shape, repo: str, number: int, page: Page, batch: Batch) -> None:
    """The fixing pull request that a dataset names, with its files."""
    pull = rest_records.whole(_number(record.get(shape.pull_number or "")))
    if pull is None or pull < 1:
        return
    batch.items.append(rest_records.item({"number": pull, "pull_request": {}}, page, repo=repo))
    batch.stated_links.append(StatedLink(repo, pull, "fixes", repo, number, "dataset", **page.stamp))
    files = record.get(shape.pull_files) if shape.pull_files else None
    for path in files if isinstance(files, list) else []:
        if isinstance(path, str):
            batch.pull_files.append(PullFile(repo, pull, clean_text(path), **page.stamp))


# ---- reading a file ------------------------------------------------------------------------------------------------


def chunks(lines: Iterable[bytes]) -> Iterator[tuple[int, bytes]]:
    """Group lines into pages: (number of the first line, bytes).

    Raises: what ``lines`` raises, behind a page of all the lines that came before.
    """
    first, source = 1, iter(lines)
    while True:
        taken: list[bytes] = []
        size = 0
        broken: DamagedFileError | None = None
        try:
            for line in islice(source, PAGE_RECORDS):
                taken.append(line)
                size += len(line)
                if size >= PAGE_BYTES:
                    break
        except DamagedFileError as error:
            broken = error
        if taken:
            yield first, b"".join(taken)
            first += len(taken)
        if broken is not None:
            raise broken
        if not taken:
            return


def fingerprint(path: Path) -> str:
    """Size and time of a file: equal means unchanged."""
    status = path.stat()
    return f"{status.st_size}:{status.st_mtime_ns}"


def stream_of(path: Path) -> str:
    """Name of a file's cursor; files of one name in two folders are two streams."""
    folder = os.fsencode(path.resolve().parent)
    return f"file:{clean_text(path.name)}:{hashlib.blake2b(folder, digest_size=3).hexdigest()}"


class JsonlSource:
    """Mines files of records; each file is one stream, so an unchanged file is not read twice."""

    name = "jsonl"

    def __init__(self, repo: str, paths: Sequence[Path]) -> None:
        self.repo = repo
        self.paths = list(paths)
        for path in self.paths:
            if not path.is_file():
                raise InputError(f"{path}: no such file")
            if base_suffix(path) not in SUFFIXES:
                raise InputError(f"{path}: not one of {', '.join(SUFFIXES)} (each also as .gz)")

    def batches(self, state: Mapping[str, str]) -> Iterator[Batch]:
        """Yield one batch per page of every file that changed since ``state``.

        A damaged file does not stop the others: what came before the damage is kept, and the error comes at the end.

        Raises:
            InputError: files that are cut, cannot be parsed or unpack to too much, by name.
        """
        damaged: list[str] = []
        for path in self.paths:
            try:
                stream, mark = stream_of(path), fingerprint(path)
                done = _progress(state.get(stream), mark)
                if done is not None:
                    yield from self._file(path, stream, mark, done)
            except (DamagedFileError, OSError) as error:
                damaged.append(f"{path}: cannot be read to its end ({error})")
        if damaged:
            raise InputError(damage_report(damaged))

    def _file(self, path: Path, stream: str, mark: str, done: int) -> Iterator[Batch]:
        last = done
        for first, body in chunks(islice(lines_of(path), done, None)):
            page = make_page(self.repo, self.name, KIND, f"{clean_text(path.name)}:{done + first}", body)
            batch = read_jsonl(page)
            last = done + first - 1 + body.count(b"\n") + (not body.endswith(b"\n"))
            batch.pages.append(page)
            batch.cursors.append(sync_state(self, stream, file=mark, lines=last))
            yield batch
        yield Batch(cursors=[sync_state(self, stream, file=mark, complete=True)])


def _progress(cursor: str | None, mark: str) -> int | None:
    """Lines of an unchanged file that were read already; ``None`` when all were."""
    known = read_cursor(cursor)
    if known.get("file") != mark:
        return 0
    return None if known.get("complete") else int(known.get("lines") or 0)
