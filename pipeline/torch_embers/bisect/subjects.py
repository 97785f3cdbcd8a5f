"""What is searched: a case or the case of an item, the script of an item, a file, or a command."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from torch_embers.bisect.behaviours import sides_of
from torch_embers.bisect.predicate import identity_of
from torch_embers.builds.registry import Registry
from torch_embers.cases import bank
from torch_embers.errors import InputError
from torch_embers.timeline.item_script import of_report
from torch_embers.timeline.stored import timeline_of
from torch_embers.verdicts.script_excerpt import Script, script_of

if TYPE_CHECKING:
    from torch_embers.bisect.behaviours import Sides
    from torch_embers.bisect.request import BisectRequest
    from torch_embers.cases.case import Case
    from torch_embers.settings import Settings
    from torch_embers.store.store import Store

_PREFERENCE = ("curated", "own", "fix_test")


@dataclass(frozen=True, slots=True)
class Subject:
    """What is searched.

    Attributes:
        name: as people call it.
        content: all that decides what it does.
        code: its program; empty of a command.
        sibling_of: the item that was asked for, where the case shows a related bug and not its own.
        sides: of the script of an item, the behaviours between which is searched.
    """

    name: str
    content: str
    code: str
    kind: Literal["case", "behaviour", "script", "predicate"]
    case: Case | None = None
    sibling_of: tuple[str, int] | None = None
    sides: Sides | None = None

    @property
    def items(self) -> tuple[tuple[str, int], ...]:
        """(repository, number) that it belongs to."""
        if self.sides:
            return ((self.sides.item.repo, self.sides.item.number),)
        return self.case.issues if self.case else ()

    @property
    def what(self) -> str:
        """What the answer speaks of."""
        return f"behaviour of {self.sides.bad.version}" if self.sides else "bug"

    @property
    def script(self) -> Script | None:
        """What is printed of the case, or of the item's script."""
        if self.sides or self.case:
            return script_of(self.name, self.case.origin if self.case else "", self.code)
        return None


def subject_of(store: Store, settings: Settings, request: BisectRequest) -> Subject:
    """What a request means.

    Raises:
        InputError: there is no such case, script or command.
    """
    if request.name:
        return _of_name(store, settings, request)
    if request.script is not None:
        try:
            code = request.script.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise InputError(f"no script {request.script}: give the path of a Python file in UTF-8") from error
        return Subject(request.script.name, code, code, "script")
    return Subject(request.predicate, repr((request.predicate, identity_of(request.predicate))), "", "predicate")


def _of_name(store: Store, settings: Settings, request: BisectRequest) -> Subject:
    """The case of that name or item; of a number the case of that very bug, before those that are read less closely."""
    home, _, number = request.name.rpartition("#")
    asked = (home or settings.repo, int(number)) if number.isdecimal() else None
    try:
        cases = bank.load(store, [request.name], settings.repo)
    except InputError:
        if asked is None:
            raise
        return _of_report(store, settings, asked, request)
    relations = {case.name: case.relations.get(asked) if asked else None for case in cases}
    case = min(cases, key=lambda case: (relations[case.name] != "same", _PREFERENCE.index(case.origin)))
    return Subject(case.name, case.hash, case.code, "case", case, asked if relations[case.name] == "sibling" else None)


def _of_report(store: Store, settings: Settings, item: tuple[str, int], request: BisectRequest) -> Subject:
    """The script of an item without a case."""
    builds = Registry(settings.builds_dir).installed()
    with store.read() as connection:
        own = of_report(connection, *item)
        sides = sides_of(connection, own, timeline_of(connection, *item), builds, request)
    content = repr((own.script.hash, sides.bad.version, sides.good.version))
    return Subject(own.name, content, own.script.code, "behaviour", sides=sides)
