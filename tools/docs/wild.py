"""docs/wild-labels.md: drawn items, their labels, agreement; docs/evaluation.md: scores on them (bench/wild.json)."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from torch_embers.classify.labels import wild
from torch_embers.statistics.agreement import between
from torch_embers.taxonomy import Taxonomy

from .markdown import code, table
from .places import measured

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from torch_embers.classify.labels.wild import WildItem

EXCLUSIVE = ("bug_type", "memory_type", "consequence")
NOTHING = "none"
SCORES = "wild.json"
BODIES = "bodies.json"
TUNED = "tuned.json"
ESTIMATORS = "estimators.json"
MAINTAINERS = "maintainers.json"


def issues() -> list[WildItem]:
    """The drawn items that are issues."""
    return [item for item in wild.load() if item.kind == "issue"]


def samples() -> str:
    """Items by sample and part."""
    rows = []
    for name in dict.fromkeys(item.sample for item in wild.load()):
        own = [item for item in wild.load() if item.sample == name]
        kept = [item for item in own if item.kind == "issue"]
        seen, part = Counter(item.seen for item in kept), Counter(item.part for item in kept)
        rows.append(
            [
                code(name),
                str(len(own)),
                str(len(kept)),
                *(str(part[half]) for half in ("development", "test", "recent")),
                *(str(seen[what]) for what in ("title", "body", "thread")),
                str(sum(item.adjudicated for item in kept)),
            ]
        )
    head = ["sample", "drawn", "issues", "development", "test", "recent", "title", "body", "thread", "decided anew"]
    return table(head, rows)


def classes() -> str:
    """Issues by class and sample, classes in the order of the taxonomy."""
    kept = issues()
    names = list(dict.fromkeys(item.sample for item in kept))
    rows = []
    for scheme in EXCLUSIVE:
        counted = Counter((item.sample, item.value(scheme)) for item in kept)
        for value in Taxonomy.load().scheme(scheme).names():
            numbers = [counted[name, value] for name in names]
            if any(numbers):
                rows.append([code(scheme), code(value), *map(str, numbers), str(sum(numbers))])
    return table(["scheme", "class", *map(code, names), "all"], rows)


def agreement() -> str:
    """Cohen's kappa of the two annotators on the issues, by draw and scheme."""
    draws = {
        name: [item for item in issues() if item.two_read is not again and item.second is not None]
        for name, again in (("first", False), ("second", True))
    }
    rows = [[name, *row] for name, items in draws.items() for row in _agreement(items)]
    return table(["draw", "scheme", "issues", "same answer", "kappa"], rows)


def _agreement(items: Sequence[WildItem]) -> list[list[str]]:
    said = []
    for item in items:
        both = {"first": item.first, **({"second": item.second} if item.second else {})}
        for name, answer in both.items():
            labels = dict(answer.labels)
            under_memory = [dict(one.labels).get("bug_type") == "memory" for one in both.values()]
            asked = [scheme for scheme in EXCLUSIVE if scheme != "memory_type" or all(under_memory)]
            said += [(scheme, name, (item.sample, item.key), labels.get(scheme, NOTHING)) for scheme in asked]
    return [
        [
            code(pair.scheme),
            str(pair.items),
            str(pair.same),
            f"{pair.kappa.value:.2f} ({pair.kappa.low:.2f} to {pair.kappa.high:.2f})",
        ]
        for pair in between(said)
    ]


PARTS = {
    "test": "test half",
    "development": "development half",
    "again": "second draw",
    "targeted": "targeted additions",
    "recent": "recent and labelled",
}


def _pair(found: Mapping[str, Any], score: str) -> str:
    return f"{found['model'][score]:.3f}, {found['rules'][score]:.3f}"


def _difference(found: Mapping[str, Any], score: str) -> str:
    value, low, high = found[score]
    return f"{value:+.3f} [{low:.3f}, {high:.3f}]"


def scores() -> str:
    """The shipped classifier and keyword rules on issues that nobody chose."""
    parts = measured(SCORES)
    rows = [
        (
            PARTS[part],
            code(scheme),
            str(found["items"]),
            *(_pair(found, score) for score in ("accuracy", "kappa", "macro_f1")),
            *(_difference(found["model_minus_rules"], score) for score in ("accuracy", "kappa", "macro_f1")),
        )
        for part in PARTS
        if part in parts
        for scheme, found in parts[part]["schemes"].items()
    ]
    columns = (
        "issues",
        "scheme",
        "items:",
        "accuracy",
        "kappa",
        "macro-F1",
        "accuracy, difference",
        "kappa, difference",
        "macro-F1, difference",
    )
    return table(columns, rows)


def given() -> str:
    """Labels that the shipped classifier gives on these issues, and how often they are right."""
    parts = measured(SCORES)
    rows = [
        (
            PARTS[part],
            code(scheme),
            f"{found['given']} of {found['items']}",
            ""
            if not found["given"]
            else f"{found['given_right']} [{found['given_right_interval'][0]:.2f}, "
            f"{found['given_right_interval'][1]:.2f}]",
            f"{found['ece']:.3f}",
            "never given" if found["threshold"] is None else f"{found['threshold']:.3f}",
        )
        for part in PARTS
        if part in parts
        for scheme, found in parts[part]["schemes"].items()
    ]
    shown = table(("issues", "scheme", "labels given", "of these right [share]", "ECE:", "threshold:"), rows)
    backends = [
        f"- {PARTS[part]}: {own['exact_sets_model']} of {own['items']}; by words of the title {own['exact_sets_rules']}"
        for part in PARTS
        if part in parts
        for own in (parts[part]["backends"],)
    ]
    return shown + "\n\nIssues whose whole set of backends is right:\n\n" + "\n".join(backends)


def earlier() -> str:
    """What the classifiers that were released before scored on the parts that nothing is learned from."""
    rows = [
        (
            one["day"],
            code(one["model"]),
            PARTS[one["part"]],
            code(scheme),
            f"{found['accuracy']:.3f}",
            f"{found['kappa']:.3f}",
            f"{found['given_right']} of {found['given']}",
        )
        for one in measured(SCORES)["earlier"]
        for scheme, found in one["schemes"].items()
    ]
    return table(("scored on", "classifier", "issues", "scheme", "accuracy:", "kappa:", "right of those given:"), rows)


def by_class() -> str:
    """How far a threshold of its own would bring each class, on the issues that are learned from."""
    rows = [
        (PARTS[part], code(scheme), code(name), str(predicted), str(right), f"{hits} of {count}", f"{bound:.2f}")
        for part in PARTS
        for scheme, found in measured(SCORES).get(part, {}).get("schemes", {}).items()
        for name, predicted, right, count, hits, bound in found.get("classes", ())
    ]
    columns = ("issues", "scheme", "class", "predicted:", "right:", "right above the best threshold", "lower bound:")
    return table(columns, rows)


def shares() -> str:
    """Shares of bug types on drawn issues: as predicted, corrected by the confusion of held-out items, and true."""
    parts, found = measured(SCORES), []
    for part in ("test", "development"):
        for one in parts.get(part, {}).get("shares", ()):
            what = f"{PARTS[part]}, confusion of {one['confusion']} held-out items"
            if "refused" in one:
                found.append(f"{what}: refused, {one['refused']}.")
                continue
            fit = f"refused, {one['misfit']}" if one["misfit"] else "the model fits"
            rows = [
                (code(name), f"{right:.3f}", f"{raw:.3f}", f"{value:.3f} [{low:.3f}, {high:.3f}]")
                for name, right, raw, value, low, high in one["rows"]
            ]
            heading = f"{what}: {fit}; {one['covered']} intervals hold the true share."
            found += [heading, table(("bug type", "true:", "predicted:", "corrected [95 %]"), rows)]
    return "\n\n".join(found)


def tried() -> str:
    """Every way of learning that was tried, out of fold."""
    rows = [
        (
            code(one["scheme"]),
            one["way"],
            str(one["weak"]),
            *(
                f"{one[part][score]:.3f}"
                for part in ("drawn", "catalog")
                for score in ("accuracy", "kappa", "macro_f1")
            ),
        )
        for one in measured(SCORES)["tried"]
    ]
    scores = [f"{part}: {score}:" for part in ("drawn", "catalog") for score in ("accuracy", "kappa", "macro-F1")]
    return table(("scheme", "learned from", "labelled by maintainers:", *scores), rows)


def bodies() -> str:
    """What a body adds to the title, out of fold."""
    rows = [
        (
            code(one["scheme"]),
            one["read"],
            str(one["items"]),
            *(f"{one[score]:.3f}" for score in ("accuracy", "kappa", "macro_f1")),
            *(_difference(other, "accuracy") for other in one["minus"].values()),
        )
        for one in measured(BODIES)["rows"]
    ]
    minus = [f"accuracy minus {name}" for name in measured(BODIES)["rows"][0]["minus"]]
    return table(("scheme", "read", "issues:", "accuracy:", "kappa:", "macro-F1:", *minus), rows)


def tuned() -> str:
    """What an encoder that is tuned on the labels adds, out of fold."""
    rows = [
        (
            code(one["scheme"]),
            str(one["items"]),
            f"{one['share']:g}",
            *(f"{one[score]:.3f}" for score in ("accuracy", "kappa", "macro_f1")),
            *(_difference(one["minus"], score) if one["share"] else "" for score in ("accuracy", "kappa", "macro_f1")),
        )
        for one in measured(TUNED)["rows"]
    ]
    scores_of = ("accuracy", "kappa", "macro-F1")
    differences = [f"{score}, difference" for score in scores_of]
    return table(("scheme", "issues:", "share:", *(f"{score}:" for score in scores_of), *differences), rows)


def estimators() -> str:
    """Other estimators than the product's, out of fold."""
    rows = [
        (
            code(one["scheme"]),
            f"{one['part']}, {one['items']}",
            one["estimator"],
            *(f"{one[score]:.3f}" for score in ("accuracy", "macro_f1")),
            _difference(one["minus"], "accuracy") if "minus" in one else "",
        )
        for one in measured(ESTIMATORS)["rows"]
    ]
    return table(("scheme", "items", "estimator", "accuracy:", "macro-F1:", "accuracy, difference"), rows)


def labels() -> str:
    """The consequence with and without maintainers' labels, out of fold."""
    rows = [
        (
            PARTS.get(one["part"], one["part"]),
            one["labels"],
            str(one["items"]),
            *(f"{one[score]:.3f}" for score in ("accuracy", "kappa", "macro_f1")),
            f"{one['named_right']} of {one['named']}",
            f"{one['confirmed_right']} of {one['confirmed']}" if one["labels"] == "as votes" else "",
        )
        for one in measured(SCORES)["labels"]
    ]
    scores_of = (
        "items:",
        "accuracy:",
        "kappa:",
        "macro-F1:",
        "right where they name one class",
        "right where confirmed",
    )
    return table(("part", "maintainers' labels", *scores_of), rows)


def maintainers() -> str:
    """The consequence from titles alone, where a maintainers' label is taken for the truth."""
    rows = [
        (
            f"since {one['since']}" if one["since"] else "all",
            str(one["items"]),
            *(f"{one[score]:.3f}" for score in ("accuracy", "kappa", "macro_f1")),
            f"{one['surest_right']} of {one['surest']} "
            f"[{one['surest_interval'][0]:.2f}, {one['surest_interval'][1]:.2f}]",
        )
        for one in measured(MAINTAINERS)["consequence"]
    ]
    shown = table(("titles", "items:", "accuracy:", "kappa:", "macro-F1:", "right among the surest 70 %"), rows)
    named = [
        f"- {code(backend)}: {by_title} of {count} issues whose label names it have a title that does, too"
        for backend, (count, by_title) in measured(MAINTAINERS)["backends"].items()
    ]
    return shown + "\n\n" + "\n".join(named)
