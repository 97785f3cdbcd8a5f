"""docs/evaluation.md: published protocols, and labels by people (bench/protocols.json, nlbse.json); and the aims."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .evaluation import BALANCED, BY_TIME, EVALUATION, MAIN, PLAIN, interval, minus, reports
from .markdown import cell, code, table
from .places import measured

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

PROTOCOLS = "protocols.json"
"""What bench/protocols.py wrote; its data is not part of the project."""
PER_VIEW = "hybrid, one per view"
NLBSE = "nlbse.json"
"""What bench/nlbse.py wrote."""
MHNURF_AIM, NLBSE_AIM = 0.83, 0.84


def labelled() -> str:
    """What people labelled."""
    found = measured(PROTOCOLS)["labelled"]
    rows = [
        (
            cell(name),
            str(report["texts"]),
            str(len(report["classes"])),
            *(interval(s["macro_f1"]) for s in report["scores"]),
            minus(report, BALANCED),
        )
        for name, report in found.items()
    ]
    names = [s["name"] for s in next(iter(found.values()))["scores"]]
    return table(("texts and labels", "texts:", "classes:", *map(cell, names), f"hybrid minus {BALANCED}"), rows)


def chosen() -> str:
    """The defaults beside settings that are chosen inside each training half; and real bodies, where there are any."""
    found = measured(PROTOCOLS)["gold"]
    names = ("hybrid", "settings chosen inside", BALANCED)
    rows = [
        (
            cell(name),
            *(next((interval(s["macro_f1"]) for s in r["scores"] if s["name"] == who), "") for who in names),
            minus(r, "settings chosen inside", "hybrid"),
        )
        for name, r in found.items()
    ]
    return table(("question and text", "defaults", *names[1:], "defaults minus chosen inside"), rows)


def mhnurf_protocol() -> str:
    """The mhnurf protocol."""
    found = measured(PROTOCOLS)["mhnurf"]
    rows = [(cell(name), f"{one['mean']:.3f}", f"{one['spread']:.3f}") for name, one in found.items()]
    return table(("learner, splits", "mean macro-F1:", "standard deviation over splits:"), rows)


def nlbse_protocol() -> str:
    """NLBSE'24: each way by itself, sets that the other folds chose, and the best set of all."""
    found = measured(NLBSE)["rows"]
    sets = [row for row in found if "ways" in row]
    best = max(sets, key=lambda row: row["mean"])
    shown = [(", ".join(code(way) for way in row["ways"]), row) for row in sets if len(row["ways"]) == 1]
    shown += [("ways that the other four folds choose", _chosen_elsewhere(found))]
    shown += [(f"best of all {len(sets)} sets: {', '.join(code(way) for way in best['ways'])}", best)]
    repos = [name for name in best if "/" in name]
    rows = [(name, *(f"{row[place]:.3f}" for place in ("mean", *repos))) for name, row in shown]
    return table(("averaged", "mean:", *(f"{name.rpartition('/')[2]}:" for name in repos)), rows)


def _chosen_elsewhere(rows: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
    return next(row for row in rows if "chosen" in row)


def aims() -> str:
    """Aim, what came out, and the command that says so."""
    gold, by_time = reports(EVALUATION), reports(BY_TIME)
    run = measured(PROTOCOLS)
    mhnurf = run["mhnurf"]
    published, other = mhnurf[PER_VIEW], mhnurf[f"{PER_VIEW}, other splits"]
    nlbse = _chosen_elsewhere(measured(NLBSE)["rows"])["mean"]
    rows = [
        (
            f"mhnurf protocol: mean macro-F1 of 30 splits at least {MHNURF_AIM}",
            f"{published['mean']:.3f} ({PER_VIEW}); on 30 splits that nothing was chosen on {other['mean']:.3f}",
            "on the published ones"
            if published["mean"] >= MHNURF_AIM > other["mean"]
            else _met(published["mean"] >= MHNURF_AIM),
            "python bench/protocols.py mhnurf",
        ),
        (
            f"NLBSE'24, train half: mean of five macro-F1 at least {NLBSE_AIM}",
            f"{nlbse:.3f} (ways that the other folds choose)",
            _met(nlbse >= NLBSE_AIM),
            "python bench/nlbse.py",
        ),
    ]
    for where, found in (("", gold), (", trained before 2023, tested after", by_time)):
        for name in MAIN if not where else ("consequence",):
            rows += [_beats(name, where, found[name], other) for other in (PLAIN, BALANCED)]
    shown = [(cell(what), cell(here), met, code(command)) for what, here, met, command in rows]
    return table(("aim", "measured [95 %]", "met", "command"), shown)


def _beats(name: str, where: str, report: Mapping[str, Any], other: str) -> tuple[str, str, str, str]:
    """Whether the classifier, by its text alone and with votes, is better than a baseline."""
    ways = [score["name"] for score in report["scores"] if score["name"].startswith("hybrid")]
    lows = {s["name"]: s["differences"][other]["low"] for s in report["scores"] if s["name"] in ways}
    here = "; ".join(f"{way} {minus(report, other, way)}" for way in ways)
    met = "yes" if lows["hybrid"] > 0 else "with votes" if max(lows.values()) > 0 else "**no**"
    return f"{name}{where}: difference to {other} excludes 0", here, met, "make evaluation"


def _met(reached: bool) -> str:
    return "yes" if reached else "**no**"
