"""What a notebook reads: every table, figure, claim and finding of one database. Needs the extra `study`."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass, replace
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import pandas as pd
from PIL import Image  # comes with Matplotlib

from torch_embers import drawing, settings
from torch_embers.cases import bank
from torch_embers.errors import InputError
from torch_embers.mine.plan import mine_catalog
from torch_embers.store import schema
from torch_embers.store.store import Store
from torch_embers.study import findings, samples
from torch_embers.study.claims import claims_table, definitions, verdicts
from torch_embers.study.figures.display import display
from torch_embers.study.figures.make import make
from torch_embers.study.figures.pictures.draw import draw

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import date

    from torch_embers.study.claims.verdicts import ClaimsReport
    from torch_embers.study.figures.make import Study
    from torch_embers.study.figures.table import Row, Table
    from torch_embers.study.findings import Outcome

DPI = 100
COLOURS = 64
"""Colours that a picture keeps: flat areas and lines need no more, and a notebook stays a quarter of the size."""
NOTHING = "-"
NO_ROWS = "no rows"
ORIGIN = "the catalog that comes with embers, read into a temporary database"


@dataclass(frozen=True, slots=True)
class Picture:
    """A picture that notebooks show inline."""

    name: str
    png: bytes

    def _repr_png_(self) -> bytes:
        return self.png

    def __repr__(self) -> str:
        """Say what it shows."""
        return f"picture of {self.name}"


@dataclass(frozen=True, slots=True)
class Shown:
    """A table of ready text that notebooks show whole; everything in it is escaped."""

    frame: pd.DataFrame

    def _repr_html_(self) -> str:
        if self.frame.empty:
            return f"<p>{NO_ROWS}</p>"
        with pd.option_context("display.max_colwidth", None):
            return self.frame.to_html(index=False, border=0, justify="left", max_rows=len(self.frame))

    def __repr__(self) -> str:
        """Aligned text, for terminals."""
        return self.frame.to_string(index=False, max_colwidth=60) if len(self.frame) else NO_ROWS


@dataclass(frozen=True, slots=True)
class StudyResults:
    """Everything that the study counts in one database, and that a notebook can show.

    Attributes:
        origin: which database it was, in words.
        study: samples, and a table per table or figure of data/figures.toml.
        report: the claims of the paper with verdicts.
        outcomes: findings, and whether the data support them.
    """

    origin: str
    study: Study
    report: ClaimsReport
    outcomes: tuple[Outcome, ...]

    @property
    def as_of(self) -> date:
        """The last day that is counted."""
        return self.study.plan.today.last

    def table(self, name: str, **where: Any) -> Table:
        """A table or figure as it was computed.

        Args:
            name: id of the table or figure, as ``figure_3``.
            where: values of columns; only rows that have them are kept.

        Raises:
            InputError: there is no table or figure or no column of this name; the message lists those there are.
        """
        names = [made.definition.id for made in self.study.tables]
        if name not in names:
            raise InputError(f"no table or figure is called {name!r}: one of {', '.join(names)}")
        made = self.study.table(name)
        if made.rows and (unknown := sorted(set(where) - set(made.columns))):
            raise InputError(f"{name} has no column {unknown[0]!r}: one of {', '.join(made.columns)}")
        return replace(made, rows=made.of(**where)) if where else made

    def frame(self, name: str, *, items: bool = False, **where: Any) -> pd.DataFrame:
        """The rows of a table or figure: shares in percent, times in days, ends of 95 % intervals as low and high.

        Args:
            name: id of the table or figure.
            items: instead what the rows were computed from, where that is something else (survival, agreement).
            where: values of columns; only rows that have them are kept.

        Raises:
            InputError: there is no table or figure or no column of this name.
        """
        made = self.table(name, **where)
        return pd.DataFrame(made.items) if items else pd.DataFrame(made.rows, columns=list(made.columns))

    def shown(self, name: str, **where: Any) -> Shown:
        """A table or figure in ready text: samples side by side, shares with counts and intervals in one cell.

        Raises:
            InputError: there is no table or figure or no column of this name.
        """
        columns, rows = display(self.table(name, **where), self.study.plan)
        return Shown(pd.DataFrame(rows, columns=list(columns), dtype=object))

    def notes(self, name: str) -> str:
        """What must stand under a table or figure: how many items, how they were selected, what was left out.

        Raises:
            InputError: there is no table or figure of this name.
        """
        return "; ".join(self.table(name).notes)

    def picture(self, name: str) -> Picture:
        """The picture of a figure.

        Raises:
            InputError: there is no figure of this name.
        """
        made = self.table(name)
        if not made.definition.draw:
            raise InputError(f"{name} is a table and has no picture: use shown({name!r})")
        drawn, small = BytesIO(), BytesIO()
        with drawing.styled():
            draw(made, self.study.plan).savefig(drawn, format="png", dpi=DPI, metadata={"Software": None})
        Image.open(drawn).convert("RGB").quantize(COLOURS).save(small, "PNG", optimize=True)
        return Picture(name, small.getvalue())

    def claims(self) -> pd.DataFrame:
        """The paper's statements in numbers, a row each: printed, ours, verdict, why, what the checks found.

        ``kind`` says of what the number is (count, share, loc, ratio, time, year, size). ``impossible`` says that a
        check by itself shows the printed number to be impossible; ``consistent`` that no check failed.
        """
        made = pd.DataFrame(claims_table.rows(self.report), columns=list(claims_table.COLUMNS))
        claims = [result.claim for result in self.report.results]
        for name in ("section", "place", "kind", "states", "explains"):
            made[name] = [getattr(claim, name) for claim in claims]
        made["impossible"] = [any(check.decides for check in claim.failed) for claim in claims]
        made["consistent"] = [not claim.failed for claim in claims]
        return made

    def claims_by_basis(self) -> pd.DataFrame:
        """How many claims have each verdict, by what our figure rests on."""
        rows = [(basis, *counts) for basis, counts in claims_table.by_basis(self.report)]
        return pd.DataFrame(rows, columns=["our figure rests on", *verdicts.VERDICTS])

    def findings(self) -> pd.DataFrame:
        """Every finding of data/findings.toml, what the data show, and whether they support it."""
        rows = [(o.finding.says, o.numbers, o.supported, o.insufficient) for o in self.outcomes]
        return pd.DataFrame(rows, columns=["finding", "here", "supported", "insufficient data"])


def read(database: Path | None = None, *, as_of: date | None = None) -> StudyResults:
    """Count everything in a database.

    Without a database, in the settings or as an argument, the catalog that comes with embers is read into a temporary
    one; that takes two seconds and no network. ``StudyResults.origin`` tells which it was.

    Args:
        database: the file; the one of the settings where None.
        as_of: last day that is counted; where None, the newest day that the database tells of, so that the same
            database gives the same numbers tomorrow.

    Raises:
        InputError: the day lies outside of the study's time.
        StoreError: the database is missing or cannot be read.
    """
    store = Store(settings.load(database=database).database)
    if database is not None or store.exists():
        return _read(store, f"the database {store.path.name}", as_of)
    with tempfile.TemporaryDirectory() as folder:
        store = Store(Path(folder) / "catalog.duckdb")
        mine_catalog(store)
        with store.writer("study") as writer:
            bank.refresh(writer)
        return _read(store, ORIGIN, as_of)


def _read(store: Store, origin: str, as_of: date | None) -> StudyResults:
    plan = samples.load(as_of or newest_day(store))
    with store.read() as connection:
        schema.require_ours(connection, store.path)
        study, report = make(connection, plan), verdicts.evaluate(connection, definitions.load())
    return StudyResults(origin, study, report, findings.decide(study))


def newest_day(store: Store) -> date | None:
    """The newest day that a database tells of: when facts of the catalog were looked up, or items fetched.

    Raises:
        StoreError: the database is missing or cannot be read.
    """
    query = """
        SELECT greatest(
            (SELECT max(facts_as_of) FROM catalog), max(fetched_at) FILTER (WHERE source <> 'catalog')
        )::DATE FROM items
    """
    with store.read() as connection:
        [(day,)] = connection.execute(query).fetchall()
    return None if day is None else cast("date", day)


def as_shown(table: pd.DataFrame | Sequence[Row], decimals: int = 1, leave_out: Sequence[str] = ()) -> Shown:
    """A frame or rows in ready text.

    Args:
        table: any values; rows as ``StudyResults.table`` has them.
        decimals: of columns with numbers that are not whole; counts that pandas made floats of are shown as counts.
        leave_out: columns that are not shown.
    """
    frame = table if isinstance(table, pd.DataFrame) else pd.DataFrame(list(table))
    ready = {str(name): _words(list(frame[name]), decimals) for name in frame.columns if name not in leave_out}
    return Shown(pd.DataFrame(ready, dtype=object))


def _words(values: list[Any], decimals: int) -> list[str]:
    """A column in ready text."""
    there = [value for value in values if not pd.isna(value)]
    if there and all(isinstance(value, float) for value in there):
        places = 0 if all(value.is_integer() for value in there) else decimals
        return [NOTHING if pd.isna(value) else f"{value:,.{places}f}" for value in values]
    flags = {True: "yes", False: "no"}
    return [NOTHING if pd.isna(value) else flags[value] if isinstance(value, bool) else str(value) for value in values]
