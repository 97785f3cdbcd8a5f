"""Files of records: every record becomes an item or a reject with its line, however broken the file is."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from torch_embers.mine.files.jsonl import JsonlSource, shapes

from support import assert_clean_error, rows, run_embers
from torch_embers.errors import InputError
from torch_embers.mine import runner
from torch_embers.mine.files import jsonl
from torch_embers.store.store import Store
from unit.test_jsonl import (
    REPO,
    anything,
    assert_storable,
    gathered,
    mine,
    numbers,
    one,
    read,
    record,
    small_limits,  # noqa: F401 - fixtures
    write,
)

if TYPE_CHECKING:
    from pathlib import Path


@given(st.sampled_from(shapes()), st.data())
def test_any_values_in_the_fields_of_a_dataset_are_an_item_or_a_reject(shape: jsonl.Shape, data: st.DataObject) -> None:
    value = {name: data.draw(anything) for name in shape.requires}
    names = [*shape.fields.values(), *(n for n in (shape.comments, shape.pull_number, shape.pull_files) if n)]
    value |= data.draw(st.dictionaries(st.sampled_from(names), anything))
    number_field = shape.fields["number"]
    value[number_field] = data.draw(st.one_of(st.just(5), anything))
    batch = read(json.dumps(value).encode())
    assert batch.items or len(batch.rejects) == 1
    assert_storable(batch)


def versions(*told: tuple[int, str, str, str]) -> bytes:
    lines = []
    for number, title, state, updated_at in told:
        closed = {"closed_at": updated_at} if state == "closed" else {}
        record = {"number": number, "title": title, "body": f"of {title}", "state": state, "updated_at": updated_at}
        lines.append(json.dumps(record | closed) + "\n")
    return "".join(lines).encode()


EARLY, LATE = "2021-02-01T00:00:00Z", "2021-03-01T00:00:00Z"
NEWEST = [(1, "late", "closed", "of late"), (2, "late", "open", "of late")]


def stored_items(database: Path) -> list[tuple[Any, ...]]:
    return rows(database, "SELECT number, title, state, body FROM items ORDER BY number")


@pytest.mark.parametrize("page_records", [1, 3, jsonl.PAGE_RECORDS])
def test_of_an_item_that_stands_several_times_in_a_file_the_newest_version_stays(
    database: Path, tmp_path: Path, page_records: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jsonl, "PAGE_RECORDS", page_records)
    told = [(1, "late", "closed", LATE), (2, "early", "closed", EARLY), (1, "early", "open", EARLY)]
    path = tmp_path / "twice.jsonl"
    path.write_bytes(
        versions(*told, (2, "late", "open", LATE), (3, "first", "open", EARLY), (3, "last", "open", EARLY))
    )
    report = runner.mine(Store(database), JsonlSource(REPO, [path]))
    assert report.items == 3
    assert stored_items(database) == [*NEWEST, (3, "last", "open", "of last")]
    assert rows(database, "SELECT count(*) FROM rejects") == [(0,)]
    runner.replay(Store(database))
    assert stored_items(database) == [*NEWEST, (3, "last", "open", "of last")]


@pytest.mark.parametrize("broken", ["cut.jsonl.gz", "cut.json", "no.csv.gz", "gone.jsonl"])
def test_a_broken_file_is_named_at_the_end_and_the_others_are_read(tmp_path: Path, broken: str) -> None:
    first, last = tmp_path / broken, write(tmp_path / "good.jsonl", record(2))
    first.write_bytes(b'[{"number": 1}' if broken.endswith(".json") else gzip.compress(record(1) * 50)[:-20])
    if broken == "gone.jsonl":
        source = JsonlSource(REPO, [first, last])
        first.unlink()
    else:
        source = JsonlSource(REPO, [first, last])
    store = Store(tmp_path / "e.duckdb")
    with pytest.raises(InputError, match=f"{broken}: cannot be read to its end"):
        runner.mine(store, source)
    with store.read() as connection:
        assert (2,) in connection.execute("SELECT number FROM items").fetchall()


def test_a_cut_gz_that_was_replaced_is_read_whole(database: Path, tmp_path: Path) -> None:
    path = write(tmp_path / "f.jsonl.gz", *(record(n, body=os.urandom(200).hex()) for n in range(1, 101)))
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(InputError, match="what came before is kept"):
        runner.mine(Store(database), JsonlSource(REPO, [path]))
    [(kept,)] = rows(database, "SELECT count(*) FROM items")
    assert 40 <= kept <= 60
    path.write_bytes(whole)
    runner.mine(Store(database), JsonlSource(REPO, [path]))
    assert rows(database, "SELECT count(*) FROM items") == [(100,)]


def test_a_broken_file_before_a_good_one_is_an_error_line_and_exit_code_three(tmp_path: Path) -> None:
    broken, good = tmp_path / "broken.gz.jsonl.gz", write(tmp_path / "good.jsonl", record(2, body="Fixes #1"))
    broken.write_bytes(b"this is no gzip")
    done = run_embers("mine", "--source", "jsonl", broken, good, "--database", tmp_path / "e.duckdb")
    assert_clean_error(done, 3, broken.name, "the other files were read")
    assert rows(tmp_path / "e.duckdb", "SELECT number, (SELECT count(*) FROM links) FROM items") == [(2, 1)]


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux allows any bytes in a file name")
def test_a_file_name_that_is_no_text_can_be_mined(tmp_path: Path) -> None:
    path = write(tmp_path / os.fsdecode(b"caf\xe9.jsonl"), record(1), b"{")
    batch, _ = mine([path])
    assert numbers(batch) == [1]
    assert_storable(batch)
    database = Store(tmp_path / "e.duckdb")
    assert runner.mine(database, JsonlSource(REPO, [path])).items == 1


@pytest.mark.usefixtures("small_limits")
@pytest.mark.parametrize(
    ("name", "first", "more"),
    [
        ("f.jsonl.gz", record(1), b"\n"),
        ("f.csv.gz", b"id,text", b"\n1,x"),
        ("f.json.gz", b"[" + record(1) + b",", b" "),
    ],
)
def test_a_packed_file_that_holds_far_more_than_its_size_is_refused(
    tmp_path: Path, name: str, first: bytes, more: bytes
) -> None:
    (tmp_path / name).write_bytes(gzip.compress(first + more * 200_000))
    batch, said = gathered(tmp_path / name)
    assert batch.items or batch.rejects, "what came before"
    assert "over 200 times its size" in said


@pytest.mark.parametrize("content", [b"[", b" "], ids=["brackets", "blanks"])
def test_one_endless_line_of_a_bomb_takes_bounded_memory(tmp_path: Path, content: bytes) -> None:
    bomb = tmp_path / "bomb.jsonl.gz"
    with gzip.open(bomb, "wb", compresslevel=9) as stream:
        for _ in range(300):
            stream.write(content * 2**20)
    assert bomb.stat().st_size < 400_000
    code = (
        "import re, sys; from pathlib import Path; from torch_embers.cli.entry import main\n"
        "try:\n    main(sys.argv[1:])\n"
        # ru_maxrss would count what the process that started this one held
        "finally:\n    print(int(re.search(r'VmHWM:\\s+(\\d+)', Path('/proc/self/status').read_text())[1]) // 1024)"
    )
    command = [sys.executable, "-c", code, "mine", "--source", "jsonl", bomb, "--database", tmp_path / "e.duckdb"]
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=100, check=False)
    assert done.returncode == 3, done.stderr
    assert "over 200 times its size" in done.stderr
    assert int(done.stdout.split()[-1]) < 450, "megabytes at most"


def test_labels_without_end_are_split_in_time() -> None:
    row = {"Number": 5, "Title": "", "Body": "", "Codes": "", "class": 0, "Labels": "high priority x " * 30_000}
    [item] = one(row).items
    assert item.labels == ("high priority", "x")
