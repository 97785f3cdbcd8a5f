"""Readings by people and programs: who answered which question about what (``data/judgements.jsonl``, a row a reading).

``data/judgements.toml`` has the questions with their answers. Rows are counted by SQL: ``ask`` knows the table
``judgements`` and the views of ``judgements.sql``. What `embers data judge` is told stands in rows of the same form in
``judged.jsonl`` beside the database, which outlives it; a line can be moved from there into the file of the project.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from datetime import date
from functools import cache
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

import duckdb
from pydantic import AfterValidator, BeforeValidator, Field, StrictBool, StrictInt, ValidationError, model_validator

from torch_embers import resources, toml_models
from torch_embers.errors import InputError
from torch_embers.taxonomy import Taxonomy

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

FILE = "judgements.jsonl"
OWN_FILE = "judged.jsonl"
"""Beside the database: an installation has no file of the project to write to."""
QUESTIONS = "judgements.toml"
BODY_LABELS = "body_labels.csv"
"""Readings of issues by title and body, a row an answer: written as judgements they would be four times the file."""
REPO = "pytorch/pytorch"
"""Repository of every item of the file."""
FIRST_DAY = date(2016, 1, 1)
"""Before every tracker that is read: PyTorch's first commit is of 2016. An earlier day is a mistake."""
NOT_REPRODUCED = "not_reproduced"
"""Kind of evidence that an issue was closed because somebody could not reproduce it: why it was gone stays unknown."""
OF_TRACKER = ("state_reason", "event")
"""Kinds of evidence that are seen without the thread."""
OF_CODE = ("closing_pr", "commit")
"""Kinds of evidence that are seen without the thread where they are named and dated."""

FixTestQuestion = Literal["shows_bug", "shows_bug_again"]
FixTestAnswer = Literal["right", "wrong", "unclear"]

_DAY = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)
_REFERENCE = re.compile(r"(?:[\w.-]+/[\w.-]+)?#[1-9][0-9]*|[0-9a-f]{7,40}|https://\S+")
_UNFIT = re.compile(r"[\x00-\x20\x7f-\x9f|<>\"'`\u2028\u2029\u202a-\u202e\u2066-\u2069]")
"""What no reference has, and what a page or a terminal could take for more than text."""
_THREADS = {"whole": "with the whole thread", "partly": "with a part of the thread", "no": "without the thread"}
_COLUMNS = """{"subject": "VARCHAR", "question": "VARCHAR", "item": "BIGINT", "answer": "VARCHAR", "reader": "VARCHAR",
    "blind": "BOOLEAN", "day": "VARCHAR", "reason": "VARCHAR", "facts": "JSON"}"""
_TABLE = f"""
CREATE TEMP TABLE judgements AS
FROM read_json($path, format = 'newline_delimited', columns = {_COLUMNS})
UNION ALL SELECT unnest(from_json($rows, '[{_COLUMNS}]'), recursive := true)
"""


def _day(value: object) -> object:
    """A day of the calendar; the form alone admits the 45th."""
    if isinstance(value, str):
        if _DAY.fullmatch(value) is None:
            raise ValueError(f"{value!r} is no day of the form 2024-01-31")
        if date.fromisoformat(value) < FIRST_DAY:
            raise ValueError(f"{value} is before {FIRST_DAY}, when no tracker was there to read")
    return value


def _one_line(value: object) -> object:
    """Words that stand in a cell of a table: more lines or a bar would break it."""
    if isinstance(value, str):
        if not value.strip() or value != value.strip():
            raise ValueError("blank, or with a blank at an end")
        if "|" in value or not value.isprintable():
            raise ValueError("a line feed, another control character or a bar: it stands in tables")
    return value


def _reader(value: str) -> str:
    if re.match(r"(automated|human):\S", value) is None:
        raise ValueError("write automated:NAME or human:NAME")
    return value


def _reference(value: str) -> str:
    if _REFERENCE.fullmatch(value) is None or _UNFIT.search(value):
        raise ValueError("write #123, owner/name#123, a commit or an https address, without quotes and angle brackets")
    return value


Day = Annotated[str, BeforeValidator(_day)]
Words = Annotated[str, BeforeValidator(_one_line)]
Confidence = Annotated[float, Field(strict=True, ge=0, le=1)]
ThreadRead = Literal["whole", "partly", "no"]


class JudgementQuestion(toml_models.Entry):
    """What readers are asked, as data/judgements.toml has it."""

    name: str
    of: str
    asks: str
    answers: tuple[str, ...]


class _Questions(toml_models.Entry):
    question: tuple[JudgementQuestion, ...]


@cache
def questions() -> dict[str, JudgementQuestion]:
    """The questions by name."""
    return {one.name: one for one in toml_models.load(_Questions, QUESTIONS).question}


class Judgement(toml_models.Entry):
    """One answer of one reader to one question, a line of the file.

    Attributes:
        subject: what was read: ``case:NAME``, ``fix_test:NAME``, ``item:NUMBER`` or ``script:NUMBER`` (of that report).
        question: of data/judgements.toml; ``label:`` with the scheme behind it.
        item: number of the item that it is about.
        reader: ``automated:NAME`` or ``human:NAME``.
        blind: whether the reader answered without seeing earlier answers.
        day: of the reading, where it was written down.
        reason: in the reader's words.
        facts: what else was written down, by question.
    """

    subject: Words
    question: str
    item: StrictInt = Field(gt=0, lt=1 << 31)
    answer: str
    reader: Annotated[Words, AfterValidator(_reader)]
    blind: StrictBool
    day: Day | None
    reason: Words
    facts: dict[str, Any] | None = None

    @model_validator(mode="after")
    def _is_asked(self) -> Self:
        name, _, scheme = self.question.partition(":")
        asked = questions().get(name)
        if asked is None or bool(scheme) is bool(asked.answers):
            raise ValueError(f"question {self.question!r} is not in data/{QUESTIONS}")
        schemes = Taxonomy.load().schemes
        if scheme and scheme not in schemes:
            raise ValueError(f"question {self.question!r}: the schemes are {', '.join(schemes)}")
        answers = schemes[scheme].names() if scheme else asked.answers
        if self.answer not in answers:
            raise ValueError(f"answer {self.answer!r} to {self.question}: say {', '.join(answers)}")
        of, _, what = self.subject.partition(":")
        if of != asked.of or (of in ("item", "script") and what != str(self.item)):
            which = f"the item's number, {self.item}" if of == asked.of else "what was read"
            raise ValueError(f"subject {self.subject!r}: {name} wants '{asked.of}:' and {which}")
        if self.day is None and of != "fix_test":
            raise ValueError("day: only readings of fix tests may be without one")
        return self

    @property
    def place(self) -> tuple[str | int, ...]:
        """Where the row stands in the file."""
        version = str((self.facts or {}).get("version", ""))  # a script does several things, each on its releases
        return self.subject, self.question, self.item, self.day or "", self.reader, self.blind, version

    def line(self) -> str:
        """The row as the file has it."""
        return json.dumps(self.model_dump(exclude_defaults=True), ensure_ascii=False)


class CaseFacts(toml_models.Entry):
    """What a reader may write down of a case beside an item: as ``Reading`` has it, ``doubt`` as ``other_cause``."""

    thread_read: ThreadRead = "no"
    other_cause: Words = ""
    decides: StrictBool = True
    confidence: Confidence | None = None


class Closing(toml_models.Entry):
    """What a reader saw of the closing of an issue: the answer, number and day of the row, and its facts."""

    disposition: str
    number: int
    read_on: Day
    evidence: str = Field(max_length=300)
    duplicate_of: StrictInt | None = Field(default=None, gt=0, lt=1 << 31)
    evidence_kind: Literal["commit", "closing_pr", "comment", "state_reason", "event", "not_reproduced"] | None = None
    evidence_ref: Annotated[str, AfterValidator(_reference)] | None = None
    evidence_date: Day | None = None
    thread_read: ThreadRead
    confidence: Confidence

    @model_validator(mode="after")
    def _is_consistent(self) -> Self:
        if (self.disposition == "duplicate") != (self.duplicate_of is not None):
            raise ValueError("duplicate_of goes with the disposition duplicate, and only with it")
        if self.duplicate_of == self.number:
            raise ValueError("duplicate_of names the issue itself")
        if self.evidence_ref is not None and self.evidence_ref == f"#{self.number}":
            raise ValueError("evidence_ref names the issue itself")
        if self.evidence_date is not None and self.evidence_date > self.read_on:
            raise ValueError(f"evidence_date {self.evidence_date} is later than the reading, {self.read_on}")
        if self.disposition == "unknown":
            self._check_unknown()
            return self
        if self.evidence_kind == NOT_REPRODUCED:
            raise ValueError(f"disposition {self.disposition} with evidence_kind {NOT_REPRODUCED}: say unknown")
        if self.evidence_kind is None:
            raise ValueError(f"disposition {self.disposition} without evidence_kind: say unknown, or what shows it")
        if not self.confidence:
            raise ValueError(f"disposition {self.disposition} with confidence 0: say unknown")
        if self.disposition == "fixed" and self.evidence_ref is None and self.evidence_date is None:
            raise ValueError(
                "disposition fixed with neither evidence_ref nor evidence_date: say unknown, or what fixed it"
            )
        if self.thread_read == "no" and not self._is_seen_outside:
            raise ValueError(
                f"disposition {self.disposition} by {self.evidence_kind} with thread_read no: say unknown, or name the "
                "state_reason, the event, or the pull request or commit with its day"
            )
        return self

    def _check_unknown(self) -> None:
        if self.evidence_kind not in (None, NOT_REPRODUCED):
            raise ValueError(f"disposition unknown with evidence_kind {self.evidence_kind}: nothing shows it")
        if self.evidence_kind and (self.evidence_ref is None or self.thread_read == "no"):
            raise ValueError(f"evidence_kind {NOT_REPRODUCED} without a sentence that was read: name its address")

    @property
    def _is_seen_outside(self) -> bool:
        """Whether the evidence can be seen without the thread."""
        is_dated = self.evidence_ref is not None and self.evidence_date is not None
        return self.evidence_kind in OF_TRACKER or (self.evidence_kind in OF_CODE and is_dated)


def judged(row: dict[str, Any]) -> Judgement:
    """A row that somebody wants to add.

    Raises:
        InputError: it is no answer to a question.
    """
    try:
        return Judgement.model_validate(row)
    except ValidationError as error:
        raise InputError(f"this is no judgement: {toml_models.wrong(error)}") from error


def closing_of(row: Judgement) -> Closing:
    """What a row says of a closing.

    Raises:
        ValidationError: the row contradicts itself.
    """
    said = {"disposition": row.answer, "number": row.item, "read_on": row.day, "evidence": row.reason}
    return Closing.model_validate(said | (row.facts or {}))


def read(body: bytes) -> list[Judgement]:
    """Check the lines of the file.

    Raises:
        InputError: a line is wrong, or not where it belongs; the message names it.
    """
    found: list[Judgement] = []
    for number, line in enumerate(body.removesuffix(b"\n").split(b"\n"), start=1):
        where = f"data/{FILE}, line {number}"
        if not line.strip():
            raise InputError(f"{where} is empty: take it out")
        try:
            row = Judgement.model_validate_json(line)
            if row.question == "disposition":
                closing_of(row)
            elif row.subject.startswith("case:"):
                CaseFacts.model_validate(row.facts or {})
        except ValidationError as error:
            wrong = toml_models.wrong(error).replace(" at line 1 column ", " at column ")
            raise InputError(f"{where}: {wrong}") from error
        if line != row.line().encode():
            raise InputError(f"{where}: write each key once and in the order of the other lines: {row.line()}")
        if found and row.place <= found[-1].place:
            raise InputError(
                f"data/{FILE}: lines {number - 1} and {number} are not in the order of subject, question, item, day,"
                " reader and release, or are the same in all of these"
            )
        found.append(row)
    return found


def define(connection: duckdb.DuckDBPyConnection, more: Sequence[Judgement] = ()) -> None:
    """Give a connection the temporary table ``judgements`` and the views of ``judgements.sql``.

    Args:
        connection: gets both.
        more: rows behind those of the file.

    Raises:
        InputError: a line of the file is wrong; the message names it.
    """
    path = resources.data_file(FILE)
    try:
        connection.execute(_TABLE, {"path": str(path), "rows": f"[{','.join(row.line() for row in more)}]"})
    except duckdb.Error:  # to check each line takes longer than most queries
        read(path.read_bytes())
        raise
    labels = str(resources.data_file(BODY_LABELS))
    connection.execute("CREATE TEMP TABLE body_labels AS FROM read_csv($path, all_varchar = true)", {"path": labels})
    connection.execute(resources.package_file("judgements.sql").read_text(encoding="utf-8"))


def ask(query: str) -> list[dict[str, Any]]:
    """The rows of a query.

    Raises:
        InputError: a line of the file is wrong; the message names it.
    """
    with duckdb.connect() as connection:
        define(connection)
        result = connection.execute(query)
        names = [column[0] for column in result.description]
        return [dict(zip(names, row, strict=True)) for row in result.fetchall()]


@cache
def fix_test_answers() -> dict[FixTestQuestion, dict[str, FixTestAnswer]]:
    """What readers say of the failures of fix tests: one answer a test, by question and name."""
    made: dict[FixTestQuestion, dict[str, FixTestAnswer]] = {"shows_bug": {}, "shows_bug_again": {}}
    for row in ask("FROM fix_test_answers"):
        made[row["question"]][row["name"]] = row["answer"]
    return made


@dataclass(frozen=True, slots=True)
class Reading:
    """The newest reading of a case beside an item.

    Attributes:
        answer: faithful, sibling, wrong or unsure.
        reason: what the report does and what the case does.
        doubt: how the case may answer another question than the report; empty where the reader saw no such way.
        decides: whether runs of the case may speak of the item. A case that stands for the report only in part may not.
        thread_read: whole, partly or no.
        reader: ``automated:NAME`` or ``human:NAME``.
        day: of the reading.
    """

    answer: str
    reason: str
    doubt: str
    decides: bool
    thread_read: str
    reader: str
    day: str

    @property
    def source(self) -> str:
        """Who read, and how much of the thread."""
        kind, _, name = self.reader.partition(":")
        who = "an automated annotator" if kind == "automated" else "a person"
        return f"{who} ({name}, {_THREADS[self.thread_read]}, {self.day})"

    @property
    def text(self) -> str:
        """What was compared, what is doubted, and by whom, in sentences."""
        doubt = f" Doubt: {self.doubt.rstrip('.')}." if self.doubt else ""
        return f"{self.reason.rstrip('.')}.{doubt} Read by {self.source}."


@dataclass(frozen=True, slots=True)
class ScriptReading:
    """What readers say of the script of a report: the newest answer to each question.

    Attributes:
        number: of the report.
        script: hash of the script that was read; of another one nothing is said.
        version: release whose behaviour ``match`` speaks of; empty where that was not asked.
        right_script: yes, no or unclear; empty where it was not asked.
        match: as_reported, as_expected, other or unclear; empty where it was not asked.
        relation: same, sibling, none or unknown; empty where it was not asked.
        reader: of the newest answer, ``automated:NAME`` or ``human:NAME``.
        day: of the newest answer.
    """

    number: int
    script: str
    version: str
    right_script: str
    match: str
    relation: str
    reader: str
    day: str

    @property
    def speaks_of_report(self) -> bool:
        """Whether what the script does may speak of the report."""
        return self.right_script != "no" and self.relation not in ("sibling", "none")


def script_readings(database: Path) -> list[ScriptReading]:
    """The readings of scripts, of the project's file and of the file beside the database, by number.

    Raises:
        InputError: a line of one of them is wrong; the message names it.
    """
    with duckdb.connect() as connection:
        define(connection, own_rows(database.with_name(OWN_FILE)))
        return [ScriptReading(*row) for row in connection.execute("FROM script_readings").fetchall()]


def own_rows(path: Path) -> list[Judgement]:
    """The rows of a file beside a database, in the order of writing.

    Raises:
        InputError: it cannot be read, or a line is wrong.
    """
    try:
        lines = path.read_bytes().splitlines()
    except FileNotFoundError:
        return []
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}") from error
    found = []
    for number, line in enumerate(lines, start=1):
        try:
            found.append(Judgement.model_validate_json(line))
        except ValidationError as error:
            raise InputError(f"{path}, line {number}: {toml_models.wrong(error)}") from error
    return found


def readings_of(repo: str, number: int) -> dict[str, Reading]:
    """The newest reading of each case of an item, by the name of the case.

    Raises:
        InputError: the file is missing from this installation, or a line of it is wrong.
    """
    return dict(_case_readings().get(number, {})) if repo == REPO else {}


@cache
def _case_readings() -> dict[int, dict[str, Reading]]:
    found: dict[int, dict[str, Reading]] = {}
    for row in ask("SELECT * EXCLUDE (relation, line, is_newest) FROM case_readings WHERE is_newest"):
        name, number = row.pop("case"), row.pop("number")
        found.setdefault(number, {})[name] = Reading(**row)
    return found
