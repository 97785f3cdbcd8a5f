"""How good labels are on reports that nobody chose, beside keyword rules: `python bench/wild.py [--part development|again|test|recent]`.

Reads data/wild_labels.jsonl (docs/wild-labels.md): issues drawn at random, by their titles, without maintainers' labels. The model
learns from the development half and the second draw (`again`), so each item of them is answered by a model that saw neither it nor its
group. The test half and the recent issues are scored once per released model and its rules of voting: a second time they are left out.
Results are kept by part in bench/wild.json, with what earlier models scored. `--items FILE` scores another file of the same form and
keeps nothing.

Keyword rules: the labelling functions of data/labelling.toml that read titles. Each adds its measured weight (log-odds on the same
gold labels that the model learns from) to its class; the heaviest class wins, and the most frequent one of the development half
where no function votes. On the development half the rules are favoured: their weights saw it, and so did who wrote them.

`--tried DATABASE` trains the ways of `WAYS` on a database of the catalog and maintainers' labels (as `make model DATA=FOLDER` does)
and writes what each scores out of fold.

`--labels DATABASE` measures what maintainers' labels are worth for the consequence where an item has them: stripped, as votes, and
as the answer. DATABASE holds the catalog and items with labels; only drawn issues of the development half are looked up in it.
"""

from __future__ import annotations

import argparse
import copy
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
from torch_embers.classify.embedding.embed import load_embedder, load_matching
from torch_embers.classify.embedding.weights import DEFAULT_MODEL
from torch_embers.classify.labels import wild
from torch_embers.classify.labels.label_model import estimate
from torch_embers.classify.labels.labelling_file import Use
from torch_embers.classify.labels.weak import FILE as LABELLING
from torch_embers.classify.labels.weak import LABEL, Labeller
from torch_embers.classify.labels.weak_table import label_items
from torch_embers.classify.learning.calibration import threshold_for
from torch_embers.classify.learning.features import fit_features, readable, table
from torch_embers.classify.learning.model import Settings
from torch_embers.classify.questions import questions
from torch_embers.classify.text import title_text
from torch_embers.errors import InputError
from torch_embers.run.verdict import lower_bound
from torch_embers.statistics.intervals import wilson
from torch_embers.statistics.metrics import calibration_error, macro_f1, paired_difference
from torch_embers.store.store import Store
from torch_embers.study import prevalence

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from torch_embers.classify.bundle import TrainingRow
    from torch_embers.classify.labels.weak import WeakLabel
    from torch_embers.classify.labels.wild import WildItem

SCHEMES = ("bug_type", "consequence", "memory_type")
OUT = Path(__file__).with_suffix(".json")
LEARNED = ("development", "again")
PARTS = (*LEARNED, "test", "targeted", "recent")
SEEDS = (0,)
NO_LABELS = {"combined": True, "trained": False}
WAYS: dict[str, dict[str, Any]] = {
    "catalog alone": {**NO_LABELS, "drawn_weight": 1e-6},
    "drawn items added": NO_LABELS,
    "drawn items added, without votes": {"combined": False, "trained": False},
    "drawn items count twice": {**NO_LABELS, "drawn_weight": 2.0},
    "drawn items count three times": {**NO_LABELS, "drawn_weight": 3.0},
    "and maintainers' labels, 75 a class, 0.25": {"weight": 0.25, "per_class": 75, "drawn_weight": 2.0},
    "and maintainers' labels, 150 a class, 0.25": {"weight": 0.25, "per_class": 150, "drawn_weight": 2.0},
    "and maintainers' labels, 150 a class, 0.5": {"weight": 0.5, "per_class": 150, "drawn_weight": 2.0},
}


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
        Class, items it is predicted for, how many of them rightly; then of the threshold with the highest bound the items above it,
        how many of them rightly, and the lower 95 % bound of that share (Clopper-Pearson, Bonferroni over these classes).
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
    """Items whose whole set of backends is right, by what `embers classify` gives and by the words of the title alone."""
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


# ---- what was tried ------------------------------------------------------------------------------------------------


def tried(database: Path) -> list[dict[str, Any]]:
    """Every way of learning, scored out of fold on drawn items and on the catalog; nothing of the test half is read."""
    store, embedder = Store(database), load_embedder(DEFAULT_MODEL)
    with store.writer("bench") as writer:
        label_items(store, writer)
        data = train.read_training_data(store, writer, embedder, "title", wild.load())
    keys = sorted(data.texts)
    items, how = data.table(keys, store, embedder), Settings()
    features = fit_features(items, how.views, how.min_df, how.max_features, train.functions_of(data.labeller))
    asked = {question.name: question for question in questions(data.taxonomy)}
    found = []
    for scheme in SCHEMES:
        for way, options in WAYS.items():
            labeller = copy.copy(data.labeller)
            use: dict[str, Any] = {"combined": True, "trained": True, "reason": "tried", "scheme": scheme} | options
            labeller.uses = {scheme: Use.model_validate(use)}
            own = replace(data, labeller=labeller)
            learned, _ = train.gold_rows(asked[scheme], own)
            weak = train.weak_rows(asked[scheme], own, {row.label for row in learned})
            made = []
            for seed in SEEDS:
                one = train.fit(asked[scheme], own, [*learned, *weak], keys, items, features, Settings(seed=seed))
                made.append((one.classes, one.out_of_fold))
            found.append({"scheme": scheme, "way": way, "weak": len(weak), **_means(learned, made)})
            print(json.dumps(found[-1]), flush=True)
    return found


LABEL_WAYS = ("stripped", "as votes", "deciding where they name one class")


def by_labels(database: Path, scheme: str = "consequence") -> tuple[list[dict[str, Any]], float]:
    """What maintainers' labels add, out of fold: on all items that a class is known of, and on those with labels.

    `confirmed`: items whose labels name one class that the model, with them as votes, finds as likely as data/labelling.toml asks for.

    Returns:
        The rows, and the probability from which on exact tests in a fixed order pass on drawn issues whose labels name one class that
        the model finds likeliest: what data/labelling.toml may ask for.
    """
    store, embedder, labeller = Store(database), load_embedder(DEFAULT_MODEL), Labeller.load()
    with store.writer("bench") as writer:
        label_items(store, writer)
        data = train.read_training_data(store, writer, embedder, "title", wild.load())
    [question] = [one for one in questions(data.taxonomy) if one.name == scheme]
    learned, _ = train.gold_rows(question, data)
    weak = train.weak_rows(question, data, {row.label for row in learned})
    said = _said(store, labeller, learned, scheme)
    words = {key: [vote for vote in own if vote.kind != LABEL] for key, own in data.votes.items()}
    weak_votes = {(row.repo, row.number): data.votes[row.repo, row.number] for row in weak}
    votes = {
        "stripped": words,
        "as votes": {**words, **{key: [*words.get(key, ()), *own] for key, own in said.items()}},
    }
    rows = [*learned, *weak]
    keys = sorted({(row.repo, row.number) for row in rows})
    made, sure = {}, np.zeros(0)
    for way, own in votes.items():
        items = replace(data, votes={**own, **weak_votes}).table(keys, store, embedder)
        one = train.fit(question, data, rows, keys, items)
        made[way], sure = [one.classes[best] for best in one.out_of_fold.argmax(axis=1)], one.out_of_fold.max(axis=1)
    named = [{vote.value for vote in said[row.repo, row.number]} for row in learned]
    single = [next(iter(values)) if len(values) == 1 else None for values in named]
    made[LABEL_WAYS[2]] = [own or answer for own, answer in zip(single, made["as votes"], strict=True)]
    least = labeller.uses[scheme].confirmed or math.inf
    same = np.array([own == answer for own, answer in zip(single, made["as votes"], strict=True)])
    confirmed = same & (sure >= least)
    truth = [row.label for row in learned]
    drawn = same & np.array([_learned_part(row, data) in LEARNED for row in learned])
    right = np.array([answer == label for answer, label in zip(made["as votes"], truth, strict=True)])
    passes = threshold_for(sure[drawn], right[drawn], Settings().precision)
    found = []
    for part in ("development", "again", "catalog"):
        places = [place for place, row in enumerate(learned) if _learned_part(row, data) == part]
        own_named, own_sure = ([p for p in places if marks[p]] for marks in (single, confirmed))
        for way in LABEL_WAYS:
            answers = made[way]
            found.append(
                {
                    "part": part,
                    "labels": way,
                    "items": len(places),
                    **summary([truth[p] for p in places], [answers[p] for p in places]),
                    "named": len(own_named),
                    "named_right": sum(answers[p] == truth[p] for p in own_named),
                    "confirmed": len(own_sure),
                    "confirmed_right": sum(made["as votes"][p] == truth[p] for p in own_sure),
                }
            )
            print(json.dumps(found[-1]), flush=True)
    return found, passes


def _said(
    store: Store, labeller: Labeller, learned: Sequence[TrainingRow], scheme: str
) -> dict[tuple[str, int], list[WeakLabel]]:
    """What maintainers' labels say of items; those of drawn ones are looked up by number, then by title."""
    with store.read() as connection:
        known = {(repo, number): (title, own) for repo, number, title, own in connection.execute(LABELS).fetchall()}
    by_title = dict(known.values())
    titles = {item.place: item.title for item in wild.load() if item.part == "development"}
    found = {}
    for row in learned:
        key = row.repo, row.number
        labels = known.get(key, ("", None))[1] or by_title.get(titles.get(key, ""))
        found[key] = [vote for vote in labeller.votes(None, None, labels) if vote.scheme == scheme]
    return found


def _learned_part(row: TrainingRow, data: train.TrainingData) -> str:
    if row.source != train.DRAWN:
        return "catalog" if (row.repo, row.number) not in data.drawn else "targeted"
    return "development" if (row.repo, row.number) in data.judged else "again"


LABELS = "SELECT repo, number, title, labels FROM items WHERE len(labels) > 0"


def _means(learned: Sequence[TrainingRow], made: Sequence[tuple[Sequence[str], Any]]) -> dict[str, Any]:
    """Scores on drawn items and on the catalog, averaged over repetitions."""
    found = {}
    for part, wanted in (("drawn", True), ("catalog", False)):
        rows = [place for place, row in enumerate(learned) if (row.source == train.DRAWN) is wanted]
        truth = [learned[place].label for place in rows]
        scores = [summary(truth, [names[said[place].argmax()] for place in rows]) for names, said in made]
        found[part] = {
            name: round(float(np.mean([one[name] for one in scores])), 3) for name in ("accuracy", "kappa", "macro_f1")
        }
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--part", action="append", choices=PARTS)
    parser.add_argument(
        "--items", type=Path, metavar="FILE", help="score these instead of data/wild_labels.jsonl; keeps nothing"
    )
    parser.add_argument("--tried", type=Path, metavar="DATABASE")
    parser.add_argument("--labels", type=Path, metavar="DATABASE")
    parser.add_argument("--model", type=Path)
    parser.add_argument("--out", type=Path, default=OUT)
    given = parser.parse_args()
    try:
        items = wild.load(given.items)
        parts = parts_with_issues(items, given.part)
    except InputError as error:
        print(f"error: {error}", file=sys.stderr)
        return error.exit_code
    kept = json.loads(given.out.read_text("utf-8")) if given.out.is_file() else {}
    if given.tried:
        kept["tried"] = tried(given.tried)
    elif given.labels:
        kept["labels"], kept["confirmed_from"] = by_labels(given.labels)
    else:
        bundle = Bundle.load(given.model or shipped_folder())
        if given.items:
            print(json.dumps({part: measure(bundle, items, part) for part in parts}, indent=1))
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
        print(f"{part}: {bundle.version} was scored on it before; that is done once per released model")
        return
    if part not in LEARNED and before:
        kept.setdefault("earlier", []).append({"part": part, "day": before["day"], **brief(before)})
    kept[part] = measure(bundle, items, part)
    print(part, json.dumps(brief(kept[part])), flush=True)


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
