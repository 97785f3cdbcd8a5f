"""Findings cross a process as lines of JSON."""

import ast
from pathlib import Path

import pytest

from torch_embers.oracles import finding


@pytest.mark.parametrize("path", sorted(Path(finding.__file__).parent.glob("*.py")), ids=lambda path: path.name)
def test_oracles_keep_to_the_syntax_of_python_3_8(path):
    ast.parse(path.read_text(encoding="utf-8"), feature_version=(3, 8))
