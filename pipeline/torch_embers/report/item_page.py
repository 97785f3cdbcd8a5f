"""What the page of an item shows. Pure."""

from __future__ import annotations

import json
from functools import cached_property
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from torch_embers.escaping import visible
from torch_embers.extract.script import Script, from_row
from torch_embers.link.chain import Facts as NodeFacts
from torch_embers.link.chain import Link, Node
from torch_embers.report import badges, highlight, links_graph, places
from torch_embers.report.facts import by_item, cut
from torch_embers.run.item_report import LONGEST_CELL, ItemReport, headline
from torch_embers.run.matrix import OWN
from torch_embers.run.report_script_text import changes, command
from torch_embers.run.script import SHOWN_LINES, script_of
from torch_embers.timeline.sentence import details

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from torch_embers.report.facts import Facts
    from torch_embers.report.source import Key, Row

UNKNOWN: Mapping[str, Any] = dict.fromkeys(
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

    def __init__(self, facts: Facts) -> None:
        self.facts = facts
        source = facts.source
        self._bodies = {(row["repo"], row["number"]): row for row in source.bodies}
        self._gold = by_item(source.gold)
        self._scripts = {(row["repo"], row["number"]): from_row(row) for row in source.scripts}
        self._predictions = by_item(source.predictions)
        self._runs: dict[str, list[Row]] = {}
        for row in source.runs:
            self._runs.setdefault(row["name"], []).append(row)
        self._bisections: dict[str, list[Row]] = {}
        for row in source.bisections:
            self._bisections.setdefault(row["subject"], []).append(row)

    @cached_property
    def _links(self) -> list[Link]:
        return [
            Link(
                Node(row["repo"], row["number"], row["sha"] or ""),
                row["relation"],
                Node(row["target_repo"], row["target_number"], row["target_sha"] or ""),
                row["evidence"],
            )
            for row in self.facts.source.links
        ]

    @cached_property
    def _neighbours(self) -> links_graph.Neighbours:
        return links_graph.Neighbours(self._links)

    @cached_property
    def _linked(self) -> dict[Key, list[tuple[Key, str]]]:
        """For each item its linked items, with the relation in words."""
        found: dict[Key, list[tuple[Key, str]]] = {}
        for link in self._links:
            one, other = (link.source.repo, link.source.number), (link.target.repo, link.target.number)
            if one[1] and other[1] and one != other:
                relation = link.relation.replace("_", " ")
                found.setdefault(one, []).append((other, relation))
                found.setdefault(other, []).append((one, f"{relation} this"))
        return found

    @cached_property
    def _node_facts(self) -> dict[Node, NodeFacts]:
        made = {
            Node(repo, number): NodeFacts(
                row["title"], row["kind"], "merged" if row["state_reason"] == "merged" else row["state"] or ""
            )
            for (repo, number), row in self.facts.items.items()
        }
        made |= {
            Node(row["repo"], 0, row["sha"]): NodeFacts(row["subject"] or "", "commit", "", row["day"] or "")
            for row in self.facts.source.commits
        }
        return made

    def content(self, key: Key) -> dict[str, Any]:
        """Values for the template of an item."""
        facts, limits = self.facts, self.facts.rules.limits
        item = facts.items.get(key) or UNKNOWN
        cases = [self._case(case, relation, key) for case, relation in facts.cases_of.get(key, ())]
        linked = self._linked_rows(key)
        message, _ = badges.item(facts, key)
        known = self._known(key, item)
        return {
            "key": key,
            "item": item,
            "title": facts.title(key),
            "headline": headline(known),
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
            "drawing": self._drawing(key),
            "linked": linked[: limits.links],
            "more_links": max(0, len(linked) - limits.links),
            "similar": facts.similar.get(key, ()),
            "badge": badges.item_file(key),
            "badge_text": message,
        }

    def _known(self, key: Key, item: Mapping[str, Any]) -> ItemReport:
        """What decides the first sentences."""
        cases = self.facts.related_cases(key)
        names = sorted({case["name"] for case in cases})
        verdicts = [entry for name in names for entry in self.facts.verdicts_of.get(name, ())]
        timeline = self.facts.timeline_of.get(key)
        return ItemReport(*key, dict(item), (), (), (), cases, self._scripts.get(key), timeline, (), verdicts)

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

    def _drawing(self, key: Key) -> dict[str, Any] | None:
        made = links_graph.draw(Node(*key), self._neighbours, self._node_facts, self.facts.rules.limits.graph_nodes)
        if made is None:
            return None
        boxes = [
            {
                "x": box.x,
                "y": box.y,
                "width": links_graph.WIDTH,
                "height": links_graph.HEIGHT,
                "is_start": box.is_start,
                "address": self._address(box.node),
                "state": box.facts.state if box.facts.state in ("open", "closed", "merged") else "",
                "label": box.node.name(self.facts.home),
                "title": box.facts.title,
                "short": cut(visible(box.facts.title), links_graph.LONGEST),
            }
            for box in made.boxes
        ]
        return {
            "boxes": boxes,
            "lines": made.lines,
            "width": made.width,
            "height": made.height,
            "left_out": made.left_out,
        }

    def _address(self, node: Node) -> str:
        """Where a box leads: an item's page, else GitHub; empty for a name that GitHub cannot have."""
        key = (node.repo, node.number)
        if key in self.facts.paged:
            return places.item_page(*key).rpartition("/")[2]
        return places.github_item(*key) if node.number else places.github_commit(node.repo, node.sha)

    def _linked_rows(self, key: Key) -> list[dict[str, Any]]:
        kinds: dict[Key, set[str]] = {}
        for other, words in self._linked.get(key, ()):
            kinds.setdefault(other, set()).add(words)
        return [{"key": o, "kinds": sorted(kinds[o]), "title": self._title(o)} for o in sorted(kinds)]

    def _title(self, key: Key) -> str:
        return self.facts.title(key) if key in self.facts.items else ""


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
