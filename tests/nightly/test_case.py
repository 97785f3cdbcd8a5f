"""Case files: what is read, what is refused, what the hash covers; and every case that ships."""

from __future__ import annotations

import tomllib

from hypothesis import given, settings
from hypothesis import strategies as st

from support import case_text, example_count
from torch_embers.repro.case import CaseError, metadata_lines, parse


@given(st.text(max_size=300))
def test_any_text_is_a_case_or_is_refused(text: str) -> None:
    for candidate in (text, case_text(text)):
        try:
            parse(candidate, "pt1_any")
        except CaseError:
            continue


@given(
    st.dictionaries(
        st.from_regex(r"[a-z]{1,8}", fullmatch=True),
        st.one_of(st.text(max_size=20), st.booleans(), st.integers(-5, 5), st.lists(st.text(max_size=8), max_size=3)),
        max_size=4,
    )
)
@settings(max_examples=example_count(60))
def test_written_metadata_is_read_as_it_was(entries: dict[str, object]) -> None:
    lines = list(metadata_lines(entries))
    assert all(line.startswith("#") and "\n" not in line for line in lines)
    table = tomllib.loads("\n".join(line[2:] for line in lines[1:-1]))
    read = table.get("tool", {}).get("embers", {})
    assert read == entries
