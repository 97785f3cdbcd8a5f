"""The bank: all cases of the database, the shipped ones brought in from ``data/cases``."""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

from torch_embers.cases import case_rules, shipped_verdicts
from torch_embers.cases.case import Case, CaseError, parse, shipped
from torch_embers.cases.case import load as load_file
from torch_embers.errors import InputError
from torch_embers.judgements import fix_test_answers
from torch_embers.normalize import now_utc
from torch_embers.store import rows

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    import duckdb

    from torch_embers.store.store import Store
    from torch_embers.store.writer import Writer


def refresh(writer: Writer) -> tuple[list[Case], int]:
    """Bring the shipped cases and their verdicts into the database, where they are new or changed.

    Returns:
        The shipped cases, and how many verdicts were written, `untestable` not counted.

    Raises:
        CaseError: one of the cases cannot be used.
        InputError: the shipped verdicts cannot be used.
        StoreError: the database cannot be written.
    """
    cases = shipped()
    with writer.transaction() as connection:
        save(connection, cases)
        connection.execute(
            "UPDATE cases SET current = false WHERE origin = 'curated' AND current "
            "AND NOT list_contains(?::VARCHAR[], name)",
            [[case.name for case in cases]],
        )
        return cases, shipped_verdicts.load(connection)


def read_folder(folder: Path) -> tuple[list[Case], list[str]]:
    """The cases among the ``.py`` files of a folder, or the one of a file; for each that is none, what is wrong.

    Raises:
        InputError: there is no such folder.
    """
    if not folder.exists():
        raise InputError(f"{folder} is not there: name a case file or a folder of case files")
    cases, refused = [], []
    for path in sorted(folder.glob("*.py")) if folder.is_dir() else [folder]:
        if not path.is_file():  # a pipe would be waited for, a dangling link cannot be read
            refused.append(f"{path}: no regular file")
            continue
        try:
            case = load_file(path, "own")
            # a case may do without a fault of its own, but not have one that says nothing about its check
            if case.injects and (found := case_rules.breaches(case.code, case.name)):
                raise CaseError(f"{case.name}: {found[0]}")
            cases.append(case)
        except CaseError as error:
            refused.append(f"{path}: {str(error).removeprefix(f'{path}: ').removeprefix(f'{path.stem}: ')}")
    return cases, refused


def add_own(writer: Writer, cases: Sequence[Case]) -> None:
    """Bring a user's own cases into the database.

    Raises:
        InputError: one has the name of a case of another origin.
        StoreError: the database cannot be written.
    """
    with writer.transaction() as connection:
        taken = connection.execute("SELECT name FROM cases WHERE current AND origin <> 'own'").fetchall()
        if doubled := sorted({name for (name,) in taken} & {case.name for case in cases}):
            raise InputError(f"{doubled[0]}.py: a case of embers has this name: rename the file")
        save(connection, cases)


def save(connection: duckdb.DuckDBPyConnection, cases: Sequence[Case]) -> int:
    """Write cases, the newest text of each name being the current one; return how many were new or changed."""
    known = set(connection.execute("SELECT name, code FROM cases WHERE current").fetchall())
    fresh = [case for case in cases if (case.name, case.code) not in known]
    for case in fresh:
        connection.execute("UPDATE cases SET current = false WHERE name = ?", [case.name])
    rows.replace(
        connection, "cases", ("case_hash", "name"), [case_row(case) | {"saved_at": now_utc()} for case in fresh]
    )
    for case in fresh:
        connection.execute("DELETE FROM case_items WHERE case_hash = ?", [case.hash])
    items = [
        {"case_hash": case.hash, "repo": repo, "number": number, "relation": _compared(case, repo, number)}
        for case in fresh
        for repo, number in sorted(set(case.issues))
    ]
    rows.append(connection, "case_items", items)
    return len(fresh)


def _compared(case: Case, repo: str, number: int) -> str | None:
    """What the case has to do with an item; None where nobody compared them, or nobody could."""
    relation = case.relations.get((repo, number))
    return None if relation == "unknown" else relation


def case_row(case: Case) -> dict[str, Any]:
    """A case as a row of the table ``cases``, but for the time at which it is saved."""
    return {
        "case_hash": case.hash,
        "name": case.name,
        "origin": case.origin,
        "current": True,
        "code": case.code,
        "summary": case.summary,
        **case.labels,
        "requires": [str(need) for need in case.needs],
        "known_bad": list(case.known_bad),
        "fixed_in": case.fixed_in,
        "signature": list(case.signature_texts),
        "oracle": case.oracle,
        "timeout": case.timeout,
    }


_COUNTED = """
SELECT name FROM fix_test_classes
WHERE (class = 'validated' AND NOT list_contains($wrong, name))
   OR (class IN ('validated', 'doubtful') AND list_contains($right, name))
   OR (class = 'fails_after' AND validated_before IS NOT NULL AND list_contains($again, name))
"""
"""Fix tests that show the bug of their issue.

A validated one of which a reader says that it shows another fault counts no more, and one that rules doubt counts only
where a reader says that it shows the bug. One that fails after its fix counts where a reader says that this shows the
bug again: it may be drift of the test.
"""
_CURRENT = f"""
SELECT name, origin, code FROM cases c WHERE current AND (origin <> 'fix_test'
    OR (NOT $chosen AND name IN ({_COUNTED}))
    OR ($chosen AND (list_contains($names, name) OR EXISTS (
        FROM case_items i WHERE i.case_hash = c.case_hash AND list_contains($names, i.number::VARCHAR)))))
ORDER BY name
"""
"""Tests of fixes number thousands: those that count, or of those that are named."""


def load(store: Store, names: Sequence[str] = (), repo: str = "") -> list[Case]:
    """Current cases by name, all or those that ``names`` means (see ``chosen``).

    Of the fix tests only those count that are validated and not found wrong by a reader, or that show their bug again
    as a reader says, unless they are named.

    Raises:
        InputError: one of the names is unknown.
    """
    keys = [text.removesuffix(".py").rpartition("/")[2].rpartition("#")[2] for text in names]
    with store.read() as connection:
        asked = {"chosen": bool(names), "names": keys} | _readers()
        rows_ = connection.execute(_CURRENT, asked).fetchall()
    cases = [parse(code, name, origin) for name, origin, code in rows_]
    return chosen(cases, names, repo) if names else cases


def _readers() -> dict[str, list[str]]:
    """What second readers say of fix tests, as parameters of ``_COUNTED``."""
    before, after = fix_test_answers()["shows_bug"], fix_test_answers()["shows_bug_again"]
    right, wrong = ([name for name, said in before.items() if said == answer] for answer in ("right", "wrong"))
    return {"right": right, "wrong": wrong, "again": [name for name, said in after.items() if said == "right"]}


def chosen(cases: Sequence[Case], names: Sequence[str], repo: str) -> list[Case]:
    """The named cases.

    Args:
        cases: to choose from.
        names: names of cases, or numbers of items (with or without ``#``, or owner/name#123).
        repo: repository of items given by number alone.

    Raises:
        InputError: one of the names is unknown.
    """
    kept: dict[str, Case] = {}
    for text in names:
        matching = [case for case in cases if _is_meant(case, text, repo)]
        if not matching:
            raise InputError(f"no case {text!r}: {_instead(text, cases)}")
        kept |= {case.name: case for case in matching}
    return list(kept.values())


def _instead(text: str, cases: Sequence[Case]) -> str:
    """What to do where a name means none of these cases: the nearest names, those of other kinds with their command."""
    key = text.removesuffix(".py").rpartition("/")[2].lower().replace("-", "_")
    known = {case.name: case.kind for case in (*shipped(None), *cases)}
    near = [name for name in known if name.startswith(key)] or get_close_matches(key, known, cutoff=0.8)
    if not near:
        return "`embers list --matrix` lists the cases, `embers run NUMBER` runs the script of a report"
    usual = {case.kind for case in cases} or {"bug"}
    calls = {"bug": "run", "timing": "perf", "advisory": "run --kind advisory", "closing": "run --kind closing"}
    names = [name if known[name] in usual else f"`embers {calls[known[name]]} {name}`" for name in near[:3]]
    return f"did you mean {' or '.join(names)}?"


def _is_meant(case: Case, text: str, repo: str) -> bool:
    if text.removesuffix(".py").rpartition("/")[2] == case.name:
        return True
    home, _, number = text.rpartition("#")
    if not number.isdecimal():
        return False
    return (home or repo, int(number)) in case.issues
