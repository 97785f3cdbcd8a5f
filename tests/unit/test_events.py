"""What a re-check announces: the releases replayed in order, gaps, a planted regression, flapping, clocks."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers.verdicts import build_of, cell_of, decision_of
from support import execute, rows
from torch_embers.atom_output import SPACE, Announced
from torch_embers.cases.case import shipped
from torch_embers.cli import print_runs
from torch_embers.errors import InputError
from torch_embers.progress import Silent
from torch_embers.recheck import notices, reports, service
from torch_embers.recheck.events import GONE, THERE, Flapping, History, Kind, kind_of, rules
from torch_embers.recheck.recheck import Kept, Recheck, StatusChange
from torch_embers.run import cases as run_cases
from torch_embers.run import state
from torch_embers.settings import Settings
from torch_embers.store.rows import append
from torch_embers.store.store import Store
from torch_embers.verdicts.status import STATUSES
from torch_embers.verdicts.verdict import Control

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

LIMITS = rules().flapping
NOW = datetime(2026, 11, 22, tzinfo=UTC)


# ---- flapping ------------------------------------------------------------------------------------------------------


def announced(
    statuses: Sequence[Any], days: float = 1.0, limits: Flapping = LIMITS, clock: Sequence[float] = ()
) -> list[str | None]:
    """What re-checks announce, one every so many days, or at these days of a clock that may be wrong."""
    history = History()
    kinds: list[str | None] = []
    for place, status in enumerate(statuses):
        moment = NOW + timedelta(days=clock[place] if clock else place * days)
        kind = kind_of(history, status, moment, limits)
        kinds.append(kind)
        if status != history.status:
            history.statuses.append((moment, status))
        if kind:
            history.announced.append((moment, kind))
    return kinds


def test_what_changes_back_and_forth_is_announced_once_as_flapping_until_it_has_settled() -> None:
    kinds = announced(["fixed", "regressed"] * 10 + ["fixed"] * 40)
    assert [kind for kind in kinds[:20] if kind] == ["fixed", "regressed", "fixed", "regressed", "flapping"]
    assert [kind for kind in kinds[20:] if kind] == ["fixed"]
    assert kinds.index("fixed", 20) == 51, "30 days after the last turn, on day 20"
    again = announced(["fixed", "regressed"] * 4 + ["open_and_occurs"] * 40 + ["fixed"] * 3)
    assert again.count("flapping") == 1
    assert again[-3:] == ["fixed", None, None], "after it has settled a turn is announced as ever"


AHEAD = [*(1500.0 + day for day in range(8)), 0.0, 1.0, 2.0, 3.0]
"""As if the clock had been in 2031 for eight nights, and was set right on the ninth."""


@pytest.mark.parametrize(
    ("statuses", "clock", "told"),
    [
        (["fixed", "regressed"] * 3, [40.0 * place for place in range(6)], ["fixed", "regressed"] * 3),
        # turns that are dated later than now are not recent
        (
            [*["fixed", "regressed"] * 4, *["regressed"] * 3, "fixed"],
            AHEAD,
            [*["fixed", "regressed"] * 2, "flapping", "regressed", "fixed"],
        ),
        # an answer of a reader that goes back and forth repeats no announcement
        (["closed_but_occurs", "undecided_occurs"] * 3, [5.0 * place for place in range(6)], ["closed_but_occurs"]),
        (["fixed", "undecided_occurs", "fixed"], (), ["fixed"]),
        # an item that was reopened and closed again is news, behind a doubt too
        (
            ["closed_but_occurs", "open_and_occurs", "undecided_occurs", "closed_but_occurs"],
            (),
            ["closed_but_occurs"] * 2,
        ),
        (["fixed", "undecided_occurs", "closed_but_occurs"], (), ["fixed", "closed_but_occurs"]),
    ],
)
def test_a_change_is_announced_and_no_repetition(statuses: list[str], clock: Sequence[float], told: list[str]) -> None:
    assert [kind for kind in announced(statuses, clock=clock) if kind] == told


@given(st.lists(st.sampled_from(STATUSES), max_size=40))
def test_gaps_change_nothing_and_nothing_is_announced_twice_in_a_row(statuses: list[str]) -> None:
    kinds = announced(statuses, days=0.01)
    decided = [status for status in statuses if status in GONE | THERE]
    told = [kind for kind in kinds if kind]
    assert told == [kind for kind in announced(decided, days=0.01) if kind]
    assert all(kind is None or kind in ("flapping", status) for kind, status in zip(kinds, statuses, strict=True))
    assert told.count("flapping") <= 1
    assert sum(kind in GONE or kind == "regressed" for kind in told) <= len(decided)


WRONG = st.tuples(
    st.sampled_from(["fixed", "regressed", "untestable_here"]), st.floats(-20_000, 0) | st.floats(120, 20_000)
)
"""A status, and the day that a clock told: right, or behind, or ahead by more than the tests below last."""


@given(st.lists(WRONG, max_size=30), st.sampled_from(["fixed", "regressed"]))
def test_however_wrong_a_clock_was_an_item_settles_when_it_is_right_again_and_is_announced_as_ever(
    past: list[tuple[str, float]], last: str
) -> None:
    other = "regressed" if last == "fixed" else "fixed"
    nights = [*[last] * 40, other, *[other] * 39]
    statuses = [status for status, _ in past] + nights
    kinds = announced(statuses, clock=[day for _, day in past] + [float(day) for day in range(80)])
    steady, turned = kinds[len(past) :][:40], kinds[len(past) :][40:]
    assert sum(kind == last for kind in steady) <= 1
    assert sum(kind == "flapping" for kind in steady) <= 1
    assert steady[35:] == [None] * 5
    assert [kind for kind in turned if kind] == [other], "neither swallowed nor called flapping"


@given(st.lists(WRONG, min_size=1, max_size=30), st.floats(-20_000, 20_000))
def test_a_steady_status_is_not_announced_again_under_any_clock(past: list[tuple[str, float]], day: float) -> None:
    same = past[-1][0]
    kinds = announced([status for status, _ in past] + [same] * 5, clock=[day for _, day in past] + [day] * 5)
    assert sum(kind is not None for kind in kinds[len(past) :]) <= 1, "at most that it has settled"


# ---- what other services get ---------------------------------------------------------------------------------------

EVIL = "a\r\n::error::b %0A::c\x1b[31m <b> ]]> \u202e ##[add-mask]d"


def change_of(kind: Kind, number: int = 1) -> StatusChange:
    return StatusChange("o/r", number, EVIL, "cpu", "fixed", None, (EVIL,), (), kind)


def result_of(*changes: StatusChange) -> Recheck:
    return Recheck(build_of("2.15.0"), "2026-11-22T00:00:00Z", (), changes, {}, 1, 0.0)


def test_a_run_and_a_re_check_say_which_release_would_be_a_control_for_what_no_build_here_shows(
    known: Store, capsys: pytest.CaptureFixture[str]
) -> None:
    clean = decision_of("not_seen", Control("injected", None, 3, 3))
    there = decision_of("occurs", Control("build", "2.1.2", 10, 10))
    cells = [
        cell_of(case, build_of(release), there if release in case.known_bad else clean)
        for case in shipped()
        if "1.13.1" in case.known_bad
        for release in ("2.3.1", "2.15.0")
    ]
    found = replace(result_of(), cells=tuple(cells))
    bare = [cell for cell in cells if cell.decision is clean]
    assert bare
    assert found.uncontrolled.verdicts == len(bare)
    assert next(iter(found.uncontrolled.releases)) == "1.13.1"
    assert str(found.uncontrolled).endswith("`embers builds add 1.13.1`")
    assert reports.as_table(found)["without_control"]["releases"] == found.uncontrolled.releases
    assert str(found.uncontrolled) in reports.page(found, "md")
    assert str(result_of().uncontrolled) == ""
    print_runs.print_summary(run_cases.summary(known, cells))
    assert str(found.uncontrolled) in " ".join(capsys.readouterr().out.split())


def test_a_re_check_without_news_says_whether_there_was_one_before_and_what_it_did_not_decide() -> None:
    again = replace(result_of(), counts={"open_but_absent": 2, "undecided": 1})
    kept = {("o/r", 1, "cpu"): Kept("open_but_absent", "shipped, derived for 2.15.0", "no build here shows the bug")}
    first = replace(again, is_first=True, kept=kept)
    assert "Nothing changed since the last re-check." in reports.page(again, "md")
    told = reports.page(first, "md")
    assert "since the last re-check" not in told
    assert "this database holds no status of an earlier re-check to compare with" in told
    assert "Items: 2 open_but_absent (1 not decided now), 1 undecided." in told
    assert "1 open_but_absent (shipped, derived for 2.15.0; no build here shows the bug)" in told


def assert_one_harmless_line(line: str) -> None:
    assert "%250A" in line
    assert "%0A" not in line
    assert line.isprintable()


def test_an_annotation_is_one_line_that_ends_no_command_and_begins_none() -> None:
    lines = notices.as_annotations(result_of(change_of("regressed"), change_of("flapping")), 9)
    heads = ["::warning title=Came back::o/r#1", "::notice title=Changes back and forth::o/r#1"]
    assert [line[: len(head)] for line, head in zip(lines, heads, strict=True)] == heads
    many = notices.as_annotations(result_of(*(change_of("fixed", number) for number in range(12))), 9)
    assert many[9:] == ["::notice title=More changes::and 3 more: see the summary of this run"]
    for line in lines:
        assert_one_harmless_line(line)


def test_builds_that_were_left_out_are_one_annotation_of_a_level_of_their_own_and_decide_the_exit_code() -> None:
    old, newest = build_of("2.11.0"), build_of("2.15.0")
    changes = [change_of("regressed", number) for number in range(12)]
    lines = notices.as_annotations(replace(result_of(*changes), left_out=((old, EVIL),)), 9)
    [line] = [line for line in lines if line.startswith("::error title=Build left out::build 2.11.0 was left out: ")]
    assert_one_harmless_line(line)
    assert len(lines) == 11
    quiet = replace(result_of(), left_out=((old, EVIL), (newest, "gone")))
    assert "no statuses: they would be those of 2.15.0" in reports.page(quiet, "md")
    assert [row["name"] for row in reports.as_table(quiet)["left_out"]] == ["2.11.0", "2.15.0"]
    codes = [reports.exit_code(one) for one in (result_of(), quiet, replace(quiet, changes=tuple(changes)))]
    assert codes == [reports.NOTHING_NEW, reports.LEFT_OUT, reports.NEWS] == [0, 12, 10]


def test_the_feed_is_well_formed_escaped_and_its_ids_are_stable_and_distinct() -> None:
    moments = [NOW, NOW + timedelta(microseconds=1)]
    known = [Announced("o/r", 1, EVIL, "cpu", "fixed", "2.15.0", EVIL, moment) for moment in moments]
    made = notices.feed(known)
    root = ET.fromstring(made)
    assert made == notices.feed(known)
    ids = [entry.text for entry in root.iter(f"{{{SPACE}}}id")]
    assert ids == [
        "tag:embers,2026:recheck",
        "tag:embers,2026:o--r-1/cpu/fixed/2026-11-22T00:00:00.000000Z",
        "tag:embers,2026:o--r-1/cpu/fixed/2026-11-22T00:00:00.000001Z",
    ]
    assert len(root.findall(f"{{{SPACE}}}entry/{{{SPACE}}}author")) == 0, "the feed's own author is that of all entries"
    assert root.findtext(f"{{{SPACE}}}updated") == "2026-11-22T00:00:00Z"
    assert "\x1b" not in made.decode()
    ET.fromstring(notices.feed([]))


# ---- the state -----------------------------------------------------------------------------------------------------


@pytest.fixture
def known(tmp_path: Path) -> Store:
    """A database with one announcement."""
    told = {"repo": "o/r", "number": 1, "backend": "cpu", "kind": "fixed", "reference": "2.15.0", "text": "x"}
    store = Store(tmp_path / "known.duckdb")
    with store.writer("test", create=True) as writer, writer.transaction() as connection:
        append(connection, "announcements", [told | {"announced_at": NOW.isoformat()}])
    return store


def sealed(folder: Path, change: Callable[[pa.Table], pa.Table]) -> None:
    """Change a table of a state, and its seal with it."""
    path, manifest = folder / "announcements.parquet", json.loads((folder / state.MANIFEST).read_text())
    pq.write_table(change(pq.read_table(path)), path)
    manifest["tables"]["announcements"]["sha256"] = sha256(path.read_bytes()).hexdigest()
    (folder / state.MANIFEST).write_text(json.dumps(manifest))


OTHER_COLUMNS = r"announcements\.parquet has other columns than this version"
OTHER_ROWS = r"announcements\.parquet has rows that this version of embers cannot"


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda table: table.drop_columns(["kind"]), OTHER_COLUMNS),
        (lambda table: table.append_column("later", pa.array(["x"])), OTHER_COLUMNS),
        (lambda table: table.set_column(1, "number", pa.array(["x"])), OTHER_ROWS),
        (lambda table: table.set_column(1, "number", pa.array([None])), OTHER_ROWS),
        (("announcements.parquet", b"x"), "not as it was written"),
        (("runs.parquet", None), "missing"),
        (("state.json", b"[]"), "not what embers writes"),
        (("state.json", b'{"format": "x", "version": 1, "tables": {}}'), "of another program"),
    ],
    ids=["column-missing", "column-unknown", "wrong-type", "no-value", "bytes", "no-file", "no-object", "format"],
)
def test_a_state_that_is_damaged_or_does_not_fit_is_refused_and_nothing_of_it_is_kept(
    known: Store, tmp_path: Path, change: Any, said: str
) -> None:
    folder = tmp_path / "state"
    state.save(known, folder)
    if callable(change):
        sealed(folder, change)
    else:
        name, content = change
        (folder / name).unlink() if content is None else (folder / name).write_bytes(content)
    with (
        known.writer("test") as writer,
        pytest.raises(InputError, match=f"{said}.*: restore it, or leave it out") as failed,
    ):
        state.load(writer, folder)
    assert str(failed.value).startswith(f"{folder}: "), "also `embers data merge` loads it, which has no --state"
    assert rows(known.path, "SELECT number FROM announcements") == [(1,)]


def test_a_state_without_a_column_that_may_be_empty_is_taken(known: Store, tmp_path: Path) -> None:
    execute(known.path, "ALTER TABLE announcements ADD COLUMN later VARCHAR")
    older = tmp_path / "state"
    state.save(known, older)
    sealed(older, lambda table: table.drop_columns(["later"]))
    with known.writer("test") as writer:
        assert state.load(writer, tmp_path / "none") == 0
        assert state.load(writer, older) == 0, "what is known is not added again with an empty column"
        with writer.transaction() as connection:
            connection.execute("DELETE FROM announcements")
        assert state.load(writer, older) == 1
    assert rows(known.path, "SELECT number, later FROM announcements") == [(1, None)]


def test_an_out_that_cannot_be_written_is_named_before_anything_is_checked(
    known: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(service, "chosen_builds", lambda *_: [build_of("2.15.0")])
    monkeypatch.setattr(service, "recheck", lambda *_: pytest.fail("a re-check began"))
    (tmp_path / "file").write_text("dear diary")
    for out in (tmp_path / "file", tmp_path / "file" / "below"):
        with pytest.raises(InputError, match=f"--out {out} cannot be written"):
            service.run_recheck(known, Settings(), service.ServiceRequest(out=out), Silent())
    assert (tmp_path / "file").read_text() == "dear diary"


def test_a_folder_that_is_no_state_is_neither_read_nor_replaced(tmp_path: Path) -> None:
    (tmp_path / "diary.txt").write_text("dear diary")
    writer: Any = None
    with pytest.raises(InputError, match="holds something else"):
        state.load(writer, tmp_path)
    with pytest.raises(InputError, match="holds something else"):
        state.save(Store(tmp_path / "e.duckdb"), tmp_path)
    assert (tmp_path / "diary.txt").read_text() == "dear diary"
