"""What is searched: a case or the case of an item, a script, a command, or the time of a call or a case."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from torch_embers.errors import InputError
from torch_embers.repro import bank
from torch_embers.run.bisect import speed
from torch_embers.run.bisect.measuring import identity_of
from torch_embers.run.script import Script, script_of

if TYPE_CHECKING:
    from torch_embers.repro.case import Case
    from torch_embers.run.bisect.report import SubjectKind
    from torch_embers.run.bisect.request import BisectRequest
    from torch_embers.settings import Settings
    from torch_embers.store.store import Store

_PREFERENCE = ("curated", "own", "fix_test", "extracted", "synthesized")


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

    @property
    def shown(self) -> Case | None:
        """The case that the report is about: of a bug, or of a slow-down."""
        return self.speed.case if self.speed else self.case

    @property
    def script(self) -> Script | None:
        """What is printed of the case."""
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
        case = min(bank.load(store, [request.name], settings.repo), key=lambda case: _closeness(case, asked))
        sibling_of = asked if asked and case.relations.get(asked) == "sibling" else None
        return Subject(case.name, case.hash, case.code, "case", case, sibling_of)
    if request.script is not None:
        try:
            code = request.script.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise InputError(f"no script {request.script}: give the path of a Python file in UTF-8") from error
        return Subject(request.script.name, code, code, "script")
    return Subject(request.predicate, repr((request.predicate, identity_of(request.predicate))), "", "predicate")


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
