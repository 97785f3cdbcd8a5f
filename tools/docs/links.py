"""docs/links.md: relations and the phrases that state them, parts of PyTorch, candidates and the funnel."""

from __future__ import annotations

from collections import Counter

from torch_embers import resources

from .markdown import cell, code, fenced, table


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
