"""The words that rules need: found in one pass over a text, and exactly those that plain search finds."""

from __future__ import annotations

from functools import reduce

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from torch_embers.link import needs as needs_module
from torch_embers.link import relations
from torch_embers.link.components import Components
from torch_embers.link.needs import Needs

LETTERS = st.sampled_from("ab#/ \u0130\u0131\u017fSsß\u0307é\U0001f525\ud83d\udd25\x00")
"""Few letters, so that words overlap: also such that lower case makes longer, joins or leaves, and halves of a pair."""
WORDS = st.text(LETTERS, max_size=4)
RULES = st.dictionaries(st.integers(0, 20), st.lists(WORDS, max_size=4).map(tuple), max_size=8)


def plainly(needs: dict[int, tuple[str, ...]], text: str) -> list[int]:
    """The definition."""
    return sorted(place for place, words in needs.items() if not words or any(word in text for word in words))


@given(RULES, st.text(LETTERS, max_size=40))
@example({0: ("he", "she"), 1: ("hers",), 2: ("r",)}, "ushers")
@example({0: ("i\u0307",), 1: ("i",)}, "\u0130".lower())
@example({0: ("s",), 1: ("\u017f",)}, "\u017f".lower())
@example({0: ("\ud83d",), 1: ("\U0001f525",)}, "\U0001f525")
@example({0: ("",), 1: ()}, "")
@example({}, "a")
def test_rules_met_are_those_whose_words_are_in_the_text(needs: dict[int, tuple[str, ...]], text: str) -> None:
    for form in (text, text.lower(), text.upper().lower()):
        assert Needs(needs).met(form) == plainly(needs, form)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(needs_module, "SHORT_TEXT", 0)
            assert Needs(needs).met(form) == plainly(needs, form), "a long text is searched by the same rule"


def shipped_needs() -> list[dict[int, tuple[str, ...]]]:
    """The words of all shipped rules, as the stage looks for them."""
    found = [dict(enumerate(rule.needs for rule in Components.load().text))]
    return [*found, dict(enumerate(rule.needs for rule in relations.load().rules))]


@given(st.data())
def test_shipped_words_are_found_among_each_other(data: st.DataObject) -> None:
    for needs in shipped_needs():
        words = sorted({word for rule in needs.values() for word in rule})
        chosen = data.draw(st.lists(st.sampled_from(words), max_size=6))
        cut = data.draw(st.lists(st.integers(0, 12), min_size=len(chosen), max_size=len(chosen)))
        text = reduce(lambda text, part: text + part[0][part[1] :], zip(chosen, cut, strict=True), "")
        assert Needs(needs).met(text) == plainly(needs, text)
