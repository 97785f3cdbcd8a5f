"""What the tests in test_active.py share."""

from __future__ import annotations

import io
import shutil
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import strategies as st
from rich.console import Console

from torch_embers.annotate import session as sessions
from torch_embers.annotate.active import Candidate, SchemeEvidence
from torch_embers.annotate.command import Summary, label_session
from torch_embers.annotate.keyboard import split_keys
from torch_embers.store.records import Batch, Comment, Item
from torch_embers.store.store import Store
from torch_embers.taxonomy import Taxonomy

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from torch_embers.annotate.session import Session

REPO = "pytorch/pytorch"
NOON = "2024-01-23T12:00:00Z"
TAXONOMY = Taxonomy.load()
ALL = sessions.asked(TAXONOMY)


def key_of(scheme: str, value: str, parent: str | None = None) -> str:
    """The key that a person presses for a class."""
    classes = TAXONOMY.scheme(scheme).under(parent)
    return next(key for key, entry in sessions.class_keys(classes).items() if entry.name == value)


MEMORY = key_of("bug_type", "memory")

# ---- ranking -------------------------------------------------------------------------------------------------------


def one(number: int, *opinions: SchemeEvidence, group: str = "", changed: str = "") -> Candidate:
    return Candidate(REPO, number, opinions, group, changed)


def bug(model: dict[str, float] | None = None, votes: dict[str, float] | None = None) -> SchemeEvidence:
    return SchemeEvidence("bug_type", 13, model or {}, votes or {})


def numbers(candidates: Sequence[Candidate]) -> list[int]:
    return [candidate.number for candidate in candidates]


OPINIONS = st.builds(
    SchemeEvidence,
    scheme=st.sampled_from(["bug_type", "consequence"]),
    classes=st.integers(2, 13),
    model=st.dictionaries(st.sampled_from("abcd"), st.floats(allow_nan=True, allow_infinity=True), max_size=3),
    votes=st.dictionaries(st.sampled_from("abcd"), st.floats(-1, 5), max_size=3),
)
CANDIDATES = st.lists(
    st.builds(
        Candidate,
        repo=st.just(REPO),
        number=st.integers(1, 10_000),
        evidence=st.lists(OPINIONS, max_size=2).map(tuple),
        group=st.sampled_from(["", "", "x", "y", "z"]),
        changed_at=st.sampled_from(["", NOON, "2025-01-01T00:00:00Z"]),
    ),
    max_size=30,
    unique_by=lambda candidate: candidate.number,
)


# ---- the session ---------------------------------------------------------------------------------------------------


def begun(*items: int, schemes: Sequence[str] = ALL, answers: Any = None) -> Session:
    return sessions.begin(TAXONOMY, schemes, [(REPO, number) for number in items], answers)


def now(session: Session) -> tuple[int, str] | None:
    return (session.items[session.now.place][1], session.now.scheme) if session.now else None


# ---- at the terminal -----------------------------------------------------------------------------------------------


@pytest.fixture(scope="session")
def filled_database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four issues and a pull request, to be copied."""
    path = tmp_path_factory.mktemp("label") / "filled.duckdb"
    items = [
        Item(REPO, n, "issue", f"title {n} {'abcdef'[n] * 12}", f"body of {n}", state="open", updated_at=f"2024-01-0{n}T00:00:00Z",
             labels=("module: crash",), created_at=NOON, source="jsonl")
        for n in (1, 2, 3, 4)
    ]  # fmt: skip
    items.append(Item(REPO, 5, "pull", "a pull request", "", updated_at=NOON, source="jsonl"))
    with Store(path).writer("test", create=True) as writer:
        writer.commit(Batch(items=items, comments=[Comment(REPO, 4, "c1", "bob", body="it is the stride")]))
    return path


@pytest.fixture
def store(filled_database: Path, tmp_path: Path) -> Store:
    path = tmp_path / "e.duckdb"
    shutil.copy(filled_database, path)
    return Store(path)


def label(
    store: Store, keys: str, *schemes: str, annotator: str | None = "ann", limit: int = 10, **options: Any
) -> tuple[Summary, str]:
    out = Console(file=io.StringIO(), width=100, force_terminal=False)
    summary = label_session(store, schemes, annotator, limit, iter(split_keys(keys)), out, **options)
    return summary, out.file.getvalue()


def gold(store: Store) -> list[tuple[Any, ...]]:
    with store.read() as connection:
        return connection.execute(
            "SELECT number, scheme, value, annotator FROM gold_labels WHERE annotator_kind = 'human' ORDER BY ALL"
        ).fetchall()
