"""Bisections, hunts and embedding on the nodes of a Ray cluster: what one machine finds, whoever dies meanwhile."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb
import numpy as np
import pytest

import raylets
from raylets import nodes_of
from support import Recorded, assert_clean_error, case_of, fake_python, rows, run_embers
from torch_embers.builds.registry import Registry
from torch_embers.classify.embedding import vectors
from torch_embers.classify.embedding.embedder import Embedder
from torch_embers.progress import Silent
from torch_embers.repro import bank
from torch_embers.run import hunt, hunt_coverage
from torch_embers.run.bisect import command as bisecting
from torch_embers.run.bisect.report import as_table
from torch_embers.run.bisect.request import BisectRequest
from torch_embers.run.cluster import embedding as far_embedding
from torch_embers.run.cluster import worker
from torch_embers.run.cluster.embedding import ClusterEmbedder, Encode
from torch_embers.run.cluster.worker import Done
from torch_embers.run.where import Where, embedding, opened
from torch_embers.settings import Settings
from torch_embers.store.store import Store

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from torch_embers.classify.embedding.embedder import Vectors

VERSIONS = ("2.0.1", "2.1.2", "2.2.2", "2.3.1", "2.4.1", "2.5.1", "2.6.0")
FADES = """
import os
import sys
import time

import torch

time.sleep(0.1)
bad = torch.__version__ < "2.3" or os.environ.get("EMBERS_PLANT") == "1"
print("off" if bad else "equal")
sys.exit(1 if bad else 0)
"""
DIES = "import os, sys, torch\nif torch.__version__ < '2.3':\n    os.abort()\n"
SHARED = pytest.mark.timeout(1800)


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Seven builds; the bug is in the first three."""
    folder = tmp_path_factory.mktemp("builds")
    registry = Registry(folder / "registry")
    for place, version in enumerate(VERSIONS):
        registry.register(fake_python(folder / version, version, f"{place}" * 16))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("EMBERS_BUILDS_DIR", str(registry.folder))
        yield registry.folder


@pytest.fixture(scope="module")
def cluster(home: Path) -> Iterator[Any]:
    """Its nodes find the builds of ``home``."""
    with raylets.head() as made:
        yield made


def paths_of_tests() -> list[str]:
    """Folders from which a driver of its own imports this file, what it imports, and embers."""
    own = Path(__file__).resolve()
    return [str(path) for path in (own.parent, own.parents[1], Path(bank.__file__).parents[2])]


# ---- bisections ----------------------------------------------------------------------------------------------------


@pytest.fixture
def _no_shipped_cases(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Registry, "_current", lambda _: None)
    monkeypatch.setattr(bisecting.shipped, "load", lambda _: 0)


def bisected(path: Path, home: Path, where: Where, progress: Any = None, **asked: Any) -> dict[str, Any]:
    """The answer as plain data, and the steps as they are kept."""
    store = Store(path)
    if not path.is_file():
        with store.writer("test", create=True) as writer, writer.transaction() as connection:
            bank.save(connection, [case_of(FADES, known_bad=["2.0.1"])])
    request = BisectRequest(**({"name": "pt1_example"} | asked), where=where)
    made = bisecting.bisect(store, Settings(database=path, builds_dir=home), request, progress or Silent())
    steps = rows(path, "SELECT version, batch, answer, k, n, confidence, detail FROM bisection_steps ORDER BY asked_at")
    return as_table(made) | {"kept": steps}


@pytest.mark.serial
@SHARED
@pytest.mark.usefixtures("_no_shipped_cases")
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


BISECTION = """
import sys

sys.path[:0] = {path!r}
from pathlib import Path
import pytest
import test_cluster_commands as own
from torch_embers.builds.registry import Registry
from torch_embers.run.bisect import command, sessions
from torch_embers.run.where import Where

Registry._current = lambda _: None
command.shipped.load = lambda _: 0
ask = sessions.Remembering.__call__

def told(self, place):
    reply = ask(self, place)
    print("step", flush=True)
    return reply

sessions.Remembering.__call__ = told
own.bisected(Path({database!r}), Path({home!r}), Where("ray", {address!r}))
"""


@pytest.mark.serial
@SHARED
@pytest.mark.usefixtures("_no_shipped_cases")
def test_a_bisection_whose_driver_and_then_a_node_are_killed_comes_to_the_same(
    tmp_path: Path, home: Path, cluster: Any
) -> None:
    here = bisected(tmp_path / "here.duckdb", home, Where())
    database = tmp_path / "there.duckdb"
    path = paths_of_tests()
    script = BISECTION.format(path=path, database=str(database), home=str(home), address=cluster.address)
    with nodes_of(cluster, {}, {}) as added:
        with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True) as driver:
            assert driver.stdout is not None
            assert [driver.stdout.readline() for _ in range(2)] == ["step\n"] * 2
            driver.kill()
        kept = rows(database, "SELECT version, batch, asked_at FROM bisection_steps")
        assert kept

        class Killing(Recorded):
            def advanced(self, count: int) -> None:
                if added[0] in cluster.worker_nodes:
                    cluster.remove_node(added[0], allow_graceful=False)
                super().advanced(count)

        there = bisected(database, home, Where("ray", cluster.address), Killing())
        assert added[0] not in cluster.worker_nodes
    for key in ("answer", "changes", "ranges", "sentence", "environment"):
        assert there[key] == here[key], key
    assert set(kept) <= set(rows(database, "SELECT version, batch, asked_at FROM bisection_steps"))
    assert rows(database, "SELECT count(*) FROM bisections") == [(1,)]
    key = "case_hash, build, environment, batch, planted, attempt"
    assert rows(database, f"SELECT {key} FROM runs GROUP BY ALL HAVING count(*) > 1") == []


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


HUNT = """
import sys

sys.path[:0] = {path!r}
from pathlib import Path
import test_cluster_commands as own
from torch_embers.builds.registry import Registry
from torch_embers.run.where import Where

own.hunted(Path({out!r}), Registry(Path({home!r})), Where("ray", {address!r}), lambda: print("reached", flush=True))
"""


@pytest.mark.serial
@SHARED
def test_a_hunt_whose_driver_and_then_a_node_are_killed_finds_what_one_machine_finds(
    tmp_path: Path, home: Path, cluster: Any
) -> None:
    registry = Registry(home)
    here = hunted(tmp_path / "here", registry, Where())
    assert [row["op"] for row in here if row["ended"]] == []
    assert {found["id"] for row in here for found in row["findings"]}, "the operators are such that something is found"
    out, path = tmp_path / "there", paths_of_tests()
    script = HUNT.format(path=path, out=str(out), home=str(home), address=cluster.address)
    with nodes_of(cluster, {}, {}) as added:
        with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True) as driver:
            assert driver.stdout is not None
            assert [driver.stdout.readline() for _ in range(2)] == ["reached\n"] * 2
            driver.kill()
        begun = (out / hunt.FILE).read_text(encoding="utf-8")
        assert begun.count("\n") < len(OPERATORS), "the driver was killed before the end"

        def killing() -> None:
            if added[0] in cluster.worker_nodes:
                cluster.remove_node(added[0], allow_graceful=False)

        there = hunted(out, registry, Where("ray", cluster.address), killing)
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
    told = Recorded()
    with embedding(where, path.parent, told, jobs=1) as spread, store.writer("test") as writer:
        vectors.embed_items(store, writer, spread(embedder), progress=progress)
    return {name: rows(path, query) for name, query in EMBEDDED.items()}


@pytest.mark.serial
@SHARED
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
    commits = 0

    def stopped(_count: int) -> None:
        nonlocal commits
        commits += 1
        if commits == 2:
            raise KeyboardInterrupt

    with nodes_of(cluster, {}, {}) as added:
        where = Where("ray", cluster.address)
        with pytest.raises(KeyboardInterrupt):
            embedded(tmp_path / "there.duckdb", where, own, stopped)
        assert len(rows(tmp_path / "there.duckdb", EMBEDDED["texts"])) == 2 * 64

        def killing(_count: int) -> None:
            if added[0] in cluster.worker_nodes:
                cluster.remove_node(added[0], allow_graceful=False)

        there = embedded(tmp_path / "there.duckdb", where, own, killing)
    assert there == here


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
    assert [len(one) for one in found] == [len(batch) for batch in batches]
    for one, batch in zip(found, batches, strict=True):
        assert np.array_equal(one, Near().encode(batch))


def test_a_node_with_another_encoder_refuses(monkeypatch: pytest.MonkeyPatch) -> None:
    far_embedding._encoder.cache_clear()
    task = Encode(worker.code_here(), "another@0123/int8", ("text",))
    refusal = worker.do(task)
    assert isinstance(refusal, worker.Refusal)
    assert refusal.what == "encoder"
    assert "not another@0123/int8: install the same" in refusal.reason
    far_embedding._encoder.cache_clear()
    monkeypatch.setitem(far_embedding.packages.EXTRAS, "classify", ("no_such_package",))
    refusal = worker.do(task)
    assert isinstance(refusal, worker.Refusal)
    assert "torch-embers[classify]" in refusal.reason


# ---- the connection ------------------------------------------------------------------------------------------------

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
@SHARED
def test_a_ray_of_our_own_listens_on_the_loopback_address_alone(tmp_path: Path) -> None:
    pytest.importorskip("ray")
    pytest.importorskip("psutil")
    path = str(Path(bank.__file__).parents[2])
    done = subprocess.run(
        [sys.executable, "-c", LISTENERS, str(tmp_path)],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"PYTHONPATH": path},
    )
    assert done.returncode == 0, done.stderr
    assert set(done.stdout.split()) == {"127.0.0.1"}


# ---- the command line ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("words", [["hunt"], ["classify"], ["bisect", "--script", __file__]])
def test_a_cluster_that_is_not_there_is_one_clean_line(
    words: Sequence[str], tmp_path: Path, catalog_template: Path
) -> None:
    database = tmp_path / "e.duckdb"
    shutil.copy(catalog_template, database)
    more = ["--out", tmp_path / "hunt"] if words[0] == "hunt" else ["--database", database]
    done = run_embers(*words, *more, "--executor", "ray", "--address", "127.0.0.1:1")
    assert_clean_error(done, 7, "no Ray cluster at 127.0.0.1:1 can be used")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["run", "--executor", "cloud"], "use local or ray"),
        (["run", "--address", "h:1"], "give --executor ray with it"),
        (["run", "--executor", "ray", "--oracle", "layout"], "on this machine only"),
        (["bisect", "--predicate", "true", "--executor", "ray"], "--predicate runs on this machine only"),
        (["bisect", "pt1", "--executor", "cloud"], "use local or ray"),
        (["hunt", "--address", "h:1"], "give --executor ray with it"),
        (["classify", "--address", "h:1"], "give --executor ray with it"),
    ],
)
def test_options_that_do_not_fit_are_named(tmp_path: Path, options: Sequence[str], words: str) -> None:
    more = [] if options[0] == "hunt" else ["--database", tmp_path / "none.duckdb"]
    assert_clean_error(run_embers(*options, *more), 3, words)
