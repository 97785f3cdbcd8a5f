"""Synthesis: operators that a report names, the case of the smallest finding, and what is stored."""

import pytest

from helpers.synthesis import BUILD, CASE, REPORT, found
from support import rows
from torch_embers.errors import InputError
from torch_embers.run import synthesis
from torch_embers.run.synthesis import Synthesized
from torch_embers.store.store import Store


def test_an_item_without_a_case_gets_the_synthesized_one(tmp_path):
    store = Store(tmp_path / "e.duckdb")
    case = synthesis.case_of(REPORT, BUILD, [found("wrong_value", CASE)])
    with store.writer("test", create=True) as writer:
        with writer.transaction() as connection:
            for number, status in ((7, "not_possible"), (8, "curated")):
                connection.execute(
                    "INSERT INTO extractions (repo, number, status, rules, decided_at)"
                    " VALUES ('pytorch/pytorch', ?, ?, 'r', now()::TIMESTAMP)",
                    [number, status],
                )
        synthesis.keep(writer, [Synthesized(REPORT, BUILD, ["masked_fill"], [found("wrong_value", CASE)], case)])
    assert rows(store.path, "SELECT number, status, name FROM extractions ORDER BY number") == [
        (7, "synthesized", "s7"),
        (8, "curated", None),
    ]
    assert rows(store.path, "SELECT name, origin FROM cases") == [("s7", "synthesized")]
    with store.read() as connection, pytest.raises(InputError, match="no item"):
        synthesis.reports_of(connection, "pytorch/pytorch", [7], bodies=False)
