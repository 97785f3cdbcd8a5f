"""`embers show`: what the script of a report does, or why there is none, before everything else."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

from helpers.listing import store  # noqa: F401 - a fixture
from helpers.timeline_rows import CRASH, SCRIPT, ended, raised
from support import assert_clean_error, run_embers
from torch_embers.extract.script import ScriptChange
from torch_embers.views.script_text import SHOWN_CHANGES, changes, last_change

if TYPE_CHECKING:
    from torch_embers.store.store import Store


def shown(store: Store, number: int) -> list[str]:
    done = run_embers("show", number, "--repo", "a/b", "--database", store.path, COLUMNS="80")
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_the_verdict_of_a_case_stays_first_and_the_script_follows_with_its_changes(store: Store) -> None:
    lines = shown(store, 1)
    assert lines[1].startswith("A script that nobody compared with the report: the failure occurs on torch 2.10.0")
    assert lines[2] == "closable: yes, because since 2.7.1 its script raises ValueError, in two batches of runs"
    assert (
        lines[3]
        == "The report's script: SIGSEGV on 3 releases from 1.13.1 to 2.6.0; since 2.7.1 it raises ValueError (0 of 11 runs crash)"
    )
    assert lines[5] == "1.13.1 RRR|aa 2.15.0"
    assert "  3 releases from 1.13.1 to 2.6.0: dies by the reported SIGSEGV (its signal: body)" in lines
    start = lines.index("Script, from the body of the report: OMP_NUM_THREADS=1 python script.py")
    assert lines[start + 1 : start + 10] == [
        "  import torch",
        "  x = torch.ones(3).to(device)",
        "  print(x.sum())",
        "Changed in it",
        "  a usual import is added:",
        "  + import torch",
        "  the device is a variable:",
        "  - x = torch.ones(3).cuda()",
        "  + x = torch.ones(3).to(device)",
    ]
    assert start > lines.index(
        "  cpu: closed_but_occurs on torch 2.10.0 since 2024-01-01: closed as fixed, and it occurs"
    )


def test_without_a_script_the_reason_is_the_answer_and_nothing_can_be_pasted(store: Store) -> None:
    assert shown(store, 5)[1] == "No script: the report holds no Python code"
    done = run_embers("show", "--paste", 5, "--repo", "a/b", "--database", store.path)
    assert_clean_error(done, 3, "nothing of a/b#5 ran: No script: the report holds no Python code")


def test_the_timeline_and_the_script_are_data_too(store: Store) -> None:
    done = run_embers("show", 1, "--repo", "a/b", "--json", "--database", store.path)
    found = json.loads(done.stdout)
    assert [segment["match"] for segment in found["timeline"]["segments"]] == ["as_reported", "other"]
    assert found["timeline"]["environment"] == "cpu, CPU, Linux"
    assert (found["script"]["code"], len(found["script"]["changes"])) == (SCRIPT.code, 2)


def test_changes_are_bounded_and_hold_nothing_unseen() -> None:
    loud = ScriptChange(1, "x\u202e" + "y" * 5000, "z\n" * 200, "because")
    lines = changes(replace(SCRIPT, changes=(loud,)))
    assert len(lines) == SHOWN_CHANGES + 1
    assert lines[-1] == "... 178 more lines"
    assert "\u202e" not in lines[1]
    assert max(map(len, lines)) <= 160


def test_the_newest_flip_is_named_and_for_a_crash_where_it_ended() -> None:
    later = (*CRASH, ended("2.15.1"))
    assert last_change(later) == ("ValueError -> expected value", "2.15.1")
    assert last_change(later, crash_gone=True) == ("SIGSEGV -> ValueError", "2.7.1")
    assert last_change(CRASH[:1]) == ("SIGSEGV", "1.13.1")
    assert last_change([raised("2.0.1"), raised("2.1.2", flip="class")])[0] == "ValueError -> another message"
    still = [ended("2.0.1", match="as_reported"), ended("2.1.2", match="as_reported", flip="value", confirmed=False)]
    assert last_change(still) == ("reported value -> other output", "2.1.2")
