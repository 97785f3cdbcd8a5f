"""Run the published protocols: `python bench/protocols.py --data FOLDER [mhnurf] [labelled] [gold]`.

FOLDER holds the files named below; they are not part of the project. Vectors are kept in a scratch file, so that a second run is quick.
What comes out goes into bench/protocols.json, each part under its name; docs/evaluation.md is made from it. NLBSE'24 has a script of its own,
bench/nlbse.py.

- mhnurf: issues of PyTorch, performance or memory cost against the rest, 30 published splits.
- labelled: what people said of PyTorch's reports, pull requests and commits: symptom, root cause, the maintainers' own labels.
- gold: the catalog from real bodies where there are any; and the selection bias of settings chosen on the same items.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import json
import sys
from collections import Counter
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

import published as protocols
from published import (
    MHNURF_PUBLISHED,
    MHNURF_SETTINGS,
)
from torch_embers.classify.embedding.embed import load_embedder, usable_cores
from torch_embers.classify.embedding.weights import DEFAULT_MODEL
from torch_embers.classify.learning.features import View, table
from torch_embers.classify.learning.folds import grouped_folds
from torch_embers.classify.learning.model import Settings
from torch_embers.classify.text import model_text
from torch_embers.evaluate.compare import Report, compare, held_out
from torch_embers.evaluate.gold_evaluation import LEAST_PER_CLASS, time_notes
from torch_embers.evaluate.learners import Hybrid, LearnerOutput, TfidfBaseline, usual
from torch_embers.resources import data_file
from torch_embers.statistics.metrics import macro_f1
from torch_embers.statistics.splits import Split, near_duplicates, time_split

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Sequence

    Embed = Callable[[Sequence[str]], np.ndarray]

OUT = Path(__file__).with_suffix(".json")
CUT = datetime(2023, 1, 1, tzinfo=UTC)
SCHEMES = ("bug_type", "memory_type", "consequence")
ANNOTATOR = "embers-guide-1"
REPEATS = 5
CHOSEN_REPEATS = 2
"""Choosing settings inside each training half takes dozens of fits for each answer."""
OTHER_SEEDS = range(100, 130)
"""Splits of mhnurf that no setting was chosen on."""
TRIAGE = {
    "module: correctness (silent)": "silent_correctness",
    "module: crash": "crash",
    "topic: crash": "crash",
    "module: NaNs and Infs": "nan_inf",
    "module: performance": "performance",
    "module: memory usage": "performance",
}
"""Maintainers' labels that name a consequence."""
TRIED = tuple(
    Settings(views=views, C=c, min_df=min_df, folds=0)
    for views in (
        (View("word"), View("char"), View("vector")),
        (View("char"), View("vector")),
        (View("word"), View("vector")),
        (View("vector"),),
    )
    for c, min_df in ((1.0, 1), (3.0, 2), (10.0, 1))
)
"""Settings like those that the defaults were chosen among."""


@dataclass(frozen=True)
class Chosen:
    """The classifier with the settings that are best on folds of the training half: what choosing is worth when it is honest."""

    name: str = "settings chosen inside"

    def answer(
        self, train: pd.DataFrame, labels: Sequence[str], groups: Sequence[Hashable], test: pd.DataFrame
    ) -> LearnerOutput:
        folds = grouped_folds(labels, groups, 3, seed=1)

        def score(settings: Settings) -> float:
            said = held_out(Hybrid(settings), train, labels, groups, folds)
            return macro_f1([labels[row] for row in said.rows.tolist()], said.predicted)

        best = max(TRIED, key=score)
        return Hybrid(best).answer(train, labels, groups, test)


def kept(scratch: Path) -> Embed:
    """The default embedder, with vectors kept in a file by the hash of their text."""
    embedder = load_embedder(DEFAULT_MODEL)
    known: dict[str, np.ndarray] = {}
    if scratch.is_file():
        with np.load(scratch, allow_pickle=False) as stored:
            known = dict(zip(stored["keys"].tolist(), stored["vectors"], strict=True))

    def embed(texts: Sequence[str]) -> np.ndarray:
        keys = [hashlib.sha256(f"{embedder.model_id}\n{text}".encode("utf-8", "replace")).hexdigest() for text in texts]
        missing = {key: text for key, text in zip(keys, texts, strict=True) if key not in known}
        if missing:
            known.update(zip(missing, embedder.encode(list(missing.values())), strict=True))
            np.savez(scratch, keys=np.array(list(known)), vectors=np.array(list(known.values())))
        return np.array([known[key] for key in keys], dtype=np.float32)

    return embed


def cells(path: Path) -> pd.DataFrame:
    return pd.read_csv(path, dtype=str, keep_default_na=False)


def run_mhnurf(data: Path, embed: Embed) -> dict[str, Any]:
    frame = cells(data / "mhnurf_pytorch.csv.gz")
    found = {}
    ways = (
        TfidfBaseline(),
        Hybrid(name="hybrid, default settings"),
        Hybrid(MHNURF_SETTINGS),
        protocols.PerView(MHNURF_SETTINGS),
    )
    for learner, seeds in [(who, seeds) for seeds in (None, OTHER_SEEDS) for who in ways]:
        result = protocols.mhnurf(frame, embed, learner, seeds)
        print(
            f"mhnurf  {learner.name:26} {'published splits' if seeds is None else 'other splits':16} {result.mean:.4f} "
            f"(spread of splits {result.spread:.4f}; published {MHNURF_PUBLISHED})",
            flush=True,
        )
        found[f"{learner.name}{'' if seeds is None else ', other splits'}"] = {
            "mean": result.mean,
            "spread": result.spread,
            "scores": result.scores,
        }
    return found


def bodies_of(data: Path) -> dict[int, str]:
    """Real bodies of PyTorch's issues, by number, from all files that hold some."""
    frame = cells(data / "mhnurf_pytorch.csv.gz")
    found = {int(number): body for number, body in zip(frame["Number"], frame["Body"], strict=True)}
    with gzip.open(data / "recent_issues_text.jsonl.gz", "rt", encoding="utf-8") as stream:
        for row in map(json.loads, stream):
            found.update({int(number): row["problem_statement"] for number in row["issue_numbers"]})
    with gzip.open(data / "issues_and_prs_2020_02.json.gz", "rt", encoding="utf-8") as stream:
        found.update({int(row["issue_number"]): row["body"] or "" for row in json.load(stream)})
    return {number: body for number, body in found.items() if body.strip()}


def labelled_tables(data: Path) -> dict[str, tuple[list[str], list[str], list[datetime] | None]]:
    """Texts, labels and dates of what people labelled."""
    prs = cells(data / "chen_pytorch_prs.csv.gz")
    titles = [model_text(title, None, variant="title") for title in prs["title"]]
    with gzip.open(data / "checkerbugs_pytorch.jsonl.gz", "rt", encoding="utf-8") as stream:
        commits = [json.loads(line) for line in stream]
    messages = [model_text(*one["message"].partition("\n")[::2]) for one in commits]
    triage = cells(data / "maintainer_labels.csv.gz")
    said = [{TRIAGE[label] for label in cell.split("|") if label in TRIAGE} for cell in triage["labels"]]
    rows = [
        (title, one.pop(), date)
        for title, one, date in zip(triage["title"], said, triage["createdAt"], strict=True)
        if len(one) == 1
    ]
    reports = [model_text(title, None, variant="title") for title, _, _ in rows]
    dates = [datetime.fromisoformat(date).astimezone(UTC) for _, _, date in rows]
    return {
        "pull requests, symptom (titles)": (titles, prs["symptom"].tolist(), None),
        "pull requests, root cause (titles)": (titles, prs["root_cause"].tolist(), None),
        "commits, symptom (messages)": (messages, [one["symptom"] for one in commits], None),
        "commits, root cause (messages)": (messages, [one["root_cause"] for one in commits], None),
        "maintainers' labels (titles)": (reports, [label for _, label, _ in rows], None),
        "maintainers' labels (titles), before and after 2023": (reports, [label for _, label, _ in rows], dates),
    }


def run_labelled(data: Path, embed: Embed) -> dict[str, Any]:
    found = {}
    for name, (texts, labels, dates) in labelled_tables(data).items():
        counted = Counter(labels)
        rows = [row for row, label in enumerate(labels) if counted[label] >= LEAST_PER_CLASS and texts[row].strip()]
        kept_texts, kept_labels = [texts[row] for row in rows], [labels[row] for row in rows]
        groups = near_duplicates(kept_texts).tolist()
        splits: list[Split] | None = None
        notes: list[str] = []
        if dates is not None:
            by_time = time_split([dates[row] for row in rows], groups, CUT)
            splits, notes = [by_time], time_notes(by_time, kept_labels, CUT)
        inputs = table(kept_texts, embed(kept_texts))
        report = compare(
            name, inputs, kept_labels, groups, usual(), splits, notes, repeats=REPEATS, jobs=usable_cores()
        )
        found[name] = brief(report)
    return found


def brief(report: Report) -> dict[str, Any]:
    """Print a report; return its table as plain data."""
    print(
        f"\n{report.task}: {report.texts} items in {report.groups} groups, {len(report.classes)} classes\n{report.table().to_string(index=False)}"
    )
    for other, difference in report.scores[-1].differences.items():
        print(f"  {report.scores[-1].name} minus {other}: {difference}", flush=True)
    whole = report.as_dict()
    for score in whole["scores"]:
        for large in ("classes", "confusion", "reliability", "curve"):
            del score[large]
    return whole


def run_gold(data: Path, embed: Embed) -> dict[str, Any]:
    catalog = [json.loads(line) for line in data_file("catalog.jsonl").read_text(encoding="utf-8").splitlines()]
    related = {row["number"]: [*(one["number"] for one in row["related"] or ()), *row["fix_prs"]] for row in catalog}
    bodies, found = bodies_of(data), {}
    for scheme in SCHEMES:
        for titles_only in (True, False):
            items = protocols.gold_items(catalog, scheme, ANNOTATOR, bodies, titles_only=titles_only)
            counted = Counter(item.label for item in items)
            items = [item for item in items if counted[item.label] >= LEAST_PER_CLASS]
            texts, labels = [item.text for item in items], [item.label for item in items]
            groups = protocols.gold_groups(items, related).tolist()
            real = sum(item.from_body for item in items)
            name = f"{scheme} from titles" if titles_only else f"{scheme}, {real} of {len(items)} with their real body"
            learners = (*usual()[:-1], *((Chosen(),) if titles_only else ()), usual()[-1])
            inputs = table(texts, embed(texts))
            repeats = CHOSEN_REPEATS if titles_only else REPEATS
            found[name] = brief(compare(name, inputs, labels, groups, learners, repeats=repeats, jobs=usable_cores()))
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", nargs="*", choices=["mhnurf", "labelled", "gold"], help="all when left out")
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--scratch", type=Path, default=Path("protocol-vectors.npz"))
    parser.add_argument("--out", type=Path, default=OUT, help="parts that were not run stay as they are in it")
    given = parser.parse_args()
    embed, what = kept(given.scratch), given.what or ["mhnurf", "labelled", "gold"]
    found: dict[str, Any] = json.loads(given.out.read_text(encoding="utf-8")) if given.out.is_file() else {}
    for part in what:
        match part:
            case "mhnurf":
                found[part] = run_mhnurf(given.data, embed)
            case "labelled":
                found[part] = run_labelled(given.data, embed)
            case _:
                found[part] = run_gold(given.data, embed)
        given.out.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
