"""The one place that knows how embers is called: the command line, small checkouts, builds and trackers of our own."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from contextlib import contextmanager
from datetime import datetime
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb
import pytest

import raylets
from servers.dataset import REPO, generated_dataset
from servers.github import Answered, Asked, GitHub
from support import fake_python
from torch_embers.store.store import Store

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

ROOT = Path(__file__).resolve().parents[2]
RESULTS = ROOT / "analysis" / "results"
PROJECT = "someone/project"
"""A repository of which nothing comes with embers."""
HASTY = {"EMBERS_PAUSE": "0", "EMBERS_BACKOFF": "0.01", "EMBERS_RETRIES": "2"}
"""Settings for a server that answers at once."""
NOWHERE = {"EMBERS_API_URL": "http://127.0.0.1:9", "EMBERS_BACKOFF": "0.01", "HF_HUB_OFFLINE": "1"}
"""A machine from which GitHub cannot be reached."""
BOTH = ("--build", "2.0.1", "--build", "2.1.2")
EACH_OWN = {"fetched_at", "page_id", "loaded_at"}
"""When and in which answer a row came: in this alone two equal mines may differ."""


# ---- the command line ----------------------------------------------------------------------------------------------


def environment(**more: str) -> dict[str, str]:
    """The variables of a command: those of the test, a wide terminal without colours, and ``more``."""
    return {**os.environ, "NO_COLOR": "1", "COLUMNS": "160", **more}


def start(*words: object, **more: str) -> subprocess.Popen[str]:
    """Start ``embers WORDS``."""
    command = [sys.executable, "-m", "torch_embers", *map(str, words)]
    return subprocess.Popen(
        command, env=environment(**more), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )  # fmt: skip


def embers(*words: object, code: int = 0, **more: str) -> str:
    """What ``embers WORDS`` prints on standard output, once it ended with this code."""
    with start(*words, **more) as process:
        out, err = process.communicate()
    assert process.returncode == code, (
        f"exit code {process.returncode} of embers {words}:\n{out[-3000:]}\n{err[-3000:]}"
    )
    return out


def refusal(*words: object, code: int, **more: str) -> str:
    """The one line that says why ``embers WORDS`` ended with this code; there is no traceback."""
    with start(*words, **more) as process:
        _, err = process.communicate()
    assert process.returncode == code, f"exit code {process.returncode} of embers {words}:\n{err[-3000:]}"
    assert "Traceback" not in err
    [line] = [line for line in err.splitlines() if line.startswith("error: ")]
    assert err.rstrip().endswith(line)
    return line


def as_json(*words: object, code: int = 0, **more: str) -> Any:
    """What ``embers WORDS --json`` prints."""
    return json.loads(embers(*words, "--json", code=code, **more))


# ---- the database, by SQL on documented tables ---------------------------------------------------------------------


def rows(database: Path, sql: str, *values: object) -> list[tuple[Any, ...]]:
    """Rows of a query."""
    with duckdb.connect(str(database), read_only=True) as connection:
        return connection.execute(sql, values or None).fetchall()


def as_of(database: Path, day: str) -> dict[int, tuple[str, str, tuple[str, ...]]]:
    """State, title and labels of each item at the end of a day (docs/store.md)."""
    found = Store(database).as_of(datetime.fromisoformat(f"{day}T23:59:59+00:00"))
    return {row.number: (row.state, row.title, tuple(row.labels)) for row in found.itertuples()}


def tables(database: Path) -> dict[str, list[str]]:
    """Columns of each table."""
    found: dict[str, list[str]] = {}
    for table, column in rows(
        database,
        "SELECT table_name, column_name FROM duckdb_columns() JOIN duckdb_tables() USING (table_name) "
        "ORDER BY table_name, column_index",
    ):
        found.setdefault(table, []).append(column)
    return found


def content(database: Path, names: Iterable[str]) -> dict[str, list[str]]:
    """The rows of tables, sorted, without the columns that say when a row came."""
    kept = {name: [column for column in tables(database)[name] if column not in EACH_OWN] for name in names}
    return {
        name: sorted(map(repr, rows(database, f"SELECT {', '.join(columns)} FROM {name}")))
        for name, columns in kept.items()
    }


def with_provenance(database: Path) -> list[str]:
    """The tables whose rows came from outside: those that name a source and a page."""
    return [
        name
        for name, columns in tables(database).items()
        if {"source", "page_id"} <= {*columns} and name != "raw_pages"
    ]


# ---- builds and cases of our own -----------------------------------------------------------------------------------

TORCH = '''
"""Stands for a build: says what it is, and adds; whether it adds right is the difference between two of them."""
from types import SimpleNamespace

__version__ = {version!r}
version = SimpleNamespace(git_version={commit!r}, cuda=None, debug=False)
cuda = SimpleNamespace(is_available=lambda: False)
backends = SimpleNamespace()


def add(a, b):
    return a + b + {off}


def mul(a, b):
    return a * b


def manual_seed(seed):
    pass
'''
TRUTH = {"add": "{number} + 1", "mul": "{number}", "sub": "{number} - 1"}
"""What an operator must give for the number of an issue and one; no build has ``sub``."""
CASE = '''# /// script
# dependencies = ["torch"]
# [tool.embers]
# issues = ["pytorch/pytorch#{number}"]
# relation = "same"
# requires = ["cpu"]
# known_bad = {known_bad}
# signature = "mismatch"
# oracle = "self"
# ///
"""Takes {number} and one through {op}. The result must be that of arithmetic. Instead it is another one."""

import os
import sys


def spoil(observed):
    """Return what the bug would give."""
    if os.environ.get("EMBERS_PLANT") == "1":
        observed = observed + 2
    return observed


def main():
    """Return (exit code, what was seen)."""
    import torch

    if not hasattr(torch, "{op}"):
        return 125, "torch has no {op}"
    got = torch.{op}({number}, 1)
    got = spoil(got)
    return int(got != {truth}), "{op} gives %d" % got


code, seen = main()
print(seen)
sys.exit(code)
'''


def case(number: int, known_bad: Sequence[str] = (), op: str = "add") -> str:
    """The text of a case of issue ``number``: that an operator gives a wrong number."""
    truth = TRUTH[op].format(number=number)
    return CASE.format(number=number, known_bad=json.dumps([*known_bad]), op=op, truth=truth)


def add_builds(pythons: Path, registry: Path, **off: int) -> None:
    """Make and register builds by version: ``v2_0_1=1`` is a 2.0.1 whose sums are off by 1."""
    for name, error in off.items():
        version = name[1:].replace("_", ".")
        python = fake_python(pythons / version, version, f"{sum(map(ord, version)):040x}", TORCH, off=error)
        embers("builds", "add", "--python", python, "--name", version, EMBERS_BUILDS_DIR=str(registry))


def checkout(folder: Path, cases: Mapping[str, str]) -> None:
    """Make a checkout of embers that holds these cases alone, and no verdicts."""
    for name in ("pipeline", "data", "analysis"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("*.duckdb*"))
    for name in ("pyproject.toml", "LICENSE"):
        shutil.copy(ROOT / name, folder / name)
    for path in (folder / "data" / "cases").glob("*.py"):
        path.unlink()
    for name, text in cases.items():
        (folder / "data" / "cases" / f"{name}.py").write_text(text, encoding="utf-8")
    path = folder / "analysis" / "results" / "verdicts.csv"
    path.write_text(path.read_text(encoding="utf-8").partition("\n")[0] + "\n", encoding="utf-8")


@contextmanager
def nodes(number: int, settings: Mapping[str, str]) -> Iterator[str]:
    """Address of a Ray cluster on this machine, whose so many nodes find what ``settings`` name."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in settings.items():
            patch.setenv(name, value)
        with raylets.head() as cluster, raylets.nodes_of(cluster, *({},) * number):
            yield cluster.address


def issue(number: int, **more: object) -> dict[str, Any]:
    """An issue as GitHub's REST interface gives it: closed as fixed, about a wrong sum."""
    day = f"2024-01-{number % 28 + 1:02d}T00:00:00Z"
    return {
        "number": number,
        "node_id": f"I{number}",
        "title": f"torch.add gives a wrong sum ({number})",
        "body": f"The sum of {number} and one is wrong.",
        "state": "closed",
        "state_reason": "completed",
        "created_at": day,
        "closed_at": day,
        "updated_at": day,
        "user": {"login": "a-reporter", "id": 5},
        "labels": [{"name": "module: correctness (silent)"}],
    } | more


def fix(number: int, fixed: int) -> dict[str, Any]:
    """The merged pull request that fixes an issue."""
    pull = {"title": "Fix the sum", "body": f"Fixes #{fixed}", "state_reason": None, "node_id": f"P{number}"}
    return issue(number, **pull, pull_request={"merged_at": "2024-02-01T00:00:00Z"}, merged_at="2024-02-01T00:00:00Z")


def json_lines(path: Path, *records: object) -> Path:
    """A file with one record a line."""
    path.write_text("".join(f"{json.dumps(record)}\n" for record in records), encoding="utf-8")
    return path


# ---- a tracker -----------------------------------------------------------------------------------------------------


ITEMS = 60  # of the tracker: some have more labels and comments than a page holds


class Tracker(GitHub):
    """GitHub over a generated tracker of ours.

    Attributes:
        meanwhile: is called with the place of each request, before it is answered.
    """

    def __init__(self) -> None:
        super().__init__(json.loads(json.dumps(generated_dataset(ITEMS)).replace(REPO, PROJECT)))
        self.meanwhile: Callable[[int], object] = lambda place: None
        self._places = count(1)

    def answer(self, asked: Asked) -> Answered:
        """Answer a request, after what is to happen meanwhile."""
        self.meanwhile(next(self._places))
        return super().answer(asked)

    @property
    def items(self) -> dict[int, dict[str, Any]]:
        """The items as the tracker has them now."""
        return self.graph.repositories[PROJECT].items

    @property
    def settings(self) -> dict[str, str]:
        """What leads a mine here."""
        return {**HASTY, "EMBERS_API_URL": self.url, "EMBERS_TOKENS": "token-one"}

    def mine(self, database: Path, *words: object, **more: str) -> str:
        """Mine it into a database."""
        return embers(*self.command(database), *words, **self.settings, **more)

    def command(self, database: Path) -> list[object]:
        """What mines it into a database."""
        return ["mine", "--source", "graphql", "--repo", PROJECT, "--database", database]
