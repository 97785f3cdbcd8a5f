"""What a report shows of the script behind a verdict: where it lies, its digest, its first lines, and nothing it can do."""

from __future__ import annotations

from hashlib import sha256

from torch_embers.escaping import markdown_block
from torch_embers.verdicts.script_excerpt import SHOWN_LINES, script_of

HEADER = '# /// script\n# dependencies = ["torch"]\n# ///\n'


def test_path_digest_and_the_call_without_what_stands_around_it_are_shown() -> None:
    call = "".join(f"    x{n} = {n}\n" for n in range(30))
    code = f'{HEADER}"""What happens."""\n\nimport torch\n\n\ndef main():\n    """Say."""\n{call}\n\nprint(main())\n'
    script = script_of("pt1_name", "curated", code)
    assert script.path == "data/cases/pt1_name.py"
    assert script.sha256 == sha256(code.encode()).hexdigest()
    assert script.lines()[:2] == ["x0 = 0", "x1 = 1"]
    assert len(script.lines()) == SHOWN_LINES + 1
    assert script.lines()[-1] == "... 11 more lines"
    assert script.row()["code"] == code.removeprefix(HEADER).rstrip(), "the whole text, for who wants it"


def test_a_script_without_the_usual_function_is_shown_from_its_beginning() -> None:
    for code in ("import torch\n\nprint(1)\n", "import torch\nprint(1)\nthis is no Python\n"):
        assert script_of("x5", "own", code).lines()[:2] == ["import torch", "print(1)"]


def test_a_script_of_the_database_says_that_it_has_no_file() -> None:
    script = script_of("x5", "fix_test", "import torch")
    assert script.row()["path"] is None
    assert script.place.startswith("x5.py (in the database), SHA-256 ")


def test_a_script_can_neither_leave_its_block_nor_steer_a_terminal() -> None:
    code = "x = 1\n```\n@somebody\n````\n\x1b[2J\u202e# hidden\n" + "y" * 5000
    shown = script_of("x5", "fix_test", code)
    assert markdown_block("a`b", "text") == "```text\na`b\n```", "as usual where nothing in it is a fence"
    block = shown.markdown().splitlines()
    assert block[0] == "`````python"
    assert block[-1] == "`````"
    assert not any(line.startswith("`````") for line in block[1:-1])
    assert "\x1b" not in shown.markdown()
    assert "\u202e" not in "".join(shown.lines())
    assert max(map(len, shown.lines())) <= 160
