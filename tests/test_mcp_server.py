"""`embers mcp`, driven by the client of the official SDK over standard input and output."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from typing import TYPE_CHECKING, Any

import pytest

pytest.importorskip("mcp")

from mcp import StdioServerParameters, stdio_client
from mcp.client import Client

from support import run_embers
from torch_embers import mcp_server
from torch_embers.store.store import Store

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine
    from pathlib import Path

CODE = "import torch\nloss = torch.logsumexp(x, 1)\n"


def asked(server: Any, questions: Callable[[Client], Coroutine[Any, Any, Any]]) -> Any:
    """Connect a client to a server, and what the questions bring."""

    async def connected() -> Any:
        async with Client(server) as client:
            return await questions(client)

    return asyncio.run(connected())


def answer(result: Any) -> Any:
    assert not result.is_error, result.content
    return json.loads(result.content[0].text)


def test_every_tool_is_read_only_and_explained(catalog_database: Path) -> None:
    async def questions(client: Client) -> Any:
        return (await client.list_tools()).tools

    tools = asked(mcp_server.server(Store(catalog_database), "pytorch/pytorch"), questions)
    assert {tool.name for tool in tools} == {"search", "show", "verdicts", "second_opinion", "audit"}
    assert all(tool.annotations.read_only_hint and tool.description for tool in tools)


def test_an_item_its_verdicts_and_an_audit_are_answered(catalog_database: Path) -> None:
    async def questions(client: Client) -> Any:
        shown = answer(await client.call_tool("show", {"number": 31829}))
        case = shown["cases"][0]["name"]
        return (
            shown,
            answer(await client.call_tool("verdicts", {"case": case}))["entries"],
            answer(await client.call_tool("audit", {"torch": "2.6.0", "code": CODE})),
            answer(await client.call_tool("audit", {"torch": "2.6.0"})),
        )

    shown, verdicts, met, whole = asked(mcp_server.server(Store(catalog_database), "pytorch/pytorch"), questions)
    assert shown["facts"]["disposition"]
    assert {entry["build"] for entry in verdicts} >= {"1.13.1", "2.15.0"}
    assert met["findings"][0]["places"] == [{"file": "code.py", "line": 2}]
    assert len(whole["findings"]) > len(met["findings"])


@pytest.mark.parametrize("number", [83149, 84577])
def test_a_second_opinion_is_what_the_command_prints_as_json(catalog_database: Path, number: int) -> None:
    async def questions(client: Client) -> Any:
        return answer(await client.call_tool("second_opinion", {"number": number}))

    given = asked(mcp_server.server(Store(catalog_database), "pytorch/pytorch"), questions)
    printed = run_embers("second-opinion", number, "--json", "--database", catalog_database)
    assert given == json.loads(printed.stdout)
    assert given["conclusion"] in {"still occurs", "no longer seen", "cannot be concluded"}


@pytest.mark.parametrize(
    ("tool", "arguments", "said"),
    [
        ("show", {"number": 1}, "1"),
        ("show", {"number": 0}, "number"),
        ("second_opinion", {"number": 1}, "1"),
        ("second_opinion", {"number": "one"}, "number"),
        ("audit", {"torch": "1.0"}, "nothing was measured on torch 1.0"),
        ("audit", {"torch": "2.6.0", "code": "x" * 300_000}, "code"),
        ("delete", {}, "delete"),
    ],
)
def test_a_wrong_question_gets_a_line_and_the_server_goes_on(
    catalog_database: Path, tool: str, arguments: dict[str, Any], said: str
) -> None:
    async def questions(client: Client) -> Any:
        refused = await client.call_tool(tool, arguments)
        return refused, answer(await client.call_tool("show", {"number": 31829}))

    refused, shown = asked(mcp_server.server(Store(catalog_database), "pytorch/pytorch"), questions)
    assert refused.is_error
    assert said in refused.content[0].text
    assert "Traceback" not in refused.content[0].text
    assert shown["number"] == 31829


@pytest.mark.slow
def test_the_command_answers_over_standard_input_and_output(catalog_database: Path) -> None:
    async def questions(client: Client) -> Any:
        return answer(await client.call_tool("search", {"words": "wrong gradient of logsumexp", "count": 3}))

    command = StdioServerParameters(
        command=sys.executable,
        args=["-m", "torch_embers", "mcp", "--database", str(catalog_database)],
        env=dict(os.environ),
    )
    found = asked(stdio_client(command), questions)["entries"]
    assert 31829 in [entry["number"] for entry in found]
