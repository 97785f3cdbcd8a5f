"""What the tests in test_escaping.py share."""

from __future__ import annotations

import csv
import unicodedata
from typing import TYPE_CHECKING

import pytest

from support import case_of
from torch_embers.repro import bank
from torch_embers.store.store import Store

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


UNSEEN = "\u202e\u2066\u2069\u200b\u200d\u2060\ufeff\x1b[31m\x9b\x07\x00\u00ad\U000e0041"
EVIL = f"=cmd()|x {UNSEEN} [red]x[/red] [/] :bug: www.evil.org http://evil.org GH-7 gh-8 o/n#7 #9 @user <b> `x` $a$"
NOT_STORED = str.maketrans("", "", "\x00")
REPO, NUMBER = "a/b", 1


def unseen(text: str) -> set[str]:
    """Characters that a terminal obeys or nobody sees."""
    return {c for c in text if unicodedata.category(c) in ("Cc", "Cf", "Cs", "Zl", "Zp") and c not in "\n\t\r"}


# ---- a hostile item through every command ----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    """One item, its case, its builds and its verdicts, with hostile text wherever a stranger can put it."""
    made = Store(tmp_path_factory.mktemp("hostile") / "e.duckdb")
    evil = EVIL.translate(NOT_STORED)
    case = case_of(name="pt1_evil", issues=[f"{REPO}#{NUMBER}"])
    with made.writer("test", create=True) as writer, writer.transaction() as connection:
        bank.save(connection, [case])
        connection.execute("UPDATE cases SET summary = ?", [evil])
        connection.execute(
            "INSERT INTO items (repo, number, kind, title, body, state, state_reason, author, labels, created_at, "
            "updated_at, closed_at, content_hash) VALUES (?, 1, 'issue', $2, $3, 'closed', 'completed', $2, [$2], "
            "'2024-01-01', '2024-01-02', '2024-01-02', 'h')".replace("?", "$1"),
            [REPO, evil, f"{evil} reverts #2"],
        )
        connection.execute("INSERT INTO items (repo, number, kind, title) VALUES ($1, 2, 'pull', $2)", [REPO, evil])
        connection.execute(
            "INSERT INTO comments (repo, number, comment_id, body, author, created_at) VALUES ($1, 1, 'c', $2, $2, "
            "'2024-01-02')",
            [REPO, evil],
        )
        connection.execute(
            "INSERT INTO links (repo, number, target_repo, target_number, relation, evidence, found_in, found_id, snippet) "
            "VALUES ($1, 2, $1, 1, 'fixes', 'text', 'title', '2', $2)",
            [REPO, evil],
        )
        connection.execute(
            "INSERT INTO rejects (source, origin, line, reason, raw) VALUES ('jsonl', $1, 1, $1, $1)", [evil]
        )
        for place, version in enumerate(("2.9.1", "2.10.0")):
            connection.execute(
                "INSERT INTO builds (build, name, version, channel, platform, python, seen_at) "
                "VALUES ($1, $2, $1, 'release', $2, '3.11', '2024-01-01')",
                [version, f"{evil}{place}"],
            )
        connection.execute(
            "INSERT INTO environments (environment, device, system, processor, threads, seen_at) "
            "VALUES ('e', 'cpu', $1, $1, 2, '2024-01-01')",
            [evil],
        )
        connection.execute(
            "INSERT INTO verdicts (case_hash, build, environment, profile, batch, verdict, flaky, k, n, control, "
            "control_k, control_n, detail, decided_at) SELECT $1, unnest(['2.9.1', '2.10.0']), 'e', 'reviewed', 0, "
            "'occurs', false, 1, 3, 'none', 0, 0, $2, '2024-01-01'",
            [case.hash, evil],
        )
        connection.execute(
            "INSERT INTO status_history (repo, number, backend, reference, status, evidence, decided_at) "
            "VALUES ($1, 1, 'cpu', '2.10.0', 'closed_but_occurs', $2, '2024-01-01')",
            [REPO, evil],
        )
        connection.execute(
            "INSERT INTO gold_labels (repo, number, scheme, value, annotator_kind, annotator, evidence) "
            "VALUES ($1, 1, 'consequence', 'crash', 'human', $2, $2)",
            [REPO, evil],
        )
    return made


COMMANDS = {
    "list": ("list", "--repo", REPO),
    "cases": ("cases",),
    "show": ("show", NUMBER, "--repo", REPO),
    "show a pull request": ("show", 2, "--repo", REPO),
    "chain": ("chain", NUMBER, "--repo", REPO),
    "comment": ("comment", NUMBER, "--repo", REPO),
    "matrix": ("matrix",),
    "status": ("status",),
    "funnel": ("funnel",),
    "link": ("link",),
    "an unknown item": ("show", 9, "--repo", EVIL.translate(NOT_STORED)),
    "an unknown file": ("mine", "--source", "jsonl", f"/no/{EVIL.translate(NOT_STORED).replace('/', '')}"),
}


def cells(folder: Path) -> Iterator[str]:
    for path in sorted(folder.glob("*.csv")):
        with path.open(newline="", encoding="utf-8") as stream:
            yield from (cell for row in csv.reader(stream) for cell in row)
