"""Every odd value in every place of an answer is a record or a reject with a reason; tests/unit draws some."""

from __future__ import annotations

import json

import pytest

from unit.test_hostile_answers import ODD, PAGES, changed, places, read


@pytest.mark.parametrize("kind", PAGES)
def test_every_odd_value_in_every_place_is_a_record_or_a_reject(kind: str) -> None:
    whole = PAGES[kind][1]
    for at in places(whole):
        for odd in ODD:
            read(kind, json.dumps(changed(whole, at, odd)).encode())
