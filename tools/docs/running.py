"""docs/running.md and docs/commands/builds.md: numbers of runs, excuses, the sandbox, companion packages."""

from __future__ import annotations

import json
from statistics import mean
from typing import TYPE_CHECKING, Any

from torch_embers import resources
from torch_embers.run import verdict

from .markdown import cell, code, table
from .places import ROOT

if TYPE_CHECKING:
    from collections.abc import Sequence


def verdict_numbers() -> str:
    """Numbers of data/verdicts.toml with their reasons; a reason may stand for all keys that begin like it."""
    runs = resources.load_toml("verdicts.toml")["runs"]
    reasons = {key.removesuffix("_reason"): text for key, text in runs.items() if key.endswith("_reason")}
    rows = []
    for key, value in runs.items():
        if not key.endswith("_reason"):
            stem = max((s for s in reasons if key == s or key.startswith(f"{s}_")), key=len)
            shown = ", ".join(value) if isinstance(value, list) else f"{value:g}"
            rows.append((code(key), shown, cell(reasons[stem])))
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


def _starts() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads((ROOT / "bench" / "starts.json").read_text(encoding="utf-8"))["cases"]
    return found


def starts() -> str:
    """How alike forks of one start are, and starts: each case with smaller damage, as it is."""
    rows = [
        (
            code(entry["case"]),
            entry["build"],
            f"{entry['hits']}/{entry['runs']}",
            _correlation(entry["correlation"], entry["interval"]),
            f"{entry['design_effect']:.2f}",
            f"{entry['worth']:g}",
            " ".join(str(hits) for hits in entry["hits_by_fork"]),
            _correlation(entry["correlation_by_fork"]),
        )
        for entry in _starts()
        if entry["way"] == "plain" and entry["correlation"] is not None
    ]
    first = ("case, what is replaced", "build", "hits:", "correlation in a start")
    last = ("design effect:", "effective runs:", "starts with a hit, by fork", "correlation by fork:")
    return table((*first, *last), rows)


def _correlation(value: float | None, interval: Sequence[float] | None = None) -> str:
    if value is None:
        return ""
    return f"{value:.2f}" + (f" ({interval[0]:.2f} to {interval[1]:.2f})" if interval else "")


def starts_ways() -> str:
    """What preparing the heap of a fork does: mean and range over the cases and builds."""
    by_way: dict[str, list[dict[str, Any]]] = {}
    for entry in _starts():
        by_way.setdefault(entry["way"], []).append(entry)
    rows = []
    for way, entries in sorted(by_way.items(), key=lambda item: item[0] != "plain"):
        shares = [entry["hits"] / entry["runs"] for entry in entries]
        rows.append(
            (
                way,
                str(len(entries)),
                f"{mean(shares):.2f} ({min(shares):.2f} to {max(shares):.2f})",
                *(_spread(entries, key) for key in ("correlation", "correlation_by_fork")),
            )
        )
    return table(("way", "cells:", "hit rate", "correlation in a start", "correlation by fork"), rows)


def _spread(entries: Sequence[dict[str, Any]], key: str) -> str:
    known = [entry[key] for entry in entries if entry[key] is not None]
    return f"{mean(known):.2f} ({min(known):.2f} to {max(known):.2f})"


def excuses() -> str:
    """Exceptions that speak of the script."""
    found = resources.load_toml("verdicts.toml")["cannot_run"]
    rows = [(code(e["type"]), code(e.get("message", "")), cell(e["reason"])) for e in found]
    return table(("exception", "with the words", "what it says"), rows)


def _commented(section: str) -> list[tuple[str, str]]:
    """Keys of one section of data/sandbox.toml with the comment above each: there the reasons are comments."""
    found: list[tuple[str, str]] = []
    comment: list[str] = []
    here = False
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


def pinned_wheels() -> str:
    """Wheels whose hash is shipped."""
    pinned = resources.load_toml("builds.toml")["pinned"]
    rows = [(code(name), code(digest)) for name, digest in pinned["sha256"].items()]
    return table(("wheel", f"SHA-256 on {pinned['source']}, read on {pinned['read']}"), rows)


def companions() -> str:
    """Packages beside torch."""
    rows = [
        (code(e["torch"]), ", ".join(code(package) for package in e["packages"]), cell(e["reason"]))
        for e in resources.load_toml("builds.toml")["companion"]
    ]
    return table(("torch", "packages", "why"), rows)
