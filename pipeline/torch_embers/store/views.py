"""The views `signals`, `item_facts`, `candidates` and `funnel`, built from data/candidates.toml.

The file is data: conditions and patterns with a reason each. It is trusted like code (it ships with the
package), and its texts still go into SQL as quoted literals.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from pydantic import Field

from torch_embers import resources, toml_models
from torch_embers.store.connection import quoted
from torch_embers.toml_models import Entry

if TYPE_CHECKING:
    from collections.abc import Sequence

    import duckdb

_OPTIONS = {"title": "'i'", "body": "'im'"}
"""Options of the patterns: case does not matter, and a body has many lines."""


class Candidate(Entry):
    """The definition of a candidate, as a DuckDB expression over ``judged_items``."""

    where: str
    reason: str


class FactExpressions(Entry):
    """What is derived from the facts of an item, as DuckDB expressions over ``item_facts``."""

    in_data_path: str
    in_data_path_reason: str
    wrong_behaviour: str
    wrong_behaviour_reason: str
    declined_as_no_bug: str
    declined_as_no_bug_reason: str
    gold_data_path_types: tuple[str, ...]
    gold_data_path_types_reason: str


class Signal(Entry):
    """What marks an item as a report of wrong behaviour: a label, or a pattern in its title or body."""

    id: str
    consequence: str
    source: Literal["label", "title", "body"] = Field(alias="from")
    match: tuple[str, ...]
    reason: str

    def condition(self) -> str:
        """The condition on a row of ``items``."""
        if self.source == "label":
            return f"list_has_any(labels, {_list(self.match)})"
        options = _OPTIONS[self.source]
        return " OR ".join(f"regexp_matches({self.source}, {quoted(m)}, {options})" for m in self.match)


class Stage(Entry):
    """A stage of the study's funnel; each stage keeps the conditions of those before it."""

    name: str
    study: int
    """The study's own count."""
    where: str
    reason: str


class Definitions(Entry):
    """Everything in ``data/candidates.toml``."""

    candidate: Candidate
    facts: FactExpressions
    signal: tuple[Signal, ...]
    stage: tuple[Stage, ...]


def load() -> Definitions:
    """Read the shipped definitions.

    Raises:
        InputError: the file is missing, or an entry is wrong.
    """
    return toml_models.load(Definitions, "candidates.toml")


def _list(values: Sequence[str]) -> str:
    return "[" + ", ".join(map(quoted, values)) + "]"


def _signals(signals: Sequence[Signal]) -> str:
    """Build the query of the view `signals`.

    Bodies are most of a tracker's text, and reading them takes most of the time of the views. So one search for any of
    the body patterns selects the few bodies that are searched pattern by pattern.
    """
    selects, marks = [], []
    patterns: list[str] = []
    for signal in signals:
        name, consequence = quoted(signal.id), quoted(signal.consequence)
        if signal.source == "body":
            patterns += signal.match
            marks.append(f"CASE WHEN {signal.condition()} THEN {{'signal': {name}, 'consequence': {consequence}}} END")
        else:
            selects.append(
                f"SELECT repo, number, {name} AS signal, {consequence} AS consequence "
                f"FROM items WHERE {signal.condition()}"
            )
    if marks:
        any_of = quoted("|".join(f"(?:{pattern})" for pattern in patterns))
        selects.append(
            "SELECT repo, number, mark.signal AS signal, mark.consequence AS consequence "
            f"FROM (SELECT repo, number, unnest([{', '.join(marks)}]) AS mark "
            f"FROM items WHERE regexp_matches(body, {any_of}, {_OPTIONS['body']})) WHERE mark IS NOT NULL"
        )
    # sorted, because DuckDB before 2.0 streams a part of such a union only
    return f"{' UNION ALL '.join(selects)} ORDER BY ALL"


def _funnel(stages: Sequence[Stage]) -> str:
    """Build the query of the view `funnel`: all stages from one pass over the items."""
    conditions: list[str] = []
    rows = []
    for place, stage in enumerate(stages, start=1):
        conditions.append(f"({stage.where})")
        rows.append(
            f"{{'stage': {place}, 'name': {quoted(stage.name)}, "
            f"'items': count(*) FILTER ({' AND '.join(conditions)}), "
            f"'study': {stage.study}, 'definition': {quoted(stage.reason)}}}"
        )
    return f"FROM (SELECT unnest([{', '.join(rows)}], recursive := true) FROM judged_items) ORDER BY stage"


def statements(definitions: Definitions, *, temporary: bool = False) -> list[str]:
    """Build the statements that create the views.

    Args:
        definitions: data/candidates.toml.
        temporary: for this connection alone, and on its temporary tables where they hide stored ones.
    """
    facts, candidate = definitions.facts, definitions.candidate
    base = resources.package_file("store", "item_facts.sql").read_text(encoding="utf-8")
    made = [
        f"CREATE OR REPLACE VIEW signals AS {_signals(definitions.signal)}",
        "COMMENT ON VIEW signals IS 'What makes an item a report of wrong behaviour (data/candidates.toml).'",
        base.replace("{gold_data_path_types}", _list(facts.gold_data_path_types)),
        f"CREATE OR REPLACE VIEW judged_items AS SELECT *, ({facts.in_data_path}) AS in_data_path, "
        f"({facts.wrong_behaviour}) AS wrong_behaviour, ({facts.declined_as_no_bug}) AS declined_as_no_bug "
        "FROM item_facts",
        "COMMENT ON VIEW judged_items IS 'item_facts with the judgements of data/candidates.toml.'",
        f"CREATE OR REPLACE VIEW candidates AS SELECT * FROM judged_items WHERE {candidate.where}",
        f"COMMENT ON VIEW candidates IS {quoted(candidate.reason)}",
        f"CREATE OR REPLACE VIEW funnel AS {_funnel(definitions.stage)}",
        "COMMENT ON VIEW funnel IS 'The stages of the study, counted in this database, beside its own counts.'",
    ]
    return [_temporary(statement) for statement in made if not statement.startswith("COMMENT")] if temporary else made


def _temporary(statement: str) -> str:
    head, comment, _ = statement.partition(";\nCOMMENT ON VIEW")
    return (head if comment else statement).replace("CREATE OR REPLACE VIEW", "CREATE OR REPLACE TEMP VIEW", 1)


def refresh(connection: duckdb.DuckDBPyConnection) -> None:
    """Create the views anew (inside the caller's transaction)."""
    for statement in statements(load()):
        connection.execute(statement)
