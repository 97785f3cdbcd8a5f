"""One mine as a whole: however it ends, what is stored is linked, and the reason comes out."""

from __future__ import annotations

from contextlib import nullcontext
from typing import TYPE_CHECKING

import pytest
from torch_embers.mine.files.jsonl import KIND, read_jsonl
from torch_embers.mine.pages import make_page

from support import Recorded, rows
from torch_embers.errors import NotReachableError, RateLimitError, SourceError, StoreCorruptError
from torch_embers.link import stage
from torch_embers.mine import plan, runner
from torch_embers.settings import Settings
from torch_embers.store.store import Store

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from torch_embers.store.records import Batch

REPO = "pytorch/pytorch"
ENDS = (
    RateLimitError("wait for an hour", 3600),
    NotReachableError("connection refused"),
    SourceError("HTTP 502, 7 times in a row"),
    ZeroDivisionError("a defect"),
    KeyboardInterrupt(),
)


class Ending:
    """A source that gives one page and then ends in an error."""

    name = "jsonl"
    repo = REPO

    def __init__(self, error: BaseException) -> None:
        self.error = error

    def batches(self, state: Mapping[str, str]) -> Iterator[Batch]:
        """One item that fixes another, then the error."""
        body = b'{"number": 2, "title": "t", "body": "Fixes #1", "pull_request": {}}'
        page = make_page(REPO, self.name, KIND, "f.jsonl:1", body)
        batch = read_jsonl(page)
        batch.pages.append(page)
        yield batch
        raise self.error


def links(database: Path) -> list[tuple[object, ...]]:
    return rows(database, "SELECT number, relation, target_number FROM links")


@pytest.mark.parametrize("error", ENDS, ids=lambda error: type(error).__name__)
def test_what_came_before_an_error_is_linked_and_the_error_comes_out(database: Path, error: BaseException) -> None:
    progress = Recorded()
    with pytest.raises(type(error)) as caught:
        runner.mine(Store(database), Ending(error), progress=progress)
    assert caught.value is error
    assert links(database) == [(2, "fixes", 1)]
    assert any("linking what was read" in line for line in progress.lines) == isinstance(error, KeyboardInterrupt)


def test_the_reason_of_the_end_comes_out_where_the_link_stage_fails_too(
    database: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        raise StoreCorruptError("no database")

    monkeypatch.setattr(runner, "link_changed", broken)
    with pytest.raises(SourceError, match="HTTP 502"):
        runner.mine(Store(database), Ending(SourceError("HTTP 502")))


def test_a_second_ctrl_c_ends_the_linking(database: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(runner, "link_changed", interrupted)
    with pytest.raises(KeyboardInterrupt):
        runner.mine(Store(database), Ending(SourceError("HTTP 502")))


def test_a_mine_without_links_stays_without_them(database: Path) -> None:
    with pytest.raises(SourceError):
        runner.mine(Store(database), Ending(SourceError("HTTP 502")), link=False)
    assert links(database) == []


def test_the_catalog_is_linked_where_github_refuses_the_token(database: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: object) -> None:
        raise SourceError("the token is wrong")

    monkeypatch.setattr(plan.RestSource, "resolve", refused)
    settings = Settings(database=database, api_url="http://127.0.0.1:1")
    with pytest.raises(SourceError, match="the token is wrong"):
        list(plan.run(settings, plan.Request(), lambda _: nullcontext(Recorded())))
    assert links(database) != []


def test_where_nothing_changed_no_text_is_looked_at_again(database: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(SourceError):
        runner.mine(Store(database), Ending(SourceError("HTTP 502")))

    def looked(_: object) -> None:
        raise AssertionError("texts were hashed")

    monkeypatch.setattr(stage, "_changed", looked)
    assert stage.link_changed(Store(database)).items == 0
    with Store(database).writer("test") as writer, writer.transaction() as connection:
        connection.execute("UPDATE items SET body = 'Fixes #3', content_hash = 'new'")
    with pytest.raises(AssertionError, match="hashed"):
        stage.link_changed(Store(database))
