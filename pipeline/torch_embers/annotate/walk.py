"""One labelling session at the terminal: shows an item, reads keys, and keeps every answer at once."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from rich.text import Text

from torch_embers.annotate.item import load, shown_text, wrapped
from torch_embers.annotate.journal import NOTE, Entry, Journal, entries_of
from torch_embers.annotate.keyboard import END, ENTER, ERASE, ESCAPE, ON, UP
from torch_embers.annotate.session import COMMANDS, class_keys
from torch_embers.annotate.table import PURPOSE, put
from torch_embers.errors import StoreBusyError
from torch_embers.normalize import clean_text, now_utc

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from rich.console import Console

    from torch_embers.annotate.item import ItemView
    from torch_embers.annotate.session import Change, Question, Session
    from torch_embers.annotate.table import Answers
    from torch_embers.store.store import Store
    from torch_embers.taxonomy import ClassDef, Scheme

NOTE_CHARS = 1_000
LEAST_LINES, PIPED_LINES, OTHER_LINES = 6, 30, 11
"""Lines of text shown at a time: at least, and where the output is no terminal; lines of all else but the classes."""


class KeysEndError(Exception):
    """No more keys."""


@dataclass(slots=True)
class Screen:
    """What of the present item is on the screen."""

    shown: ItemView | None = None
    raw: bool = False
    rules: bool = False
    top: int = 0
    chosen: tuple[str, ...] = ()
    """Picked so far in a question that takes several classes."""
    lines: list[Text] = field(default_factory=list)


class Walk:
    """One session at the terminal."""

    def __init__(
        self,
        store: Store,
        session: Session,
        annotator: str,
        notes: dict[Any, str],
        keys: Iterator[str],
        out: Console,
        *,
        blind: bool,
    ) -> None:
        self.store, self.session, self.annotator, self.notes = store, session, annotator, notes
        self.keys, self.out, self.blind = keys, out, blind
        self.journal = Journal.of(store)
        self.pending: Answers = {}
        self.screen = Screen()
        self.message = ""
        self.commands: dict[str, Callable[[], None]] = {
            "b": self._back,
            "s": self._skip,
            "n": self._note,
            "u": self._undo,
            "r": self._raw,
            "?": self._rules,
            "0": self._cannot_tell,
        }

    def run(self) -> None:
        """Ask until the keys end, the person quits, or nothing is left; everything is kept whatever happens."""
        try:
            with suppress(KeysEndError):
                while self._turn():
                    pass
        finally:
            self.flush()

    def _turn(self) -> bool:
        self._show()
        key = self._key()
        if key in ("q", "Q"):
            return False
        if self.session.now is None and key in ENTER:
            return False
        self.message = ""
        before, stood = self.session.now, self.session.standing()
        self._press(key)
        if self.session.now != before or self.session.standing() != stood:
            self._moved(before)
        return True

    def _moved(self, before: Question | None) -> None:
        same = before and self.session.now and before.place == self.session.now.place
        standing = self.session.standing()
        if not same:
            self.screen = Screen()
            self.flush()
        self.screen.rules, self.screen.chosen = False, standing.values if standing else ()
        self.screen.lines = []
        self.screen.top = self.screen.top if same else 0

    def _press(self, key: str) -> None:
        lower = key.lower()
        scheme = self._scheme()
        offered = class_keys(self.session.options())
        if lower in self.commands:
            self.commands[lower]()
        elif key in ON or key in UP:
            self._scroll(1 if key in ON else -1)
        elif scheme is None:
            self.message = "nothing is left to ask"
        elif lower in offered:
            self._choose(scheme, offered[lower].name)
        elif key in ENTER:
            self._enter(scheme)
        else:
            self.message = f"no class and no command on key {key!r}"

    def _key(self) -> str:
        for key in self.keys:
            if key in END:
                break
            return key
        raise KeysEndError

    # --- what keys do

    def _choose(self, scheme: Scheme, value: str) -> None:
        if scheme.exclusive:
            self._answer((value,))
        elif value in self.screen.chosen:
            self.screen.chosen = tuple(one for one in self.screen.chosen if one != value)
        else:
            self.screen.chosen = (*self.screen.chosen, value)

    def _enter(self, scheme: Scheme) -> None:
        if not scheme.exclusive and self.screen.chosen:
            self._answer(self.screen.chosen)
        elif (standing := self.session.standing()) is not None and self.screen.chosen in ((), standing.values):
            self.session = self.session.forward()
        else:
            self.message = "press the key of a class, or 0 where the report does not decide it"

    def _cannot_tell(self) -> None:
        if self.session.now is not None:
            self._answer(())

    def _answer(self, values: Sequence[str]) -> None:
        answered, changes = self.session.answer(values, now_utc())
        self._keep(changes)
        self.session = answered

    def _undo(self) -> None:
        undone, changes = self.session.undo()
        if not changes:
            self.message = "nothing of this session to take back"
            return
        self._keep(changes)
        self.session = undone
        self.message = f"taken back: {changes[0].scheme}"

    def _back(self) -> None:
        returned = self.session.back()
        self.message = "this is the first question" if returned == self.session else ""
        self.session = returned

    def _skip(self) -> None:
        self.session = self.session.skip()

    def _raw(self) -> None:
        self.screen.raw, self.screen.rules, self.screen.top, self.screen.lines = not self.screen.raw, False, 0, []

    def _rules(self) -> None:
        self.screen.rules, self.screen.top, self.screen.lines = not self.screen.rules, 0, []

    def _scroll(self, pages: int) -> None:
        step = max(self._room() - 1, 1)
        last = max(len(self.screen.lines) - self._room(), 0)
        self.screen.top = min(max(self.screen.top + pages * step, 0), last)

    def _note(self) -> None:
        item = self.session.item
        if item is None:
            return
        text = self.line("note (Enter keeps it, Esc leaves it)", NOTE_CHARS)
        if text is None:
            return
        self.journal.append([Entry(NOTE, *item, self.annotator, now_utc(), note=text)])
        self.notes[self.annotator, item] = text
        standing = {key: answer for key, answer in self.session.answers.items() if key[0] == item}
        self.pending |= {(self.annotator, item, scheme): answer for (_, scheme), answer in standing.items()}
        self.message = "note kept" if text else "note removed"

    def line(self, prompt: str, limit: int) -> str | None:
        """A line of text, typed key by key; ``None`` after Escape. The end of the keys ends the line as well.

        Raises:
            KeysEndError: the keys ended and nothing was typed.
        """
        self._print(Text(f"{prompt}: "), end="")
        typed = ""
        while True:
            try:
                key = self._key()
            except KeysEndError:
                if typed:
                    break
                raise
            if key in ENTER or key == ESCAPE:
                self._print(Text(""))
                if key == ESCAPE:
                    return None
                break
            if key in ERASE:
                typed = typed[:-1]
                self._print(Text("\b \b"), end="")
            elif len(key) == 1 and key.isprintable() and len(typed) < limit:
                typed += key
                self._print(shown_text(key), end="")
        return " ".join(clean_text(typed).split())

    # --- keeping

    def _keep(self, changes: Sequence[Change]) -> None:
        """The journal first: what it has is safe."""
        self.journal.append(entries_of(changes, self.annotator, now_utc()))
        for one in changes:
            self.pending[self.annotator, one.item, one.scheme] = one.after

    def flush(self) -> None:
        """Bring what the journal has into the table, unless somebody else is writing."""
        if not self.pending:
            return
        try:
            with self.store.writer(PURPOSE) as writer:
                put(writer, self.pending, self.notes)
            self.pending = {}
        except StoreBusyError:
            self.message = f"the database is busy: answers wait in {self.journal.path.name}"

    # --- showing

    def _print(self, text: Text, end: str = "\n") -> None:
        self.out.print(text, end=end, highlight=False, emoji=False, soft_wrap=True)

    def _scheme(self) -> Scheme | None:
        return self.session.taxonomy.scheme(self.session.now.scheme) if self.session.now else None

    def _room(self) -> int:
        """Lines left for the text."""
        if not self.out.is_terminal:
            return PIPED_LINES
        classes = len(self._compact()) if self._is_low() else len(self.session.options())
        return max(self.out.height - classes - OTHER_LINES, LEAST_LINES)

    def _is_low(self) -> bool:
        """Whether the window is too low for one line a class; the rules are then a key away."""
        return self.out.is_terminal and self.out.height < len(self.session.options()) + OTHER_LINES + LEAST_LINES

    def _show(self) -> None:
        if self.out.is_terminal:
            self.out.clear()
        if self.session.now is None:
            self._print(Text("Nothing is left to ask. Enter or q ends, b goes back, u takes the last answer back."))
        else:
            self._show_item()
            self._show_question()
        if self.message:
            self._print(shown_text(self.message, "yellow"))

    def _show_item(self) -> None:
        item, now = self.session.item, self.session.now
        if item is None or now is None:
            return
        if self.screen.shown is None:
            self.screen.shown = load(self.store, item)
        shown = self.screen.shown
        self._print(
            shown_text(f"{item[0]}#{item[1]} · {shown.state} · {now.place + 1} of {len(self.session.items)}", "dim")
        )
        self._print(shown_text(shown.title, "bold"))
        self._print(shown_text("labels: " + (", ".join(shown.labels) or "none"), "cyan"))
        if note := self.notes.get((self.annotator, item)):
            self._print(shown_text(f"note: {note}", "green"))
        self._show_text(shown)

    def _show_text(self, shown: ItemView) -> None:
        screen = self.screen
        if not screen.lines:
            screen.lines = (
                self._rule_lines() if screen.rules else wrapped(shown.raw if screen.raw else shown.cleaned, self.out)
            )
        page = screen.lines[screen.top : screen.top + self._room()]
        self._print(Text("-" * min(self.out.width, 100), "dim"))
        for line in page:
            self._print(line)
        kind = "rules" if screen.rules else "raw text" if screen.raw else "text"
        more = "" if len(page) == len(screen.lines) else "; space and - scroll"
        self._print(
            Text(f"--- {kind}, lines {screen.top + 1}-{screen.top + len(page)} of {len(screen.lines)}{more}", "dim")
        )

    def _rule_lines(self) -> list[Text]:
        scheme = self._scheme()
        if scheme is None:
            return []
        said = [f"{scheme.name}: {scheme.definition} {scheme.order}", ""]
        for key, entry in class_keys(self.session.options()).items():
            said += [f"{key} {entry.name}: {entry.definition}", f"    {entry.rule}", ""]
        return wrapped("\n".join(said), self.out)

    def _show_question(self) -> None:
        scheme = self._scheme()
        if scheme is None or self.screen.shown is None:
            return
        guess = self.screen.shown.guesses.get(scheme.name)
        tail = f"   model: {guess}" if guess and not self.blind else ""
        self._print(shown_text(f"{scheme.name}: {scheme.definition}{tail}", "bold"))
        for line in self._compact() if self._is_low() else self._class_lines():
            self._print(line)
        standing = self.session.standing()
        if standing is not None:
            given = ", ".join(standing.values) or "cannot tell"
            self._print(shown_text(f"your answer: {given} (Enter keeps it)", "green"))
        elif not scheme.exclusive:
            self._print(Text("any number of keys, then Enter", "dim"))
        self._print(Text(" · ".join(f"{key} {what}" for key, what in COMMANDS.items()), "dim"))

    def _class_lines(self) -> list[Text]:
        """A line per class: its key, its name, and as much of its rule as there is room for."""
        offered = class_keys(self.session.options())
        longest = max((len(entry.name) for entry in offered.values()), default=0)
        lines = []
        for key, entry in offered.items():
            line = Text(f"{self._mark(entry)}{key} {entry.name:<{longest}}  ") + shown_text(entry.rule, "dim")
            line.truncate(max(self.out.width, 20), overflow="ellipsis")
            lines.append(line)
        return lines

    def _compact(self) -> list[Text]:
        """The classes without their rules, several in a line."""
        offered = class_keys(self.session.options()).items()
        names = [f"{self._mark(entry)}{key} {entry.name}".replace(" ", "\xa0") for key, entry in offered]
        return list(Text("  ".join(names)).wrap(self.out, max(self.out.width, 20)))

    def _mark(self, entry: ClassDef) -> str:
        return "*" if entry.name in self.screen.chosen else " "
