"""How good labels are on reports that nobody chose, beside keyword rules: `python tools/drawn_scores.py [--part PART]`.

Reads data/wild_labels.jsonl (docs/wild-labels.md): issues drawn at random, by their titles, without maintainers'
labels. The model learns from the development half and the second draw (`again`), so each item of them is answered by a
model that saw neither it nor its group. The test half and the recent issues are scored once per released model and its
rules of voting: a second time they are left out. Results are kept by part in analysis/results/classifier/drawn.json,
with what earlier models scored. `--items FILE` scores another file of the same form and keeps nothing.

Keyword rules: the labelling functions of data/labelling.toml that read titles. Each adds its measured weight (log-odds
on the same gold labels that the model learns from) to its class; the heaviest class wins, and the most frequent one of
the development half where no function votes. On the development half the rules are favoured: their weights saw it, and
so did who wrote them.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import math
import sys
from collections import Counter, defaultdict
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.metrics import cohen_kappa_score

from torch_embers import resources
from torch_embers.classify import confusions, train
from torch_embers.classify.aggregation import Aggregator
from torch_embers.classify.bundle import Bundle, shipped_folder
from torch_embers.classify.embedding.embed import load_matching
from torch_embers.classify.labels import wild
from torch_embers.classify.labels.label_model import estimate
from torch_embers.classify.labels.weak import FILE as LABELLING
from torch_embers.classify.labels.weak import Labeller
from torch_embers.classify.learning.features import readable, table
from torch_embers.classify.text import title_text
from torch_embers.errors import InputError
from torch_embers.statistics.absence import lower_bound
from torch_embers.statistics.intervals import wilson
from torch_embers.statistics.metrics import calibration_error, macro_f1, paired_difference
from torch_embers.study import prevalence

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from torch_embers.classify.labels.wild import WildItem

SCHEMES = ("bug_type", "consequence", "memory_type")
OUT = resources.CHECKOUT_DIR / "analysis" / "results" / "classifier" / "drawn.json"
LEARNED = ("development", "again")
PARTS = (*LEARNED, "test", "targeted", "recent")


# ---- one part ------------------------------------------------------------------------------------------------------


def measure(bundle: Bundle, labelled: Sequence[WildItem], part: str) -> dict[str, Any]:
    """Scores of the model and of the rules on the issues of a part, by scheme."""
    items = [item for item in labelled if item.kind == "issue" and part_of(item) == part]
    probabilities = answers(bundle, items)
    found = {}
    for scheme in SCHEMES:
        rows = [row for row, item in enumerate(items) if item.value(scheme) is not None]
        if not rows:
            continue
        own = [items[row] for row in rows]
        found[scheme] = scored(bundle, scheme, own, probabilities[scheme][rows])
        if part in LEARNED:
            found[scheme]["classes"] = by_class(bundle, scheme, own, probabilities[scheme][rows])
    return {
        "model": bundle.version,
        "rules": rules(),
        "day": datetime.now(UTC).date().isoformat(),
        "issues": len(items),
        "schemes": found,
        "backends": backends(bundle, items, probabilities),
        "shares": [shares(bundle, items, probabilities["bug_type"], drawn=drawn) for drawn in (False, True)],
    }


def part_of(item: WildItem) -> str:
    """The part of an item; those that one reader labelled, and those that were looked for, are scored apart."""
    if item.sample == wild.TARGETED:
        return "targeted" if item.part == "test" else ""  # the other half is learned from and measures nothing
    return item.part if item.two_read else "again"


def rules() -> str:
    """Identifies what votes and what votes decide, whatever the reasons say: they are released with the model."""
    file = resources.load_toml(LABELLING)
    said = [
        {name: value for name, value in one.items() if name != "reason"}
        for part in ("function", "use")
        for one in file[part]
    ]
    return hashlib.sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()[:12]


def answers(bundle: Bundle, items: Sequence[WildItem]) -> dict[str, NDArray[np.float64]]:
    """Probabilities by question, out of fold where the model learned from the item."""
    titles = [title_text(item.title) for item in items]
    votes = [train.vote_names(Labeller.load().votes(item.title, None, None)) for item in items]
    found = bundle.probabilities(table(titles, load_matching(bundle.embedding).encode(titles), votes))
    for question, rows in bundle.held_out.items():
        known = {(own.repo, own.number): own.probabilities for own in rows}
        for row, item in enumerate(items):
            if item.place in known:
                found[question][row] = known[item.place]
    return found


def scored(
    bundle: Bundle, scheme: str, items: Sequence[WildItem], probabilities: NDArray[np.float64]
) -> dict[str, Any]:
    """What one scheme scores on items that have a label in it."""
    classifier, truth = bundle.classifiers[scheme], [str(item.value(scheme)) for item in items]
    best, sure, given = classifier.answers(probabilities)
    predicted = [classifier.classes[column] for column in best]
    by_rules = Rules(bundle, scheme).answers(items)
    right = np.array([one == other for one, other in zip(predicted, truth, strict=True)])
    answered, correct = int(given.sum()), int(right[given].sum())
    return {
        "items": len(items),
        "model": summary(truth, predicted),
        "rules": summary(truth, by_rules),
        "model_minus_rules": differences(truth, predicted, by_rules),
        "ece": round(calibration_error(np.minimum(sure, 1).tolist(), right.tolist()), 3),
        "given": answered,
        "given_right": correct,
        "given_right_interval": [round(end, 3) for end in wilson(correct, answered)] if answered else None,
        "threshold": None if math.isinf(classifier.threshold) else round(classifier.threshold, 4),
    }


def by_class(
    bundle: Bundle, scheme: str, items: Sequence[WildItem], probabilities: NDArray[np.float64]
) -> list[list[Any]]:
    """How far a threshold of its own would bring each class that is predicted.

    Returns:
        Class, items it is predicted for, how many of them rightly; then of the threshold with the highest bound the
        items above it, how many of them rightly, and the lower 95 % bound of that share (Clopper-Pearson, Bonferroni
        over these classes).
    """
    classes, best = bundle.classifiers[scheme].classes, probabilities.argmax(axis=1)
    right = np.array([classes[column] == item.value(scheme) for column, item in zip(best, items, strict=True)])
    tried, found = sorted(set(best.tolist())), []
    for column in tried:
        own = np.flatnonzero(best == column)
        hits = np.cumsum(right[own[np.argsort(-probabilities[own, column], kind="stable")]]).tolist()
        bounds = [lower_bound(hit, count, 1 - 0.05 / len(tried)) for count, hit in enumerate(hits, 1)]
        at = int(np.argmax(bounds))
        found.append([classes[column], len(own), hits[-1], at + 1, hits[at], round(bounds[at], 3)])
    return found


def summary(truth: Sequence[str], predicted: Sequence[str]) -> dict[str, Any]:
    """Accuracy, kappa, and macro-F1 over the classes that are true or predicted."""
    right = sum(one == other for one, other in zip(truth, predicted, strict=True))
    return {
        "accuracy": round(right / len(truth), 3),
        "accuracy_interval": [round(end, 3) for end in wilson(right, len(truth))],
        # of one class alone there is no agreement beyond chance to speak of
        "kappa": round(float(cohen_kappa_score(list(truth), list(predicted))), 3)
        if len({*truth, *predicted}) > 1
        else None,
        "macro_f1": round(macro_f1(truth, predicted), 3),
    }


def differences(truth: Sequence[str], one: Sequence[str], other: Sequence[str]) -> dict[str, list[float]]:
    """Difference of each score with its 95 % interval, paired on the same bootstrap samples of items."""
    found = {}
    for score in ("accuracy", "kappa", "macro_f1"):
        made = paired_difference(truth, one, other, range(len(truth)), score=score)
        found[score] = [round(value, 3) for value in (made.value, made.low, made.high)]
    return found


def shares(
    bundle: Bundle, items: Sequence[WildItem], probabilities: NDArray[np.float64], *, drawn: bool
) -> dict[str, Any]:
    """Shares of bug types as predicted, corrected by the confusion of held-out items, and true.

    Args:
        bundle: with its answers out of fold.
        items: of a part.
        probabilities: of bug_type.
        drawn: whether drawn items count in the confusion, or the catalog's alone.
    """
    scheme, classes = "bug_type", bundle.classifiers["bug_type"].classes
    chosen = {(row.repo, row.number) for row in bundle.rows[scheme] if row.source != train.DRAWN}
    held_out = tuple(one for one in bundle.held_out[scheme] if drawn or (one.repo, one.number) in chosen)
    [confusion] = confusions.of_bundle(replace(bundle, held_out={scheme: held_out}), [scheme])
    predicted = Counter(classes[column] for column in probabilities.argmax(axis=1))
    truth = Counter(str(item.value(scheme)) for item in items)
    made = prevalence.correct(confusion, predicted)
    if not isinstance(made, prevalence.Prevalence):
        return {"confusion": len(held_out), "refused": made.reason}
    merged = {name for name, _ in made.merged}
    rows, covered = [], 0
    for share in made.shares:
        names = merged if share.name == prevalence.REST else {share.name}
        right = sum(truth[name] for name in names) / len(items)
        low, high = share.corrected.low, share.corrected.high
        covered += low <= right <= high
        rows.append([share.name, *(round(v, 3) for v in (right, share.raw.value, share.corrected.value, low, high))])
    return {"confusion": len(held_out), "misfit": made.misfit, "covered": f"{covered} of {len(rows)}", "rows": rows}


class Rules:
    """Keyword rules alone: the weights of the functions that match a title."""

    def __init__(self, bundle: Bundle, scheme: str) -> None:
        """Measure the functions on the gold labels that the model learns from."""
        self._labeller, self._scheme = Labeller.load(), scheme
        lines = resources.data_file("catalog.jsonl").read_text("utf-8").splitlines()
        titles = {(wild.REPO, row["number"]): row["title"] for row in map(json.loads, lines)}
        titles |= {item.place: item.title for item in wild.load() if item.part == "development"}
        rows = [row for row in bundle.rows[scheme] if row.source.startswith(train.GOLD)]
        gold = {(row.repo, row.number): {scheme: frozenset({row.label})} for row in rows}
        votes = {key: self._labeller.votes(titles[key], None, None) for key in gold}
        self._weights = {name: one.weight for name, one in estimate(votes, gold, self._labeller).items()}
        drawn = Counter(row.label for row in rows if row.source == train.DRAWN) or Counter(row.label for row in rows)
        self._usual = drawn.most_common(1)[0][0]

    def answers(self, items: Sequence[WildItem]) -> list[str]:
        """The class of each item."""
        found = []
        for item in items:
            sums: dict[str, float] = defaultdict(float)
            for vote in self._labeller.votes(item.title, None, None):
                if vote.scheme == self._scheme:
                    sums[vote.value] += self._weights[vote.function]
            found.append(max(sums, key=lambda name: sums[name]) if sums else self._usual)
        return found


def backends(
    bundle: Bundle, items: Sequence[WildItem], probabilities: Mapping[str, NDArray[np.float64]]
) -> dict[str, Any]:
    """Items whose whole set of backends is right, by what `embers classify` gives and by words of the title alone."""
    labeller, keys = Labeller.load(), [item.place for item in items]
    votes = {item.place: labeller.votes(item.title, None, None) for item in items}
    texts = table([title_text(item.title) for item in items])
    labels = Aggregator(bundle).labels(keys, probabilities, readable(texts), votes)
    given: dict[int, set[str]] = {place: set() for place in range(len(items))}
    for label in labels:
        if label.scheme == "backend" and label.given:
            given[label.place].add(label.likeliest)
    truth = [{value for scheme, value in item.labels if scheme == "backend"} for item in items]
    named = [{vote.value for vote in votes[key] if vote.scheme == "backend"} for key in keys]
    return {
        "items": len(items),
        "exact_sets_model": sum(given[place] == own for place, own in enumerate(truth)),
        "exact_sets_rules": sum(said == own for said, own in zip(named, truth, strict=True)),
    }


def main() -> int:
    """Score what is asked for; 0, or the exit code of an input that cannot be used."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--part", action="append", choices=PARTS)
    parser.add_argument(
        "--items", type=Path, metavar="FILE", help="score these instead of data/wild_labels.jsonl; keeps nothing"
    )
    parser.add_argument("--model", type=Path)
    parser.add_argument("--out", type=Path, default=OUT)
    given = parser.parse_args()
    try:
        items = wild.load(given.items)
        parts = parts_with_issues(items, given.part)
    except InputError as error:
        sys.stderr.write(f"error: {error}\n")
        return error.exit_code
    kept = json.loads(given.out.read_text("utf-8")) if given.out.is_file() else {}
    bundle = Bundle.load(given.model or shipped_folder())
    if given.items:
        sys.stdout.write(json.dumps({part: measure(bundle, items, part) for part in parts}, indent=1) + "\n")
        return 0
    for part in parts:
        add(kept, part, bundle, items)
    given.out.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")
    return 0


def parts_with_issues(items: Sequence[WildItem], asked: Sequence[str] | None) -> list[str]:
    """The parts to score: those that were asked for, or all that have issues.

    Raises:
        InputError: there is no issue in one that was asked for, or none at all.
    """
    there = {part_of(item) for item in items if item.kind == "issue"}
    found = [part for part in PARTS if part in (there if asked is None else asked)]
    if not found or not there.issuperset(found):
        raise InputError(f"wild labels: no issue of {' or '.join(asked or PARTS)} to score in the file")
    return found


def add(kept: dict[str, Any], part: str, bundle: Bundle, items: Sequence[WildItem]) -> None:
    """Score a part; one that nothing was learned from once only, and what earlier models scored there is kept."""
    before = kept.get(part, {})
    same = (before.get("model"), before.get("rules")) == (bundle.version, rules())
    if part not in LEARNED and same:
        sys.stdout.write(f"{part}: {bundle.version} was scored on it before; that is done once per released model\n")
        return
    if part not in LEARNED and before:
        kept.setdefault("earlier", []).append({"part": part, "day": before["day"], **brief(before)})
    kept[part] = measure(bundle, items, part)
    sys.stdout.write(f"{part} {json.dumps(brief(kept[part]))}\n")


def brief(measured: Mapping[str, Any]) -> dict[str, Any]:
    """What is kept of an earlier model."""
    schemes = {
        scheme: {
            "items": one["items"],
            "accuracy": one["model"]["accuracy"],
            "kappa": one["model"]["kappa"],
            "given": one["given"],
            "given_right": one["given_right"],
        }
        for scheme, one in measured["schemes"].items()
    }
    return {"model": measured["model"], "schemes": schemes}


if __name__ == "__main__":
    sys.exit(main())
