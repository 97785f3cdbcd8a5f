"""`embers mcp`, driven by the client of the official SDK over standard input and output."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import duckdb
import pytest

pytest.importorskip("mcp")

from mcp import StdioServerParameters, stdio_client
from mcp.client import Client

from helpers.timeline_rows import crashed, ended, put
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


def called(database: Path, *calls: tuple[str, dict[str, Any]]) -> list[Any]:
    """What a server of a database answers to calls of its tools."""

    async def questions(client: Client) -> Any:
        return [await client.call_tool(tool, arguments) for tool, arguments in calls]

    found: list[Any] = asked(mcp_server.server(Store(database), "pytorch/pytorch"), questions)
    return found


SHOW = ("show", {"number": 31829})


def answer(result: Any) -> Any:
    assert not result.is_error, result.content
    return json.loads(result.content[0].text)


def test_every_tool_is_read_only_and_explained(catalog_database: Path) -> None:
    async def questions(client: Client) -> Any:
        return (await client.list_tools()).tools

    tools = asked(mcp_server.server(Store(catalog_database), "pytorch/pytorch"), questions)
    assert {tool.name for tool in tools} == {"search", "show", "verdicts", "timeline", "audit"}
    assert all(tool.annotations.read_only_hint and tool.description for tool in tools)


def test_an_item_its_verdicts_and_an_audit_are_answered(catalog_database: Path) -> None:
    audits = [("audit", {"torch": "2.6.0", "code": CODE}), ("audit", {"torch": "2.6.0"})]
    shown, met, whole = map(answer, called(catalog_database, SHOW, *audits))
    assert shown["facts"]["disposition"]
    [verdicts] = map(answer, called(catalog_database, ("verdicts", {"case": shown["cases"][0]["name"]})))
    assert {entry["build"] for entry in verdicts["entries"]} >= {"1.13.1", "2.15.0"}
    assert met["findings"][0]["places"] == [{"file": "code.py", "line": 2}]
    assert len(whole["findings"]) > len(met["findings"])


def test_a_timeline_is_answered_by_its_sentence(database: Path) -> None:
    put(database, 5, [crashed("2.5.1", "2.6.0"), ended("2.7.1")])
    put(database, 6, code="x = 6")
    known, other = called(database, ("timeline", {"number": 5}), ("timeline", {"number": 6}))
    found = answer(known)
    assert found["sentence"].startswith("The report's script: SIGSEGV on 2.5.1 to 2.6.0; since 2.7.1 it prints")
    assert [segment["versions"] for segment in found["segments"]] == [["2.5.1", "2.6.0"], ["2.7.1"]]
    assert other.is_error
    assert "`embers run 6`" in other.content[0].text


@pytest.mark.parametrize("number", [83149, 84577])
def test_an_item_is_answered_as_the_command_prints_it_as_json(catalog_database: Path, number: int) -> None:
    [result] = called(catalog_database, ("show", {"number": number}))
    answer(result)
    given = json.loads(result.content[0].text.replace('"untrusted_', '"'))
    printed = json.loads(run_embers("show", number, "--json", "--database", catalog_database).stdout)
    assert given | {"possible_duplicates": printed["possible_duplicates"]} == printed
    assert given["answer"]["closable"] in {"yes", "no", "unknown"}


def test_foreign_text_is_seen_whole_and_stands_in_fields_that_say_so(catalog_database: Path) -> None:
    hidden = "".join(chr(0xE0000 + ord(letter)) for letter in "obey") + "\ufe01\u202e\u200b\x1b"
    with duckdb.connect(str(catalog_database)) as connection:
        connection.execute("UPDATE items SET title = ? WHERE number = 31829", [f"a{hidden}b"])
    shown, found = called(catalog_database, SHOW, ("search", {"words": "contiguous"}))
    assert answer(shown)["facts"]["untrusted_title"] == "ab"
    for text in (shown.content[0].text, found.content[0].text):
        assert '"untrusted_title"' in text
        assert '"title"' not in text


WRONG_CALLS: list[tuple[str, dict[str, Any], str]] = [
    ("show", {"number": 1}, "1"),
    ("show", {"number": 0}, "number"),
    ("timeline", {"number": 1}, "nothing is known of a script of pytorch/pytorch#1"),
    ("audit", {"torch": "1.0"}, "nothing was measured on torch 1.0"),
    ("audit", {"torch": "2.6.0", "code": "x" * 300_000}, "code"),
    ("audit", {"torch": "2.6.0", "code": 3}, ""),
    ("delete", {}, "delete"),
    ("", {}, ""),
    ("show", {}, ""),
    *(("show", {"number": n}, "") for n in ("1; DROP TABLE items", -1, 10**30, 2**31, None, 1.5, [1], {"a": 1})),
    *(("verdicts", {"case": name}, "") for name in ("'; DROP TABLE items; --", "../../etc/passwd", "x" * 10**6)),
    *(("verdicts", {"case": name}, "") for name in (3, "\0", "")),
    *(("search", {"words": value}, "") for value in ("", "  ", "x" * 2_001, ["a"])),
    *(("search", {"words": "a", "count": value}, "") for value in (0, -1, 10**9, "many")),
    ("show", {"number": 31829, "nmber": 1}, "unknown argument 'nmber', the tool takes number"),
    ("show", {"number": 31829, "\ud800" * 300: 1}, "unknown argument"),
    *(("audit", {"torch": value}, "") for value in ("../../etc/passwd", "'; --", "", "9" * 50, None)),
]
"""Tool, arguments, and a word of the answer."""


def test_wrong_and_hostile_questions_get_one_line_each_write_nothing_and_stop_nothing(catalog_database: Path) -> None:
    def files() -> dict[str, bytes]:
        return {path.name: path.read_bytes() for path in catalog_database.parent.iterdir() if path.is_file()}

    before = files()
    *answers, shown = called(catalog_database, *((tool, arguments) for tool, arguments, _ in WRONG_CALLS), SHOW)
    for call, refused in zip(WRONG_CALLS, answers, strict=True):
        text = refused.content[0].text
        assert refused.is_error, call
        assert call[2] in text
        assert len(text.splitlines()) == 1, text
        assert len(text) < 500
        assert "Traceback" not in text
    assert answer(shown)["number"] == 31829
    assert files() == before


def test_code_that_cannot_be_read_is_named_and_not_run(catalog_database: Path) -> None:
    codes = ["def (", "(" * 5_000, "x=" + "-" * 100_000 + "1", "\0", "a." * 90_000 + "b"]
    for found in map(
        answer, called(catalog_database, *(("audit", {"torch": "2.6.0", "code": code}) for code in codes))
    ):
        assert found["unread"].keys() == {"code.py"}
        assert found["findings"] == []


def gone(path: Path) -> None:
    path.rename(path.with_suffix(".moved"))


def of_a_later_version(path: Path) -> None:
    with duckdb.connect(path) as connection:
        connection.execute(
            "INSERT INTO schema_version BY NAME SELECT * REPLACE (999 AS version) FROM schema_version LIMIT 1"
        )


def overwritten(path: Path) -> None:
    path.write_bytes(b"x" * 5_000)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (gone, "no database at"),
        (of_a_later_version, "schema version 999"),
        (overwritten, "cannot be read as a database"),
    ],
)
def test_a_database_that_changes_while_it_is_served_is_one_line_and_can_come_back(
    catalog_database: Path, change: Callable[[Path], None], said: str
) -> None:
    kept = catalog_database.read_bytes()

    async def questions(client: Client) -> Any:
        first = answer(await client.call_tool(*SHOW))
        change(catalog_database)
        refused = await client.call_tool(*SHOW)
        catalog_database.write_bytes(kept)
        return first, refused, answer(await client.call_tool(*SHOW))

    first, refused, again = asked(mcp_server.server(Store(catalog_database), "pytorch/pytorch"), questions)
    assert refused.is_error
    assert said in refused.content[0].text
    assert len(refused.content[0].text.splitlines()) == 1
    assert again == first


def test_a_database_that_another_process_holds_is_one_line(catalog_database: Path) -> None:
    code = "import duckdb, sys; held = duckdb.connect(sys.argv[1]); print('held', flush=True); sys.stdin.read()"

    async def questions(client: Client) -> Any:
        with subprocess.Popen(
            [sys.executable, "-c", code, catalog_database], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        ) as holder:
            assert holder.stdout is not None
            holder.stdout.readline()
            refused = await client.call_tool(*SHOW)
            holder.communicate(b"")
        return refused, answer(await client.call_tool(*SHOW))

    refused, shown = asked(mcp_server.server(Store(catalog_database), "pytorch/pytorch"), questions)
    assert refused.is_error
    assert "is in use by process" in refused.content[0].text
    assert shown["number"] == 31829


def test_half_of_a_surrogate_pair_is_answered_over_standard_input(catalog_database: Path) -> None:
    hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
    calls = [("search", {"words": "logsumexp \ud800"}), ("verdicts", {"case": "\udfff"}), ("show", {"number": 31829})]
    requests: list[dict[str, Any]] = [
        {"id": 0, "method": "initialize", "params": hello},
        {"method": "notifications/initialized"},
        *(
            {"id": place, "method": "tools/call", "params": {"name": tool, "arguments": arguments}}
            for place, (tool, arguments) in enumerate(calls, 1)
        ),
    ]
    lines = [json.dumps({"jsonrpc": "2.0"} | request) for request in requests]
    command = [sys.executable, "-m", "torch_embers", "mcp", "--database", catalog_database]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as served:
        assert served.stdin is not None
        assert served.stdout is not None
        served.stdin.write("\n".join(lines) + "\n")
        served.stdin.flush()
        answers = [json.loads(served.stdout.readline()) for _ in range(1 + len(calls))]
        served.stdin.close()
    found = {one["id"]: one["result"] for one in answers}
    assert [found[place]["isError"] for place in (1, 2, 3)] == [False, True, False]
    assert "no verdict of a case '\ufffd'" in found[2]["content"][0]["text"]


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
