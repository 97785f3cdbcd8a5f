"""The key of an environment has no release of the kernel: an update of the kernel voids no verdict."""

from __future__ import annotations

import platform
import shutil
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import duckdb
import pytest

from helpers.verdicts import build_of
from support import case_of, rows
from torch_embers.builds.registry import Placed, environment_key, environment_of
from torch_embers.cases import bank
from torch_embers.cases.case import shipped
from torch_embers.normalize import naive_utc
from torch_embers.progress import Silent
from torch_embers.recheck import snapshot
from torch_embers.recheck.recheck import RecheckRequest, recheck
from torch_embers.run import state
from torch_embers.store import schema
from torch_embers.store.store import Store
from torch_embers.verdicts import executor
from torch_embers.verdicts.ledger import Ledger

if TYPE_CHECKING:
    from pathlib import Path

REPO = "pytorch/pytorch"
CASE = case_of("import torch\n", relation="same")
BUILD = build_of("2.2.2", capability="AVX2")
WHERE: dict[str, Any] = {"device": "cpu", "device_name": None, "driver": None, "system": "Linux", "processor": "X"}
WHERE |= {"capability": "AVX2", "threads": 1}
OLD = f"""
INSERT INTO environments VALUES
    ('before', 'cpu', NULL, NULL, 'Linux 6.1.0', 'X', 'AVX2', 1, now() - INTERVAL 2 HOUR),
    ('after', 'cpu', NULL, NULL, 'Linux 6.2.0-generic', 'X', 'AVX2', 1, now() - INTERVAL 1 HOUR),
    ('other', 'cpu', NULL, NULL, 'Linux 6.2.0-generic', 'X', 'AVX512', 1, now());
INSERT INTO runs BY NAME SELECT
    '{CASE.hash}' AS case_hash, '{BUILD.identity}' AS build, environment, 'reviewed' AS profile, 0 AS batch, attempt,
    false AS planted, outcome, '' AS detail, 'exited' AS ended, '' AS stdout, '' AS stderr, 0 AS duration, 0 AS cpu,
    0 AS peak_memory, 'z' AS zygote, attempt AS seed, [] AS guarantees, seen_at AS ran_at
FROM environments CROSS JOIN range(4) t(attempt)
JOIN (VALUES ('before', 'not_reproduced'), ('after', 'reproduced')) s(environment, outcome) USING (environment);
INSERT INTO verdicts BY NAME SELECT
    '{CASE.hash}' AS case_hash, '{BUILD.identity}' AS build, environment, 'reviewed' AS profile, 0 AS batch, verdict,
    false AS flaky, k, 4 AS n, 'planted' AS control, 0 AS control_k, 0 AS control_n, '' AS detail, seen_at AS decided_at,
    'own' AS provenance, written
FROM environments
JOIN (VALUES ('before', 'not_seen', 0, 1), ('after', 'occurs', 4, 2)) s(environment, verdict, k, written) USING (environment);
INSERT INTO items (repo, number, title, state) VALUES ('{REPO}', 1, 'a bug', 'open');
INSERT INTO status_history BY NAME SELECT
    '{REPO}' AS repo, 1 AS number, 'cpu' AS backend, '{BUILD.identity}' AS reference, 'open_and_occurs' AS status,
    '' AS evidence, now() - INTERVAL 1 HOUR AS decided_at, 'own' AS provenance, 1 AS written;
"""
"""One case, run under two kernels: not seen before the update, there after it."""


@pytest.fixture(scope="module")
def before(new_database: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A database with the keys and words of an older embers."""
    return older(new_database, tmp_path_factory.mktemp("before") / "e.duckdb", OLD)


def older(new: Path, path: Path, rows_of_old: str) -> Path:
    shutil.copy(new, path)
    with duckdb.connect(path) as connection:
        connection.execute("ALTER TABLE runs RENAME injected TO planted; ALTER TABLE runs DROP kernel")
        connection.execute(f"SET TimeZone = 'UTC'; {rows_of_old}")
    return path


@pytest.fixture
def merged(before: Path, tmp_path: Path) -> Store:
    """A database that has loaded the state of the older one."""
    save(before, tmp_path / "first")
    store = Store(tmp_path / "merged.duckdb")
    with store.writer("test", create=True) as writer:
        state.load(writer, tmp_path / "first")
        with writer.transaction() as connection:
            bank.save(connection, [CASE])
            connection.execute(f"INSERT INTO items (repo, number, title, state) VALUES ('{REPO}', 1, 'a bug', 'open')")
    return store


def save(database: Path, folder: Path) -> None:
    """A state as an embers saved it that kept no observations."""
    of_observations = "UNION SELECT {0} FROM observations "
    own = {
        name: query.replace(of_observations.format(name.removesuffix("s")), "")
        for name, query in state.OWN.items()
        if name != "observations"
    }
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(state, "OWN", own)
        state.save(Store(database), folder)


def again(store: Store) -> Any:
    """A re-check of all that is known, where nothing can be run."""
    nothing: Any = None
    with pytest.MonkeyPatch.context() as patch, store.writer("test") as writer:
        patch.setattr(executor, "placed_here", lambda build: Placed(build, WHERE))
        patch.setattr(snapshot, "environment_of", lambda *_: WHERE)
        return recheck(store, writer, nothing, [CASE], RecheckRequest("all", BUILD, [BUILD], [BUILD], 7.0), Silent())


def test_another_kernel_is_the_same_environment_and_another_capability_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    def key(release: str, **more: Any) -> str:
        monkeypatch.setattr(platform, "release", lambda: release)
        return environment_key({**environment_of(BUILD, 1), **more}.items())

    assert key("6.1.0") == key("6.2.0-generic")
    assert key("6.1.0") != key("6.1.0", capability="AVX512")


def test_where_two_keys_become_one_the_newest_verdict_counts_and_all_runs_stay(merged: Store) -> None:
    key = environment_key(WHERE.items())
    environments = rows(merged.path, "SELECT environment, system, capability FROM environments ORDER BY capability")
    assert environments == [(key, "Linux", "AVX2")]
    assert rows(merged.path, "SELECT environment, verdict, k, batch FROM latest_verdicts") == [(key, "occurs", 4, 0)]
    batches = rows(merged.path, "SELECT verdict, batch, control FROM verdicts ORDER BY written")
    assert batches == [("not_seen", -1, "injected"), ("occurs", 0, "injected")]
    counts = "SELECT kernel, outcome, batch, environment, count(*) FROM runs GROUP BY ALL ORDER BY kernel"
    assert rows(merged.path, counts) == [
        ("6.1.0", "not_reproduced", -1, key, 4),
        ("6.2.0-generic", "reproduced", 0, key, 4),
    ]


def test_after_the_merge_nothing_is_run_or_announced_again(merged: Store) -> None:
    done = again(merged)
    assert (done.fresh, done.changes) == (0, ())
    assert rows(merged.path, "SELECT count(*) FROM status_history") == [(1,)]
    with merged.writer("test") as writer:
        batch = Ledger(merged, writer).open_batch(BUILD, naive_utc() - timedelta(days=7))
    assert batch == 0, "the runs of the earlier kernel are no second batch"


def test_a_state_that_an_older_embers_saved_is_merged_when_it_is_loaded(before: Path, tmp_path: Path) -> None:
    save(before, tmp_path / "state")
    store = Store(tmp_path / "new.duckdb")
    with store.writer("test", create=True) as writer:
        state.load(writer, tmp_path / "state")
        with writer.transaction() as connection:
            bank.save(connection, [CASE])
            connection.execute(f"INSERT INTO items (repo, number, title, state) VALUES ('{REPO}', 1, 'a bug', 'open')")
    assert rows(store.path, "SELECT DISTINCT environment, injected FROM runs") == [
        (environment_key(WHERE.items()), False)
    ]
    assert rows(store.path, "SELECT DISTINCT control FROM verdicts") == [("injected",)]
    assert again(store).changes == ()


def test_what_was_run_under_a_former_hash_counts_for_the_case_of_today(new_database: Path, tmp_path: Path) -> None:
    former, today = next(iter(schema.case_hashes().items()))
    assert set(schema.case_hashes().values()) <= {one.hash for one in shipped(None)}
    path = older(new_database, tmp_path / "e.duckdb", OLD.replace(CASE.hash, former))
    save(path, tmp_path / "state")
    new = Store(tmp_path / "new.duckdb")
    with new.writer("test", create=True) as writer:
        state.load(writer, tmp_path / "state")
    assert rows(new.path, "SELECT case_hash FROM runs UNION SELECT case_hash FROM verdicts") == [(today,)]


def test_an_older_state_of_the_same_database_adds_nothing(before: Path, merged: Store, tmp_path: Path) -> None:
    """Not even where the database made more runs since."""
    save(before, tmp_path / "state")
    counts = "SELECT (SELECT count(*) FROM runs), (SELECT count(*) FROM verdicts)"
    with merged.writer("test") as writer, writer.transaction() as connection:
        connection.execute("INSERT INTO runs SELECT * REPLACE (1 AS batch, now() AS ran_at) FROM runs WHERE batch = 0")
    had = rows(merged.path, counts)
    with merged.writer("test") as writer:
        state.load(writer, tmp_path / "state")
    assert rows(merged.path, counts) == had
