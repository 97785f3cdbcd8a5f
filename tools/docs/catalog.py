"""docs/catalog.md: what the embedded catalog knows."""

from __future__ import annotations

import json
from collections import Counter
from functools import cache
from typing import TYPE_CHECKING, Any

from torch_embers import resources

from .markdown import PYTORCH, cell, code, issue_link, table

if TYPE_CHECKING:
    from collections.abc import Mapping

ANNOTATORS = (("embers-guide-1", "automated"), ("data-path-study", "paper"))
SCHEMES = ("bug_type", "memory_type", "memory_subtype", "consequence")


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


def facts() -> str:
    """How many entries there are, and for how many each fact is known."""
    total = len(entries())
    lists = ("labels", "fix_prs", "fix_files", "related", "affected_versions", "fixed_versions", "backends")
    known = {name: sum(bool(entry[name]) for entry in entries()) for name in (*lists, "created_at", "closed_at")}
    known["state_reason"] = sum(entry["state_reason"] is not None for entry in entries())
    counted = [(what, str(n)) for what, n in sorted(Counter(f"{e['state']} {e['kind']}s" for e in entries()).items())]
    rows = [("entries", str(total)), *counted]
    rows += [(f"with {code(name)}", f"{n} ({n / total:.0%})") for name, n in known.items()]
    return table(("what", "count:"), rows)


def sources() -> str:
    """How many entries rest on each kind of source, and which backends they concern."""
    origins = Counter(name for entry in entries() for name in entry["facts_from"])
    backends = Counter(name for entry in entries() for name in entry["backends"])
    relations = Counter(other["relation"] for entry in entries() for other in entry["related"])
    parts = (("source of facts", origins), ("backend", backends), ("relation stated", relations))
    made = [table((what, "entries:"), [(code(n), str(k)) for n, k in counts.most_common()]) for what, counts in parts]
    return "\n\n".join(made)


def classes() -> str:
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


def agreement() -> str:
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
        numbers = entry.get("issues", ())
        issues = [issue_link(PYTORCH, n) + (" (open)" if state.get(n) == "open" else "") for n in numbers]
        found = ", ".join(issues) or "none found"
        rows.append((f"{entry['section']} {entry['item']}", cell(entry["topic"]), found, cell(entry["reason"])))
    return table(("statement", "topic", "issues", "why these"), rows)
