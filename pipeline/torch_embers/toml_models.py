"""Data files as pydantic models: checked whole when they are read, with errors that name file, entry and key."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError, ValidationInfo, model_validator

from torch_embers import resources
from torch_embers.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

NAMING_KEYS = ("id", "name", "path", "label")
"""Keys by which an entry is called in a message; an entry without them is called by its position."""

Model = TypeVar("Model", bound=BaseModel)


class Entry(BaseModel):
    """Base of every model of a data file: immutable, unknown keys refused."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Explained(Entry):
    """Base of a table in which every key ``x`` has its reason beside it, as ``x_reason``; the reasons are not kept."""

    @model_validator(mode="before")
    @classmethod
    def _without_reasons(cls, table: dict[str, Any]) -> dict[str, Any]:
        values = {key: value for key, value in table.items() if not key.endswith("_reason")}
        for key in values:
            if not table.get(f"{key}_reason"):
                raise ValueError(f'key "{key}" has no reason: {key}_reason is missing')
        for key in table.keys() - values.keys():
            if key.removesuffix("_reason") not in values:
                raise ValueError(f'key "{key}" explains nothing')
        return values


def load(model: type[Model], name: str) -> Model:
    """Read ``data/<name>`` as a model.

    Raises:
        InputError: the file is missing, is not TOML, or an entry is wrong.
    """
    return validate(model, resources.load_toml(name), name)


def validate(model: type[Model], data: Mapping[str, Any], name: str) -> Model:
    """Check parsed TOML against a model.

    Args:
        model: what the file must hold.
        data: the parsed file; validators of entries see the whole of it as their context.
        name: the file's name, for messages.

    Raises:
        InputError: the first thing that is wrong, as ``data/x.toml: function "crash": kind: Field required``.
    """
    try:
        return model.model_validate(data, context=data)
    except ValidationError as error:
        raise InputError(f"data/{name}: {_told(error, data)[0]}") from error


def _told(error: ValidationError, data: Mapping[str, Any]) -> list[str]:
    return [
        ": ".join([*_place(data, one["loc"]), one["msg"].removeprefix("Value error, ")])
        for one in error.errors(include_url=False)
    ]


def wrong(error: ValidationError) -> str:
    """The first thing that is wrong with data, in one line: the way to it and what was expected."""
    first = error.errors(include_url=False)[0]
    place = ".".join(map(str, first["loc"]))
    return ": ".join(filter(None, (place, first["msg"].removeprefix("Value error, "))))


def names(info: ValidationInfo[Mapping[str, Any]], table: str) -> set[str]:
    """Names of the entries of a table of the file; for validators of keys that refer to them."""
    return {entry["name"] for entry in info.context.get(table, ()) if "name" in entry}


def distinct(table: str) -> Any:
    """A validator of a file's model: no two entries of a table have one ``id``; the message lists those that do."""

    def check(file: Model) -> Model:
        counts = Counter(entry.id for entry in getattr(file, table))
        if twice := sorted(name for name, count in counts.items() if count > 1):
            raise ValueError(f"more than one entry is called {', '.join(twice)}")
        return file

    return model_validator(mode="after")(check)


def _place(data: Any, location: Sequence[int | str]) -> list[str]:
    """The way to a value in words: entries by their names, then the keys."""
    words: list[str] = []
    for step in location:
        data = _below(data, step)
        if isinstance(step, int) and words:
            words[-1] = f"{words[-1]} {called(data, step)}"
        else:
            words.append(str(step))
    return words


def _below(data: Any, step: int | str) -> Any:
    try:
        return data[step]
    except (KeyError, IndexError, TypeError):
        return None


def called(entry: Any, position: int) -> str:
    """How a message names an entry: by a key that names it, else by its position, counted from 0."""
    if isinstance(entry, dict):
        for key in NAMING_KEYS:
            if isinstance(entry.get(key), str):
                return f'"{entry[key]}"'
    return f"number {position + 1}"
