"""What a re-check announces: the releases replayed in order, gaps, a planted regression, flapping, clocks."""

from __future__ import annotations

import json
import shutil
import xml.etree.ElementTree as ET
from collections import defaultdict
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support import rows
from torch_embers.atom_output import SPACE, Announced
from torch_embers.builds.registry import Build
from torch_embers.errors import InputError
from torch_embers.progress import Silent
from torch_embers.repro import bank, shipped_matrix
from torch_embers.repro.case import shipped
from torch_embers.run import command, notices, reports, state
from torch_embers.run import recheck as rechecking
from torch_embers.run.events import GONE, THERE, Flapping, History, Kind, kind_of, rules
from torch_embers.run.ledger import Cell
from torch_embers.run.recheck import Change, Recheck, RecheckRequest, recheck
from torch_embers.run.status import STATUSES, reported, tracked_items
from torch_embers.run.verdict import Control, Decision
from torch_embers.settings import Settings
from torch_embers.store.rows import append
from torch_embers.store.store import Store

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from torch_embers.repro.case import Case

Verdicts = dict[tuple[str, str], str]
"""Verdict by case and release."""
NOW = datetime(2026, 11, 22, tzinfo=UTC)
LIMITS = Flapping.model_construct(turns=4, days=30.0)

SHIPPED: Verdicts = {(row["case"], row["build"]): row["verdict"] for row in shipped_matrix.matrix()}
RELEASES = sorted({release for _, release in SHIPPED}, key=lambda text: [int(part) for part in text.split(".")])


def build_of(release: str) -> Build:
    return Build(release, f"{release}+cpu", "a1b2c3d4e5", "release", "linux-x86_64", Path("python"), "3.11.7")


class Known:
    """An executor that knows every verdict and runs nothing."""

    def __init__(self, verdicts: Verdicts) -> None:
        self.verdicts = verdicts
        self.ledger = SimpleNamespace(open_batch=lambda *_: 0)

    def __call__(self, *_: object, **__: object) -> Known:
        return self

    def confirming(self, request: Any, _since: Any) -> Any:
        return request

    def sweep(self, request: Any) -> Iterator[Cell]:
        for build in request.builds:
            for case in request.cases:
                verdict: Any = self.verdicts[case.name, build.name]
                decision = Decision(
                    verdict,
                    flaky=False,
                    hits=0,
                    runs=4,
                    detectable_rate=None,
                    control=Control(),
                    detail="",
                    signature=None,
                )
                yield Cell(case, build, "here", "reviewed", 0, decision, fresh=True)


def check(store: Store, cases: Sequence[Case], verdicts: Verdicts, releases: Sequence[str]) -> Recheck:
    """A re-check against the last of these releases."""
    builds = [build_of(release) for release in releases]
    with pytest.MonkeyPatch.context() as patch, store.writer("test") as writer:
        patch.setattr(rechecking, "Executor", Known(verdicts))
        dispatcher: Any = None
        result = recheck(store, writer, dispatcher, cases, RecheckRequest("all", builds[-1], builds, 7.0), Silent())
        rechecking.mark_told(writer)
        return result


def replay(store: Store, cases: Sequence[Case], verdicts: Verdicts) -> list[tuple[str, int, str, str]]:
    """What re-checks of each release in turn announce: release, item, backend, kind."""
    told = []
    for place, release in enumerate(RELEASES, 1):
        result = check(store, cases, verdicts, RELEASES[:place])
        told += [(release, change.number, change.backend, str(change.kind)) for change in result.news]
    return told


def of_matrix(store: Store, cases: Sequence[Case], verdicts: Verdicts) -> list[tuple[str, int, str, str]]:
    """The same, read from the columns of the matrix: where an item's bug goes, comes back, or is there although fixed."""
    with store.read() as connection:
        items = tracked_items(connection)
    columns: dict[tuple[str, int, str], list[Case]] = defaultdict(list)
    for case in cases:
        for repo, number in reported(case, items):
            columns[repo, number, case.device].append(case)
    told = []
    for (repo, number, backend), own in columns.items():
        item = items.get((repo, number))
        last: dict[str, str] = {}
        before, was_gone = None, set()
        for release in RELEASES:
            now = {case.name: verdicts[case.name, release] for case in own}
            last |= {name: verdict for name, verdict in now.items() if verdict in ("occurs", "absent")}
            here = {name for name, verdict in now.items() if verdict == "occurs"}
            mine = {
                case.name
                for case in own
                if case.relations[repo, number] == "same" and case.origin in ("curated", "fix_test")
            }
            may_claim = item is not None and not item.is_pull and (item.state == "open" or item.was_fixed)
            testable = {name for name, verdict in now.items() if verdict != "untestable"}
            is_gone = (
                bool(testable) and all(now[name] == "absent" for name in testable) and set(last.values()) == {"absent"}
            )
            back = bool(here & mine & was_gone)
            if here and before != "there":
                if back and may_claim:
                    told.append((release, number, backend, "regressed"))
                elif item and item.was_fixed and here & mine:
                    told.append((release, number, backend, "closed_but_occurs"))
            elif (
                is_gone
                and before == "there"
                and item
                and may_claim
                and any(_occurred(verdicts, n, release) for n in mine)
            ):
                told.append((release, number, backend, "fixed" if item.state == "closed" else "open_but_absent"))
            before = "there" if here else "gone" if is_gone else before
            was_gone |= {
                name for name, verdict in now.items() if verdict == "absent" and _occurred(verdicts, name, release)
            }
    return sorted(told)


def _occurred(verdicts: Verdicts, name: str, release: str) -> bool:
    return any(verdicts[name, older] == "occurs" for older in RELEASES[: RELEASES.index(release)])


@pytest.fixture
def store(catalog_database: Path) -> Store:
    return Store(catalog_database)


@pytest.fixture
def cases(store: Store) -> list[Case]:
    return [case for case in bank.load(store) if (case.name, RELEASES[0]) in SHIPPED]


@pytest.mark.slow
def test_releases_replayed_in_order_announce_what_the_matrix_says_and_nothing_else(
    store: Store, cases: list[Case]
) -> None:
    told = replay(store, cases, SHIPPED)
    assert sorted(told) == of_matrix(store, cases, SHIPPED)
    assert len(RELEASES) == 17
    assert len(told) > 60
    assert rows(store.path, "SELECT count(*) FROM announcements") == [(len(told),)]
    assert check(store, cases, SHIPPED, RELEASES).news == []


FIXED = ["occurs"] * 5 + ["absent"] * 12
"""The column of a case of a closed item that was fixed in the sixth release."""


PLANTED: list[tuple[dict[int, str], list[str]]] = [
    ({}, ["fixed"]),
    (dict.fromkeys(range(12, 17), "occurs"), ["fixed", "regressed"]),
    ({12: "occurs", 13: "occurs"}, ["fixed", "regressed", "fixed"]),
    (dict.fromkeys(range(12, 17), "occurs") | {13: "untestable"}, ["fixed", "regressed"]),
    (dict.fromkeys([9, 11, 13], "untestable"), ["fixed"]),
    (dict.fromkeys([9, 11, 13], "inconclusive"), ["fixed"]),
    (dict.fromkeys([9, 11, 13], "changed"), ["fixed"]),
    (dict.fromkeys([2, 4], "control_failed"), ["fixed"]),
    (dict.fromkeys([7, 9, 11, 13], "occurs"), ["fixed", "regressed", "fixed", "flapping"]),
]
"""What is planted into the column, by place, and what is announced of it beside the bug of the first release."""


@pytest.mark.slow
def test_a_planted_change_is_announced_once_and_a_gap_never(store: Store, cases: list[Case]) -> None:
    planted = list(zip(fixed_cases(store, cases), PLANTED, strict=False))
    assert len(planted) == len(PLANTED)
    verdicts = {
        (case.name, release): changed.get(place, FIXED[place])
        for (case, _), (changed, _) in planted
        for place, release in enumerate(RELEASES)
    }
    told = replay(store, [case for (case, _), _ in planted], verdicts)
    assert len(set(told)) == len(told)
    for (_, number), (_, kinds) in planted:
        own = [kind for _, found, _, kind in told if found == number and kind != "closed_but_occurs"]
        assert own == kinds


def fixed_cases(store: Store, cases: list[Case]) -> Iterator[tuple[Case, int]]:
    """Cases of one issue that was closed as fixed, no two of one issue."""
    with store.read() as connection:
        items = tracked_items(connection)
    seen = set()
    for case in cases:
        key = case.issues[0] if len(case.issues) == 1 else None
        if key in items and items[key].was_fixed and key not in seen and case.relations[key] == "same":
            seen.add(key)
            yield case, key[1]


@pytest.mark.slow
def test_neither_a_build_that_vanishes_nor_a_clock_set_back_repeats_an_announcement(
    store: Store, cases: list[Case]
) -> None:
    case, _ = next(fixed_cases(store, cases))
    column = [*FIXED[:8], *["occurs"] * 9]
    verdicts = {(case.name, release): verdict for release, verdict in zip(RELEASES, column, strict=True)}

    def kinds(releases: Sequence[str]) -> list[str | None]:
        return [change.kind for change in check(store, [case], verdicts, releases).news]

    assert kinds(RELEASES[:8]) == ["fixed"]
    with store.writer("test") as writer, writer.transaction() as connection:  # the clock was a year ahead
        connection.execute(
            "UPDATE status_history SET decided_at = decided_at + INTERVAL 1 YEAR WHERE provenance = 'own'"
        )
        connection.execute("UPDATE announcements SET announced_at = announced_at + INTERVAL 1 YEAR")
    assert kinds(RELEASES[:9]) == ["regressed"]
    assert kinds(RELEASES[:9]) == []
    assert kinds([*RELEASES[:5], *RELEASES[8:10]]) == [], "the builds on which it was gone are gone"
    assert kinds(RELEASES[:10]) == []


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


def test_after_it_has_settled_a_turn_is_announced_as_ever() -> None:
    kinds = announced(["fixed", "regressed"] * 4 + ["open_and_occurs"] * 40 + ["fixed"] * 3)
    assert kinds.count("flapping") == 1
    assert kinds[-3:] == ["fixed", None, None]


def test_changes_that_lie_far_apart_are_all_announced() -> None:
    assert announced(["fixed", "regressed"] * 5, days=40) == ["fixed", "regressed"] * 5


def test_an_answer_of_a_reader_that_goes_back_and_forth_repeats_no_announcement() -> None:
    kinds = announced(["closed_but_occurs", "undecided_occurs", "closed_but_occurs", "undecided_occurs"] * 3, days=5)
    assert kinds == ["closed_but_occurs"] + [None] * 11
    assert announced(["fixed", "undecided_occurs", "fixed"]) == ["fixed", None, None]


def test_an_item_that_was_reopened_and_closed_again_is_news_behind_a_doubt_too() -> None:
    kinds = announced(["closed_but_occurs", "open_and_occurs", "undecided_occurs", "closed_but_occurs"])
    assert kinds == ["closed_but_occurs", None, None, "closed_but_occurs"]
    assert announced(["fixed", "undecided_occurs", "closed_but_occurs"]) == ["fixed", None, "closed_but_occurs"]


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
def test_a_status_that_does_not_change_is_not_announced_again_under_any_clock(
    past: list[tuple[str, float]], day: float
) -> None:
    same = past[-1][0]
    kinds = announced([status for status, _ in past] + [same] * 5, clock=[day for _, day in past] + [day] * 5)
    assert sum(kind is not None for kind in kinds[len(past) :]) <= 1, "at most that it has settled"


def test_turns_that_are_dated_later_than_now_are_not_recent() -> None:
    """As if the clock had been in 2031 for eight nights, and was set right on the ninth."""
    ahead = [1500.0 + day for day in range(8)]
    kinds = announced(["fixed", "regressed"] * 4 + ["regressed"] * 3 + ["fixed"], clock=[*ahead, 0.0, 1.0, 2.0, 3.0])
    assert [kind for kind in kinds if kind] == [
        "fixed",
        "regressed",
        "fixed",
        "regressed",
        "flapping",
        "regressed",
        "fixed",
    ]


def test_the_thresholds_are_those_of_the_data_file() -> None:
    assert (rules().flapping.turns, rules().flapping.days) == (LIMITS.turns, LIMITS.days)


# ---- what other services get ---------------------------------------------------------------------------------------

EVIL = "a\r\n::error::b %0A::c\x1b[31m <b> ]]> \u202e ##[add-mask]d"


def change_of(kind: Kind, number: int = 1) -> Change:
    return Change("o/r", number, EVIL, "cpu", "fixed", None, (EVIL,), (), kind)


def result_of(*changes: Change) -> Recheck:
    return Recheck(build_of("2.15.0"), "2026-11-22T00:00:00Z", (), changes, {}, 1, 0.0)


def test_a_re_check_says_which_release_would_be_a_control_for_what_no_build_here_shows() -> None:
    """Closed bugs on 2.1.2, 2.3.1 and 2.15.0: most show their bug only on older releases."""
    seen: dict[str, dict[str, str]] = defaultdict(dict)
    for row in shipped_matrix.matrix():
        seen[row["case"]][row["build"]] = row["verdict"]
    releases = ("2.1.2", "2.3.1", "2.15.0")
    clean = Decision(
        "not_seen",
        flaky=False,
        hits=0,
        runs=10,
        detectable_rate=None,
        control=Control("planted", None, 3, 3),
        detail="",
        signature=None,
    )
    there = replace(clean, verdict="occurs", control=Control("build", "2.1.2", 10, 10))
    cells = [
        Cell(case, build_of(release), "here", "reviewed", 0, there if "occurs" in shown else clean, fresh=True)
        for case in shipped()
        for release in releases
        if (shown := {seen[case.name].get(one) for one in releases}) & {"occurs", "absent"}
    ]
    found = replace(result_of(), cells=tuple(cells))
    bare = [cell for cell in cells if cell.decision is clean]
    assert bare
    assert found.uncontrolled.verdicts == len(bare)
    assert sum(found.uncontrolled.releases.values()) == found.uncontrolled.cases == len(bare) // 3
    assert next(iter(found.uncontrolled.releases)) == "1.13.1"
    assert str(found.uncontrolled).endswith("`embers builds add 1.13.1`")
    assert reports.as_table(found)["without_control"]["releases"] == found.uncontrolled.releases
    assert str(found.uncontrolled) in reports.markdown(found)
    assert str(result_of().uncontrolled) == ""


def test_an_annotation_is_one_line_that_ends_no_command_and_begins_none() -> None:
    lines = notices.as_annotations(result_of(change_of("regressed"), change_of("flapping")), 9)
    heads = ["::warning title=Came back::o/r#1", "::notice title=Changes back and forth::o/r#1"]
    assert [line[: len(head)] for line, head in zip(lines, heads, strict=True)] == heads
    for line in lines:
        assert "%250A" in line
        assert "%0A" not in line
        assert line.isprintable()


def test_annotations_that_github_would_drop_are_counted_in_one() -> None:
    lines = notices.as_annotations(result_of(*(change_of("fixed", number) for number in range(12))), 9)
    assert len(lines) == 10
    assert lines[-1] == "::notice title=More changes::and 3 more: see the summary of this run"
    assert notices.as_annotations(result_of(), 9) == []


def test_builds_that_were_left_out_are_one_annotation_of_a_level_of_their_own_and_decide_the_exit_code() -> None:
    old, newest = build_of("2.11.0"), build_of("2.15.0")
    changes = [change_of("regressed", number) for number in range(12)]
    lines = notices.as_annotations(replace(result_of(*changes), left_out=((old, EVIL),)), 9)
    [line] = [line for line in lines if line.startswith("::error title=Build left out::build 2.11.0 was left out: ")]
    assert "%0A" not in line
    assert line.isprintable()
    assert len(lines) == 11
    quiet = replace(result_of(), left_out=((old, EVIL), (newest, "gone")))
    assert "no statuses: they would be those of 2.15.0" in reports.markdown(quiet)
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


@pytest.mark.slow
def test_a_state_carries_what_is_known_to_another_database_and_nothing_is_announced_twice(
    store: Store, cases: list[Case], tmp_path: Path
) -> None:
    case, _ = next(fixed_cases(store, cases))
    verdicts = {(case.name, release): verdict for release, verdict in zip(RELEASES, FIXED, strict=True)}
    other = Store(Path(shutil.copy(store.path, tmp_path / "other.duckdb")))
    assert [change.kind for change in check(store, [case], verdicts, RELEASES).news] == ["fixed"]
    folder = tmp_path / "state"
    state.save(store, folder)
    with other.writer("test") as writer:
        assert state.load(writer, tmp_path / "none") == 0
        assert state.load(writer, folder) == 2
        assert state.load(writer, folder) == 0, "what is there already is not added again"
    assert check(other, [case], verdicts, RELEASES).news == []
    state.save(other, folder)
    assert sorted(path.name for path in tmp_path.iterdir() if path.name.startswith(".")) == []
    for name, content, said in (
        ("announcements.parquet", b"x", "not as it was written"),
        ("runs.parquet", None, "missing"),
        ("state.json", b"[]", "not what embers writes"),
        ("state.json", b'{"format": "x", "version": 1, "tables": {}}', "not what embers writes"),
    ):
        bad = Path(shutil.copytree(folder, tmp_path / f"bad-{len(list(tmp_path.iterdir()))}"))
        if content is None:
            (bad / name).unlink()
        else:
            (bad / name).write_bytes(content)
        with other.writer("test") as writer, pytest.raises(InputError, match=said):
            state.load(writer, bad)


TOLD = {
    "repo": "o/r",
    "number": 1,
    "backend": "cpu",
    "kind": "fixed",
    "reference": "2.15.0",
    "text": "x",
    "announced_at": NOW.isoformat(),
}


def sealed(made: Path, folder: Path, name: str, change: Callable[[pa.Table], pa.Table]) -> Path:
    """A copy of a state in which one table is changed, and its seal with it."""
    copy = Path(shutil.copytree(made, folder))
    path, manifest = copy / f"{name}.parquet", json.loads((copy / state.MANIFEST).read_text())
    pq.write_table(change(pq.read_table(path)), path)
    manifest["tables"][name]["sha256"] = sha256(path.read_bytes()).hexdigest()
    (copy / state.MANIFEST).write_text(json.dumps(manifest))
    return copy


@pytest.fixture
def known(tmp_path: Path) -> Store:
    """A database with one announcement."""
    store = Store(tmp_path / "known.duckdb")
    with store.writer("test", create=True) as writer, writer.transaction() as connection:
        append(connection, "announcements", [TOLD])
    return store


@pytest.mark.slow
def test_a_state_without_a_column_that_may_be_empty_is_taken(known: Store, tmp_path: Path) -> None:
    with known.writer("test") as writer, writer.transaction() as connection:
        connection.execute("ALTER TABLE announcements ADD COLUMN later VARCHAR")
    state.save(known, tmp_path / "made")
    older = sealed(tmp_path / "made", tmp_path / "older", "announcements", lambda table: table.drop_columns(["later"]))
    with known.writer("test") as writer:
        assert state.load(writer, older) == 0, "what is known is not added again with an empty column"
        with writer.transaction() as connection:
            connection.execute("DELETE FROM announcements")
        assert state.load(writer, older) == 1
    assert rows(known.path, "SELECT number, later FROM announcements") == [(1, None)]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda table: table.drop_columns(["kind"]), "has other columns than this version"),
        (lambda table: table.append_column("later", pa.array(["x"])), "has other columns than this version"),
        (lambda table: table.set_column(1, "number", pa.array(["x"])), "has rows that this version of embers cannot"),
        (lambda table: table.set_column(1, "number", pa.array([None])), "has rows that this version of embers cannot"),
    ],
    ids=["column missing", "column unknown", "wrong type", "no value"],
)
def test_a_sealed_file_with_rows_that_do_not_fit_is_refused_and_nothing_of_it_is_kept(
    known: Store, tmp_path: Path, change: Callable[[pa.Table], pa.Table], said: str
) -> None:
    state.save(known, tmp_path / "made")
    bad = sealed(tmp_path / "made", tmp_path / "bad", "announcements", change)
    with known.writer("test") as writer, pytest.raises(InputError, match=f"announcements.parquet {said}"):
        state.load(writer, bad)
    assert rows(known.path, "SELECT number FROM announcements") == [(1,)]


def test_an_out_that_cannot_be_written_is_named_before_anything_is_checked(
    known: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(command, "chosen_builds", lambda *_: [build_of("2.15.0")])
    monkeypatch.setattr(command, "recheck", lambda *_: pytest.fail("a re-check began"))
    (tmp_path / "file").write_text("dear diary")
    for out in (tmp_path / "file", tmp_path / "file" / "below"):
        with pytest.raises(InputError, match=f"--out {out} cannot be written"):
            command.run_recheck(known, Settings(), Silent(), only="all", names=(), every=7, jobs=1, out=out)
    assert (tmp_path / "file").read_text() == "dear diary"


def test_a_folder_that_is_no_state_is_neither_read_nor_replaced(tmp_path: Path) -> None:
    (tmp_path / "diary.txt").write_text("dear diary")
    writer: Any = None
    with pytest.raises(InputError, match="holds something else"):
        state.load(writer, tmp_path)
    with pytest.raises(InputError, match="holds something else"):
        state.save(Store(tmp_path / "e.duckdb"), tmp_path)
    assert (tmp_path / "diary.txt").read_text() == "dear diary"
