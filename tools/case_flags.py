"""Print which cases look as if they were about something else than their issue: part of `make lint`.

Usage: python tools/case_flags.py [--all]; exit code 1 where a flag has no exception in data/case_flags.toml, or an
exception has no flag. Flags come from the shipped verdicts, the days of releases, the catalog and the readings of the
threads; they need no network and run no case. `--all` prints those with an exception as well.

| flag | what it means |
| --- | --- |
| `fixed_before_report` | `fixed_in` was out before the item was reported: the case shows another bug |
| `never_red` | no release that was out when the item was reported shows the bug |
| `never_tested` | no release of the matrix could test the case |
| `only_pull_requests` | every item is a pull request: nobody reported a defect |
| `set_aside` | a reader says that its runs do not speak of the item, and its relation is `same`, which counts them |
| `headline_evidence` | called closed as fixed and still there, and a part of the evidence is missing |
| `not_read` | its relation is `same`, and the newest reader saw nothing of the thread; has no exceptions |
| `no_disposition` | a closed issue of the catalog has the case, and nobody says why it was closed; has no exceptions |
| `no_times` | an item about performance has neither a case nor a reason in data/cases/unmeasured.toml, or both |
| `no_case` | somebody says why an issue was closed, and neither a case nor data/cases/uncovered.toml names it |
"""

from __future__ import annotations

import argparse
import bisect
import json
import sys
import tomllib
from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING, Any

from packaging.version import Version

from torch_embers import judgements, resources
from torch_embers.repro import case as cases
from torch_embers.repro import shipped_verdicts
from torch_embers.study import wheel_lines

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

EXCEPTIONS = "case_flags.toml"
WITHOUT = "cases/unmeasured.toml"
EVIDENCE = ("evidence_kind", "evidence", "evidence_ref", "evidence_date")
CLOSINGS = """
SELECT item, answer AS disposition, reason AS evidence, facts ->> 'evidence_kind' AS evidence_kind,
       facts ->> 'evidence_ref' AS evidence_ref, facts ->> 'evidence_date' AS evidence_date
FROM judgements WHERE question = 'disposition' ORDER BY day, reader
"""
NEWEST = "FROM case_readings WHERE is_newest"
WITHOUT_EXCEPTIONS = ("not_read", "no_disposition", "no_times")
"""Flags that are mended in the data: there is always a relation or a disposition that is true, if only unknown."""
DECIDED = ("occurs", "absent", "not_seen", "changed")


@dataclass(frozen=True, slots=True, order=True)
class Flag:
    """One doubt about a case.

    Attributes:
        case: name of the case; empty where it is about an item that has none.
        item: number of the item that it is about; 0 where it is about all of them.
        needs: devices and other requirements of the case.
    """

    name: str
    case: str
    item: int
    detail: str
    needs: tuple[str, ...] = ()

    def __str__(self) -> str:
        """The flag in one line."""
        item = f"#{self.item}" if self.item else ""
        return f"{self.name}: {f'{self.case} {item}'.strip()}: {self.detail}"


class Numbers:
    """When an item was opened, at the earliest and at the latest: numbers are given out in order of time."""

    def __init__(self, opened: Mapping[int, date]) -> None:
        self._opened = dict(sorted(opened.items()))
        self._numbers = list(self._opened)

    def earliest(self, number: int) -> date:
        """The day on which the nearest known item up to this number was opened."""
        place = bisect.bisect_right(self._numbers, number)
        return self._opened[self._numbers[place - 1]] if place else date.min

    def latest(self, number: int) -> date:
        """The day on which the nearest known item from this number on was opened."""
        place = bisect.bisect_left(self._numbers, number)
        return self._opened[self._numbers[place]] if place < len(self._numbers) else date.max


@dataclass(frozen=True, slots=True)
class Facts:
    """What flags are made from.

    Attributes:
        verdicts: verdict by case and release.
        days: day of each release.
        kinds: issue or pull by number, where known.
        states: open or closed by number, where known.
        dispositions: by number, the answer of a reader (``disposition``) with its evidence.
        readings: newest reading of a case beside an item, by both.
        uncovered: numbers of items that have no case for a reason that is written down.
        slow: numbers of items whose consequence is performance.
        unmeasured: of these, those that have no case for a reason that is written down.
    """

    verdicts: Mapping[str, Mapping[str, str]]
    days: Mapping[str, date]
    numbers: Numbers
    kinds: Mapping[int, str]
    states: Mapping[int, str]
    dispositions: Mapping[int, Mapping[str, Any]]
    readings: Mapping[tuple[str, int], Mapping[str, Any]]
    uncovered: Collection[int] = ()
    slow: Collection[int] = ()
    unmeasured: Collection[int] = ()

    @property
    def newest(self) -> str:
        """The newest release of the matrix."""
        return max((release for seen in self.verdicts.values() for release in seen), key=Version)

    def out_by(self, day: date, releases: Iterable[str]) -> list[str]:
        """The releases that were out on a day; the oldest one where none was."""
        ordered = sorted(releases, key=Version)
        return [release for release in ordered if self.days[release] <= day] or ordered[:1]


def shipped_facts() -> Facts:
    """The facts of the shipped files."""
    entries = [json.loads(line) for line in resources.data_file("catalog.jsonl").read_text("utf-8").splitlines()]
    verdicts: dict[str, dict[str, str]] = {}
    for row in shipped_verdicts.matrix():
        verdicts.setdefault(row["case"], {})[row["build"]] = row["verdict"]
    return Facts(
        verdicts=verdicts,
        days=wheel_lines.release_days(),
        numbers=Numbers({e["number"]: date.fromisoformat(e["created_at"]) for e in entries if e["created_at"]}),
        kinds={e["number"]: e["kind"] for e in entries},
        states={e["number"]: e["state"] for e in entries},
        dispositions={row["item"]: row for row in judgements.ask(CLOSINGS)},
        readings={(row["case"], row["number"]): row for row in judgements.ask(NEWEST)},
        uncovered={entry["number"] for entry in resources.load_toml("cases/uncovered.toml")["issue"]},
        slow={entry["number"] for entry in entries if ("consequence", "performance") in _labels(entry)},
        unmeasured={item for entry in resources.load_toml(WITHOUT)["without"] for item in entry["items"]},
    )


def _labels(entry: Mapping[str, Any]) -> set[tuple[str, str]]:
    return {(label["scheme"], label["value"]) for label in entry["taxonomy"]}


def _unmeasured(facts: Facts, have: Collection[int]) -> Iterator[Flag]:
    """Items about performance without a case and a reason, or with both."""
    for number in sorted(set(facts.slow).symmetric_difference(facts.unmeasured).difference(have)):
        detail = f"its consequence is performance, or data/{WITHOUT} names it: one without the other"
        yield Flag("no_times", "", number, detail)
    for number in sorted(set(facts.unmeasured).intersection(have)):
        yield Flag("no_times", "", number, f"data/{WITHOUT} says why it has no case, and it has one")


def flags(bank: Sequence[cases.Case], facts: Facts, timed: Sequence[cases.Case] = ()) -> list[Flag]:
    """Every doubt about the cases and the dispositions beside them, sorted.

    Args:
        bank: the cases.
        facts: what is known of them.
        timed: cases about time, which have no verdicts: only their items' dispositions are looked at.
    """
    have = {number for one in (*bank, *timed) for _, number in one.issues}
    covered = have.union(facts.uncovered)
    bare = [
        Flag("no_case", "", number, f"closed as {line['disposition']}, and no case names it")
        for number, line in facts.dispositions.items()
        if number not in covered
    ]
    unsaid = [
        Flag("no_disposition", one.name, number, "closed, and data/judgements.jsonl does not say why")
        for one in (*bank, *timed)
        for _, number in one.issues
        if facts.states.get(number) == "closed"
        and facts.kinds.get(number) == "issue"
        and number not in facts.dispositions
    ]
    return sorted([*bare, *unsaid, *_unmeasured(facts, have), *(flag for one in bank for flag in _of_case(one, facts))])


def _of_case(one: cases.Case, facts: Facts) -> Iterator[Flag]:
    numbers = [number for _, number in one.issues]
    needs = tuple(str(need) for need in one.needs)
    seen = facts.verdicts.get(one.name, {})
    if numbers and all(facts.kinds.get(number) == "pull" for number in numbers):
        yield Flag("only_pull_requests", one.name, 0, ", ".join(f"#{number}" for number in numbers), needs)
    for item in one.issues:
        if one.relations.get(item) == "same" and _thread_read(one, item[1], facts) == "no":
            detail = "its relation is same, and its reader saw nothing of the thread"
            yield Flag("not_read", one.name, item[1], detail, needs)
    if not any(verdict in DECIDED for verdict in seen.values()):
        yield Flag("never_tested", one.name, 0, f"untestable on {len(seen)} releases", needs)
        return
    for number in numbers:
        yield from _of_pair(one, number, facts, needs)


def _thread_read(one: cases.Case, number: int, facts: Facts) -> str:
    """How much of the thread the newest reader of a pair saw: whole, partly or no."""
    return str(facts.readings.get((one.name, number), {}).get("thread_read", "no"))


def _of_pair(one: cases.Case, number: int, facts: Facts, needs: tuple[str, ...]) -> Iterator[Flag]:
    seen = facts.verdicts[one.name]
    if one.fixed_in and facts.days[one.fixed_in] < facts.numbers.earliest(number):
        days = f"{facts.days[one.fixed_in]}, reported {facts.numbers.earliest(number)}"
        yield Flag("fixed_before_report", one.name, number, f"fixed in {one.fixed_in} of {days}", needs)
    known = [release for release, verdict in seen.items() if verdict in DECIDED]
    looked = facts.out_by(facts.numbers.latest(number), known)
    if not any(seen[release] == "occurs" for release in looked):
        yield Flag("never_red", one.name, number, f"does not occur on any release up to {looked[-1]}", needs)
    reading = facts.readings.get((one.name, number), {})
    if not reading.get("decides", True) and one.relations.get((judgements.REPO, number)) == "same":
        yield Flag("set_aside", one.name, number, "a reader set it aside, and its relation is same", needs)
    missing = list(_missing_evidence(one, number, facts))
    if missing:
        yield Flag("headline_evidence", one.name, number, "without " + ", ".join(missing), needs)


def _missing_evidence(one: cases.Case, number: int, facts: Facts) -> Iterator[str]:
    """What a line of "closed as fixed and still there" lacks; nothing for other pairs."""
    item = next(item for item in one.issues if item[1] == number)
    closing = facts.dispositions.get(number, {})
    headline = (
        facts.verdicts[one.name].get(facts.newest) == "occurs"
        and one.relations.get(item) == "same"
        and facts.states.get(number) == "closed"
        and closing.get("disposition") == "fixed"
    )
    if headline:
        yield from (key for key in EVIDENCE if not closing.get(key))
        reading = facts.readings.get((one.name, number), {})
        if reading.get("answer") != "faithful":
            yield f"a second reader who calls it faithful ({reading.get('answer', 'not read')})"


@dataclass(frozen=True, slots=True)
class Excuse:
    """Why a flag stands all the same: for one case, or for every case that needs a device."""

    flag: str
    reason: str
    case: str | None = None
    item: int | None = None
    needs: str | None = None

    def covers(self, flag: Flag) -> bool:
        """Whether it speaks of this flag."""
        return (
            flag.name == self.flag
            and flag.name not in WITHOUT_EXCEPTIONS
            and (self.case is None or flag.case == self.case)
            and (self.item is None or flag.item == self.item)
            and (self.needs is None or self.needs in flag.needs)
        )


def read_excuses(text: str) -> list[Excuse]:
    """Read data/case_flags.toml.

    Raises:
        ValueError: an entry has an unknown key, no reason, names neither a case nor an item nor a need, or a flag that
            has no exceptions.
    """
    found = []
    for place, entry in enumerate(tomllib.loads(text).get("exception", []), 1):
        try:
            excuse = Excuse(**entry)
        except TypeError as error:
            raise ValueError(f"{EXCEPTIONS}: exception {place}: {error}") from error
        if not excuse.reason.strip() or not (excuse.case or excuse.item or excuse.needs):
            raise ValueError(f"{EXCEPTIONS}: exception {place} needs a reason, and a case, an item or a need")
        if excuse.flag in WITHOUT_EXCEPTIONS:
            raise ValueError(f"{EXCEPTIONS}: exception {place}: {excuse.flag} has no exceptions, mend the data")
        found.append(excuse)
    return found


def unexplained(found: Sequence[Flag], excuses: Sequence[Excuse]) -> tuple[list[Flag], list[Excuse]]:
    """Return (flags without an exception, exceptions without a flag)."""
    return (
        [flag for flag in found if not any(excuse.covers(flag) for excuse in excuses)],
        [excuse for excuse in excuses if not any(excuse.covers(flag) for flag in found)],
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the flags; 1 where one is not explained, or an exception is stale."""
    parser = argparse.ArgumentParser(prog="case_flags", description="Cases that look as if they showed another bug.")
    parser.add_argument("--all", action="store_true", help="print flags with an exception as well")
    everything = parser.parse_args(arguments).all
    found = flags(cases.shipped(), shipped_facts(), cases.shipped("timing"))
    excuses = read_excuses(resources.data_file(EXCEPTIONS).read_text(encoding="utf-8"))
    bare, stale = unexplained(found, excuses)
    for flag in found if everything else bare:
        reasons = [excuse.reason for excuse in excuses if excuse.covers(flag)]
        sys.stdout.write(f"{flag}{'; exception: ' + reasons[0] if reasons else ''}\n")
    for excuse in stale:
        sys.stdout.write(f"exception without a flag: {excuse.flag} of {excuse.case or excuse.item or excuse.needs}\n")
    sys.stdout.write(f"{len(found)} flags, {len(found) - len(bare)} with an exception\n")
    return int(bool(bare or stale))


if __name__ == "__main__":
    sys.exit(main())
