"""Accounts that a page names, wherever they stand in it. Pure; for objects of REST and of GraphQL."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from torch_embers.mine.records.rest_records import login, text, whole
from torch_embers.store.records import User

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch_embers.store.records import Page

_AUTHOR_OF = {"author": "authorAssociation", "user": "author_association"}
"""Field of an author, and the field beside it that says how the author belongs to the repository."""
_WITHOUT = frozenset({"reactionGroups", "reactions"})
"""Fields below which no account stands; half of the objects of a GraphQL answer are below them."""


def account(actor: object) -> str | None:
    """Login of an actor as REST writes it: GraphQL leaves the ``[bot]`` behind the login of an app out."""
    name = login(actor)
    is_bot = isinstance(actor, dict) and actor.get("__typename") == "Bot"
    return f"{name}[bot]" if name and is_bot and not name.endswith("[bot]") else name


def users(data: object, repo: str, page: Page) -> list[User]:
    """One record for each account below ``data``, with the latest that is said of it."""
    found: dict[str, dict[str, Any]] = {}
    for actor, association in _actors(data):
        name = account(actor)
        if name:
            number = whole(actor.get("databaseId"))
            said = {
                "user_id": whole(actor.get("id")) if number is None else number,
                "type": text(actor.get("__typename") or actor.get("type")),
                "association": text(association),
            }
            found.setdefault(name, {}).update({key: value for key, value in said.items() if value is not None})
    return [User(repo, name, **facts, **page.stamp) for name, facts in found.items()]


def _actors(data: object) -> Iterator[tuple[dict[str, Any], object]]:
    """Every object that is an account, with the association that its author field has beside it."""
    todo: list[tuple[object, object]] = [(data, None)]
    while todo:
        value, association = todo.pop()
        if isinstance(value, list):
            todo += [(entry, None) for entry in reversed(value)]
        elif isinstance(value, dict):
            if "login" in value and ("__typename" in value or "type" in value):
                yield value, association
            inside = [(key, inner) for key, inner in value.items() if isinstance(inner, dict | list) and inner]
            todo += [
                (inner, value.get(_AUTHOR_OF[key]) if key in _AUTHOR_OF else None)
                for key, inner in reversed(inside)
                if key not in _WITHOUT
            ]
