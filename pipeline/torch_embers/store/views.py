"""The views `signals`, `item_facts`, `candidates` and `funnel`, built from data/candidates.toml.

The file is data: conditions and patterns with a reason each. It is trusted like code (it ships with the
package), and its texts still go into SQL as quoted literals.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from torch_embers import resources
from torch_embers.errors import InputError

if TYPE_CHECKING:
    import duckdb

DEFINITIONS = "candidates.toml"
STUDY_NAME = "study"
_OPTIONS = {"title": "'i'", "body": "'im'"}
"""Options of the patterns: neither regards case, and a body has many lines."""


def quoted(text: str) -> str:
    """Return a SQL string literal."""
    return "'" + text.replace("'", "''") + "'"


def _list(values: list[str]) -> str:
    return "[" + ", ".join(quoted(v) for v in values) + "]"


def _signals(signals: list[dict[str, Any]]) -> str:
    """Build the query of the view `signals`.

    Bodies are most of a tracker's text, and reading them is most of what the views take: one search for any of the
    patterns of bodies finds the few that are looked at more closely.
    """
    selects, marks, patterns = [], [], []
    for signal in signals:
        test = _signal_test(signal)
        name, consequence = quoted(signal["id"]), quoted(signal["consequence"])
        if signal["from"] == "body":
            patterns += signal["match"]
            marks.append(f"CASE WHEN {test} THEN {{'signal': {name}, 'consequence': {consequence}}} END")
        else:
            selects.append(
                f"SELECT repo, number, {name} AS signal, {consequence} AS consequence FROM items WHERE {test}"
            )
    if marks:
        any_of = quoted("|".join(f"(?:{pattern})" for pattern in patterns))
        selects.append(
            "SELECT repo, number, mark.signal AS signal, mark.consequence AS consequence "
            f"FROM (SELECT repo, number, unnest([{', '.join(marks)}]) AS mark "
            f"FROM items WHERE regexp_matches(body, {any_of}, {_OPTIONS['body']})) WHERE mark IS NOT NULL"
        )
    return " UNION ALL ".join(selects)


def _signal_test(signal: dict[str, Any]) -> str:
    place, match = signal["from"], signal["match"]
    if place == "label":
        return f"list_has_any(labels, {_list(match)})"
    if place in _OPTIONS:
        return " OR ".join(f"regexp_matches({place}, {quoted(m)}, {_OPTIONS[place]})" for m in match)
    raise InputError(f"data/{DEFINITIONS}: signal {signal['id']!r}: `from` is {place!r}, not label, title or body")


def _fact(facts: dict[str, Any], name: str) -> str:
    return f"({facts[name]})"


def statements(definitions: dict[str, Any], *, temporary: bool = False) -> list[str]:
    """Build the statements that create the views.

    Args:
        definitions: data/candidates.toml, parsed.
        temporary: for this connection alone, and on its temporary tables where they hide stored ones.

    Raises:
        InputError: an entry of the definitions is malformed.
    """
    try:
        facts = definitions["facts"]
        base = resources.package_file("store", "item_facts.sql").read_text(encoding="utf-8")
        signals = _signals(definitions["signal"])
        judged = (
            f"SELECT *, {_fact(facts, 'in_data_path')} AS in_data_path, "
            f"{_fact(facts, 'wrong_behaviour')} AS wrong_behaviour, "
            f"{_fact(facts, 'declined_as_no_bug')} AS declined_as_no_bug FROM item_facts"
        )
        stages = _funnel(definitions["stage"])
        where = definitions["candidate"]["where"]
    except KeyError as error:
        raise InputError(f"data/{DEFINITIONS}: entry {error} is missing") from error
    made = [
        f"CREATE OR REPLACE VIEW signals AS {signals}",
        "COMMENT ON VIEW signals IS 'What makes an item a report of wrong behaviour (data/candidates.toml).'",
        base.replace("{gold_data_path_types}", _list(facts["gold_data_path_types"])),
        f"CREATE OR REPLACE VIEW judged_items AS {judged}",
        "COMMENT ON VIEW judged_items IS 'item_facts with the judgements of data/candidates.toml.'",
        f"CREATE OR REPLACE VIEW candidates AS SELECT * FROM judged_items WHERE {where}",
        f"COMMENT ON VIEW candidates IS {quoted(definitions['candidate']['reason'])}",
        f"CREATE OR REPLACE VIEW funnel AS {stages}",
        "COMMENT ON VIEW funnel IS 'The stages of the study, counted in this database, beside its own counts.'",
    ]
    return [_temporary(statement) for statement in made if not statement.startswith("COMMENT")] if temporary else made


def _temporary(statement: str) -> str:
    head, comment, _ = statement.partition(";\nCOMMENT ON VIEW")
    return (head if comment else statement).replace("CREATE OR REPLACE VIEW", "CREATE OR REPLACE TEMP VIEW", 1)


def _funnel(stages: list[dict[str, Any]]) -> str:
    """Build the query of the view `funnel`: all stages from one pass over the items."""
    conditions: list[str] = []
    rows = []
    for place, stage in enumerate(stages, start=1):
        conditions.append(f"({stage['where']})")
        rows.append(
            f"{{'stage': {place}, 'name': {quoted(stage['name'])}, "
            f"'items': count(*) FILTER ({' AND '.join(conditions)}), "
            f"'study': {int(stage[STUDY_NAME])}, 'definition': {quoted(stage['reason'])}}}"
        )
    return f"FROM (SELECT unnest([{', '.join(rows)}], recursive := true) FROM judged_items) ORDER BY stage"


def refresh(connection: duckdb.DuckDBPyConnection) -> None:
    """Create the views anew (inside the caller's transaction)."""
    for statement in statements(resources.load_toml(DEFINITIONS)):
        connection.execute(statement)
