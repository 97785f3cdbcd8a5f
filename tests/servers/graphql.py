"""GitHub's published GraphQL schema over a dataset, executed by graphql-js."""

from __future__ import annotations

import json
import subprocess
from typing import TYPE_CHECKING, Any, cast

from servers.install import HERE
from servers.process import Server, StandInError, http_call

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from servers.dataset import Dataset, ItemJson

Json = dict[str, Any]
VALIDATE_SECONDS = 60
DATASET = "dataset.ndjson"
HEAP_MB = 8_192
"""Enough for a tracker of 150,000 items; it is a bound, a small dataset takes little."""


class GraphQLStandIn(Server):
    """``POST /graphql`` and a little REST over ``dataset``.

    A token of the dataset is needed for GraphQL. Quota is counted per token by GitHub's documented formula.
    Faults are dictionaries with ``kind``, ``at`` (which request from now on, 1 = next), ``times`` and optionally
    ``contains`` (count only queries with this text). Kinds: ``response`` (``status``, ``body``, ``headers``),
    ``rate_limited`` (``reset_in`` seconds), ``truncated`` (half the JSON), ``short_body`` (fewer bytes than
    announced), ``drop`` (connection closed), ``null_node`` (``index``: one node null with an error beside it),
    ``partial`` (``path`` below ``data`` becomes null, or ``value``, or goes where ``drop`` is set; an error with
    ``type`` and ``message`` beside it unless ``silent``; ``bubble`` levels above become null instead), ``delay``
    (``ms``).
    """

    name = "graphql"
    ready_path = "/rate_limit"

    def __init__(self, dataset: Dataset) -> None:
        super().__init__()
        self.dataset = dataset

    def prepare(self) -> None:
        """Write the dataset where Node reads it: a line for each item, for Node has strings of 512 MiB at most."""
        repos = self.dataset["repos"]
        head = {**self.dataset, "repos": [{k: v for k, v in repo.items() if k != "items"} for repo in repos]}
        with (self.directory / DATASET).open("w", encoding="utf-8") as lines:
            lines.write(json.dumps(head) + "\n")
            for place, repo in enumerate(repos):
                lines.writelines(json.dumps([place, item]) + "\n" for item in repo["items"])

    def command(self) -> list[str]:
        """Return the Node command line."""
        return ["node", f"--max-old-space-size={HEAP_MB}", "graphql.mjs", str(self.port), str(self.directory / DATASET)]

    def counters(self) -> Json:
        """Return ``graphql``, ``rest``, ``cost``, ``nodes``, ``refused``, ``faults``, ``partial``, ``met``, ``queries``.

        ``met`` says how many answers were changed, by ``contains`` of the fault; ``any`` stands for whole answers.
        ``queries`` holds ``cost``, ``nodes``, ``name`` and ``variables`` of each query that was executed.
        """
        return self._admin(None)

    def reset_counters(self) -> None:
        """Set all counters to zero."""
        self._order("reset_counters")

    def restore(self) -> None:
        """Go back to the dataset, tokens, quota and counters of the start, without faults."""
        self._order("restore")

    def touch(self, repo: str, number: int, at: str) -> None:
        """Set ``updatedAt`` of an item."""
        self.update(repo, number, updatedAt=at)

    def update(self, repo: str, number: int, **fields: object) -> None:
        """Overwrite fields of an item, in the dataset's words."""
        self._order("update", repo=repo, number=number, fields=fields)

    def add(self, repo: str, item: ItemJson) -> None:
        """Add or replace an item."""
        self._order("add", repo=repo, item=item)

    def delete(self, repo: str, number: int) -> None:
        """Delete an item: GraphQL says NOT_FOUND, REST 410."""
        self._order("delete", repo=repo, number=number)

    def transfer(self, repo: str, number: int, to: str, new_number: int, at: str) -> None:
        """Move an item to another repository: GraphQL says NOT_FOUND, REST 301 to the new place."""
        self._order("transfer", repo=repo, number=number, to=to, new_number=new_number, at=at)

    def rename_repo(self, repo: str, to: str) -> None:
        """Rename a repository: REST answers 301 under the old name, GraphQL follows."""
        self._order("rename_repo", repo=repo, to=to)

    def limit(self, limit: int = 5000, reset_in: int = 3600, resource: str = "graphql") -> None:
        """Give every token a fresh quota of ``limit`` points that refills after ``reset_in`` seconds."""
        self._order("limit", limit=limit, reset_in=reset_in, resource=resource)

    def older(self) -> None:
        """Have the schema of an older GitHub Enterprise Server, which lacks the types of issues."""
        self._order("older")

    def tokens(self, *tokens: str) -> None:
        """Accept these tokens only, as when one expires."""
        self._order("tokens", tokens=tokens)

    def faults(self, *faults: Json) -> None:
        """Replace the faults; no argument removes them."""
        self._order("faults", faults=faults)

    def _order(self, op: str, **parts: object) -> None:
        self._admin({"op": op, **parts})

    def _admin(self, order: Json | None) -> Json:
        body = b"" if order is None else json.dumps(order).encode()
        status, answer = http_call(f"{self.url}/__admin", "POST", body)
        if status != 200:
            raise StandInError(f"graphql: {status} {answer[:500]!r}")
        return cast("Json", json.loads(answer))


def validate_queries(paths: Iterable[Path], fragments: Sequence[Path] = ()) -> list[str]:
    """Check ``.graphql`` files against GitHub's published schema; return ``file:line: message`` per error.

    ``fragments`` are files whose fragments every query may use; they are checked too.
    Raises StandInError when Node itself fails (call ``node_ready`` first).
    """
    files = [str(path.resolve()) for path in (*fragments, *paths)]
    command = ["node", "validate.mjs", str(len(fragments)), *files]
    done = subprocess.run(command, cwd=HERE, capture_output=True, text=True, timeout=VALIDATE_SECONDS, check=False)
    if done.returncode != 0:
        raise StandInError(f"validate.mjs: {done.stderr[-2000:]}")
    return [str(problem) for problem in json.loads(done.stdout)]
