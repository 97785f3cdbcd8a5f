"""Mining by REST against servers that others wrote: a stateful one, recorded real answers, and GitHub's own contract."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from support import QUICK, client, rest, rows, snapshot
from torch_embers.errors import AuthenticationError, NotReachableError, UnknownRepositoryError
from torch_embers.mine import runner
from torch_embers.mine.github.client import GitHubClient
from torch_embers.mine.github.numbers import NumbersSource
from torch_embers.mine.github.replies import Patience
from torch_embers.store.store import Store

if TYPE_CHECKING:
    from pathlib import Path

    from servers import stand_ins

pytestmark = pytest.mark.servers
REPO = "alice/bugs"


def test_every_issue_is_stored_as_it_was_written(
    emulate: tuple[stand_ins.Emulate, stand_ins.Seeded], database: Path, token: str
) -> None:
    server, seeded = emulate
    source = rest(server.url, REPO, token)
    report = runner.mine(Store(database), source)
    stored = {
        n: (title, body, state, reason, tuple(labels))
        for n, title, body, state, reason, labels in rows(
            database, "SELECT number, title, body, state, state_reason, labels FROM items WHERE kind = 'issue'"
        )
    }
    assert len(stored) == len(seeded.issues) >= 2_000
    for number, item in seeded.issues.items():
        title, body, state, reason, labels = stored[number]
        assert (title, body, state, labels) == (item.title, item.body, item.state, tuple(sorted(item.labels)))
        if item.state == "closed":
            assert reason == item.state_reason
    # the emulator has no repository-wide list of comments or events: said, not hidden
    assert any("comments" in note for note in report.notes)


def test_a_second_mine_asks_little_and_changes_nothing(
    emulate: tuple[stand_ins.Emulate, stand_ins.Seeded], database: Path, token: str
) -> None:
    server, _ = emulate
    runner.mine(Store(database), rest(server.url, REPO, token))
    before = snapshot(database)
    again = rest(server.url, REPO, token)
    runner.mine(Store(database), again)
    assert snapshot(database) == before
    assert again.client.usage.requests <= 9


def test_a_mine_asks_one_request_per_page_and_none_per_item(
    emulate: tuple[stand_ins.Emulate, stand_ins.Seeded], database: Path, token: str
) -> None:
    server, seeded = emulate
    source = rest(server.url, REPO, token)
    runner.mine(Store(database), source)
    pages = len(seeded.issues) / 100
    # keyset windows overlap by a second; then repository, count, lists that the emulator lacks, repository again
    assert source.client.usage.requests <= pages * 1.2 + 9


@pytest.mark.slow
def test_an_interrupted_mine_goes_on_where_it_stopped(
    emulate: tuple[stand_ins.Emulate, stand_ins.Seeded], database: Path, tmp_path: Path, token: str
) -> None:
    server, _ = emulate
    whole = tmp_path / "whole.duckdb"
    runner.mine(Store(whole), rest(server.url, REPO, token))
    for _ in range(80):
        limited = rest(server.url, REPO, token)
        limited.client.budget = 8
        if not runner.mine(Store(database), limited).stopped:
            break
    assert snapshot(database) == snapshot(whole)


@pytest.mark.slow
def test_replay_rebuilds_equal_tables_offline(
    emulate: tuple[stand_ins.Emulate, stand_ins.Seeded], database: Path, token: str
) -> None:
    server, _ = emulate
    runner.mine(Store(database), rest(server.url, REPO, token))
    before = snapshot(database)
    runner.replay(Store(database))
    assert snapshot(database) == before


def test_without_a_token_the_newest_items_come_first_and_the_rest_later(
    emulate: tuple[stand_ins.Emulate, stand_ins.Seeded], database: Path
) -> None:
    server, seeded = emulate
    first = rest(server.url, REPO)
    first.client.budget = 6
    report = runner.mine(Store(database), first)
    assert report.stopped
    got = rows(database, "SELECT count(*), min(updated_at) FROM items")[0]
    everything = rest(server.url, REPO)
    newest = {n for (n,) in rows(database, "SELECT number FROM items")}
    assert 470 <= got[0] < 500, "five pages, each of which begins with the end of the one before"
    runner.mine(Store(database), everything)
    assert {n for (n,) in rows(database, "SELECT number FROM items")} == set(seeded.issues)
    older = rows(
        database,
        f"SELECT count(*) FROM items WHERE number NOT IN ({', '.join(map(str, newest))}) "
        f"AND updated_at > TIMESTAMP '{got[1]}'",
    )
    assert older == [(0,)]


def test_labels_state_and_since_narrow_the_listing(
    emulate: tuple[stand_ins.Emulate, stand_ins.Seeded], database: Path, token: str
) -> None:
    server, seeded = emulate
    runner.mine(Store(database), rest(server.url, REPO, token, state="closed", labels=("module: cuda",)))
    wanted = {n for n, i in seeded.issues.items() if i.state == "closed" and "module: cuda" in i.labels}
    assert {n for (n,) in rows(database, "SELECT number FROM items")} == wanted


def test_single_numbers_are_mined_alone_and_a_wrong_number_is_told(
    emulate: tuple[stand_ins.Emulate, stand_ins.Seeded], database: Path, token: str
) -> None:
    server, seeded = emulate
    commented = [n for n, item in seeded.issues.items() if item.comments][:3]
    source = NumbersSource(rest(server.url, REPO, token), [*commented, 999_999])
    runner.mine(Store(database), source)
    assert {n for (n,) in rows(database, "SELECT number FROM items")} == set(commented)
    assert rows(database, "SELECT reason FROM rejects") == [(f"no item #999999 in {REPO}",)]


def test_pull_requests_inside_the_issue_list_cost_no_request(recorded: stand_ins.Recorded, database: Path) -> None:
    source = rest(recorded.url, "hub4j/github-api", "t", state="closed", page_size=30)
    runner.mine(Store(database), source)
    kinds = dict(rows(database, "SELECT kind, count(*) FROM items GROUP BY kind"))
    assert kinds == {"issue": 243, "pull": 363}
    stored = {n: (t, s) for n, t, s in rows(database, "SELECT number, title, state FROM items")}
    assert stored == {i["number"]: (i["title"], i["state"]) for i in recorded.items()}
    labelled = {i["number"] for i in recorded.items() if i["labels"]}
    assert {n for (n,) in rows(database, "SELECT DISTINCT number FROM labels")} == labelled


def test_every_request_obeys_githubs_own_contract(prism: stand_ins.Prism, database: Path) -> None:
    bounds = {"since": "2024-01-01T00:00:00Z", "until": "2100-01-01T00:00:00Z"}  # examples do not fit their counts
    source = rest(prism.url, "octocat/Hello-World", "t", labels=("bug",), **bounds)
    source.client.budget = 30
    runner.mine(Store(database), source)
    numbers = NumbersSource(rest(prism.url, "octocat/Hello-World", "t"), [1347])
    numbers.inner.client.budget = 10
    runner.mine(Store(database), numbers)
    with client(prism.url, "t") as plain:
        source.full_name = "octocat/Hello-World"
        plain.get("/search/issues", {"q": "repo:octocat/Hello-World is:issue", "per_page": 1})
        listing = {"state": "all", "sort": "updated", "direction": "desc", "per_page": 99, "page": 2}
        plain.get("/repos/octocat/Hello-World/pulls", listing)
    assert prism.violations() == []
    assert rows(database, "SELECT count(*) FROM items")[0][0] >= 1


def test_an_unknown_repository_is_named(
    emulate: tuple[stand_ins.Emulate, stand_ins.Seeded], database: Path, token: str
) -> None:
    server, _ = emulate
    with pytest.raises(UnknownRepositoryError, match="nobody/nothing"):
        runner.mine(Store(database), rest(server.url, "nobody/nothing", token))


def test_no_server_is_told_quickly_and_plainly(database: Path) -> None:
    with pytest.raises(NotReachableError, match="cannot be reached"):
        runner.mine(Store(database), rest("http://127.0.0.1:9", REPO, "t"))


def test_a_wrong_token_is_told(graphql_server: stand_ins.GraphQLStandIn, database: Path) -> None:
    source = rest(graphql_server.url, "pytorch/pytorch")
    source.client = GitHubClient(graphql_server.url, ["wrong"], Patience(retries=0, pause=0))
    with pytest.raises(AuthenticationError, match="GITHUB_TOKEN"):
        source.client.graphql("query { viewer { login } }", {}, check=lambda _: None)


def test_raw_pages_hold_no_token(
    emulate: tuple[stand_ins.Emulate, stand_ins.Seeded], database: Path, token: str
) -> None:
    server, _ = emulate
    source = rest(server.url, REPO, token)
    source.client.budget = 4
    runner.mine(Store(database), source)
    for (request,) in rows(database, "SELECT request FROM raw_pages"):
        assert token not in request
    for pages in Store(database).pages():
        for page in pages:
            assert json.loads(page.body) is not None
            assert token.encode() not in page.body
    assert QUICK.max_wait
