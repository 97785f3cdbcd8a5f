"""The hunt's driver: what is run in which group, what a journal holds, what is reported."""

import dataclasses

import pytest

from helpers.hunt import (
    MATRIX,
    RESTRIDED,
    plain_attempts,  # noqa: F401 - fixtures
)
from torch_embers.errors import InputError
from torch_embers.run import hunt, hunt_command, hunt_draft, hunt_rows
from torch_embers.run.hunt_rows import Hunted, Journal


def test_a_journal_gives_findings_and_the_draft_of_a_report(tmp_path, monkeypatch):
    monkeypatch.setenv("EMBERS_BUILDS_DIR", str(tmp_path / "builds"))
    one = Hunted("2.15.0", RESTRIDED.op, "float32", findings=[RESTRIDED])
    for each in (one, Hunted("2.9.1", RESTRIDED.op, "float32"), Hunted("2.10.0", RESTRIDED.op, "float32")):
        Journal(tmp_path / hunt.FILE).append(each)
    text = hunt_command.act(["report", hunt_rows.ident(RESTRIDED)], tmp_path)
    assert text.startswith("> **Made by a tool.**")
    assert "Label to ask for: `topic: fuzzer`" in text
    assert "At [1] it gives 77; 1.5 is expected." in text
    assert "It occurs on: 2.15.0. Not with the same samples on: 2.9.1, 2.10.0. No other" in text
    assert "Build 2.15.0; it is not registered here any more." in text
    with pytest.raises(InputError, match="no journal"):
        hunt_command.act(["report", "00"], tmp_path / "none")
    with pytest.raises(InputError, match=r"no finding 00 .*a case with a draft is one of addbmm_enlarges_destination"):
        hunt_command.act(["report", "00"], tmp_path)


def test_a_finding_that_a_case_shows_has_the_versions_of_the_matrix(tmp_path, monkeypatch):
    monkeypatch.setenv("EMBERS_BUILDS_DIR", str(tmp_path / "builds"))
    monkeypatch.setattr(hunt_draft.shipped_matrix, "matrix", lambda: MATRIX)
    found = dataclasses.replace(RESTRIDED, op="nn.functional.gelu")
    Journal(tmp_path / hunt.FILE).append(Hunted("2.15.0", found.op, "float32", findings=[found]))
    text = hunt_command.act(["report", hunt_rows.ident(found)], tmp_path)
    assert "Measured by the case `gelu_out_transposed`: it does not on 1.13.1; it occurs on 2.9.1, 2.10.0." in text


def test_a_draft_shows_the_few_lines_first_and_says_what_a_crash_is(tmp_path, monkeypatch):
    monkeypatch.setenv("EMBERS_BUILDS_DIR", str(tmp_path / "builds"))
    shown = dataclasses.replace(RESTRIDED, reproducer="whole = 1\n", short="short = 1\n")
    died = dataclasses.replace(RESTRIDED, severity="crash", reproducer="dies = 1\n")
    Journal(tmp_path / hunt.FILE).append(Hunted("2.15.0", RESTRIDED.op, "float32", findings=[shown, died]))
    text = hunt_command.act(["report", hunt_rows.ident(shown)], tmp_path)
    assert (
        text.index("short = 1\n```") < text.index("<details>") < text.index("whole = 1\n```") < text.index("</details>")
    )
    text = hunt_command.act(["report", hunt_rows.ident(died)], tmp_path)
    assert "The process ends" in text
    assert "dense copies" not in text
