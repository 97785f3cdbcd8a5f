"""What is searched: a case or the case of an item, its script, a file, a command, or the time of a call or a case."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from torch_embers.bisect import speed
from torch_embers.bisect.behaviours import sides_of
from torch_embers.bisect.measuring import identity_of
from torch_embers.bisect.report import BUG, SLOW, Words
from torch_embers.builds.registry import Registry
from torch_embers.cases import bank
from torch_embers.errors import InputError
from torch_embers.timeline.item_script import of_report
from torch_embers.timeline.stored import timeline_of
from torch_embers.verdicts.script_excerpt import Script, script_of

if TYPE_CHECKING:
    from torch_embers.bisect.behaviours import Sides
    from torch_embers.bisect.report import SubjectKind
    from torch_embers.bisect.request import BisectRequest
    from torch_embers.cases.case import Case
    from torch_embers.settings import Settings
    from torch_embers.store.store import Store

_PREFERENCE = ("curated", "own", "fix_test")


@dataclass(frozen=True, slots=True)
class Subject:
    """What is searched."""

    name: str
    content: str
    code: str
    kind: SubjectKind
    case: Case | None = None
    sibling_of: tuple[str, int] | None = None
    speed: speed.Speed | None = None
    sides: Sides | None = None

    @property
    def items(self) -> tuple[tuple[str, int], ...]:
        """(repository, number) that it belongs to."""
        if self.sides:
            return ((self.sides.item.repo, self.sides.item.number),)
        return self.shown.issues if self.shown else ()

    @property
    def words(self) -> Words:
        """What the answer speaks of."""
        if self.sides:
            return Words(f"behaviour of {self.sides.bad.version}", "runs")
        return SLOW if self.speed else BUG

    @property
    def shown(self) -> Case | None:
        """The case that the report is about: of a bug, or of a slow-down."""
        return self.speed.case if self.speed else self.case

    @property
    def script(self) -> Script | None:
        """What is printed of the case, or of the report's script."""
        if self.sides:
            return script_of(self.name, "", self.code)
        return script_of(self.shown.name, self.shown.origin, self.shown.code) if self.shown else None


def subject_of(store: Store, settings: Settings, request: BisectRequest) -> Subject:
    """What a request means.

    Raises:
        InputError: there is no such case, script, command or call.
    """
    timed = _timed(store, settings, request)
    if timed is not None:
        return Subject(timed.name, repr((timed.limit, timed.code)), timed.code, "speed", speed=timed)
    if request.name:
        asked = _item(request.name, settings.repo)
        try:
            cases = bank.load(store, [request.name], settings.repo)
        except InputError:
            if asked is None:
                raise
            return _script_of(store, settings, asked, request)
        case = min(cases, key=lambda case: _closeness(case, asked))
        sibling_of = asked if asked and case.relations.get(asked) == "sibling" else None
        return Subject(case.name, case.hash, case.code, "case", case, sibling_of)
    if request.script is not None:
        try:
            code = request.script.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise InputError(f"no script {request.script}: give the path of a Python file in UTF-8") from error
        return Subject(request.script.name, code, code, "script")
    return Subject(request.predicate, repr((request.predicate, identity_of(request.predicate))), "", "predicate")


def _script_of(store: Store, settings: Settings, item: tuple[str, int], request: BisectRequest) -> Subject:
    """The script of an item without a case."""
    builds = Registry(settings.builds_dir).installed()
    with store.read() as connection:
        own = of_report(connection, *item)
        sides = sides_of(connection, own, timeline_of(connection, *item), builds, request)
    return Subject(
        own.name,
        repr((own.script.hash, sides.bad.version, sides.good.version)),
        own.script.code,
        "behaviour",
        sides=sides,
    )


def _timed(store: Store, settings: Settings, request: BisectRequest) -> speed.Speed | None:
    """What is timed; None where the request is about a bug. A number means a case about time where no other has it."""
    if request.call:
        return speed.of_call(request.call, request.margin)
    if not request.name or (named := speed.of_case(request.name, settings.repo, by_number=False)):
        return named if request.name else None
    try:
        bank.load(store, [request.name], settings.repo)
    except InputError:
        return speed.of_case(request.name, settings.repo, by_number=True)
    return None


def _item(name: str, repo: str) -> tuple[str, int] | None:
    """The item that a name means; None where it is the name of a case."""
    home, _, number = name.rpartition("#")
    return (home or repo, int(number)) if number.isdecimal() else None


def _closeness(case: Case, asked: tuple[str, int] | None) -> tuple[bool, int]:
    """What a number means first: the case of that very bug, then the origin that is read most closely."""
    return asked is not None and case.relations.get(asked) != "same", _PREFERENCE.index(case.origin)
