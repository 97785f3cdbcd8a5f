"""The rules of extraction and their version: items are read again when rules change, and only then."""

from __future__ import annotations

import pytest

from helpers.rules_version import digest


@pytest.mark.parametrize(
    ("before", "after", "is_same"),
    [
        ('"""One."""\nX = 1\n', '"""Two."""\n\n\nX = 1  # why\n', True),
        ("def f(a: int) -> int:\n    return a\n", 'def f(a: str):\n    """Doc."""\n    return (a)\n', True),
        ("X = 1\n", "X = 2\n", False),
        ("def f(a):\n    return a\n", "def f(a):\n    return -a\n", False),
    ],
)
def test_prose_and_form_are_no_rules(before: str, after: str, is_same: bool) -> None:
    assert (digest([before]) == digest([after])) is is_same
