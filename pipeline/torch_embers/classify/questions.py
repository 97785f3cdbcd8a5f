"""The questions that classifiers answer, derived from the taxonomy: one classifier each.

A scheme whose classes exclude each other is one question. Where each class stands under a class of the parent scheme
(sub-types under memory types) there is a question per parent class, as ``programming`` under one memory type is not
``programming`` under another. Where any number of classes may hold, each class is a question of yes and no.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from torch_embers.taxonomy import ANY, Taxonomy

if TYPE_CHECKING:
    from collections.abc import Mapping

    from torch_embers.classify.labels.gold import GoldItem

NOT = "-"
"""The answer no; no class of the taxonomy can have this name."""


@dataclass(frozen=True, slots=True)
class Question:
    """What one classifier answers."""

    scheme: str
    parent: str = ""
    """The parent scheme, where there is one."""
    under: str = ""
    """Class of the parent scheme under which it is asked."""
    member: str = ""
    """The one class that is asked for, where any number of classes may hold."""
    classes: tuple[str, ...] = ()
    """Classes of the taxonomy that can be the answer."""
    narrowed: bool = False
    """Whether the scheme has a question for each parent class."""

    @property
    def name(self) -> str:
        """Name in files and messages; that of the scheme where it is the scheme's only question."""
        narrower = self.member or (self.under if self.narrowed else "")
        return f"{self.scheme}.{narrower}" if narrower else self.scheme

    @property
    def only(self) -> str | None:
        """The answer, where the taxonomy leaves but one."""
        return self.classes[0] if self.narrowed and len(self.classes) == 1 else None

    def truth(self, item: GoldItem) -> str | None:
        """What gold answers; ``None`` where it does not, or where its answer does not fit that to the parent scheme."""
        if self.member:
            if self.scheme not in item.answers:
                return None
            return self.member if self.member in item.answers[self.scheme] else NOT
        if self.narrowed and item.labels.get(self.parent) != self.under:
            return None
        label = item.labels.get(self.scheme)
        return label if label in self.classes else None

    def values(self) -> Mapping[str, str]:
        """Value of the scheme -> class of this question."""
        return {self.member: self.member} if self.member else {value: value for value in self.classes}


def questions(taxonomy: Taxonomy) -> list[Question]:
    """All questions, those of parents before those of their children."""
    found: list[Question] = []
    for scheme in taxonomy.schemes.values():
        parent, value = scheme.parent or ("", "")
        if not scheme.exclusive:
            under = "" if value == ANY else value
            found += [Question(scheme.name, parent, under, name, (name,)) for name in scheme.names()]
        elif value == ANY:
            for parent_class in taxonomy.scheme(parent).names():
                names = tuple(entry.name for entry in scheme.under(parent_class))
                if names:
                    found.append(Question(scheme.name, parent, parent_class, "", names, narrowed=True))
        else:
            found.append(Question(scheme.name, parent, value, "", scheme.names()))
    return found


def question_of(scheme: str, value: str, labels: Mapping[str, str]) -> Question | None:
    """The question that a label answers.

    Args:
        scheme: of the label.
        value: its class.
        labels: classes of the item by scheme: under which class of the parent a sub-type was asked.
    """
    for question in questions(Taxonomy.load()):
        if question.scheme == scheme and (
            question.member == value
            if question.member
            else not question.narrowed or labels.get(question.parent) == question.under
        ):
            return question
    return None
