"""Bisections of time: stand-in builds whose calls are slowed by hand, comparisons that decide, and what is refused."""

from __future__ import annotations

import pytest

from support import case_of
from torch_embers.builds.registry import Registry
from torch_embers.errors import InputError
from torch_embers.oracles import timing
from torch_embers.run import perf, perf_cases
from torch_embers.run.bisect import command as bisecting
from torch_embers.run.bisect import speed

CALL = perf.Call(name="pool", setup="x = torch", call="x.burn()")


@pytest.fixture(autouse=True)
def _these_builds_calls_and_cases(monkeypatch: pytest.MonkeyPatch) -> None:
    shipped = perf.Rules.load()
    quick = shipped.limits.model_copy(update={"chunk_seconds": 0.002, "chunks": 3, "rounds": 6})
    monkeypatch.setattr(perf.Rules, "load", lambda: perf.Rules(limits=quick, call=(CALL,)))
    monkeypatch.setattr(perf_cases, "all_timed", list)
    monkeypatch.setattr(Registry, "_current", lambda _: None)
    monkeypatch.setattr(bisecting.shipped, "load", lambda _: 0)


@pytest.mark.parametrize(
    ("low", "ratio", "high", "answer", "hits"),
    [
        (1.2, 1.3, 1.4, "yes", 1),
        (0.9, 1.0, 1.1, "no", 0),
        (1.0, 1.05, 1.2, "unknown", 0),
        (1.05, 1.15, 1.2, "unknown", 1),
    ],
)
def test_an_interval_decides_where_all_of_it_is_on_one_side(
    low: float, ratio: float, high: float, answer: str, hits: int
) -> None:
    reply = speed.reply_of(timing.TimingReport("", ratio, low, high, 0.1, (1.0,), (1.0,)), 1.1)
    assert (reply.answer, reply.hits, reply.runs) == (answer, hits, 1)
    assert reply.confidence == (0.975 if answer == "no" else 1.0)


def test_the_limit_of_a_call_is_its_margin() -> None:
    name = perf.Rules.load().call[0].name
    assert (speed.of_call(name).limit, speed.of_call(name, 0.03).limit) == (1.1, 1.03)


def test_every_shipped_case_about_time_says_its_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    assert all(speed.limit_of(case) > 1 for case in perf_cases.all_timed())
    with pytest.raises(InputError, match="73328 has 2 cases about time: name one of"):
        speed.of_case("73328", "pytorch/pytorch", by_number=True)
    assert speed.of_case("frobnicate", "pytorch/pytorch", by_number=True) is None
    with pytest.raises(InputError, match="has no LIMIT"):
        speed.limit_of(case_of("x = 1"))
