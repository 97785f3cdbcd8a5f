"""A second process that turns texts into rows while this one does: parsing holds Python's lock, so a thread is no help.

It gets texts through a pipe and answers with their rows; it opens no file but the shipped rules, and never the
database. Whatever happens to it costs time and no row: texts whose answer does not come are parsed here, and a warning
says so.
"""

from __future__ import annotations

import logging
import os
import pickle
import subprocess
import sys
from collections import deque
from contextlib import contextmanager, suppress
from typing import IO, TYPE_CHECKING, Any, NamedTuple, cast

from torch_embers.link import relations
from torch_embers.link.components import Components
from torch_embers.link.texts import Rows, Texts, rows_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from concurrent.futures import Future

_LOG = logging.getLogger(__name__)
LEAST = 10_000
"""Texts that are worth a second process: it needs 0.4 s of a core to start, in which 10,000 texts are parsed here."""
AHEAD = 8
"""Portions of texts that wait for the helper or are with it, so that it has work while this process writes."""
AHEAD_CHARS = 16_000_000
"""Characters that may wait so; without a text of a megabyte among them 8 portions have a fraction of it."""
PATIENCE = 120.0
"""Seconds to wait for an answer: 1,000 texts of the longest that are read (data/relations.toml) take less."""
_START = "import sys; sys.path[:] = sys.argv[1:]; from torch_embers.link import helper; helper.serve()"


def cores() -> int:
    """Processor cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@contextmanager
def helper_for(texts: int) -> Iterator[Helper | None]:
    """Start a helper for the block where there are enough texts and a core for it; ``None`` elsewhere."""
    if texts < LEAST or cores() < 2 or not sys.executable:
        yield None
        return
    try:
        helper = Helper()
    except OSError as error:
        _LOG.warning("no second process to find links with (%s): this one does all of it", error)
        yield None
        return
    try:
        yield helper
    finally:
        helper.close()


class Helper:
    """The second process, and the thread that talks to it."""

    def __init__(self) -> None:
        """Start it.

        Raises:
            OSError: no further process can be started.
        """
        from concurrent.futures import ThreadPoolExecutor

        # a session of its own: Ctrl-C is for this process, which then ends the other one
        self._process = subprocess.Popen(
            [sys.executable, "-c", _START, *sys.path],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        self._talk = ThreadPoolExecutor(1, "embers-linker")
        self._ready: Future[Rows] = self._talk.submit(self._answer)
        self._first_error: Exception | None = None
        """What went wrong; that it can be asked no more only follows from it."""
        self.lost = False
        """Whether it can be asked no more."""

    def is_ready(self) -> bool:
        """Whether it has started and can be asked."""
        if not self.lost and self._ready.done() and (error := self._ready.exception()):
            self.give_up(error)
        return not self.lost and self._ready.done()

    def ask(self, origin: str, texts: Texts) -> Future[Rows]:
        """Let it parse texts of one origin; the answer comes later, or an exception."""
        return self._talk.submit(self._ask, origin, texts)

    def _ask(self, origin: str, texts: Texts) -> Rows:
        stream = cast("IO[bytes]", self._process.stdin)
        try:
            pickle.dump((origin, texts), stream, pickle.HIGHEST_PROTOCOL)
            stream.flush()
            return self._answer()
        except Exception as error:
            self._first_error = self._first_error or error
            raise

    def _answer(self) -> Rows:
        answer = pickle.load(cast("IO[bytes]", self._process.stdout))  # noqa: S301 - of our own process, through our own pipe
        if not isinstance(answer, Rows):
            raise RuntimeError(str(answer))  # noqa: TRY004 - it is what went wrong there
        return answer

    def give_up(self, error: BaseException) -> None:
        """Do without it from now on, and say so once."""
        if not self.lost:
            cause = self._first_error or error
            reason = f"{type(cause).__name__}: {cause}".rstrip(": ")
            _LOG.warning("the second process that finds links was lost (%s): this one goes on alone", reason)
            self.close()

    def close(self) -> None:
        """End the process and the thread; again has no effect."""
        self.lost = True
        self._process.kill()  # it holds nothing that could be lost
        self._talk.shutdown(cancel_futures=True)
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout):
            with suppress(OSError):  # what it did not read any more
                cast("IO[bytes]", stream).close()


class _Asked(NamedTuple):
    """A portion of texts that the helper is to parse."""

    place: int
    origin: str
    texts: Texts
    chars: int
    answer: Future[Rows]


class SharedWork:
    """Rows of texts in the order of the texts, whoever parses them: the helper while it has room, else this process."""

    def __init__(self, helper: Helper | None) -> None:
        self._helper = helper
        self._parts: list[Rows] = []
        self._asked: deque[_Asked] = deque()

    def add(self, origin: str, texts: Texts) -> None:
        """Give out, or parse, more texts of one origin."""
        while self._asked and self._asked[0].answer.done():
            self._take()
        helper = self._helper
        if helper and self._has_room() and helper.is_ready():
            chars = sum(len(value) for text in texts for value in text if isinstance(value, str))
            self._asked.append(_Asked(len(self._parts), origin, texts, chars, helper.ask(origin, texts)))
            self._parts.append(Rows())
        else:
            self._parts.append(rows_of(origin, texts))

    def _has_room(self) -> bool:
        return len(self._asked) < AHEAD and sum(asked.chars for asked in self._asked) < AHEAD_CHARS

    def rows(self) -> Rows:
        """All rows, when the last answer has come; what the helper has not begun by now is parsed here."""
        while self._asked:
            last = self._asked[-1]
            if not self._asked[0].answer.done() and last.answer.cancel():
                self._asked.pop()
                self._parts[last.place] = rows_of(last.origin, last.texts)
            else:
                self._take()
        whole = Rows()
        for part in self._parts:
            whole.extend(part)
        return whole

    def _take(self) -> None:
        asked = self._asked.popleft()
        try:
            self._parts[asked.place] = asked.answer.result(PATIENCE)
        except Exception as error:  # noqa: BLE001 - any: an error of the texts themselves comes again here
            if self._helper:
                self._helper.give_up(error)
            self._parts[asked.place] = rows_of(asked.origin, asked.texts)


def serve() -> None:
    """Be the helper: texts come on standard input, their rows go to standard output, until one of them ends."""
    questions = sys.stdin.buffer
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # nothing that prints may come between the answers
    with suppress(EOFError, OSError, pickle.UnpicklingError):  # the other process has ended
        try:
            relations.load()
            Components.load()
            _send(answers, Rows())
            while True:
                origin, texts = pickle.load(questions)  # noqa: S301 - of the process that started this one
                _send(answers, rows_of(origin, texts))
        except (EOFError, OSError, pickle.UnpicklingError):
            raise
        except Exception as error:  # noqa: BLE001 - told to the other process
            _send(answers, f"{type(error).__name__}: {error}")
    os._exit(0)  # nobody is left who reads what a closing file may have to say


def _send(stream: IO[bytes], answer: Any) -> None:
    pickle.dump(answer, stream, pickle.HIGHEST_PROTOCOL)
    stream.flush()
