"""What a user may rely on when embers runs scripts: verdicts rest on controls, and scripts reach nothing outside."""

from __future__ import annotations

import re
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from promises.driver import BOTH, as_json, embers, fix, issue, json_lines, nodes, refusal, rows, start

VERDICTS = """
SELECT c.name, b.version, v.verdict, v.k, v.n, v.control, v.control_k
FROM latest_verdicts v JOIN cases c USING (case_hash) JOIN builds b USING (build)
"""


def verdicts(database: Path) -> dict[tuple[str, str], tuple[object, ...]]:
    """The verdict that counts, by case and version."""
    return {row[:2]: row[2:] for row in rows(database, VERDICTS)}


def test_a_control_decides_an_absence(ran: Path) -> None:
    """A bug is called absent only where the same case, run here, shows it on another build; else the verdict says why."""
    found = verdicts(ran)
    assert found["pt1_wrong_sum", "2.0.1"] == ("occurs", 10, 10, "build", 10)
    verdict, k, n, control, control_k = found["pt1_wrong_sum", "2.1.2"]
    assert (verdict, k, control, control_k) == ("absent", 0, "build", 10)
    assert n >= 4
    for version in ("2.0.1", "2.1.2"):
        assert found["pt4_control_is_clean", version][0] == "control_failed"
        assert found["pt2_seen_nowhere", version][0] == "not_seen"
    verdict, k, n, control, control_k = found["pt5_now_and_then", "2.1.2"]
    assert (verdict, k, control) == ("absent", 0, "build")
    assert 3 <= control_k <= 7
    assert (1 - control_k / 10) ** n < 0.01  # as many runs as the bug would have shown itself in


def test_not_seen_is_not_clean(ran: Path, small: dict[str, str], tmp_path: Path) -> None:
    """A bug that no build here shows is `not_seen`: it is never printed, listed or exported as absent."""
    absent = as_json("list", "--absent-on", "2.1.2", "--database", ran, **small)
    assert [item["number"] for item in absent] == [1]
    shown = embers("show", 2, "--database", ran, **small)
    assert "not_seen" in shown
    assert "absent" not in shown.partition("Script")[0]
    embers("list", "--matrix", "--csv", tmp_path / "m.csv", "--junit", tmp_path / "m.xml", "--database", ran, **small)
    lines = [line for line in (tmp_path / "m.csv").read_text().splitlines() if line.startswith("pt2_")]
    assert [",not_seen," in line for line in lines] == [True, True]
    embers("data", "export", "--dataset", tmp_path / "d", "--database", ran, **small)
    lines = [line for line in (tmp_path / "d" / "data" / "verdicts.csv").read_text().splitlines() if "pt2_" in line]
    assert [",not_seen," in line for line in lines] == [True, True]
    embers("report", "--database", ran, "--out", tmp_path / "site", **small)
    texts = [path.read_text(encoding="utf-8") for path in (tmp_path / "site").rglob("*.html")]
    [page] = [text for text in texts if "#2" in text.partition("</h1>")[0].partition("<h1")[2]]
    assert "not_seen" in page
    assert not {"absent", "✓"} & set(re.findall(r"\w+|✓", page.partition('id="main"')[2].partition("Script")[0]))
    [(status,)] = rows(ran, "SELECT DISTINCT status FROM statuses WHERE number = 2") or [("none",)]
    assert status not in ("fixed", "open_but_absent")


def test_untestable_is_no_verdict(ran: Path, small: dict[str, str]) -> None:
    """A case that cannot be tested on a build says nothing of the bug there, and is in no list of what occurs or is absent."""
    assert {verdicts(ran)["pt3_lacks_operator", version][:3] for version in ("2.0.1", "2.1.2")} == {
        ("untestable", 0, 0)
    }
    for option in ("--occurs-on", "--absent-on"):
        assert 3 not in [i["number"] for i in as_json("list", option, "2.1.2", "--database", ran, **small)]


def test_a_known_verdict_is_not_run_again(ran: Path, small: dict[str, str], database: Path) -> None:
    """A verdict that is known is looked up and not run again; `--force` runs again and keeps the earlier runs."""
    shutil.copy(ran, database)
    everything = "SELECT * FROM runs ORDER BY ALL"
    again = as_json("run", *BOTH, "--database", database, **small)
    assert len(again) == 10
    assert not any(row["fresh"] for row in again)
    assert rows(database, everything) == rows(ran, everything)
    embers("run", "pt3_lacks_operator", "--force", *BOTH, "--database", database, **small)
    assert {*map(repr, rows(database, everything))} > {*map(repr, rows(ran, everything))}


def test_a_change_is_announced_once(ran: Path, small: dict[str, str], database: Path, tmp_path: Path) -> None:
    """What changed of a closed bug is announced once, with exit code 10; the next re-check, also of another database that
    continues from the saved state, has nothing to tell, exit code 0."""
    shutil.copy(ran, database)
    words = ("recheck", *BOTH, "--state", tmp_path / "state", "--database", database)
    first = as_json(*words, code=10, **small)
    told = [(change["issue"], change["kind"]) for change in first["changes"] if change["told"]]
    assert told == [("pytorch/pytorch#1", "fixed")]
    second = as_json(*words, code=0, **small)
    assert [change for change in second["changes"] if change["told"]] == []
    assert rows(database, "SELECT number, kind, is_told FROM announcements") == [(1, "fixed", True)]
    records = [one for n in range(1, 5) for one in (issue(n), fix(n + 100, n))]
    embers(
        "mine", "--source", "jsonl", json_lines(tmp_path / "i.jsonl", *records), "--database", tmp_path / "b", **small
    )
    elsewhere = as_json(*words[:-1], tmp_path / "b", code=0, **small)
    assert [change for change in elsewhere["changes"] if change["told"]] == []


# ---- scripts from issues -------------------------------------------------------------------------------------------

ATTACK = """
import pathlib
import socket
import torch

for address in [("127.0.0.1", {port}), ("192.0.2.1", 53)]:
    try:
        socket.create_connection(address, timeout=2)
        print("reached", address)
    except OSError:
        pass
for name in {files!r}:
    path = pathlib.Path(name)
    try:
        print("read", path.read_bytes())
    except OSError:
        pass
    try:
        path.write_text("changed")
    except OSError:
        pass
raise RuntimeError("a wrong sum: %d" % torch.add(1, 1))
"""
REPORT = """The sum is wrong.

```python{code}```

```
Traceback (most recent call last):
  File "a.py", line 24, in <module>
RuntimeError: a wrong sum: 3
```
"""


def attacked(database: Path, tmp_path: Path, small: dict[str, str], code: str) -> None:
    """Mine an issue with this script."""
    names = [{"name": "module: correctness (silent)"}, {"name": "module: memory format"}]
    title = "torch.add crashes with RuntimeError: a wrong sum on strided tensors"
    source = json_lines(tmp_path / "i.jsonl", issue(9, title=title, body=REPORT.format(code=code), labels=names))
    embers("mine", "--source", "jsonl", source, "--database", database, **small)


def test_a_hostile_script_reaches_nothing(small: dict[str, str], database: Path, tmp_path: Path) -> None:
    """A script from an issue reaches neither the network nor a file of this machine, nor the database that it came from."""
    files = {str(tmp_path / name): name for name in ("secret", "notes")}
    for path, text in files.items():
        Path(path).write_text(f"my {text}", encoding="utf-8")
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(10)
        code = ATTACK.format(port=server.getsockname()[1], files=[*files, str(database)])
        python = Path(small["EMBERS_BUILDS_DIR"]).with_name("promised-pythons") / "2.0.1" / "bin" / "python"
        free = subprocess.run([python, "-c", code], capture_output=True, text=True)
        server.accept()[0].close()  # the attack is real: without a sandbox it gets everywhere
        assert "reached" in free.stdout
        assert "my secret" in free.stdout
        assert "wrong sum: 3" in free.stderr
        for path, text in files.items():
            assert Path(path).read_text(encoding="utf-8") == "changed"
            Path(path).write_text(f"my {text}", encoding="utf-8")
        database.unlink()

        attacked(database, tmp_path, small, code)
        embers("run", 9, "--build", "2.0.1", "--database", database, **small)
        server.setblocking(False)  # noqa: FBT003
        try:
            reached = server.accept()
        except BlockingIOError:
            reached = None
    assert reached is None
    assert all(Path(path).read_text(encoding="utf-8") == f"my {text}" for path, text in files.items())
    made = rows(database, "SELECT ending, what, message, printed FROM observations")
    assert set(made) == {("exception", "RuntimeError", "a wrong sum: 3", "")}


def test_without_a_sandbox_no_script_of_an_issue_runs(small: dict[str, str], database: Path, tmp_path: Path) -> None:
    """Where the sandbox cannot be had, a script from an issue is not run: one line, and exit code 6, also with `--unsandboxed`."""
    attacked(database, tmp_path, small, ATTACK.format(port=9, files=[]))
    bare = small | {"PATH": str(Path(sys.executable).parent)}
    for options in ((), ("--unsandboxed",)):
        line = refusal("run", 9, "--build", "2.0.1", *options, "--database", database, code=6, **bare)
        assert "scripts from issues are not run here" in line
    assert rows(database, "SELECT count(*) FROM runs") == [(0,)]


# ---- many machines -------------------------------------------------------------------------------------------------


@pytest.mark.timeout(900)  # Ray takes minutes to start on a busy machine
def test_two_nodes_are_one_machine(ran: Path, small: dict[str, str], database: Path, tmp_path: Path) -> None:
    """Runs on two nodes of a Ray cluster give the runs and verdicts that one machine gives."""
    same = {
        "runs": "case_hash, build, environment, batch, attempt, injected, outcome, detail, signature, stdout, stderr, exit_code, seed",
        "verdicts": "case_hash, build, environment, batch, verdict, k, n, control, control_build, control_k, control_n, detail",
    }
    source = json_lines(tmp_path / "issues.jsonl", *(issue(n) for n in range(1, 5)))
    embers("mine", "--source", "jsonl", source, "--database", database, **small)
    with nodes(2, small) as address:
        words = ("run", *BOTH, "--address", address, "--database", database)
        with start(*words, **small) as process:
            out, err = process.communicate()
    assert process.returncode == 0, err
    assert "2 nodes, " in out + err
    for table, columns in same.items():
        asked = f"SELECT {columns} FROM {table} ORDER BY ALL"
        assert rows(database, asked) == rows(ran, asked), table
