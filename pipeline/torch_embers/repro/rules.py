"""``data/extraction.toml`` as objects: limits, reasons, patterns, packages, edit actions; compiled once.

The lists of reasons and of edit actions are closed: naming one that the file does not have is an error, so that tables
counted over them are complete.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache, cached_property, partial
from typing import Annotated, Literal, Self

from pydantic import BeforeValidator, Field, model_validator

from torch_embers import toml_models
from torch_embers.errors import InputError
from torch_embers.link.relations import unbounded
from torch_embers.toml_models import Entry, Explained

FILE = "extraction.toml"


def pattern(text: str, *, lines: bool = False) -> re.Pattern[str] | None:
    """Compile a pattern of the file; with ``lines``, ``^`` and ``$`` match at every line. None for an empty text.

    Raises:
        ValueError: no regular expression, or a repetition without an upper bound.
    """
    if unbounded(text):
        raise ValueError(f"every repetition needs an upper bound: {text}")
    try:
        return re.compile(text, re.MULTILINE if lines else 0) if text else None
    except re.error as error:
        raise ValueError(f"{error}: {text}") from error


Pattern = Annotated[re.Pattern[str], BeforeValidator(pattern)]
LinePattern = Annotated[re.Pattern[str], BeforeValidator(partial(pattern, lines=True))]


@dataclass(frozen=True, slots=True)
class Edit:
    """One thing that was done to a script on its way from verbatim to runnable.

    Attributes:
        action: an ``[[action]]`` of data/extraction.toml.
        line: 1-based, in the script as it was just before this edit.
        before: what stood there; empty for an addition.
        after: what stands there now; empty for a removal.
        reason: why, in the words of the data file where the rule has its own.
    """

    action: str
    line: int
    before: str
    after: str
    reason: str


class Limits(Entry):
    """Numbers of ``[limits]``; what each is for stands there."""

    text_chars: int
    work_chars: int
    work_seconds: float
    line_chars: int
    blocks: int
    comments: int
    block_chars: int
    script_chars: int
    script_lines: int
    output_chars: int
    repairs: int
    brackets: int
    chain: int
    candidate_chars: int
    item_chars: int


class _Reasoned(Entry):
    reason: str = Field(min_length=1)


class _Reason(_Reasoned):
    id: str
    text: str


class _Action(_Reasoned):
    id: str


class _Tag(_Reasoned):
    kind: str
    names: tuple[str, ...]


class _Output(_Reasoned):
    id: str
    names: tuple[str, ...]


class LineRule(_Reasoned):
    """Lines that show the kind of a block."""

    kind: Literal["python", "shell", "traceback", "output", "config", "graph", "cpp", "diff"]
    sure: bool
    pattern: Pattern


class Import(_Reasoned):
    """How undefined names are imported; ``when`` says how they must be used: ``name.x``, ``name(...)``, or at all."""

    names: tuple[str, ...]
    code: str
    when: Literal["attribute", "call", ""] = ""


class _Python2(_Reasoned):
    name: str
    value: str = Field(alias="becomes")


class _Default(_Reasoned):
    names: tuple[str, ...]
    value: str


class _NameDrift(_Reasoned):
    names: tuple[str, ...]
    value: str = Field(alias="becomes")


class Package(_Reasoned):
    """What is done with a script that imports a package."""

    names: tuple[str, ...]
    do: Literal["present", "need", "drop", "refuse"]
    becomes: str = "external_package"


class Refusal(_Reasoned):
    """Calls and modules that no run here can serve."""

    becomes: str
    calls: frozenset[str]
    modules: frozenset[str]
    unless: Pattern | None = None


class _Calls(_Reasoned):
    calls: frozenset[str]


class _Readers(_Calls):
    writers: frozenset[str]


class _Plots(_Reasoned):
    roots: frozenset[str]


class _Device(Explained):
    title: Pattern
    evidence: Pattern
    needs_cuda: frozenset[str]
    harmless: frozenset[str]
    others: frozenset[str]


class Drift(_Reasoned):
    """A function that was renamed or removed."""

    call: str
    becomes: str = ""
    drop: frozenset[str] = frozenset()
    swap: bool = False
    needs: str = ""


class _KeywordDrift(_Reasoned):
    keyword: str
    calls: tuple[str, ...]


class Symptom(_Reasoned):
    """Words that say how something failed."""

    signature: str
    outputs: Annotated[re.Pattern[str] | None, BeforeValidator(partial(pattern, lines=True))]
    words: Pattern


class _Exception(Explained):
    line: LinePattern
    prose: Pattern
    wanted: Pattern
    comment: Pattern
    slips: frozenset[str]
    warnings: frozenset[str]
    wrapping: tuple[str, ...]
    inner: LinePattern
    likeness: float
    words: int

    @cached_property
    def unreported(self) -> frozenset[str]:
        """Exceptions that are not what a report is about."""
        return self.slips | self.warnings


class _Values(Explained):
    actual: LinePattern
    expected: LinePattern
    contradiction: LinePattern
    aside: LinePattern
    environment: LinePattern
    volatile: LinePattern
    trivial: LinePattern
    shape: LinePattern
    about_shape: Pattern
    described: Pattern
    contrast: Pattern
    old_form: LinePattern


class _Review(Explained):
    asks_for_error: Pattern
    about_feature: Pattern
    about_message: Pattern
    about_cost: Pattern
    about_value: Pattern
    about_failure: Pattern
    is_right: Pattern
    right_behind: Pattern
    libraries: frozenset[str]
    other_side: Pattern
    on_device: Pattern
    no_failure: Pattern
    hangs: Pattern
    words: int
    changed: frozenset[str]


class _Prefer(Explained):
    definite: frozenset[str]
    more: Pattern
    less: Pattern
    reproduces: Pattern
    installing: Pattern


class Rules(Entry):
    """The file; ``load()`` gives the shipped one."""

    version: Literal[1]
    limits: Limits
    lines: tuple[LineRule, ...] = Field(alias="line")
    refusals: tuple[Refusal, ...] = Field(alias="refuse")
    readers: _Readers
    random: _Calls
    debuggers: _Calls
    plots: _Plots
    device: _Device
    methods2: dict[str, str]
    symptoms: tuple[Symptom, ...] = Field(alias="symptom")
    exception: _Exception
    values: _Values
    review: _Review
    prefer: _Prefer
    reason_entries: tuple[_Reason, ...] = Field(alias="reason")
    action_entries: tuple[_Action, ...] = Field(alias="action")
    tag_entries: tuple[_Tag, ...] = Field(alias="tag")
    output_entries: tuple[_Output, ...] = Field(alias="output")
    import_entries: tuple[Import, ...] = Field(alias="import")
    python2_entries: tuple[_Python2, ...] = Field(alias="python2")
    default_entries: tuple[_Default, ...] = Field(alias="default")
    package_entries: tuple[Package, ...] = Field(alias="package")
    drift_entries: tuple[Drift, ...] = Field(alias="drift")
    name_drift_entries: tuple[_NameDrift, ...] = Field(alias="name_drift")
    keyword_drift_entries: tuple[_KeywordDrift, ...] = Field(alias="keyword_drift")

    @model_validator(mode="after")
    def _names_listed_reasons(self) -> Self:
        named = {entry.becomes for entry in self.refusals} | {entry.becomes for entry in self.package_entries}
        if unknown := sorted(named - self.reasons.keys()):
            raise ValueError(f"no reason is called {unknown[0]!r}")
        return self

    @cached_property
    def reasons(self) -> dict[str, str]:
        """Why no script can be made of an item: meaning by name."""
        return {entry.id: entry.text for entry in self.reason_entries}

    @cached_property
    def actions(self) -> dict[str, str]:
        """What is done to a script: reason by name."""
        return {entry.id: entry.reason for entry in self.action_entries}

    @cached_property
    def tags(self) -> dict[str, str]:
        """Kind of a block by the tag of its fence."""
        return {name: entry.kind for entry in self.tag_entries for name in entry.names}

    @cached_property
    def printed(self) -> frozenset[str]:
        """Names whose bare call is a printed value."""
        return frozenset(name for entry in self.output_entries for name in entry.names)

    @cached_property
    def imports(self) -> dict[str, Import]:
        """Import by undefined name."""
        return {
            name: entry.model_copy(update={"code": entry.code.format(name=name)})
            for entry in self.import_entries
            for name in entry.names
        }

    @cached_property
    def python2(self) -> dict[str, _Python2]:
        """Present name by the name of Python 2."""
        return {entry.name: entry for entry in self.python2_entries}

    @cached_property
    def defaults(self) -> dict[str, _Default]:
        """Value by undefined name."""
        return {name: entry for entry in self.default_entries for name in entry.names}

    @cached_property
    def packages(self) -> dict[str, Package]:
        """What is done with a package, by its name."""
        return {name: entry for entry in self.package_entries for name in entry.names}

    @cached_property
    def drift(self) -> dict[str, Drift]:
        """What became of a function, by its old name."""
        return {entry.call: entry for entry in self.drift_entries}

    @cached_property
    def name_drift(self) -> dict[str, _NameDrift]:
        """Present name by the old name."""
        return {name: entry for entry in self.name_drift_entries for name in entry.names}

    @cached_property
    def keyword_drift(self) -> dict[tuple[str, str], str]:
        """Reason by function and keyword that it no longer takes."""
        return {(call, entry.keyword): entry.reason for entry in self.keyword_drift_entries for call in entry.calls}

    def edit(self, action: str, line: int, before: str, after: str, reason: str = "") -> Edit:
        """Build an edit; the action's own reason stands where none is given.

        Raises:
            InputError: an action that the file does not list.
        """
        if action not in self.actions:
            raise InputError(f"{FILE}: no action is called {action!r}")
        return Edit(action, line, before, after, reason or self.actions[action])

    def reason(self, name: str) -> str:
        """Check that a reason is listed, and return its name.

        Raises:
            InputError: it is not.
        """
        if name not in self.reasons:
            raise InputError(f"{FILE}: no reason is called {name!r}")
        return name


@cache
def load() -> Rules:
    """Read and compile the shipped rules.

    Raises:
        InputError: the file is missing, or an entry is wrong.
    """
    return toml_models.load(Rules, FILE)
