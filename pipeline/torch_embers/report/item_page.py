"""What the page of an item shows. Pure."""

from __future__ import annotations

import json
from dataclasses import replace
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from torch_embers.escaping import visible
from torch_embers.extract.script import Script, from_row
from torch_embers.report import badges, highlight, places
from torch_embers.report.joined_facts import cut
from torch_embers.timeline.sentence import details
from torch_embers.verdicts.matrix import OWN
from torch_embers.verdicts.script_excerpt import SHOWN_LINES, script_of
from torch_embers.views import paste
from torch_embers.views.closable import closable
from torch_embers.views.item_evidence import by_item
from torch_embers.views.item_report import LONGEST_CELL, ItemReport, headline
from torch_embers.views.script_text import changes, command

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from torch_embers.report.joined_facts import ReportFacts
    from torch_embers.report.source import Key, Row

UNKNOWN: dict[str, Any] = dict.fromkeys(
    (
        *("state", "state_reason", "created_at", "updated_at", "closed_at", "author", "summary", "disposition"),
        *("closing_evidence", "closing_reference", "closed_by", "closing_repo", "closing_number", "closing_sha"),
        "closing_comment",
    )
) | {"kind": "item", "labels": [], "backends": [], "classes": [], "components": []}
"""Facts of an item that only a case names."""
SHIPPED_CODE = "curated"
"""Origin of cases that were written for this project; the code of others belongs to who wrote the report or the fix."""


class Pages:
    """Makes the pages of items; what all of them need is made once."""

    def __init__(self, facts: ReportFacts) -> None:
        self.facts = facts
        source = facts.source
        self._bodies = {(row["repo"], row["number"]): row for row in source.bodies}
        self._closings = {(row["repo"], row["number"]): row for row in source.closings}
        self._gold = by_item(source.gold)
        self._scripts = {(row["repo"], row["number"]): from_row(row) for row in source.scripts}
        self._predictions = by_item(source.predictions)
        self._runs: dict[str, list[Row]] = {}
        for row in source.runs:
            self._runs.setdefault(row["name"], []).append(row)
        self._bisections: dict[str, list[Row]] = {}
        for row in source.bisections:
            self._bisections.setdefault(row["subject"], []).append(row)
        self._linked: dict[Key, dict[Key, set[str]]] = {}
        for row in source.links:
            one, other = (row["repo"], row["number"]), (row["target_repo"], row["target_number"])
            if one[1] and other[1] and one != other:
                relation = row["relation"].replace("_", " ")
                self._linked.setdefault(one, {}).setdefault(other, set()).add(relation)
                self._linked.setdefault(other, {}).setdefault(one, set()).add(f"{relation} this")

    def content(self, key: Key) -> dict[str, Any]:
        """Values for the template of an item."""
        facts, limits = self.facts, self.facts.rules.limits
        item = UNKNOWN | facts.items.get(key, {}) | self._closings.get(key, {})
        cases = [self._case(case, relation, key) for case, relation in facts.cases_of.get(key, ())]
        linked = [
            {"key": other, "kinds": sorted(kinds), "title": facts.title(other) if other in facts.items else ""}
            for other, kinds in sorted(self._linked.get(key, {}).items())
        ]
        message, _ = badges.item(facts, key)
        known = self._known(key, item)
        return {
            "key": key,
            "item": item,
            "title": facts.title(key),
            "headline": headline(known),
            "answer_sentence": known.answer.sentence if known.answer else "",
            "canonical": (key[0], known.answer.canonical) if known.answer and known.answer.canonical else None,
            "paste": self._paste(known),
            "fix_tests": facts.fix_tests(key),
            "behaviour": known.behaviour,
            "timeline": known.timeline,
            "details": details(known.timeline) if known.timeline else [],
            "script": self._script(known.script) if isinstance(known.script, Script) else None,
            "github": places.github_item(*key),
            "reference": places.reference(item["closing_reference"], key[0]),
            "closing_comment": cut(" ".join((item["closing_comment"] or "").split()), LONGEST_CELL),
            "body": self._bodies.get(key),
            "operators": facts.operators_of.get(key, []),
            "gold": self._gold.get(key, []),
            "predictions": [row | {"why": _why(row["explanation"])} for row in self._predictions.get(key, ())],
            "cases": cases,
            "linked": linked[: limits.links],
            "more_links": max(0, len(linked) - limits.links),
            "similar": facts.similar.get(key, ()),
            "badge": badges.item_file(key),
            "badge_text": message,
        }

    def _known(self, key: Key, item: Mapping[str, Any]) -> ItemReport:
        """What decides the first sentences."""
        facts, reports = self.facts, self.facts.source.reports
        if (known := reports.get(key)) is None:
            cases = facts.related_cases(key)
            verdicts = [entry for case in cases for entry in facts.verdicts_of.get(case["name"], ())]
            known = ItemReport(*key, dict(item), (), (), (), cases, self._scripts.get(key), None, (), verdicts)
            known = replace(known, answer=closable(known, facts.reference, lambda *other: reports.get(other)))
        return replace(
            known,
            facts=dict(item) | {"title": facts.title(key)},
            cases=[
                case | {"script": script_of(case["name"], case["origin"], case["code"] or "")} for case in known.cases
            ],
            script=self._scripts.get(key),
        )

    def _paste(self, known: ItemReport) -> str:
        """The text to paste below the issue; empty where nothing ran, or where it holds code of somebody else."""
        if not known.verdicts and not known.timeline:
            return ""
        if self.facts.is_whole:
            return paste.text(known)
        if any(case["origin"] != SHIPPED_CODE for case in known.cases):
            return ""
        return paste.text(replace(known, script=None))

    def _script(self, script: Script) -> dict[str, Any]:
        """The script of a report: its code belongs to who wrote the report."""
        lines = visible(script.code).splitlines()
        shown = lines if self.facts.is_whole else lines[:SHOWN_LINES]
        return {
            "code": highlight.python("\n".join(shown)),
            "lines": len(shown),
            "all_lines": len(lines),
            "found_in": script.found_in,
            "command": command(script),
            "changes": changes(script),
        }

    def _case(self, case: Row, relation: str | None, key: Key) -> dict[str, Any]:
        facts, name, code = self.facts, case["name"], case["code"] or ""
        is_ours = case["origin"] == SHIPPED_CODE
        is_whole = is_ours or facts.is_whole
        script = script_of(name, case["origin"], code)
        verdicts = facts.verdicts_of.get(name, [])
        shown = code if is_whole else "\n".join(script.code.splitlines()[:SHOWN_LINES])
        return {
            "name": name,
            "origin": case["origin"],
            "summary": case["summary"],
            "relation": relation,
            "requires": case["requires"] or [],
            "oracle": case["oracle"],
            "signature": case["signature"] or [],
            "verdicts": verdicts,
            "is_shipped": bool(verdicts) and all(entry.provenance != OWN for entry in verdicts),
            "change": facts.changes.get(name, []),
            "bisections": self._bisections.get(name, ()),
            "code": highlight.python(shown),
            "lines": len(visible(shown).splitlines()),
            "all_lines": len(visible(code).splitlines()) if not is_whole else SHOWN_LINES,
            "is_whole": is_whole,
            "sha256": sha256(code.encode("utf-8", "surrogatepass")).hexdigest(),
            "file": case_file(name) if is_ours else "",
            "command": f"uv run {name}.py" if is_ours else f"embers run {key[1]}",
            "runs": [self._run(row) for row in self._runs.get(name, ())[: facts.rules.limits.log_runs]],
        }

    def _run(self, row: Row) -> dict[str, Any]:
        limits = self.facts.rules.limits
        printed = "\n".join(text.rstrip() for text in (row["stdout"], row["stderr"]) if text and text.strip())
        lines = visible(printed).splitlines()
        tail = "\n".join(lines[-limits.log_lines :])
        if len(tail) > limits.log_characters:
            tail = f"…{tail[-limits.log_characters :]}"
        elif row["is_cut"] or len(lines) > limits.log_lines:
            tail = f"…\n{tail}"
        return row | {"tail": tail}


def case_file(name: str) -> str:
    """Where the code of a case of this project lies in the site."""
    return f"cases/{places.slug(name)}.py"


def _why(explanation: str | None) -> str:
    """The reasons of a prediction in one line."""
    if not explanation:
        return ""
    try:
        return cut(_told(json.loads(explanation)), LONGEST_CELL * 2)
    except (ValueError, RecursionError):
        return ""


def _told(known: Any) -> str:
    if isinstance(known, dict):
        return "; ".join(f"{name.replace('_', ' ')}: {_told(value)}" for name, value in known.items() if value)
    if isinstance(known, list):
        is_pair = len(known) == 2 and isinstance(known[0], str) and isinstance(known[1], float)
        return (" " if is_pair else ", ").join(_told(value) for value in known)
    return f"{known:.2f}" if isinstance(known, float) else str(known)


def own_code(cases: Sequence[Row]) -> list[tuple[str, str]]:
    """File and code of each case that was written for this project."""
    return [(case_file(row["name"]), row["code"]) for row in cases if row["origin"] == SHIPPED_CODE and row["code"]]
