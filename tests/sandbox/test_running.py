"""Scripts of reports on small fake builds: what is observed, kept, repeated and left out."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from helpers.executor import BAD, GOOD, NEW, home, registry, store  # noqa: F401 - fixtures
from support import rows
from torch_embers.builds.work import WHOLE, Machine, Shard
from torch_embers.extract.script import Script
from torch_embers.normalize import now_utc
from torch_embers.progress import Silent
from torch_embers.run import state
from torch_embers.run.cases import RunRequest
from torch_embers.run.report_scripts import run_reports, summary
from torch_embers.settings import Settings
from torch_embers.store import rows as stored_rows
from torch_embers.timeline import observe, running

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from torch_embers.builds.registry import Registry
    from torch_embers.store.store import Store

REPO = "pytorch/pytorch"
SEEN = "SELECT version, seed, attempt, ending, what FROM observations ORDER BY ALL"


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """A limit of time that a waiting script soon meets."""
    numbers = observe.limits().model_copy(update={"timeout": 2.0})
    monkeypatch.setattr(running, "limits", lambda: numbers)


def put(store: Store, *codes: str, environment: str = "{}") -> list[tuple[str, int]]:
    """Give reports 1, 2, ... these scripts."""
    made = [
        {
            "repo": REPO,
            "number": number,
            "script": Script(code, (), {"x": environment}).hash,
            "code": code,
            "environment": environment,
            "content_hash": "",
            "rules": "",
            "made_at": now_utc(),
        }
        for number, code in enumerate(codes, 1)
    ]
    with store.writer("test", create=True) as writer, writer.transaction() as connection:
        stored_rows.append(connection, "scripts", made)
    return [(REPO, row["number"]) for row in made]


class Interrupted(Silent):
    """A run that somebody interrupts after so many steps."""

    def __init__(self, most: int) -> None:
        self._left = most

    def advanced(self, steps: int) -> None:
        self._left -= steps
        if not self._left:
            raise KeyboardInterrupt


def run(
    store: Store,
    registry: Registry,
    wanted: Sequence[tuple[str, int]],
    versions: Sequence[str] = (NEW,),
    shard: Shard = WHOLE,
    most: int | None = None,
) -> int:
    """Make what is missing; how many runs were kept."""
    builds = [registry.find(version) for version in versions]
    progress = Silent() if most is None else Interrupted(most)
    with (
        store.writer("test") as writer,
        running.Runs(store, writer, Machine(registry), builds, 2, progress) as runs,
    ):
        return runs.complete(wanted, shard)


ENDS: Mapping[str, tuple[str, str]] = {
    "print('fine')": ("ok", ""),
    "while True: print('x' * 10_000)": ("cannot_run", "it prints more than the sandbox takes"),
    "input()": ("cannot_run", "asks a person"),
    "import termios\ntermios.tcgetattr(0)": ("cannot_run", "needs a terminal"),
    "open('a.txt', 'w').write('x')\nassert open('a.txt').read() == 'x'": ("ok", ""),
    "import ctypes\nctypes.string_at(0)": ("signal", "SIGSEGV"),
    "import urllib.request\nurllib.request.urlopen('http://example.com')": ("cannot_run", "needs the network"),
    "import torch\ntorch.no_such_name": ("lacks_api", "torch.no_such_name"),
}


def test_each_hostile_script_has_one_clean_observation_per_seed(store: Store, registry: Registry) -> None:
    run(store, registry, put(store, *ENDS))
    found = rows(
        store.path,
        "SELECT code, list((ending, what) ORDER BY seed) FROM observations JOIN scripts USING (script) GROUP BY 1",
    )
    assert {code: set(seen) for code, seen in found} == {code: {end} for code, end in ENDS.items()}
    assert all(len(seen) == 2 for _, seen in found)


def test_what_is_known_is_not_run_again_and_what_was_reached_is_kept(store: Store, registry: Registry) -> None:
    wanted = put(store, "print(1)", "print(2)", "print(3)")
    with pytest.raises(KeyboardInterrupt):
        run(store, registry, wanted, [BAD, NEW], most=3)
    assert rows(store.path, "SELECT count(*) FROM observations") == [(3,)]
    assert run(store, registry, wanted, [BAD, NEW]) == 9
    assert run(store, registry, wanted, [BAD, NEW]) == 0


def test_only_what_differs_between_the_seeds_runs_again(store: Store, registry: Registry) -> None:
    run(store, registry, put(store, "import os\nprint(os.environ['EMBERS_SEED'], hash('x'))", "print(0x7f00)"))
    found = rows(store.path, "SELECT printed, count(*) FROM observations GROUP BY ALL ORDER BY ALL")
    assert [count for _, count in found] == [2, 2, 2]


@pytest.mark.usefixtures("short")
def test_a_timeout_counts_only_where_a_fresh_process_repeats_it(store: Store, registry: Registry) -> None:
    always = "import time\ntime.sleep(3600)"
    in_fork = "import sys, time\ntime.sleep(3600 if 'torch' in sys.modules else 0)"
    run(store, registry, put(store, always, in_fork))
    counted = """
        SELECT code, ending, count(*), count(*) FILTER (zygote = '')
        FROM observations JOIN scripts USING (script) GROUP BY ALL ORDER BY ALL
    """
    assert rows(store.path, counted) == [(in_fork, "ok", 2, 2), (always, "timeout", 1, 1)]


def test_variables_of_the_report_reach_the_script_but_none_that_says_what_is_loaded(
    store: Store, registry: Registry
) -> None:
    code = "import os\nprint(os.environ.get('TORCH_LOGS'), os.environ.get('LD_PRELOAD'), os.environ['OMP_NUM_THREADS'])"
    environment = '{"TORCH_LOGS": "dynamo", "LD_PRELOAD": "/x.so", "OMP_NUM_THREADS": "7"}'
    run(store, registry, put(store, code, environment=environment))
    assert {row[0] for row in rows(store.path, "SELECT printed FROM observations")} == {"dynamo None 7\n"}


def test_an_absence_gets_the_runs_that_its_control_asks_for_and_a_second_batch(
    store: Store, registry: Registry
) -> None:
    code = f"import ctypes, torch\nif torch.__version__ == {BAD!r}: ctypes.string_at(0)\nprint('fine')"
    wanted = put(store, code)
    run(store, registry, wanted, [BAD, NEW])
    counted = (
        "SELECT version, batch, count(*), count(*) FILTER (zygote = '') FROM observations GROUP BY ALL ORDER BY ALL"
    )
    assert rows(store.path, counted) == [(BAD, 1, 10, 8), (NEW, 1, 4, 2), (NEW, 2, 4, 4)]
    assert run(store, registry, wanted, [BAD, NEW]) == 0
    assert rows(store.path, "SELECT versions, confirmed FROM timelines ORDER BY place") == [
        ([BAD], False),
        ([NEW], True),
    ]


def test_shards_of_two_machines_are_one_sweep(store: Store, registry: Registry, tmp_path: Path) -> None:
    wanted = put(store, *(f"print({number})" for number in range(6)))
    for number in (1, 2):
        run(store, registry, wanted, shard=Shard(number, 2))
        state.save(store, tmp_path / f"state{number}")
        with store.writer("test") as writer, writer.transaction() as connection:
            connection.execute("DELETE FROM observations")
    with store.writer("test") as writer:
        for number in (1, 2, 2):
            state.load(writer, tmp_path / f"state{number}")
    assert rows(store.path, "SELECT count(*), count(DISTINCT script) FROM observations") == [(12, 6)]
    assert run(store, registry, wanted) == 0


def test_reports_run_on_all_builds_and_say_what_they_do_or_why_not(store: Store, registry: Registry) -> None:
    with store.writer("test", create=True) as writer, writer.transaction() as connection:
        for number, body in enumerate(
            (
                f"```python\nimport torch\nx = torch.manual_seed(3)\nprint(x, torch.__version__ == {NEW!r})\n```",
                "It dies.",
            ),
            1,
        ):
            asked = [REPO, number, body]
            connection.execute("INSERT INTO items (repo, number, title, body) VALUES (?, ?, 'x', ?)", asked)
    wanted = Settings(database=store.path, builds_dir=registry.folder, repo=REPO)
    told = run_reports(store, wanted, RunRequest(builds=(BAD, GOOD, NEW)), None, Silent())
    assert [(one.number, one.timeline is None, bool(one.why)) for one in told] == [(2, True, True), (1, False, False)]
    assert told[1].timeline is not None
    assert [segment.versions for segment in told[1].timeline.segments] == [(BAD, GOOD), (NEW,)]
    done = summary(told)
    assert (done.reports, done.scripts, done.runnable, done.flips) == (2, 1, 1, 1)
