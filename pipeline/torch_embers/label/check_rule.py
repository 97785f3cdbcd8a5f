"""What labelling rules would do, before they go into ``data/labelling.toml``."""

from __future__ import annotations

import tomllib
from collections import Counter, defaultdict
from typing import TYPE_CHECKING

from torch_embers import resources
from torch_embers.classify.labels import gold
from torch_embers.classify.labels.label_model import Accuracy, estimate
from torch_embers.classify.labels.weak import FILE, Labeller
from torch_embers.classify.labels.weak_table import execution_outcomes
from torch_embers.console import plain, stdout
from torch_embers.errors import InputError
from torch_embers.taxonomy import Taxonomy

if TYPE_CHECKING:
    from pathlib import Path

    from torch_embers.classify.labels.weak import WeakLabel
    from torch_embers.store.store import Store

BATCH, EXAMPLES = 5_000, 3
_ITEMS = (
    "SELECT repo, number, title, left(body, $chars), labels FROM items WHERE deleted_at IS NULL ORDER BY repo, number"
)


def read(path: Path) -> Labeller:
    """Read rules: `[[function]]` tables, or the whole of ``data/labelling.toml`` with changes.

    Raises:
        InputError: the file cannot be read, or something in it is wrong; the message names the rule and its key.
    """
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}") from error
    except ValueError as error:  # also what is no UTF-8
        raise InputError(f"{path}: {error}") from error
    if not data.get("function"):
        raise InputError(f"{path}: no rule is here: write a [[function]] table")
    try:
        return Labeller(resources.load_toml(FILE) | data, Taxonomy.load())
    except InputError as error:
        raise InputError(f"{path}{str(error).removeprefix(f'data/{FILE}')}") from error


def print_effects(store: Store, path: Path) -> None:
    """Print what each rule of a file does to the items of a database beside the existing rules.

    An existing rule of the same id is not compared: the rule takes its place. A rule for a class that stands under
    another votes twice.

    Raises:
        InputError: a rule is wrong.
        StoreError: the database cannot be read.
    """
    rules, existing = read(path), Labeller.load()
    own, items = rules.names(), 0
    votes: dict[tuple[str, int], list[WeakLabel]] = {}
    compared: Counter[str] = Counter()
    conflicts: dict[str, list[str]] = defaultdict(list)
    with store.read() as connection:
        by_runs = [execution_outcomes(connection, labeller) for labeller in (rules, existing)]
        found = connection.execute(_ITEMS, {"chars": rules.body_chars})
        while batch := found.fetchmany(BATCH):
            items += len(batch)
            for repo, number, *text in batch:
                item = repo, number
                if not (cast := [*rules.votes(*text), *by_runs[0].get(item, ())]):
                    continue
                votes[item] = cast
                others = [*existing.votes(*text), *by_runs[1].get(item, ())]
                for vote in cast:
                    rivals = [one for one in others if one.scheme == vote.scheme and one.function not in own]
                    compared[vote.function] += bool(rivals)
                    if against := [f"{one.value} by {one.function}" for one in rivals if one.value != vote.value]:
                        conflicts[vote.function].append(f"{repo}#{number}, {' and '.join(against)}: {text[0]}")
    accuracies = estimate(votes, {(one.repo, one.number): one.answers for one in gold.load(store)}, rules)
    spoken = Counter(vote.function for cast in votes.values() for vote in cast)
    for name, (scheme, value, _) in own.items():
        lines = [f"{name} ({scheme} {value}) speaks of {spoken[name]:,} of {items:,} items"]
        lines.append(_precision(accuracies[name], value))
        if Taxonomy.load().scheme(scheme).exclusive:
            against = conflicts[name]
            lines.append(f"  existing rules vote on {compared[name]:,} of them, and say otherwise on {len(against):,}")
            lines += [f"    {example}" for example in against[:EXAMPLES]]
        else:
            lines.append(f"  no vote contradicts another: several classes of {scheme} may hold")
        for line in lines:
            stdout().print(plain(line))


def _precision(made: Accuracy, value: str) -> str:
    """How often a rule is right where gold labels answer its scheme."""
    if not made.total:
        return "  its precision is unknown: none of them has a gold label in this scheme"
    share, (low, high) = made.right / made.total, made.interval
    return (
        f"  right on {made.right:,} of {made.total:,} with a gold label ({share:.0%}, 95 % interval {low:.0%} to "
        f"{high:.0%}); {made.base:.0%} of all gold labels of this scheme are {value}"
    )
