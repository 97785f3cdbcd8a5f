"""The search of a bisection: exact on any monotone history, named where it is none, never silently wrong."""

from __future__ import annotations

import random
from dataclasses import replace
from datetime import datetime
from itertools import pairwise
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers.verdicts import decision_of
from torch_embers.bisect import bisection, thresholds
from torch_embers.bisect.measuring import doubted
from torch_embers.bisect.places import Place
from torch_embers.bisect.replies import NOT_INSTALLED, missed, pooled, reply_of
from torch_embers.bisect.search import Answer, History, Reply, Search, merged
from torch_embers.bisect.sessions import Session
from torch_embers.bisect.subjects import Subject
from torch_embers.statistics.absence import AbsenceRules
from torch_embers.verdicts.verdict import VERDICTS, Control

if TYPE_CHECKING:
    from collections.abc import Mapping

RULES = thresholds.load().search
ANSWERS: dict[str, Answer] = {"Y": "yes", "n": "no", "?": "unknown"}


def find(truth: str, *, said_bad: tuple[int, ...] = (), known: str = "", seed: int = 0) -> History:
    """Search a history written as one letter a build, with a truthful asker; ``known`` has a dot for untested."""

    def ask(place: int) -> Reply:
        return Reply(ANSWERS[truth[place]], confidence=0.99 if truth[place] == "n" else 1.0)

    stored = {place: Reply(ANSWERS[c], known=True) for place, c in enumerate(known) if c != "."}
    return Search(len(truth), ask, RULES, random.Random(seed).choice, stored, said_bad).run()


def depth(count: int) -> int:
    """ceil(log2(count - 1)): halvings that a list needs between its ends."""
    return max(0, (count - 2).bit_length()) if count > 1 else 0


@given(st.integers(2, 150), st.data())
def test_a_monotone_history_gives_its_exact_change_in_log2_truthful_asks(count: int, data: st.DataObject) -> None:
    edge = data.draw(st.integers(1, count - 1))
    first, last = data.draw(st.sampled_from([("Y", "n"), ("n", "Y")]))
    found = find(first * edge + last * (count - edge), seed=data.draw(st.integers(0, 9)))
    assert found.kind == ("fixed" if first == "Y" else "broken")
    assert [(change.before, change.after, change.skipped) for change in found.changes] == [(edge - 1, edge, ())]
    assert len(found.steps) <= 2 + depth(count) + RULES.confirm + RULES.validation


@given(st.integers(1, RULES.exhaustive), st.sampled_from("Yn"))
def test_a_history_without_a_change_is_read_whole_where_it_is_short(count: int, letter: str) -> None:
    found = find(letter * count)
    assert found.kind == ("always" if letter == "Y" else "never")
    assert set(found.replies) == set(range(count))


@given(st.text("Yn?", min_size=1, max_size=40), st.integers(0, 9))
def test_no_history_is_told_wrongly_where_it_was_asked(truth: str, seed: int) -> None:
    found = find(truth, seed=seed)
    assert all(reply.answer == ANSWERS[truth[place]] for place, reply in found.replies.items())
    for change in found.changes:
        assert (truth[change.before], truth[change.after]) == (("n", "Y") if change.kind == "broken" else ("Y", "n"))
        assert set(truth[change.before + 1 : change.after]) <= {"?"}
        assert all(place in found.replies for place in change.skipped)
    decided = [c for c in truth if c != "?"]
    if len(truth) <= RULES.exhaustive and found.kind in ("always", "never"):
        assert set(decided) == ({"Y"} if found.kind == "always" else {"n"})
    if not decided:
        assert (found.kind, found.reason) == ("cannot tell", "no build could be tested")


@given(st.integers(3, 60), st.data())
def test_builds_that_cannot_be_tested_widen_the_range_and_never_shift_it(count: int, data: st.DataObject) -> None:
    edge = data.draw(st.integers(1, count - 1))
    letters = list("Y" * edge + "n" * (count - edge))
    for place in data.draw(st.sets(st.integers(0, count - 1), max_size=count - 1)):
        letters[place] = "?"
    found = find("".join(letters))
    before = [place for place, c in enumerate(letters) if c == "Y"]
    after = [place for place, c in enumerate(letters) if c == "n"]
    if before and after:
        assert found.kind == "fixed"
        [change] = found.changes
        assert (change.before, change.after) == (before[-1], after[0])
        assert change.skipped == tuple(range(before[-1] + 1, after[0]))


@given(st.integers(5, 60), st.data())
def test_a_build_that_is_said_to_be_bad_shows_a_bug_that_came_and_went(count: int, data: st.DataObject) -> None:
    first = data.draw(st.integers(1, count - 3))
    last = data.draw(st.integers(first, count - 2))
    bad = data.draw(st.integers(first, last))
    found = find("n" * first + "Y" * (last - first + 1) + "n" * (count - last - 1), said_bad=(bad,))
    assert found.kind == "broken and fixed"
    assert found.ranges == ((first, last),)


@pytest.mark.parametrize(
    ("truth", "ranges"),
    [("YYnnYYYYY", ((0, 1), (4, 8))), ("YnnnnYYnn", ((0, 0), (5, 6))), ("nYYnnnYYn", ((1, 2), (6, 7)))],
)
def test_a_history_that_is_not_monotone_is_named_with_ranges(truth: str, ranges: tuple[tuple[int, int], ...]) -> None:
    whole = find(truth, known=truth)
    assert (whole.kind, whole.ranges) == ("several", ranges)
    seen = [find(truth, seed=seed).kind for seed in range(40)]
    assert "several" in seen, "validation outside the range finds it, though not always"


def test_known_answers_are_asked_again_only_where_the_change_rests_on_them() -> None:
    known = "YYYYYYnnnnnnnnnnn"
    found = find(known, known=known)
    assert [(step.place, step.why) for step in found.steps] == [
        (5, "verification"),
        (6, "verification"),
        (6, "second batch"),
    ]
    changed = find("YYYYYYYYnnnnnnnnn", known=known)
    assert (changed.changes[0].before, changed.changes[0].after) == (7, 8), "they give way to what runs show"
    assert not changed.replies[7].known
    unverified = find("?" * 17, known=known)
    assert (unverified.changes[0].before, unverified.changes[0].after) == (5, 6)
    assert unverified.replies[5].known, "what cannot be verified here is marked"


def test_clean_places_asked_before_the_control_are_asked_again_once_there_is_one() -> None:
    asked: list[int] = []

    def ask(place: int) -> Reply:
        asked.append(place)
        return Reply("yes", 3, 10) if place >= 3 else Reply("no", 0, 10 if len(asked) < 3 else 51, 0.99)

    found = Search(6, ask, RULES, min, own_control=True).run()
    assert asked[:3] == [0, 5, 0]
    assert found.replies[0].runs == 51
    assert [(change.before, change.after) for change in found.changes] == [(2, 3)]


def test_what_is_clean_though_said_to_be_bad_or_below_the_level_tells_nothing_with_its_reason() -> None:
    found = find("nnnnn", said_bad=(2,))
    assert found.kind == "cannot tell"
    assert "said to show the bug" in found.reason
    found = Search(17, lambda place: Reply("yes") if place < 8 else Reply("no", 0, 1, 0.5), RULES, min).run()
    assert found.kind == "cannot tell"
    assert "confidence is below" in found.reason


@pytest.mark.parametrize("truth", ["Y" * 9 + "n" * 8, "n" * 8 + "Y" * 9, "Y" * 17])
@pytest.mark.parametrize("missed_at", range(17))
def test_one_wrong_clean_answer_is_found_by_the_second_batch_wherever_it_stands(truth: str, missed_at: int) -> None:
    """A bug missed once: the wrong answer becomes the clean side of the change, and that is asked again."""
    lies = [missed_at]

    def ask(place: int) -> Reply:
        if place in lies and truth[place] == "Y":
            lies.remove(place)
            return Reply("no", 0, 4, 0.99)
        return Reply(ANSWERS[truth[place]], confidence=0.99)

    found = Search(17, ask, RULES, random.Random(0).choice).run()
    edges = [edge for edge, (a, b) in enumerate(pairwise(truth)) if a != b]
    assert [change.before for change in found.changes] == edges


@pytest.mark.parametrize(("said_nothing", "change"), [(1, (3, 4)), (9, (2, 3))])
def test_a_second_batch_that_says_nothing_confirms_no_clean_answer_and_is_made_again(
    said_nothing: int, change: tuple[int, int]
) -> None:
    """Place 3 was missed once by bad luck; the control of its next batches fails."""
    of_three = [
        Reply("no", 0, 4, 0.99),
        *[Reply("unknown", detail="control_failed")] * said_nothing,
        Reply("yes", 3, 3),
    ]

    def ask(place: int) -> Reply:
        return of_three.pop(0) if place == 3 else Reply("yes", 3, 3) if place < 4 else Reply("no", 0, 4, 0.99)

    found = Search(8, ask, RULES, random.Random(0).choice).run()
    assert (found.changes[0].before, found.changes[0].after) == change
    batches = [step.why for step in found.steps if step.place == 3].count("second batch")
    assert batches == min(said_nothing, RULES.repeats) + 1, "and not for ever"


def test_a_verdict_becomes_a_reply_with_the_chance_that_it_missed_nothing() -> None:
    rules = AbsenceRules.load()
    sure, rare = Control("build", "x", 10, 10), Control("build", "x", 2, 10)
    assert reply_of(decision_of("occurs", sure, 3, 3), rules).answer == "yes"
    clean = reply_of(decision_of("absent", sure), rules)
    assert clean.answer == "no"
    assert clean.confidence == pytest.approx(1 - missed(sure, 4, rules))
    assert clean.confidence > 1 - rules.miss
    assert reply_of(decision_of("not_seen", Control()), rules).answer == "no"
    assert reply_of(decision_of("not_seen", rare), rules).answer == "unknown"
    for verdict in set(VERDICTS) - {"occurs", "absent", "not_seen"}:
        assert reply_of(decision_of(verdict, sure), rules).answer == "unknown"


def told(replies: Mapping[int, Reply], count: int, *, known: bool = False, rated: bool = True) -> bisection.Bisection:
    """A search over these replies, as it is told; where all is known, nothing is installed."""
    stored = {place: replace(reply, known=True) for place, reply in replies.items()} if known else {}

    def ask(place: int) -> Reply:
        return NOT_INSTALLED if known else replies[place]

    found = Search(count, ask, RULES, min, stored).run()
    subject, session = Subject("case", "", "", "case"), Session("", 0, 0, datetime(2026, 1, 1), {})  # noqa: DTZ001
    return bisection.Bisection(subject, [Place(f"2.{n}.0") for n in range(count)], found, (), session, rated)


@pytest.mark.parametrize(("chance", "said"), [(0.9999, "0.99"), (0.9959, "0.99"), (0.989, "0.98")])
def test_the_confidence_is_rounded_down_and_only_builds_that_were_run_are_counted(chance: float, said: str) -> None:
    made = told({n: Reply("yes", 4, 4) if n < 3 else Reply("no", 0, 4, chance) for n in range(6)}, 6, known=True)
    assert f"confidence at least {said}; 0 of 6 builds were run" in list(bisection.lines(made))
    assert bisection.as_table(made)["confidence"] == float(said)
    assert "environment above" not in bisection.markdown(made, "o/r")


def test_no_confidence_is_stated_without_a_clean_answer_or_a_rate() -> None:
    always = told({n: Reply("yes", 3, 3) for n in range(4)}, 4)
    assert list(bisection.lines(always))[1] == "4 of 4 builds were run"
    assert "onfidence" not in bisection.markdown(always, "o/r")
    once = told({n: Reply("yes" if n < 2 else "no", n < 2, 1, 0.99) for n in range(4)}, 4, rated=False)
    assert "no confidence" in list(bisection.lines(once))[1]
    assert "No confidence" in bisection.markdown(once, "o/r")
    assert bisection.as_table(once)["confidence"] is None


UNDECIDED = Reply("unknown", 1, 6)


def test_a_build_with_a_single_hit_is_named_as_undecided_and_not_as_clean() -> None:
    replies = {n: Reply("yes", 4, 4) if n < 4 else Reply("no", 0, 4, 0.99) for n in range(10)}
    assert told(replies | {4: UNDECIDED, 9: UNDECIDED}, 10).sentence == (
        "The bug went after 2.3.0 and no later than 2.5.0 (2.4.0 is undecided, 1 of 6 runs showed it). "
        "But 2.9.0 is undecided, 1 of 6 runs showed it."
    )
    changed = Reply("unknown", 0, 3, detail="changed 0/3 (another exception)")
    always = told({n: changed if n == 2 else Reply("yes", 4, 4) for n in range(4)}, 4)
    assert always.sentence == (
        "The bug is there on every build that decides (3 of 4: 2.0.0, 2.1.0, 2.3.0). "
        "But 2.2.0 is undecided, 0 of 3 runs showed it."
    )
    never = told({0: Reply("no", 0, 4, 0.99), 1: UNDECIDED, 2: Reply("no", 0, 4, 0.99)}, 3)
    assert never.history.kind == "cannot tell"


def test_no_hit_of_any_batch_is_forgotten() -> None:
    clean = Reply("no", 0, 4, 0.99)
    for old, fresh in ((clean, UNDECIDED), (UNDECIDED, clean), (replace(clean, known=True), UNDECIDED)):
        both = merged(old, fresh)
        assert (both.answer, both.hits) == ("unknown", 1)
    control = Control("build", "x", 10, 10)
    batches = [decision_of("inconclusive", control, 1, 6), decision_of("inconclusive", control, 1, 6)]
    assert (pooled(batches, AbsenceRules.load()).answer, pooled(batches, AbsenceRules.load()).hits) == ("yes", 2)
    alone = pooled([batches[0], decision_of("absent", control)], AbsenceRules.load())
    assert (alone.answer, alone.hits, alone.runs) == ("unknown", 1, 10)


def test_a_command_that_is_never_good_says_nothing_of_the_builds() -> None:
    found = doubted(told({n: Reply("yes", 3, 3) for n in range(3)}, 3).history)
    assert (found.kind, found.reason[:31]) == ("cannot tell", "it never exited 0 on any build,")
    flaky = told({n: Reply("yes", 2, 3) for n in range(3)}, 3).history
    assert doubted(flaky).kind == "always"
