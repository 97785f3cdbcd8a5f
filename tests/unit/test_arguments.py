"""Variables of the failing line, described by the failing process itself."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from torch_embers.repro.arguments import described, names_in, with_hook
from torch_embers.repro.failing import place_of

if TYPE_CHECKING:
    from pathlib import Path

FAILS = "\nvalues = [1, -2]\nname = 'a'\ndef f(places, size):\n    return values[places[0] + size]\nf((7, 1), 0)\n"


def ended(folder: Path, code: str) -> str:
    file = folder / "x7.py"
    file.write_text(code)
    return subprocess.run([sys.executable, str(file)], capture_output=True, text=True, check=False).stderr


def test_the_variables_of_the_innermost_frame_are_described_and_no_line_moves(tmp_path: Path) -> None:
    said = ended(tmp_path, with_hook(FAILS))
    place = place_of(said, "x7.py")
    assert place == place_of(ended(tmp_path, FAILS), "x7.py")
    assert place is not None
    assert described(said) == {"places": '["tuple", 2, ["1", "7"]]', "size": '"0"'}, "the error is about a range"
    other = ended(tmp_path, with_hook(FAILS.replace("values = [1, -2]", "values = 3")))
    assert described(other) == {"places": '["tuple", 2, ["int+"]]', "size": '"int0"'}
    assert names_in(FAILS, place.line) == {"values", "places", "size"}


@pytest.mark.parametrize(
    "code",
    [
        "# a comment\n[][1]\n",
        "\n\n[][1]\n",
        "\nimport os\n[][1]\n",
        "import os\n[][1]\n",
        '\n"""Text."""\n[][1]\n',
        "\ndef f():\n    return [][1]\nf()\n",
        "\nfrom __future__ import annotations\n[][1]\n",
        "[][1]",
    ],
)
def test_a_script_fails_at_the_same_line_with_the_hook(tmp_path: Path, code: str) -> None:
    plain, hooked = ended(tmp_path, code), ended(tmp_path, with_hook(code))
    one, other = place_of(plain, "x7.py"), place_of(hooked, "x7.py")
    assert one is not None
    assert other is not None
    assert one.line == other.line
    assert "IndexError" in hooked


def test_what_no_hook_wrote_is_nothing() -> None:
    assert described("") == {}
    assert described("embers-arguments {not json") == {}
    assert described("embers-arguments [1]") == {}


@given(st.text(max_size=80))
def test_any_text_is_taken(text: str) -> None:
    with_hook(text)
    described(text)
    names_in(text, 1)
