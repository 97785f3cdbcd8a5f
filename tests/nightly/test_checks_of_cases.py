"""What the checks of cases say of those that ship: each passes, or has an exception with a reason."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

import support
from torch_embers.resources import data_file


def test_no_shipped_case_checks_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    assert support.tool("check_cases").main([]) == 0
    assert capsys.readouterr().out.startswith("0 mistakes in ")


def test_every_doubt_about_a_shipped_case_has_an_exception_and_every_exception_a_doubt() -> None:
    assert support.tool("case_flags").main([]) == 0, "`make lint` says what to mend, or to give a reason for"


IN_FORKS = """
import os, signal, sys, torch, torch._dynamo
torch.set_num_threads(1)
for path in sys.argv[1:]:
    pid = os.fork()
    if pid == 0:
        sys.stdout = open(os.devnull, "w")
        signal.alarm(1200)
        try:
            exec(compile(open(path).read(), path, "exec"), {"__name__": "__main__"})
        except SystemExit as end:
            os._exit(end.code or 0)
        os._exit(0)
    print(path, os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), flush=True)
"""
"""Runs cases, each in a process of its own into which torch was imported before."""


@pytest.mark.timeout(1800)
def test_every_case_that_can_be_tested_here_notices_its_injected_fault() -> None:
    pytest.importorskip("torch")
    paths = sorted(data_file("cases/uncovered.toml").parent.glob("*.py"))
    command = [sys.executable, "-W", "ignore", "-c", IN_FORKS, *map(str, paths)]
    ran = subprocess.run(command, env=os.environ | {"EMBERS_PLANT": "1"}, capture_output=True, text=True, check=True)
    ended = dict(line.rsplit(" ", 1) for line in ran.stdout.splitlines() if line.startswith("/"))
    assert len(ended) == len(paths)
    assert {path: code for path, code in ended.items() if code not in ("1", "125")} == {}
    assert sum(code == "1" for code in ended.values()) > 200
