"""A timeline in words."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from torch_embers.timeline.model import Segment, Timeline
from torch_embers.timeline.sentence import details, sentence, strip

OLD, NEW = ("2.4.1", "2.5.1", "2.6.0"), ("2.7.1", "2.8.0")


def crash(**more: Any) -> Segment:
    return Segment(OLD, "signal", "SIGSEGV", match="as_reported", evidence="'segfault': title", **more)


def error(**more: Any) -> Segment:
    values: dict[str, Any] = {"match": "other", "flip": "ending", "runs": 11, "shown": "ValueError: bad size"} | more
    return Segment(NEW, "exception", "ValueError", **values)


def prints(match: str | None, versions: tuple[str, ...] = OLD + NEW, **more: Any) -> Segment:
    return Segment(versions, "ok", "", match=match, **more)  # type: ignore[arg-type]


def line(*segments: Segment, device: str = "") -> Timeline:
    return Timeline("pytorch/pytorch", 1, "a1", "e", segments, device)


GAP = Segment(("2.7.1",), "lacks_api", "torch.foo")
SENTENCES = [
    (
        line(crash(), error(confirmed=True)),
        "The report's script: SIGSEGV on 2.4.1 to 2.6.0; since 2.7.1 it raises ValueError (0 of 11 runs crash)",
    ),
    (
        line(crash(), error(runs=2)),
        "The report's script: SIGSEGV on 2.4.1 to 2.6.0; since 2.7.1 it raises ValueError (the crash was not seen "
        "again in 2 runs)",
    ),
    (
        line(crash(), error(match="as_expected", confirmed=True)),
        "The report's script: SIGSEGV on 2.4.1 to 2.6.0; since 2.7.1 it raises the expected ValueError (0 of 11 runs "
        "crash)",
    ),
    (  # rare crashes need runs, too
        line(Segment(OLD, "mixed", "ok 3 of 4; SIGSEGV 1 of 4"), prints(None, NEW, flip="ending", runs=2)),
        "The report's script does not always do the same (ok 3 of 4; SIGSEGV 1 of 4) on 2.4.1 to 2.6.0; since 2.7.1 it ends "
        "without an error (the crash was not seen again in 2 runs)",
    ),
    (  # in other words it is still as reported
        line(error(match="as_reported", flip=None), error(flip="wording")),
        "The report's script raises the reported ValueError on all 4 releases",
    ),
    (  # words that are the expected ones are another behaviour
        line(error(match="as_reported", flip=None, confirmed=True), error(match="as_expected", flip="wording")),
        "The report's script raises the reported ValueError on 2.7.1 to 2.8.0; since 2.7.1 it raises the expected ValueError (what was "
        "reported was not seen again in 11 runs)",
    ),
    (  # a reader says that both are as reported
        line(prints("as_reported", OLD), prints("as_reported", NEW, flip="value", confirmed=True, runs=11)),
        "The report's script prints the reported value on 2.4.1 to 2.6.0; since 2.7.1 it prints the reported "
        "value with other output",
    ),
    (  # a reader may see more in a run than a value
        line(
            prints("as_reported", OLD, evidence="judged by a person (ann, 2026-11-27)"),
            prints(
                "as_expected",
                NEW,
                flip="value",
                confirmed=True,
                runs=4,
                evidence="judged by a person (ann, 2026-11-27)",
            ),
        ),
        "The report's script does as reported on 2.4.1 to 2.6.0; since 2.7.1 it does as expected (0 of 4 runs do as reported)",
    ),
    (line(prints("as_reported")), "The report's script prints the reported value on all 5 releases"),
    (
        line(prints("as_reported", OLD), GAP, prints("as_reported", ("2.8.0",))),
        "The report's script prints the reported value on all 4 releases that can run it (2.7.1: lacks torch.foo)",
    ),
    (
        line(prints("other")),
        "The report's script ends without an error on all 5 releases; it could not be matched with the report",
    ),
    (
        line(prints("other", evidence="the report quotes IndexError")),
        "The report's script ends without an error on all 5 releases; the report quotes IndexError",
    ),
    (
        line(prints("other", OLD), prints("as_expected", NEW, flip="value")),
        "The report's script ends without an error on 2.4.1 to 2.6.0; since 2.7.1 it prints the expected value",
    ),
    (
        line(prints("as_reported", OLD), prints("as_expected", NEW, flip="value", runs=4, confirmed=True)),
        "The report's script prints the reported value on 2.4.1 to 2.6.0; since 2.7.1 it prints the expected value (0 of 4 "
        "runs do as reported)",
    ),
    (
        line(prints(None, OLD), prints(None, NEW, flip="value"), device="cuda"),
        "The report is about cuda; on the CPU its script ends without an error on 2.4.1 to 2.6.0; since 2.7.1 it prints "
        "something else",
    ),
    (
        line(crash(), *(prints("other", (f"2.{minor}.0",), flip="value") for minor in (9, 10, 11))),
        "The report's script changes its behaviour 3 times: it dies by the reported SIGSEGV on 2.4.1 to 2.6.0; ...; since "
        "2.11.0 it prints something else",
    ),
    (  # nothing is said of releases between that did not run
        line(prints("as_reported", ("1.13.1", "2.2.2", "2.4.1")), prints("other", ("2.8.0",), flip="value", runs=2)),
        "The report's script prints the reported value on 3 releases from 1.13.1 to 2.4.1; since 2.8.0 at the latest it prints something "
        "else (what was reported was not seen again in 2 runs)",
    ),
    (
        line(Segment(OLD, "timeout", ""), prints("other", NEW, flip="ending", runs=8, confirmed=True)),
        "The report's script does not end in time on 2.4.1 to 2.6.0; since 2.7.1 it ends without an error (0 of 8 runs "
        "hang)",
    ),
    (  # the newest release says nothing
        line(
            crash(),
            prints("other", ("2.7.1",), flip="ending", runs=8, confirmed=True),
            Segment(("2.8.0",), "lacks_api", "torch.foo"),
        ),
        "The report's script: SIGSEGV on 2.4.1 to 2.6.0; since 2.7.1 it ends without an error (0 of 8 runs crash); it cannot "
        "run on 2.8.0 (lacks torch.foo)",
    ),
    (
        line(Segment(OLD, "cannot_run", "needs the network"), Segment(NEW, "cannot_run", "asks a person")),
        "The report's script runs on none of 5 releases: it needs the network on 2.4.1 to 2.6.0",
    ),
    (
        line(
            replace(
                prints("other"),
                match=None,
                evidence="judged by a person (ann, 2026-11-27) to be about something other than the report",
            )
        ),
        "The script, which a reader says is about something other than the report, ends without an error on all 5 releases",
    ),
    (line(GAP), "The report's script does not run on 2.7.1: it lacks torch.foo"),
    (
        line(Segment(OLD, "lacks_api", "torch.foo")),
        "The report's script runs on none of 3 releases: they lack torch.foo",
    ),
    (
        line(Segment(OLD, "cannot_run", "needs the network")),
        "The report's script runs on none of 3 releases: it needs the network",
    ),
    (
        line(GAP, prints("as_reported", ("2.8.0",))),
        "The report's script prints the reported value on 2.8.0, the only release that can run it (2.7.1: lacks torch.foo)",
    ),
    (
        line(Segment(OLD, "exit", "1"), Segment(NEW, "exit", "1", flip="value")),
        "The report's script exits with code 1 on 2.4.1 to 2.6.0; since 2.7.1 it exits with code 1 with other output",
    ),
    (
        line(prints("other", OLD), prints("other", NEW, flip="wording")),
        "The report's script ends without an error on all 5 releases; it could not be matched with the report",
    ),
]


@pytest.mark.parametrize(("timeline", "said"), SENTENCES, ids=[said[-40:] for _, said in SENTENCES])
def test_a_timeline_is_one_sentence(timeline: Timeline, said: str) -> None:
    assert sentence(timeline) == said


def test_a_gone_crash_is_never_claimed_without_enough_runs() -> None:
    said = sentence(line(crash(), error(runs=3)))
    assert "0 of" not in said
    assert "not seen again in 3 runs" in said


def test_the_strip_has_a_letter_for_each_release_and_fits_a_terminal() -> None:
    assert strip(line(crash(), error())) == "2.4.1 RRR|aa 2.8.0\n  R SIGSEGV, a ValueError"
    assert strip(line(prints("as_reported", OLD), GAP, prints("as_expected", ("2.8.0",), flip="value"))) == (
        "2.4.1 RRR-|E 2.8.0\n  R reported value, - lacks torch.foo, E expected value"
    )
    two = line(prints("other", OLD), prints("other", NEW, flip="value"))
    assert strip(two).endswith("a no error, b no error, other output")
    long = line(Segment(OLD, "exception", "E" * 90, match="other"))
    assert max(map(len, strip(long).splitlines())) <= 80


def test_the_details_show_what_changes_at_each_flip() -> None:
    known = details(line(crash(shown="RuntimeError: x"), error(at_fix=True)))
    assert known == [
        "2.4.1 to 2.6.0: dies by the reported SIGSEGV ('segfault': title)",
        "  ending changes, at the release of the known fix",
        "  @@ -1 +1 @@",
        "  -RuntimeError: x",
        "  +ValueError: bad size",
        "2.7.1 to 2.8.0: raises ValueError",
    ]
    assert "  ending changes, not at the release of the known fix" in details(line(crash(), error(at_fix=False)))
    assert details(line(GAP)) == ["2.7.1: lacks torch.foo"]
    assert details(line(prints("other", NEW, shown="tensor([7])"))) == [
        "2.7.1 to 2.8.0: ends without an error",
        "  tensor([7])",
    ]
