"""Text of strangers on its way out: no terminal, spreadsheet or GitHub page may obey it, whatever command prints it."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import duckdb
import pytest

from helpers.escaping import EVIL, NOT_STORED, NUMBER, REPO, assert_harmless_markdown, cells, unseen
from support import case_of, run_embers
from torch_embers import escaping
from torch_embers.repro import bank
from torch_embers.store.store import Store

if TYPE_CHECKING:
    from pathlib import Path


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


@pytest.mark.parametrize("arguments", COMMANDS.values(), ids=COMMANDS.keys())
@pytest.mark.parametrize("width", ["160", "60"])
def test_no_command_lets_text_of_strangers_steer_a_terminal(
    store: Store, arguments: tuple[object, ...], width: str
) -> None:
    done = run_embers(*arguments, "--database", store.path, COLUMNS=width)
    assert done.returncode in (0, 3, 5), done.stderr
    assert unseen(done.stdout + done.stderr) == set()
    assert "\r" not in done.stdout


def test_no_exported_cell_is_a_formula_and_programs_get_the_text_as_it_came(store: Store, tmp_path: Path) -> None:
    evil = EVIL.translate(NOT_STORED)
    for form in ("csv", "jsonl", "parquet"):
        assert run_embers("export", "--to", tmp_path, "--format", form, "--database", store.path).returncode == 0
    found = list(cells(tmp_path))
    assert sum("[red]x[/red]" in cell for cell in found) > 10
    for cell in found:
        assert unseen(cell) == set()
        assert not re.match(r"[=+\-@\t\r\n]", cell) or re.fullmatch(escaping.NUMBER, cell), cell
    [first, _] = [json.loads(line) for line in (tmp_path / "items.jsonl").read_text(encoding="utf-8").splitlines()]
    assert first["title"] == evil
    path = tmp_path / "items.parquet"
    assert duckdb.execute(f"SELECT title FROM '{path}' WHERE number = 1").fetchall() == [(evil,)]


@pytest.mark.parametrize("arguments", [COMMANDS["show"], COMMANDS["list"]])
def test_markup_in_a_title_is_printed_as_it_stands(store: Store, arguments: tuple[object, ...]) -> None:
    said = "".join(run_embers(*arguments, "--database", store.path, COLUMNS="400").stdout.split())
    assert "[red]x[/red][/]:bug:" in said


def test_a_comment_to_paste_notifies_nobody(store: Store) -> None:
    assert_harmless_markdown(run_embers("comment", NUMBER, "--repo", REPO, "--database", store.path).stdout)


def test_the_matrix_in_every_form_is_harmless(store: Store, tmp_path: Path) -> None:
    for form in ("csv", "junit"):
        path = tmp_path / f"matrix.{form}"
        done = run_embers("matrix", f"--{form}", path, "--database", store.path)
        assert done.returncode == 0, done.stderr
        assert unseen(path.read_text(encoding="utf-8")) == set()
    assert not [cell for cell in cells(tmp_path) if re.match(r"[=+\-@\t]", cell)]
