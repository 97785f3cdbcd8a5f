"""What is missing in a GraphQL answer is found; nothing absent is taken for an end."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any
from unittest.mock import Mock

import pytest
from torch_embers.mine.github.client import GitHubClient
from torch_embers.mine.github.graphql import GraphqlSource
from torch_embers.mine.github.replies import Answer, CursorRefusedError, NotFoundError
from torch_embers.mine.pages import make_page
from torch_embers.mine.records import graphql_answers, graphql_records
from torch_embers.mine.scope import Scope
from torch_embers.store.readings import rounds

from torch_embers.normalize import now_utc

if TYPE_CHECKING:
    from torch_embers.store.records import Page

REPO = "pytorch/pytorch"
END = {"hasNextPage": False, "endCursor": None}


def issue(**changed: Any) -> dict[str, Any]:
    parts = {name: {"totalCount": 0, "pageInfo": END, "nodes": []} for name in graphql_answers.CONNECTIONS["Issue"]}
    return (
        {"__typename": "Issue", "id": "I", "number": 1, "state": "OPEN", "updatedAt": "2024-01-01T00:00:00Z"}
        | parts
        | changed
    )


def pull(*timeline: dict[str, Any]) -> dict[str, Any]:
    empty = {"totalCount": 0, "pageInfo": END, "nodes": []}
    parts = dict.fromkeys(graphql_answers.CONNECTIONS["PullRequest"], empty)
    return issue() | parts | {"__typename": "PullRequest", "timelineItems": {"pageInfo": END, "nodes": [*timeline]}}


def incomplete(node: dict[str, Any], *errors: dict[str, Any], request: str = "issues") -> list[str]:
    """Parts of an item that its reading does not hold whole."""
    listing = {"pageInfo": END, "nodes": [node]}
    data = {"data": {"repository": {"nameWithOwner": REPO, "issues": listing}}, "errors": list(errors)}
    page = page_of(data, request)
    readings = graphql_records.read(data, page, checked=True).readings
    return sorted(row["part"] for row in rounds(readings)[-1] if not row["whole"])


def page_of(data: object, request: str = "issues") -> Page:
    return make_page(REPO, "graphql", graphql_answers.KIND, request, json.dumps(data).encode())


def error(*path: str | int, kind: str = "") -> dict[str, Any]:
    return {"path": ["repository", "issues", "nodes", 0, *path], "message": "Something went wrong", "type": kind}


@pytest.mark.parametrize(("fragment", "kind"), [("issueFields", "Issue"), ("pullFields", "PullRequest")])
def test_every_connection_that_is_asked_for_with_an_item_is_checked(fragment: str, kind: str) -> None:
    text = graphql_records.query("item").split(f"fragment {fragment} ", 1)[1].split("\nfragment ", 1)[0]
    asked = set(re.findall(r"^  (?:\w+: )?(\w+)\(\s*first:", text, re.MULTILINE))
    assert asked == set(graphql_answers.CONNECTIONS[kind])


def test_a_complete_answer_is_whole() -> None:
    assert incomplete(issue()) == []


def numbers(place: str, *nodes: tuple[int, str] | None, more: bool) -> tuple[Page, dict[str, Any]]:
    """A page of numbers, each with the minute of its last change."""
    listed = [node and {"number": node[0], "updatedAt": f"2024-01-01T00:{node[1]}:00Z"} for node in nodes]
    connection = {"pageInfo": {"hasNextPage": more, "endCursor": "x" if more else None}, "nodes": listed}
    data = {"data": {"repository": {"pullRequests": connection}}}
    return make_page(REPO, "graphql", graphql_answers.NUMBERS_KIND, place, b"", "2024-01-01T01:00:00Z"), data


def test_an_item_without_a_number_waits_until_all_of_its_page_was_met_again() -> None:
    nodes = [
        {"number": 5, "updatedAt": "2024-01-01T00:08:00Z"},
        None,
        {"number": 2, "updatedAt": "2024-01-01T00:04:00Z"},
    ]
    listing = {"data": {"repository": {"pullRequests": {"pageInfo": END, "nodes": nodes}}}}
    times = ("2024-01-01T00:10:00Z", "2024-01-01T00:09:00Z")
    place = graphql_answers.place_of("pulls", {"after": None, "first": 35}, listing, *times)
    # others are at the top now; 6 came to light behind the page
    first, data = numbers(place, (9, "30"), (8, "20"), (6, "09"), more=True)
    readings = graphql_answers.unanswered(data, first).readings
    assert [(r["number"], r["place"], r["whole"]) for r in rounds(readings)[-1]] == [
        (6, "#6", False),
        (None, place, False),
    ]
    onward = graphql_answers.further_numbers(data, first, 100)
    assert onward is not None
    assert json.loads(onward)["variables"] == {"after": "x", "first": 100}
    for third, whole in (((3, "05"), True), (None, False)):
        second, data = numbers(onward, (5, "08"), third, (2, "04"), (1, "03"), more=True)
        found = [*readings, *graphql_answers.unanswered(data, second).readings]
        assert graphql_answers.further_numbers(data, second, 100) is None
        assert {r["number"] for r in rounds(found)[-1]} == ({None, 6, 3, 1} if whole else {None, 6, 1})
        assert [r["whole"] for r in rounds(found)[-1] if r["number"] is None] == [whole]


@pytest.mark.parametrize("name", graphql_answers.CONNECTIONS["Issue"])
@pytest.mark.parametrize(
    "connection",
    [
        None,
        {"pageInfo": END},
        {"pageInfo": None, "nodes": []},
        {"pageInfo": END, "nodes": [None]},
        {"pageInfo": END, "nodes": [], "totalCount": 1},
        {"pageInfo": {"hasNextPage": True, "endCursor": None}, "nodes": []},
        {"pageInfo": {"hasNextPage": True, "endCursor": "x"}, "nodes": []},
    ],
)
def test_every_connection_is_checked(name: str, connection: object) -> None:
    assert incomplete(issue(**{name: connection})) == [graphql_answers.CONNECTIONS["Issue"][name]]


def test_an_error_below_an_item_makes_the_item_incomplete() -> None:
    assert incomplete(issue(author=None), error("author")) == ["fields", "item"]
    assert incomplete(issue(), error("comments", "nodes", 0, "author")) == ["comments", "fields", "item"]


LOST = {"reactionGroups": None}
ALL = ["events", "review_comments", "reviews"]
"""The parts of a pull request that stand in its timeline."""
CONNECTION = {"totalCount": 1, "pageInfo": END}


@pytest.mark.parametrize(
    ("node", "parts"),
    [
        (issue(**LOST, reactions={"totalCount": 2}), ["fields", "item"]),
        (issue(**LOST, reactions=None), ["fields", "item"]),
        (issue(**LOST, reactions={"totalCount": 0}), []),
        (issue(reactionGroups=[], reactions={"totalCount": 0}), []),
        (issue(comments=CONNECTION | {"nodes": [{"id": "C", **LOST}]}), ["comments"]),
        (issue(comments=CONNECTION | {"nodes": [{"id": "C", "reactionGroups": []}]}), []),
        (pull({"__typename": "PullRequestReview", "id": "R", "comments": {"totalCount": 0}, **LOST}), ALL),
        (pull({"__typename": "PullRequestReview", "id": "R", "comments": {"totalCount": 0}}), []),
    ],
)
def test_reactions_that_came_as_null_are_read_again_where_there_can_be_some(
    node: dict[str, Any], parts: list[str]
) -> None:
    assert incomplete(node) == parts


def test_comments_on_lines_without_their_reactions_are_read_again() -> None:
    comment = {"id": "C", "fullDatabaseId": "7", **LOST}
    home = {"number": 5, "repository": {"nameWithOwner": REPO}}
    review = {"id": "R", "pullRequest": home, "comments": CONNECTION | {"nodes": [comment]}}
    page = make_page(REPO, "graphql", graphql_answers.KIND, "review_comments for p", b"")
    [reading] = graphql_records.read({"data": {"nodes": [review]}}, page, checked=True).readings
    assert (reading.part, reading.number, reading.sound, reading.nodes) == ("review_comments", 5, False, 0)


@pytest.mark.parametrize("kind", sorted(graphql_answers.HIDDEN))
def test_what_a_token_may_not_see_lacks_nothing(kind: str) -> None:
    assert incomplete(issue(comments=None), error("comments", kind=kind)) == []
    hidden = {"pageInfo": END, "nodes": [None], "totalCount": 1}
    assert (
        incomplete(
            issue(closedByPullRequestsReferences=hidden), error("closedByPullRequestsReferences", "nodes", 0, kind=kind)
        )
        == []
    )


def test_an_item_read_alone_is_believed_in_its_length() -> None:
    short = {"pageInfo": END, "nodes": [], "totalCount": 3}
    listing = {"issueOrPullRequest": issue(comments=short), "nameWithOwner": REPO}
    data = {"data": {"repository": listing}}
    page = page_of(data, "item 1")
    assert all(row["whole"] for row in rounds(graphql_records.read(data, page, checked=True).readings)[-1])
    assert kept(data, page) == ["comments"], "but replaces nothing"


@pytest.mark.parametrize("kind", sorted(graphql_answers.HIDDEN))
@pytest.mark.parametrize(
    ("name", "place"), [("comments", ["nodes", 0]), ("comments", ["nodes", 0, "reactionGroups"]), ("parent", [])]
)
def test_what_a_token_may_not_see_replaces_nothing(kind: str, name: str, place: list[str | int]) -> None:
    gap = {"totalCount": 1, "pageInfo": END, "nodes": [None]} if name == "comments" else None
    listing = {"pageInfo": END, "nodes": [issue(**{name: gap})]}
    repository = {"nameWithOwner": REPO, "issues": listing}
    data = {"data": {"repository": repository}, "errors": [error(name, *place, kind=kind)]}
    page = page_of(data)
    assert kept(data, page) == ["comments", "fields"] if name == "comments" else ["fields"]


def kept(data: dict[str, Any], page: Page) -> list[str]:
    """Parts that a reading does not replace although it is whole."""
    found = rounds(graphql_records.read(data, page, checked=True).readings)[-1]
    return sorted(row["part"] for row in found if row["whole"] and not row["replaces"])


def test_a_field_that_an_error_explains_is_unknown_and_not_empty() -> None:
    for errors, author in (([], ""), ([error("author")], None)):
        listing = {"pageInfo": END, "nodes": [issue(author=None)]}
        data = {"data": {"repository": {"nameWithOwner": REPO, "issues": listing}}, "errors": errors}
        page = page_of(data)
        [item] = graphql_records.read(data, page, checked=True).items
        assert item.author == author


def test_pages_of_an_earlier_version_are_read_without_statements_of_completeness() -> None:
    issue = {"__typename": "Issue", "number": 1, "state": "OPEN", "comments": {"totalCount": 3, "nodes": []}}
    data = {"data": {"repository": {"nameWithOwner": REPO, "issues": {"nodes": [issue, None]}}}}
    page = make_page(REPO, "graphql", "graphql", "issues", json.dumps(data).encode())
    batch = graphql_records.read(data, page)
    assert len(batch.items) == len(batch.rejects) == 1
    assert batch.readings == []


@pytest.mark.parametrize(
    ("request_text", "above"),
    [("item 5", {}), ("item 1", {"repository": {"nameWithOwner": "carol/else"}}), ("comments of #5 after x for p", {})],
)
def test_an_answer_about_another_item_is_a_gap_of_the_one_that_was_asked_for(
    request_text: str, above: dict[str, Any]
) -> None:
    node = issue(comments={"pageInfo": END, "nodes": [{"id": "IC_1", "body": "another"}]}, **above)
    alone = request_text.startswith("item")
    data = {"data": {"repository": {"nameWithOwner": REPO, "issueOrPullRequest": node}} if alone else {"node": node}}
    page = page_of(data, request_text)
    batch = graphql_records.read(data, page, checked=True)
    assert (batch.items, batch.comments) == ([], [])
    [reading] = batch.readings
    assert (reading.number, reading.sound) == (1 if above else 5, False)


def asking(*answers: Exception | dict[str, Any]) -> GraphqlSource:
    """A source whose server gives these answers, one after the other."""
    client = Mock(spec=GitHubClient)
    client.now = now_utc
    found = [one if isinstance(one, Exception) else Answer({}, json.dumps(one), one) for one in answers]
    client.graphql.side_effect = found
    return GraphqlSource(client, Scope(REPO))


@pytest.mark.parametrize("home", [REPO, "carol/else"])
def test_a_number_that_leads_to_another_item_is_not_found(home: str) -> None:
    """So REST is asked, which says where a transferred item went."""
    node = issue(number=77 if home == REPO else 5, repository={"nameWithOwner": home})
    data = {"data": {"repository": {"nameWithOwner": REPO, "issueOrPullRequest": node}}}
    with pytest.raises(NotFoundError):
        asking(data).by_number(5)


def test_a_place_whose_cursor_is_refused_is_asked_for_from_the_top() -> None:
    listed = {"data": {"repository": {"pullRequests": {"pageInfo": END, "nodes": [None]}}}}
    times = ("2024-01-01T00:10:00Z", "2024-01-01T00:09:00Z", "2024-01-01T00:08:00Z")
    place = graphql_answers.place_of("pulls", {"after": "c:1", "first": 1}, listed, *times)
    refused = CursorRefusedError("not a valid cursor")
    answer = {"data": {"repository": {"pullRequests": {"pageInfo": END, "nodes": []}}}}
    source = asking(refused, answer)
    assert len(source.by_place(place)) == 1
    assert [call.args[1]["after"] for call in source.client.graphql.call_args_list] == ["c:1", None]
    with pytest.raises(CursorRefusedError):
        asking(refused).by_place(place.replace(f'"above": "{times[2]}"', '"above": null'))


def test_a_place_in_a_listing_has_a_name_that_a_user_can_read() -> None:
    nothing: dict[str, Any] = {"data": {"repository": {"pullRequests": {"pageInfo": END, "nodes": [None]}}}}
    place = graphql_answers.place_of("pulls", {"after": None, "first": 1}, nothing, "", "", None)
    assert graphql_answers.place_name(place) == "pull request of unknown number"
    known = {"number": 4, "updatedAt": "2024-01-01T00:07:00Z"}
    listed = {"data": {"repository": {"issues": {"pageInfo": END, "nodes": [known, None]}}}}
    place = graphql_answers.place_of("issues", {"after": None, "first": 2}, listed, "", "", None)
    assert graphql_answers.place_name(place) == "issue of unknown number that changed near 2024-01-01T00:07:00Z"
    assert graphql_answers.place_name("#20") == "#20"


@pytest.mark.parametrize("listing", ["pulls", "issues"])
def test_a_place_whose_cursor_is_refused_is_found_from_the_top(listing: str) -> None:
    """What stands above it is passed by; of the second of the record above it, more than one may stand there."""
    minutes = ("30", "20", "10", "09", "08", "07", "06")
    if listing == "issues":
        minutes = tuple(f"{30 - int(minute):02d}" for minute in minutes)
    name, times = graphql_answers.LISTINGS[listing][1], [f"2024-01-01T00:{minute}:00Z" for minute in minutes]
    nodes = [None, {"number": 4, "updatedAt": times[4]}, None]
    answer = {"data": {"repository": {name: {"pageInfo": END, "nodes": nodes}}}}
    late = "2024-01-01T00:40:00Z"
    place = graphql_answers.place_of(listing, {"after": "c:3", "first": 3}, answer, late, late, times[2])
    again = graphql_answers.from_the_top(place, 100)
    assert again is not None
    assert json.loads(again)["variables"] == {"after": None, "first": 100}
    numbers = [{"number": number, "updatedAt": at} for number, at in enumerate(times)]
    found = {"data": {"repository": {name: {"pageInfo": END | {"hasNextPage": True}, "nodes": numbers}}}}
    page = make_page(REPO, "graphql", graphql_answers.NUMBERS_KIND, again, b"", late)
    outcome = rounds(graphql_answers.unanswered(found, page).readings)[-1]
    assert {row["number"] for row in outcome} == {2, 3, 5, 6, None}
    assert [(row["place"], row["whole"]) for row in outcome if row["number"] is None] == [(place, True)]
    assert graphql_answers.from_the_top(place.replace(f'"above": "{times[2]}"', '"above": null'), 100) is None


@pytest.mark.parametrize(
    "data",
    [
        None,
        [],
        {"data": None},
        {"data": {"repository": None}},
        {"data": {"repository": {"issues": None}}},
        {"data": {"repository": {"issues": {"nodes": None, "pageInfo": {"hasNextPage": False}}}}},
        {"data": {"repository": {"issues": {"nodes": [], "pageInfo": None}}}},
        {"data": {"repository": {"issues": {"nodes": [], "pageInfo": {"hasNextPage": True, "endCursor": None}}}}},
        {"data": {"repository": {"issues": {"nodes": [], "pageInfo": {"endCursor": None}}}}},
    ],
)
def test_a_listing_with_a_gap_is_none(data: object) -> None:
    assert graphql_answers.defect("repository", "issues")(data) is not None
