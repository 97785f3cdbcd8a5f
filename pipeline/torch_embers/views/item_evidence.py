"""Everything the database knows of items, for `embers show`, lists, and the texts to paste."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import replace
from shlex import quote
from typing import TYPE_CHECKING, Any

from torch_embers.errors import InputError
from torch_embers.extract.script import ReportText, from_row
from torch_embers.judgements import fix_test_answers
from torch_embers.settings import DEFAULT_REPO
from torch_embers.store import schema
from torch_embers.store.rows import mappings
from torch_embers.timeline.model import GAPS
from torch_embers.timeline.stored import timeline_of, timelines
from torch_embers.verdicts.matrix import MatrixEntry, entries, version_key
from torch_embers.verdicts.script_excerpt import script_of
from torch_embers.views.closable import closable
from torch_embers.views.item_report import ItemReport, Row

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    import duckdb

    from torch_embers.store.store import Store
    from torch_embers.timeline.model import Timeline

_FACTS = """
SELECT title, i.kind, state, state_reason, created_at, i.closed_at, author, labels,
       (SELECT any_value(summary) FROM catalog c WHERE c.repo = i.repo AND c.number = i.number) AS summary,
       EXISTS (FROM events e WHERE e.repo = i.repo AND e.number = i.number AND e.type = 'reopened') AS reopened,
       d.disposition, d.evidence AS closing_evidence, d.evidence_kind AS closing_kind,
       d.evidence_ref AS closing_reference, d.duplicate_of,
       c.closed_by, c.closing_repo, c.closing_number, c.closing_sha, c.closing_comment
FROM items i LEFT JOIN item_dispositions d USING (repo, number) LEFT JOIN closings c USING (repo, number)
WHERE repo = $repo AND number = $number
"""
_UNMINED = """
SELECT '(not mined yet)' AS title, NULL AS kind, NULL AS state, NULL AS state_reason, NULL AS created_at,
       NULL AS closed_at, NULL AS author, NULL AS labels, NULL AS summary, false AS reopened, NULL AS disposition,
       NULL AS closing_evidence, NULL AS closing_kind, NULL AS closing_reference, NULL AS duplicate_of,
       NULL AS closed_by, NULL AS closing_repo,
       NULL AS closing_number, NULL AS closing_sha, NULL AS closing_comment
WHERE EXISTS (FROM case_items WHERE repo = $repo AND number = $number)
   OR EXISTS (FROM fix_tests WHERE repo = $repo AND list_contains(issues, $number::VARCHAR))
   OR EXISTS (FROM timelines WHERE repo = $repo AND number = $number)
"""
_GOLD = """
SELECT scheme, value, annotator_kind || ':' || annotator AS annotator, evidence FROM gold_labels
WHERE repo = $repo AND number = $number ORDER BY ALL
"""
_PREDICTIONS = """
SELECT scheme, value, probability, confidence, provenance FROM predictions
WHERE repo = $repo AND number = $number ORDER BY scheme
"""
_LINKS = """
SELECT repo, number, list({relation: relation, inward: inward, evidence: evidence} ORDER BY inward, relation, evidence)
       AS kinds
FROM (
    SELECT DISTINCT target_repo AS repo, target_number AS number, relation, evidence, false AS inward FROM links
    WHERE repo = $repo AND number = $number AND target_number IS NOT NULL
    UNION
    SELECT DISTINCT repo, number, relation, evidence, true FROM links
    WHERE target_repo = $repo AND target_number = $number AND number IS NOT NULL
)
GROUP BY ALL ORDER BY repo, number
"""
_CASES = """
SELECT i.repo, i.number, c.name, c.origin, i.relation, c.summary, c.requires, c.code
FROM cases c JOIN case_items i USING (case_hash)
WHERE c.current AND ($repo IS NULL OR i.repo = $repo AND i.number = $number)
ORDER BY c.origin <> 'curated', c.origin <> 'fix_test', c.name
"""
_SCRIPT = """
SELECT code, environment, device, found_in, changes, reason, detail FROM scripts
WHERE repo = $repo AND number = $number
"""
_TEXT = """
SELECT coalesce(i.title, '') AS title, i.body,
       coalesce((SELECT list(m.body ORDER BY m.created_at, m.comment_id) FROM comments m
                 WHERE m.repo = i.repo AND m.number = i.number AND m.body IS NOT NULL), []) AS comments
FROM items i WHERE repo = $repo AND number = $number AND coalesce(kind, 'issue') = 'issue' AND i.body IS NOT NULL
"""
_PLACES = """
SELECT environment, concat_ws(', ', device, processor, capability, system) FROM environments
"""
_FIX_TESTS = """
SELECT t.repo, t.number, t.name, t.path, t.owner || '.' || t.test AS test, t.commit_sha, t.committed_at, t.change,
       CASE WHEN list_contains(t.same, t.number::VARCHAR) THEN 'same' ELSE 'sibling' END AS relation,
       t.first_release, t.first_release_by, k.class, k.reason, k.failed, k.passed, k.unusable, k.variants,
       k.variants_run, k.provenance
FROM (SELECT *, unnest(issues)::INTEGER AS number FROM fix_tests) t JOIN fix_test_classes k USING (name)
WHERE $repo IS NULL OR t.repo = $repo AND t.number = $number ORDER BY t.committed_at, t.name
"""
_BISECTED = """
SELECT i.repo, i.number, b.subject, b.text,
       list(DISTINCT c.pull ORDER BY c.pull) FILTER (c.names_the_issue AND c.pull IS NOT NULL) AS fixes
FROM bisections b
JOIN cases own ON own.name = b.subject AND own.current AND b.started_at >= own.saved_at
JOIN case_items i ON i.case_hash = own.case_hash
LEFT JOIN bisection_commits c ON c.session = b.session AND c.number = b.number
WHERE b.finished_at IS NOT NULL AND ($repo IS NULL OR i.repo = $repo AND i.number = $number)
GROUP BY i.repo, i.number, b.session, b.number, b.subject, b.text, b.finished_at
QUALIFY row_number() OVER (PARTITION BY i.repo, i.number, b.subject ORDER BY b.finished_at DESC) = 1
ORDER BY b.subject
"""
"""The newest bisection of the text that each case has now."""
_STATUS = """
SELECT repo, number, backend, status, split_part(reference, '@', 1) AS reference, decided_at, provenance, evidence
FROM statuses WHERE $repo IS NULL OR repo = $repo AND number = $number ORDER BY backend
"""

_DECIDED = """
SELECT i.repo, i.number, i.kind, i.title, i.state, d.disposition, d.duplicate_of,
       EXISTS (FROM events e WHERE e.repo = i.repo AND e.number = i.number AND e.type = 'reopened') AS reopened
FROM items i LEFT JOIN item_dispositions d USING (repo, number)
WHERE i.deleted_at IS NULL AND (d.duplicate_of IS NOT NULL OR (i.repo, i.number) IN (
    SELECT (repo, number) FROM case_items UNION SELECT (repo, number) FROM timelines
    UNION SELECT (repo, unnest(issues)::INTEGER) FROM fix_tests
    UNION SELECT (repo, target_number) FROM links WHERE relation = 'duplicates' AND target_repo = repo))
"""
"""Items of which anything ran, or that are called a duplicate or have one."""
_DUPLICATES = """
SELECT DISTINCT repo, number, target_number, [{relation: relation, inward: false}] AS kinds
FROM links WHERE relation = 'duplicates' AND number IS NOT NULL AND target_repo = repo
"""
_RELEASES = """
SELECT version, count(*)
FROM (SELECT unnest(versions) AS version FROM current_timelines WHERE NOT list_contains(?, ending)) GROUP BY ALL
"""
_SCRIPTS = """
SELECT s.* FROM scripts s SEMI JOIN (SELECT repo, number FROM case_items UNION SELECT repo, number FROM timelines) r
USING (repo, number)
"""


def answered(store: Store) -> dict[tuple[str, int], ItemReport]:
    """Of every item of which anything ran, or that is called a duplicate: what decides its answer, and the answer."""
    verdicts_of_all = entries(store)
    with store.read() as connection:
        schema.require_ours(connection, store.path)
        rows = _evidence(connection, None, None)
        scripts = {(row["repo"], row["number"]): from_row(row) for row in mappings(connection, _SCRIPTS)}
        words = places(connection)
        own = {(one.repo, one.number): placed(one, words) for one in timelines(connection)}
        facts = {(row["repo"], row["number"]): row for row in mappings(connection, _DECIDED)}
        links = by_item(mappings(connection, _DUPLICATES))
        release = _reference(connection, verdicts_of_all)
    by_case: dict[str, list[MatrixEntry]] = defaultdict(list)
    for entry in verdicts_of_all:
        by_case[entry.case].append(entry)
    made = {}
    for key in sorted({*facts, *rows["cases"], *own, *rows["fix_tests"]}):
        verdicts = [entry for case in rows["cases"][key] for entry in by_case[case["name"]]]
        made[key] = ItemReport(
            repo=key[0],
            number=key[1],
            facts=facts.get(key, {}),
            gold=(),
            predictions=(),
            links=[row | {"number": row["target_number"]} for row in links[key]],
            script=scripts.get(key),
            timeline=own.get(key),
            verdicts=verdicts,
            **{name: of_items[key] for name, of_items in rows.items()},
        )
    asked = {key: closable(one, release, lambda *other: made.get(other)) for key, one in made.items()}
    return {
        key: replace(made[key], answer=answer)
        for key, answer in asked.items()
        if answer is None or answer.rule != "nothing" or made[key].fix_tests
    }


def _reference(connection: duckdb.DuckDBPyConnection, verdicts: Iterable[MatrixEntry]) -> str:
    """The newest release on which at least half as many cases and scripts ran as on any.

    One run on a newer release takes no answer from the others; pre-releases count where nothing else ran.
    """
    ran = Counter(dict(connection.execute(_RELEASES, [list(GAPS)]).fetchall()))
    ran.update(build for _, build in {(entry.case, entry.build) for entry in verdicts})
    ran = Counter({build: n for build, n in ran.items() if not version_key(build).is_prerelease}) or ran
    often = [build for build, n in ran.items() if 2 * n >= max(ran.values())]
    return max(often, key=version_key, default="")


def by_item(rows: Iterable[Row]) -> dict[tuple[str, int], list[Row]]:
    """Rows by the item that they are about."""
    found: dict[tuple[str, int], list[Row]] = defaultdict(list)
    for row in rows:
        found[row["repo"], row["number"]].append(row)
    return found


def _evidence(connection: duckdb.DuckDBPyConnection, repo: str | None, number: int | None) -> dict[str, Any]:
    """By item, of one or of all: cases, statuses, tests of fixes (those first that decide most) and bisections."""
    queries = {"cases": _CASES, "statuses": _STATUS, "fix_tests": _FIX_TESTS, "bisections": _BISECTED}
    asked = {"repo": repo, "number": number}
    rows = {name: mappings(connection, query, asked) for name, query in queries.items()}
    readers = fix_test_answers()
    read = [
        test | {question: said.get(test["name"]) for question, said in readers.items()} for test in rows["fix_tests"]
    ]
    rows["fix_tests"] = sorted(read, key=lambda test: (test["class"] != "validated", test["shows_bug"] != "right"))
    return {name: by_item(of_all) for name, of_all in rows.items()}


def report_of(store: Store, repo: str, number: int) -> ItemReport:
    """Collect what is known of an item, with its answer.

    Raises:
        InputError: it is not in the database.
    """
    verdicts = entries(store)
    with store.read() as connection:
        release = _reference(connection, verdicts)

    def other(repo: str, number: int) -> ItemReport | None:
        try:
            return _known(store, repo, number, verdicts)
        except InputError:
            return None

    known = _known(store, repo, number, verdicts)
    return replace(known, answer=closable(known, release, other))


def _known(store: Store, repo: str, number: int, all_verdicts: Sequence[MatrixEntry]) -> ItemReport:
    """All that is known of an item, without its answer.

    Raises:
        InputError: it is not in the database.
    """
    with store.read() as connection:
        schema.require_ours(connection, store.path)

        def ask(query: str) -> list[Row]:
            return mappings(connection, query, {"repo": repo, "number": number})

        facts = ask(_FACTS) or ask(_UNMINED)
        if not facts:
            named = number if repo == DEFAULT_REPO else f"{repo}#{number}"
            raise InputError(f"{repo}#{number} is not in the database: `embers mine {named}` fetches it")
        gold, predictions, links = (ask(query) for query in (_GOLD, _PREDICTIONS, _LINKS))
        rows: dict[str, Any] = {
            name: of_items[repo, number] for name, of_items in _evidence(connection, repo, number).items()
        }
        script = next(map(from_row, ask(_SCRIPT)), None)
        if script is None and (text := ask(_TEXT)):
            from torch_embers.extract.reading import read  # its rules are heavy, and lists do without

            script = read(ReportText(**text[0]))
        own = timeline_of(connection, repo, number)
        timeline = own and placed(own, places(connection))
    for case in rows["cases"]:
        case["script"] = script_of(case["name"], case["origin"], case.pop("code"))
    for test in rows["fix_tests"]:
        test["command"] = f"git checkout {test['commit_sha'][:10]} && python {quote(test['path'])} {test['test']}"
    names = {case["name"] for case in rows["cases"]}
    verdicts = [entry for entry in all_verdicts if entry.case in names]
    return ItemReport(
        repo,
        number,
        facts=facts[0],
        gold=gold,
        predictions=predictions,
        links=links,
        script=script,
        timeline=timeline,
        verdicts=verdicts,
        **rows,
    )


def places(connection: duckdb.DuckDBPyConnection) -> dict[str, str]:
    """Each environment by its key: device, processor, capability and system in one text."""
    return dict(connection.execute(_PLACES).fetchall())


def placed(timeline: Timeline, words: Mapping[str, str]) -> Timeline:
    """The timeline with its environment in words."""
    return replace(timeline, environment=words.get(timeline.environment, timeline.environment))
