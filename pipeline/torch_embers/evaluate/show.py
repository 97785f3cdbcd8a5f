"""What `embers research evaluate` prints and writes."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from torch_embers.console import plain, stdout, table
from torch_embers.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from rich.console import Console
    from rich.table import Table

    from torch_embers.evaluate.compare import Report
    from torch_embers.evaluate.gold_evaluation import Evaluated
    from torch_embers.statistics.metrics import Interval

NUMBER_WIDTH = 4
"""Columns of a number in a confusion matrix."""
DIGITS = 4


def print_evaluated(found: Evaluated) -> None:
    """Print each report, then the agreement of annotators, then what could not be measured."""
    out = stdout()
    for report in found.reports:
        _print_report(out, report)
    if len(found.reports) > 1:
        out.print(_summary(found.reports))
    if found.agreements:
        out.print("\nAgreement of annotators (Cohen's kappa)")
    for a in found.agreements:
        out.print(f"{a.scheme}: {plain(a.one)} and {plain(a.other)}: {plain(a.kappa)} on {a.items:,} items")
    if found.skipped:
        out.print("\nNot measured")
    for reason in found.skipped:
        out.print(plain(reason))


def _summary(reports: Sequence[Report]) -> Table:
    """The last learner of each report, beside the baseline with balanced classes."""
    rows = []
    for report in reports:
        last = report.scores[-1]
        difference = last.differences.get("tfidf+lr balanced", "")
        rows.append((report.task, report.texts, last.name, str(last.macro_f1), str(difference)))
    columns = [("summary", False), ("texts", True), ("learner", False), ("macro-F1", True), ("- tfidf balanced", True)]
    return table("", columns, rows)


def _print_report(out: Console, report: Report) -> None:
    often = f", each answered {report.rounds:.0f} times" if report.rounds > 1 else ""
    out.print(f"\n[bold]{plain(report.task)}[/]: {report.texts:,} texts in {report.groups:,} groups{often}")
    for note in report.notes:
        out.print(f"note: {plain(note)}")
    frame = report.table()
    columns = [(str(name), place > 0) for place, name in enumerate(frame.columns)]
    out.print(table("", columns, frame.astype(str).itertuples(index=False)))
    last = report.scores[-1]
    for name, difference in last.differences.items():
        out.print(f"{plain(last.name)} - {plain(name)}: {plain(difference)}")
    columns = [("class", False), ("texts", True), ("precision", True), ("recall", True), ("F1", True)]
    rows = [(c.name, report.classes[c.name], *map(short, (c.precision, c.recall, c.f1))) for c in last.classes]
    out.print(table(f"\n{plain(last.name)}, class by class", columns, rows))
    out.print(f"\n{plain(last.name)}, confusion: truth in rows, answers in columns, texts")
    for line in confusion_lines(report):
        out.print(plain(line))


def short(value: Interval) -> str:
    """A share with its interval in few columns: ``.80 [.33, 1.0]``."""
    parts = (value.value, value.low, value.high)
    middle, low, high = (f"{part:.2f}".removeprefix("0").replace("1.00", "1.0") for part in parts)
    return f"{middle} [{low}, {high}]"


def confusion_lines(report: Report) -> list[str]:
    """The confusion matrix of the last learner as lines of text; columns are numbered as the rows are.

    A cell without any text is a dot, so that the eye finds the others.
    """
    names = list(report.classes)
    width = max(map(len, names), default=0)
    lines = [" " * (width + 3) + "".join(f"{place:>{NUMBER_WIDTH}}" for place in range(1, len(names) + 1))]
    for place, (name, row) in enumerate(zip(names, report.scores[-1].confusion, strict=True), start=1):
        cells = "".join(f"{round(cell / report.rounds) or '.':>{NUMBER_WIDTH}}" for cell in row)
        lines.append(f"{place:>2} {name:<{width}}{cells}")
    return lines


def write_json(found: Evaluated, path: Path, about: dict[str, Any]) -> None:
    """Write everything that was measured, and how.

    Raises:
        InputError: the file cannot be written.
    """
    content = {
        "about": about,
        "reports": [report.as_dict() for report in found.reports],
        "agreements": [asdict(one) for one in found.agreements],
        "skipped": list(found.skipped),
    }
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(_json(_rounded(content)), encoding="utf-8")
    except OSError as error:
        raise InputError(f"--out {path}: {error.strerror}") from error


def _json(content: dict[str, Any]) -> str:
    """One line for each report, agreement and reason: readable, and small enough to keep."""
    parts = []
    for name, value in content.items():
        entries = value if isinstance(value, list) else [value]
        lines = ",\n".join(json.dumps(entry, separators=(",", ":")) for entry in entries)
        parts.append(f'"{name}":' + (f"[\n{lines}\n]" if isinstance(value, list) else lines))
    return "{" + ",\n".join(parts) + "}\n"


def _rounded(value: Any) -> Any:
    """Numbers to as many places as a score of some hundred texts has, so that a file can be read and compared."""
    if isinstance(value, float):
        return round(value, DIGITS)
    if isinstance(value, dict):
        return {key: _rounded(entry) for key, entry in value.items()}
    return [_rounded(entry) for entry in value] if isinstance(value, list | tuple) else value
