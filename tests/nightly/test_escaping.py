"""Text of strangers on its way out: no terminal, spreadsheet or GitHub page may obey it, whatever command prints it."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import duckdb
import pytest

from helpers.escaping import EVIL, NOT_STORED, NUMBER, REPO, assert_harmless_markdown, cells, unseen
from mini_study import insert
from support import case_of, run_embers
from torch_embers import escaping
from torch_embers.cases import bank
from torch_embers.store.store import Store

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    """One item, its case, its builds and its verdicts, with hostile text wherever a stranger can put it."""
    made = Store(tmp_path_factory.mktemp("hostile") / "e.duckdb")
    evil, day = EVIL.translate(NOT_STORED), "2024-01-02"
    case = case_of(name="pt1_evil", issues=[f"{REPO}#{NUMBER}"])
    item: dict[str, Any] = {"repo": REPO, "number": 1}
    with made.writer("test", create=True) as writer, writer.transaction() as connection:

        def add(table: str, **row: Any) -> None:
            insert(connection, table, "", [()], **row)

        bank.save(connection, [case])
        connection.execute("UPDATE cases SET summary = ?", [evil])
        texts = {"title": evil, "body": f"{evil} reverts #2", "author": evil, "labels": [evil]}
        closed = {
            "state": "closed",
            "state_reason": "completed",
            "created_at": day,
            "updated_at": day,
            "closed_at": day,
        }
        add("items", **item, kind="issue", content_hash="h", **texts, **closed)
        add("items", repo=REPO, number=2, kind="pull", title=evil)
        add("comments", **item, comment_id="c", body=evil, author=evil, created_at=day)
        link = {"target_repo": REPO, "target_number": 1, "relation": "fixes", "evidence": "text", "found_in": "title"}
        add("links", repo=REPO, number=2, found_id="2", snippet=evil, **link)
        add("rejects", source="jsonl", origin=evil, line=1, reason=evil, raw=evil)
        add("environments", environment="e", device="cpu", system=evil, processor=evil, threads=2, seen_at=day)
        build = {"channel": "release", "python": "3.11", "seen_at": day}
        verdict = {"environment": "e", "profile": "reviewed", "batch": 0, "verdict": "occurs", "flaky": False, "k": 1}
        verdict |= {"n": 3, "control": "none", "control_k": 0, "control_n": 0, "decided_at": day}
        for place, version in enumerate(("2.9.1", "2.10.0")):
            add("builds", build=version, name=f"{evil}{place}", version=version, platform=f"{evil}{place}", **build)
            add("verdicts", case_hash=case.hash, build=version, detail=evil, **verdict)
        status = {"backend": "cpu", "reference": "2.10.0", "status": "closed_but_occurs", "decided_at": day}
        add("status_history", **item, evidence=evil, **status)
        label = {"scheme": "consequence", "value": "crash", "annotator_kind": "human"}
        add("gold_labels", **item, annotator=evil, evidence=evil, **label)
    return made


COMMANDS = {
    "list": ("list", "--repo", REPO),
    "cases": ("list", "--cases"),
    "show": ("show", NUMBER, "--repo", REPO),
    "show a pull request": ("show", 2, "--repo", REPO),
    "chain": ("chain", NUMBER, "--repo", REPO),
    "paste": ("show", "--paste", NUMBER, "--repo", REPO),
    "matrix": ("list", "--matrix"),
    "status": ("status",),
    "funnel": ("data", "funnel"),
    "link": ("data", "link"),
    "an unknown item": ("show", 9, "--repo", EVIL.translate(NOT_STORED)),
    "an unknown file": ("mine", "--source", "jsonl", f"/no/{EVIL.translate(NOT_STORED).replace('/', '')}"),
}


@pytest.mark.parametrize("arguments", COMMANDS.values(), ids=COMMANDS.keys())
@pytest.mark.parametrize("width", ["160", "60"])
def test_no_command_lets_strangers_steer_a_terminal(store: Store, arguments: tuple[object, ...], width: str) -> None:
    done = run_embers(*arguments, "--database", store.path, COLUMNS=width)
    assert done.returncode in (0, 3, 5), done.stderr
    assert unseen(done.stdout + done.stderr) == set()
    assert "\r" not in done.stdout


def test_no_exported_cell_is_a_formula_and_programs_get_the_text_as_it_came(store: Store, tmp_path: Path) -> None:
    evil = EVIL.translate(NOT_STORED)
    for form in ("csv", "jsonl", "parquet"):
        assert (
            run_embers("data", "export", "--to", tmp_path, "--format", form, "--database", store.path).returncode == 0
        )
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
    assert_harmless_markdown(run_embers("show", "--paste", NUMBER, "--repo", REPO, "--database", store.path).stdout)


def test_the_matrix_in_every_form_is_harmless(store: Store, tmp_path: Path) -> None:
    for form in ("csv", "junit"):
        path = tmp_path / f"matrix.{form}"
        done = run_embers("list", "--matrix", f"--{form}", path, "--database", store.path)
        assert done.returncode == 0, done.stderr
        assert unseen(path.read_text(encoding="utf-8")) == set()
    assert not [cell for cell in cells(tmp_path) if re.match(r"[=+\-@\t]", cell)]
