"""Everything the database knows of one item, for `embers show`, and as a comment to paste for `embers comment`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from torch_embers.errors import InputError
from torch_embers.run.matrix import Entry, entries
from torch_embers.run.reports import escaped

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch_embers.store.store import Store

LONGEST_CELL = 160
"""Characters of what was seen that a comment shows."""

_FACTS = """
SELECT title, kind, state, state_reason, created_at, closed_at, author, labels,
       (SELECT any_value(summary) FROM catalog c WHERE c.repo = i.repo AND c.number = i.number)
FROM items i WHERE repo = $repo AND number = $number
"""
_UNMINED = """
SELECT '(not mined yet)', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL
FROM case_items WHERE repo = $repo AND number = $number LIMIT 1
"""
_GOLD = """
SELECT scheme, value, annotator_kind || ':' || annotator, evidence FROM gold_labels
WHERE repo = $repo AND number = $number ORDER BY ALL
"""
_GUESSES = """
SELECT scheme, coalesce(value, likeliest || ' (not sure enough)'), probability, provenance FROM predictions
WHERE repo = $repo AND number = $number ORDER BY scheme
"""
_LINKS = """
SELECT DISTINCT relation, target_repo, target_number, evidence, false FROM links
WHERE repo = $repo AND number = $number AND target_number IS NOT NULL
UNION
SELECT DISTINCT relation, repo, number, evidence, true FROM links
WHERE target_repo = $repo AND target_number = $number AND number IS NOT NULL
ORDER BY ALL LIMIT 40
"""
_CASES = """
SELECT c.name, c.origin, c.summary, c.requires FROM cases c JOIN case_items i USING (case_hash)
WHERE i.repo = $repo AND i.number = $number AND c.current ORDER BY c.name
"""
_EXTRACTION = """
SELECT status, reason, detail FROM extractions WHERE repo = $repo AND number = $number
"""
_STATUS = """
SELECT backend, status, split_part(reference, '@', 1), decided_at FROM statuses
WHERE repo = $repo AND number = $number ORDER BY backend
"""


@dataclass(frozen=True, slots=True)
class Story:
    """What is known of an item.

    Attributes:
        facts: title, kind, state, reason, created, closed, author, labels, summary of the catalog.
        gold: (class scheme, class, annotator, evidence).
        guesses: (class scheme, class, probability, provenance).
        links: (relation, repository, number, evidence, whether the other item states it).
        cases: (name, origin, summary, requirements).
        extraction: (status, reason, detail) of the search for a case; empty before it ran.
        statuses: (backend, status, reference build, since).
        verdicts: by case, oldest build first.
    """

    repo: str
    number: int
    facts: tuple[Any, ...]
    gold: Sequence[tuple[Any, ...]]
    guesses: Sequence[tuple[Any, ...]]
    links: Sequence[tuple[Any, ...]]
    cases: Sequence[tuple[Any, ...]]
    extraction: Sequence[tuple[Any, ...]]
    statuses: Sequence[tuple[Any, ...]]
    verdicts: Sequence[Entry]


def story(store: Store, repo: str, number: int) -> Story:
    """Collect what is known of an item.

    Raises:
        InputError: it is not in the database.
    """
    asked = {"repo": repo, "number": number}
    with store.read() as connection:
        facts = connection.execute(_FACTS, asked).fetchall() or connection.execute(_UNMINED, asked).fetchall()
        if not facts:
            raise InputError(f"{repo}#{number} is not in the database: mine it first (`embers mine --numbers FILE`)")
        gold, guesses, links, cases, extraction, statuses = (
            connection.execute(query, asked).fetchall()
            for query in (_GOLD, _GUESSES, _LINKS, _CASES, _EXTRACTION, _STATUS)
        )
    names = {row[0] for row in cases}
    verdicts = [entry for entry in entries(store) if entry.case in names]
    return Story(repo, number, facts[0], gold, guesses, links, cases, extraction, statuses, verdicts)


def comment(found: Story) -> str:
    """A version table in Markdown with environment and command, to be pasted by a person; nothing is ever posted.

    Raises:
        InputError: there is no verdict to tell.
    """
    if not found.verdicts:
        raise InputError(
            f"{found.repo}#{found.number} has no verdict yet: run `embers run {found.number}` first"
            if found.cases
            else f"{found.repo}#{found.number} has no case: see `embers show {found.number}`"
        )
    lines = ["Re-checked with a standalone script on released builds:", ""]
    for name in sorted({e.case for e in found.verdicts}):
        own = [e for e in found.verdicts if e.case == name]
        lines += [f"**{name}**", "", "| PyTorch | result | runs that showed it | control | what was seen |"]
        lines += ["| --- | --- | --- | --- | --- |"]
        lines += [_comment_row(entry) for entry in own]
        environments = sorted({e.environment for e in own})
        lines += ["", *(f"Environment: {escaped(text, LONGEST_CELL)}" for text in environments), ""]
        lines += [f"Command: `python {name}.py` (exit code 1: the bug is there, 0: it is not)", ""]
    lines.append(
        "`absent`: as many clean runs as a bug with the hit rate of the control would survive with a probability of at "
        "most 1 %; `not_seen`: clean runs, but no build here shows the bug any more."
    )
    return "\n".join(lines)


def _comment_row(entry: Entry) -> str:
    control = "none"
    if entry.control == "build":
        control = f"{entry.control_k}/{entry.control_n} on {entry.control_build}"
    elif entry.control == "planted":
        control = f"planted fault {entry.control_k}/{entry.control_n}"
    flaky = " (flaky)" if entry.flaky else ""
    cells = (entry.build, entry.verdict + flaky, f"{entry.k}/{entry.n}", control, entry.detail)
    return "| " + " | ".join(escaped(text, LONGEST_CELL) for text in cells) + " |"
