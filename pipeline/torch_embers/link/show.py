"""Chains from the store as printable lines."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_embers.errors import InputError
from torch_embers.link.chain import Node, chain, render
from torch_embers.link.graph import around

if TYPE_CHECKING:
    from torch_embers.store.store import Store


def chain_lines(store: Store, repo: str, number: int) -> list[str]:
    """The chain around one item, drawn as a tree.

    Raises:
        InputError: the database knows neither the item nor a link to it.
        StoreError: the database cannot be read.
    """
    start = Node(repo, number)
    with store.read() as connection:
        links, facts = around(connection, start)
    if start not in facts and not links:
        raise InputError(f"{repo}#{number} is not in the database: mine it first (`embers mine --numbers FILE`)")
    return render(chain(start, links, facts))
