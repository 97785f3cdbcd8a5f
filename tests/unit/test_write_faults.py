"""A few of the faults of tests/nightly/test_write_faults.py, for the two commands that are quickest."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from helpers.write_faults import FAULTS, Scene, assert_faults_are_survived, make_scene

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Scene:
    return make_scene(tmp_path_factory.mktemp("scene"), cases=False)


@pytest.mark.parametrize("name", ["mine", "export"])
def test_after_a_fault_the_same_command_ends_as_one_that_was_left_alone(
    name: str, scene: Scene, tmp_path: Path
) -> None:
    assert_faults_are_survived(scene, name, FAULTS[:2], tmp_path)
