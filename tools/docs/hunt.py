"""docs/hunt-coverage.md: what the hunt called and left out; docs/hunt.md, docs/hunt-drafts.md: what it found."""

from __future__ import annotations

from typing import TYPE_CHECKING

import duckdb
from packaging.version import Version

from torch_embers.repro import shipped_matrix
from torch_embers.run import hunt, hunt_draft

from .cases import ranges
from .markdown import cell, code, fenced, table
from .places import ROOT

if TYPE_CHECKING:
    from collections.abc import Sequence

MAP = ROOT / "analysis" / "results" / "hunt_coverage.parquet"
"""PyTorch 2.15.0, float32, all modes."""
OTHERS = ROOT / "analysis" / "results" / "hunt_coverage_others.parquet"
"""Other dtypes and releases, and the `malformed` calls of 2.15.0."""
SAID = ("occurs", "absent", "untestable")
"""Verdicts in the order of the table."""
COUNTS = ("tested", "guarded", "wrong", "outside", "died", "refused", "undecided")
SUMS = ", ".join(f"sum({name})" for name in COUNTS)


def _rows(query: str) -> list[Sequence[object]]:
    with duckdb.connect() as database:
        database.execute(f"create view map as from '{MAP}'")
        database.execute(f"create view others as from '{OTHERS}'")
        return database.execute(query).fetchall()


def _counted(key: str, name: str, where: str) -> str:
    found = _rows(
        f"select {key}, count(distinct op), {SUMS} from map where {where} group by 1 order by sum(tested) desc, 1"
    )
    head = [name, "operators:", *(f"{count}:" for count in COUNTS)]
    return table(head, [[code(row[0]), *(f"{number:,}" for number in row[1:])] for row in found])


def modes() -> str:
    """Calls by build and mode."""
    return _counted("build || ' ' || mode", "mode", "mode <> ''")


def others() -> str:
    """Calls on other releases and with other dtypes, by mode."""
    found = _rows(
        f"select build, dtype, mode, count(distinct op), {SUMS} from others where mode <> '' and mode <> 'samples' "
        "group by all order by build desc, dtype, mode"
    )
    head = ["build", "dtype", "mode", "operators:", *(f"{count}:" for count in COUNTS)]
    return table(head, [[*map(code, row[:3]), *(f"{number:,}" for number in row[3:])] for row in found])


def layouts() -> str:
    """Calls by layout of an argument, all modes."""
    return _counted("layout", "layout", "mode <> '' and argument not like 'destination%'")


def destinations() -> str:
    """Calls by layout of the destination."""
    return _counted("layout", "layout", "mode <> '' and argument like 'destination%'")


def reasons() -> str:
    """What was not called, and why."""
    found = _rows(
        "select reason, count(distinct op), sum(skipped) from map where reason <> '' and skipped > 0 "
        "group by reason order by sum(skipped) desc, reason"
    )
    return table(["reason", "operators:", "times:"], [[cell(row[0]), str(row[1]), f"{row[2]:,}"] for row in found])


def dispatcher() -> str:
    """Operators of the dispatcher without samples of their own: how many are called, and why the others are not."""
    found = _rows(
        "with kept as (select distinct build, op, dtype, reason, skipped, operator from map where op like 'aten.%'), "
        "called as (select distinct operator from map where mode = 'kernels' and tested + refused + undecided > 0), "
        "told as (select case when operator <> '' then 'called with arguments that the schema suggests' "
        "when reason like 'no simple arguments%' and exists (select 1 from called "
        "where operator like kept.op || '.%') then 'called with arguments that samples of others bring' "
        "else reason end as what, op from kept) "
        "select what, count(distinct op) from told where what <> '' group by what order by 2 desc, 1"
    )
    return table(["operators of the dispatcher without samples", "operators:"], [[cell(w), f"{n:,}"] for w, n in found])


def own() -> str:
    """What PyTorch's test does with the operators, and what the hunt found in each group."""
    found = _rows(
        "with one as (select op, own, sum(tested) as tested, sum(wrong + outside + died) > 0 as bad "
        "from map where own <> 'absent' group by all) "
        "select own, count(*), sum(tested), count(*) filter (bad) from one group by own order by count(*) desc, own"
    )
    head = ["test_noncontiguous_samples", "operators:", "calls of the hunt:", "operators with a wrong call:"]
    return table(head, [[code(row[0]), *(f"{number:,}" for number in row[1:])] for row in found])


def worst() -> str:
    """What is called wrong, by operator: the most calls first."""
    found = _rows(
        "select operator, mode, string_agg(distinct layout, ', ' order by layout), sum(outside), sum(died), sum(wrong) "
        "from map where wrong + outside + died > 0 group by operator, mode "
        "order by sum(outside) > 0 desc, sum(died) > 0 desc, operator, mode"
    )
    head = ["called", "mode", "layouts", "outside:", "died:", "wrong:"]
    return table(head, [[code(row[0]), row[1], cell(row[2]), *(str(number) for number in row[3:])] for row in found])


def since() -> str:
    """On which releases each finding with a case occurs, from the matrix."""
    verdicts = shipped_matrix.matrix()
    releases = sorted({Version(row["build"]) for row in verdicts})
    judged = {name: entry.judged for entry in hunt.rules().known for name in entry.cases}
    judged |= {name: "new" for one in hunt_draft.written() for name in one.cases}
    rows = []
    for name, what in sorted(judged.items()):
        by = {
            word: [row["build"] for row in verdicts if row["case"] == name and row["verdict"] == word] for word in SAID
        }
        rows.append([code(name), what.replace("_", " "), *(ranges(by[word], releases) or "-" for word in SAID)])
    return table(["case", "judged", "occurs on", "does not occur on", "cannot be tested on"], rows)


def short() -> str:
    """The few lines that show each finding that a draft was written of."""
    parts = [
        f"{one.about} Case: {code(one.case)}.\n\n{fenced(one.script.strip(), 'python')}" for one in hunt_draft.written()
    ]
    return "\n\n".join(parts)


def drafts() -> str:
    """The drafts of reports, as `embers hunt report CASE` prints them."""
    return "\n\n".join(
        f"## {one.title}\n\n````markdown\n{hunt_draft.of_case(one).rstrip()}\n````" for one in hunt_draft.written()
    )
