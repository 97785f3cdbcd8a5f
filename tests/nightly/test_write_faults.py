"""A fault at every step that changes a file: the n-th write, sync, rename or open of a command fails, or kills it.

Afterwards the same command ends as one that was left alone: nothing is lost, nothing stands twice.
"""

from __future__ import annotations

import os
import random
from itertools import count, cycle, islice
from typing import TYPE_CHECKING

import pytest

from helpers.write_faults import COMMANDS, FAULTS, KILL, Scene, assert_faults_are_survived, make_scene
from support import needs_bubblewrap

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [pytest.mark.timeout(1800), needs_bubblewrap]

STEPS = int(os.environ.get("STEPS", "8"))
"""How many steps of a command are tried, each with one of the faults in turn."""
KILLS = 20


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Scene:
    return make_scene(tmp_path_factory.mktemp("scene"), cases=True)


@pytest.mark.parametrize("name", COMMANDS)
def test_after_a_fault_the_same_command_ends_as_one_that_was_left_alone(
    name: str, scene: Scene, tmp_path: Path
) -> None:
    assert_faults_are_survived(scene, name, list(islice(cycle(FAULTS), STEPS)), tmp_path)


def test_a_re_check_that_is_killed_again_and_again_ends_as_one_that_was_left_alone(
    scene: Scene, tmp_path: Path
) -> None:
    """Killed anywhere, and again on its way from there, until it comes through; then the next one, until 20 kills."""
    expected, steps = scene.alone("recheck", tmp_path / "alone")
    draw, kills = random.Random(steps), 0
    for turn in count():
        folder = scene.copy("recheck", tmp_path / str(turn))
        at: list[int] = []
        while kills < KILLS:
            at.append(draw.randint(1, steps))
            code, said = scene.ended("recheck", folder, FAULT_AT=str(at[-1]), **KILL)
            if code != -9:
                assert code in COMMANDS["recheck"].codes, f"after kills at {at}: exit {code}\n{said}"
                break
            kills += 1
        scene.assert_it_ends("recheck", folder, expected, f"killed at {at} of {steps}")
        if kills == KILLS:
            break
