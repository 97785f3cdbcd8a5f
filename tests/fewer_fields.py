"""A mine by GraphQL as it was before reviews, commits, people and sub-issues were asked for: what these cost in points.

Points count connections. So the queries go without the connections and the kinds of timeline items that came later, and
pages are as long as they were then.
"""

from __future__ import annotations

import re
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

from torch_embers.mine.records import graphql_answers, graphql_records

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

LATER = ("assignees", "reviewRequests", "subIssues")
"""Connections of an item that came later."""
PAGES = {"issue_page": 62, "pull_page": 49}
"""Items a page, the most for two points without these connections: 1 + 62 x 4 and 1 + 49 x 5 are less than 250."""
_KINDS = ",\\s*PULL_REQUEST_REVIEW, PULL_REQUEST_COMMIT"


def earlier(text: str) -> str:
    """A query without what came later, and without the fragments that it does not use any more."""
    for name in LATER:
        text = re.sub(rf"(?m)^  {name}\(.*\{{(?:.*\}}\n|\n(?:    .*\n)*  \}}\n)", "", text)
    text = re.sub(_KINDS, "", text).replace(" ...pullEventFields", "")
    body, *fragments = re.split(r"(?m)^(?=fragment )", text)
    known = {part.split()[1]: part for part in fragments}
    used: dict[str, str] = {}
    todo = [body]
    while todo:
        for name in re.findall(r"\.\.\.(\w+)", todo.pop()):
            if name in known and name not in used:
                used[name] = known[name]
                todo.append(known[name])
    return body + "".join(used.values())


@contextmanager
def without_later_fields() -> Iterator[None]:
    """Have all queries of this process as they were."""
    whole = graphql_records.query

    def query(name: str, without: Collection[str] = ()) -> str:
        return earlier(whole(name, without))

    kept: dict[str, Any] = {
        kind: {name: part for name, part in parts.items() if name not in LATER}
        for kind, parts in graphql_answers.CONNECTIONS.items()
    }
    with patch.object(graphql_records, "query", query), patch.object(graphql_answers, "CONNECTIONS", kept):
        yield
