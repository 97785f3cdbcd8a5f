"""Measure embedding and classifying together: `python bench/classify.py --data FOLDER [--items 150000] [--threads 2]`.

FOLDER holds mhnurf_pytorch.csv.gz, recent_issues_text.jsonl.gz and maintainer_labels.csv.gz; the files are not part of the
project. Two parts:

* speed: the same real texts, cold, by one plain `SentenceTransformer.encode(list)` and a predict, and by this package. Rounds
  go through all ways in turn, so that a busy machine hits all of them; the best round counts. Both cut at the model's own 256
  tokens; loading is not counted. The price in quality is the difference in macro-F1 of the same classifier on the published
  splits of the mhnurf data, with vectors of the one and of the other.
* sitting (`--items`): a database of so many items, with texts put together from sentences of the real ones, goes through
  `embers classify`, is killed three times with SIGKILL, and goes on to the end. What the table then says is compared with a
  run that nobody killed (on `--check` items; the whole is compared with itself: nothing twice, nothing missing).

Results go to bench/classify.json, and from there into bench/RESULTS.md.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

import run
from torch_embers.classify.bundle import Bundle, shipped_folder
from torch_embers.classify.text import model_text

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    Floats = np.ndarray[Any, np.dtype[np.float32]]

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "bench" / "classify.json"
PLAIN, QUICK = "plain encode(list) + predict", "embers"
SPLITS = 10
KILLS = 3
PAGE = 10_000


# ---- texts ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Report:
    """Title and body as GitHub gave them, and the class of the mhnurf data where it is known."""

    title: str
    body: str
    label: int | None = None


def reports(folder: Path) -> dict[str, list[Report]]:
    """All local texts, by where they come from."""
    labelled = pd.read_csv(folder / "mhnurf_pytorch.csv.gz").sample(frac=1, random_state=999)
    recent = pd.read_json(folder / "recent_issues_text.jsonl.gz", lines=True)
    titles = pd.read_csv(folder / "maintainer_labels.csv.gz")
    rows = zip(labelled["Title"], labelled["Body"].fillna(""), labelled["class"], strict=True)
    return {
        "reports of mhnurf": [Report(str(title), str(body), int(label)) for title, body, label in rows],
        "recent reports": [
            Report(title, body) for title, _, body in (said.partition("\n") for said in recent["problem_statement"])
        ],
        "titles alone": [Report(str(title), "") for title in titles["title"]],
    }


def texts_of(found: Sequence[Report]) -> list[str]:
    return [model_text(report.title, report.body) for report in found]


# ---- speed ---------------------------------------------------------------------------------------------------------


@dataclass
class Way:
    """A way to embed and classify, and its best round."""

    name: str
    encode: Callable[[list[str]], Floats]
    predict: Callable[[list[str], Floats], object]
    wall: float = float("inf")
    cpu: float = float("inf")
    predicting: float = float("inf")
    vectors: Any = None


def ways(threads: int) -> list[Way]:
    import torch
    from sentence_transformers import SentenceTransformer

    from torch_embers.classify.embedding.embed import load_embedder
    from torch_embers.classify.embedding.weights import DEFAULT_MODEL, model_folder
    from torch_embers.classify.learning.features import table

    torch.set_num_threads(threads)
    plain = SentenceTransformer(str(model_folder()), device="cpu")
    quick = load_embedder(DEFAULT_MODEL, threads=threads)
    bundle = Bundle.load(shipped_folder())

    def one_by_one(texts: list[str], vectors: Floats) -> object:
        return [one.predict_proba(table(texts, vectors)) for one in bundle.classifiers.values()]

    return [
        Way(PLAIN, lambda texts: np.asarray(plain.encode(texts, show_progress_bar=False)), one_by_one),
        Way(QUICK, quick.encode, lambda texts, vectors: bundle.probabilities(table(texts, vectors))),
    ]


def race(runners: Sequence[Way], texts: list[str], rounds: int) -> None:
    for way in runners:
        way.wall = way.cpu = way.predicting = float("inf")
        way.predict(texts[:8], way.encode(texts[:8]))
    for _ in range(rounds):
        for way in runners:
            wall, cpu = time.perf_counter(), time.process_time()
            way.vectors = way.encode(texts)
            embedded = time.perf_counter()
            way.predict(texts, way.vectors)
            way.wall = min(way.wall, time.perf_counter() - wall)
            way.cpu = min(way.cpu, time.process_time() - cpu)
            way.predicting = min(way.predicting, time.perf_counter() - embedded)


def macro_f1(texts: list[str], vectors: Floats, labels: Sequence[int]) -> list[float]:
    """Of the hybrid classifier on the published splits, one figure per split."""
    from sklearn.metrics import f1_score
    from sklearn.model_selection import train_test_split

    from torch_embers.classify.learning.features import table
    from torch_embers.classify.learning.model import Classifier, Settings

    inputs, truth, scores = table(texts, vectors), np.array(list(map(str, labels))), []
    for split in range(SPLITS):
        known, unseen = train_test_split(np.arange(len(texts)), test_size=0.2, random_state=split)
        model = Classifier("mhnurf", Settings(folds=0)).fit(inputs.iloc[known], truth[known].tolist())
        said = np.array(model.classes)[model.predict_proba(inputs.iloc[unseen]).argmax(axis=1)]
        scores.append(float(f1_score(truth[unseen], said, average="macro")))
    return scores


def speed(folder: Path, threads: int, rounds: int, most: int | None) -> dict[str, Any]:
    """Both ways on each kind of text and on all of them; then the price in macro-F1."""
    found = reports(folder)
    runners = ways(threads)
    rows = []
    for kind, part in found.items():
        texts = [text for text in texts_of(part[:most]) if text]
        race(runners, texts, rounds)
        plain, quick = runners
        rows.append(
            {
                "texts": kind,
                "count": len(texts),
                "plain_per_second": len(texts) / plain.wall,
                "per_second": len(texts) / quick.wall,
                "ratio": plain.wall / quick.wall,
                "ratio_free_predict": (plain.wall - plain.predicting) / quick.wall,
                "per_cpu_second": len(texts) / quick.cpu,
                "ratio_cpu": plain.cpu / quick.cpu,
                "predict_ms": 1000 * quick.predicting / len(texts),
                "predict_ms_one_by_one": 1000 * plain.predicting / len(texts),
            }
        )
        print(json.dumps(rows[-1]), flush=True)
    first = next(iter(found.values()))
    labels = [report.label or 0 for report in first]
    texts = texts_of(first)
    scores = [macro_f1(texts, way.encode(texts), labels) for way in runners]
    differences = np.array(scores[1]) - np.array(scores[0])
    quality = {
        "splits": SPLITS,
        "plain": float(np.mean(scores[0])),
        "embers": float(np.mean(scores[1])),
        "difference": float(differences.mean()),
        "largest": float(np.abs(differences).max()),
    }
    print(json.dumps(quality), flush=True)
    return {"threads": threads, "rounds": rounds, "rows": rows, "macro_f1": quality}


# ---- one sitting ---------------------------------------------------------------------------------------------------


def synthetic(folder: Path, count: int) -> list[tuple[str, str]]:
    """Titles and bodies made of lines of the real ones: as many lines per body as the reports have, no two equal."""
    rng = random.Random(1)
    found = [report for part in reports(folder).values() for report in part]
    titles = [report.title for report in found]
    bodies = [report.body.split("\n") for report in found if report.body]
    lines = [line for body in bodies for line in body]
    sizes = [len(body) for body in bodies]
    made = []
    for number in range(1, count + 1):
        one, other = rng.choice(titles).split(), rng.choice(titles).split()
        title = " ".join([*one[: len(one) // 2 + 1], *other[len(other) // 2 :], f"case{number}"])
        start = rng.randrange(len(lines))
        size = rng.choice(sizes)
        half = size // 2
        again = rng.randrange(len(lines))
        made.append((title, "\n".join([*lines[start : start + half], *lines[again : again + size - half]])))
    return made


def fill(database: Path, items: Sequence[tuple[str, str]]) -> None:
    from torch_embers.store.records import Batch, Item
    from torch_embers.store.store import Store

    with Store(database).writer("bench", create=True) as writer:
        for start in range(0, len(items), PAGE):
            part = enumerate(items[start : start + PAGE], start=start + 1)
            writer.commit(
                Batch(
                    items=[Item("pytorch/pytorch", n, title=t, body=b, updated_at="2024-01-01") for n, (t, b) in part]
                )
            )


CLASSIFY = """
import json, resource, sys
from torch_embers.classify.embedding import embedder
told = open(sys.argv[1], "a", buffering=1)
plain = embedder.Embedder.encode
def counted(self, texts, progress=None):
    told.write(json.dumps(len(texts)) + "\\n")
    return plain(self, texts, progress)
embedder.Embedder.encode = counted
from torch_embers import cli
try:
    cli.main(["classify", "--model", sys.argv[3], "--database", sys.argv[2]])
finally:
    told.write(json.dumps({"peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024}) + "\\n")
"""


def started(database: Path, told: Path, model: Path, threads: int) -> subprocess.Popen[bytes]:
    environment = {**os.environ, "OMP_NUM_THREADS": str(threads), "HF_HUB_OFFLINE": "1"}
    command = [sys.executable, "-c", CLASSIFY, str(told), str(database), str(model)]
    return subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.DEVNULL)


def counted(database: Path) -> dict[str, int]:
    from torch_embers.store.store import Store

    queries = {
        "vectors": "SELECT count(*) FROM embeddings",
        "distinct_texts": "SELECT count(DISTINCT text_hash) FROM embeddings",
        "items_with_labels": "SELECT count(DISTINCT (repo, number)) FROM predictions",
        "labels": "SELECT count(*) FROM predictions",
        "labels_twice": "SELECT count(*) - count(DISTINCT (repo, number, scheme, likeliest)) FROM predictions",
    }
    with Store(database).read(patience=30) as connection:
        return {name: int(connection.execute(query).fetchall()[0][0]) for name, query in queries.items()}


def labels_of(database: Path) -> list[tuple[Any, ...]]:
    from torch_embers.store.store import Store

    with Store(database).read() as connection:
        return connection.execute(
            "SELECT repo, number, scheme, value, likeliest, round(probability, 9), abstained, model FROM predictions "
            "ORDER BY ALL"
        ).fetchall()


def embedded_so_far(told: Path) -> int:
    if not told.exists():
        return 0
    said = [json.loads(line) for line in told.read_text().splitlines() if line]
    return sum(number for number in said if isinstance(number, int))


def killed_and_resumed(database: Path, told: Path, model: Path, threads: int, items: int) -> float:
    """Run to the end, killed at a fifth, at half and at four fifths of the embedding; return the seconds spent."""
    spent = 0.0
    for share in (0.2, 0.5, 0.8)[:KILLS]:
        begun = time.monotonic()
        process = started(database, told, model, threads)
        while process.poll() is None and embedded_so_far(told) < share * items:
            time.sleep(0.05)
        with suppress(ProcessLookupError):
            process.send_signal(signal.SIGKILL)
        process.wait()
        spent += time.monotonic() - begun
    begun = time.monotonic()
    if started(database, told, model, threads).wait() != 0:
        raise SystemExit("the last run failed")
    return spent + time.monotonic() - begun


def sitting(folder: Path, work: Path, items: int, check: int, threads: int) -> dict[str, Any]:
    """Classify many items with three kills; compare a smaller run with one that nobody killed."""
    model = reading_bodies(work)
    made = synthetic(folder, max(items, check))
    database, told = work / "sitting.duckdb", work / "sitting.jsonl"
    fill(database, made[:items])
    seconds = killed_and_resumed(database, told, model, threads, items)
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = used.ru_utime + used.ru_stime
    peaks = [json.loads(line)["peak_mb"] for line in told.read_text().splitlines() if line.startswith("{")]
    after = counted(database)
    result: dict[str, Any] = {
        "items": items,
        "threads": threads,
        "seconds": seconds,
        "per_second": items / seconds,
        "per_cpu_second": items / cpu,
        "peak_mb": max(peaks),
        "kills": KILLS,
        "embedded_again": embedded_so_far(told) - after["distinct_texts"],
        **after,
        "size_mb": database.stat().st_size / 2**20,
    }
    one, other = work / "whole.duckdb", work / "killed.duckdb"
    for place in (one, other):
        fill(place, made[:check])
    if started(one, work / "whole.jsonl", model, threads).wait() != 0:
        raise SystemExit("the run to compare with failed")
    killed_and_resumed(other, work / "killed.jsonl", model, threads, check)
    result |= {"checked_items": check, "same_labels": labels_of(one) == labels_of(other)}
    print(json.dumps(result), flush=True)
    return result


def reading_bodies(work: Path) -> Path:
    """The shipped classifier, told to read bodies too: long texts, the same arithmetic."""
    from dataclasses import replace

    folder = work / "model"
    replace(Bundle.load(shipped_folder()), variant="title_body", name="bench").save(folder)
    return folder


# ---- the command ---------------------------------------------------------------------------------------------------


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--rows", type=int, help="at most so many texts of each kind")
    parser.add_argument("--items", type=int, default=0, help="also classify so many items in one sitting")
    parser.add_argument(
        "--check", type=int, default=5_000, help="items of the run that is compared with an unkilled one"
    )
    parser.add_argument("--no-speed", action="store_true", help="keep the speed that was measured before")
    options = parser.parse_args()
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "true" if options.threads > 1 else "false")
    kept: dict[str, Any] = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    if not options.no_speed:
        kept["speed"] = speed(options.data, options.threads, options.rounds, options.rows)
    if options.items:
        with tempfile.TemporaryDirectory(prefix="embers-bench-") as name:
            kept["sitting"] = sitting(options.data, Path(name), options.items, options.check, options.threads)
    kept |= {"measured_at": f"{datetime.now(UTC):%Y-%m-%d}", "machine": run.machine()}
    RESULTS.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")
    run.rewrite_parts()


if __name__ == "__main__":
    main()
