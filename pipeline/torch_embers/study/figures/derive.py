"""What is computed from the rows of a query: intervals, agreement, corrected prevalence, differences, survival.

Shares are in percent, times in days, intervals two-sided at 95 %. Where a sample is too small for a number there is
none, and a note says so.
"""

from __future__ import annotations

from itertools import groupby
from math import comb
from typing import TYPE_CHECKING, Any

from torch_embers import packages
from torch_embers.errors import MissingPackageError
from torch_embers.statistics import intervals
from torch_embers.statistics.insufficient import InsufficientData
from torch_embers.study.figures.table import Row, Table

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from torch_embers.statistics.metrics import Interval
    from torch_embers.study.figures.definitions import FigureDefinition
    from torch_embers.study.samples import LeastItems


PAPER = "paper"
"""Kind of the annotator whose labels are those of the paper."""
CONFIDENCE = 0.95
CHOSEN = "no interval: the cases were chosen, and some issues share a script"
COUNTED_ERRORS = (
    "corrected by errors that were counted on the catalog and on issues drawn at random; how far the intervals hold on "
    "other drawn issues: docs/evaluation.md"
)
ONE_NUMBER = "every draw gives one number, which is no interval"


def derive(definition: FigureDefinition, queried: Sequence[Row], limits: LeastItems) -> Table:
    """Turn the rows of a query into those that are shown; where a package is missing for that, a note says so."""
    if not queried:
        return Table(definition, (), (), (f"nothing to show; missing: {definition.empty}",))
    try:
        if definition.derive in WITH_EXTRA:
            packages.require("study", "the study's statistics need")
        return METHODS[definition.derive](definition, queried, limits)
    except MissingPackageError as error:
        return Table(definition, (), tuple(queried), (f"not computed: {error}",))


def with_share(row: Row, least: int) -> Row:
    """A row with k and n, and the share in percent with Wilson's interval where n is large enough."""
    k, n = int(row["k"]), int(row["n"])
    made = dict(row) | {"k": k, "n": n, "share": None, "low": None, "high": None}
    if n >= least:
        low, high = intervals.wilson(k, n)
        made |= {"share": 100 * k / n, "low": 100 * low, "high": 100 * high}
    return made


def _with_ends(names: tuple[str, str, str], interval: Interval | None, unit: float = 1.0) -> Row:
    """Value and ends of an interval under these names; None where there is none."""
    if interval is None:
        return dict.fromkeys(names)
    return dict(zip(names, (unit * interval.value, unit * interval.low, unit * interval.high), strict=True))


def _shares(definition: FigureDefinition, queried: Sequence[Row], limits: LeastItems) -> Table:
    key = "type_k" if "type_k" in queried[0] else "k"
    rows = []
    for row in queried:
        counted = with_share({**row, "k": row[key]}, limits.least_share)
        rows.append({**row, **{name: counted[name] for name in ("share", "low", "high")}})
    without = sum(row["share"] is None for row in rows)
    notes = [f"{without} of {len(rows)} rows: fewer than {limits.least_share} items, no share"] if without else []
    return Table(definition, tuple(rows), notes=tuple(notes))


def _chosen(definition: FigureDefinition, queried: Sequence[Row], limits: LeastItems) -> Table:
    """Shares of issues that were chosen and depend on each other; an interval would speak of a draw nobody made."""
    table = _shares(definition, queried, limits)
    rows = tuple({name: value for name, value in row.items() if name not in ("low", "high")} for row in table.rows)
    return Table(definition, rows, notes=(*table.notes, CHOSEN))


def _kappa(definition: FigureDefinition, queried: Sequence[Row], limits: LeastItems) -> Table:
    """Agreement with the paper's labels first, then that of programs with each other."""
    from torch_embers.statistics import agreement

    of_paper = {str(r["annotator"]) for r in queried if r["kind"] == PAPER}
    labelled = [(str(r["scheme"]), str(r["annotator"]), (r["repo"], r["number"]), str(r["value"])) for r in queried]
    of_programs = [row for row in labelled if row[1] not in of_paper]
    least = limits.least_finding
    alphas = {agreed.scheme: agreed.alpha for agreed in agreement.by_scheme(of_programs, least=least)}
    rows: list[Row] = []
    few = 0
    for agreed in agreement.by_scheme(labelled, least=least):
        few += comb(len(agreed.annotators), 2) - len(agreed.pairs)
        one_class = len({r["value"] for r in queried if r["scheme"] == agreed.scheme and r["kind"] == PAPER}) < 2
        for pair in agreed.pairs:
            paper = bool(of_paper & {pair.one, pair.other})
            alpha = None if paper else alphas.get(agreed.scheme)
            row: Row = {"with": PAPER if paper else "programs", "scheme": agreed.scheme, "one": pair.one}
            row |= {"other": pair.other, "n": pair.items, "same": pair.same}
            row |= _with_ends(("kappa", "low", "high"), None if paper and one_class else pair.kappa)
            row |= _with_ends(
                ("alpha", "alpha_low", "alpha_high"), None if isinstance(alpha, InsufficientData) else alpha
            )
            rows.append(row)
    rows.sort(key=lambda row: row["with"] != PAPER)
    notes = ["alpha: Krippendorff's, of all annotators of the scheme but the paper"] if rows else []
    if any(row["kappa"] is None for row in rows):
        notes.append("no kappa where the paper has only one class: there is no chance to correct for")
    notes += [f"{few} pairs of annotators share fewer than {limits.least_finding} items: no kappa"] if few else []
    return Table(definition, tuple(rows), tuple(queried), tuple(notes))


def _corrected(definition: FigureDefinition, queried: Sequence[Row], _limits: LeastItems) -> Table:
    from torch_embers.classify import confusions
    from torch_embers.study import prevalence

    rows: list[Row] = []
    notes: list[str] = []
    for scheme, group in groupby(sorted(queried, key=lambda r: str(r["scheme"])), key=lambda r: str(r["scheme"])):
        counted = {str(r["class"]): r for r in group}
        predicted = {name: int(r["predicted"]) for name, r in counted.items()}
        done = prevalence.correct(confusions.load(scheme), predicted)
        if isinstance(done, InsufficientData):
            notes.append(f"{scheme}: insufficient data: {done}")
            continue
        without: list[str] = []
        for share in done.shares:
            row: Row = {"scheme": scheme, "class": share.name, "predicted": share.predicted, "n": done.items}
            corrected = None if done.misfit else share.corrected
            if corrected and corrected.low == corrected.high:  # no draw moved it: that is no certainty
                without.append(share.name)
                corrected = None
            row |= _with_ends(("raw", "raw_low", "raw_high"), share.raw, 100)
            row |= _with_ends(("corrected", "corrected_low", "corrected_high"), corrected, 100)
            members = [share.name] if share.name in counted else [name for name, _ in done.merged]
            rows.append(row | {"labelled": sum(int(counted[name]["labelled"]) for name in members if name in counted)})
        notes.append(f"{scheme}: {COUNTED_ERRORS}" if not done.misfit else f"{scheme}: not corrected: {done.misfit}")
        if without:
            notes.append(f"{scheme}: not corrected for {', '.join(without)}: {ONE_NUMBER}")
        if done.merged:
            notes.append(f"{scheme}: in `rest`: {', '.join(name for name, _ in done.merged)}")
    return Table(definition, tuple(rows), tuple(queried), tuple(notes))


def _differences(definition: FigureDefinition, queried: Sequence[Row], limits: LeastItems) -> Table:
    """Differences of shares, with intervals that hold all together (Bonferroni: each at 1 - 0.05 / their number)."""
    enough = [min(int(row["n"]), int(row["later_n"])) >= limits.least_finding for row in queried]
    confidence = 1 - (1 - CONFIDENCE) / max(1, sum(enough))
    rows = []
    for row, large in zip(queried, enough, strict=True):
        k, n, later_k, later_n = (int(row[name]) for name in ("k", "n", "later_k", "later_n"))
        made = with_share(row, limits.least_share)
        made |= {"later_share": None, "difference": None, "difference_low": None, "difference_high": None}
        if large:
            low, high = intervals.newcombe(later_k, later_n, k, n, confidence)
            difference = 100 * (later_k / later_n - k / n)
            made |= {"later_share": 100 * later_k / later_n, "difference": difference}
            made |= {"difference_low": 100 * low, "difference_high": 100 * high}
        rows.append(made)
    notes: tuple[str, ...] = ()
    if sum(enough):
        notes = (
            f"intervals of {sum(enough)} differences that hold together at 95 % (Bonferroni: each at {confidence:.2%})",
        )
    return Table(definition, tuple(rows), notes=notes)


def _trends(definition: FigureDefinition, queried: Sequence[Row], limits: LeastItems) -> Table:
    from torch_embers.statistics import trend
    from torch_embers.statistics.corrections import holm

    rows: list[Row] = []
    few = 0
    for (scheme, name), group in groupby(queried, key=lambda r: (r["scheme"], r["class"])):
        periods = list(group)
        made = trend.share_trend(
            [int(r["k"]) for r in periods],
            [int(r["n"]) for r in periods],
            [float(r["year"]) + (r["half"] - 1) / 2 for r in periods],
        )
        if isinstance(made, InsufficientData) or made.items < limits.least_finding:
            few += 1
            continue
        first, last = periods[0], periods[-1]
        rows.append(
            {"scheme": scheme, "class": name, "k": made.events, "n": made.items, "half_years": made.periods}
            | {"first": f"{first['year']} H{first['half']}", "last": f"{last['year']} H{last['half']}"}
            | {"points_per_year": 100 * made.slope, "p": made.p}
        )
    for row, adjusted in zip(rows, holm([row["p"] for row in rows]), strict=True):
        row["p_adjusted"] = adjusted
    notes = ["p: Cochran-Armitage test; p_adjusted: by Holm's method over all classes"] if rows else []
    notes += [f"{few} classes have too few items for a trend"] if few else []
    return Table(definition, tuple(rows), tuple(queried), tuple(notes))


def _survival(definition: FigureDefinition, queried: Sequence[Row], limits: LeastItems) -> Table:
    """Turnbull's estimate of each group, never of all: which cases were written decides how the groups are mixed."""
    from torch_embers.statistics import turnbull

    group, event = definition.group, definition.event
    members: dict[str, list[Row]] = {}
    for row in queried:
        if row[group] is not None:
            members.setdefault(str(row[group]), []).append(row)
    rows: list[Row] = []
    curves: dict[str, Any] = {}
    for name, own in members.items():
        made = turnbull.turnbull([float(r["low"]) for r in own], [r["high"] for r in own])
        if not isinstance(made, InsufficientData) and len(own) >= limits.least_group:
            curves[name] = made
        curve = curves.get(name)
        median = curve and curve.median
        row = {group: name, "n": len(own), event: sum(bool(r[event]) for r in own)}
        row |= {"median_from": median and median.low, "median_to": median and median.high}
        rows.append(row | {"low": curve and curve.low, "high": curve and curve.high})
    rows.sort(key=lambda r: (-r["n"], r[group]))
    notes = (
        "median: between which two days half of them were gone by Turnbull's estimate (where it steps, not how sure it "
        "is), in brackets its 95 % bootstrap interval; groups are neither pooled nor tested against each other",
    )
    return Table(definition, tuple(rows), tuple(queried), notes, curves)


METHODS: dict[str, Callable[[FigureDefinition, Sequence[Row], LeastItems], Table]] = {
    "plain": lambda definition, queried, _: Table(definition, tuple(queried)),
    "shares": _shares,
    "chosen": _chosen,
    "kappa": _kappa,
    "corrected": _corrected,
    "differences": _differences,
    "trends": _trends,
    "survival": _survival,
}
"""The methods that `derive` in data/figures.toml names."""
WITH_EXTRA = {"kappa", "corrected", "trends", "survival"}
"""Methods that need a package of the extra `study`."""
