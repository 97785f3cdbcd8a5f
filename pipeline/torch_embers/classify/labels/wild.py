"""Labels of items that were drawn at random: ``data/wild_labels.jsonl``, or a file of the same form.

The catalog was chosen for its bugs; these items were not. Classifiers learn from the development half, and set their
thresholds on answers to items of it that two annotators labelled, and that they were held out from. The test half is
for one score per released model, and nothing is learned from it, whoever labelled its items (docs/wild-labels.md).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from pydantic import Field, ValidationError, ValidationInfo, model_validator

from torch_embers import resources, toml_models
from torch_embers.classify.labels.gold import GoldAnswer, GoldItem
from torch_embers.errors import InputError
from torch_embers.taxonomy import Taxonomy

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

FILE = "wild_labels.jsonl"
REPO = "pytorch/pytorch"
AGAIN = "_again"
"""End of the names of samples of the second draw, which one annotator read, mostly by titles alone."""
TARGETED = f"targeted{AGAIN}"
"""Sample of items that were looked for by words of rare classes, and that one annotator read once."""
DRAWN_BY, TARGETED_BY = "automated:drawn", "automated:targeted"
"""Who labelled items that were drawn at random, or looked for, in the sources of training rows."""

Pairs = tuple[tuple[str, str], ...]
"""(scheme, value); a scheme whose classes do not exclude each other may stand several times."""


class WildAnswer(toml_models.Entry):
    """What one annotator said of an item."""

    kind: Literal["issue", "pull_request"]
    labels: Pairs


class WildItem(toml_models.Entry):
    """An item that was drawn at random, with the labels that count and those of both annotators."""

    sample: str
    """Of which list of items it was drawn."""
    key: str = Field(pattern="^[0-9]{1,18}$")
    """Its number, or its id in GitHub's REST API where the list has no numbers."""
    number: int | None = Field(ge=1)
    created_at: str
    title: str
    part: Literal["development", "test", "recent"]
    kind: Literal["issue", "pull_request"]
    """Pull requests are kept, but not measured."""
    seen: Literal["title", "body", "thread"]
    """What the annotators read."""
    sure: bool
    """Whether neither of the two hesitated."""
    labels: Pairs
    first: WildAnswer
    second: WildAnswer | None
    """None where it was read once."""
    adjudicated: bool
    """Whether a third annotator decided."""

    @property
    def two_read(self) -> bool:
        """Whether two annotators labelled it apart: such items alone set thresholds (docs/evaluation.md says why)."""
        return not self.sample.endswith(AGAIN)

    @property
    def annotator(self) -> str:
        """Who labelled it, in the sources of training rows."""
        return TARGETED_BY if self.sample == TARGETED else DRAWN_BY

    @model_validator(mode="after")
    def _check(self, info: ValidationInfo) -> WildItem:
        taxonomy = info.context or Taxonomy.load()
        if wrong := taxonomy.problems(self.labels):
            raise ValueError("; ".join(wrong))
        return self

    @property
    def place(self) -> tuple[str, int]:
        """Repository and number; the sample and the item's id where the list has no numbers."""
        return (REPO, self.number) if self.number is not None else (self.sample, int(self.key))

    def value(self, scheme: str) -> str | None:
        """The class in a scheme whose classes exclude each other; None where it was not answered."""
        return dict(self.labels).get(scheme)


def load(path: Path | None = None) -> list[WildItem]:
    """Read a file of wild labels.

    Args:
        path: without one, the file that comes with embers.

    Raises:
        InputError: no such file, no item in it, a line that is no item, an unknown class, or an item that stands twice;
            file and line are named.
    """
    path = path or resources.data_file(FILE)
    try:
        with path.open(encoding="utf-8") as file:
            lines = list(file)  # by line feeds alone: a title may hold other separators
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"wild labels {path}: {error}") from None
    taxonomy = Taxonomy.load()
    items: dict[tuple[bool, int], WildItem] = {}
    for number, line in enumerate(lines, start=1):
        try:
            item = WildItem.model_validate_json(line, context=taxonomy)
        except ValidationError as error:
            raise InputError(f"wild labels {path}, line {number}: {toml_models.wrong(error)}") from None
        same = (item.number is None, item.number or int(item.key))  # in whichever sample: no item is in two parts
        if same in items:
            raise InputError(f"wild labels {path}, line {number}: {item.sample} {item.key} stands twice")
        items[same] = item
    if not items:
        raise InputError(f"wild labels {path} holds no item")
    return list(items.values())


def gold_items(items: Mapping[tuple[str, int], WildItem], taxonomy: Taxonomy) -> list[GoldItem]:
    """Items by (repo, number) as gold labels; a scheme without a value says nothing, but for those of any number."""
    several = {name for name, scheme in taxonomy.schemes.items() if not scheme.exclusive}
    found = []
    for place, item in items.items():
        answers = {
            name: GoldAnswer(frozenset(value for scheme, value in item.labels if scheme == name), item.annotator)
            for name in {*several, *dict(item.labels)}
        }
        found.append(GoldItem.of(*place, answers, taxonomy))
    return found
