"""Whether what a test fails at before the fix is what the fix is about. Pure; the rules are data.

A test that fails before a merged fix and passes after it need not show the bug of the issue: the commit can add a
feature, change a default or a wording, and the test can fail earlier, for another fault. Such a test is doubtful until
a reader says otherwise.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from torch_embers.fixtests.failing_line import failing_line, may_show_change

if TYPE_CHECKING:
    from collections.abc import Iterable

    from torch_embers.cases.fix_test_rules import Doubt


@dataclass(frozen=True, slots=True)
class FixTest:
    """A test of a fix, as far as doubts ask.

    Attributes:
        name: of its case.
        test: the test method.
        code: the script as it ran.
        text: the test in the commit.
        before: the test in the parent of the commit; None where the commit added it.
        about: what the fix is about: the subject of the commit, and the titles of its issues where they are known.
    """

    name: str
    test: str
    code: str
    text: str
    before: str | None
    about: str


def doubt(test: FixTest, failure: str, error: str, rules: Iterable[Doubt]) -> tuple[str, str] | None:
    """The first rule that doubts a failure before the fix: its reason and what it saw; None where none does.

    Args:
        test: the test.
        failure: the failure, as a signature.
        error: what the run wrote to standard error.
        rules: of data/fix_tests.toml.
    """
    place = failing_line(test.code, test.test, test.name, error)
    line = place.text if place else ""
    unreached = place is not None and not may_show_change(test.before, test.text, place.line)
    for rule in rules:
        if rule.unless and rule.unless.search(failure):
            continue
        if rule.without and rule.without.search(test.about):
            continue
        if rule.failure and not rule.failure.search(failure):
            continue
        if rule.unreached and not unreached:
            continue
        if rule.waits_for_error and not (place is not None and place.waits_for_error):
            continue
        if rule.line and not rule.line.search(line):
            continue
        if rule.about and not rule.about.search(test.about):
            continue
        return rule.id, line if rule.unreached or rule.line or rule.waits_for_error else test.about.split("\n")[0]
    return None
