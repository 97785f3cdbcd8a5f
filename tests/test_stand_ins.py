"""The stand-in servers behave like the GitHub that they stand in for, seen through plain PyGithub."""

from __future__ import annotations

import http.client
import json
import os
import socket
import struct
import sys
import time
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import github
import pytest
import requests

from servers.install import REQUIRE
from servers.process import http_call
from servers.stand_ins import (
    FAULTS,
    Dataset,
    Emulate,
    FaultyGitHub,
    GraphQLStandIn,
    Prism,
    Recorded,
    Seeded,
    Server,
    StandInError,
    dataset_from_shared,
    java_ready,
    node_ready,
    recorded_reason,
    shared_reason,
    synthetic_dataset,
    validate_queries,
    validating_proxy,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from servers.dataset import ItemJson

pytestmark = pytest.mark.servers

Json = dict[str, Any]
REPO = {"owner": "pytorch", "name": "pytorch"}
FULL = "pytorch/pytorch"
ITEMS = 2_000
FAULTY_ITEMS = 200
SLOW_MS = 1_500


def skip_without(reason: str | None) -> None:
    if reason is not None:
        pytest.skip(reason)


def client(url: str, timeout: int = 20, **options: Any) -> github.Github:
    options.setdefault("auth", github.Auth.Token("token-one"))
    return github.Github(
        base_url=url,
        retry=None,
        timeout=timeout,
        seconds_between_requests=None,
        seconds_between_writes=None,
        **options,
    )


def sets(items: list[ItemJson], kind: str) -> set[int]:
    return {item["number"] for item in items if item["kind"] == kind}


# ---- installation and processes


def test_a_missing_server_is_a_failure_where_servers_are_required(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("servers.install._node_reason", lambda: "node not found")
    monkeypatch.delenv(REQUIRE, raising=False)
    assert node_ready() == "node not found"
    assert java_ready() == "node not found"
    monkeypatch.setenv(REQUIRE, "1")
    with pytest.raises(AssertionError, match="node not found"):
        node_ready()


class Dying(Server):
    name = "dying"

    def command(self) -> list[str]:
        return ["sh", "-c", "echo the reason; exit 3"]


def test_a_server_that_dies_at_once_shows_its_log_and_leaves_no_directory() -> None:
    server = Dying()
    with pytest.raises(StandInError, match=r"ended with 3:\nthe reason"):
        server.start()
    assert str(server.directory) == "."


class Forking(Server):
    """Answers, and has a child of its own."""

    name = "forking"

    def command(self) -> list[str]:
        serve = f"{sys.executable} -m http.server --bind 127.0.0.1 {self.port}"
        return ["sh", "-c", f"sleep 300 & echo $! > {self.directory}/pid; {serve}"]


def test_stop_kills_the_grandchildren_too() -> None:
    with Forking() as server:
        grandchild = int((server.directory / "pid").read_text())
        os.kill(grandchild, 0)
    deadline = time.monotonic() + 5
    while time.monotonic() < deadline:
        try:
            os.kill(grandchild, 0)
            if _is_zombie(grandchild):
                return
        except ProcessLookupError:
            return
        time.sleep(0.05)
    pytest.fail("the grandchild is still alive")


def _is_zombie(pid: int) -> bool:
    # Where process 1 does not collect orphans, a killed one stays in the table.
    stat = Path(f"/proc/{pid}/stat")
    return stat.is_file() and stat.read_text().rsplit(")", 1)[1].split()[0] == "Z"


# ---- emulate


@pytest.fixture(scope="module")
def emulate() -> Iterator[tuple[Emulate, Seeded]]:
    skip_without(node_ready())
    with Emulate() as server:
        yield server, server.seed(ITEMS)


def test_emulate_lists_every_seeded_issue_as_it_was_written(emulate: tuple[Emulate, Seeded]) -> None:
    server, seeded = emulate
    repo = client(server.url, per_page=100).get_repo(seeded.repo)
    listed = {issue.number: issue for issue in repo.get_issues(state="all", sort="updated", direction="asc")}
    assert listed.keys() == seeded.issues.keys()
    for number, wanted in seeded.issues.items():
        issue = listed[number]
        assert (issue.title, issue.body, issue.state) == (wanted.title, wanted.body, wanted.state)
        assert {label.name for label in issue.labels} == set(wanted.labels)
        assert (issue.state_reason, issue.comments) == (wanted.state_reason, len(wanted.comments))


def test_emulate_has_the_seeded_pull_requests_and_comments(emulate: tuple[Emulate, Seeded]) -> None:
    server, seeded = emulate
    repo = client(server.url, per_page=100).get_repo(seeded.repo)
    pulls = {pull.number: pull for pull in repo.get_pulls(state="all")}
    assert {number: pull.body for number, pull in pulls.items()} == {
        number: pull.body for number, pull in seeded.pulls.items()
    }
    merged = {number for number, pull in pulls.items() if pull.raw_data["merged_at"]}
    assert merged == {number for number, pull in seeded.pulls.items() if pull.merged}
    spoken = next(item for item in seeded.issues.values() if item.comments)
    comments = repo.get_issue(spoken.number).get_comments()
    assert tuple(comment.body for comment in comments) == spoken.comments


def test_emulate_holds_months_of_history_but_counts_quota_in_real_time(
    emulate: tuple[Emulate, Seeded],
) -> None:
    server, seeded = emulate
    session = client(server.url, per_page=100)
    issues = session.get_repo(seeded.repo).get_issues(state="all", sort="created", direction="asc")
    dates = [issue.created_at for issue in issues]
    assert dates == sorted(dates)
    assert dates[0].year == 2021
    assert dates[-1] - dates[0] > timedelta(days=60)
    since = dates[len(dates) // 2]
    later = session.get_repo(seeded.repo).get_issues(state="all", since=since)
    assert len({issue.number for issue in later}) >= len(dates) // 2 - 1
    assert 3500 < session.rate_limiting_resettime - time.time() <= 3600


# ---- recorded answers


def test_the_606_recorded_items_are_listed_with_pull_requests_among_them() -> None:
    skip_without(java_ready() or recorded_reason())
    with Recorded() as server:
        repo = client(server.url).get_repo("hub4j/github-api")
        items = {item.number: item for item in repo.get_issues(state="all", sort="updated", direction="asc")}
        assert len(items) == 606
        assert sum("pull_request" in item._rawData for item in items.values()) == 363
        newest = max(item.updated_at for item in items.values())
        again = list(repo.get_issues(state="all", since=newest - timedelta(seconds=1)))
        assert [item.updated_at for item in again] == [newest] * len(again)
        assert 1 <= len(again) < 10
        lists = [request for request in server.requests() if "/issues" in request["url"]]
        assert len(lists) == 22


# ---- faults


@pytest.fixture(scope="module")
def faulty() -> Iterator[FaultyGitHub]:
    skip_without(java_ready())
    with FaultyGitHub() as server:
        server.seed(FAULTY_ITEMS)
        yield server


ERRORS: dict[str, type[Exception]] = {
    "secondary403_retry_after": github.RateLimitExceededException,
    "secondary403_no_header": github.RateLimitExceededException,
    "secondary429_no_header": github.GithubException,
    "primary403_reset": github.RateLimitExceededException,
    "bad_gateway_502": github.GithubException,
    "html_502": github.GithubException,
    "empty_response": requests.exceptions.ConnectionError,
    "reset_by_peer": requests.exceptions.ConnectionError,
    "malformed_chunk": requests.exceptions.ChunkedEncodingError,
    "random_data": requests.exceptions.ConnectionError,
    "truncated_json_200": json.JSONDecodeError,
    "slow_timeout": requests.exceptions.ReadTimeout,
    "page_limit_422": github.GithubException,
    "gone_410": github.GithubException,
    "unauthorized_401": github.BadCredentialsException,
    "content_length_short": requests.exceptions.ChunkedEncodingError,
}
SILENT = {"dribble", "redirect_301"}
"""Faults after which plain PyGithub returns a wrong list without an error."""


def numbers(server: FaultyGitHub, timeout: int = 20) -> list[int]:
    repo = client(server.url, timeout=timeout, per_page=50).get_repo("alice/bugs")
    return [issue.number for issue in repo.get_issues(state="all")]


def test_every_fault_has_a_reason_and_an_expected_effect() -> None:
    assert len(FAULTS) == 18
    assert set(FAULTS) == set(ERRORS) | SILENT
    assert all(fault["reason"] for fault in FAULTS.values())


@pytest.mark.parametrize("fault", sorted(ERRORS))
def test_a_fault_reaches_the_client_and_is_gone_afterwards(faulty: FaultyGitHub, fault: str) -> None:
    times = int(FAULTS[fault].get("times", 1))
    faulty.proxy.arm(fault, delay_ms=SLOW_MS if fault == "slow_timeout" else None)
    for met in range(times):
        with pytest.raises(ERRORS[fault]):
            numbers(faulty, timeout=1 if fault == "slow_timeout" else 20)
        assert faulty.proxy.hits() == met + 1
    assert len(set(numbers(faulty))) == FAULTY_ITEMS * 9 // 10


@pytest.mark.parametrize("fault", sorted(SILENT))
def test_a_silent_fault_leaves_plain_pygithub_with_a_wrong_list(faulty: FaultyGitHub, fault: str) -> None:
    faulty.proxy.arm(fault)
    assert len(set(numbers(faulty))) < FAULTY_ITEMS * 9 // 10
    assert faulty.proxy.hits() == 1


def test_a_fault_can_meet_another_page_several_times(faulty: FaultyGitHub) -> None:
    faulty.proxy.arm("bad_gateway_502", page=1, times=2)
    for _ in range(2):
        with pytest.raises(github.GithubException):
            numbers(faulty)
    assert len(numbers(faulty)) == FAULTY_ITEMS * 9 // 10
    with pytest.raises(KeyError):
        faulty.proxy.arm("no such fault")


def test_the_redirect_leads_to_the_same_page_when_the_query_is_kept(faulty: FaultyGitHub) -> None:
    faulty.proxy.disarm()
    query = "/repos/alice/bugs/issues?state=all&per_page=50&page=2"
    wanted = json.loads(http_call(faulty.url + query)[1])
    faulty.proxy.arm("redirect_301")
    redirect = requests.get(faulty.url + query, allow_redirects=False, timeout=20)
    assert redirect.status_code == 301
    followed = requests.get(redirect.headers["Location"], timeout=20).json()
    assert [issue["number"] for issue in followed] == [issue["number"] for issue in wanted]


# ---- contract


def test_prism_answers_good_requests_and_explains_bad_ones() -> None:
    skip_without(java_ready())
    with Prism() as server:
        repo = client(server.url).get_repo("pytorch/pytorch")
        assert list(repo.get_issues(state="all", sort="updated", direction="asc"))
        assert list(repo.get_issue(1).get_timeline())
        assert list(repo.get_pull(1).get_files())
        assert server.violations() == []
        for query in ("state=foo", "per_page=abc", "since=notadate", "direction=up"):
            assert http_call(f"{server.url}/repos/o/r/issues?{query}")[0] == 422
        violations = server.violations()
        assert len(violations) == 4
        assert "state must be equal to one of the allowed values: open, closed, all" in violations[0]


def test_the_validating_proxy_lets_only_good_requests_through(emulate: tuple[Emulate, Seeded]) -> None:
    server, seeded = emulate
    with validating_proxy(server.url) as proxy:
        path = f"{proxy.url}/repos/{seeded.repo}/issues?per_page=5&state="
        status, body = http_call(path + "all")
        assert (status, len(json.loads(body))) == (200, 5)
        assert http_call(path + "foo")[0] == 422


# ---- GraphQL

LIST = """
query($owner: String!, $name: String!, $first: Int!, $after: String, $since: DateTime) {
  rateLimit { cost remaining limit used resetAt nodeCount }
  repository(owner: $owner, name: $name) {
    issues(first: $first, after: $after, orderBy: {field: UPDATED_AT, direction: ASC}, filterBy: {since: $since}) {
      totalCount
      pageInfo { hasNextPage endCursor }
      nodes {
        id number title body state stateReason(enableDuplicate: true) createdAt updatedAt closedAt
        author { login } authorAssociation milestone { title } reactions { totalCount }
        labels(first: 50) { totalCount pageInfo { hasNextPage } nodes { name } }
        comments(first: 50) { totalCount pageInfo { hasNextPage endCursor } nodes { fullDatabaseId body } }
        timelineItems(first: 30, itemTypes: [
          LABELED_EVENT, UNLABELED_EVENT, CLOSED_EVENT, REOPENED_EVENT, RENAMED_TITLE_EVENT, TRANSFERRED_EVENT,
          MARKED_AS_DUPLICATE_EVENT, UNMARKED_AS_DUPLICATE_EVENT, CROSS_REFERENCED_EVENT, REFERENCED_EVENT,
          CONNECTED_EVENT
        ]) {
          pageInfo { hasNextPage endCursor }
          nodes {
            __typename
            ... on LabeledEvent { createdAt actor { login } label { name } }
            ... on UnlabeledEvent { createdAt label { name } }
            ... on ClosedEvent {
              createdAt stateReason
              closer { __typename ... on PullRequest { number } ... on Commit { oid } }
            }
            ... on ReopenedEvent { createdAt stateReason }
            ... on RenamedTitleEvent { createdAt previousTitle currentTitle }
            ... on TransferredEvent { createdAt fromRepository { nameWithOwner } }
            ... on MarkedAsDuplicateEvent { createdAt canonical { ...where } duplicate { ...where } }
            ... on UnmarkedAsDuplicateEvent { createdAt canonical { ...where } duplicate { ...where } }
            ... on CrossReferencedEvent {
              createdAt willCloseTarget isCrossRepository
              source { ... on Issue { number repository { nameWithOwner } } ... on PullRequest { number } }
              target { ... on Issue { number } }
            }
            ... on ReferencedEvent { createdAt commit { oid } subject { ... on Issue { number } } }
            ... on ConnectedEvent { createdAt subject { ... on Issue { number } ... on PullRequest { number } } }
          }
        }
        closedByPullRequestsReferences(first: 10) { nodes { number } }
      }
    }
  }
}
fragment where on IssueOrPullRequest {
  ... on Issue { number repository { nameWithOwner } }
  ... on PullRequest { number repository { nameWithOwner } }
}
"""
PULLS = """
query($owner: String!, $name: String!, $first: Int!, $after: String) {
  repository(owner: $owner, name: $name) {
    pullRequests(first: $first, after: $after, orderBy: {field: UPDATED_AT, direction: DESC}) {
      pageInfo { hasNextPage endCursor }
      nodes {
        number state isDraft merged mergedAt mergeCommit { oid } baseRefName headRefName updatedAt
        files(first: 100) {
          totalCount
          pageInfo { hasNextPage endCursor }
          nodes { path additions deletions changeType }
        }
        closingIssuesReferences(first: 10) { nodes { number } }
      }
    }
  }
}
"""
TOO_DEEP = "comments(first: 100) { nodes { reactions(first: 100) { nodes { id } } } }"


@pytest.fixture(scope="module")
def dataset() -> Dataset:
    return synthetic_dataset(300)


@pytest.fixture
def graphql(dataset: Dataset) -> Iterator[GraphQLStandIn]:
    skip_without(node_ready())
    with GraphQLStandIn(dataset) as server:
        yield server


def ask(server: GraphQLStandIn, query: str, token: str = "token-one", **variables: object) -> Json:
    body = json.dumps({"query": query, "variables": {**REPO, **variables}}).encode()
    status, answer = http_call(f"{server.url}/graphql", "POST", body, {"Authorization": f"bearer {token}"})
    assert status == 200, answer
    found: Json = json.loads(answer)
    return found


def pages(server: GraphQLStandIn, query: str, name: str, first: int) -> Iterator[Json]:
    """Follow the cursors of a list with PyGithub's own requester."""
    requester = client(server.url).requester
    after = None
    while True:
        _headers, answer = requester.graphql_query(query, {**REPO, "first": first, "after": after})
        page = answer["data"]["repository"][name]
        yield page
        if not page["pageInfo"]["hasNextPage"]:
            return
        after = page["pageInfo"]["endCursor"]


def read_all(server: GraphQLStandIn, query: str, name: str, first: int) -> list[Json]:
    return [node for page in pages(server, query, name, first) for node in page["nodes"]]


def assert_same(nodes: list[Json], items: list[ItemJson], kind: str) -> None:
    wanted = {item["number"]: item for item in items if item["kind"] == kind}
    assert sorted(node["number"] for node in nodes) == sorted(wanted)
    for node in nodes:
        item = wanted[node["number"]]
        assert (node["state"], node["updatedAt"]) == (item["state"], item["updatedAt"])


def test_graphql_lists_every_issue_and_pull_request_once(graphql: GraphQLStandIn, dataset: Dataset) -> None:
    items = dataset["repos"][0]["items"]
    issues = read_all(graphql, LIST, "issues", 40)
    assert_same(issues, items, "issue")
    assert [issue["updatedAt"] for issue in issues] == sorted(issue["updatedAt"] for issue in issues)
    assert_same(read_all(graphql, PULLS, "pullRequests", 20), items, "pull")
    # 225 issues in pages of 40 at 1 + 40 x 4 = 161 requests, 75 pull requests in pages of 20 at 1 + 20 x 2 = 41.
    counters = graphql.counters()
    assert (counters["graphql"], counters["refused"]) == (6 + 4, 0)
    assert counters["cost"] == 6 * 2 + 4 * 1


def test_graphql_nested_lists_need_a_second_page(graphql: GraphQLStandIn) -> None:
    issues = read_all(graphql, LIST, "issues", 40)
    for name in ("labels", "comments", "timelineItems"):
        assert any(issue[name]["pageInfo"]["hasNextPage"] for issue in issues), name
    pulls = read_all(graphql, PULLS, "pullRequests", 20)
    long = next(pull for pull in pulls if pull["files"]["pageInfo"]["hasNextPage"])
    query = """query($owner: String!, $name: String!, $number: Int!, $after: String) {
      repository(owner: $owner, name: $name) { pullRequest(number: $number) {
        files(first: 100, after: $after) { pageInfo { hasNextPage endCursor } nodes { path } } } } }"""
    paths: list[str] = []
    after = None
    while True:
        answer = ask(graphql, query, number=long["number"], after=after)
        files = answer["data"]["repository"]["pullRequest"]["files"]
        paths += [file["path"] for file in files["nodes"]]
        after = files["pageInfo"]["endCursor"]
        if not files["pageInfo"]["hasNextPage"]:
            break
    assert len(paths) == len(set(paths)) == long["files"]["totalCount"] == 230


def test_graphql_shows_every_kind_of_event(graphql: GraphQLStandIn) -> None:
    issues = read_all(graphql, LIST, "issues", 40)
    events = [event for issue in issues for event in issue["timelineItems"]["nodes"]]
    assert {event["__typename"] for event in events} == {
        "LabeledEvent",
        "UnlabeledEvent",
        "ClosedEvent",
        "ReopenedEvent",
        "RenamedTitleEvent",
        "TransferredEvent",
        "MarkedAsDuplicateEvent",
        "UnmarkedAsDuplicateEvent",
        "CrossReferencedEvent",
        "ReferencedEvent",
        "ConnectedEvent",
    }
    reasons = {issue["stateReason"] for issue in issues}
    assert reasons == {None, "COMPLETED", "NOT_PLANNED", "DUPLICATE", "REOPENED"}
    assert any(event.get("willCloseTarget") for event in events)
    assert any(event.get("isCrossRepository") for event in events)


def test_graphql_filters_by_since(graphql: GraphQLStandIn, dataset: Dataset) -> None:
    issues = [item for item in dataset["repos"][0]["items"] if item["kind"] == "issue"]
    since = sorted(item["updatedAt"] for item in issues)[len(issues) // 2]
    answer = ask(graphql, LIST, first=50, since=since)
    wanted = {item["number"] for item in issues if item["updatedAt"] >= since}
    assert answer["data"]["repository"]["issues"]["totalCount"] == len(wanted)


def test_graphql_cursor_survives_an_item_that_moves_and_one_that_is_deleted(
    graphql: GraphQLStandIn, dataset: Dataset
) -> None:
    turning = pages(graphql, LIST, "issues", 40)
    first = next(turning)["nodes"]
    moved, deleted = first[3]["number"], first[-1]["number"]
    graphql.touch(FULL, moved, "2030-01-01T00:00:00Z")
    graphql.delete(FULL, deleted)
    rest = [node["number"] for page in turning for node in page["nodes"]]
    seen = [node["number"] for node in first] + rest
    assert set(seen) == sets(dataset["repos"][0]["items"], "issue")
    assert rest[-1] == moved
    assert seen.count(moved) == 2


def test_graphql_node_and_nodes_find_items_by_id(graphql: GraphQLStandIn) -> None:
    issue = ask(graphql, LIST, first=1)["data"]["repository"]["issues"]["nodes"][0]
    query = "query($ids: [ID!]!) { nodes(ids: $ids) { __typename ... on Issue { number } } }"
    answer = ask(graphql, query, ids=[issue["id"], "bm9uZQ"])
    assert answer["data"]["nodes"] == [{"__typename": "Issue", "number": issue["number"]}, None]
    assert len(answer["errors"]) == 1
    query = "query($id: ID!) { node(id: $id) { ... on Issue { number } } }"
    assert ask(graphql, query, id=issue["id"])["data"]["node"]["number"] == issue["number"]


def test_graphql_unknown_things_are_not_found(graphql: GraphQLStandIn) -> None:
    answer = ask(graphql, LIST, first=1, name="nothing-here")
    assert answer["data"]["repository"] is None
    assert (answer["errors"][0]["type"], answer["errors"][0]["path"]) == ("NOT_FOUND", ["repository"])
    with pytest.raises(github.UnknownObjectException):
        client(graphql.url).requester.graphql_query(LIST, {"owner": "no", "name": "body", "first": 1})
    query = """query($owner: String!, $name: String!) { repository(owner: $owner, name: $name) {
      issueOrPullRequest(number: 999999) { __typename } } }"""
    assert ask(graphql, query)["errors"][0]["type"] == "NOT_FOUND"


@pytest.mark.parametrize(
    ("query", "kind"),
    [
        ("issues(first: 101) { nodes { number } }", "EXCESSIVE_PAGINATION"),
        ("issues { nodes { number } }", "MISSING_PAGINATION_BOUNDARIES"),
        (f"issues(first: 100) {{ nodes {{ {TOO_DEEP} }} }}", "MAX_NODE_LIMIT_EXCEEDED"),
        ("nope", None),
        ("issues(first: 1, orderBy: {field: NUMBER, direction: ASC}) { totalCount }", None),
        ('issues(first: 1, filterBy: {since: "yesterday"}) { totalCount }', None),
    ],
)
def test_graphql_refuses_what_github_refuses(graphql: GraphQLStandIn, query: str, kind: str | None) -> None:
    answer = ask(graphql, f'{{ repository(owner: "pytorch", name: "pytorch") {{ {query} }} }}')
    assert "data" not in answer
    assert answer["errors"][0].get("type") == kind
    assert graphql.counters()["cost"] == 0


def test_graphql_needs_a_valid_token(graphql: GraphQLStandIn) -> None:
    with pytest.raises(github.BadCredentialsException):
        client(graphql.url, auth=github.Auth.Token("expired")).requester.graphql_query(LIST, {**REPO, "first": 1})
    assert http_call(f"{graphql.url}/graphql", "POST", b"{}")[0] == 401
    graphql.tokens("token-two")
    with pytest.raises(github.BadCredentialsException):
        client(graphql.url).get_repo(FULL)


def test_graphql_spends_the_quota_of_each_token_and_refills_it(graphql: GraphQLStandIn) -> None:
    graphql.limit(limit=3, reset_in=2)
    for left in (2, 1, 0):
        assert "errors" not in ask(graphql, PULLS, first=5)
        assert remaining(graphql) == left
    refused = ask(graphql, PULLS, first=5)
    assert refused["errors"][0]["type"] == "RATE_LIMITED"
    assert ask(graphql, PULLS, token="token-two", first=5)["data"]
    time.sleep(2.1)
    assert ask(graphql, PULLS, first=5)["data"]


def remaining(server: GraphQLStandIn) -> int:
    headers = {"Authorization": "bearer token-one"}
    _status, body = http_call(f"{server.url}/rate_limit", headers=headers)
    return int(json.loads(body)["resources"]["graphql"]["remaining"])


def test_graphql_faults_strike_once_at_the_chosen_request(graphql: GraphQLStandIn) -> None:
    requester = client(graphql.url).requester
    variables = {**REPO, "first": 5}
    cases: list[tuple[Json, type[Exception] | tuple[type[Exception], ...]]] = [
        ({"kind": "response", "status": 502, "body": "<html>"}, github.GithubException),
        ({"kind": "rate_limited", "reset_in": 0}, github.GithubException),
        ({"kind": "truncated"}, json.JSONDecodeError),
        ({"kind": "short_body"}, requests.exceptions.ChunkedEncodingError),
        ({"kind": "drop"}, requests.exceptions.ConnectionError),
        ({"kind": "null_node", "index": 2}, github.GithubException),
    ]
    for fault, error in cases:
        graphql.faults({**fault, "at": 2})
        requester.graphql_query(PULLS, variables)
        with pytest.raises(error):
            requester.graphql_query(PULLS, variables)
        _headers, answer = requester.graphql_query(PULLS, variables)
        assert len(answer["data"]["repository"]["pullRequests"]["nodes"]) == 5
    assert graphql.counters()["faults"] == len(cases)


def gone_client(server: GraphQLStandIn, sent: bytes) -> None:
    """A client that is killed: its connection is reset once it has sent so much."""
    with socket.create_connection(("127.0.0.1", server.port), timeout=30) as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        connection.sendall(sent)


def test_graphql_stays_when_clients_are_killed_at_any_moment(graphql: GraphQLStandIn) -> None:
    body = json.dumps({"query": PULLS, "variables": {**REPO, "first": 5}}).encode()
    head = "POST /graphql HTTP/1.1\r\nHost: stand-in\r\nAuthorization: bearer token-one\r\n"
    request = f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body
    graphql.faults(*({"kind": kind, "times": 20} for kind in ("drop", "short_body")))
    for length in (len(head), len(request) - len(body), len(request) - 1, len(request)):
        for _ in range(5):
            gone_client(graphql, request[:length])
    graphql.faults()
    assert ask(graphql, PULLS, first=5)["data"]["repository"]["pullRequests"]["nodes"]


def test_graphql_partial_answer_has_one_null_node_and_an_error(graphql: GraphQLStandIn) -> None:
    graphql.faults({"kind": "null_node", "index": 2})
    answer = ask(graphql, PULLS, first=5)
    nodes = answer["data"]["repository"]["pullRequests"]["nodes"]
    assert [node is None for node in nodes] == [False, False, True, False, False]
    assert answer["errors"][0]["path"] == ["repository", "pullRequests", "nodes", 2]


def test_deleted_transferred_and_renamed_things_answer_like_githubs_rest(graphql: GraphQLStandIn) -> None:
    graphql.delete(FULL, 1)
    graphql.transfer(FULL, 2, "pytorch/vision", 77, "2026-09-01T00:00:00Z")
    graphql.rename_repo(FULL, "pytorch/embers")
    base = f"{graphql.url}/repos/pytorch/embers"
    assert http_call(f"{base}/issues/1")[0] == 410
    assert http_call(f"{base}/issues/2")[0] == 301
    assert requests.get(f"{base}/issues/2", timeout=20).json()["number"] == 77
    assert http_call(f"{base}/issues/999999")[0] == 404
    assert http_call(f"{graphql.url}/repos/{FULL}")[0] == 301
    assert client(graphql.url).get_repo(FULL).full_name == "pytorch/embers"
    assert ask(graphql, LIST, first=1)["data"]["repository"]["issues"]["nodes"]


def test_restore_goes_back_to_the_start(graphql: GraphQLStandIn) -> None:
    before = ask(graphql, LIST, first=50)["data"]["repository"]["issues"]["totalCount"]
    graphql.delete(FULL, 1)
    graphql.tokens("token-two")
    graphql.faults({"kind": "drop"})
    graphql.restore()
    assert ask(graphql, LIST, first=50)["data"]["repository"]["issues"]["totalCount"] == before
    assert graphql.counters()["graphql"] == 1


def test_the_shared_data_is_served_completely() -> None:
    skip_without(node_ready() or shared_reason())
    data = dataset_from_shared()
    items = data["repos"][0]["items"]
    assert len(items) > 1_300
    with GraphQLStandIn(data) as server:
        assert_same(read_all(server, LIST, "issues", 50), items, "issue")
        assert_same(read_all(server, PULLS, "pullRequests", 25), items, "pull")


def test_datasets_are_the_same_every_time() -> None:
    assert synthetic_dataset(50) == synthetic_dataset(50)
    assert synthetic_dataset(50, seed=1) != synthetic_dataset(50, seed=2)


def test_queries_are_checked_against_githubs_schema(tmp_path: Path) -> None:
    skip_without(node_ready())
    good, bad, broken = (tmp_path / f"{name}.graphql" for name in ("good", "bad", "broken"))
    good.write_text(LIST)
    bad.write_text("{ viewer {\n nope } }")
    broken.write_text("{ viewer {")
    assert validate_queries([good]) == []
    first, second = sorted(validate_queries([good, bad, broken]))
    assert first.startswith(f"{bad}:2: Cannot query field")
    assert second.startswith(f"{broken}:1: Syntax Error")


def test_queries_may_use_fragments_of_another_file(tmp_path: Path) -> None:
    skip_without(node_ready())
    query, fragments = tmp_path / "query.graphql", tmp_path / "fragments.graphql"
    query.write_text("{ viewer { ...who } }")
    fragments.write_text("fragment who on User { login }\nfragment spare on User {\n nope }")
    assert "Unknown fragment" in validate_queries([query])[0]
    (problem,) = validate_queries([query], [fragments])
    assert problem.startswith(f'{fragments}:3: Cannot query field "nope"')


def test_http_call_raises_when_there_is_no_answer() -> None:
    with pytest.raises((OSError, http.client.HTTPException)):
        http_call("http://127.0.0.1:9/", timeout=2)
