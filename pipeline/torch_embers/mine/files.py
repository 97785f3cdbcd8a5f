"""Sources that are files: records of people and datasets, hours of GH Archive, the embedded catalog. Read by DuckDB."""

from __future__ import annotations

import codecs
import gzip
import hashlib
import json
import mmap
import re
import zlib
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import duckdb

from torch_embers import judgements, resources
from torch_embers.errors import InputError
from torch_embers.mine import datasets, raw
from torch_embers.mine.git import commit_lines
from torch_embers.mine.git.commits import Rows, store
from torch_embers.mine.raw import Said, part_id
from torch_embers.normalize import now_utc

if TYPE_CHECKING:
    from collections.abc import Iterator

CATALOG = "catalog.jsonl"
ALWAYS_UNPACKED = 64 << 20
"""Bytes that any packed file may hold: a short one may well repeat itself."""
LARGEST_RATIO = 200
"""How often a larger one may hold its own size: texts of issues pack 3 to 8 times, gzip ends at 1,030."""
LARGEST = 1 << 30
"""Bytes of a document that is no list of lines."""
BATCH = 50_000
"""Rows that go from one database to the other at a time."""
_GZIP = b"\x1f\x8b"
_PART = re.compile(_GZIP + rb"\x08[\x00-\x1f].{4}[\x00\x02\x04][\x00-\x0d\xff]", re.DOTALL)
"""How a part of a packed file begins; strict enough that packed bytes hardly ever look so."""
_UTF_16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
"""As PowerShell writes."""
_BLANK = 1 << 16
"""Bytes in which an array has more than blanks before it."""
LINES = (".jsonl", ".ndjson")
_RECORDS = (
    "CREATE OR REPLACE TEMP TABLE records AS "
    "SELECT row_number() OVER () AS place, json::VARCHAR AS line, NULL AS reason, json, json_keys(json) AS has FROM "
)
_DOCUMENTS = {
    ".json": f"{_RECORDS} read_json_objects($path, format = 'auto', maximum_object_size = {LARGEST}, "
    "compression = $compression)",
    ".csv": f"{_RECORDS} (SELECT to_json(t) AS json FROM read_csv($path, header = true, all_varchar = true, "
    "nullstr = chr(1), encoding = $encoding, compression = $compression) t)",
}
SUFFIXES = (*LINES, *_DOCUMENTS)


class Read(NamedTuple):
    """What a file gave."""

    objects: int
    rejects: int
    items: int
    comments: int = 0
    events: int = 0
    commits: int = 0


class FileReading:
    """What stands in a file, read into a database in memory: the one that is mined may not open other files."""

    def __init__(self, source: str, origin: str) -> None:
        self.source = source
        self.origin = origin
        self.fetched_at = now_utc()
        self.connection = duckdb.connect()
        self.converted: list[Said] = []
        self.commits: dict[str, Rows] = defaultdict(lambda: Rows(self.fetched_at))
        """By repository."""

    def __enter__(self) -> Self:
        """Use as ``with records(...) as reading``."""
        return self

    def __exit__(self, *_exc: object) -> None:
        """Free the memory."""
        self.connection.close()

    @property
    def is_empty(self) -> bool:
        """Whether nothing in it is known."""
        return not (self.converted or self.commits or self.connection.execute("FROM came LIMIT 1").fetchall())

    @property
    def names_no_repository(self) -> bool:
        """Whether it has an item and names no repository for it."""
        return bool(
            self.connection.execute("FROM staged WHERE shape = 'item' AND names_no_repository LIMIT 1").fetchall()
        )

    def store(self, connection: duckdb.DuckDBPyConnection) -> Read:
        """Store the objects, derive their items, and set apart what is none; inside the caller's transaction."""
        connection.register("rejected_here", self.connection.sql("FROM rejected").to_arrow_table())
        [(last,)] = connection.execute("SELECT coalesce(max(sequence), 0) FROM raw").fetchall()
        came = self.connection.sql(
            "SELECT * REPLACE (sequence + $last AS sequence), $source AS source, $fetched_at AS fetched_at FROM came",
            params={"last": last, "source": self.source, "fetched_at": self.fetched_at},
        )
        connection.register("came", came.to_arrow_reader(BATCH))
        connection.execute(raw.text_of("put.sql"))
        counts = dict(connection.execute("SELECT kind, sum(times)::BIGINT FROM put GROUP BY kind").fetchall())
        met = connection.execute("SELECT DISTINCT repo, split_part(id, '/', 1)::INTEGER FROM put").fetchall()
        [(rejects,)] = connection.execute("INSERT INTO rejects BY NAME FROM rejected_here").fetchall()
        for name in ("came", "rejected_here"):
            connection.unregister(name)
        [(last,)] = connection.execute("SELECT coalesce(max(sequence), 0) FROM raw").fetchall()
        raw.put(connection, (said._replace(sequence=last + (said.sequence or 0)) for said in self.converted))
        numbers: dict[str, set[int]] = defaultdict(set)
        for home, number in (*met, *((said.repo, int(said.id.partition("/")[0])) for said in self.converted)):
            numbers[home].add(number)
        for home, found in numbers.items():
            raw.derive(connection, home, sorted(found))
        for said in self.converted:
            counts[said.kind] = counts.get(said.kind, 0) + 1
        commits = sum(store(connection, home, [rows], whole=False) for home, rows in self.commits.items())
        landed = set[tuple[str, str]]().union(*(rows.items() for rows in self.commits.values()))
        return Read(
            sum(counts.values()),
            rejects,
            sum(map(len, numbers.values())) + len(landed),
            counts.get("comment", 0),
            counts.get("event", 0) + counts.get("happening", 0),
            commits,
        )


def suffix_of(path: Path) -> str:
    """What a file holds by its name, packed or not.

    Raises:
        InputError: nothing that is known.
    """
    suffix = (path.with_suffix("") if path.suffix == ".gz" else path).suffix.lower()
    if suffix not in SUFFIXES:
        raise InputError(f"{path}: not one of {', '.join(SUFFIXES)} (each also as .gz)")
    return suffix


def records(repo: str, path: Path) -> FileReading:
    """Read a file of records.

    Raises:
        InputError: the file cannot be read to its end, is of no known form, or has not one record of a known shape.
    """
    suffix = suffix_of(path)
    reading = FileReading("jsonl", path.name)
    if suffix in LINES:
        _load_lines(reading.connection, path, None)
    else:
        _load_document(reading.connection, path, suffix)
    _stage(reading, repo)
    [(rejects, reason)] = reading.connection.execute("SELECT count(*), any_value(reason) FROM rejected").fetchall()
    if rejects and reading.is_empty:
        raise InputError(f"{path}: nothing that is known ({reason})")
    if not path.stat().st_size:
        raise InputError(f"{path}: the file is empty")
    return reading


def hour(repo: str, path: Path | str, since: str | None = None, until: str | None = None) -> FileReading:
    """Read what an hour of GH Archive, of any year from 2011 on, says of a repository.

    Args:
        repo: owner/name.
        path: the file, or its address.
        since: events at or after this time (ISO 8601, UTC) ...
        until: ... and before this one.

    Raises:
        InputError: the file cannot be read to its end.
    """
    name = path.name if isinstance(path, Path) else path.partition("?")[0].rpartition("/")[2]
    reading = FileReading("archive", name)
    _load_lines(reading.connection, path, repo.lower())
    _stage(reading, repo, since, until)
    return reading


def _load_lines(connection: duckdb.DuckDBPyConnection, path: Path | str, repo: str | None) -> None:
    begins = _beginning(path) if isinstance(path, Path) else b""
    if isinstance(path, Path) and repo and not begins:
        raise InputError(f"{path}: cannot be read to its end (the file is empty: an incomplete download?)")
    given = _form(begins) | {"path": _pattern(path) if isinstance(path, Path) else path, "repo": repo}
    for statement in connection.extract_statements(raw.text_of("read_lines.sql")):
        _load(connection, str(path), statement, given)


def _load_document(connection: duckdb.DuckDBPyConnection, path: Path, suffix: str) -> None:
    begins = _beginning(path)
    if suffix == ".json" and begins in _UTF_16:
        raise InputError(f"{path}: JSON in UTF-16: write it in UTF-8 (iconv -f UTF-16 -t UTF-8) and name that file")
    [statement] = connection.extract_statements(_DOCUMENTS[suffix])
    _load(connection, str(path), statement, _form(begins) | {"path": _pattern(path)})
    if suffix == ".json" and begins != _GZIP:  # that has a mark at its end
        _refuse_cut_array(path)


def _form(begins: bytes) -> dict[str, str]:
    """How a file is to be read that begins so, whatever its name says."""
    return {
        "encoding": "utf-16" if begins in _UTF_16 else "utf-8",
        "compression": "gzip" if begins == _GZIP else "none" if begins else "auto",
    }


def _beginning(path: Path) -> bytes:
    """The first two bytes.

    Raises:
        InputError: the file cannot be opened, or is packed and holds far more than its size: of a line of hundreds of
            megabytes DuckDB says nothing.
    """
    try:
        with path.open("rb") as file:
            begins, most = file.read(2), max(ALWAYS_UNPACKED, LARGEST_RATIO * path.stat().st_size)
        is_larger = begins == _GZIP and _unpacks_to_more(path, most)
    except (gzip.BadGzipFile, EOFError, zlib.error):
        is_larger = True
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}") from error
    if is_larger:
        raise InputError(f"{path}: cannot be read to its end, or unpacks to more than {LARGEST_RATIO} times its size")
    return begins


def _unpacks_to_more(path: Path, most: int) -> bool:
    """Whether a packed file holds more bytes: its end says so where it has one part; several are unpacked to count."""
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as packed:
        stated = int.from_bytes(packed[-4:], "little")
        if stated and not _PART.search(packed, 1):
            return stated > most
    with gzip.open(path) as unpacked:
        left = most
        while left >= 0 and (piece := unpacked.read(1 << 20)):
            left -= len(piece)
    return left < 0


def _pattern(path: Path) -> str:
    """The path as DuckDB takes it, for which some signs have a meaning."""
    return re.sub(r"([*?\[])", r"[\1]", str(path))


def _refuse_cut_array(path: Path) -> None:
    """DuckDB takes an array that is cut behind a comma for a whole one."""
    with path.open("rb") as file:
        begins, ends = file.read(_BLANK).removeprefix(codecs.BOM_UTF8).lstrip()[:1], b""
        place = path.stat().st_size
        while place > 0 and not ends:
            place -= _BLANK
            file.seek(max(0, place))
            ends = file.read(min(_BLANK, _BLANK + place)).rstrip()[-1:]
    if begins == b"[" and ends != b"]":
        raise InputError(f"{path}: cannot be read to its end (the array has none)")


def _load(connection: duckdb.DuckDBPyConnection, name: str, statement: duckdb.Statement, given: dict[str, Any]) -> None:
    try:
        connection.execute(statement, {k: v for k, v in given.items() if k in statement.named_parameters})
    except duckdb.Error as error:
        reason = str(error).split("\n", 1)[0].partition(" Original Line")[0]
        raise InputError(f"{name}: cannot be read to its end ({reason[:160]})") from error


def _stage(reading: FileReading, repo: str, since: str | None = None, until: str | None = None) -> None:
    """Bring the table ``records`` into ``came`` and ``rejected``."""
    connection = reading.connection
    _mend(connection)
    shapes = [(place, shape.id, sorted(shape.requires)) for place, shape in enumerate(datasets.shapes())]
    connection.execute("CREATE TEMP TABLE shapes (place INTEGER, id VARCHAR, requires VARCHAR[])")
    connection.executemany("INSERT INTO shapes VALUES (?, ?, ?)", shapes)
    connection.execute(raw.text_of("macros.sql"))
    connection.execute(raw.text_of("stage.sql"), {"repo": repo})
    if since or until:  # an event without a time is in every window
        connection.execute(
            "DELETE FROM staged WHERE moment(json_extract_string(object, '$.created_at')) < $since::TIMESTAMP "
            "OR moment(json_extract_string(object, '$.created_at')) >= $until::TIMESTAMP",
            {"since": since, "until": until},
        )
    connection.execute(raw.text_of("put_staged.sql"))
    wrong = [*_convert(reading), *_read_commits(reading)]
    origin = {"source": reading.source, "origin": reading.origin, "fetched_at": reading.fetched_at}
    connection.execute(raw.text_of("rejected.sql"), origin)
    if wrong:
        insert = "INSERT INTO rejected VALUES ($source, $origin, $line, $reason, $raw, $fetched_at)"
        connection.executemany(insert, [origin | one for one in wrong])


def _mend(connection: duckdb.DuckDBPyConnection) -> None:
    """Take also what strict JSON refuses but Python reads, as lone surrogates, and replace NUL."""
    rows = connection.execute(
        "SELECT place, line FROM records WHERE reason IS NULL AND (json IS NULL OR contains(line, '\\u0000'))"
    ).fetchall()
    mended = [(place, raw.storable(line)) for place, line in rows]
    if mended:
        connection.executemany(
            "UPDATE records SET json = $2, has = json_keys($2) WHERE place = $1 AND json_valid($2)", mended
        )


def _convert(reading: FileReading) -> list[dict[str, Any]]:
    """Turn records of published datasets into objects of REST's form; returns those without a number."""
    known = {f"dataset:{shape.id}": shape for shape in datasets.shapes()}
    rows = reading.connection.execute(
        "SELECT place, nth, repo, shape, object FROM staged WHERE starts_with(shape, 'dataset:') ORDER BY nth"
    ).fetchall()
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
            reading.converted.append(
                Said(repo, kind, key, reading.source, None, nth, reading.fetched_at, json.dumps(said))
            )
    return wrong


def _read_commits(reading: FileReading) -> Iterator[dict[str, Any]]:
    """Read the commits of a file; yields those that are none."""
    query = "SELECT place, repo, object FROM staged WHERE shape = 'commit' ORDER BY nth"
    for place, repo, text in reading.connection.execute(query).fetchall():
        try:
            reading.commits[repo].add(commit_lines.read(json.loads(text), repo))
        except ValueError as error:
            yield {"line": place, "reason": str(error), "raw": text[:2000]}


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
    texts = {name: resources.data_file(name).read_bytes() for name in (CATALOG, judgements.FILE)}
    for name, text in texts.items():
        if not text.strip():  # and what was read before would go
            raise InputError(f"data/{name} is empty: install torch-embers anew, or take the file from the repository")
    entries = [line for line in texts[CATALOG].decode().splitlines() if line.strip()]
    rows = [row for row in judgements.read(texts[judgements.FILE]) if _of_item(row)]
    said = [("item", str(json.loads(line)["number"]), line) for line in entries]
    said += [("file", part_id(*file), "{}") for line in entries for file in _fix_files(json.loads(line))]
    said += [("judgement", part_id(row.item, place), row.line()) for place, row in enumerate(rows)]
    objects = [Said(judgements.REPO, kind, key, "catalog", None, None, fetched_at, line) for kind, key, line in said]
    held = connection.execute("SELECT id, hash FROM raw WHERE source = 'catalog'").fetchall()
    if set(held) == {(one.id, _hash(one.json_text)) for one in objects}:
        return Read(0, 0, 0)
    connection.execute("DELETE FROM raw WHERE source = 'catalog'")
    raw.put(connection, objects)
    numbers = {int(key.partition("/")[0]) for key in (*(key for key, _ in held), *(one.id for one in objects))}
    raw.derive(connection, judgements.REPO, sorted(numbers), (*raw.OF_TRACKER, *raw.OF_READERS))
    return Read(len(objects), 0, len(entries))


def _hash(text: str) -> str:
    """As ``raw`` has it."""
    return hashlib.md5(text.encode(), usedforsecurity=False).hexdigest()


def _of_item(row: judgements.Judgement) -> bool:
    return row.subject.startswith("item:")


def _fix_files(entry: dict[str, Any]) -> list[tuple[int, str]]:
    """Files of the one fix; with several fixes nobody recorded which file belongs to which."""
    pulls = [entry["number"]] if entry["kind"] == "pull" else [n for n in entry["fix_prs"] if n != entry["number"]]
    return [(pulls[0], path) for path in entry["fix_files"]] if len(pulls) == 1 else []
