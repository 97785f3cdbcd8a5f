"""Each attack again: in a process of its own, and tried by an ordinary user. tests/sandbox runs it in a fork as this user."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from helpers.attacks import ATTACKS, Attacked, Bait, assert_attack_fails, bait, one, ordinary, runner  # noqa: F401 - fixtures
from support import needs_bubblewrap

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = needs_bubblewrap


@pytest.mark.parametrize(("user", "fresh"), [("runner", True), ("ordinary", False), ("ordinary", True)])
@pytest.mark.parametrize("path", ATTACKS, ids=lambda path: path.stem)
def test_an_attack_fails_in_every_variant(
    path: Path, user: str, fresh: bool, bait: Bait, request: pytest.FixtureRequest
) -> None:
    assert_attack_fails(request.getfixturevalue(user), path, bait, fresh=fresh)


@pytest.mark.parametrize("name", ["read_other_runs", "system_objects", "ports_of_others", "terminals"])
def test_nothing_is_left_for_the_next_run_of_an_ordinary_user(name: str, ordinary: Attacked) -> None:
    code = next(path for path in ATTACKS if path.stem == name).read_text(encoding="utf-8")
    for fresh in (False, True, False, True):
        result = one(ordinary, code, fresh=fresh)
        assert result.exit_code == 0, result.stderr
