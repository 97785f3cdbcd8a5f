"""What the miners pass to the store: one frozen dataclass per table, with a field per column.

Times are ISO 8601 text in UTC (``2024-01-23T10:00:00Z``) or ``None``; DuckDB turns them into TIMESTAMP.
``None`` means that this source does not give the value, an empty string or list that there is none now: no milestone,
a deleted author. Where a later source gives no value, the store keeps that of an earlier one (see ``Writer.commit``).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

RAW_KEPT = 2_000
"""Characters that a reject keeps of what was refused."""


@dataclass(frozen=True, slots=True)
class Page:
    """One answer of a source, kept as it came so that every derived table can be rebuilt offline."""

    page_id: str
    """16 hexadecimal digits: hash of source, request, time of fetch and body (GH Archive: place of the page)."""
    repo: str
    source: str
    """graphql, rest, archive, jsonl, git or catalog."""
    kind: str
    """Which reader turns the body into records, e.g. ``rest.items`` or ``graphql.issues``."""
    request: str
    """Address or file and place that was read; never holds a token."""
    fetched_at: str
    body: bytes
    """As received; the store compresses it."""

    @property
    def stamp(self) -> dict[str, Any]:
        """Provenance of the records that come from this page: the fields of ``Fetched``."""
        return {"source": self.source, "fetched_at": self.fetched_at, "page_id": self.page_id}


@dataclass(frozen=True, slots=True, kw_only=True)
class Fetched:
    """Provenance of a record: the source and the page that it comes from."""

    source: str = ""
    fetched_at: str | None = None
    page_id: str = ""


@dataclass(frozen=True, slots=True)
class Item(Fetched):
    """An issue or a pull request."""

    repo: str
    number: int
    kind: str | None = None
    """issue or pull."""
    title: str | None = None
    body: str | None = None
    author: str | None = None
    author_association: str | None = None
    state: str | None = None
    """open or closed."""
    state_reason: str | None = None
    """completed, not_planned, duplicate, reopened, merged; empty when closed without a reason."""
    is_draft: bool | None = None
    merged_at: str | None = None
    merge_sha: str | None = None
    base_ref: str | None = None
    head_ref: str | None = None
    milestone: str | None = None
    created_at: str | None = None
    updated_at: str | None = None
    closed_at: str | None = None
    comment_count: int | None = None
    reaction_count: int | None = None
    labels: tuple[str, ...] | None = None
    """Current labels; ``None`` where the source does not say. Stored in the table ``labels``."""
    deleted_at: str | None = None
    """Set on a tombstone: the item is gone from its tracker (deleted or transferred)."""
    transferred_to: str | None = None
    """``owner/name#number`` where a transferred item went."""
    history: bool | None = None
    """True once the item's events were fetched completely."""
    milestone_number: int | None = None
    milestone_due_at: str | None = None
    locked: bool | None = None
    lock_reason: str | None = None
    """off_topic, resolved, spam or too_heated."""
    issue_type: str | None = None
    """Bug, Feature, Task or what the organisation has defined."""
    closed_by: str | None = None
    """Login of who closed it, where the item itself says so; the view ``closings`` asks the events, too."""
    merged_by: str | None = None
    head_sha: str | None = None
    check_state: str | None = None
    """Checks of the head commit together: success, failure, error, pending or expected."""


@dataclass(frozen=True, slots=True)
class Event(Fetched):
    """Something that happened to an item: label, close, reopen, rename, transfer, duplicate ..."""

    repo: str
    number: int
    event_id: str
    type: str
    created_at: str | None = None
    actor: str | None = None
    label: str | None = None
    state_reason: str | None = None
    title_from: str | None = None
    title_to: str | None = None
    other_repo: str | None = None
    other_number: int | None = None
    commit_sha: str | None = None
    will_close: bool | None = None


@dataclass(frozen=True, slots=True)
class Comment(Fetched):
    """A comment on an item."""

    repo: str
    number: int
    comment_id: str
    author: str | None = None
    author_association: str | None = None
    created_at: str | None = None
    updated_at: str | None = None
    body: str | None = None


@dataclass(frozen=True, slots=True)
class PullFile(Fetched):
    """A file that a pull request changes."""

    repo: str
    number: int
    path: str
    change: str | None = None
    """added, modified, deleted, renamed, copied or changed."""
    additions: int | None = None
    deletions: int | None = None


@dataclass(frozen=True, slots=True)
class Review(Fetched):
    """A review of a pull request."""

    repo: str
    number: int
    review_id: str
    author: str | None = None
    author_association: str | None = None
    state: str | None = None
    """approved, changes_requested, commented, dismissed or pending."""
    body: str | None = None
    commit_sha: str | None = None
    submitted_at: str | None = None
    updated_at: str | None = None
    comment_count: int | None = None


@dataclass(frozen=True, slots=True)
class ReviewComment(Fetched):
    """A comment on a line of a pull request's files."""

    repo: str
    number: int
    comment_id: str
    review_id: str | None = None
    reply_to: str | None = None
    author: str | None = None
    author_association: str | None = None
    path: str | None = None
    line: int | None = None
    original_line: int | None = None
    commit_sha: str | None = None
    created_at: str | None = None
    updated_at: str | None = None
    body: str | None = None


@dataclass(frozen=True, slots=True)
class PullCommit(Fetched):
    """A commit of a pull request's branch."""

    repo: str
    number: int
    sha: str
    author: str | None = None
    author_login: str | None = None
    authored_at: str | None = None
    committed_at: str | None = None
    message: str | None = None


@dataclass(frozen=True, slots=True)
class Check(Fetched):
    """How many checks of a pull request's head commit are in one state."""

    repo: str
    number: int
    kind: str
    """check_run or status_context."""
    state: str
    checks: int
    sha: str | None = None


@dataclass(frozen=True, slots=True)
class Person(Fetched):
    """Someone whom an item is assigned to, or who was asked to review it."""

    repo: str
    number: int
    role: str
    """assignee or reviewer."""
    login: str
    """Login of a user; a team is ``organisation/team``."""


@dataclass(frozen=True, slots=True)
class Reactions(Fetched):
    """Reactions to an item, a comment or a review, counted by kind."""

    repo: str
    number: int
    subject: str
    """item, comment, review or review_comment."""
    subject_id: str
    """Its id; empty for the item itself."""
    thumbs_up: int = 0
    thumbs_down: int = 0
    laugh: int = 0
    hooray: int = 0
    confused: int = 0
    heart: int = 0
    rocket: int = 0
    eyes: int = 0


@dataclass(frozen=True, slots=True)
class User(Fetched):
    """An account that took part in a repository."""

    repo: str
    login: str
    user_id: int | None = None
    type: str | None = None
    """User, Bot, Organization, Mannequin or EnterpriseUserAccount."""
    association: str | None = None


@dataclass(frozen=True, slots=True)
class Commit(Fetched):
    """A commit of a repository's history."""

    repo: str
    sha: str
    author: str | None = None
    authored_at: str | None = None
    committed_at: str | None = None
    subject: str | None = None
    message: str | None = None
    pull_number: int | None = None
    line: str | None = None
    """main, release, branch or foreign: where it stands in the history; see mine/git/commits.py."""
    files: int | None = None
    """Files it changes; ``commit_files`` may hold fewer, or none where they are unknown."""


@dataclass(frozen=True, slots=True)
class CommitFile(Fetched):
    """A file that a commit changes."""

    repo: str
    sha: str
    path: str
    change: str | None = None
    """added, modified, deleted, renamed, copied or changed."""
    additions: int | None = None
    deletions: int | None = None


@dataclass(frozen=True, slots=True)
class CodeSize(Fetched):
    """Lines of code of one component at one release tag."""

    repo: str
    tag: str
    tagged_at: str | None
    component: str
    subcomponent: str
    files: int
    lines: int
    """Physical lines, counted as line feeds in tracked text files."""


@dataclass(frozen=True, slots=True)
class GoldLabel(Fetched):
    """A taxonomy label given by a named annotator."""

    repo: str
    number: int
    scheme: str
    value: str
    annotator_kind: str
    """paper, automated or human."""
    annotator: str
    evidence: str | None = None
    labelled_at: str | None = None


@dataclass(frozen=True, slots=True)
class CatalogEntry(Fetched):
    """What the embedded catalog says of a bug beyond the facts that go into ``items``."""

    repo: str
    number: int
    summary: str
    backends: tuple[str, ...] = ()
    affected_versions: tuple[str, ...] = ()
    fixed_versions: tuple[str, ...] = ()
    facts_as_of: str | None = None


@dataclass(frozen=True, slots=True)
class Disposition(Fetched):
    """What an annotator read of the closing of an issue."""

    repo: str
    number: int
    disposition: str
    """fixed, declined, duplicate, superseded, stale or unknown."""
    evidence: str
    annotator_kind: str
    annotator: str
    duplicate_of: int | None = None
    evidence_kind: str | None = None
    """commit, closing_pr, comment, state_reason or event."""
    evidence_ref: str | None = None
    evidence_date: str | None = None
    confidence: float | None = None


@dataclass(frozen=True, slots=True)
class StatedLink(Fetched):
    """A link that a source states as data (closing pull requests, the catalog), not as prose."""

    repo: str
    number: int
    relation: str
    """A relation name of data/relations.toml."""
    target_repo: str
    target_number: int
    evidence: str
    """catalog, closing_reference, sub_issue, event or dataset."""


@dataclass(frozen=True, slots=True)
class Repository(Fetched):
    """A repository under the name that it has now."""

    repo_id: int
    full_name: str
    asked_as: str | None = None
    """The name that was asked for; an earlier one where it differs."""


@dataclass(frozen=True, slots=True)
class Reject(Fetched):
    """A record that could not be used, kept aside with the reason; the rest goes on."""

    origin: str
    line: int | None
    reason: str
    raw: str
    """The first 2,000 characters of what was refused."""


@dataclass(frozen=True, slots=True)
class Reading(Fetched):
    """How completely one page holds one part of an item. No table: the writer acts on it (``store/readings.py``)."""

    repo: str
    number: int | None
    part: str
    """A name of ``store.readings.PARTS``, or ``item`` where the reading covers all parts of the item."""
    reading: str
    """Page that began this reading; its further pages name the same."""
    sound: bool = True
    """False where something that was asked for is missing in this page."""
    ends: bool = True
    """Whether the part ends in this page; false where a further page goes on."""
    nodes: int | None = None
    """How many rows of the part this page holds."""
    total: int | None = None
    """How many there are by the source's own count, all pages together."""
    excused: bool = False
    """Whether rows that lack by that count are not waited for; nothing is deleted then."""
    hidden: bool = False
    """Whether something may not be seen: it is not waited for, and as it is unknown, nothing is deleted."""
    reason: str | None = None
    """What is missing."""
    place: str | None = None
    """Where an item stands in a listing whose number is not known."""


@dataclass(frozen=True, slots=True)
class SyncState:
    """How far a stream of a source has been read; committed together with the page it follows from."""

    repo: str
    source: str
    stream: str
    cursor: str
    """JSON, see mine/github/cursor.py."""
    updated_at: str


@dataclass(frozen=True, slots=True)
class Outdated:
    """Pages of a source whose rows go, because it is read from its beginning and understood otherwise now."""

    repo: str
    source: str
    kinds: tuple[str, ...]
    requests: str
    """How the requests of these pages begin."""
    page_id: str
    """The note that says so: only pages that came before it are outdated."""

    def covers(self, page: Page) -> bool:
        """Whether a page that came before the note is outdated."""
        return page.source == self.source and page.kind in self.kinds and page.request.startswith(self.requests)


@dataclass(slots=True)
class Batch:
    """What one transaction writes: pages, what they contain, and the cursors behind them."""

    pages: list[Page] = field(default_factory=list)
    repositories: list[Repository] = field(default_factory=list)
    items: list[Item] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)
    comments: list[Comment] = field(default_factory=list)
    pull_files: list[PullFile] = field(default_factory=list)
    reviews: list[Review] = field(default_factory=list)
    review_comments: list[ReviewComment] = field(default_factory=list)
    pull_commits: list[PullCommit] = field(default_factory=list)
    checks: list[Check] = field(default_factory=list)
    item_people: list[Person] = field(default_factory=list)
    reactions: list[Reactions] = field(default_factory=list)
    users: list[User] = field(default_factory=list)
    commits: list[Commit] = field(default_factory=list)
    commit_files: list[CommitFile] = field(default_factory=list)
    code_sizes: list[CodeSize] = field(default_factory=list)
    gold_labels: list[GoldLabel] = field(default_factory=list)
    catalog: list[CatalogEntry] = field(default_factory=list)
    dispositions: list[Disposition] = field(default_factory=list)
    stated_links: list[StatedLink] = field(default_factory=list)
    rejects: list[Reject] = field(default_factory=list)
    readings: list[Reading] = field(default_factory=list)
    outdated: list[Outdated] = field(default_factory=list)
    cursors: list[SyncState] = field(default_factory=list)

    def extend(self, other: Batch) -> None:
        """Append everything of ``other``."""
        for name in self.__slots__:
            getattr(self, name).extend(getattr(other, name))

    def size(self) -> int:
        """Number of records of all kinds."""
        return sum(len(getattr(self, name)) for name in self.__slots__)

    def __bool__(self) -> bool:
        """Whether there is anything to write."""
        return self.size() > 0
