"""Print which cases look as if they were about something else than their issue: part of `make lint`.

Usage: python tools/case_flags.py [--all]; exit code 1 where a flag has no exception in data/case_flags.toml, or an
exception has no flag. tools/case_flags.sql has the flags and what they mean; they need no network and run no case.
`--all` prints those with an exception as well.
"""

from __future__ import annotations

import json
import sys
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb
import pyarrow as pa
from pydantic import model_validator

from torch_embers import judgements, resources, toml_models
from torch_embers.cases import case as cases
from torch_embers.cases import shipped_verdicts
from torch_embers.errors import InputError
from torch_embers.study import fact_tables

if TYPE_CHECKING:
    from collections.abc import Mapping

SQL = Path(__file__).with_suffix(".sql")
EXCEPTIONS = "case_flags.toml"
MENDED = ("not_read", "other_relation", "no_disposition", "no_times")
"""Flags without exceptions: there is always a relation or a disposition that is true, if only unknown."""
SCHEMAS = {
    "cases": pa.schema(
        [("name", "string"), ("kind", "string"), ("fixed_in", "string"), ("needs", pa.list_(pa.string()))]
    ),
    "pairs": pa.schema([("name", "string"), ("number", "int64"), ("relation", "string")]),
    "verdicts": pa.schema([("name", "string"), ("release", "string"), ("verdict", "string")]),
    "releases": pa.schema([("release", "string"), ("released", "date32")]),
    "catalog": pa.schema(
        [("number", "int64"), ("kind", "string"), ("state", "string"), ("opened", "date32"), ("is_slow", "bool")]
    ),
    "uncovered": pa.schema([("number", "int64")]),
    "unmeasured": pa.schema([("number", "int64")]),
}
"""Tables that tools/case_flags.sql reads beside judgements, with their columns."""


class Excuse(toml_models.Entry):
    """Why a flag stands all the same: for one case, one item, or every case that needs a device."""

    flag: str
    reason: str
    case: str = ""
    item: int = 0
    needs: str = ""

    @model_validator(mode="after")
    def _speaks(self) -> Excuse:
        if not self.reason.strip() or not (self.case or self.item or self.needs):
            raise ValueError("it needs a reason, and a case, an item or a need")
        if self.flag in MENDED:
            raise ValueError(f"{self.flag} has no exceptions: mend the data")
        return self

    def covers(self, flag: Mapping[str, Any]) -> bool:
        """Whether it speaks of this flag."""
        own = (("flag", self.flag), ("case", self.case), ("item", self.item))
        return all(not value or flag[name] == value for name, value in own) and (
            not self.needs or self.needs in flag["needs"]
        )


class Excuses(toml_models.Entry):
    """The whole file."""

    exception: tuple[Excuse, ...] = ()


def shipped() -> dict[str, list[dict[str, Any]]]:
    """The rows of each table that tools/case_flags.sql reads, but for judgements."""
    bank = [*cases.shipped(), *cases.shipped("timing")]
    entries = map(json.loads, resources.data_file("catalog.jsonl").read_text(encoding="utf-8").splitlines())
    return {
        "cases": [
            {"name": one.name, "kind": one.kind, "fixed_in": one.fixed_in, "needs": [str(need) for need in one.needs]}
            for one in bank
        ],
        "pairs": [
            {"name": one.name, "number": number, "relation": one.relations.get((repo, number))}
            for one in bank
            for repo, number in one.issues
        ],
        "verdicts": [
            {"name": row["case"], "release": row["build"], "verdict": row["verdict"]}
            for row in shipped_verdicts.matrix()
        ],
        "releases": [{"release": name, "released": day} for name, day in fact_tables.release_days().items()],
        "catalog": [
            {
                "opened": entry["created_at"] and date.fromisoformat(entry["created_at"]),
                "is_slow": ("consequence", "performance")
                in {(one["scheme"], one["value"]) for one in entry["taxonomy"]},
                **{name: entry[name] for name in ("number", "kind", "state")},
            }
            for entry in entries
        ],
        "uncovered": [{"number": number} for _, number in cases.uncovered()],
        "unmeasured": [
            {"number": number}
            for entry in resources.load_toml("cases/unmeasured.toml")["without"]
            for number in entry["items"]
        ],
    }


def flags(tables: Mapping[str, list[dict[str, Any]]]) -> list[dict[str, Any]]:
    """Every doubt, sorted: flag, case (empty where only an item is doubted), item (0: all), detail, needs of the case.

    Args:
        tables: rows by table, as ``shipped`` makes them.
    """
    with duckdb.connect() as connection:
        for name, rows in tables.items():
            connection.register(name, pa.Table.from_pylist(rows, schema=SCHEMAS[name]))
        judgements.define(connection)
        connection.execute(SQL.read_text(encoding="utf-8"))
        query = 'SELECT f.*, coalesce(needs, []) AS needs FROM flags f LEFT JOIN cases ON name = "case" ORDER BY ALL'
        found = connection.sql(query)
        return [dict(zip(found.columns, row, strict=True)) for row in found.fetchall()]


def main(arguments: list[str] | None = None) -> int:
    """Print the flags; 1 where one is not explained, or an exception is stale."""
    everything = "--all" in (sys.argv if arguments is None else arguments)
    try:
        excuses = toml_models.load(Excuses, EXCEPTIONS).exception
        found = flags(shipped())
    except InputError as error:
        sys.stdout.write(f"{error}\n")
        return 1
    bare = 0
    for flag in found:
        reasons = [excuse.reason for excuse in excuses if excuse.covers(flag)]
        bare += not reasons
        if everything or not reasons:
            about = [flag["case"], f"#{flag['item']}" if flag["item"] else ""]
            text = f"{flag['flag']}: {' '.join(filter(None, about))}: {flag['detail']}"
            sys.stdout.write(f"{text}{'; exception: ' + reasons[0] if reasons else ''}\n")
    stale = [excuse for excuse in excuses if not any(map(excuse.covers, found))]
    for excuse in stale:
        sys.stdout.write(f"exception without a flag: {excuse.flag} of {excuse.case or excuse.item or excuse.needs}\n")
    sys.stdout.write(f"{len(found)} flags, {len(found) - bare} with an exception\n")
    return int(bool(bare or stale))


if __name__ == "__main__":
    sys.exit(main())
