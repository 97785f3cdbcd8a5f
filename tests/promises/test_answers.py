"""What a user may rely on when embers answers: the study and the data are reproducible, and answers are plain and honest."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from html.parser import HTMLParser
from typing import TYPE_CHECKING

import pytest

import torch_embers
from promises.driver import BOTH, RESULTS, as_json, embers, issue, json_lines, refusal, rows, start
from support import CATALOG

if TYPE_CHECKING:
    from pathlib import Path

NOT_OF_THE_CATALOG = {
    **dict.fromkeys(("figure_8", "figure_8_raw", "figure_8_steps"), "times of one machine"),
    **dict.fromkeys(("figure_9", "figure_9_raw", "figure_9_explained"), "times of one machine"),
    **dict.fromkeys(
        ("reported", "wheel_lines", "skips", "fixed_in", "fixed_in_list", "cuda"), "measured once, and shipped"
    ),
    "timelines": "runs of scripts from texts, which the catalog has not",
    **dict.fromkeys(("prevalence", "prevalence_items"), "count predictions, whose last digits depend on the processor"),
}
"""Committed CSV files that `embers study` does not make from the catalog alone, each with the reason."""
LIST_KEYS = [
    "repo",
    "number",
    "kind",
    "title",
    "state",
    "state_reason",
    "disposition",
    "created_at",
    "updated_at",
    "closed_at",
    "comments",
    "reactions",
    "labels",
    "classes",
    "backends",
    "statuses",
    "cases",
    "origins",
    "verdict",
    "release",
    "verdict_speaks_of",
    "another_occurs",
    "address",
]
RUN_KEYS = [
    "case",
    "items",
    "build",
    "version",
    "environment",
    "verdict",
    "flaky",
    "k",
    "n",
    "detectable_rate",
    "control",
    "control_k",
    "control_n",
    "detail",
    "fresh",
]
VERDICTS = {"occurs", "absent", "not_seen", "changed", "control_failed", "untestable", "inconclusive"}


@pytest.fixture(scope="session")
def real() -> str:
    """A case of the catalog that runs on the torch of this environment."""
    pytest.importorskip("torch")
    return "pt84577_narrow_copy_strided_out"


# ---- the study and the data ----------------------------------------------------------------------------------------


def test_the_study_is_reproducible(catalog: Path, tmp_path: Path) -> None:
    """Every CSV file of the study that follows from the catalog is made again with the committed bytes."""
    day = json.loads((RESULTS / "study.json").read_text(encoding="utf-8"))["as_of"]
    embers("study", "tables", "figures", "claims", "--as-of", day, "--out", tmp_path / "study", "--database", catalog)
    shutil.copy(RESULTS / "verdicts.csv", tmp_path / "study")
    embers("list", "--matrix", "--add-to", tmp_path / "study" / "verdicts.csv", "--database", catalog)
    embers("research", "silent", "--out", tmp_path / "study" / "census_2026.csv", "--database", catalog)
    committed = {path.stem: path for path in RESULTS.glob("*.csv") if path.stem not in NOT_OF_THE_CATALOG}
    assert len(committed) >= 25
    for name, path in committed.items():
        assert (tmp_path / "study" / path.name).read_bytes() == path.read_bytes(), name


def test_the_dataset_is_whole(catalog: Path, tmp_path: Path) -> None:
    """A dataset lists the checksum of each of its files, comes out the same twice, and holds no text or name of a person."""
    for name in ("a", "b"):
        embers("data", "export", "--dataset", tmp_path / name, "--database", catalog)
    subprocess.run(["sha256sum", "--quiet", "--strict", "-c", "SHA256SUMS"], cwd=tmp_path / "a", check=True)
    files = {str(path.relative_to(tmp_path / "a")) for path in (tmp_path / "a").rglob("*") if path.is_file()}
    sums = (tmp_path / "a" / "SHA256SUMS").read_text(encoding="utf-8")
    assert {line.split("  ", 1)[1] for line in sums.splitlines()} == files - {"SHA256SUMS"}
    assert (tmp_path / "b" / "SHA256SUMS").read_text(encoding="utf-8") == sums
    header = (tmp_path / "a" / "data" / "items.csv").read_text(encoding="utf-8").partition("\n")[0].split(",")
    assert not {"body", "author", "user", "login"} & {*header}


# ---- what commands say of the catalog ------------------------------------------------------------------------------


def test_show_answers_first(catalog: Path) -> None:
    """`embers show N` says first whether the bug occurs on the newest build, then what this rests on."""
    said = embers("show", 84577, "--database", catalog)
    title, answer = said.splitlines()[:2]
    assert title.startswith("pytorch/pytorch#84577 ")
    assert answer.startswith("The bug occurs on torch 2.15.0 (10/10 runs of pt84577_avg_pool3d_strided_out")
    assert "shipped verdict" in answer
    assert "pt84577_narrow_copy_strided_out" in said
    shown = as_json("show", 84577, "--database", catalog)
    assert (shown["headline"], shown["facts"]["state"]) == (answer, "closed")


def test_list_agrees_with_sql(catalog: Path) -> None:
    """`embers list` gives the items that the documented tables give, and no item both occurs and is absent on a release."""
    asked = "SELECT DISTINCT number FROM statuses WHERE status = 'declined_occurs' ORDER BY ALL"
    listed = as_json("list", "--status", "declined_occurs", "--database", catalog)
    assert [item["number"] for item in listed] == [number for (number,) in rows(catalog, asked)]
    assert all(item["state"] == "closed" and item["verdict"] == "occurs" for item in listed)
    there, gone = (
        {item["number"] for item in as_json("list", option, "2.9.1", "--database", catalog)}
        for option in ("--occurs-on", "--absent-on")
    )
    assert len(there) > 50
    assert len(gone) > 50
    assert not there & gone


def test_json_keys_are_kept(catalog: Path, ran: Path, small: dict[str, str], database: Path) -> None:
    """`--json` prints one ASCII document on standard output, and its keys are kept."""
    shutil.copy(ran, database)
    printed = embers("list", "--json", "--database", catalog)
    assert printed.isascii()
    listed = json.loads(printed)
    assert len(listed) == CATALOG
    assert all({*LIST_KEYS} <= {*item} for item in listed)
    assert all({*RUN_KEYS} <= {*row} for row in as_json("run", *BOTH, "--database", database, **small))


def test_a_case_of_the_catalog_runs(catalog: Path, database: Path, real: str, sandbox: None) -> None:
    """`embers run` runs a case of the catalog on the torch of this environment, and stores the verdict that it prints."""
    shutil.copy(catalog, database)
    [row] = as_json("run", real, "--database", database, EMBERS_BUILDS_DIR=str(database.with_name("builds")))
    assert row["verdict"] in VERDICTS
    assert row["verdict"] != "absent" or row["control"] == "build"
    own = "SELECT verdict, k, n, control FROM verdicts WHERE provenance = 'own'"
    assert rows(database, own) == [(row["verdict"], row["k"], row["n"], row["control"])]
    hits = rows(database, "SELECT count(*) FILTER (outcome = 'reproduced'), count(*) >= 3 FROM runs WHERE NOT injected")
    assert hits == [(row["k"], True)]


def test_a_useless_build_changes_nothing(catalog: Path, database: Path, small: dict[str, str]) -> None:
    """A re-check of the catalog on a build that can test nothing announces nothing and withdraws no status."""
    shutil.copy(catalog, database)
    known = "SELECT repo, number, backend, status FROM statuses WHERE provenance = 'shipped' ORDER BY ALL"
    words = ("recheck", "--only", "open", "--build", "2.1.2", "--database", database)
    told = as_json(*words, EMBERS_BUILDS_DIR=small["EMBERS_BUILDS_DIR"])
    assert [change for change in told["changes"] if change["told"]] == []
    assert rows(database, "SELECT count(*) FROM announcements") == [(0,)]
    history = "SELECT count(*) FROM status_history WHERE provenance = 'shipped'"
    assert rows(database, history) == rows(catalog, history)
    assert rows(catalog, known) != []


def test_since_when(ran: Path, small: dict[str, str], database: Path) -> None:
    """`embers bisect` names the two builds between which a bug went away."""
    shutil.copy(ran, database)
    words = ("--bad", "2.0.1", "--good", "2.1.2", "--validate", 0)
    said = embers("bisect", "pt1_wrong_sum", *words, "--database", database, **small)
    assert "gone since 2.1.2 (2.0.1 is the last build with it)" in said


def test_python_gives_the_same(catalog: Path) -> None:
    """The Python API gives the rows of the database as frames, and SQL that reads or writes no other file."""
    db = torch_embers.open(catalog)
    assert len(db.items()) == CATALOG
    assert (len(db.verdicts()),) == rows(catalog, "SELECT count(*) FROM latest_verdicts")[0]
    assert db.sql("SELECT count(*) AS n FROM gold_labels WHERE scheme = ?", ["bug_type"]).n[0] > 100
    for query in (
        "SELECT * FROM read_csv('/etc/passwd')",
        "ATTACH '/tmp/x.db'",
        "DELETE FROM items",
        "COPY items TO '/tmp/x.csv'",
    ):
        with pytest.raises(torch_embers.EmbersError):
            db.sql(query)


def test_audit_only_reads(tmp_path: Path) -> None:
    """`embers audit` names the lines of your code that can meet a known bug, and never runs your code."""
    (tmp_path / "train.py").write_text(
        f"import pathlib\nimport torch\npathlib.Path({str(tmp_path / 'ran')!r}).touch()\n"
        "torch.nn.functional.avg_pool3d(torch.ones(1, 2, 2, 2), 2)\n"
        "torch.narrow_copy(torch.ones(4, 4), 0, 1, 2, out=torch.ones(2, 8)[:, ::2])\n",
        encoding="utf-8",
    )
    said = embers("audit", tmp_path / "train.py", "--torch", "2.15.0", "--fail-on", "never")
    assert "narrow_copy" in said
    assert "train.py:5" in said
    assert not (tmp_path / "ran").exists()


# ---- bad input -----------------------------------------------------------------------------------------------------

HOSTILE = (
    "\x1b]0;owned\x07\x1b[31m<script>globalThis.hit = 1</script><img src=x onerror=alert(1)>\u202e=HYPERLINK(1) [bold]"
    '" onfocus=alert(2) x=\'" [here](javascript:alert(3)) <javascript:alert(4)>'
)


def test_hostile_text_stays_text(small: dict[str, str], database: Path, tmp_path: Path) -> None:
    """No text of an issue reaches the terminal or a page as anything but text."""
    record = issue(
        1, title=f"wrong sum {HOSTILE}", body=HOSTILE, labels=[{"name": HOSTILE}], user={"login": "x", "id": 1}
    )
    embers("mine", "--source", "jsonl", json_lines(tmp_path / "i.jsonl", record), "--database", database, **small)
    for words in (("show", 1), ("list",), ("show", "--paste", 1), ("status",)):
        with start(*words, "--database", database, **small) as process:
            printed = "".join(process.communicate())
        assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e]", printed), words
    embers("report", "--out", tmp_path / "site", "--database", database, **small)
    pages = [path.read_text(encoding="utf-8") for path in (tmp_path / "site").rglob("*.html")]
    assert any("&lt;script&gt;globalThis" in page for page in pages)
    for page in pages:
        assert "<script>globalThis" not in page
        assert "<img src=x" not in page
        assert "\u202e" not in page
        attributes: list[tuple[str, str | None]] = []
        parser = HTMLParser()
        parser.handle_starttag = lambda _, found, kept=attributes: kept.extend(found)
        parser.feed(page)
        assert attributes
        assert not [name for name, _ in attributes if name.startswith("on")]
        assert not [value for _, value in attributes if (value or "").strip().lower().startswith("javascript:")]


def test_a_refusal_is_one_line(catalog: Path, database: Path, tmp_path: Path) -> None:
    """What cannot be done is one line without a traceback, with the documented exit code, and leaves every file as it was."""
    broken, text = tmp_path / "broken.duckdb", tmp_path / "text.duckdb"
    shutil.copy(catalog, database)
    whole = catalog.read_bytes()
    broken.write_bytes(whole[:4096] + b"\0" * 8192 + whole[12288:20480])
    text.write_text("years of work", encoding="utf-8")
    before = {path: path.read_bytes() for path in (broken, text)}
    for words, code in (
        (("list", "--database", tmp_path / "none.duckdb"), 5),
        (("show", 1, "--database", broken), 5),
        (("list", "--database", text), 5),
        (("mine", "--source", "catalog", "--database", text), 5),
        (("show", 999999, "--database", database), 3),
        (("run", "no_such_case", "--database", database), 3),
        (("list", "--status", "no_such_status", "--database", database), 3),
        (("study", "poems", "--database", database), 3),
        (("data", "export", "--dataset", tmp_path, "--database", database), 3),
    ):
        refusal(*words, code=code)
    embers("list", "--no-such-option", code=2)
    assert {path: path.read_bytes() for path in before} == before
    assert not (tmp_path / "none.duckdb").exists()
