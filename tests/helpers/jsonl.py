"""What the tests in test_jsonl.py share."""

from __future__ import annotations

import gzip
import json
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import strategies as st

from torch_embers.errors import InputError
from torch_embers.mine import readers
from torch_embers.mine.files import jsonl, record_files
from torch_embers.mine.files.jsonl import JsonlSource, read_jsonl
from torch_embers.mine.pages import make_page
from torch_embers.store import tables
from torch_embers.store.records import Batch

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

REPO = "pytorch/pytorch"

any_text = st.text(st.characters(codec=None), max_size=12)
anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.integers(-(10**30), 10**30) | st.floats() | any_text,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(any_text, inner, max_size=4),
    max_leaves=10,
)


def read(*lines: bytes, first: int = 1) -> Batch:
    page = make_page(REPO, "jsonl", jsonl.KIND, f"f.jsonl:{first}", b"\n".join(lines), "2024-01-23T12:00:00Z")
    return read_jsonl(page)


def assert_storable(batch: Batch) -> None:
    for attribute, table in tables.TABLES.items():
        if found := getattr(batch, attribute):
            tables.to_arrow(table, found)


def mine(
    paths: Iterable[Path], state: dict[str, str] | None = None, stop: int | None = None
) -> tuple[Batch, dict[str, str]]:
    """Everything one run brings (up to a number of batches), and the cursors after it."""
    state = dict(state or {})
    whole = Batch()
    for place, batch in enumerate(JsonlSource(REPO, list(paths)).batches(dict(state)), start=1):
        again = Batch()
        for page in batch.pages:
            again.extend(readers.read(page))
        assert again.items == batch.items
        assert again.rejects == batch.rejects
        state.update({c.stream: c.cursor for c in batch.cursors})
        whole.extend(batch)
        if place == stop:
            break
    return whole, state


def numbers(batch: Batch) -> list[int]:
    return [i.number for i in batch.items]


def record(number: int, **values: Any) -> bytes:
    return json.dumps(
        {"number": number, "title": f"t{number}", "updated_at": "2024-01-01T00:00:00Z", **values}
    ).encode()


def write(path: Path, *lines: bytes) -> Path:
    content = b"".join(line + b"\n" for line in lines)
    path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)
    return path


# ---- damaged files ----------------------------------------------------------------------------------------------


def gathered(path: Path) -> tuple[Batch, str]:
    """What a source yields before it fails, and what it says then."""
    batch = Batch()
    try:
        for part in JsonlSource(REPO, [path]).batches({}):
            batch.extend(part)
    except InputError as error:
        return batch, str(error)
    return batch, ""


# ---- files that are larger than they look ------------------------------------------------------------------------


@pytest.fixture
def small_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    """A record of 3,000 bytes and a packed file of 40,000 are the most."""
    monkeypatch.setattr(record_files, "LONGEST_RECORD", 3_000)
    monkeypatch.setattr(record_files, "ALWAYS_UNPACKED", 40_000)
    monkeypatch.setattr(record_files, "READ_BYTES", 700)


def one(value: dict[str, Any]) -> Batch:
    batch = read(json.dumps(value).encode())
    assert batch.rejects == []
    return batch
