"""GitHub's OpenAPI document, cut down to what a miner reads, so that a server over it starts in seconds."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, cast

from servers.install import OPENAPI

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

Json = dict[str, Any]

REAL_HOST = "https://api.github.com"
READ_PATHS = frozenset(
    {
        "/rate_limit",
        "/zen",
        "/search/issues",
        "/repos/{owner}/{repo}",
        "/repos/{owner}/{repo}/commits",
        "/repos/{owner}/{repo}/commits/{ref}",
        "/repos/{owner}/{repo}/compare/{basehead}",
        "/repos/{owner}/{repo}/events",
        "/repos/{owner}/{repo}/issues",
        "/repos/{owner}/{repo}/issues/comments",
        "/repos/{owner}/{repo}/issues/events",
        "/repos/{owner}/{repo}/issues/{issue_number}",
        "/repos/{owner}/{repo}/issues/{issue_number}/comments",
        "/repos/{owner}/{repo}/issues/{issue_number}/events",
        "/repos/{owner}/{repo}/issues/{issue_number}/labels",
        "/repos/{owner}/{repo}/issues/{issue_number}/timeline",
        "/repos/{owner}/{repo}/labels",
        "/repos/{owner}/{repo}/pulls",
        "/repos/{owner}/{repo}/pulls/comments",
        "/repos/{owner}/{repo}/pulls/{pull_number}",
        "/repos/{owner}/{repo}/pulls/{pull_number}/comments",
        "/repos/{owner}/{repo}/pulls/{pull_number}/commits",
        "/repos/{owner}/{repo}/pulls/{pull_number}/files",
        "/repos/{owner}/{repo}/pulls/{pull_number}/reviews",
    }
)
"""What is kept of more than 800 paths; only ``get`` of each."""
LOCAL_REFERENCE = re.compile(r"#/components/([^/]+)/(.+)")


def trim(target: Path, address: str, document: Path = OPENAPI) -> int:
    """Write the trimmed document to ``target`` with every example address moved to ``address``.

    The example ``Link`` headers are left out: they lead to a page that does not exist. Returns the number of
    paths. Raises KeyError when the document has lost a path of READ_PATHS.
    """
    whole = cast("Json", json.loads(document.read_text("utf-8").replace(REAL_HOST, address)))
    paths = {path: {"get": _without_link(whole["paths"][path]["get"])} for path in sorted(READ_PATHS)}
    kept: Json = {key: whole[key] for key in ("openapi", "info", "servers", "tags", "security") if key in whole}
    kept["servers"] = [{"url": address}]
    kept["paths"] = paths
    kept["components"] = _needed_components(whole["components"], paths)
    target.write_text(json.dumps(kept), "utf-8")
    return len(paths)


def _without_link(operation: Json) -> Json:
    for answer in operation["responses"].values():
        headers = answer.get("headers")
        if isinstance(headers, dict):
            headers.pop("Link", None)
    return operation


def _needed_components(components: Json, root: Json) -> Json:
    needed: dict[str, Json] = {}
    waiting: list[object] = [root]
    while waiting:
        for group, name in _references(waiting.pop()):
            section = needed.setdefault(group, {})
            if name not in section:
                section[name] = components[group][name]
                waiting.append(section[name])
    return needed


def _references(node: object) -> Iterator[tuple[str, str]]:
    if isinstance(node, dict):
        reference = node.get("$ref")
        match = LOCAL_REFERENCE.fullmatch(reference) if isinstance(reference, str) else None
        if match is not None:
            yield match[1], match[2].replace("~1", "/").replace("~0", "~")
        for value in node.values():
            yield from _references(value)
    elif isinstance(node, list):
        for value in node:
            yield from _references(value)
