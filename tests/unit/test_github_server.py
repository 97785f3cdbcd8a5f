"""The GitHub of the tests pages, limits, refuses and fails as declared."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
import requests

from servers.dataset import generated_dataset
from servers.github import FAULTS, GitHub, filled

if TYPE_CHECKING:
    from collections.abc import Iterator

ISSUES = "/repos/alice/bugs/issues"
LIST = """query($first: Int!, $after: String) { repository(owner: "pytorch", name: "pytorch") {
  issues(first: $first, after: $after, orderBy: {field: UPDATED_AT, direction: ASC}) {
    totalCount pageInfo { hasNextPage endCursor } nodes { number comments(first: 50) { totalCount } } } } }"""


@pytest.fixture(scope="module")
def started() -> Iterator[GitHub]:
    with GitHub(generated_dataset(24)) as server:
        yield server


@pytest.fixture
def github(started: GitHub) -> GitHub:
    started.restore()
    return started


def ask(github: GitHub, query: str, token: str = "token-one", **variables: object) -> dict[str, Any]:
    sent = {"query": query, "variables": variables}
    answer = requests.post(f"{github.url}/graphql", json=sent, headers={"Authorization": f"bearer {token}"}, timeout=5)
    return answer.json()


def test_a_query_that_names_an_unknown_field_is_refused(github: GitHub) -> None:
    [problem] = ask(github, "query { viewer { nope } }")["errors"]
    assert problem["message"] == "Field 'nope' doesn't exist on type 'User'"
    assert len(github.refused) == 1


@pytest.mark.parametrize(
    ("path", "status"),
    [
        (f"{ISSUES}?state=foo", 422),
        (f"{ISSUES}?per_page=abc", 422),
        (f"{ISSUES}?since=yesterday", 422),
        (f"{ISSUES}?colour=red", 422),
        ("/repos/alice/bugs/pulls?since=2024-01-01T00:00:00Z", 422),
        ("/repos/alice/bugs/wiki", 422),
        ("/search/issues?q=repo:alice/bugs+colour:red", 422),
        ("/repos/nobody/nothing", 404),
        ("/repos/pytorch/pytorch/issues/2", 410),
        ("/repos/pytorch/pytorch/issues/3", 301),
        ("/repos/pytorch/old-name", 301),
    ],
)
def test_rest_refuses_what_github_refuses(github: GitHub, path: str, status: int) -> None:
    filled(github, 3)
    github.delete("pytorch/pytorch", 2)
    github.transfer("pytorch/pytorch", 3, "pytorch/vision", 9, "2026-01-01T00:00:00Z")
    headers = {"Authorization": "token token-one"}
    answer = requests.get(github.url + path, headers=headers, allow_redirects=False, timeout=5)
    assert answer.status_code == status
    assert len(github.refused) == (status == 422)


@pytest.mark.parametrize(
    ("asked", "kind"),
    [
        ("issues(first: 101) { nodes { number } }", "EXCESSIVE_PAGINATION"),
        ("issues { nodes { number } }", "MISSING_PAGINATION_BOUNDARIES"),
        (
            "pullRequests(first: 100) { nodes { closingIssuesReferences(first: 100) { nodes { comments(first: 100)"
            " { nodes { body } } } } } }",
            "MAX_NODE_LIMIT_EXCEEDED",
        ),
        ('issues(first: 1, filterBy: {since: "yesterday"}) { totalCount }', None),
    ],
)
def test_graphql_refuses_what_github_refuses_and_it_costs_nothing(github: GitHub, asked: str, kind: str | None) -> None:
    answer = ask(github, f'{{ repository(owner: "pytorch", name: "pytorch") {{ {asked} }} }}')
    assert "data" not in answer
    assert answer["errors"][0].get("type") == kind
    assert github.cost == 0


def test_quotas_are_counted_by_token_in_points_of_the_documented_formula(github: GitHub) -> None:
    github.limit(3)
    ask(github, LIST, first=100)  # 1 + 100 connections: 1 point
    assert [(query["cost"], query["nodes"]) for query in github.queries] == [(1, 100 + 100 * 50)]
    ask(github, LIST, first=99)
    ask(github, LIST, first=1)
    assert ask(github, LIST, first=1)["errors"][0]["type"] == "RATE_LIMITED"
    assert "data" in ask(github, LIST, token="token-two", first=1)
    assert ask(github, LIST, token="another", first=1)["message"] == "Bad credentials"


BROKEN: dict[str, type[Exception]] = {
    "empty": requests.exceptions.ConnectionError,
    "reset": requests.exceptions.ConnectionError,
    "random": requests.exceptions.ConnectionError,
    "bad_chunk": requests.exceptions.ChunkedEncodingError,
    "short": requests.exceptions.ChunkedEncodingError,
    "truncated": json.JSONDecodeError,
    "slow": requests.exceptions.ReadTimeout,
}


WHOLE = [name for name, fault in FAULTS.items() if fault.keys() & {"body", "wire", "headers", "without", "keep"}]
"""Faults of whole answers; the others are parts of GraphQL answers, which tests/nightly/test_mine_faults.py goes through."""


@pytest.mark.parametrize("name", WHOLE)
def test_a_fault_reaches_the_client_as_it_is_declared_and_is_gone_afterwards(github: GitHub, name: str) -> None:
    fault = FAULTS[name]
    github.tokens = None
    filled(github, 12)
    address = f"{github.url}{ISSUES}?per_page=10"
    whole = requests.get(address, timeout=5)
    github.fault(name, "/issues", at=2)
    github.asked.clear()
    assert requests.get(address, timeout=5).json() == whole.json()
    if error := BROKEN.get(fault.get("wire", "")):
        with pytest.raises(error):
            requests.get(address, timeout=0.1 if fault["wire"] == "slow" else 5).json()
    else:
        met = requests.get(address, timeout=5, allow_redirects=False)
        assert met.status_code == fault.get("status", 200)
        assert met.headers.get("Link") != whole.headers["Link"]
    assert github.met.total() == 1
    assert requests.get(address, timeout=5).json() == whole.json()
