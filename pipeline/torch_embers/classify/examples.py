"""Everything that a classifier learns from: items with their texts, votes and labels, and how they were drawn.

The gold labels of the database, the drawn items of ``data/wild_labels.jsonl`` by their titles, and the issues of
``data/body_labels.csv`` by title and body where the database has them. Issues that are kept apart for measuring are in
none of it, whoever labelled them, nor is an item with the title of one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from torch_embers.classify.features import Item
from torch_embers.classify.labels import bodies, gold, wild
from torch_embers.classify.labels.weak import EXECUTION, Labeller
from torch_embers.classify.labels.weak_table import read_votes
from torch_embers.classify.text import read, title_text
from torch_embers.errors import InputError
from torch_embers.store import renames
from torch_embers.taxonomy import Taxonomy

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from torch_embers.classify.labels.gold import GoldItem
    from torch_embers.classify.labels.weak import WeakLabel
    from torch_embers.store.store import Store

    Key = tuple[str, int]

CHOSEN, TITLES, BODIES = "chosen", "titles", "bodies"
"""How items were drawn: the database's own gold labels, titles drawn at random, and issues read with their bodies."""


class Example(NamedTuple):
    """An item to learn from."""

    key: Key
    item: Item
    gold: GoldItem
    sample: str
    """CHOSEN, TITLES or BODIES."""


def vote_names(votes: Iterable[WeakLabel]) -> tuple[str, ...]:
    """Names of the functions that voted on an item, without runs: these decide by themselves."""
    return tuple(sorted({vote.function for vote in votes if vote.kind != EXECUTION}))


def examples(store: Store) -> tuple[list[Example], list[tuple[Key, Key]]]:
    """Everything to learn from, and which items are about one bug.

    Raises:
        InputError: no gold labels in the database.
    """
    taxonomy, labeller = Taxonomy.load(), Labeller.load()
    own = {(item.repo, item.number): item for item in gold.load(store, taxonomy=taxonomy)}
    if not own:
        raise InputError("no gold labels in the database: `embers mine --source catalog` brings the catalog's")
    with store.read() as connection:
        texts = {
            (repo, number): (title or "", body)
            for repo, number, title, body in connection.execute(
                "SELECT repo, number, title, body FROM items"
            ).fetchall()
        }
        votes = read_votes(connection)
        links = connection.execute(_LINKS).fetchall()
        present = renames.former(connection)
    read_with_body = {_place(answer.number, bodies.REPO, present): answer for answer in bodies.load()}
    drawn = wild.load()
    apart = {_place(item.number or 0, wild.REPO, present) for item in drawn if item.part != "development"}
    apart |= {key for key, answer in read_with_body.items() if answer.part == "test"}
    titles = {title_text(item.title).lower() for item in drawn if item.part != "development"}
    titles |= {title_text(texts[key][0]).lower() for key in apart if key in texts}
    found: dict[Key, Example] = {}

    def add(key: Key, title: str, body: str | None, named: GoldItem, sample: str) -> None:
        if key in apart or key in found or title_text(title).lower() in titles:
            return
        # drawn items stand for new reports, which no maintainer has labelled yet
        spoke = votes.get(key, ()) if sample == CHOSEN else labeller.votes(title, body, None)
        found[key] = Example(key, Item(read(title, body), vote_names(spoke)), named, sample)

    for key, answer in read_with_body.items():
        if key in texts and answer.part == "development":
            add(key, *texts[key], answer.gold(taxonomy), BODIES)
    for key, item in own.items():
        if key in texts:
            add(key, *texts[key], item, CHOSEN)
    places = {_place(item.number, wild.REPO, present) if item.number else item.place: item for item in drawn}
    issues = {key: item for key, item in places.items() if item.part == "development" and item.kind == "issue"}
    for named in wild.gold_items(issues, taxonomy):
        key = (named.repo, named.number)
        sample = CHOSEN if issues[key].sample == wild.TARGETED else TITLES
        add(key, issues[key].title, texts.get(key, ("", None))[1], named, sample)
    pairs = [((one_repo, one), (other_repo, other)) for one_repo, one, other_repo, other in links]
    return list(found.values()), pairs


_LINKS = """
    SELECT DISTINCT repo, number, target_repo, target_number FROM links
    WHERE number IS NOT NULL AND target_number IS NOT NULL AND relation <> 'mentions' ORDER BY ALL"""
"""Items about the same bug: they must be held out together."""


def _place(number: int, repo: str, present: Mapping[str, str]) -> Key:
    """Repository and number of an item under the name that the repository has now."""
    return present.get(repo, repo), number
