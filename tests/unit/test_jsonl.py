"""Files of records: every record becomes an item or a reject with its line, however broken the file is."""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import json
import os
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from torch_embers.mine.files.jsonl import JsonlSource, chunks, comment_texts, read_jsonl, shape_of, shapes, to_rest
from torch_embers.mine.pages import make_page
from torch_embers.mine.source import DamagedFileError
from torch_embers.store.records import Batch

from torch_embers.errors import InputError
from torch_embers.mine import readers
from torch_embers.mine.files import jsonl, record_files
from torch_embers.store import tables

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


# ---- any line ---------------------------------------------------------------------------------------------------


@given(anything)
def test_any_json_value_is_an_item_or_a_reject(value: object) -> None:
    batch = read(json.dumps(value).encode())
    assert len(batch.items) + len(batch.rejects) == 1
    assert_storable(batch)


@given(st.lists(st.binary(max_size=40).map(lambda b: b.replace(b"\n", b"")), max_size=6), st.integers(1, 10**6))
@example([b"", b" \t", b"{", b"\xff\xfe", b"\x00", b"nul", b"1e999", b"-", b'{"number": 5}'], 1)
def test_any_bytes_are_read_line_by_line(lines: list[bytes], first: int) -> None:
    batch = read(*lines, first=first)
    filled = [n for n, line in enumerate(lines, start=first) if line.strip()]
    assert len(batch.items) + len(batch.rejects) == len(filled)
    assert {r.line for r in batch.rejects} <= set(filled)
    assert_storable(batch)


@pytest.mark.parametrize(
    ("line", "title"),
    [
        (b'{"number": 5, "title": "a\\ud800b"}', "a\ufffdb"),
        (b'{"number": 5, "title": "a\\u0000b"}', "a\ufffdb"),
        (b'{"number": 5, "title": "a\xffb"}', "a\ufffdb"),
        (b'{"number": 5, "title": "\\ud83d\\udd25"}', "🔥"),
        ('{"number": 5, "title": "é🔥"}'.encode(), "é🔥"),
        (b'{"number": 5, "title": "x", "big": 123456789012345678901234567890, "odd": NaN}', "x"),
        (b'\xef\xbb\xbf{"number": 5, "title": "x"}', "x"),
    ],
    ids=["surrogate", "NUL", "bad UTF-8", "pair", "UTF-8", "big number and NaN", "byte order mark"],
)
def test_damaged_text_is_repaired_and_the_record_kept(line: bytes, title: str) -> None:
    batch = read(line)
    assert [i.title for i in batch.items] == [title]
    assert batch.rejects == []
    assert_storable(batch)


@pytest.mark.parametrize(
    "line",
    [b"[" * 100_000, b'{"number":' * 50_000, b'{"number":' + b"[" * 900 + b"]" * 900 + b"}", b"9" * 10_000],
    ids=["arrays", "objects", "deep number", "long number"],
)
def test_a_hostile_line_is_a_reject(line: bytes) -> None:
    batch = read(line, record(6))
    assert numbers(batch) == [6]
    assert [r.line for r in batch.rejects] == [1]
    assert len(batch.rejects[0].raw) <= 2000
    assert_storable(batch)


@pytest.mark.parametrize("depth", range(100, 1100, 100))
def test_nesting_of_any_depth_is_an_item_or_a_reject(depth: int) -> None:
    nested = b"[" * depth + b"]" * depth
    for line in (b'{"number":%b}' % nested, b'{"number":5,"labels":%b,"title":%b}' % (nested, nested)):
        batch = read(line)
        assert len(batch.items) + len(batch.rejects) == 1
        assert_storable(batch)


@pytest.mark.parametrize(
    "line", [b"null", b"5", b'"text"', b"[]", b'{"number": "x"}', b'{"title": "no number"}', b'{"number": -1}', b"{]"]
)
def test_a_record_of_the_wrong_type_is_a_reject_that_says_why(line: bytes) -> None:
    [found] = read(line).rejects
    assert found.line == 1
    assert found.reason
    assert found.raw == line.decode()


# ---- pages and cursors ------------------------------------------------------------------------------------------


@given(st.lists(st.binary(max_size=30).map(lambda b: b.replace(b"\n", b"") + b"\n"), max_size=30), st.integers(1, 7))
def test_chunks_keep_every_byte_and_number_the_lines(lines: list[bytes], size: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(jsonl, "PAGE_RECORDS", size)
        found = list(chunks(lines))
    assert b"".join(body for _, body in found) == b"".join(lines)
    for first, body in found:
        assert lines[first - 1 : first - 1 + body.count(b"\n")] == body.splitlines(keepends=True) or b"\r" in body


@pytest.mark.parametrize("size", [1, 2, 3, 100])
def test_rejects_carry_their_line_across_page_borders(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: int
) -> None:
    monkeypatch.setattr(jsonl, "PAGE_RECORDS", size)
    path = write(tmp_path / "f.jsonl", record(1), b"{", b"", record(4), b"null", record(6), b"]")
    batch, _ = mine([path])
    assert numbers(batch) == [1, 4, 6]
    assert [r.line for r in batch.rejects] == [2, 5, 7]
    assert len(batch.pages) == -(-7 // size)


def test_a_page_ends_before_it_grows_too_large(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jsonl, "PAGE_BYTES", 1000)
    path = write(tmp_path / "f.jsonl", *(record(n, body="x" * 400) for n in range(1, 11)))
    batch, _ = mine([path])
    assert numbers(batch) == list(range(1, 11))
    assert max(len(p.body) for p in batch.pages) < 2000


@pytest.mark.parametrize("name", ["f.jsonl", "f.jsonl.gz", "f.json", "f.csv"])
@pytest.mark.parametrize("stop", [1, 2, 3])
def test_an_interrupted_run_goes_on_in_the_middle_of_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, stop: int
) -> None:
    monkeypatch.setattr(jsonl, "PAGE_RECORDS", 3)
    path = tmp_path / name
    lines = [record(1), record(2), b"null", record(4), b"[]", record(6), record(7), record(8)]
    if name == "f.json":
        path.write_bytes(b"[" + b",".join(lines) + b"]")
    elif name == "f.csv":
        path.write_text("number,title\n" + "".join(f"{n},t\n" for n in (1, 2, "x", 4, "y", 6, 7, 8)))
        monkeypatch.setattr(
            jsonl,
            "shape_of",
            lambda _: jsonl.Shape(id="t", requires=frozenset(), fields={"number": "number"}, reason="r"),
        )
    else:
        write(path, *lines)
    first, state = mine([path], stop=stop)
    second, state = mine([path], state)
    assert numbers(first) + numbers(second) == [1, 2, 4, 6, 7, 8]
    assert [r.line for r in first.rejects + second.rejects] == [3, 5]
    third, _ = mine([path], state)
    assert not third


def test_an_unchanged_file_is_not_read_again_and_a_changed_one_is(tmp_path: Path) -> None:
    path = write(tmp_path / "f.jsonl", record(1))
    _, state = mine([path])
    assert not mine([path], state)[0]
    write(path, record(1), record(2))
    batch, state = mine([path], state)
    assert numbers(batch) == [1, 2]
    status = path.stat()
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns + 1))
    assert numbers(mine([path], state)[0]) == [1, 2]


def test_a_file_that_changed_under_an_interrupted_run_is_read_from_its_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jsonl, "PAGE_RECORDS", 1)
    path = write(tmp_path / "f.jsonl", record(1), record(2), record(3))
    _, state = mine([path], stop=2)
    write(path, record(9), record(1), record(2), record(3))
    assert numbers(mine([path], state)[0]) == [9, 1, 2, 3]


def test_files_of_one_name_in_two_folders_are_two_files(tmp_path: Path) -> None:
    paths = []
    for folder, number in (("a", 1), ("b", 2)):
        (tmp_path / folder).mkdir()
        paths.append(write(tmp_path / folder / "f.jsonl", record(number)))
        os.utime(paths[-1], (1, 1))
    _, state = mine([paths[0]])
    assert numbers(mine([paths[1]], state)[0]) == [2]
    batch, state = mine(paths)
    assert numbers(batch) == [1, 2]
    assert not mine(paths, state)[0]


def test_a_last_line_without_a_line_feed_counts(tmp_path: Path) -> None:
    path = tmp_path / "f.jsonl"
    path.write_bytes(record(1) + b"\n" + record(2))
    assert numbers(mine([path])[0]) == [1, 2]


MARKED = {
    "utf-8-sig": codecs.BOM_UTF8,
    "utf-16-le": codecs.BOM_UTF16_LE,
    "utf-16-be": codecs.BOM_UTF16_BE,
    "utf-32-le": codecs.BOM_UTF32_LE,
    "utf-32-be": codecs.BOM_UTF32_BE,
}
TITLES = ["gr\u00f6\u00dfe \U0001f525", *(f"title {n}" for n in range(2, 40))]


@pytest.mark.parametrize("form", ["jsonl", "jsonl.gz", "json", "csv"])
@pytest.mark.parametrize("encoding", MARKED)
@pytest.mark.parametrize("read_bytes", [7, record_files.READ_BYTES])
def test_a_byte_order_mark_says_how_a_file_is_encoded(
    tmp_path: Path, encoding: str, form: str, read_bytes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(record_files, "READ_BYTES", read_bytes)
    records = [{"number": n, "title": title} for n, title in enumerate(TITLES, start=1)]
    if form == "json":
        text = json.dumps(records, ensure_ascii=False)
    elif form == "csv":
        text = "number,title\r\n" + "".join(f"{r['number']},{r['title']}\r\n" for r in records)
    else:
        text = "".join(json.dumps(record, ensure_ascii=False) + "\r\n" for record in records)
    coded = MARKED[encoding] + text.encode(encoding.removesuffix("-sig"))
    path = tmp_path / f"marked.{form}"
    path.write_bytes(gzip.compress(coded) if form.endswith(".gz") else coded)
    found = [json.loads(line) for line in record_files.lines_of(path)]
    assert [(int(record["number"]), record["title"]) for record in found] == list(enumerate(TITLES, start=1))


def test_marks_within_a_file_are_no_part_of_a_line(tmp_path: Path) -> None:
    path = tmp_path / "joined.jsonl"
    path.write_bytes(b"".join(codecs.BOM_UTF8 + b'{"number": %d, "title": "t"}\n' % n for n in (1, 2, 3)))
    batch, _ = mine([path])
    assert [item.number for item in batch.items] == [1, 2, 3]
    assert batch.rejects == []


def test_what_a_wide_text_lacks_is_one_reject_and_the_lines_before_it_are_read(tmp_path: Path) -> None:
    path = tmp_path / "cut.jsonl"
    path.write_bytes(codecs.BOM_UTF16_LE + '{"number": 1}\n{"number": 2}\n{"num'.encode("utf-16-le")[:-1])
    batch, _ = mine([path])
    assert [item.number for item in batch.items] == [1, 2]
    assert [(reject.origin, reject.line) for reject in batch.rejects] == [("cut.jsonl:1", 3)]


def test_a_file_that_is_only_a_mark_is_empty(tmp_path: Path) -> None:
    for place, mark in enumerate(MARKED.values()):
        path = tmp_path / f"{place}.jsonl"
        path.write_bytes(mark)
        batch, _ = mine([path])
        assert (batch.items, batch.rejects) == ([], [])


@pytest.mark.parametrize("content", [b"", b"\n\n"])
def test_an_empty_file_is_read_and_done(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "f.jsonl"
    path.write_bytes(content)
    batch, state = mine([path])
    assert not batch.items
    assert not mine([path], state)[0]


def test_a_foreign_cursor_reads_the_file_anew(tmp_path: Path) -> None:
    path = write(tmp_path / "f.jsonl", record(1))
    _, state = mine([path])
    for odd in ("", "[]", "{", '"x"', "5"):
        assert numbers(mine([path], dict.fromkeys(state, odd))[0]) == [1]


@pytest.mark.parametrize("size", [7, 5000])
def test_a_cut_gz_keeps_what_came_before_and_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: int
) -> None:
    monkeypatch.setattr(jsonl, "PAGE_RECORDS", size)
    whole = gzip.compress(b"".join(record(n, body=os.urandom(200).hex()) + b"\n" for n in range(1, 101)))
    path = tmp_path / "f.jsonl.gz"
    path.write_bytes(whole[: len(whole) // 2])
    batch, said = gathered(path)
    assert "f.jsonl.gz" in said
    assert "what came before is kept" in said
    assert 40 <= len(batch.items) <= 60
    assert numbers(batch) == list(range(1, len(batch.items) + 1))
    assert batch.rejects == []


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("f.jsonl.gz", b"this is no gzip"),
        ("f.jsonl.gz", gzip.compress(record(1) * 50)[:12] + b"\xff" * 40),
        ("f.json", b'[{"number": 1}'),
        ("f.json", b"\xff\xfe\xff"),
        ("f.json", b"[" * 100_000),
        ("f.json.gz", gzip.compress(b"[" * 3000 + b"]" * 3000)),
        ("f.csv.gz", b"\x1f\x8b\x08"),
    ],
    ids=["no gzip", "damaged gzip", "cut array", "no text", "deep", "deep gz", "cut csv"],
)
def test_a_file_that_cannot_be_read_is_a_clear_error(tmp_path: Path, name: str, content: bytes) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    _, said = gathered(path)
    assert name in said
    assert "\n" not in said


@pytest.mark.parametrize("name", ["f.txt", "f", "f.parquet", "f.gz", "f.jsonl.zip"])
def test_an_unknown_format_is_refused_with_the_known_ones(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(b"")
    with pytest.raises(InputError, match=r"not one of .jsonl"):
        JsonlSource(REPO, [tmp_path / name])


def test_a_missing_file_or_a_folder_is_refused(tmp_path: Path) -> None:
    for path in (tmp_path / "none.jsonl", tmp_path):
        with pytest.raises(InputError, match="no such file"):
            JsonlSource(REPO, [path])


@pytest.mark.usefixtures("small_limits")
@pytest.mark.parametrize("name", ["f.jsonl", "f.jsonl.gz"])
@pytest.mark.parametrize("length", [3_001, 30_000])
def test_a_line_that_is_too_long_is_a_reject_and_the_next_one_is_read(tmp_path: Path, name: str, length: int) -> None:
    # cut after 2,000 bytes it would be a record, so the cut itself must be seen
    long = record(2).ljust(length)
    batch, _ = mine([write(tmp_path / name, record(1), long, record(3))])
    assert numbers(batch) == [1, 3]
    assert [(r.line, r.reason) for r in batch.rejects] == [(2, "longer than 16 MiB")]


@pytest.mark.usefixtures("small_limits")
@pytest.mark.parametrize(
    "content",
    [b'id,text\n1,x\n2,"' + b"x\n" * 4_000, b"number,updated_at\n1,\n2" + b',"\n"' * 2_000],
    ids=["an open quotation mark", "fields without end"],
)
def test_a_row_without_an_end_is_not_held_in_memory(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "f.csv").write_bytes(content)
    batch, said = gathered(tmp_path / "f.csv")
    assert len(batch.rejects) == 1, "the row before it"
    assert "a row is longer than 16 MiB" in said


@pytest.mark.usefixtures("small_limits")
def test_an_entry_without_an_end_is_not_held_in_memory(tmp_path: Path) -> None:
    (tmp_path / "f.json").write_bytes(b"[" + record(1) + b',{"number": 2, "body": "' + b"x" * 20_000)
    batch, said = gathered(tmp_path / "f.json")
    assert numbers(batch) == [1]
    assert "longer than 16 MiB" in said


# ---- arrays and tables ------------------------------------------------------------------------------------------


@given(st.lists(anything, max_size=5))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_an_array_gives_one_record_an_entry(tmp_path: Path, values: list[Any]) -> None:
    path = tmp_path / "f.json"
    path.write_text(json.dumps(values))
    batch, said = gathered(path)
    assert said == ""
    assert len(batch.items) + len(batch.rejects) == len(values)
    assert_storable(batch)


@pytest.mark.filterwarnings("error")
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(anything, max_size=6), st.integers(4, 40), st.sampled_from(["utf-8", "utf-8-sig", "utf-16", "utf-32"]))
@example([1234567, -1.5e300, "\u00e9" * 30, []], 5, "utf-8")
def test_an_array_is_read_the_same_in_parts_of_any_size(
    tmp_path: Path, values: list[Any], step: int, encoding: str
) -> None:
    path = tmp_path / "f.json"
    path.write_bytes(json.dumps(values, indent=step % 3 or None).encode(encoding))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(record_files, "READ_BYTES", step)
        lines = list(record_files.lines_of(path))
    assert lines == [json.dumps(value).encode() + b"\n" for value in values]


@pytest.mark.parametrize("text", [b"[1 2]", b"[1,]", b"[,1]", b"[1] 2", b"{} {}", b"[1", b"[", b"", b"[1,"])
def test_an_array_that_is_none_is_damage(tmp_path: Path, text: bytes) -> None:
    (tmp_path / "f.json").write_bytes(text)
    with pytest.raises(DamagedFileError, match="no JSON"):
        list(record_files.lines_of(tmp_path / "f.json"))


def test_a_single_object_is_an_array_of_one(tmp_path: Path) -> None:
    (tmp_path / "f.json").write_bytes(record(7))
    assert numbers(mine([tmp_path / "f.json"])[0]) == [7]


def csv_of(rows: list[dict[str, str]], path: Path, encoding: str = "utf-8") -> Path:
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]))
    writer.writeheader()
    writer.writerows(rows)
    raw = text.getvalue().encode(encoding)
    path.write_bytes(gzip.compress(raw) if path.suffix == ".gz" else raw)
    return path


TABLE_ROW = {"number": "5", "title": "T", "state": "CLOSED", "createdAt": "2024-01-01T00:00:00Z", "labels": "a|b"}


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig"])
@pytest.mark.parametrize("name", ["f.csv", "f.csv.gz"])
def test_a_table_is_read_with_line_feeds_quotes_and_large_fields(tmp_path: Path, name: str, encoding: str) -> None:
    title = 'a "b", c\r\nd é ' + "x" * 300_000
    path = csv_of(
        [TABLE_ROW | {"title": title}, TABLE_ROW | {"number": "x"}, TABLE_ROW | {"number": "6"}],
        tmp_path / name,
        encoding,
    )
    batch, _ = mine([path])
    assert [(i.number, i.title) for i in batch.items] == [(5, title), (6, "T")]
    assert [r.line for r in batch.rejects] == [2]


def test_rows_of_the_wrong_length_and_bad_text_do_not_stop_a_table(tmp_path: Path) -> None:
    path = tmp_path / "f.csv"
    path.write_bytes(b"number,title,state,createdAt,labels\n5\n6,a,b,c,d,e,f\n7,\xff\x00,open,,\n\n8,t,open,,x\n")
    batch, said = gathered(path)
    assert said == ""
    assert numbers(batch) == [5, 6, 7, 8]
    assert_storable(batch)


# ---- shapes of data/record_shapes.toml --------------------------------------------------------------------------


def test_the_shape_mhnurf() -> None:
    row = {"Number": "123", "Title": "T", "Body": "B", "Codes": "[]", "class": "1", "State": "closed"}
    batch = one(
        row | {"Labels": "high priority module: cuda no such label triaged", "Comments": "['first\\n', \"it's\", 'é']"}
    )
    [item] = batch.items
    assert (item.number, item.title, item.body, item.state) == (123, "T", "B", "closed")
    assert item.labels == ("high priority", "module: cuda", "no such label", "triaged")
    assert [(c.comment_id, c.body) for c in batch.comments] == [
        ("mhnurf:123:1", "first\n"),
        ("mhnurf:123:2", "it's"),
        ("mhnurf:123:3", "é"),
    ]


@pytest.mark.parametrize(
    ("body", "codes", "expected"),
    [
        ("a\r\n\r\n\r\n\r\nb", ["\r\nx = 1\r\n"], "a\n\n```\nx = 1\n```\n\nb"),
        ("a\n\n\nb\n\n\nc", ["x", "y"], "a\n\n```\nx\n```\n\nb\n\n```\ny\n```\n\nc"),
        ("a\n\nb\n", ["x", "y"], "a\n\nb\n\n## Code\n\n```\nx\n```\n\n\n\n```\ny\n```\n\n"),
        ("a", ["```nested```"], "a\n\n## Code\n\n````\n```nested```\n````\n\n"),
        ("a\n\n\nb\n\n\ncc @c", ["x"], "a\n\n```\nx\n```\n\nb\n\n\ncc @c"),
        ("a\n\n\nb", [], "a\n\n\nb"),
        ("a\n\n\nb", [" \n"], "a\n\n\nb"),
    ],
)
def test_code_that_a_dataset_cut_out_is_put_back_where_it_stood(body: str, codes: list[str], expected: str) -> None:
    row = {"Number": "1", "Title": "T", "Body": body, "Codes": repr(codes), "class": "1"}
    [item] = one(row).items
    assert item.body == expected


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("", 0),
        ("  ", 0),
        ("[]", 0),
        ("['a']", 1),
        ("not a list", 1),
        ("['a', 5, None, ['b']]", 4),
        ("('a', 'b')", 1),
        ("[" * 5000 + "]" * 5000, 1),
        ("['a\x00b']", 1),
        ("['a'", 1),
        ("[0x" + "f" * 10_000 + "]", 1),
        ("__import__('os').abort()", 1),
    ],
    ids=range(12),
)
def test_printed_lists_of_comments_are_read_without_running_them(text: str, count: int) -> None:
    [shape] = [s for s in shapes() if s.id == "mhnurf"]
    found = comment_texts({"Comments": text}, shape)
    assert len(found) == count
    row = {"Number": 5, "Title": "", "Body": "", "Codes": "", "class": 0, "Comments": text}
    assert_storable(one(row))


def test_the_shape_issue_to_fix() -> None:
    row = {
        "issue_numbers": ["77"],
        "pull_number": 99,
        "problem_statement": "The title\n\nThe body\ngoes on",
        "issue_labels": ["bug"],
        "issue_created_at": "2024-01-01T00:00:00Z",
        "hints_text": "[ann · 2024-02-03]\nfirst\n\n[bob · 2024-02-04]\nsecond\nline\n",
        "fix_files": ["aten/a.cpp", 5, "torch/b.py"],
    }
    batch = one(row)
    issue, pull = batch.items
    assert (issue.number, issue.title, issue.body, issue.labels) == (77, "The title", "The body\ngoes on", ("bug",))
    assert (pull.number, pull.kind) == (99, "pull")
    assert [(c.author, c.created_at, c.body) for c in batch.comments] == [
        ("ann", "2024-02-03T00:00:00Z", "first"),
        ("bob", "2024-02-04T00:00:00Z", "second\nline"),
    ]
    [link] = batch.stated_links
    assert (link.number, link.relation, link.target_number, link.evidence) == (99, "fixes", 77, "dataset")
    assert [(f.number, f.path) for f in batch.pull_files] == [(99, "aten/a.cpp"), (99, "torch/b.py")]


@pytest.mark.parametrize("pull", [None, 0, -1, "x", [], {}, 10**12, True])
def test_a_fix_without_a_usable_number_is_left_out_and_the_issue_kept(pull: object) -> None:
    batch = one({"issue_numbers": [77], "pull_number": pull, "problem_statement": "t", "fix_files": ["a"]})
    assert numbers(batch) == [77]
    assert batch.stated_links == []
    assert batch.pull_files == []


def test_the_shape_issue_listing() -> None:
    row = {
        "issue_number": 5,
        "author_username": "ann",
        "repository_url": "https://api.github.com/repos/pytorch/vision",
        "title": "T",
        "body": None,
        "labels": ["a"],
        "created_at": "2020-02-01T00:00:00Z",
        "number_of_comments": 3,
        "reactions": {"total_count": 4},
    }
    [item] = one(row).items
    assert (item.repo, item.number, item.author, item.body) == ("pytorch/vision", 5, "ann", "")
    assert (item.comment_count, item.reaction_count, item.labels) == (3, 4, ("a",))


def test_the_shape_label_table() -> None:
    [item] = one(TABLE_ROW).items
    assert (item.number, item.title, item.state, item.labels) == (5, "T", "closed", ("a", "b"))
    assert item.created_at == "2024-01-01T00:00:00Z"


def test_a_rest_object_is_not_taken_for_a_dataset() -> None:
    rest = {
        "number": 5,
        "title": "T",
        "state": "open",
        "createdAt": "x",
        "labels": [],
        "updated_at": "2024-01-01T00:00:00Z",
    }
    assert shape_of(rest) is None
    assert shape_of({"number": 5}) is None


@pytest.mark.parametrize(
    ("value", "number"),
    [("5", 5), (" #5 ", 5), ("5.0", 5), (5.0, 5), ([5], 5), (["5"], 5)],
)
def test_numbers_of_datasets_come_in_many_forms(value: object, number: int) -> None:
    [shape] = [s for s in shapes() if s.id == "label_table"]
    assert to_rest(TABLE_ROW | {"number": value}, shape)["number"] == number
