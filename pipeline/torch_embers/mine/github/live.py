"""What both ways of asking GitHub share: the repository, its totals, and how pages become a batch."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from torch_embers.errors import UnknownRepositoryError
from torch_embers.mine import readers
from torch_embers.mine.github.cursor import whole_second
from torch_embers.mine.github.replies import GoneError, NotFoundError
from torch_embers.mine.pages import make_page
from torch_embers.store.records import Batch, SyncState

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from torch_embers.mine.github.client import GitHubClient
    from torch_embers.mine.github.cursor import Listed
    from torch_embers.mine.scope import Scope
    from torch_embers.mine.source import Source
    from torch_embers.store.records import Page


@dataclass(frozen=True, slots=True)
class Totals:
    """How many items the tracker has by its own count; ``None`` where it gives none."""

    issues: int | None = None
    pulls: int | None = None

    @property
    def all(self) -> int | None:
        """Both together."""
        known = [n for n in (self.issues, self.pulls) if n is not None]
        return sum(known) if known else None


def until_passed(listed: Listed[Any], until: str | None) -> bool:
    """Whether an ascending listing has gone beyond the upper bound."""
    return until is not None and any(whole_second(u) > until for u in listed.updated)


@dataclass(slots=True)
class LiveSource(ABC):
    """What both ways of asking GitHub know of the repository and of the run."""

    client: GitHubClient
    scope: Scope
    full_name: str = ""
    repo_id: int | None = None
    """The id that GitHub gives the repository, once known."""
    complete: bool = False
    """Set when the listing of items was read to its end in this run."""
    notes: list[str] = field(default_factory=list)
    totals: Totals = field(default_factory=Totals)
    name: str = ""
    """As in ``Source``."""

    @property
    def repo(self) -> str:
        """The repository's present name (after renames), once known."""
        return self.full_name or self.scope.repo

    def batches(self, state: Mapping[str, str]) -> Iterator[Batch]:
        """Yield one batch per page.

        Raises:
            UnknownRepositoryError: the repository is not there, or not any more.
        """
        if not self.full_name:
            self.resolve()
        try:
            yield from self._batches(state)
        except NotFoundError as error:
            self.confirm(error)
            raise

    def page(self, kind: str, request: str, body: bytes, repo: str | None = None) -> Page:
        """Wrap what came in answer to a request, with the time by the server's clock."""
        return make_page(repo or self.repo, self.name, kind, request, body, self.client.now())

    @abstractmethod
    def _batches(self, state: Mapping[str, str]) -> Iterator[Batch]:
        """The batches of a repository whose name is known."""

    @abstractmethod
    def _look_up(self) -> tuple[str, Totals]:
        """Ask for the repository: its full name and, where the answer has them, its totals."""

    def _repository(self) -> tuple[str, Totals]:
        try:
            return self._look_up()
        except (NotFoundError, GoneError, KeyError, TypeError) as error:
            raise UnknownRepositoryError(
                f"{self.client.api_url} has no repository {self.scope.repo!r}, or the token cannot see it: check --repo"
            ) from error

    def confirm(self, missing: Exception) -> None:
        """Tell a repository that is gone from something in it that is not there.

        Raises:
            UnknownRepositoryError: it was there when this run began and is not found now.
        """
        try:
            self._repository()
        except UnknownRepositoryError:
            raise UnknownRepositoryError(
                f"{self.repo} was there when this run began and is not found now: it was deleted or made private, or "
                "the token lost its access. What was read is kept, and nothing was marked as deleted. "
                "Look at it in a browser; where it is there, run the same command again"
            ) from missing

    def resolve(self) -> None:
        """Ask for the repository itself: follows a rename and fails early on an unknown one.

        Raises:
            UnknownRepositoryError: it does not exist or cannot be seen.
        """
        self.full_name, self.totals = self._repository()
        if self.full_name.lower() != self.scope.repo.lower():
            self.notes.append(f"{self.scope.repo} is now called {self.full_name}: stored under the new name")


def finish(base: Page, more: Sequence[Page], source: Source, stream: str, cursor: str) -> Batch:
    """Records of some pages together with the pages and the cursor behind them."""
    batch = together(base, *more)
    batch.cursors.append(SyncState(source.repo, source.name, stream, cursor, base.fetched_at))
    return batch


def together(*pages: Page) -> Batch:
    """Records of some pages together with the pages."""
    batch = Batch()
    for page in pages:
        batch.extend(readers.read(page))
        batch.pages.append(page)
    return batch
