"""What the tests in test_synthesis.py share."""

from types import SimpleNamespace

from torch_embers.oracles.finding import Finding
from torch_embers.run.synthesis import Report

CASE = '''# /// script
# dependencies = ["torch"]
# [tool.embers]
# issues = []
# requires = ["cpu"]
# known_bad = []
# signature = "mismatch"
# oracle = "self"
# ///
"""Calls something."""
print("seen")
'''
BUILD = SimpleNamespace(name="2.0.1", public_version="2.0.1+cpu".partition("+")[0])
REPORT = Report("pytorch/pytorch", 7, "masked_fill_ is wrong")


def found(severity, reproducer=""):
    return Finding("layout", "masked_fill", "out", severity, "wrong", reproducer=reproducer)
