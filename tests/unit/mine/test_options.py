"""What `embers mine` takes, and what it refuses: options that say nothing, or that do not go together."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from support import assert_clean_error, run_embers
from torch_embers.errors import InputError
from torch_embers.mine.options import Request, checked, numbers_of

if TYPE_CHECKING:
    from pathlib import Path


def test_refresh_takes_all_a_list_or_a_file(tmp_path: Path) -> None:
    named = tmp_path / "numbers.txt"
    named.write_text("#5 some words\n7\n")
    assert numbers_of("all") is None
    assert numbers_of("5, #7,5") == [5, 7]
    assert numbers_of(str(named)) == [5, 7]


@pytest.mark.parametrize("bad", ["", "none", "5;7", "0", "99999999999", "/no/such/file", "-3"])
def test_a_refresh_that_names_nothing_is_an_error(bad: str) -> None:
    with pytest.raises(InputError, match="--refresh"):
        numbers_of(bad)


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("a/2024-01-01-0.json.gz", "archive"),
        ("x.jsonl", "jsonl"),
        (".", "git"),
        ("https://x/2015-01-01-15.json.gz", "archive"),
    ],
)
def test_a_path_decides_by_its_name(path: str, source: str) -> None:
    assert checked(Request(paths=(path,))).source == source


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("--refresh 5 --numbers x.txt", "do not go together"),
        ("--refresh all --check-numbers", "do not go together"),
        ("--refresh 5 --source catalog", "does not go with --source catalog"),
        ("--check-numbers --source catalog", "does not go with --source catalog"),
        ("--since 2024-01-01 --source git .", "does not go with --source git"),
        ("--numbers x.txt --label y", "--since, --until, --state and --label do not go with it"),
        ("--replay x.jsonl", "--replay reads what is stored alone, not x.jsonl"),
        ("--replay --numbers x.txt --since 2024-01-01", "--since, --numbers: does not go with --replay"),
        ("--replay --check-numbers --label x", "--label, --check-numbers: does not go with --replay"),
        ("--numbers 5", "--numbers 5: no such file; for item numbers write --refresh 5"),
        ("--since 2024-02-01 --until 2024-01-01", "is later than --until"),
        ("--since someday", "is no date"),
        ("--state odd", "--state 'odd': one of all, open, closed"),
        ("--source odd", "--source 'odd': one of auto, graphql"),
        ("--source rest x.jsonl", "takes no path"),
        ("--source archive", "needs a path"),
        ("--source catalog --repo a/b", "nothing of a/b"),
        ("--source graphql", "needs a token"),
        ("--check-numbers", "needs a token"),
        ("7 x.jsonl", "items are fetched by themselves"),
        ("none.jsonl", "no such file"),
    ],
)
def test_what_cannot_be_obeyed_is_refused_in_one_line(words: str, said: str, database: Path) -> None:
    done = run_embers("mine", *words.split(), "--database", database)
    assert_clean_error(done, 3, said)
    assert not database.exists()
