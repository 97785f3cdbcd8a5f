"""Which part of PyTorch an item is about, by the paths, labels and words of ``data/components.toml``."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

from torch_embers import resources
from torch_embers.errors import InputError
from torch_embers.link.relations import contains_any, unbounded

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

FILE = "components.toml"
MAX_DETAIL = 120
COMPONENTS = frozenset({"data_path", "computation"})


@dataclass(frozen=True, slots=True)
class Component:
    """A part of PyTorch."""

    component: str
    """data_path or computation."""
    subcomponent: str
    strict: bool
    """Named by the study as part of its data path."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """Why an item belongs to a component."""

    component: Component
    evidence: str
    """path, label or text."""
    detail: str
    """The path, the label, or the words that matched."""


@dataclass(frozen=True, slots=True)
class _Words:
    component: Component
    pattern: re.Pattern[str]
    needs: tuple[str, ...]
    title_only: bool


class Components:
    """The compiled table; ``Components.load()`` gives the shipped one."""

    def __init__(self, data: Mapping[str, Any], digest: str = "") -> None:
        """Compile the parsed TOML.

        Raises:
            InputError: an unknown sub-component or component, a path or label given twice, a bad or unbounded pattern.
        """
        self.digest = digest
        try:
            self._parts = {entry["name"]: entry["component"] for entry in data["subcomponent"]}
            if unknown := set(self._parts.values()) - COMPONENTS:
                raise InputError(f"{FILE}: unknown component {sorted(unknown)[0]!r}")
            self._paths = self._keyed(data.get("path", ()), "path")
            self._labels = self._keyed(data.get("label", ()), "label")
            self._words = [self._text_rule(entry) for entry in data.get("text", ())]
        except KeyError as error:
            raise InputError(f"{FILE}: an entry lacks the key {error}") from error
        self._stems: dict[str, list[str]] = {}
        for path in self._paths:
            if path.endswith("*"):
                folder, _, stem = path[:-1].rpartition("/")
                self._stems.setdefault(folder, []).append(stem)
        for stems in self._stems.values():
            stems.sort(key=len, reverse=True)

    @staticmethod
    @cache
    def load() -> Components:
        """Read the shipped ``data/components.toml`` once.

        Raises:
            InputError: the file is missing or an entry is wrong.
        """
        text = resources.data_file(FILE).read_bytes()
        return Components(resources.load_toml(FILE), blake2b(text, digest_size=8).hexdigest())

    def _component(self, entry: Mapping[str, Any]) -> Component:
        sub = entry["sub"]
        if sub not in self._parts:
            raise InputError(f"{FILE}: unknown sub-component {sub!r}")
        return Component(self._parts[sub], sub, bool(entry.get("strict", False)))

    def _keyed(self, entries: Iterable[Mapping[str, Any]], key: str) -> dict[str, Component]:
        table: dict[str, Component] = {}
        for entry in entries:
            name = entry[key].lower() if key == "label" else entry[key]
            if name in table:
                raise InputError(f"{FILE}: {key} {entry[key]!r} stands twice")
            table[name] = self._component(entry)
        return table

    def _text_rule(self, entry: Mapping[str, Any]) -> _Words:
        pattern, name = entry["pattern"], entry["id"]
        if unbounded(pattern):
            raise InputError(f"{FILE}: {name}: every repetition needs an upper bound: {pattern}")
        try:
            compiled = re.compile(pattern)
        except re.error as error:
            raise InputError(f"{FILE}: {name}: {error}: {pattern}") from error
        return _Words(self._component(entry), compiled, tuple(entry.get("needs", ())), entry["in"] == "title")

    def by_path(self, path: str) -> Component | None:
        """Return the component of a file by the longest entry that fits, or ``None``."""
        if found := self._paths.get(path):
            return found
        folder, _, name = path.rpartition("/")
        while folder:
            for stem in self._stems.get(folder, ()):
                if name.startswith(stem):
                    return self._paths[f"{folder}/{stem}*"]
            if found := self._paths.get(folder):
                return found
            folder, _, name = folder.rpartition("/")
        return None

    def by_label(self, label: str) -> Component | None:
        """Return the component that a maintainers' label stands for, or ``None``."""
        return self._labels.get(label.lower())

    def by_text(self, title: str | None, body: str | None) -> list[Evidence]:
        """Components named by words of the report, at most one piece of evidence per component."""
        lower_title = (title or "").lower()
        whole = f"{lower_title}\n{body.lower()}" if body else lower_title
        found: dict[Component, Evidence] = {}
        for words in self._words:
            text = lower_title if words.title_only else whole
            if (
                contains_any(text, words.needs)
                and words.component not in found
                and (match := words.pattern.search(text))
            ):
                found[words.component] = Evidence(words.component, "text", match[0][:MAX_DETAIL])
        return list(found.values())
