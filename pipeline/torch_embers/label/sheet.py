"""Labels by hand: a CSV file of the items that are most useful to label goes out, and comes back filled in.

A sheet that comes back is taken whole or not at all: all that is wrong with it is said at once.
"""

from __future__ import annotations

import csv
import io
import re
from dataclasses import dataclass
from itertools import compress
from typing import TYPE_CHECKING, Any, NamedTuple

from torch_embers import resources
from torch_embers.console import plain, print_next, stdout
from torch_embers.errors import InputError
from torch_embers.escaping import csv_cell, unguarded
from torch_embers.normalize import clean_text, now_utc
from torch_embers.statistics.splits import near_duplicates
from torch_embers.store import rows
from torch_embers.taxonomy import Taxonomy

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from torch_embers.store.store import Store
    from torch_embers.taxonomy import Scheme

NUMBER, ADDRESS, TITLE, CLASSIFIER, NOTE = "number", "address", "title", "classifier", "note"
"""Columns beside those of the schemes. The address alone says which item a row is of."""
UNDECIDED = "?"
"""What a cell says where the report does not decide it."""
HUMAN, SOURCE = "human", "label"
"""``annotator_kind`` and ``source`` of these labels in ``gold_labels``."""
NAME_CHARS = 60
POOL = 2_000
"""Items that are compared with what is labelled, beside the wanted ones."""

_ADDRESS = re.compile(r"https://github\.com/([\w.-]+/[\w.-]+)/(?:issues|pull)/([0-9]{1,9})")
_LABELLED = "SELECT i.title FROM items i SEMI JOIN gold_labels g ON g.repo = i.repo AND g.number = i.number"
_KNOWN = """
    SELECT repo, number FROM items SEMI JOIN (SELECT unnest($repos) AS repo, unnest($numbers) AS number)
    USING (repo, number)"""
_FOREIGN = "FROM gold_labels WHERE annotator = ? AND annotator_kind <> ? LIMIT 1"
_OF = "repo = $repo AND number = $number AND annotator = $annotator AND annotator_kind = $kind"
_BEFORE = f"SELECT scheme, value FROM gold_labels WHERE {_OF} ORDER BY list_position($schemes, scheme)"
_REMOVE = f"DELETE FROM gold_labels WHERE {_OF} AND NOT list_contains($stays, scheme)"

Item = tuple[str, int]
Label = tuple[str, str]
"""Scheme and class."""
NO_ITEM: Item = ("", 0)
"""Of a row whose address leads nowhere."""


class Row(NamedTuple):
    """One item of a sheet as somebody filled it in."""

    line: int
    item: Item
    labels: tuple[Label, ...]
    note: str


@dataclass(frozen=True, slots=True)
class Sheet:
    """A sheet in which nothing is wrong."""

    schemes: tuple[str, ...]
    rows: tuple[Row, ...]
    unfilled: int
    """Items without any answer."""
    ignored: tuple[str, ...]
    """Names of columns that mean nothing here."""


def asked(taxonomy: Taxonomy, names: Sequence[str]) -> tuple[str, ...]:
    """The named schemes and those that they stand under, parents first; all where none is named.

    Raises:
        TaxonomyError: there is no scheme of that name.
    """
    wanted = {taxonomy.scheme(name).name for name in names or taxonomy.schemes}
    for scheme in reversed(taxonomy.schemes.values()):
        if scheme.name in wanted and scheme.parent is not None:
            wanted.add(scheme.parent[0])
    return tuple(name for name in taxonomy.schemes if name in wanted)


# ---- out -----------------------------------------------------------------------------------------------------------


def export(
    store: Store, path: Path, names: Sequence[str], annotator: str | None, limit: int, *, blind: bool = False
) -> None:
    """Write a new sheet of the items that are most useful to label, the most useful first, and say how to fill it in.

    Left out are items that the annotator labelled in these schemes, and near-duplicates of labelled items and of each
    other: what they would teach is known. No file is written without any item.

    Args:
        store: the database.
        path: a file that does not exist yet.
        names: schemes to ask; none: all.
        annotator: who will label; ``None`` leaves out what any person labelled.
        limit: the most items.
        blind: leave out what the classifier says, for labels that measure it.

    Raises:
        InputError: an unknown scheme, or the file cannot be written.
        StoreError: the database cannot be read.
    """
    out, taxonomy = stdout(), Taxonomy.load()
    schemes = asked(taxonomy, names)
    query = resources.package_file("label", "useful.sql").read_text(encoding="utf-8")
    wanted = {"schemes": schemes, "done": names or schemes, "annotator": annotator, "pool": POOL + 2 * limit}
    with store.read() as connection:
        pool = connection.execute(query, wanted).fetchall()
        labelled = [title for (title,) in connection.execute(_LABELLED).fetchall()]
    chosen = list(_unlike(pool, labelled))[:limit]
    if not chosen:
        out.print("nothing is left to label here, no sheet was written: `embers mine` brings more items")
        return
    header = (NUMBER, ADDRESS, TITLE, *(() if blind else (CLASSIFIER,)), *schemes, NOTE)
    empty = [""] * (len(schemes) + 1)
    try:
        with path.open("x", newline="", encoding="utf-8-sig") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(header)
            for repo, number, title, answer in chosen:
                said = () if blind else (answer,)
                writer.writerow(
                    map(
                        csv_cell,
                        (number, f"https://github.com/{repo}/issues/{number}", " ".join(title.split()), *said, *empty),
                    )
                )
    except FileExistsError:
        raise InputError(f"{path} is there already and may hold answers: name another file") from None
    except OSError as error:
        raise InputError(f"{path} cannot be written: {error.strerror}") from error
    out.print(f"{len(chosen):,} items in {plain(path)}, the most useful to label first. Each answer is one of:")
    for name in schemes:
        out.print(f"  {name}: {', '.join(taxonomy.scheme(name).names())}")
    print_next(
        f"fill in rows (a memory type only under memory, {UNDECIDED} where the report does not tell), then "
        f"`embers data label import {path} --annotator NAME`"
    )


def _unlike(
    pool: Sequence[tuple[str, int, str, str, bool]], labelled: Sequence[str]
) -> Iterator[tuple[str, int, str, str]]:
    """One item of each group of near-duplicate titles, in the order of the pool; none that is like a labelled one."""
    groups = near_duplicates([*(title for _, _, title, _, _ in pool), *labelled]).tolist() if pool else []
    known, used = set(groups[len(pool) :]), set[int]()
    for (repo, number, title, answer, is_labelled), group in zip(pool, groups, strict=False):
        if group not in used and (is_labelled or group not in known):
            used.add(group)
            yield repo, number, title, answer


# ---- in ------------------------------------------------------------------------------------------------------------


def take(store: Store, path: Path, annotator: str) -> None:
    """Take a filled sheet, and say what was written.

    Raises:
        InputError: the name is no person's, the file cannot be read, or anything in it is wrong.
        StoreError: the database cannot be read or written.
    """
    out = stdout()
    annotator = valid_annotator(store, annotator)
    filled = read(store, path)
    if filled.ignored:
        out.print(f"columns that are not read: {plain(', '.join(filled.ignored))}")
    if not filled.rows:
        out.print(f"nothing is filled in in {plain(path)}: nothing was written")
        return
    labels, items = keep(store, filled, annotator), len(filled.rows)
    out.print(
        f"{labels:,} labels of {items:,} items by {plain(annotator)}; rows without an answer: {filled.unfilled:,}"
    )
    print_next("`embers classify --train` learns from them, `embers research evaluate` says how far annotators agree")


def read(store: Store, path: Path) -> Sheet:
    """Read what somebody filled in: a sheet as ``write`` makes it, whatever the order of its rows and columns.

    Commas, semicolons or tabs may part cells: spreadsheets write what is usual in their language.

    Raises:
        InputError: the file cannot be read, or anything in it is wrong; the message has a line for each mistake.
        StoreError: the database cannot be read.
    """
    taxonomy = Taxonomy.load()
    lines = _lines(path)
    if not lines:
        raise InputError(f"{path} is empty: `embers data label export FILE.csv` writes a sheet to fill in")
    header = [name.strip().lower() for name in lines[0][1]]
    schemes = tuple(name for name in taxonomy.schemes if name in header)
    answered = [name in (*schemes, NOTE) for name in header]
    filled = [(line, cells) for line, cells in lines[1:] if any(map(str.strip, compress(cells, answered)))]
    problems = [(lines[0][0], problem) for problem in _header_problems(header, schemes, taxonomy)]
    found: list[Row] = []
    for line, cells in () if problems else filled:
        row, wrong = _row(line, header, cells, schemes, taxonomy)
        problems += [(line, problem) for problem in wrong]
        found.append(row)
    problems += _item_problems(store, [row for row in found if row.item != NO_ITEM])
    if problems:
        said = "".join(f"\n  line {line}: {problem}" for line, problem in sorted(problems))
        raise InputError(f"{path}: nothing was written, {len(problems)} to mend:{said}")
    known = (NUMBER, ADDRESS, TITLE, CLASSIFIER, NOTE, *schemes)
    ignored = tuple(name for name in header if name and name not in known)
    return Sheet(schemes, tuple(found), len(lines) - 1 - len(filled), ignored)


def _lines(path: Path) -> list[tuple[int, list[str]]]:
    """The rows of a CSV file that are not blank, each with the line where it begins."""
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError:
        raise InputError(f"{path} is not in UTF-8: save it as `CSV UTF-8`") from None
    header = text.partition("\n")[0]
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=max(",;\t", key=header.count), strict=True)
    found, begins = [], 1
    try:
        for cells in reader:
            if any(map(str.strip, cells)):
                found.append((begins, cells))
            begins = reader.line_num + 1
    except csv.Error as error:
        raise InputError(f"{path}, from line {begins} on, is no CSV: {error}") from error
    return found


def _header_problems(header: Sequence[str], schemes: Sequence[str], taxonomy: Taxonomy) -> Iterator[str]:
    for name in dict.fromkeys(header):
        if name and header.count(name) > 1:
            yield f"column {name} stands twice: remove one"
    if ADDRESS not in header:
        yield f"column {ADDRESS} is missing, which says what item a row is of"
    if not schemes:
        yield f"no column has answers: name one {', '.join(taxonomy.schemes)}"
    for name in schemes:
        parent = taxonomy.scheme(name).parent
        if parent is not None and parent[0] not in schemes:
            yield f"column {parent[0]} is missing, under which {name} stands"


def _row(
    line: int, header: Sequence[str], cells: Sequence[str], schemes: Sequence[str], taxonomy: Taxonomy
) -> tuple[Row, list[str]]:
    """A filled row, and what is wrong with it."""
    said = {name: cell.strip() for name, cell in zip(header, cells, strict=False)}
    labels, problems = _answers(said, schemes, taxonomy)
    if len(cells) > len(header):
        problems.append(f"{len(cells)} cells under {len(header)} columns: put a text with a separator in quotes")
    place = _ADDRESS.fullmatch(said.get(ADDRESS, ""))
    item = (place[1], int(place[2])) if place else NO_ITEM
    if place is None:
        problems.append(f"address {said.get(ADDRESS, '')!r}: write https://github.com/OWNER/NAME/issues/NUMBER")
    elif said.get(NUMBER, place[2]) != place[2]:
        problems.append(f"number {said[NUMBER]} beside the address of {place[2]}: sort whole rows, or export again")
    return Row(line, item, labels, clean_text(unguarded(said.get(NOTE, "")))), problems


def _answers(
    said: Mapping[str, str], schemes: Sequence[str], taxonomy: Taxonomy
) -> tuple[tuple[Label, ...], list[str]]:
    """The labels of a row, and what is wrong with its answers."""
    labels: list[Label] = []
    problems: list[str] = []
    unclear: set[str] = set()
    for scheme in map(taxonomy.scheme, schemes):
        name, cell, given = scheme.name, said.get(scheme.name, ""), dict(labels)
        if cell == UNDECIDED:
            continue
        parent = scheme.parent[0] if scheme.parent else ""
        offered = ", ".join(entry.name for entry in scheme.under(given.get(parent))) or ", ".join(scheme.names())
        values = _values(cell, scheme)
        own = [(name, value) for value in values]
        applies, problem = taxonomy.applies(name, given), ""
        if unknown := [value for value in values if value not in scheme.names()]:
            problem = f"{name} {unknown[0]!r} is no class: write one of {offered}"
        elif values and parent not in unclear:
            problem = "; ".join(taxonomy.problems([*labels, *own]))
        elif applies:
            problem = f"{name} is empty: write one of {offered}, or {UNDECIDED} where the report does not tell"
        if problem:
            problems.append(problem)
        if parent in unclear or (problem and applies):
            unclear.add(name)  # what belongs under it is known once it is right
        elif not problem:
            labels += own
    return tuple(labels), problems


def _values(cell: str, scheme: Scheme) -> list[str]:
    """The classes that a cell names, however they are parted and written."""
    if not scheme.exclusive:
        return list(dict.fromkeys(filter(None, re.split(r"[\s,;]+", cell.lower()))))
    return [re.sub(r"[\s-]+", "_", cell.lower())] if cell else []


def _item_problems(store: Store, found: Sequence[Row]) -> list[tuple[int, str]]:
    """Rows of items that the database lacks, or that an earlier row is of."""
    asked_for = {"repos": [row.item[0] for row in found], "numbers": [row.item[1] for row in found]}
    with store.read() as connection:
        known = set(connection.execute(_KNOWN, asked_for).fetchall())
    lines: dict[Item, int] = {}
    problems = []
    for row in found:
        name = f"{row.item[0]}#{row.item[1]}"
        if row.item not in known:
            problems.append((row.line, f"{name} is not in this database: `embers mine` it first, or remove the row"))
        elif (first := lines.setdefault(row.item, row.line)) != row.line:
            problems.append((row.line, f"{name} was answered in line {first} already: remove one of the rows"))
    return problems


def valid_annotator(store: Store, name: str) -> str:
    """A person's name, tidied.

    Raises:
        InputError: it is empty, too long, has control characters, or is the name of an annotator that is no person.
    """
    tidy = " ".join(name.split())
    if not tidy or len(tidy) > NAME_CHARS or not tidy.isprintable():
        raise InputError(f"--annotator: a name has 1 to {NAME_CHARS} printable characters")
    with store.read() as connection:
        if connection.execute(_FOREIGN, [tidy, HUMAN]).fetchall():
            raise InputError(f"--annotator: {tidy!r} is an annotator that is no person: choose another name")
    return tidy


def keep(store: Store, sheet: Sheet, annotator: str) -> int:
    """Write the labels of a sheet in place of what its annotator said before in its schemes; return how many.

    Earlier labels that no longer apply (a memory type where the bug type is not memory any more) go, too.
    """
    taxonomy, moment = Taxonomy.load(), now_utc()
    stamp = {"annotator_kind": HUMAN, "annotator": annotator, "source": SOURCE}
    stamp |= {"labelled_at": moment, "fetched_at": moment}
    made: list[dict[str, Any]] = []
    with store.writer("embers data label import") as writer, writer.transaction() as connection:
        for row in sheet.rows:
            item = dict(zip(("repo", "number"), row.item, strict=True))
            own = item | {"annotator": annotator, "kind": HUMAN}
            stays = list(row.labels)
            for label in connection.execute(_BEFORE, own | {"schemes": list(taxonomy.schemes)}).fetchall():
                if label[0] not in sheet.schemes and not taxonomy.problems([*stays, label]):
                    stays.append(label)
            connection.execute(_REMOVE, own | {"stays": [scheme for scheme, _ in stays[len(row.labels) :]]})
            said = item | stamp | {"evidence": row.note or None}
            made += [said | {"scheme": scheme, "value": value} for scheme, value in row.labels]
        rows.append(connection, "gold_labels", made)
    return len(made)
