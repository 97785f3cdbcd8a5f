"""Rewrite the generated parts of the documentation: `python tools/docs.py` (`--check`: only name the stale files).

A generated part stands between ``<!-- generated: NAME -->`` and ``<!-- end -->``; everything else is written by hand
and left alone. What is generated comes from the place that decides it: options from the command line's own
declarations, tables from schema.sql, relations and signals from data/*.toml, counts from data/catalog.jsonl, and
examples from commands that are run on a database of the catalog alone.
"""

from __future__ import annotations

import argparse
import atexit
import csv
import inspect
import io
import json
import os
import re
import sys
import tempfile
from collections import Counter
from contextlib import redirect_stdout
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args, get_type_hints
from unittest.mock import patch

import duckdb
import typer
from packaging.version import Version

from torch_embers import __version__, cli, errors, resources
from torch_embers.repro import case as case_files
from torch_embers.repro.case import DEVICES, shipped
from torch_embers.run import verdict
from torch_embers.settings import Settings
from torch_embers.store import schema, views
from torch_embers.store.store import Store
from torch_embers.store.tables import KEYS
from torch_embers.study.claims import checks, claims_table, judge
from torch_embers.study.claims import definitions as claim_files

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from torch_embers.repro.case import Case

ROOT = Path(__file__).resolve().parent.parent
START = "<!-- generated:"
BLOCK = re.compile(r"(<!-- generated: ([a-z0-9-]+) -->\n)(.*?)(<!-- end -->)", re.DOTALL)
EXAMPLE_WIDTH = 96
"""Columns of the terminal in which examples are run: what a code block shows without scrolling."""
GITHUB = "https://github.com/pytorch/pytorch/issues"
ANNOTATORS = (("embers-guide-1", "automated"), ("data-path-study", "paper"))
SECTIONS = ("abstract", "I", "II", "III", "IV", "V", "VI", "VII", "VIII")
SCHEMES = ("bug_type", "memory_type", "memory_subtype", "consequence")
EXAMPLE_CASE = "pt83149_bfloat16_sum_transposed"
COMPUTED_DEFAULTS = {
    "database": "data/embers.duckdb in a checkout, else embers.duckdb in the user's data folder",
    "builds_dir": "builds in the user's data folder",
    "tokens": "GITHUB_TOKEN, else GH_TOKEN",
}
"""Settings whose default depends on the machine, in words."""


class BlockError(Exception):
    """A file has a block without an end, or one that nobody generates."""


# ---- Markdown ------------------------------------------------------------------------------------------------------


def cell(value: object) -> str:
    """Text that stays within one cell of a Markdown table and is shown as it is."""
    text = " ".join(str(value).split())
    return text.replace("<", "&lt;").replace("|", "\\|").replace("*", "\\*")


def code(value: object) -> str:
    """Inline code for a table cell; nothing for nothing."""
    text = " ".join(str(value).split()).replace("|", "\\|")
    return f"`{text}`" if text else ""


def table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table of ready cells; a heading that ends in ``:`` is of a column of numbers."""
    marks = ["---:" if heading.endswith(":") else "---" for heading in headings]
    lines = [[heading.rstrip(":") for heading in headings], marks, *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def fenced(text: str, language: str = "") -> str:
    """A code block."""
    return f"```{language}\n{text.rstrip()}\n```"


# ---- the command line ----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Option:
    """An option or argument of a command."""

    names: tuple[str, ...]
    value: str
    default: str
    meaning: str


def commands() -> dict[str, Callable[..., Any]]:
    """The function behind each command, in the order of ``embers --help``; those of a group as ``group command``."""
    found = _functions(cli.app)
    for group in cli.app.registered_groups:
        if group.typer_instance:
            found |= {f"{group.name} {name}": made for name, made in _functions(group.typer_instance).items()}
    return found


def _functions(app: typer.Typer) -> dict[str, Callable[..., Any]]:
    found = {}
    for info in app.registered_commands:
        if info.callback:
            found[info.name or info.callback.__name__.replace("_", "-")] = info.callback
    return found


def _value_of(hint: Any, declared: Any) -> str:
    """What to write behind an option, by the type of its parameter."""
    kinds = {kind for kind in (hint, *get_args(hint)) if isinstance(kind, type)}
    if bool in kinds:
        return "none (a switch)"
    word = "path" if Path in kinds else "number" if kinds & {int, float} else "text"
    least = getattr(declared, "min", None)
    word += f", at least {least}" if least is not None else ""
    repeatable = any(get_args(part) for part in get_args(hint))
    return f"{word}, repeatable" if repeatable else word


def options(command: str) -> list[Option]:
    """Options and arguments of a command: names, help and defaults as Typer has them, types from the function."""
    declared_command: Any = typer.main.get_command(cli.app)
    for word in command.split():
        declared_command = declared_command.commands[word]
    hints = get_type_hints(commands()[command], include_extras=True)
    found = []
    for parameter in declared_command.params:
        hint, declared = get_args(hints[parameter.name])
        text = parameter.help or ""
        # a default in words stands where the settings decide it
        words = parameter.show_default if isinstance(parameter.show_default, str) else ""
        default = words or ("required" if parameter.required else _default(parameter.default))
        argument = parameter.param_type_name == "argument"
        names = (parameter.name.upper(),) if argument else (*parameter.opts, *parameter.secondary_opts)
        found.append(Option(names, _value_of(hint, declared), default, text))
    return found


def _default(value: object) -> str:
    return "" if value in (None, False, ()) else str(value)


def options_table(command: str) -> str:
    """The options of a command as a table."""
    rows = [
        (", ".join(code(name) for name in option.names), cell(option.value), cell(option.default), cell(option.meaning))
        for option in options(command)
    ]
    return table(("option", "value", "default", "meaning"), rows)


def commands_table() -> str:
    """All commands, groups as one, with the first line of their help."""
    group: Any = typer.main.get_command(cli.app)
    rows = [
        (f"[`embers {name}`](commands/{name}.md)", cell(declared.help.splitlines()[0]))
        for name, declared in group.commands.items()
    ]
    return table(("command", "what it does"), rows)


def settings_table() -> str:
    """Every setting with its key, environment variable and default."""
    rows = []
    for name, field in Settings.model_fields.items():
        default = COMPUTED_DEFAULTS.get(name, field.default)
        rows.append((code(name), code(f"EMBERS_{name.upper()}"), cell(default), cell(field.description or "")))
    return table(("key in embers.toml", "environment", "default", "meaning"), rows)


def named_errors() -> list[type[errors.EmbersError]]:
    """Every error that embers raises on purpose, by exit code, then in the order of errors.py."""
    found = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, errors.EmbersError)]
    return sorted(found, key=lambda kind: kind.exit_code)


def errors_table() -> str:
    """The named errors with their exit code."""
    rows = [
        (str(kind.exit_code), code(kind.__name__), cell((inspect.getdoc(kind) or "").split("\n\n")[0]))
        for kind in named_errors()
        if kind is not errors.EmbersError
    ]
    return table(("code:", "error", "when"), rows)


# ---- examples, run for real ----------------------------------------------------------------------------------------


@cache
def _catalog_folder() -> tempfile.TemporaryDirectory[str]:
    """A folder with a database of the catalog alone; removed when the process ends."""
    folder = tempfile.TemporaryDirectory(prefix="embers-docs-")
    atexit.register(folder.cleanup)
    run("mine", "--source", "catalog", "--database", f"{folder.name}/e.duckdb")
    return folder


def run(*arguments: str) -> str:
    """What a command prints in a terminal of ``EXAMPLE_WIDTH`` columns.

    Raises:
        BlockError: it failed.
    """
    printed = io.StringIO()
    outside = {name: value for name, value in os.environ.items() if not name.startswith("EMBERS_")}
    plain = {**outside, "COLUMNS": str(EXAMPLE_WIDTH), "NO_COLOR": "1"}
    with patch.dict(os.environ, plain, clear=True), redirect_stdout(printed):
        try:
            cli.main(list(arguments))
        except SystemExit as stop:
            if stop.code:
                raise BlockError(f"`embers {' '.join(arguments)}` ended with {stop.code}") from stop
    return "\n".join(line.rstrip() for line in printed.getvalue().strip("\n").splitlines())


def example(*arguments: str) -> str:
    """A command and what it prints on a database that holds the catalog alone."""
    output = run(*arguments, "--database", f"{_catalog_folder().name}/e.duckdb")
    return fenced(f"$ embers {' '.join(arguments)}\n{output}", "console")


# ---- the database --------------------------------------------------------------------------------------------------


@cache
def _empty_database() -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect()
    schema.upgrade(connection, "2000-01-01T00:00:00", __version__)  # with migrations; the date is not shown
    views.refresh(connection)
    return connection


def _columns(name: str) -> list[tuple[str, str, str]]:
    query = """SELECT column_name, data_type, coalesce(comment, '') FROM duckdb_columns()
               WHERE table_name = ? AND NOT internal ORDER BY column_index"""
    return [(str(a), str(b), str(c)) for a, b, c in _empty_database().execute(query, [name]).fetchall()]


def _relations_of(kind: str) -> list[tuple[str, str]]:
    query = f"SELECT {kind}_name, coalesce(comment, '') FROM duckdb_{kind}s() WHERE NOT internal ORDER BY {kind}_oid"
    return [(str(a), str(b)) for a, b in _empty_database().execute(query).fetchall()]


def tables() -> str:
    """Every table with its key and columns."""
    parts = []
    for name, comment in _relations_of("table"):
        key = KEYS.get(name, ())
        about = f"{cell(comment)} Key: {', '.join(code(k) for k in key)}." if key else cell(comment)
        rows = [(code(column), kind, cell(meaning)) for column, kind, meaning in _columns(name)]
        parts.append(f"### {name}\n\n{about}\n\n{table(('column', 'type', 'meaning'), rows)}")
    return "\n\n".join(parts)


def view_list() -> str:
    """Every view with its columns."""
    parts = []
    for name, comment in sorted(_relations_of("view")):
        shown = ", ".join(f"{code(column)} {kind}" for column, kind, _ in _columns(name))
        parts.append(f"### {name}\n\n{cell(comment)}\n\nColumns: {shown}.")
    return "\n\n".join(parts)


# ---- the catalog ---------------------------------------------------------------------------------------------------


@cache
def entries() -> tuple[dict[str, Any], ...]:
    """The lines of data/catalog.jsonl."""
    text = resources.data_file("catalog.jsonl").read_text(encoding="utf-8")
    return tuple(json.loads(line) for line in text.splitlines() if line.strip())


def _labels(entry: Mapping[str, Any], annotator: str) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for label in entry["taxonomy"]:
        if label["annotator"] == annotator:
            found.setdefault(label["scheme"], set()).add(label["value"])
    return found


def catalog_facts() -> str:
    """How many entries there are, and for how many each fact is known."""
    total = len(entries())
    lists = ("labels", "fix_prs", "fix_files", "related", "affected_versions", "fixed_versions", "backends")
    known = {name: sum(bool(entry[name]) for entry in entries()) for name in (*lists, "created_at", "closed_at")}
    known["state_reason"] = sum(entry["state_reason"] is not None for entry in entries())
    counted = [(what, str(n)) for what, n in sorted(Counter(f"{e['state']} {e['kind']}s" for e in entries()).items())]
    rows = [("entries", str(total)), *counted]
    rows += [(f"with {code(name)}", f"{n} ({n / total:.0%})") for name, n in known.items()]
    return table(("what", "count:"), rows)


def catalog_sources() -> str:
    """How many entries rest on each kind of source, and which backends they concern."""
    sources = Counter(name for entry in entries() for name in entry["facts_from"])
    backends = Counter(name for entry in entries() for name in entry["backends"])
    relations = Counter(other["relation"] for entry in entries() for other in entry["related"])
    parts = (("source of facts", sources), ("backend", backends), ("relation stated", relations))
    made = [table((what, "entries:"), [(code(n), str(k)) for n, k in counts.most_common()]) for what, counts in parts]
    return "\n\n".join(made)


def catalog_classes() -> str:
    """Entries per class and annotator."""
    counts = Counter(
        (label["scheme"], label["value"], label["annotator"]) for entry in entries() for label in entry["taxonomy"]
    )
    rows: list[tuple[str, ...]] = []
    for scheme in SCHEMES:
        values = {value for found, value, _ in counts if found == scheme}
        ranked = sorted(values, key=lambda v: (-counts[scheme, v, ANNOTATORS[0][0]], v))
        rows += [(code(scheme), code(v), *(str(counts[scheme, v, who]) for who, _ in ANNOTATORS)) for v in ranked]
    headings = ("scheme", "class", *(f"{who} ({kind}):" for who, kind in ANNOTATORS))
    return table(headings, rows)


def catalog_agreement() -> str:
    """Where both annotators labelled an entry: how often they chose the same class."""
    rows = []
    for scheme in SCHEMES:
        both = [
            (ours[scheme], theirs[scheme])
            for entry in entries()
            if scheme in (ours := _labels(entry, ANNOTATORS[0][0]))
            and scheme in (theirs := _labels(entry, ANNOTATORS[1][0]))
        ]
        rows.append((code(scheme), str(len(both)), str(sum(bool(a & b) for a, b in both))))
    return table(("scheme", "labelled by both:", "same class:"), rows)


def mps_status() -> str:
    """The entries of data/mps_status.toml with their issues."""
    state = {entry["number"]: entry["state"] for entry in entries()}
    rows = []
    for entry in resources.load_toml("mps_status.toml")["entry"]:
        issues = [f"[#{n}]({GITHUB}/{n}){' (open)' if state.get(n) == 'open' else ''}" for n in entry.get("issues", ())]
        found = ", ".join(issues) or "none found"
        rows.append((f"{entry['section']} {entry['item']}", cell(entry["topic"]), found, cell(entry["reason"])))
    return table(("statement", "topic", "issues", "why these"), rows)


# ---- links, components, candidates ---------------------------------------------------------------------------------


def relations_table() -> str:
    """Relations of data/relations.toml, strongest first."""
    found = sorted(resources.load_toml("relations.toml")["relation"], key=lambda r: -r["rank"])
    rows = [
        (code(r["name"]), str(r["rank"]), r["strength"], cell(r["forward"]), cell(r["backward"]), cell(r["meaning"]))
        for r in found
    ]
    return table(("relation", "rank:", "strength", "from the source", "from the target", "meaning"), rows)


def phrases() -> str:
    """Rules by which texts state relations, in the order in which they are tried."""
    book = resources.load_toml("relations.toml")
    rows = []
    for rule in (*book["block"], *book["rule"]):
        where = ", ".join(rule.get("kinds", ["any"])) + (f" ({rule['where']})" if "where" in rule else "")
        inverse = " (the other way round)" if rule.get("inverse") else ""
        rows.append((code(rule["id"]), code(rule["relation"]) + inverse, where, cell(rule["reason"])))
    return table(("rule", "relation", "texts", "what it recognises, or why it is there"), rows)


def ignored() -> str:
    """Forms that look like a reference and are none."""
    rows = [(code(entry["id"]), cell(entry["reason"])) for entry in resources.load_toml("relations.toml")["ignore"]]
    return table(("form", "why it is no reference"), rows)


def subcomponents() -> str:
    """Parts of PyTorch with the number of entries that lead to each."""
    book = resources.load_toml("components.toml")
    counts = {kind: Counter(entry["sub"] for entry in book[kind]) for kind in ("path", "label", "text")}
    strict = {entry["sub"] for entry in book["path"] if entry.get("strict")}
    rows = [
        (
            code(part["name"]),
            code(part["component"]),
            "yes" if part["name"] in strict else "",
            cell(part["meaning"]),
            *(str(counts[kind][part["name"]]) for kind in counts),
        )
        for part in book["subcomponent"]
    ]
    return table(("sub-component", "component", "strict paths", "what it is", "paths:", "labels:", "texts:"), rows)


def strict_paths() -> str:
    """Paths of the strict data path."""
    rows = [
        (code(entry["path"]), code(entry["sub"]), cell(entry["reason"]))
        for entry in resources.load_toml("components.toml")["path"]
        if entry.get("strict")
    ]
    return table(("path", "sub-component", "reason"), rows)


def candidate() -> str:
    """What makes a candidate."""
    book = resources.load_toml("candidates.toml")
    facts = book["facts"]
    rows = [(code(name), cell(facts[f"{name}_reason"])) for name in facts if f"{name}_reason" in facts]
    condition = fenced(book["candidate"]["where"], "sql")
    return f"{cell(book['candidate']['reason'])}\n\n{condition}\n\n{table(('fact', 'what it means'), rows)}"


def signals() -> str:
    """What makes an item a report of wrong behaviour."""
    rows = [
        (code(s["id"]), s["from"], code(s["consequence"]), cell(s["reason"]))
        for s in resources.load_toml("candidates.toml")["signal"]
    ]
    return table(("signal", "read from", "consequence", "reason"), rows)


def funnel_stages() -> str:
    """The funnel's stages with the study's counts."""
    rows = [
        (str(place), code(s["name"]), f"{s['study']:,}", code(s["where"]), cell(s["reason"]))
        for place, s in enumerate(resources.load_toml("candidates.toml")["stage"], start=1)
    ]
    return table(("stage:", "name", "study:", "condition, added to those above", "what is counted"), rows)


# ---- evaluation ----------------------------------------------------------------------------------------------------

EVALUATION = ROOT / "bench" / "evaluation.json"
"""What `make evaluation` wrote: a database that holds the catalog alone, titles, folds cut five times."""
NO_TAGS = ROOT / "bench" / "evaluation-no-tags.json"
BY_TIME = ROOT / "bench" / "evaluation-time.json"
PROTOCOLS = ROOT / "bench" / "protocols.json"
"""What bench/protocols.py wrote; its data is not part of the project."""
MAIN = ("bug_type", "memory_type", "consequence")
"""Questions that are shown in full."""
PLAIN, BALANCED = "tfidf+lr", "tfidf+lr balanced"
MHNURF_AIM, NLBSE_AIM = 0.83, 0.84


def _reports(path: Path) -> dict[str, dict[str, Any]]:
    """Reports of a file by what they tell apart."""
    return {report["task"]: report for report in json.loads(path.read_text(encoding="utf-8"))["reports"]}


def _interval(found: Mapping[str, float]) -> str:
    return f"{found['value']:.3f} [{found['low']:.3f}, {found['high']:.3f}]"


def _minus(report: Mapping[str, Any], other: str, name: str = "") -> str:
    """Difference of a learner (the last one) to another."""
    score = next(s for s in reversed(report["scores"]) if name in ("", s["name"]))
    return _interval(score["differences"][other]) if other in score["differences"] else ""


def _scores(report: Mapping[str, Any]) -> str:
    """Every learner of one report."""
    last = report["scores"][-1]
    rows = [
        (
            cell(s["name"]),
            _interval(s["macro_f1"]),
            f"{s['accuracy']:.3f}",
            f"{s['calibration_error']:.3f}",
            f"{s['coverage']:.2f}",
            "" if s["precision"] is None else f"{s['precision']:.3f}",
            _minus(report, s["name"]),
        )
        for s in report["scores"]
    ]
    heading = f"**{report['task']}**: {report['texts']} items in {report['groups']} groups"
    columns = ("learner", "macro-F1 [95 %]", "accuracy:", "ECE:", "coverage:", "precision:", f"{last['name']} minus it")
    return heading + "\n\n" + table(columns, rows)


def evaluation_gold() -> str:
    """Every learner on the main questions."""
    found = _reports(EVALUATION)
    return "\n\n".join(_scores(found[name]) for name in MAIN)


def evaluation_others() -> str:
    """The other questions, in a line each, and those that cannot be measured."""
    rows = [
        (
            code(name),
            str(report["texts"]),
            cell(", ".join(f"{value} {count}" for value, count in report["classes"].items() if value != "-")),
            _interval(report["scores"][-1]["macro_f1"]),
            _minus(report, BALANCED),
        )
        for name, report in _reports(EVALUATION).items()
        if name not in MAIN
    ]
    skipped = json.loads(EVALUATION.read_text(encoding="utf-8"))["skipped"]
    shown = table(("question", "items:", "classes", "macro-F1 [95 %]", f"minus {BALANCED}"), rows)
    return shown + "\n\nNot measured:\n\n" + "\n".join(f"- {cell(reason)}" for reason in skipped)


def evaluation_tags() -> str:
    """The main questions with and without bracket tags in the titles."""
    kept, gone = _reports(EVALUATION), _reports(NO_TAGS)
    rows = [
        (code(name), what, _interval(report["scores"][-1]["macro_f1"]), _minus(report, BALANCED))
        for name in MAIN
        for what, report in (("with tags", kept[name]), ("without", gone[name]))
    ]
    return table(("question", "titles", "macro-F1 [95 %]", f"minus {BALANCED}"), rows)


def evaluation_time() -> str:
    """The main questions, trained before 2023 and tested after."""
    found = _reports(BY_TIME)
    rows = [
        (
            code(name),
            str(found[name]["texts"]),
            cell(score["name"]),
            _interval(score["macro_f1"]),
            _minus(found[name], PLAIN, score["name"]),
            _minus(found[name], BALANCED, score["name"]),
        )
        for name in MAIN
        if name in found
        for score in found[name]["scores"]
        if score["name"].startswith("hybrid")
    ]
    columns = ("question", "tested on:", "learner", "macro-F1 [95 %]", f"minus {PLAIN}", f"minus {BALANCED}")
    return table(columns, rows)


def evaluation_classes() -> str:
    """Precision, recall and F1 of the last learner, class by class."""
    rows = [
        (
            cell(name),
            code(c["name"]),
            str(report["classes"][c["name"]]),
            *(_interval(c[k]) for k in ("precision", "recall", "f1")),
        )
        for name, report in _reports(EVALUATION).items()
        if name in MAIN
        for c in report["scores"][-1]["classes"]
    ]
    return table(("question", "class", "items:", "precision [95 %]", "recall [95 %]", "F1 [95 %]"), rows)


def evaluation_agreement() -> str:
    """Cohen's kappa of every two annotators."""
    found = json.loads(EVALUATION.read_text(encoding="utf-8"))
    rows = [
        (cell(a["scheme"]), cell(a["one"]), cell(a["other"]), str(a["items"]), _interval(a["kappa"]))
        for a in found["agreements"]
    ]
    return table(("scheme", "one", "other", "items:", "kappa [95 %]"), rows)


def evaluation_labelled() -> str:
    """What people labelled."""
    found = json.loads(PROTOCOLS.read_text(encoding="utf-8"))["labelled"]
    rows = [
        (
            cell(name),
            str(report["texts"]),
            str(len(report["classes"])),
            *(_interval(s["macro_f1"]) for s in report["scores"]),
            _minus(report, BALANCED),
        )
        for name, report in found.items()
    ]
    names = [s["name"] for s in next(iter(found.values()))["scores"]]
    return table(("texts and labels", "texts:", "classes:", *map(cell, names), f"hybrid minus {BALANCED}"), rows)


def evaluation_chosen() -> str:
    """The defaults beside settings that are chosen inside each training half; and real bodies, where there are any."""
    found = json.loads(PROTOCOLS.read_text(encoding="utf-8"))["gold"]
    names = ("hybrid", "settings chosen inside", BALANCED)
    rows = [
        (
            cell(name),
            *(next((_interval(s["macro_f1"]) for s in r["scores"] if s["name"] == who), "") for who in names),
            _minus(r, "settings chosen inside", "hybrid"),
        )
        for name, r in found.items()
    ]
    return table(("question and text", "defaults", *names[1:], "defaults minus chosen inside"), rows)


def evaluation_mhnurf() -> str:
    """The mhnurf protocol."""
    found = json.loads(PROTOCOLS.read_text(encoding="utf-8"))["mhnurf"]
    rows = [(cell(name), f"{one['mean']:.3f}", f"{one['spread']:.3f}") for name, one in found.items()]
    return table(("learner, splits", "mean macro-F1:", "standard deviation over splits:"), rows)


def evaluation_aims() -> str:
    """Aim, what came out, and the command that says so."""
    gold, by_time = _reports(EVALUATION), _reports(BY_TIME)
    run = json.loads(PROTOCOLS.read_text(encoding="utf-8"))
    mhnurf = run["mhnurf"]
    published, other = mhnurf["hybrid"], mhnurf["hybrid, other splits"]
    best = max(
        ((name, one["mean"]) for name, one in run["nlbse"].items() if "grouped" not in name), key=lambda one: one[1]
    )
    rows = [
        (
            f"mhnurf protocol: mean macro-F1 of 30 splits at least {MHNURF_AIM}",
            f"{published['mean']:.3f}; on 30 splits that nothing was chosen on {other['mean']:.3f}",
            "on the published ones"
            if published["mean"] >= MHNURF_AIM > other["mean"]
            else _met(published["mean"] >= MHNURF_AIM),
            "python bench/protocols.py mhnurf",
        ),
        (
            f"NLBSE'24, train half: mean of five macro-F1 at least {NLBSE_AIM}",
            f"{best[1]:.3f} ({best[0]})",
            _met(best[1] >= NLBSE_AIM),
            "python bench/protocols.py nlbse --tuned",
        ),
    ]
    for where, reports in (("", gold), (", trained before 2023, tested after", by_time)):
        for name in MAIN if not where else ("consequence",):
            rows += [_beats(name, where, reports[name], other) for other in (PLAIN, BALANCED)]
    shown = [(cell(what), cell(here), met, code(command)) for what, here, met, command in rows]
    return table(("aim", "measured [95 %]", "met", "command"), shown)


def _beats(name: str, where: str, report: Mapping[str, Any], other: str) -> tuple[str, str, str, str]:
    """Whether the classifier, by its text alone and with votes, is better than a baseline."""
    ways = [score["name"] for score in report["scores"] if score["name"].startswith("hybrid")]
    lows = {s["name"]: s["differences"][other]["low"] for s in report["scores"] if s["name"] in ways}
    here = "; ".join(f"{way} {_minus(report, other, way)}" for way in ways)
    met = "yes" if lows["hybrid"] > 0 else "with votes" if max(lows.values()) > 0 else "**no**"
    return f"{name}{where}: difference to {other} excludes 0", here, met, "make evaluation"


def _met(reached: bool) -> str:
    return "yes" if reached else "**no**"


# ---- cases, runs, builds -------------------------------------------------------------------------------------------


@cache
def bank() -> tuple[Case, ...]:
    """The cases of data/cases."""
    return tuple(shipped())


@cache
def _measured() -> list[Version]:
    """Every version that a case was measured on, as far as the cases tell, oldest first."""
    texts = {text for case in bank() for text in (*case.known_bad, *([case.fixed_in] if case.fixed_in else []))}
    return sorted(map(Version, texts))


def ranges(versions: Sequence[str], known: Sequence[Version]) -> str:
    """Versions in words, neighbours of ``known`` as a range: ``1.13.1, 2.1.2 to 2.3.1``."""
    places = sorted(known.index(Version(version)) for version in versions)
    runs: list[list[int]] = []
    for place in places:
        if runs and runs[-1][-1] == place - 1:
            runs[-1].append(place)
        else:
            runs.append([place])
    return ", ".join(str(known[r[0]]) + (f" to {known[r[-1]]}" if len(r) > 1 else "") for r in runs)


def _issue(repo: str, number: int) -> str:
    return f"[{'' if f'{repo}/' in f'{GITHUB}/' else repo}#{number}](https://github.com/{repo}/issues/{number})"


def _class(case: Case) -> str:
    return case.labels.get("memory_type") or case.labels.get("bug_type", "")


def case_example() -> str:
    """A whole case file."""
    [case] = [case for case in bank() if case.name == EXAMPLE_CASE]
    return fenced(case.code, "python")


def cases_table() -> str:
    """Every case with its facts."""
    rows = [
        (
            f"[`{case.name}`](../data/cases/{case.name}.py)",
            ", ".join(_issue(*issue) for issue in case.issues),
            code(_class(case)),
            ", ".join(code(need) for need in case.needs),
            ranges(case.known_bad, _measured()),
            case.fixed_in or "",
        )
        for case in sorted(bank(), key=lambda one: (one.issues[0][1], one.name))
    ]
    return table(("case", "items", "class", "needs", "occurs on", "gone from"), rows)


def cases_counted() -> str:
    """How many cases there are, by class and by the device that they need."""
    devices = list(DEVICES)
    counts = Counter((_class(case), case.device) for case in bank())
    classes = sorted({name for name, _ in counts}, key=lambda name: (-sum(counts[name, d] for d in devices), name))
    rows = [
        (code(n), *(str(counts[n, d] or "") for d in devices), str(sum(counts[n, d] for d in devices))) for n in classes
    ]
    total = Counter(case.device for case in bank())
    rows.append(("all", *(str(total[device]) for device in devices), str(len(bank()))))
    return table(("class", *(f"{device}:" for device in devices), "cases:"), rows)


def uncovered() -> str:
    """Issues that have no case for a stated reason."""
    rows = [(_issue(*item), cell(reason)) for item, reason in sorted(case_files.uncovered().items())]
    return table(("issue", "why it has no case"), rows)


def verdict_numbers() -> str:
    """Numbers of data/verdicts.toml with their reasons; a reason may stand for all keys that begin like it."""
    runs = resources.load_toml("verdicts.toml")["runs"]
    reasons = {key.removesuffix("_reason"): text for key, text in runs.items() if key.endswith("_reason")}
    rows = []
    for key, value in runs.items():
        if not key.endswith("_reason"):
            stem = max((s for s in reasons if key == s or key.startswith(f"{s}_")), key=len)
            rows.append((code(key), f"{value:g}", cell(reasons[stem])))
    return table(("number", "value:", "why"), rows)


def verdict_runs() -> str:
    """What a control asks for: clean runs, and the rate that they would have shown."""
    rules = verdict.Rules.load()
    rows = []
    for hits, runs in ((10, 10), (9, 10), (7, 10), (5, 10), (3, 10), (2, 10), (1, 10), (3, 3), (2, 3), (1, 3)):
        needed = verdict.runs_needed(hits, runs, rules) or 0
        proof = needed <= rules.most
        made = min(needed, rules.most)
        rows.append(
            (
                f"{hits}/{runs}",
                f"{verdict.lower_bound(hits, runs, rules.confidence):.3f}",
                f"{needed:,}",
                f"{verdict.detectable_rate(made, rules):.3f}",
                "`absent`" if proof else f"`not_seen`: {made} runs are made",
            )
        )
    return table(("control", "rate at least:", "clean runs asked for:", "they would show:", "all of them clean"), rows)


def excuses() -> str:
    """Exceptions that speak of the script."""
    found = resources.load_toml("verdicts.toml")["cannot_run"]
    rows = [(code(e["type"]), code(e.get("message", "")), cell(e["reason"])) for e in found]
    return table(("exception", "with the words", "what it says"), rows)


def _commented(section: str) -> list[tuple[str, str]]:
    """Keys of one section of data/sandbox.toml with the comment above each: there the reasons are comments."""
    found, comment, here = [], [], False
    for line in resources.data_file("sandbox.toml").read_text(encoding="utf-8").splitlines():
        if line.startswith("["):
            here, comment = line == f"[{section}]", []
        elif line.startswith("#"):
            comment.append(line.removeprefix("#").strip())
        elif here and "=" in line:
            found.append((line.partition("=")[0].strip(), " ".join(comment)))
            comment = []
    return found


def sandbox_limits() -> str:
    """Limits of data/sandbox.toml."""
    limits = resources.load_toml("sandbox.toml")["limits"]
    rows = [(code(key), _amount(limits[key]), cell(why)) for key, why in _commented("limits")]
    return table(("limit", "value:", "why"), rows)


def _amount(value: float) -> str:
    """A number; what is a multiple of 64 KiB is bytes."""
    if isinstance(value, int) and value % (1 << 16) == 0:
        sizes = (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10))
        return next(f"{value // factor} {unit}" for unit, factor in sizes if value % factor == 0)
    return f"{value:g}"


def sandbox_environment() -> str:
    """The variables that a run sees; their values are paths of the sandbox."""
    return ", ".join(code(name) for name in resources.load_toml("sandbox.toml")["environment"])


def sandbox_calls() -> str:
    """System calls that a run may not make, by reason."""
    parts: dict[str, list[str]] = {}
    why = ""
    for name, comment in _commented("seccomp.denied"):
        why = comment or why
        parts.setdefault(why, []).append(name)
    rows = [(cell(why), ", ".join(code(name) for name in names)) for why, names in parts.items()]
    return table(("why", "calls"), rows)


def companions() -> str:
    """Packages beside torch."""
    rows = [
        (code(e["torch"]), ", ".join(code(package) for package in e["packages"]), cell(e["reason"]))
        for e in resources.load_toml("builds.toml")["companion"]
    ]
    return table(("torch", "packages", "why"), rows)


def extraction_reasons() -> str:
    """Why no script can be made of an item."""
    found = resources.load_toml("extraction.toml")["reason"]
    return table(
        ("reason", "what it says", "why"), [(code(e["id"]), cell(e["text"]), cell(e["reason"])) for e in found]
    )


def extraction_edits() -> str:
    """Everything that is done to a reported script."""
    found = resources.load_toml("extraction.toml")["action"]
    return table(("edit", "why"), [(code(e["id"]), cell(e["reason"])) for e in found])


# ---- extraction of real texts, measured ------------------------------------------------------------------------------


def _extraction() -> dict[str, Any]:
    found: dict[str, Any] = json.loads((ROOT / "bench" / "extraction.json").read_text(encoding="utf-8"))
    return found


def _share(part: int, whole: int) -> str:
    """``77 of 99 (78 %)``."""
    return f"{part:,} of {whole:,} ({100 * part / whole:.0f} %)" if whole else "none"


def extraction_shares() -> str:
    """What share of the texts gives a script, and what share of the scripts shows what was reported."""
    sets = _extraction()["sets"]
    lines: tuple[tuple[str, str, str], ...] = (
        ("items with a runnable script", "runnable", "items"),
        ("of the items with code", "runnable_with_code", "with_code"),
        ("scripts that need no accelerator, and were run", "ran", "runnable"),
        ("run, and the report tells what to see", "tells", "ran"),
        ("of these, some run could be held against it", "comparable", "tells"),
        ("the reported failure shows on some build, of all that were run", "shown", "ran"),
        ("the same, of those that could be compared", "comparable_shown", "comparable"),
    )
    rows = [(what, *(_share(own[part], own[whole]) for own in sets.values())) for what, part, whole in lines]
    return table(("", *(code(name) for name in sets)), rows)


def extraction_measured() -> str:
    """How often each reason is given."""
    sets = _extraction()["sets"]
    meaning = {e["id"]: e["text"] for e in resources.load_toml("extraction.toml")["reason"]}
    names = sorted(
        {n for own in sets.values() for n in own["reasons"]}, key=lambda n: (-_summed(sets, "reasons", n), n)
    )
    rows = [(code(n), cell(meaning[n]), *(_with_code(own, n) for own in sets.values())) for n in names]
    return table(("reason", "what it says", *(f"{code(name)}:" for name in sets)), rows)


def _summed(sets: Mapping[str, Any], group: str, name: str) -> int:
    return sum(own[group].get(name, 0) for own in sets.values())


def _with_code(own: Mapping[str, Any], name: str) -> str:
    return f"{own['reasons'].get(name, 0)} ({own['reasons_with_code'].get(name, 0)})"


def extraction_edits_counted() -> str:
    """How many scripts each edit action touched."""
    sets = _extraction()["sets"]
    rows = [
        (code(e["id"]), cell(e["reason"]), *(str(own["edits"].get(e["id"], 0)) for own in sets.values()))
        for e in resources.load_toml("extraction.toml")["action"]
    ]
    return table(("edit", "why", *(f"{code(name)}:" for name in sets)), rows)


def extraction_outcomes() -> str:
    """Outcomes by data set and build."""
    sets = _extraction()["sets"]
    names = [*verdict.OUTCOMES, "flaky"]
    seen = [n for n in names if any(found.get(n) for own in sets.values() for found in own["outcomes"].values())]
    rows = [
        (code(name), cell(build), *(str(found.get(n, 0)) for n in seen))
        for name, own in sets.items()
        for build, found in own["outcomes"].items()
    ]
    return table(("data set", "build", *(f"{n}:" for n in seen)), rows)


def extraction_silent() -> str:
    """Best outcome of the scripts that did not show what was reported."""
    sets = _extraction()["sets"]
    names = sorted({n for own in sets.values() for n in own["silent"]}, key=lambda n: (-_summed(sets, "silent", n), n))
    rows = [(n.replace("_", " "), *(str(own["silent"].get(n, 0)) for own in sets.values())) for n in names]
    return table(("best outcome on any build", *(f"{code(name)}:" for name in sets)), rows)


def _minimised() -> dict[str, Any]:
    found: dict[str, Any] = json.loads((ROOT / "bench" / "minimize.json").read_text(encoding="utf-8"))
    return found


def minimised_scripts() -> str:
    """Size before and after, tests and time."""
    rows = []
    for one in _minimised()["scripts"]:
        (before, after), (lines, left) = one["characters"], one["lines"]
        change = f"{before:,} -> {after:,} ({100 * after / before:.0f} %)"
        issue = f"[{one['number']}]({GITHUB}/{one['number']})"
        shows = cell(one["shows"][:60])
        rows.append(
            (issue, one["build"], shows, change, f"{lines} -> {left}", str(one["tests"]), f"{one['minutes']:.1f}")
        )
    return table(("issue", "build", "failure kept", "characters:", "lines:", "tests:", "minutes:"), rows)


def minimised_summary() -> str:
    """All of them in a sentence."""
    scripts = _minimised()["scripts"]
    kept = sorted(one["characters"][1] / one["characters"][0] for one in scripts)
    tests = sorted(one["tests"] for one in scripts)
    agree = sum(one["agree"]["runnable"] == one["agree"]["minimal"] == "reproduced" for one in scripts)
    return (
        f"{len(scripts)} scripts; the median keeps {100 * kept[len(kept) // 2]:.0f} % of its characters after "
        f"{tests[len(tests) // 2]} tests, the slowest took {max(one['minutes'] for one in scripts):.1f} minutes. "
        f"Runnable and minimal text agreed in {agree} of {len(scripts)}."
    )


def minimised_ways() -> str:
    """The same scripts by other ways."""
    found = _minimised()
    usual = {one["number"]: one for one in found["scripts"]}
    rivals = {(one["number"], one["way"]): one for one in found["compared"]}
    ways = list(dict.fromkeys(way for _, way in rivals))
    rows = []
    for number in dict.fromkeys(number for number, _ in rivals):
        own = usual[number]
        cells = [f"{own['characters'][1]} in {own['tests']:,}"]
        for way in ways:
            one = rivals.get((number, way))
            mark = " (stopped)" if one and one["stopped"] else ""
            cells.append(f"{one['characters']} in {one['tests']:,}{mark}" if one else "")
        rows.append((f"[{number}]({GITHUB}/{number})", str(own["characters"][0]), *cells))
    return table(("issue", "before:", "embers:", *(f"{way}:" for way in ways)), rows)


# ---- the study -----------------------------------------------------------------------------------------------------


@cache
def claims_report() -> judge.Report:
    """The study's claims against a database of the catalog alone."""
    return judge.on_store(Store(Path(_catalog_folder().name) / "e.duckdb"))


def claims_counted() -> str:
    """How many claims have each verdict, by what our figure rests on."""
    report = claims_report()
    rows = [
        (
            cell(basis),
            cell(claims_table.BASES.get(basis, "none: the row names what is missing, or is impossible by itself")),
            *map(str, counts),
        )
        for basis, counts in claims_table.by_basis(report)
    ]
    total = [str(report.verdicts[verdict]) for verdict in judge.VERDICTS]
    rows.append(("all", f"{len(report.results)} claims; {report.frame.words}", *total))
    return table(("our figure", "rests on", *(f"{code(verdict)}:" for verdict in judge.VERDICTS)), rows)


def claims_rules() -> str:
    """Verdicts, rules of comparison and consistency checks, with their meaning."""
    parts = (
        ("verdict", judge.VERDICTS),
        ("rule", claim_files.RULES),
        ("check", {name: f"holds where {meaning}" for name, (_, meaning) in checks.CHECKS.items()}),
    )
    return "\n\n".join(table((what, "meaning"), [(code(k), cell(v)) for k, v in m.items()]) for what, m in parts)


def claims_judged() -> str:
    """Every claim by section: two sentences about each, then the verdicts."""
    report = claims_report()
    judged = list(zip(report.results, claims_table.rows(report), strict=True))
    sections = sorted({top_section(result) for result, _ in judged}, key=SECTIONS.index)
    return "\n\n".join(_claims_of(name, [pair for pair in judged if top_section(pair[0]) == name]) for name in sections)


def top_section(result: judge.Result) -> str:
    """The section of a claim without what follows its first point."""
    return result.claim.section.partition(".")[0]


def _claims_of(section: str, judged: Sequence[tuple[judge.Result, tuple[str, ...]]]) -> str:
    heading = "Abstract" if section == "abstract" else f"Section {section}"
    said = []
    for claim in (result.claim for result, _ in judged):
        where = f"{code(claim.id)} ({claim.section}, {cell(claim.place)})"
        said.append(f"- {where}: {cell(claim.states)} {cell(claim.explains)}")
    headings = ("claim", "printed:", "ours", "verdict", "why", "consistency")
    rows = [(code(name), cell(p), cell(o), code(v), cell(w), cell(c)) for _, (name, p, o, v, w, c) in judged]
    return f"### {heading}\n\n" + "\n".join(said) + f"\n\n{table(headings, rows)}"


# ---- the matrix ----------------------------------------------------------------------------------------------------

MATRIX = ROOT / "analysis" / "results" / "matrix.csv"


@cache
def matrix() -> tuple[dict[str, str], ...]:
    """The committed verdicts, one a row."""
    with MATRIX.open(encoding="utf-8", newline="") as file:
        return tuple(csv.DictReader(file))


def _builds() -> list[str]:
    return sorted({row["build"] for row in matrix()}, key=Version)


def _verdicts() -> dict[str, dict[str, dict[str, str]]]:
    """Row by case and build."""
    found: dict[str, dict[str, dict[str, str]]] = {}
    for row in matrix():
        found.setdefault(row["case"], {})[row["build"]] = row
    return found


def _states() -> dict[int, str]:
    return {entry["number"]: entry["state"] or "unknown" for entry in entries()}


def matrix_counts() -> str:
    """Verdicts per build."""
    names = ("occurs", "absent", "not_seen", "changed", "control_failed", "inconclusive", "untestable")
    counts = Counter((row["build"], row["verdict"]) for row in matrix())
    rows = [(build, *(str(counts[build, name] or "") for name in names)) for build in _builds()]
    return table(("build", *(f"{name}:" for name in names)), rows)


def _since(seen: Mapping[str, Mapping[str, str]]) -> str:
    """The first build from which on a case occurs without a gap."""
    tested = [b for b in _builds() if b in seen and seen[b]["verdict"] in ("occurs", "absent", "not_seen", "changed")]
    start = tested[-1]
    for build in reversed(tested):
        if seen[build]["verdict"] != "occurs":
            break
        start = build
    return f"all tested ({tested[0]})" if start == tested[0] else start


def still_occurring() -> str:
    """Every case that occurs on the newest build, with its evidence."""
    newest = _builds()[-1]
    rows = []
    for case, seen in sorted(_verdicts().items()):
        row = seen.get(newest)
        if row is None or row["verdict"] != "occurs":
            continue
        issues = [text.rpartition("#") for text in row["issue"].split()]
        told = ", ".join(f"{_issue(repo, int(n))} {_states().get(int(n), 'unknown')}" for repo, _, n in issues)
        control = {"build": f"{row['control_k']}/{row['control_n']} on {row['control_build']}", "planted": "planted"}
        shown = control.get(row["control"], "none")
        rows.append((f"`{case}`", told, _since(seen), f"{row['k']}/{row['n']}", shown, cell(row["detail"])))
    return f"{len(rows)} cases occur on {newest}.\n\n" + table(
        ("case", "items and their state", "since", "k/n:", "control", "what was seen"), rows
    )


def matrix_changes() -> str:
    """Cases whose verdict changes between two builds."""
    rows = []
    for case, seen in sorted(_verdicts().items()):
        steps: list[tuple[str, str]] = []
        for build in _builds():
            verdict = seen.get(build, {}).get("verdict")
            if verdict in ("occurs", "absent", "changed") and (not steps or steps[-1][1] != verdict):
                steps.append((build, verdict))
        if len(steps) > 1:
            rows.append((f"`{case}`", ", then ".join(f"{verdict} from {build}" for build, verdict in steps)))
    return f"{len(rows)} cases change.\n\n" + table(("case", "verdicts"), rows)


# ---- files ---------------------------------------------------------------------------------------------------------


def blocks() -> dict[str, Callable[[], str]]:
    """What generates each block."""
    return {
        "matrix-counts": matrix_counts,
        "matrix-changes": matrix_changes,
        "still-occurring": still_occurring,
        **{f"options-{name.replace(' ', '-')}": partial(options_table, name) for name in commands()},
        "commands": commands_table,
        "settings": settings_table,
        "errors": errors_table,
        "example-chain": partial(example, "chain", "172340"),
        "example-funnel": partial(example, "funnel"),
        "tables": tables,
        "views": view_list,
        "catalog-facts": catalog_facts,
        "catalog-sources": catalog_sources,
        "catalog-classes": catalog_classes,
        "catalog-agreement": catalog_agreement,
        "mps-status": mps_status,
        "relations": relations_table,
        "phrases": phrases,
        "ignored": ignored,
        "subcomponents": subcomponents,
        "strict-paths": strict_paths,
        "candidate": candidate,
        "signals": signals,
        "funnel-stages": funnel_stages,
        "case-example": case_example,
        "cases": cases_table,
        "cases-counted": cases_counted,
        "uncovered": uncovered,
        "verdict-numbers": verdict_numbers,
        "verdict-runs": verdict_runs,
        "excuses": excuses,
        "sandbox-limits": sandbox_limits,
        "sandbox-environment": sandbox_environment,
        "sandbox-calls": sandbox_calls,
        "companions": companions,
        "extraction-reasons": extraction_reasons,
        "extraction-edits": extraction_edits,
        "extraction-shares": extraction_shares,
        "extraction-measured": extraction_measured,
        "extraction-edits-counted": extraction_edits_counted,
        "extraction-outcomes": extraction_outcomes,
        "extraction-silent": extraction_silent,
        "minimised-scripts": minimised_scripts,
        "minimised-summary": minimised_summary,
        "minimised-ways": minimised_ways,
        "claims-counted": claims_counted,
        "claims-rules": claims_rules,
        "claims-judged": claims_judged,
        "evaluation-aims": evaluation_aims,
        "evaluation-gold": evaluation_gold,
        "evaluation-others": evaluation_others,
        "evaluation-tags": evaluation_tags,
        "evaluation-time": evaluation_time,
        "evaluation-labelled": evaluation_labelled,
        "evaluation-chosen": evaluation_chosen,
        "evaluation-mhnurf": evaluation_mhnurf,
        "evaluation-classes": evaluation_classes,
        "evaluation-agreement": evaluation_agreement,
    }


def rewritten(text: str, known: Mapping[str, Callable[[], str]]) -> str:
    """The text with every block generated anew; what stands outside of blocks is untouched.

    Raises:
        BlockError: a block without an end, a malformed start, or a name that ``known`` lacks.
    """
    if text.count(START) != len(BLOCK.findall(text)):
        raise BlockError(f"a block has no proper start or end (`{START} NAME -->` ... `<!-- end -->`)")

    def fresh(match: re.Match[str]) -> str:
        if match[2] not in known:
            raise BlockError(f"nobody generates the block {match[2]!r}")
        return f"{match[1]}\n{known[match[2]]()}\n\n{match[4]}"

    return BLOCK.sub(fresh, text)


def stale(root: Path = ROOT) -> dict[Path, str]:
    """Files of docs/ whose generated parts are not current, with the text that they should have.

    Raises:
        BlockError: a file has a malformed block.
    """
    known = blocks()
    found = {}
    for path in sorted((root / "docs").rglob("*.md")):
        text = path.read_text(encoding="utf-8")
        try:
            wanted = rewritten(text, known)
        except BlockError as error:
            raise BlockError(f"{path.relative_to(root)}: {error}") from error
        if wanted != text:
            found[path] = wanted
    return found


def main(arguments: Sequence[str] | None = None, root: Path = ROOT) -> int:
    """Run the command; returns the exit code: 0, or 1 where ``--check`` found stale files or a block is malformed."""
    parser = argparse.ArgumentParser(description="Rewrite the generated parts of docs/.")
    parser.add_argument("--check", action="store_true", help="change nothing; name the stale files and exit with 1")
    check = parser.parse_args(arguments).check
    try:
        found = stale(root)
    except BlockError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    for path, text in found.items():
        if not check:
            path.write_text(text, encoding="utf-8")
        sys.stdout.write(f"{'stale' if check else 'rewritten'}: {path.relative_to(root)}\n")
    if check and found:
        sys.stderr.write("run `python tools/docs.py` (or `make docs`) and commit the result\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
