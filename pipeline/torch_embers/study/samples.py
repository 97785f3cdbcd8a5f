"""Who is counted: temporary tables that every query in analysis/ reads, made anew for each run.

Nothing is written to the database. A *time* is a span of days; the tables of one time say which of its issues are
closed, report a bug, and are patched, as the study counts. A *sample* is a set of items with a name (data/study.toml):
the study's own time, the same until today, and all candidates. Where the time ends before the newest event, the tracker
is rewound to that day.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING, Any

from torch_embers import resources, toml_models
from torch_embers.errors import InputError
from torch_embers.store import views
from torch_embers.store.store import repository_of
from torch_embers.study import fact_tables

if TYPE_CHECKING:
    from collections.abc import Sequence

    import duckdb

DEFINITIONS = "study.toml"
FOLDER = "samples"
MEMORY = "512MB"
"""What DuckDB may use for the samples. The store's own limit is made for a writer; 200,000 items do not fit into it."""
SAMPLE_COLUMNS = (
    "sample VARCHAR, repo VARCHAR, number INTEGER, kind VARCHAR, state VARCHAR, state_reason VARCHAR, "
    "reported_at TIMESTAMP, dated BOOLEAN, closed_at TIMESTAMP"
)


@dataclass(frozen=True, slots=True)
class Time:
    """A span of days, both ends included."""

    first: date
    last: date


class StudySample(toml_models.Entry):
    """A set of items that is counted; ``label`` is its name in pictures."""

    name: str
    label: str
    reason: str


class Backend(toml_models.Entry):
    """A backend that came within the study's time."""

    name: str
    since: date
    source: str


class LeastItems(toml_models.Explained):
    """How many items a share, a curve or a finding needs."""

    least_share: int
    least_group: int
    least_at_risk: int
    least_finding: int


class _Days(toml_models.Explained):
    first: date
    paper_last: date


class _File(toml_models.Entry):
    time: _Days
    sample: tuple[StudySample, ...]
    backend: tuple[Backend, ...]
    limits: LeastItems


@dataclass(frozen=True, slots=True)
class StudyPlan:
    """Everything of data/study.toml, up to the last day that is counted."""

    paper: Time
    today: Time
    samples: tuple[StudySample, ...]
    limits: LeastItems
    backends: tuple[Backend, ...] = ()

    def sample(self, name: str) -> StudySample:
        """The sample of this name.

        Raises:
            InputError: there is none.
        """
        for sample in self.samples:
            if sample.name == name:
                return sample
        raise InputError(f"data/{DEFINITIONS}: no sample is called {name!r}")


def load(as_of: date | None = None) -> StudyPlan:
    """Read data/study.toml.

    Args:
        as_of: last day of today's study; the present day where none is given, by a clock that is not set back behind
            the paper's own last day.

    Raises:
        InputError: the file is malformed, or the day lies before the study's first or after the present one.
    """
    file = toml_models.load(_File, DEFINITIONS)
    present = max(_present(), file.time.paper_last)
    last = as_of or present
    if not file.time.first < last <= present:
        raise InputError(f"--as-of {last}: not between {file.time.first} and today, {present}")
    paper_last = min(file.time.paper_last, last)
    samples = tuple(
        sample.model_copy(update={"label": sample.label.format(last=paper_last if sample.name == "paper" else last)})
        for sample in file.sample
        if sample.name != "today" or last > paper_last  # until that day the two are one
    )
    return StudyPlan(Time(file.time.first, paper_last), Time(file.time.first, last), samples, file.limits, file.backend)


def _present() -> date:
    return datetime.now(UTC).date()


def parse_day(text: str) -> date:
    """Read a day as 2024-07-31.

    Raises:
        InputError: it is none.
    """
    try:
        return date.fromisoformat(text)
    except ValueError as error:
        raise InputError(f"--as-of {text!r} is no day: write it as 2024-07-31") from error


def at(connection: duckdb.DuckDBPyConnection, time: Time) -> None:
    """Make the tables of one time: study_issues, study_closed, study_bugs, study_patched, study_patches.

    The connection may be read-only: all tables are temporary. Those of another time are replaced.
    """
    before = time.last + timedelta(days=1)
    own = (time.first, before, time.last < _present())
    if _has(connection, "study_time") and connection.execute("FROM study_time").fetchall() == [own]:
        return
    connection.execute(f"SET memory_limit = '{MEMORY}'")
    fill(connection, "study_time", "first_day DATE, before_day DATE, is_past BOOLEAN", [own])
    fill(connection, "study_repository", "repo VARCHAR", [(repository_of(connection),)])
    if not _has(connection, "study_dates"):
        for table in fact_tables.tables():
            fill(connection, *table)
        connection.execute(resources.analysis_text(FOLDER, "clock.sql"))
    [(later,)] = connection.execute("SELECT count(*) FROM main.events WHERE created_at >= ?", [before]).fetchall()
    rewound = _has(connection, "items")
    if later:
        _rewind(connection, before)
    elif rewound:
        for name in ("items", "study_items"):
            connection.execute(f"DROP TABLE temp.{name}")
    if later or rewound or not _has(connection, "study_items"):
        connection.execute(resources.analysis_text(FOLDER, "items.sql"))
    connection.execute(resources.analysis_text(FOLDER, "issues.sql"))


def _has(connection: duckdb.DuckDBPyConnection, table: str) -> bool:
    """Whether a temporary table of this name is there."""
    query = "SELECT count(*) FROM duckdb_tables() WHERE temporary AND table_name = ?"
    return bool(connection.execute(query, [table]).fetchall()[0][0])


def _rewind(connection: duckdb.DuckDBPyConnection, before: date) -> None:
    """Hide the stored items behind those of a day, and build the views on them anew."""
    end = datetime.combine(before, datetime.min.time()) - timedelta(microseconds=1)
    as_of = resources.package_file("store", "as_of.sql").read_text(encoding="utf-8")
    query = resources.analysis_text(FOLDER, "rewound.sql").replace("{as_of}", as_of)
    connection.execute("DROP TABLE IF EXISTS temp.items")
    for statement in connection.extract_statements(query):
        connection.execute(statement, {"day": end} if "$day" in statement.query else None)
    for text in views.statements(views.load(), temporary=True):
        connection.execute(text)


def prepare(connection: duckdb.DuckDBPyConnection, plan: StudyPlan) -> None:
    """Make all tables that the queries read: samples, labels, patches, verdicts, releases, classes, lines of code.

    Raises:
        InputError: a shipped file is malformed.
    """
    connection.execute(f"CREATE OR REPLACE TEMP TABLE study_sample ({SAMPLE_COLUMNS})")
    connection.execute(
        "CREATE OR REPLACE TEMP TABLE study_sample_patches "
        "(sample VARCHAR, repo VARCHAR, number INTEGER, patch INTEGER, sha VARCHAR, patched_at TIMESTAMP)"
    )
    connection.execute("CREATE OR REPLACE TEMP TABLE study_stages (sample VARCHAR, stage VARCHAR, items BIGINT)")
    times = {"paper": plan.paper, "today": plan.today}
    for sample in (sample.name for sample in plan.samples if sample.name in times):
        at(connection, times[sample])
        for statement in connection.extract_statements(resources.analysis_text(FOLDER, "sample.sql")):
            connection.execute(statement, {"sample": sample})
    where = views.load().candidate.where
    connection.execute(resources.analysis_text(FOLDER, "candidates.sql").replace("{where}", where))
    since = [(backend.name, backend.since) for backend in plan.backends]
    fill(connection, "study_backend_since", "backend VARCHAR, since DATE", since)
    fill(connection, "study_ends", "paper_before DATE", [(plan.paper.last + timedelta(days=1),)])
    connection.execute(resources.analysis_text(FOLDER, "verdicts.sql"))


def fill(connection: duckdb.DuckDBPyConnection, name: str, columns: str, rows: Sequence[tuple[Any, ...]]) -> None:
    """Make a temporary table of these columns and rows, in place of an earlier one."""
    connection.execute(f"CREATE OR REPLACE TEMP TABLE {name} ({columns})")
    if rows:
        values = [list(column) for column in zip(*rows, strict=True)]  # row by row takes a second
        places = ", ".join("unnest(?)" for _ in values)
        connection.execute(f"INSERT INTO {name} SELECT {places}", values)
