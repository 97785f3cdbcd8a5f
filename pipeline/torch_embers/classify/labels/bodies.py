"""Labels of issues that were read by title and body: ``data/body_labels.csv``, a row an answer.

A row holds the answer of one or several readers of an item (``readers``: ``22+23``, for ``automated:embers-reader-22``
and ``-23``), or the ``decided`` one: that of the first two readers, and of the majority with a third where they
differed. The texts are those of public data sets (``source``); the file holds none of them. Issues of the part ``test``
are for one score per released model (docs/wild-labels.md).
"""

from __future__ import annotations

import csv
from typing import TYPE_CHECKING, Literal

from pydantic import Field, ValidationError, field_validator

from torch_embers import resources, toml_models
from torch_embers.classify.labels.gold import GoldAnswer, GoldItem
from torch_embers.errors import InputError
from torch_embers.taxonomy import Taxonomy

if TYPE_CHECKING:
    from pathlib import Path

FILE = "body_labels.csv"
REPO = "pytorch/pytorch"
READ_BY = "automated:body"
"""Who labelled these items, in the sources of training rows."""
DECIDED = "decided"


class BodyAnswer(toml_models.Entry):
    """A row of the file."""

    number: int = Field(ge=1)
    source: Literal["mhnurf", "feb_2020", "recent"]
    """Data set of the text."""
    part: Literal["development", "test", ""]
    """Empty for a pull request, of which nothing is learned."""
    readers: frozenset[str]
    kind: Literal["issue", "pull"]
    bug_type: str
    memory_type: str
    memory_subtype: str
    consequence: str
    backends: tuple[str, ...]
    sure: bool
    """Whether a second careful reader would very likely say the same."""

    @field_validator("readers", mode="before")
    @classmethod
    def _readers(cls, value: str) -> list[str]:
        return value.split("+")

    @field_validator("backends", mode="before")
    @classmethod
    def _backends(cls, value: str) -> list[str]:
        return value.split()

    def gold(self, taxonomy: Taxonomy) -> GoldItem:
        """The answer as gold labels: of backends, any number; of other schemes those that were answered."""
        named = ("bug_type", "memory_type", "memory_subtype", "consequence")
        answers = {
            scheme: GoldAnswer(frozenset({value}), READ_BY) for scheme in named if (value := getattr(self, scheme))
        }
        answers["backend"] = GoldAnswer(frozenset(self.backends), READ_BY)
        return GoldItem.of(REPO, self.number, answers, taxonomy)


def load(path: Path | None = None) -> list[BodyAnswer]:
    """The decided answers about issues.

    Raises:
        InputError: no such file, a row that is no answer, an unknown class, an issue without a decided answer or with
            two.
    """
    path, taxonomy = path or resources.data_file(FILE), Taxonomy.load()
    found: list[BodyAnswer] = []
    try:
        with path.open(encoding="utf-8", newline="") as file:
            for line, row in enumerate(csv.DictReader(file), start=2):
                answer = BodyAnswer.model_validate(row)
                said = [(scheme, value) for scheme, values in answer.gold(taxonomy).answers.items() for value in values]
                if wrong := taxonomy.problems(tuple(said)):
                    raise InputError(f"{path}, line {line}: {'; '.join(wrong)}")
                found.append(answer)
    except ValidationError as error:
        raise InputError(f"{path}, line {len(found) + 2}: {toml_models.wrong(error)}") from None
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: {error}") from None
    decided = [answer for answer in found if DECIDED in answer.readers]
    if sorted(answer.number for answer in decided) != sorted({answer.number for answer in found}):
        raise InputError(f"{path}: each item needs one {DECIDED} answer")
    return [answer for answer in decided if answer.kind == "issue"]
