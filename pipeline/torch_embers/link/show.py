"""Chains from the store."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_embers.errors import InputError
from torch_embers.link.chain import Node, Tree, chain
from torch_embers.link.graph import around

if TYPE_CHECKING:
    from torch_embers.store.store import Store


def chain_of(store: Store, repo: str, number: int) -> Tree:
    """The chain around one item.

    Raises:
        InputError: the database knows neither the item nor a link to it.
        StoreError: the database cannot be read.
    """
    start = Node(repo, number)
    with store.read() as connection:
        links, facts = around(connection, start)
    if start not in facts and not links:
        raise InputError(f"{repo}#{number} is not in the database: mine it first (`embers mine --numbers FILE`)")
    return chain(start, links, facts)
