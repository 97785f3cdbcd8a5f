"""Synthesis: operators that a report names, the case of the smallest finding, and what is stored."""

import pytest

from helpers.synthesis import BUILD, CASE, REPORT, found
from support import rows
from torch_embers.errors import InputError
from torch_embers.run import synthesis
from torch_embers.run.synthesis import Synthesized
from torch_embers.store.store import Store


def test_a_synthesized_case_is_kept(tmp_path):
    store = Store(tmp_path / "e.duckdb")
    case = synthesis.case_of(REPORT, BUILD, [found("wrong_value", CASE)])
    with store.writer("test", create=True) as writer:
        synthesis.keep(writer, [Synthesized(REPORT, BUILD, ["masked_fill"], [found("wrong_value", CASE)], case)])
    assert rows(store.path, "SELECT name, origin FROM cases") == [("s7", "synthesized")]
    with store.read() as connection, pytest.raises(InputError, match="no item"):
        synthesis.reports_of(connection, "pytorch/pytorch", [7], bodies=False)
