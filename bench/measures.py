"""The six measures of bench.toml: what each compares, as ways that can be timed.

A measure is a context manager: it prepares what is not timed and yields comparisons. A way does its part once and
returns seconds; it ends the program where it did other work than the others, because a ratio would mean nothing then.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from contextlib import AbstractContextManager

    from torch_embers.cases.case import Case

    Way = Callable[[], float]

ROOT = Path(__file__).resolve().parent.parent
CHILD = Path(__file__).with_name("child.py")
OURS = "embers"
SCRIPT = "import torch\na = torch.ones(8, 8, requires_grad=True)\n(a @ a).sum().backward()\nassert a.grad is not None\n"
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")


@dataclass(frozen=True)
class Comparison:
    """Ways to do one thing.

    Attributes:
        what: the thing.
        ways: ``embers`` and others, by name.
        note: what is missing, and why.
    """

    what: str
    ways: Mapping[str, Way]
    note: str = ""


@dataclass(frozen=True)
class Given:
    """What a measure gets.

    Attributes:
        folder: empty, removed when the measure is over.
        parameters: those of the measure in bench.toml.
        pythons: interpreters of builds, whole paths.
    """

    folder: Path
    parameters: Mapping[str, Any]
    pythons: Sequence[Path]


def interpreter(given: str) -> Path:
    """The whole path of an interpreter that is named by a path, relative or not, or by a command.

    A link stays one: the folder of the link is what makes an environment.

    Raises:
        SystemExit: there is no such program.
    """
    found = shutil.which(given)
    if found is None:
        raise SystemExit(f"{given}: no interpreter")
    return Path(os.path.abspath(found))  # noqa: PTH100 - Path.resolve would follow the link


def process(
    *command: str | Path, database: Path | None = None, endings: Sequence[int] = (0,), **variables: str
) -> tuple[float, str]:
    """Seconds of a process from its start to its end, and what it printed.

    Raises:
        SystemExit: it ended otherwise than with one of ``endings``.
    """
    place = {} if database is None else {"EMBERS_DATABASE": str(database)}
    start = time.perf_counter()
    done = subprocess.run(
        list(map(str, command)), env={**os.environ, **place, **variables}, capture_output=True, text=True, check=False
    )
    seconds = time.perf_counter() - start
    if done.returncode not in endings:
        raise SystemExit(
            f"{' '.join(map(str, command))[:200]} ended with {done.returncode}: {(done.stderr or done.stdout)[-2000:]}"
        )
    return seconds, done.stdout


def embers(*arguments: str, database: Path | None = None, **variables: str) -> float:
    """Seconds of a command of embers."""
    return process(sys.executable, "-m", "torch_embers", *arguments, database=database, **variables)[0]


# ---- mine ----------------------------------------------------------------------------------------------------------


@contextmanager
def mine(given: Given) -> Iterator[list[Comparison]]:
    """A comparison for each time that the server takes to answer."""
    other, note = perceval(given.parameters["perceval"])
    with ExitStack() as stack:
        made = []
        for seconds in given.parameters["answer_after"]:
            url = stack.enter_context(tracker(given.parameters["items"], seconds))
            ways: dict[str, Way] = {
                OURS: lambda url=url: by_embers(given, url),
                "naive loop": lambda url=url: by_other(given, sys.executable, "naive", url),
            }
            if other:
                ways["Perceval"] = lambda url=url: by_other(given, other, "perceval", url)
            made.append(
                Comparison(f"{given.parameters['items']:,} items, an answer after {1000 * seconds:.0f} ms", ways, note)
            )
        yield made


@contextmanager
def tracker(items: int, answer_after: float) -> Iterator[str]:
    """Address of a tracker in a process of its own."""
    command = [sys.executable, str(CHILD), "tracker", str(items), str(answer_after)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        try:
            yield server.stdout.readline().strip()
        finally:
            server.kill()


def perceval(requirement: str) -> tuple[str, str]:
    """Interpreter of an environment with Perceval, made at the first use, or none; and why there is none."""
    folder = ROOT / ".venv" / "perceval"
    python = str(folder / "bin" / "python")
    try:
        process(sys.executable, "-m", "venv", folder)
        process(python, "-m", "pip", "install", "--quiet", requirement)
    except SystemExit as error:
        return "", f"{requirement} could not be installed and is left out: {str(error).strip().splitlines()[-1]}"
    return python, ""


def by_embers(given: Given, url: str) -> float:
    """A mine of everything into a new database."""
    import duckdb

    database = given.folder / "mined.duckdb"
    database.unlink(missing_ok=True)
    command = ("mine", "--source", "rest", "--repo", "alice/bugs", "--api-url", url)
    seconds = embers(*command, database=database, EMBERS_TOKENS="t", EMBERS_PAUSE="0")
    with duckdb.connect(database, read_only=True) as connection:
        same_as_served(
            given,
            [connection.execute(f"SELECT count(*) FROM {table}").fetchall()[0][0] for table in ("items", "comments")],
        )
    return seconds


def by_other(given: Given, python: str, name: str, url: str) -> float:
    """A process that fetches everything and prints how many items and comments there were."""
    seconds, output = process(python, CHILD, name, url)
    same_as_served(given, json.loads(output.splitlines()[-1]))
    return seconds


def same_as_served(given: Given, found: Sequence[int]) -> None:
    """End the program where not all items and comments of the server were found."""
    items = given.parameters["items"]
    if (served := [items, sum(number % 4 for number in range(1, items + 1))]) != list(found):
        raise SystemExit(f"served were {served} items and comments, found {list(found)}")


# ---- one sandboxed run ---------------------------------------------------------------------------------------------


@contextmanager
def sandboxed_run(given: Given) -> Iterator[list[Comparison]]:
    """Two comparisons for each build: a fork of the zygote, and a fresh process."""
    from torch_embers.sandbox import doctor
    from torch_embers.sandbox.runner import Attempt, Runner

    script = given.folder / "case.py"
    script.write_text(SCRIPT, encoding="utf-8")

    def runs(runner: Runner, count: int, *, fresh: bool) -> float:
        start = time.perf_counter()
        for result in runner.run(Attempt(str(number), SCRIPT, script.name, fresh=fresh) for number in range(count)):
            if result.exit_code != 0:
                raise SystemExit(f"the script failed: {result}")
        return (time.perf_counter() - start) / count

    with ExitStack() as stack:
        made = []
        for python in given.pythons:
            runner = stack.enter_context(Runner(python, "hostile", doctor.prove()))
            [first] = runner.run([Attempt("first", SCRIPT, script.name)])
            build, forks = f"torch {first.versions['torch']}", int(given.parameters["forks"])

            def plain(python: Path = python) -> float:
                return process(python, script, **ONE_THREAD)[0]

            made += [
                Comparison(
                    f"{build}, a fork", {OURS: lambda r=runner, n=forks: runs(r, n, fresh=False), "plain Python": plain}
                ),
                Comparison(
                    f"{build}, a fresh process", {OURS: lambda r=runner: runs(r, 1, fresh=True), "plain Python": plain}
                ),
            ]
        yield made


# ---- classify ------------------------------------------------------------------------------------------------------


@contextmanager
def classify(given: Given) -> Iterator[list[Comparison]]:
    """Titles alone, and titles with summaries: the longest real texts that come with the project."""
    from torch_embers import resources
    from torch_embers.classify.aggregation import Aggregator
    from torch_embers.classify.embedding.embed import load_embedder
    from torch_embers.classify.features import Item
    from torch_embers.classify.label_items import labels_of
    from torch_embers.classify.model import load, shipped_folder
    from torch_embers.classify.text import read

    encoder, made = load_embedder(threads=given.parameters["threads"]), load(shipped_folder())
    aggregator = Aggregator(made)
    rows = [json.loads(line) for line in resources.data_file("catalog.jsonl").read_text(encoding="utf-8").splitlines()]
    rows = rows[:: len(rows) // given.parameters["texts"]][: given.parameters["texts"]]

    def labelled(items: list[Item], size: int) -> float:
        start = time.perf_counter()
        for first in range(0, len(items), size):
            part = items[first : first + size]
            vectors = [encoder.encode([getattr(item.text, name) for item in part]) for name in ("title", "words")]
            labels_of(made, aggregator, [("", place) for place in range(len(part))], part, {}, vectors)
        return time.perf_counter() - start

    kinds = {
        "titles": [Item(read(row["title"], None)) for row in rows],
        "titles and summaries": [Item(read(row["title"], row["summary"])) for row in rows],
    }
    yield [
        Comparison(
            f"{len(items)} {kind}",
            {
                OURS: lambda items=items: labelled(items, len(items)),
                "each alone": lambda items=items: labelled(items, 1),
            },
        )
        for kind, items in kinds.items()
    ]


# ---- queries -------------------------------------------------------------------------------------------------------


@contextmanager
def queries(given: Given) -> Iterator[list[Comparison]]:
    """A comparison for each command of bench.toml."""
    sys.path.insert(0, str(ROOT / "tests"))
    from synthetic import make

    items, database = int(given.parameters["items"]), given.folder / "synthetic.duckdb"
    make(database, items, items * int(given.parameters["comments_per_item"]))

    def filled(text: str) -> str:
        return text.replace("{folder}", str(given.folder))

    yield [
        Comparison(
            f"{name}, {items:,} items",
            {
                OURS: lambda words=asked["embers"]: embers(*map(filled, words), database=database),
                "plain SQL": lambda text=asked["sql"]: process(sys.executable, CHILD, "sql", database, filled(text))[0],
            },
        )
        for name, asked in given.parameters["commands"].items()
    ]


# ---- sweep ---------------------------------------------------------------------------------------------------------


def ended_by_themselves(one: Case) -> bool:
    """Whether a case needs no accelerator and ends with an exit code; a hang or a crash would time something else."""
    return [str(need) for need in one.needs] == ["cpu"] and {sign.kind for sign in one.signature} == {"mismatch"}


@contextmanager
def sweep(given: Given) -> Iterator[list[Comparison]]:
    """Seconds of one run, in a sweep and alone."""
    import duckdb

    from torch_embers.cases import case

    cases = [one for one in case.shipped() if ended_by_themselves(one)][: given.parameters["cases"]]
    script, database = given.folder / "case.py", given.folder / "sweep.duckdb"

    def ours() -> float:
        database.unlink(missing_ok=True)
        embers("mine", "--source", "catalog", database=database)
        seconds = embers("run", *(one.name for one in cases), "--jobs", "1", database=database)
        with duckdb.connect(database, read_only=True) as connection:
            return seconds / int(connection.execute("SELECT count(*) FROM runs").fetchall()[0][0])

    def plain() -> float:
        seconds = 0.0
        for one in cases:
            script.write_text(one.code, encoding="utf-8")
            seconds += process(sys.executable, script, endings=(0, 1, 125), **ONE_THREAD)[0]
        return seconds / len(cases)

    yield [Comparison(f"{len(cases)} cases, a run", {OURS: ours, "plain Python": plain})]


# ---- start-up ------------------------------------------------------------------------------------------------------


@contextmanager
def start_up(given: Given) -> Iterator[list[Comparison]]:
    """`--version`, `--help` and `status`."""
    database = given.folder / "catalog.duckdb"
    embers("mine", "--source", "catalog", database=database)
    nothing = lambda: process(sys.executable, "-c", "pass")[0]  # noqa: E731
    counted = lambda: process(sys.executable, CHILD, "sql", database, "SELECT count(*) FROM items")[0]  # noqa: E731
    yield [
        Comparison(word, {OURS: lambda word=word: embers(word, database=database), name: way})
        for word, name, way in (
            ("--version", "python -c pass", nothing),
            ("--help", "python -c pass", nothing),
            ("status", "plain SQL", counted),
        )
    ]


MEASURES: dict[str, Callable[[Given], AbstractContextManager[list[Comparison]]]] = {
    "mine": mine,
    "sandboxed run": sandboxed_run,
    "classify": classify,
    "queries": queries,
    "sweep": sweep,
    "start-up": start_up,
}
"""By their names in bench.toml."""
