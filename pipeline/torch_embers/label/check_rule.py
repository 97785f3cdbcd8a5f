"""What labelling rules would do, before they go into ``data/labelling.toml``."""

from __future__ import annotations

import tomllib
from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from torch_embers import resources, toml_models
from torch_embers.classify.labels import gold
from torch_embers.classify.labels.label_model import Accuracy, estimate
from torch_embers.classify.labels.labelling_file import AnyFunction, LabellingFile
from torch_embers.classify.labels.weak import FILE, Labeller
from torch_embers.classify.labels.weak_table import execution_outcomes
from torch_embers.errors import InputError
from torch_embers.taxonomy import Taxonomy, TaxonomyError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from torch_embers.classify.labels.weak import WeakLabel
    from torch_embers.store.store import Store

BATCH, EXAMPLES = 5_000, 3
_ITEMS = (
    "SELECT repo, number, title, left(body, $chars), labels FROM items WHERE deleted_at IS NULL ORDER BY repo, number"
)


class RuleFile(toml_models.Entry):
    """The rules of a file."""

    function: tuple[AnyFunction, ...]


@dataclass(frozen=True, slots=True)
class Effect:
    """What one rule does to the items of a database; a rule for a class that stands under another is two."""

    name: str
    scheme: str
    value: str
    items: int
    """Items that it votes on."""
    accuracy: Accuracy
    """Of its votes where gold labels answer its scheme."""
    compared: int
    """Items on which existing rules vote in its scheme, too."""
    conflicts: tuple[str, ...] | None
    """Those on which one of them votes for another class: item, these votes, title. ``None`` where several may hold."""


def read(path: Path) -> Labeller:
    """Read rules: `[[function]]` tables, or the whole of ``data/labelling.toml`` with changes.

    Raises:
        InputError: the file cannot be read, or anything in it is wrong; the message has a line for each mistake.
    """
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}") from error
    except ValueError as error:  # also what is no UTF-8
        raise InputError(f"{path}: {error}") from error
    taxonomy = Taxonomy.load()
    problems = list(_problems(data, taxonomy))
    if problems:
        raise InputError(f"{path}: {len(problems)} to mend:" + "".join(f"\n  {problem}" for problem in problems))
    return Labeller(resources.load_toml(FILE) | {"function": data["function"]}, taxonomy)


def _problems(data: Mapping[str, Any], taxonomy: Taxonomy) -> Iterator[str]:
    unknown = sorted(data.keys() - LabellingFile.model_fields.keys())
    yield from (f"{key}: rules stand in [[function]] tables" for key in unknown)
    if not (entries := data.get("function")):
        yield "no rule is here: write a [[function]] table"
        return
    yield from toml_models.problems(RuleFile, {"function": entries})
    tables = [entry if isinstance(entry, dict) else {} for entry in entries] if isinstance(entries, list) else []
    ids = Counter(str(entry["id"]) for entry in tables if "id" in entry)
    yield from (f'function "{name}": {count} rules have this id' for name, count in ids.items() if count > 1)
    for place, entry in enumerate(tables):
        try:
            if "scheme" in entry and "value" in entry:
                taxonomy.scheme(str(entry["scheme"])).find(str(entry["value"]))
        except TaxonomyError as error:
            yield f"function {toml_models.called(entry, place)}: {error}"


def effects(store: Store, rules: Labeller) -> tuple[int, list[Effect]]:
    """How many items the database has, and what each rule does to them beside the existing rules.

    An existing rule of the same id is not compared: the rule takes its place.

    Raises:
        StoreError: the database cannot be read.
    """
    existing, own = Labeller.load(), rules.names()
    items = 0
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
    made = []
    for name, (scheme, value, _) in own.items():
        said = tuple(conflicts[name]) if Taxonomy.load().scheme(scheme).exclusive else None
        made.append(Effect(name, scheme, value, spoken[name], accuracies[name], compared[name], said))
    return items, made


def sentences(items: int, one: Effect) -> list[str]:
    """What a rule does, in lines."""
    made = one.accuracy
    lines = [f"{one.name} ({one.scheme} {one.value}) speaks of {one.items:,} of {items:,} items"]
    if made.total:
        share, (low, high) = made.right / made.total, made.interval
        lines.append(
            f"  right on {made.right:,} of {made.total:,} with a gold label ({share:.0%}, 95 % interval {low:.0%} to "
            f"{high:.0%}); {made.base:.0%} of all gold labels of this scheme are {one.value}"
        )
    else:
        lines.append("  its precision is unknown: none of them has a gold label in this scheme")
    if one.conflicts is None:
        lines.append(f"  no vote contradicts another: several classes of {one.scheme} may hold")
    else:
        lines.append(f"  existing rules vote on {one.compared:,} of them, and say otherwise on {len(one.conflicts):,}")
        lines += [f"    {example}" for example in one.conflicts[:EXAMPLES]]
    return lines
