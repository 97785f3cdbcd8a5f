"""Sweeps, bisections, hunts and embedding on the nodes of a Ray cluster: what one machine finds, whoever dies meanwhile."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb
import numpy as np
import pytest

import raylets
from helpers.executor import calling
from helpers.verdicts import registered
from raylets import nodes_of
from support import Recorded, assert_clean_error, case_of, case_text, rows, run_embers
from torch_embers.builds.registry import Registry, environment_key, placed_here
from torch_embers.classify.embedding import vectors
from torch_embers.classify.embedding.embedder import Embedder
from torch_embers.errors import SandboxError
from torch_embers.progress import Silent
from torch_embers.repro import bank
from torch_embers.repro.case import parse
from torch_embers.run import hunt, hunt_coverage, ledger
from torch_embers.run.batch import Batch
from torch_embers.run.bisect import command as bisecting
from torch_embers.run.bisect import sessions
from torch_embers.run.bisect.report import as_table
from torch_embers.run.bisect.request import BisectRequest
from torch_embers.run.cluster import embedding as far_embedding
from torch_embers.run.cluster import worker
from torch_embers.run.cluster.embedding import ClusterEmbedder, Encode
from torch_embers.run.cluster.jobs import shares_of
from torch_embers.run.cluster.limits import limits
from torch_embers.run.cluster.worker import Done
from torch_embers.run.executor import Executor, SweepRequest
from torch_embers.run.verdict import Control, Rules
from torch_embers.run.where import Where, embedding, opened
from torch_embers.sandbox.proof import GUARANTEES
from torch_embers.settings import Settings
from torch_embers.store.store import Store

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from torch_embers.classify.embedding.embedder import Vectors
    from torch_embers.repro.case import Case

VERSIONS = BAD, GOOD, *_ = ("2.0.1", "2.1.2", "2.2.2", "2.3.1", "2.4.1", "2.5.1", "2.6.0")
FADES = """
import os
import sys
import time
import torch

time.sleep({sleep})
bad = torch.__version__ < "{fixed}" or os.environ.get("EMBERS_PLANT") == "1"
print("off by {number}" if bad else "equal")
sys.exit(1 if bad else 0)
"""
DIES = "import os, sys, torch\nif torch.__version__ < '2.3':\n    os.abort()\n"
WITH_RAY = pytest.mark.timeout(1800)
RUN_TWICE = "SELECT case_hash, build, environment, batch, planted, attempt FROM runs GROUP BY ALL HAVING count(*) > 1"
BARE = {"PATH": str(Path(sys.executable).parent)}
"""Variables of a node on which bubblewrap is not installed."""


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A registry of seven builds, into which nodes look, too."""
    registry = registered(tmp_path_factory.mktemp("builds"), *VERSIONS)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("EMBERS_BUILDS_DIR", str(registry.folder))
        yield registry.folder


@pytest.fixture
def registry(home: Path) -> Registry:
    return Registry(home)


@pytest.fixture(scope="module")
def cluster(home: Path) -> Iterator[Any]:
    """Its nodes find the builds of ``home``."""
    with raylets.head() as made:
        yield made


def kill_driver(function: Callable[..., None], *words: object) -> None:
    """Start a function of this file that drives something, and kill it once it has told of two steps."""
    with subprocess.Popen(calling(function, *words), stdout=subprocess.PIPE, text=True) as driver:
        assert driver.stdout is not None
        assert [driver.stdout.readline() for _ in range(2)] == ["reached\n"] * 2
        driver.kill()


def tell(*_: object) -> None:
    """What a driver prints when it has come so far."""
    os.write(1, b"reached\n")


def killer(cluster: Any, node: Any) -> Callable[..., None]:
    """What kills a node when it is first called."""

    def kill(*_: object) -> None:
        if node in cluster.worker_nodes:
            cluster.remove_node(node, allow_graceful=False)

    return kill


# ---- sweeps --------------------------------------------------------------------------------------------------------


def cases(count: int, sleep: float = 0.0) -> list[Case]:
    """Cases whose bug is in 2.0.1 alone."""
    return [
        case_of(FADES.format(number=number, sleep=sleep, fixed=GOOD), f"pt{number}_example", known_bad=[BAD])
        for number in range(count)
    ]


def hostile() -> Case:
    code = "import torch\nif torch.__version__ == '2.0.1':\n    raise ValueError('reported')\n"
    return parse(case_text(code, signature="ValueError: reported", oracle="exception"), "x1", "extracted")


def sweep(
    store: Store, registry: Registry, wanted: Sequence[Case], where: Where, progress: Any = None
) -> Iterator[Any]:
    builds = [registry.find(version) for version in (BAD, GOOD)]
    progress = progress or Silent()
    with opened(where, registry, progress, jobs=1) as dispatcher, store.writer("test", create=True) as writer:
        with writer.transaction() as connection:
            bank.save(connection, wanted)
        executor = Executor(store, writer, dispatcher, progress)
        yield from executor.sweep(SweepRequest(wanted, builds, builds))


def drive_sweep(database: str, home: str, address: str) -> None:
    ledger.COMMIT_SECONDS = 0.0
    for _ in sweep(Store(Path(database)), Registry(Path(home)), cases(10, 0.2), Where("ray", address)):
        tell()


def task(registry: Registry, case: Case, **changed: Any) -> worker.Turn:
    build = registry.find(GOOD)
    environment = environment_key(placed_here(build).where.items())
    batch = Batch(case, build, environment, 0)
    batch.plan(Control(), Rules.load())
    [share] = shares_of([batch], 1, limits(), Rules.load())
    made = share.task()
    assert made is not None
    return replace(made, **changed)


def assert_refused(task: Any, what: str, *words: str) -> None:
    refusal = worker.do(task)
    assert isinstance(refusal, worker.Refusal)
    assert refusal.what == what
    for word in words:
        assert word in refusal.reason


def test_a_node_refuses_what_it_cannot_vouch_for(registry: Registry, monkeypatch: pytest.MonkeyPatch) -> None:
    case = cases(1)[0]
    unknown = replace(registry.find(GOOD), version="2.1.9", channel="nightly")
    assert_refused(task(registry, case, code="0.1 (x)"), "code", "install the same")
    assert_refused(task(registry, case, environment="another"), "environment", "its environment is cpu")
    assert_refused(task(registry, case, build=unknown), "build", "is not installed there")
    monkeypatch.setenv("PATH", BARE["PATH"])
    words = "scripts from issues are not run here", "bubblewrap is not installed"
    assert_refused(task(registry, hostile()), "sandbox", *words)
    monkeypatch.undo()
    far_embedding._encoder.cache_clear()
    other = Encode(worker.code_here(), "another@0123/int8", ("text",))
    assert_refused(other, "encoder", "not another@0123/int8: install the same")
    far_embedding._encoder.cache_clear()
    monkeypatch.setitem(far_embedding.packages.EXTRAS, "classify", ("no_such_package",))
    assert_refused(other, "encoder", "torch-embers[classify]")


@pytest.mark.serial
@WITH_RAY
def test_a_sweep_whose_driver_and_then_a_node_are_killed_loses_nothing_and_repeats_no_run(
    tmp_path: Path, registry: Registry, cluster: Any
) -> None:
    wanted, progress = cases(10, 0.2), Recorded()
    local, far = Store(tmp_path / "local.duckdb"), Store(tmp_path / "far.duckdb")
    list(sweep(local, registry, wanted, Where()))
    made = "SELECT case_hash, build, attempt, planted, ran_at FROM runs"
    with nodes_of(cluster, {}, {}) as added:
        kill_driver(drive_sweep, far.path, registry.folder, cluster.address)
        kept = rows(far.path, made)
        assert kept
        kill = killer(cluster, added[0])
        for cell in sweep(far, registry, wanted, Where("ray", cluster.address), progress):
            if cell.fresh:
                kill()
    assert any("is gone" in line or "was lost" in line for line in progress.lines), progress.lines
    assert set(kept) <= set(rows(far.path, made))
    assert rows(far.path, RUN_TWICE) == []
    for query in (
        "SELECT case_hash, build, environment, profile, batch, verdict, flaky, k, n, detectable_rate, control, "
        "control_build, control_k, control_n, detail, signature, provenance FROM verdicts ORDER BY ALL",
        "SELECT build, name, version FROM builds ORDER BY ALL",
        "SELECT * EXCLUDE (seen_at) FROM environments ORDER BY ALL",
    ):
        assert rows(far.path, query) == rows(local.path, query)


@pytest.mark.serial
@WITH_RAY
def test_hostile_work_is_left_to_a_node_with_a_sandbox(tmp_path: Path, registry: Registry, cluster: Any) -> None:
    where, wanted = Where("ray", cluster.address), [hostile()]
    with nodes_of(cluster, BARE):
        store = Store(tmp_path / "refused.duckdb")
        with pytest.raises(SandboxError, match=r"scripts from issues are not run here: .*bubblewrap is not installed"):
            list(sweep(store, registry, wanted, where))
        assert rows(store.path, "FROM runs") == []
    with nodes_of(cluster, BARE, {}):
        store = Store(tmp_path / "given.duckdb")
        cells = list(sweep(store, registry, wanted, where))
    assert {(cell.build.name, cell.decision.verdict) for cell in cells} == {(BAD, "occurs"), (GOOD, "absent")}
    assert {guarantees for (guarantees,) in rows(store.path, "SELECT len(guarantees) FROM runs")} == {len(GUARANTEES)}


# ---- bisections ----------------------------------------------------------------------------------------------------


def bisected(path: Path, home: Path, where: Where, progress: Any = None, **asked: Any) -> dict[str, Any]:
    """The answer as plain data, and the steps as they are kept."""
    store = Store(path)
    if not path.is_file():
        with store.writer("test", create=True) as writer, writer.transaction() as connection:
            code = FADES.format(number=1, sleep=0.1, fixed="2.3")
            bank.save(connection, [case_of(code, known_bad=["2.0.1"])])
    request = BisectRequest(**({"name": "pt1_example"} | asked), where=where)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Registry, "_current", lambda _: None)
        patch.setattr(bisecting.shipped, "load", lambda _: 0)
        made = bisecting.bisect(store, Settings(database=path, builds_dir=home), request, progress or Silent())
    steps = rows(path, "SELECT version, batch, answer, k, n, confidence, detail FROM bisection_steps ORDER BY asked_at")
    return as_table(made) | {"kept": steps}


def drive_bisection(database: str, home: str, address: str) -> None:
    ask = sessions.Remembering.__call__

    def told(self: Any, place: int) -> Any:
        reply = ask(self, place)
        tell()
        return reply

    sessions.Remembering.__call__ = told  # type: ignore[method-assign]
    bisected(Path(database), Path(home), Where("ray", address))


@pytest.mark.serial
@WITH_RAY
def test_a_bisection_on_two_nodes_asks_and_answers_as_on_one_machine(tmp_path: Path, home: Path, cluster: Any) -> None:
    script = tmp_path / "dies.py"
    script.write_text(DIES, encoding="utf-8")
    alone = {"name": "", "script": script, "runs": 10}
    here = [bisected(tmp_path / "a.duckdb", home, Where()), bisected(tmp_path / "b.duckdb", home, Where(), **alone)]
    with nodes_of(cluster, {}, {}):
        far = Where("ray", cluster.address)
        there = [bisected(tmp_path / "c.duckdb", home, far), bisected(tmp_path / "d.duckdb", home, far, **alone)]
    assert there == here
    assert [made["changes"][0]["after"] for made in here] == ["2.3.1"] * 2
    assert here[0]["environment"], "where it was measured is said"
    reached = "SELECT v.version, verdict, k, n FROM latest_verdicts JOIN builds v USING (build) ORDER BY ALL"
    measured = rows(tmp_path / "c.duckdb", reached)
    assert [row for row in rows(tmp_path / "a.duckdb", reached) if row not in measured] == []


@pytest.mark.serial
@WITH_RAY
def test_a_bisection_whose_driver_and_then_a_node_are_killed_comes_to_the_same(
    tmp_path: Path, home: Path, cluster: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = bisected(tmp_path / "here.duckdb", home, Where())
    database, progress = tmp_path / "there.duckdb", Recorded()
    with nodes_of(cluster, {}, {}) as added:
        kill_driver(drive_bisection, database, home, cluster.address)
        kept = rows(database, "SELECT version, batch, asked_at FROM bisection_steps")
        assert kept
        monkeypatch.setattr(progress, "advanced", killer(cluster, added[0]))
        there = bisected(database, home, Where("ray", cluster.address), progress)
        assert added[0] not in cluster.worker_nodes
    for key in ("answer", "changes", "ranges", "sentence", "environment"):
        assert there[key] == here[key], key
    assert set(kept) <= set(rows(database, "SELECT version, batch, asked_at FROM bisection_steps"))
    assert rows(database, "SELECT count(*) FROM bisections") == [(1,)]
    assert rows(database, RUN_TWICE) == []


# ---- hunts ---------------------------------------------------------------------------------------------------------

OPERATORS = [
    *("abs", "add", "clamp_min", "mean", "mul", "nn.functional.gelu", "nn.functional.max_pool1d", "select_scatter"),
    *("sin", "where"),
]
"""With findings, and none that writes outside: what that does to a process differs from run to run."""


def hunted(out: Path, registry: Registry, where: Where, reached: Callable[[], object] = int) -> list[dict[str, Any]]:
    """What was found, by operator; ``reached`` is called after each."""
    request = hunt.HuntRequest(OPERATORS, ["float32"], out, ["forward", "out"])
    made = []
    with opened(where, registry, Silent(), jobs=1) as dispatcher:
        for one in hunt.hunt(registry.find("current"), request, dispatcher):
            made.append(one.row())
            reached()
    return sorted(made, key=lambda row: str(row["op"]))


def drive_hunt(out: str, home: str, address: str) -> None:
    hunted(Path(out), Registry(Path(home)), Where("ray", address), tell)


@pytest.mark.serial
@WITH_RAY
def test_a_hunt_whose_driver_and_then_a_node_are_killed_finds_what_one_machine_finds(
    tmp_path: Path, registry: Registry, cluster: Any
) -> None:
    here = hunted(tmp_path / "here", registry, Where())
    assert [row["op"] for row in here if row["ended"]] == []
    assert {found["id"] for row in here for found in row["findings"]}, "the operators are such that something is found"
    out = tmp_path / "there"
    with nodes_of(cluster, {}, {}) as added:
        kill_driver(drive_hunt, out, registry.folder, cluster.address)
        begun = (out / hunt.FILE).read_text(encoding="utf-8")
        assert begun.count("\n") < len(OPERATORS), "the driver was killed before the end"
        there = hunted(out, registry, Where("ray", cluster.address), killer(cluster, added[0]))
        assert added[0] not in cluster.worker_nodes
    assert there == here
    whole = (out / hunt.FILE).read_text(encoding="utf-8")
    assert whole.startswith(begun), "what was written is kept"
    assert whole.count("\n") == len(OPERATORS), "nothing is run twice"
    maps = []
    for place in ("here", "there"):
        hunt_coverage.write(tmp_path / place, tmp_path / f"{place}.parquet")
        maps.append(duckdb.sql(f"FROM read_parquet('{tmp_path / place}.parquet') ORDER BY ALL").fetchall())
    assert maps[0] == maps[1]
    assert maps[0]


# ---- embedding -----------------------------------------------------------------------------------------------------


EMBEDDED = {
    "vectors": "SELECT text_hash, model, vector FROM embeddings ORDER BY ALL",
    "texts": "SELECT repo, number, variant, rules, content_hash, text_hash FROM model_texts ORDER BY ALL",
}


def embedded(path: Path, where: Where, embedder: Embedder, progress: Any = None) -> dict[str, Any]:
    store = Store(path)
    with embedding(where, path.parent, Silent(), jobs=1) as spread, store.writer("test") as writer:
        vectors.embed_items(store, writer, spread(embedder), progress=progress)
    return {name: rows(path, query) for name, query in EMBEDDED.items()}


@pytest.mark.serial
@WITH_RAY
def test_vectors_from_two_nodes_are_bit_equal_whoever_stops_or_dies(
    tmp_path: Path, catalog_template: Path, cluster: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from torch_embers.classify.embedding.embed import load_embedder

    monkeypatch.setattr(vectors, "BATCH", 64)
    own = load_embedder()
    for name in ("here", "there"):
        shutil.copy(catalog_template, tmp_path / f"{name}.duckdb")
    here = embedded(tmp_path / "here.duckdb", Where(), own)
    assert len(here["vectors"]) > 300
    commits = []

    def stopped(count: int) -> None:
        commits.append(count)
        if len(commits) == 2:
            raise KeyboardInterrupt

    with nodes_of(cluster, {}, {}) as added:
        where = Where("ray", cluster.address)
        with pytest.raises(KeyboardInterrupt):
            embedded(tmp_path / "there.duckdb", where, own, stopped)
        assert len(rows(tmp_path / "there.duckdb", EMBEDDED["texts"])) == 2 * 64
        assert embedded(tmp_path / "there.duckdb", where, own, killer(cluster, added[0])) == here


class Near(Embedder):
    """A vector that says how long the text is."""

    model_id, dim = "near@0/none", 2

    def _encode(self, texts: Sequence[str]) -> Vectors:
        return np.array([[1.0, len(text)] for text in texts], np.float32).reshape(-1, 2)


class Backwards:
    """A crew that does all jobs, the last first."""

    def work(self, jobs: Any, *, lazily: bool) -> Iterator[tuple[Any, Done]]:
        assert lazily
        for job in reversed(list(jobs)):
            yield job, Done("here", Near().encode(job.texts))


def test_batches_come_in_order_however_their_parts_come(monkeypatch: pytest.MonkeyPatch) -> None:
    small = far_embedding.limits().model_copy(update={"texts": 2})
    monkeypatch.setattr(far_embedding, "limits", lambda: small)
    batches = [[], ["a", "bb", "ccc", "dddd", "eeeee"], [], ["ffffff"], []]
    crew: Any = Backwards()
    found = list(ClusterEmbedder(Near(), crew).encode_many(batches))
    for one, batch in zip(found, batches, strict=True):
        assert np.array_equal(one, Near().encode(batch))


# ---- the connection and the command line ---------------------------------------------------------------------------

LISTENERS = """
import os, sys
from pathlib import Path
from torch_embers.progress import Silent
from torch_embers.builds.registry import Registry
from torch_embers.run.where import Where, opened

with opened(Where("ray"), Registry(Path(sys.argv[1])), Silent(), jobs=1):
    import psutil

    own = {os.getpid(), *(child.pid for child in psutil.Process().children(recursive=True))}
    for one in psutil.net_connections("tcp"):
        if one.status == "LISTEN" and one.pid in own:
            print(one.laddr.ip.removeprefix("::ffff:"))
"""


@pytest.mark.serial
@WITH_RAY
def test_a_ray_of_our_own_listens_on_the_loopback_address_alone(tmp_path: Path) -> None:
    pytest.importorskip("ray")
    pytest.importorskip("psutil")
    program = [sys.executable, "-c", LISTENERS, str(tmp_path)]
    surroundings = os.environ | {"PYTHONPATH": str(Path(bank.__file__).parents[2])}
    done = subprocess.run(program, capture_output=True, text=True, check=False, env=surroundings)
    assert done.returncode == 0, done.stderr
    assert set(done.stdout.split()) == {"127.0.0.1"}


@pytest.mark.parametrize("words", [["hunt"], ["classify"], ["bisect", "--script", __file__]])
def test_a_missing_cluster_is_one_clean_line(words: Sequence[str], tmp_path: Path, catalog_template: Path) -> None:
    database = tmp_path / "e.duckdb"
    shutil.copy(catalog_template, database)
    more = ["--out", tmp_path / "hunt"] if words[0] == "hunt" else ["--database", database]
    done = run_embers(*words, *more, "--executor", "ray", "--address", "127.0.0.1:1")
    assert_clean_error(done, 7, "no Ray cluster at 127.0.0.1:1 can be used")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ("run --executor cloud", "use local or ray"),
        ("run --address h:1", "give --executor ray with it"),
        ("run --executor ray --oracle layout", "on this machine only"),
        ("bisect --predicate true --executor ray", "--predicate runs on this machine only"),
        ("bisect pt1 --executor cloud", "use local or ray"),
        ("hunt --address h:1", "give --executor ray with it"),
        ("classify --address h:1", "give --executor ray with it"),
    ],
)
def test_options_that_do_not_fit_are_named(tmp_path: Path, options: str, words: str) -> None:
    more = [] if options.startswith("hunt") else ["--database", tmp_path / "none.duckdb"]
    assert_clean_error(run_embers(*options.split(), *more), 3, words)
