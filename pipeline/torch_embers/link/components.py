"""Which part of PyTorch an item is about, by the paths, labels and words of ``data/components.toml``."""

from __future__ import annotations

import re
from collections import Counter
from functools import cache, cached_property
from typing import Annotated, Literal, NamedTuple, Self

from pydantic import BeforeValidator, Field, model_validator

from torch_embers import toml_models
from torch_embers.link import relations
from torch_embers.link.relations import bounded_pattern
from torch_embers.toml_models import Entry

FILE = "components.toml"
MAX_DETAIL = 120
_BEYOND_ASCII = re.compile(r"\\[wWsSdD]|\[\^")


class Component(NamedTuple):
    """A part of PyTorch."""

    component: str
    """data_path or computation."""
    subcomponent: str
    strict: bool
    """Named by the study as part of its data path."""


class Evidence(NamedTuple):
    """Why an item belongs to a component."""

    component: Component
    evidence: str
    """path, label or text."""
    detail: str
    """The path, the label, or the words that matched."""


class _TextRule(Entry):
    place: Literal["title", "any"] = Field(alias="in")
    needs: tuple[str, ...] = ()
    pattern: Annotated[re.Pattern[str], BeforeValidator(bounded_pattern)]

    @model_validator(mode="after")
    def _same_in_duckdb(self) -> Self:
        """DuckDB chooses the bodies that are read (``Components.signs``), and knows letters of ASCII only."""
        if self.place == "any" and (not self.needs or _BEYOND_ASCII.search(self.pattern.pattern)):
            raise ValueError(
                f"a pattern for bodies needs `needs`, and neither \\w, \\s nor [^...]: {self.pattern.pattern}"
            )
        return self


class _Part(Entry):
    name: str
    component: Literal["data_path", "computation"]
    meaning: str
    strict_paths: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()
    strict_labels: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()
    text: tuple[_TextRule, ...] = ()

    @property
    def strict(self) -> Component:
        return Component(self.component, self.name, strict=True)

    @property
    def wide(self) -> Component:
        return Component(self.component, self.name, strict=False)


class Components(Entry):
    """Everything in ``data/components.toml``; ``Components.load()`` gives the shipped table."""

    part: tuple[_Part, ...]

    @staticmethod
    @cache
    def load() -> Components:
        """Read the shipped file once.

        Raises:
            InputError: the file is missing or an entry is wrong.
        """
        return toml_models.load(Components, FILE)

    @model_validator(mode="after")
    def _each_once(self) -> Self:
        paths = [f"path {path!r}" for part in self.part for path in (*part.strict_paths, *part.paths)]
        labels = [f"label {label.lower()!r}" for part in self.part for label in (*part.strict_labels, *part.labels)]
        counts = Counter([f"part {part.name!r}" for part in self.part] + paths + labels)
        if repeated := [name for name, count in counts.items() if count > 1]:
            raise ValueError(f"{repeated[0]}: more than one entry")
        return self

    @cached_property
    def _beginnings(self) -> list[tuple[str, Component]]:
        """What the paths of each entry begin with, the longest first."""
        parts = {path: part.wide for part in self.part for path in part.paths}
        parts |= {path: part.strict for part in self.part for path in part.strict_paths}
        beginnings = [(path[:-1] if path.endswith("*") else f"{path}/", part) for path, part in parts.items()]
        return sorted(beginnings, key=lambda entry: len(entry[0]), reverse=True)

    @cached_property
    def _labels(self) -> dict[str, Component]:
        wide = {label.lower(): part.wide for part in self.part for label in part.labels}
        return wide | {label.lower(): part.strict for part in self.part for label in part.strict_labels}

    @cached_property
    def signs(self) -> tuple[str, ...]:
        """Patterns for DuckDB, in lower case: a body without any of them says nothing about a part."""
        rules = [rule for part in self.part for rule in part.text if rule.place == "any"]
        return tuple(sign for rule in rules for sign in (*map(re.escape, rule.needs), rule.pattern.pattern))

    @cached_property
    def _text_rules(self) -> list[tuple[Component, bool, tuple[str, ...], re.Pattern[str]]]:
        return [(part.wide, r.place == "title", r.needs, r.pattern) for part in self.part for r in part.text]

    def by_path(self, path: str) -> Component | None:
        """Return the component of a file by the longest entry that fits, or ``None``."""
        whole = f"{path}/"
        return next((part for beginning, part in self._beginnings if whole.startswith(beginning)), None)

    def by_label(self, label: str) -> Component | None:
        """Return the component that a maintainers' label stands for, or ``None``."""
        return self._labels.get(label.lower())

    def by_text(self, title: str | None, body: str | None) -> list[Evidence]:
        """Components named by words of the report, at most one piece of evidence per component."""
        longest = relations.load().limits.text_chars
        lower_title = (title or "")[:longest].lower()
        whole = f"{lower_title}\n{body[:longest].lower()}" if body else lower_title
        found: dict[Component, Evidence] = {}
        for part, in_title, words, pattern in self._text_rules:
            text = lower_title if in_title else whole
            for word in words:  # a plain loop: it runs for every rule and text
                if word in text:
                    break
            else:
                if words:
                    continue
            if part not in found and (match := pattern.search(text)):
                found[part] = Evidence(part, "text", match[0][:MAX_DETAIL])
        return list(found.values())
