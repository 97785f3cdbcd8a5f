"""The failure that a report tells of: what was printed before what was said, what was said before the title."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from support import example_count
from torch_embers.repro.expectation import Expectation, infer, shows
from torch_embers.repro.values import PrintedOutput


def said(*outputs: str, code: str = "", prose: str = "", title: str = "") -> Expectation:
    return infer([PrintedOutput(text) for text in outputs], code, prose, title)


@settings(max_examples=example_count(80))
@given(st.text(max_size=200), st.text(max_size=200), st.text(max_size=200), st.text(max_size=100))
def test_any_text_gives_an_expectation(output: str, code: str, prose: str, title: str) -> None:
    found = said(output, code=code, prose=prose, title=title)
    assert bool(found.signature) == bool(found.where)
    assert len(found.evidence) <= 300
    assert shows(found, None, output) in (True, False, None)
