"""The rows of the database joined by item, case, release, class, operator and component. Pure."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field
from functools import cached_property
from itertools import groupby
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from torch_embers.escaping import visible
from torch_embers.report import operators, places
from torch_embers.repro.shipped_verdicts import ORDER
from torch_embers.run.item_verdict import item_verdict, speaks_of
from torch_embers.run.matrix import builds_of, changes, deciding, preferred
from torch_embers.run.report_script_text import last_change

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from torch_embers.report.rules import Rules
    from torch_embers.report.source import Key, Row, Source
    from torch_embers.run.item_verdict import ItemVerdict
    from torch_embers.run.matrix import Entry
    from torch_embers.timeline.model import Timeline


def chosen(source: Source, most: int) -> list[Key]:
    """The items that get a page, first those with a case, then with a run or label, likely bugs, and linked ones."""
    ran = {(timeline.repo, timeline.number) for timeline in source.timelines}
    with_case = {(row["repo"], row["number"]) for case in source.cases for row in case["items"]}

    def place_of(row: Row) -> int | None:
        if (row["repo"], row["number"]) in with_case:
            return 0
        if row["has_gold"] or row["summary"] or (row["repo"], row["number"]) in ran:
            return 1
        bug = any(c.startswith("bug_type=") and c != "bug_type=not_a_bug" for c in row["classes"])
        if row["is_candidate"] and bug:
            return 2
        return 3 if row["has_links"] else None

    ranked = [(place, -row["number"], row["repo"]) for row in source.items if (place := place_of(row)) is not None]
    return [(repo, -number) for _, number, repo in sorted(ranked)[:most]]


def by_item(rows: Iterable[Row]) -> dict[Key, list[Row]]:
    """Rows by the item that they are about."""
    found: dict[Key, list[Row]] = defaultdict(list)
    for row in rows:
        found[row["repo"], row["number"]].append(row)
    return found


@dataclass
class Facts:
    """The rows of the database, and what follows from them."""

    source: Source
    rules: Rules
    paged: frozenset[Key]
    similar: Mapping[Key, Sequence[tuple[Key, float]]] = field(default_factory=dict)
    is_whole: bool = False
    """Whether texts of issues are shown as a whole (``--bodies``)."""

    # ---- items -----------------------------------------------------------------------------------------------------

    @cached_property
    def items(self) -> dict[Key, Row]:
        """All items."""
        return {(row["repo"], row["number"]): row for row in self.source.items}

    @cached_property
    def repos(self) -> list[str]:
        """Repositories, the largest first."""
        return [row["repo"] for row in sorted(self.source.freshness, key=lambda r: (-r["items"], r["repo"]))]

    @cached_property
    def home(self) -> str:
        """The repository whose items are called by their number alone."""
        return self.repos[0] if self.repos else ""

    def title(self, key: Key) -> str:
        """The title of an item as pages show it, also where only a case knows it."""
        return (
            cut(visible(self.items[key]["title"]), self.rules.limits.title) if key in self.items else "(not mined yet)"
        )

    def name(self, key: Key) -> str:
        """An item as people write it."""
        return f"#{key[1]}" if key[0] == self.home else f"{key[0]}#{key[1]}"

    def page(self, key: Key) -> str:
        """Where an item can be read: its page here, else on GitHub."""
        return places.item_page(*key) if key in self.paged else places.github_item(*key)

    # ---- cases and verdicts ----------------------------------------------------------------------------------------

    @cached_property
    def cases(self) -> dict[str, Row]:
        """Cases by name."""
        return {row["name"]: row for row in self.source.cases}

    @cached_property
    def cases_of(self) -> dict[Key, list[tuple[Row, str | None]]]:
        """The cases of each item with their relation to it."""
        found: dict[Key, list[tuple[Row, str | None]]] = defaultdict(list)
        for case in self.source.cases:
            for row in case["items"]:
                found[row["repo"], row["number"]].append((case, row["relation"]))
        return found

    @cached_property
    def verdicts(self) -> list[Entry]:
        """Verdicts, without shipped ones where own ones decide."""
        return preferred(self.source.verdicts)

    @cached_property
    def verdicts_of(self) -> dict[str, list[Entry]]:
        """Verdicts by case, oldest build first."""
        found: dict[str, list[Entry]] = defaultdict(list)
        for entry in self.verdicts:
            found[entry.case].append(entry)
        return found

    @cached_property
    def releases(self) -> list[str]:
        """Builds that have a verdict, oldest first."""
        return builds_of(self.verdicts)

    @cached_property
    def by_release(self) -> dict[str, list[Entry]]:
        """A verdict per case for each release, by name; of several environments the first of ``ORDER``."""
        found: dict[str, list[Entry]] = {release: [] for release in self.releases}
        for _, seen in sorted(self.verdicts_of.items()):
            for release, same in groupby(seen, key=attrgetter("build")):
                found[release].append(deciding(same))
        return found

    @cached_property
    def reference(self) -> str:
        """The newest build that has a verdict; empty without any."""
        return self.releases[-1] if self.releases else ""

    @cached_property
    def newest(self) -> dict[str, Entry]:
        """The verdict of each case on the newest build with one; of several environments the first of ``ORDER``."""
        return {entry.case: entry for entries in self.by_release.values() for entry in entries}

    @cached_property
    def changes(self) -> dict[str, list[tuple[str, str]]]:
        """For each case whose verdict changes: (build, verdict) where a new one begins."""
        return changes(self.source.verdicts)

    @cached_property
    def timeline_of(self) -> dict[Key, Timeline]:
        """What the script of each report does."""
        return {(timeline.repo, timeline.number): timeline for timeline in self.source.timelines}

    def behaviour(self, key: Key) -> tuple[str, str] | None:
        """What the script of a report changed last, and on which release; None where it did not run on its device."""
        timeline = self.timeline_of.get(key)
        return last_change(timeline.behaviours) if timeline and timeline.behaviours and not timeline.device else None

    def answer(self, key: Key) -> tuple[str, str]:
        """What is said of an item in a word or two, and of which release: by its cases, else by its script."""
        if decided := self.verdict(key):
            return decided.text, decided.entry.build
        segments = self.timeline_of[key].behaviours if key in self.timeline_of else ()
        return (
            (f"script_{segments[-1].match}", segments[-1].versions[-1]) if segments and segments[-1].match else ("", "")
        )

    def verdict(self, key: Key) -> ItemVerdict | None:
        """What the cases of an item say of it together on the newest release; None without a verdict."""
        cases = self.related_cases(key)
        seen = [self.newest[case["name"]] for case in cases if case["name"] in self.newest]
        return item_verdict(cases, seen) if seen else None

    def related_cases(self, key: Key) -> list[Row]:
        """The cases of an item, each with its relation to it."""
        return [case | {"relation": relation} for case, relation in self.cases_of.get(key, ())]

    @cached_property
    def statuses(self) -> dict[Key, list[Row]]:
        """The statuses of each item, one per backend."""
        return by_item(self.source.statuses)

    def with_status(self, *wanted: str) -> list[Row]:
        """Statuses of these kinds, by item."""
        return [row for row in self.source.statuses if row["status"] in wanted]

    def own_answer(self, key: Key) -> str | None:
        """What an item's own reviewed cases (``same``) say together on the newest release; None where it has none.

        Only these speak of the item; what other cases say is evidence of the same kind of bug. One that ``occurs``
        decides, ``absent`` needs all that can be tested; else it is empty.
        """
        cases = self.cases_of.get(key, ())
        own = [case["name"] for case, relation in cases if speaks_of(relation, case["origin"]) == "report"]
        if not own:
            return None
        here = {self.newest[n].verdict for n in own if n in self.newest and self.newest[n].build == self.reference}
        if "occurs" in here:
            return "occurs"
        return "absent" if here - {"untestable"} == {"absent"} else ""

    def still_open(self, answer: str) -> list[Key]:
        """Open issues of which the own cases say this on the newest release."""
        return [
            key
            for key, row in self.items.items()
            if row["kind"] == "issue" and row["state"] == "open" and self.own_answer(key) == answer
        ]

    @cached_property
    def fixed_counts(self) -> tuple[int, int, int]:
        """Issues closed as fixed with a case that is the report's own: decided on the newest release, alive, undecided.

        Only these can be called "closed as fixed and still there" (docs/still-occurring.md).
        """
        return self._own_counts("fixed")

    @cached_property
    def unseen_counts(self) -> tuple[int, int, int]:
        """The same of closed issues of which nobody could see why they were closed."""
        return self._own_counts("unknown")

    def _own_counts(self, disposition: str) -> tuple[int, int, int]:
        said = Counter(
            self.own_answer(key)
            for key, item in self.items.items()
            if item["kind"] == "issue" and item["state"] == "closed" and item["disposition"] == disposition
        )
        return said["occurs"] + said["absent"], said["occurs"], said[""]

    # ---- groups ----------------------------------------------------------------------------------------------------

    @cached_property
    def operators_of_case(self) -> dict[str, list[str]]:
        """The operators that the code of each case names."""
        told = self.rules.operators
        return {
            row["name"]: operators.operators(row["code"] or "", told.leave_out, told.modules)
            for row in self.source.cases
        }

    @cached_property
    def operators_of(self) -> dict[Key, list[str]]:
        """The operators that the cases of each item name."""
        return {
            key: sorted({op for case, _ in cases for op in self.operators_of_case[case["name"]]})
            for key, cases in self.cases_of.items()
        }

    @cached_property
    def by_operator(self) -> dict[str, list[Key]]:
        """Items by operator, those operators first that most items name."""
        found = _grouped((op, key) for key, ops in self.operators_of.items() for op in ops)
        kept = sorted(found, key=lambda op: (-len(found[op]), op))[: self.rules.limits.groups]
        return {op: found[op] for op in sorted(kept)}

    @cached_property
    def by_class(self) -> dict[str, list[Key]]:
        """Items by class, as ``scheme=value``."""
        return _grouped((name, key) for key, row in self.items.items() for name in row["classes"])

    @cached_property
    def by_component(self) -> dict[str, list[Key]]:
        """Items by component."""
        return _grouped((name, key) for key, row in self.items.items() for name in row["components"])


def cut(text: str, most: int) -> str:
    """The text, or its beginning with a sign that more follows, in at most so many characters."""
    return text if len(text) <= most else f"{text[: most - 1]}…"


def _grouped(pairs: Iterable[tuple[str, Key]]) -> dict[str, list[Key]]:
    found: dict[str, list[Key]] = defaultdict(list)
    for name, key in sorted(pairs):
        found[name].append(key)
    return dict(found)


def counted(entries: Iterable[Any]) -> dict[str, int]:
    """Verdicts by kind, in the order of ``ORDER``; others are left out."""
    found = dict.fromkeys(ORDER, 0)
    for entry in entries:
        if entry.verdict in found:
            found[entry.verdict] += 1
    return found
