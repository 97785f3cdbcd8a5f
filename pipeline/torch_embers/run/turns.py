"""A turn: what one freshly started zygote contributes to the batches of one build, as a node of a cluster makes it.

The runs of a turn come in waves of one run per case, so that a hit stops its case. The batches say what is wanted;
nothing here knows of a database.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from torch_embers.run.verdict import observe
from torch_embers.sandbox.runner import Attempt

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from torch_embers.run.batch import Batch
    from torch_embers.run.verdict import Observation, Rules
    from torch_embers.sandbox.runner import Runner, RunResult

LEAST_MEMORY = 4 << 30
"""Bytes that every run may take; a case that says that it needs more gets more."""


@dataclass(frozen=True, slots=True)
class Made:
    """A run that has ended and counts.

    Attributes:
        number: its place among the runs of the batch, or among those with an injected fault, from 0.
    """

    attempt: Attempt
    result: RunResult
    observation: Observation
    number: int


def take(batch: Batch, attempt: Attempt, result: RunResult, observation: Observation, rules: Rules) -> Made:
    """Add a run to its batch."""
    if attempt.inject:
        batch.injected.append(observation)
    else:
        batch.take(observation, rules)
    return Made(attempt, result, observation, (len(batch.injected) if attempt.inject else batch.made) - 1)


def make_turn(
    runner: Runner,
    members: Sequence[Batch],
    turn: int,
    jobs: int,
    rules: Rules,
    said: Callable[[str], None],
) -> Iterator[tuple[int, Made]]:
    """Let fresh zygotes make their share of the runs; each with the place of its batch, after the batch has taken it.

    Args:
        runner: of the build, with the profile and the modules of these batches; its zygotes are fresh.
        members: batches that are not settled.
        turn: number of the turn, from 0.
        jobs: runs at a time.
        rules: numbers of data/verdicts.toml.
        said: is told which runs are made again.
    """
    places = {id(batch): place for place, batch in enumerate(members)}
    for batch in members:
        batch.begin_turn()
    while injecting := [batch for batch in members if batch.wants_injection(turn, rules)]:
        for batch, made in _wave(runner, injecting, turn, jobs, rules, said, inject=True):
            yield places[id(batch)], made
    while wave := [batch for batch in members if batch.wants(turn, rules)]:
        for batch, made in _wave(runner, wave, turn, jobs, rules, said, inject=False):
            yield places[id(batch)], made


def _wave(
    runner: Runner,
    wave: Sequence[Batch],
    turn: int,
    jobs: int,
    rules: Rules,
    said: Callable[[str], None],
    *,
    inject: bool,
) -> Iterator[tuple[Batch, Made]]:
    """One run of each of these; each when its run has ended and counts."""
    attempts = {str(place): attempt_of(str(place), batch, turn, inject=inject) for place, batch in enumerate(wave)}
    for result in runner.run(attempts.values(), jobs):
        batch = wave[int(result.key)]
        if batch.makes_again(result, rules):
            busy = f"it waited for a processor in {result.waited:.0f} of {result.duration:.0f} s"
            said(f"{batch.case.name} is run again: {busy}")
            continue
        yield batch, take(batch, attempts[result.key], result, observe(batch.case, result), rules)


def attempt_of(key: str, batch: Batch, turn: int, *, inject: bool) -> Attempt:
    """The next run of a batch in a turn."""
    case = batch.case
    return Attempt(
        key=key,
        code=case.code,
        name=f"{case.name}.py",
        seed=batch.seed(turn, len(batch.injected) if inject else batch.made),
        timeout=case.timeout,
        memory=max(LEAST_MEMORY, case.memory),
        threads=case.threads,
        finalise=case.finalise,
        inject=inject,
    )
