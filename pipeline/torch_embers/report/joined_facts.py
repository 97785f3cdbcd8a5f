"""The rows of the database joined by item, case, release, class, operator and component. Pure."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from functools import cached_property
from itertools import groupby
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from torch_embers.cases.shipped_verdicts import ORDER
from torch_embers.escaping import visible
from torch_embers.report import operators, places
from torch_embers.timeline.model import GAPS
from torch_embers.verdicts.item_verdict import item_verdict
from torch_embers.verdicts.matrix import builds_of, changes, deciding, preferred, rank, span, version_key
from torch_embers.views.item_evidence import by_item
from torch_embers.views.script_text import last_change

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from torch_embers.report.report_rules import ReportRules
    from torch_embers.report.source import Key, Row, Source
    from torch_embers.timeline.model import Timeline
    from torch_embers.verdicts.item_verdict import ItemVerdict
    from torch_embers.verdicts.matrix import MatrixEntry
    from torch_embers.views.item_report import Answer


@dataclass(frozen=True, slots=True)
class Stretch:
    """Neighbouring releases on which the same was seen.

    Attributes:
        kind: a verdict; as_reported, as_expected, other or gap of a script; fails or passes of a test.
        versions: the oldest first.
    """

    kind: str
    versions: tuple[str, ...]

    @property
    def is_bad(self) -> bool | None:
        """Whether the bug is there; None where that is not known."""
        return {
            **dict.fromkeys(("occurs", "as_reported", "fails"), True),
            **dict.fromkeys(("absent", "as_expected", "passes"), False),
        }.get(self.kind)

    @property
    def words(self) -> str:
        """What a reader sees, in words."""
        return f"{self.kind.replace('_', ' ')} on {span(self.versions)}"


def stretches(seen: Iterable[tuple[str, str]]) -> list[Stretch]:
    """Kind and release, the oldest first, with neighbours of one kind joined."""
    return [
        Stretch(kind, tuple(version for _, version in same)) for kind, same in groupby(seen, key=lambda one: one[0])
    ]


_SHOWN = dict.fromkeys(GAPS, "gap")


def chosen(source: Source, most: int) -> list[Key]:
    """The items that get a page, first those with a case, then with a run or label, likely bugs, and linked ones."""
    with_case = {(row["repo"], row["number"]) for case in source.cases for row in case["items"]}

    def place_of(row: Row) -> int | None:
        if (row["repo"], row["number"]) in with_case:
            return 0
        if row["has_gold"] or row["summary"] or (row["repo"], row["number"]) in source.reports:
            return 1
        bug = any(c.startswith("bug_type=") and c != "bug_type=not_a_bug" for c in row["classes"])
        if row["is_candidate"] and bug:
            return 2
        return 3 if row["has_links"] else None

    ranked = [(place, -row["number"], row["repo"]) for row in source.items if (place := place_of(row)) is not None]
    return [(repo, -number) for _, number, repo in sorted(ranked)[:most]]


@dataclass
class ReportFacts:
    """The rows of the database, and what follows from them."""

    source: Source
    rules: ReportRules
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
    def verdicts(self) -> list[MatrixEntry]:
        """Verdicts, without shipped ones where own ones decide."""
        return preferred(self.source.verdicts)

    @cached_property
    def verdicts_of(self) -> dict[str, list[MatrixEntry]]:
        """Verdicts by case, oldest build first."""
        found: dict[str, list[MatrixEntry]] = defaultdict(list)
        for entry in self.verdicts:
            found[entry.case].append(entry)
        return found

    @cached_property
    def releases(self) -> list[str]:
        """Builds that have a verdict, oldest first."""
        return builds_of(self.verdicts)

    @cached_property
    def by_release(self) -> dict[str, list[MatrixEntry]]:
        """A verdict per case for each release, by name; of several environments the first of ``ORDER``."""
        found: dict[str, list[MatrixEntry]] = {release: [] for release in self.releases}
        for _, seen in sorted(self.verdicts_of.items()):
            for release, same in groupby(seen, key=attrgetter("build")):
                found[release].append(deciding(same))
        return found

    @cached_property
    def reference(self) -> str:
        """The newest build that has a verdict; empty without any."""
        return self.releases[-1] if self.releases else ""

    @cached_property
    def newest(self) -> dict[str, MatrixEntry]:
        """The verdict of each case on the newest build with one; of several environments the first of ``ORDER``."""
        return {entry.case: entry for entries in self.by_release.values() for entry in entries}

    @cached_property
    def changes(self) -> dict[str, list[tuple[str, str]]]:
        """For each case whose verdict changes: (build, verdict) where a new one begins."""
        return changes(self.source.verdicts)

    @cached_property
    def answers(self) -> dict[Key, Answer]:
        """May an issue be closed: of every issue of which anything ran."""
        return {key: report.answer for key, report in self.source.reports.items() if report.answer}

    def timeline(self, key: Key) -> Timeline | None:
        """What the script of a report does."""
        return self.source.reports[key].timeline if key in self.source.reports else None

    def behaviour(self, key: Key) -> tuple[str, str] | None:
        """What the script of a report changed last, and on which release; None where it did not run on its device."""
        timeline = self.timeline(key)
        return last_change(timeline.behaviours) if timeline and timeline.behaviours and not timeline.device else None

    def seen(self, key: Key) -> tuple[str, str]:
        """What is said of an item in a word or two, and of which release: by its cases, else by its script."""
        if decided := self.verdict(key):
            return decided.text, decided.entry.build
        timeline = self.timeline(key)
        segments = timeline.behaviours if timeline else ()
        return (
            (f"script_{segments[-1].match}", segments[-1].versions[-1]) if segments and segments[-1].match else ("", "")
        )

    def verdict(self, key: Key) -> ItemVerdict | None:
        """What the cases of an item say of it together on the newest release; None without a verdict."""
        return self._decided.get(key)

    @cached_property
    def _decided(self) -> dict[Key, ItemVerdict]:
        cases = {key: self.related_cases(key) for key in self.cases_of}
        seen = {key: [self.newest[c["name"]] for c in own if c["name"] in self.newest] for key, own in cases.items()}
        return {key: item_verdict(cases[key], entries) for key, entries in seen.items() if entries}

    def ranked(self, keys: Sequence[Key]) -> list[Key]:
        """Items by their verdict in the order of ``ORDER``, those without one last; else as they were."""
        return sorted(keys, key=lambda key: self._ranks.get(key, len(ORDER)))

    @cached_property
    def _ranks(self) -> dict[Key, int]:
        return {key: rank(decided.entry.verdict) for key, decided in self._decided.items()}

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

    def strip(self, key: Key) -> list[Stretch]:
        """What an item shows on the releases: by what decides its answer, else by its cases, script or fix test."""
        report = self.source.reports.get(key)
        if report is None:
            return []
        cases, timeline = self.related_cases(key), report.timeline
        names = {case["name"] for case in cases}
        told = [(release, [e for e in seen if e.case in names]) for release, seen in self.by_release.items()]
        of_cases = [(item_verdict(cases, seen).entry.verdict, release) for release, seen in told if seen]
        of_script = [
            (_SHOWN.get(segment.ending, segment.match or "other"), version)
            for segment in (timeline.segments if timeline else ())
            for version in segment.versions
        ]
        of_test = [
            (word, version)
            for test in self.fix_tests(key)[:1]
            for word, versions in (("fails", test["failed"]), ("passes", test["passed"]))
            for version in versions
        ]
        by_script = report.answer is not None and report.answer.rule.startswith(("script", "crash"))
        found = of_script if by_script else of_cases or of_script or of_test
        return stretches(sorted(found, key=lambda one: version_key(one[1])))

    def fix_tests(self, key: Key) -> list[Row]:
        """Tests of merged fixes of an item, those first that decide something of its bug."""
        report = self.source.reports.get(key)

        def place(test: Row) -> tuple[bool, bool, bool]:
            return test["relation"] != "same", test["shows_bug"] not in ("right", None), test["class"] != "validated"

        return sorted(report.fix_tests, key=place) if report else []

    def case_strip(self, name: str) -> list[Stretch]:
        """What a case shows on the releases."""
        return stretches((e.verdict, build) for build, seen in self.by_release.items() for e in seen if e.case == name)

    def issues(self, state: str, closable: str) -> list[Key]:
        """Issues in this state with this answer, the newest first."""
        found = [key for key, answer in self.answers.items() if answer.closable == closable and key in self.items]
        return sorted((key for key in found if self.items[key]["state"] == state), key=lambda key: (-key[1], key[0]))

    @cached_property
    def regressions(self) -> list[tuple[Key, str, str]]:
        """Issues that occur and were gone on an earlier release: the last such, and the one since which it is there."""
        found = []
        for key, answer in self.answers.items():
            if not answer.occurs or key not in self.items:
                continue
            decided = [one for one in self.strip(key) if one.is_bad is not None]
            good = [place for place, one in enumerate(decided) if not one.is_bad]
            if good and good[-1] + 1 < len(decided):
                found.append((key, decided[good[-1]].versions[-1], decided[good[-1] + 1].versions[0]))
        return sorted(found, key=lambda one: (version_key(one[2]), one[0]), reverse=True)

    @cached_property
    def unreported(self) -> list[Row]:
        """Cases that occur on the newest release and that no known issue describes: silently wrong results first."""
        found = [
            case
            for case in self.source.cases
            if not case["items"]
            and case["origin"] == "curated"
            and (entry := self.newest.get(case["name"]))
            and (entry.verdict, entry.build) == ("occurs", self.reference)
        ]
        return sorted(found, key=lambda case: (case["consequence"] != "silent_correctness", case["name"]))

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
    for name, key in pairs:
        found[name].append(key)
    return {name: sorted(found[name]) for name in sorted(found)}


def counted(entries: Iterable[Any]) -> dict[str, int]:
    """Verdicts by kind, in the order of ``ORDER``; others are left out."""
    found = dict.fromkeys(ORDER, 0)
    for entry in entries:
        if entry.verdict in found:
            found[entry.verdict] += 1
    return found
