"""Each attack again: in a process of its own, and tried by an ordinary user. tests/sandbox runs it in a fork as this user."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from helpers import attacks
from helpers.attacks import bait, ordinary, runner  # noqa: F401 - fixtures
from support import needs_bubblewrap

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = needs_bubblewrap


@pytest.mark.parametrize(("user", "fresh"), [("runner", True), ("ordinary", False), ("ordinary", True)])
@pytest.mark.parametrize("path", attacks.ATTACKS, ids=lambda path: path.stem)
def test_an_attack_fails_in_every_variant(
    path: Path, user: str, fresh: bool, bait: attacks.Bait, request: pytest.FixtureRequest
) -> None:
    attacks.assert_attack_fails(request.getfixturevalue(user), path, bait, fresh=fresh)


@pytest.mark.parametrize("name", attacks.LOOKING_FOR_TRACES)
def test_nothing_is_left_for_the_next_run_of_an_ordinary_user(name: str, ordinary: attacks.Attacked) -> None:
    attacks.assert_nothing_is_left(ordinary, name)
