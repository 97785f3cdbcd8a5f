"""Sources that are files: records of people and datasets, hours of GH Archive, the embedded catalog. Read by DuckDB."""

from __future__ import annotations

import codecs
import json
from collections import defaultdict
from typing import TYPE_CHECKING, Any, NamedTuple

import duckdb

from torch_embers import judgements, resources
from torch_embers.errors import InputError
from torch_embers.ground import raw
from torch_embers.ground.raw import Said, part_id
from torch_embers.mine.files import jsonl as datasets
from torch_embers.normalize import now_utc

if TYPE_CHECKING:
    from pathlib import Path

LARGEST = 1 << 30
"""Bytes of a document that is no list of lines."""
LINES = (".jsonl", ".ndjson")
_RECORDS = "CREATE OR REPLACE TEMP TABLE records AS SELECT row_number() OVER () AS place, NULL AS reason, {} FROM {}"
_DOCUMENTS = {
    ".json": _RECORDS.format(
        "json::VARCHAR AS line, json",
        f"read_json_objects($path, format = 'auto', maximum_object_size = {LARGEST})",
    ),
    ".csv": _RECORDS.format(
        "to_json(t)::VARCHAR AS line, to_json(t) AS json",
        "read_csv($path, header = true, all_varchar = true, nullstr = chr(1)) t",
    ),
}
SUFFIXES = (*LINES, *_DOCUMENTS)


class Read(NamedTuple):
    """What a file gave."""

    objects: int
    rejects: int
    items: int


def read_records(connection: duckdb.DuckDBPyConnection, repo: str, path: Path, fetched_at: str | None = None) -> Read:
    """Store the records of a file and derive their items, inside the caller's transaction.

    Raises:
        InputError: the file cannot be read to its end, is of no known form, or has not one record of a known shape.
    """
    suffix = (path.with_suffix("") if path.suffix == ".gz" else path).suffix.lower()
    if suffix not in SUFFIXES:
        raise InputError(f"{path}: not one of {', '.join(SUFFIXES)} (each also as .gz)")
    if suffix in LINES:
        _load_lines(connection, path, None)
    else:
        _load(connection, path, _DOCUMENTS[suffix], {"path": str(path)})
        _refuse_cut_array(path)
    return _store(connection, repo, path, "jsonl", fetched_at or now_utc())


def read_hour(connection: duckdb.DuckDBPyConnection, repo: str, path: Path, fetched_at: str | None = None) -> Read:
    """Store what an hour of GH Archive, of any year from 2011 on, says of a repository, and derive its items.

    Raises:
        InputError: the file cannot be read to its end.
    """
    _load_lines(connection, path, repo.lower())
    return _store(connection, repo, path, "archive", fetched_at or now_utc())


def _load_lines(connection: duckdb.DuckDBPyConnection, path: Path, repo: str | None) -> None:
    try:
        with path.open("rb") as file:
            wide = file.read(2) in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)  # as PowerShell writes
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}") from error
    given = {"path": str(path), "encoding": "utf-16" if wide else "utf-8", "repo": repo}
    for statement in connection.extract_statements(raw.text_of("read_lines.sql")):
        _load(connection, path, statement, given)


def _refuse_cut_array(path: Path) -> None:
    """DuckDB takes an array that is cut behind a comma for a whole one."""
    if path.suffix == ".gz":  # has a mark at its end
        return
    with path.open("rb") as file:
        begins = file.read(64).removeprefix(codecs.BOM_UTF8).lstrip()[:1]
        file.seek(max(0, path.stat().st_size - 64))
        ends = file.read().rstrip()[-1:]
    if begins == b"[" and ends != b"]":
        raise InputError(f"{path}: cannot be read to its end (the array has none)")


def _load(
    connection: duckdb.DuckDBPyConnection, path: Path, statement: str | duckdb.Statement, given: dict[str, Any]
) -> None:
    named = given if isinstance(statement, str) else {k: v for k, v in given.items() if k in statement.named_parameters}
    try:
        connection.execute(statement, named)
    except duckdb.Error as error:
        reason = str(error).split("\n", 1)[0].partition(" Original Line")[0]
        raise InputError(f"{path}: cannot be read to its end ({reason[:160]})") from error


def _store(connection: duckdb.DuckDBPyConnection, repo: str, path: Path, source: str, fetched_at: str) -> Read:
    """Bring the table ``records`` into ``raw``, ``rejects`` and the derived tables."""
    _mend(connection)
    _stage(connection, repo)
    [(first,)] = connection.execute("SELECT coalesce(max(sequence), 0) FROM raw").fetchall()
    given = {"source": source, "first": first, "fetched_at": fetched_at}
    connection.execute(raw.text_of("put_staged.sql"), given)
    converted, wrong = _converted(connection, first, fetched_at)
    origin = {"source": source, "origin": path.name, "fetched_at": fetched_at}
    connection.execute(raw.text_of("rejected.sql"), origin)
    if wrong:
        insert = "INSERT INTO rejected VALUES ($source, $origin, $line, $reason, $raw, $fetched_at)"
        connection.executemany(insert, [origin | one for one in wrong])
    [(objects,)] = connection.execute("SELECT count(*) FROM came").fetchall()
    rejected = connection.execute("SELECT reason FROM rejected ORDER BY line").fetchall()
    if source != "archive" and rejected and not objects and not converted:
        raise InputError(f"{path}: nothing that is known ({rejected[0][0]})")
    met = connection.execute("SELECT DISTINCT repo, split_part(id, '/', 1)::INTEGER FROM came").fetchall()
    connection.execute(raw.text_of("put.sql"))
    connection.execute("DROP TABLE came")
    raw.put(connection, converted)
    connection.execute("INSERT INTO rejects BY NAME FROM rejected")
    numbers: dict[str, set[int]] = defaultdict(set)
    for home, number in (*met, *((said.repo, int(said.id.partition("/")[0])) for said in converted)):
        numbers[home].add(number)
    for home, found in numbers.items():
        raw.derive(connection, home, sorted(found))
    return Read(objects + len(converted), len(rejected), sum(map(len, numbers.values())))


def _mend(connection: duckdb.DuckDBPyConnection) -> None:
    """Take also what strict JSON refuses but Python reads, as lone surrogates, and replace NUL."""
    rows = connection.execute(
        "SELECT place, line FROM records WHERE reason IS NULL AND (json IS NULL OR contains(line, '\\u0000'))"
    ).fetchall()
    mended = [(place, raw.storable(line)) for place, line in rows]
    if mended:
        connection.executemany(
            "UPDATE records SET json = try_cast($2 AS JSON) WHERE place = $1 AND json_valid($2)", mended
        )


def _stage(connection: duckdb.DuckDBPyConnection, repo: str) -> None:
    shapes = [(place, shape.id, sorted(shape.requires)) for place, shape in enumerate(datasets.shapes())]
    connection.execute("CREATE OR REPLACE TEMP TABLE shapes (place INTEGER, id VARCHAR, requires VARCHAR[])")
    connection.executemany("INSERT INTO shapes VALUES (?, ?, ?)", shapes)
    connection.execute(raw.text_of("macros.sql"))
    connection.execute(raw.text_of("stage.sql"), {"repo": repo})


def _converted(
    connection: duckdb.DuckDBPyConnection, first: int, fetched_at: str
) -> tuple[list[Said], list[dict[str, Any]]]:
    """Records of published datasets (data/record_shapes.toml) as objects of REST's form, and those without a number."""
    known = {f"dataset:{shape.id}": shape for shape in datasets.shapes()}
    rows = connection.execute(
        "SELECT place, nth, repo, shape, object FROM staged WHERE starts_with(shape, 'dataset:') ORDER BY nth"
    ).fetchall()
    found: list[Said] = []
    wrong: list[dict[str, Any]] = []
    for place, nth, repo, name, text in rows:
        record, shape = json.loads(text), known[name]
        item = datasets.to_rest(record, shape) | ({"kind": None} if shape.kind_unknown else {})
        number = item["number"]
        if type(number) is not int or not 0 < number < 1 << 31:
            wrong.append({"line": place, "reason": "no usable item number", "raw": text[:2000]})
            continue
        parts: list[tuple[str, int, str, dict[str, Any]]] = [("item", number, "", item)]
        for count, (author, moment, body) in enumerate(datasets.comment_texts(record, shape), start=1):
            comment = {"user": {"login": author}, "created_at": moment, "body": body}
            parts.append(("comment", number, f"{shape.id}:{number}:{count}", comment))
        parts += _fix(record, shape, repo, number)
        for kind, owner, part, said in parts:
            key = part_id(owner, part) if part else str(owner)
            found.append(Said(repo, kind, key, "jsonl", None, first + nth, fetched_at, json.dumps(said)))
    return found, wrong


def _fix(
    record: dict[str, Any], shape: datasets.Shape, repo: str, number: int
) -> list[tuple[str, int, str, dict[str, Any]]]:
    """The fixing pull request that a dataset names, with its files."""
    pull = datasets.to_rest(record, shape.model_copy(update={"fields": {"number": shape.pull_number or ""}}))["number"]
    if not shape.pull_number or type(pull) is not int or not 0 < pull < 1 << 31:
        return []
    link = {"relation": "fixes", "target_repo": repo, "target_number": number, "evidence": "dataset"}
    files = record.get(shape.pull_files or "")
    paths = [path for path in files if isinstance(path, str)] if isinstance(files, list) else []
    return [
        ("item", pull, "", {"number": pull, "pull_request": {}}),
        ("link", pull, f"fixes/{repo}#{number}", link),
        *(("file", pull, path, {"path": path}) for path in paths),
    ]


def read_catalog(connection: duckdb.DuckDBPyConnection, fetched_at: str | None = None) -> Read:
    """Store the embedded catalog and what readers say of its items, in the place of what an older release had of them.

    Raises:
        InputError: one of the two files is empty or has a wrong line.
    """
    fetched_at = fetched_at or now_utc()
    entries = resources.data_file("catalog.jsonl").read_text(encoding="utf-8").splitlines()
    rows = [row for row in judgements.read(resources.data_file(judgements.FILE).read_bytes()) if _of_item(row)]
    if not entries or not rows:
        raise InputError("data/catalog.jsonl or data/judgements.jsonl is empty: install torch-embers anew")
    said = [("item", str(json.loads(line)["number"]), line) for line in entries]
    said += [("file", part_id(*file), "{}") for line in entries for file in _fix_files(json.loads(line))]
    said += [("judgement", part_id(row.item, place), row.line()) for place, row in enumerate(rows)]
    objects = [Said(judgements.REPO, kind, key, "catalog", None, None, fetched_at, line) for kind, key, line in said]
    met = connection.execute(
        "SELECT DISTINCT split_part(id, '/', 1)::INTEGER FROM raw WHERE source = 'catalog'"
    ).fetchall()
    connection.execute("DELETE FROM raw WHERE source = 'catalog'")
    raw.put(connection, objects)
    numbers = {number for (number,) in met} | {int(one.id.partition("/")[0]) for one in objects}
    raw.derive(connection, judgements.REPO, sorted(numbers), (*raw.OF_TRACKER, *raw.OF_READERS))
    return Read(len(objects), 0, len(entries))


def _of_item(row: judgements.Judgement) -> bool:
    return row.subject.startswith("item:")


def _fix_files(entry: dict[str, Any]) -> list[tuple[int, str]]:
    """Files of the one fix; with several fixes nobody recorded which file belongs to which."""
    pulls = [entry["number"]] if entry["kind"] == "pull" else [n for n in entry["fix_prs"] if n != entry["number"]]
    return [(pulls[0], path) for path in entry["fix_files"]] if len(pulls) == 1 else []
