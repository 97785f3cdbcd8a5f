"""Which numbers are compared or read again: what counts as gone, what `--refresh` takes, and what it does not go with."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from torch_embers.mine.github.presence import found, query
from torch_embers.mine.refresh import wanted_numbers

from support import run_embers
from torch_embers.errors import InputError

if TYPE_CHECKING:
    from pathlib import Path

OTHER = "alice/bugs"


def test_only_a_number_that_is_said_not_to_be_found_counts_as_gone() -> None:
    home = {"nameWithOwner": "Alice/bugs"}
    data = {
        "data": {
            "repository": {
                "n1": {"number": 1, "repository": home},
                "n2": None,
                "n3": None,
                "n4": {"number": 77, "repository": {"nameWithOwner": "alice/other"}},
            }
        },
        "errors": [
            {"type": "NOT_FOUND", "path": ["repository", "n2"], "message": "Could not resolve"},
            {"path": ["repository", "n3"], "message": "Something went wrong while executing your query."},
        ],
    }
    assert found(data, [1, 2, 3, 4, 5], OTHER) == ({1}, [3, 5])
    assert query([7, 8]).count("issueOrPullRequest") == 2


def test_refresh_takes_all_a_list_or_a_file(tmp_path: Path) -> None:
    named = tmp_path / "numbers.txt"
    named.write_text("#5 some words\n7\n")
    assert wanted_numbers("all") is None
    assert wanted_numbers("5, #7,5") == [5, 7]
    assert wanted_numbers(str(named)) == [5, 7]


@pytest.mark.parametrize("bad", ["", "none", "5;7", "0", "99999999999", "/no/such/file", "-3"])
def test_a_refresh_that_names_nothing_is_an_error(bad: str) -> None:
    with pytest.raises(InputError, match="--refresh"):
        wanted_numbers(bad)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--refresh", "5", "--numbers", "x.txt"), "do not go together"),
        (("--refresh", "5", "--source", "catalog"), "does not go with --source catalog"),
        (("--check-numbers", "--source", "catalog"), "does not go with --source catalog"),
        (("--replay", "x.jsonl"), "--replay reads the stored pages alone, not x.jsonl"),
        (("--replay", "--numbers", "x.txt", "--since", "2024-01-01"), "--since, --numbers: does not go with --replay"),
        (("--replay", "--check-numbers", "--label", "x"), "--label, --check-numbers: does not go with --replay"),
        (("--numbers", "5"), "--numbers 5: no such file; for item numbers write --refresh 5"),
    ],
)
def test_options_that_exclude_each_other_are_refused(options: tuple[str, ...], words: str) -> None:
    done = run_embers("mine", *options)
    assert done.returncode == 3
    assert words in done.stderr
