"""`embers mcp`, driven by the client of the official SDK over standard input and output."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

pytest.importorskip("mcp")

from mcp.client import Client

from torch_embers import mcp_server
from torch_embers.store.store import Store

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine
    from pathlib import Path


def asked(server: Any, questions: Callable[[Client], Coroutine[Any, Any, Any]]) -> Any:
    """Connect a client to a server, and what the questions bring."""

    async def connected() -> Any:
        async with Client(server) as client:
            return await questions(client)

    return asyncio.run(connected())


def test_every_tool_is_read_only_and_explained(catalog_database: Path) -> None:
    async def questions(client: Client) -> Any:
        return (await client.list_tools()).tools

    tools = asked(mcp_server.server(Store(catalog_database), "pytorch/pytorch"), questions)
    assert {tool.name for tool in tools} == {"search", "show", "verdicts", "second_opinion", "audit"}
    assert all(tool.annotations.read_only_hint and tool.description for tool in tools)
