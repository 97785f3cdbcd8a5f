"""docs/evaluation.md: the classifier beside its baselines, from bench/evaluation*.json."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .markdown import cell, code, table
from .places import measured

if TYPE_CHECKING:
    from collections.abc import Mapping

EVALUATION = "evaluation.json"
"""What `make evaluation` wrote: a database that holds the catalog alone, titles, folds cut five times."""
NO_TAGS = "evaluation-no-tags.json"
BY_TIME = "evaluation-time.json"
MAIN = ("bug_type", "memory_type", "consequence")
"""Questions that are shown in full."""
PLAIN, BALANCED = "tfidf+lr", "tfidf+lr balanced"


def reports(name: str) -> dict[str, dict[str, Any]]:
    """Reports of a file of bench/ by what they tell apart."""
    return {report["task"]: report for report in measured(name)["reports"]}


def interval(found: Mapping[str, float]) -> str:
    """A value with its interval of 95 %."""
    return f"{found['value']:.3f} [{found['low']:.3f}, {found['high']:.3f}]"


def minus(report: Mapping[str, Any], other: str, name: str = "") -> str:
    """Difference of a learner (the last one) to another."""
    score = next(s for s in reversed(report["scores"]) if name in ("", s["name"]))
    return interval(score["differences"][other]) if other in score["differences"] else ""


def _scores(report: Mapping[str, Any]) -> str:
    """Every learner of one report."""
    last = report["scores"][-1]
    rows = [
        (
            cell(s["name"]),
            interval(s["macro_f1"]),
            f"{s['accuracy']:.3f}",
            f"{s['calibration_error']:.3f}",
            f"{s['coverage']:.2f}",
            "" if s["precision"] is None else f"{s['precision']:.3f}",
            minus(report, s["name"]),
        )
        for s in report["scores"]
    ]
    heading = f"**{report['task']}**: {report['texts']} items in {report['groups']} groups"
    columns = ("learner", "macro-F1 [95 %]", "accuracy:", "ECE:", "coverage:", "precision:", f"{last['name']} minus it")
    return heading + "\n\n" + table(columns, rows)


def gold() -> str:
    """Every learner on the main questions."""
    found = reports(EVALUATION)
    return "\n\n".join(_scores(found[name]) for name in MAIN)


def others() -> str:
    """The other questions, in a line each, and those that cannot be measured."""
    rows = [
        (
            code(name),
            str(report["texts"]),
            cell(", ".join(f"{value} {count}" for value, count in report["classes"].items() if value != "-")),
            interval(report["scores"][-1]["macro_f1"]),
            minus(report, BALANCED),
        )
        for name, report in reports(EVALUATION).items()
        if name not in MAIN
    ]
    skipped = measured(EVALUATION)["skipped"]
    shown = table(("question", "items:", "classes", "macro-F1 [95 %]", f"minus {BALANCED}"), rows)
    return shown + "\n\nNot measured:\n\n" + "\n".join(f"- {cell(reason)}" for reason in skipped)


def tags() -> str:
    """The main questions with and without bracket tags in the titles."""
    kept, gone = reports(EVALUATION), reports(NO_TAGS)
    rows = [
        (code(name), what, interval(report["scores"][-1]["macro_f1"]), minus(report, BALANCED))
        for name in MAIN
        for what, report in (("with tags", kept[name]), ("without", gone[name]))
    ]
    return table(("question", "titles", "macro-F1 [95 %]", f"minus {BALANCED}"), rows)


def by_time() -> str:
    """The main questions, trained before 2023 and tested after."""
    found = reports(BY_TIME)
    rows = [
        (
            code(name),
            str(found[name]["texts"]),
            cell(score["name"]),
            interval(score["macro_f1"]),
            minus(found[name], PLAIN, score["name"]),
            minus(found[name], BALANCED, score["name"]),
        )
        for name in MAIN
        if name in found
        for score in found[name]["scores"]
        if score["name"].startswith("hybrid")
    ]
    columns = ("question", "tested on:", "learner", "macro-F1 [95 %]", f"minus {PLAIN}", f"minus {BALANCED}")
    return table(columns, rows)


def classes() -> str:
    """Precision, recall and F1 of the last learner, class by class."""
    rows = [
        (
            cell(name),
            code(c["name"]),
            str(report["classes"][c["name"]]),
            *(interval(c[k]) for k in ("precision", "recall", "f1")),
        )
        for name, report in reports(EVALUATION).items()
        if name in MAIN
        for c in report["scores"][-1]["classes"]
    ]
    return table(("question", "class", "items:", "precision [95 %]", "recall [95 %]", "F1 [95 %]"), rows)


def agreement() -> str:
    """Cohen's kappa of every two annotators."""
    found = measured(EVALUATION)
    rows = [
        (cell(a["scheme"]), cell(a["one"]), cell(a["other"]), str(a["items"]), interval(a["kappa"]))
        for a in found["agreements"]
    ]
    return table(("scheme", "one", "other", "items:", "kappa [95 %]"), rows)
