"""What can be mined: the protocol of a source, and the cursors that it saves."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Protocol

from torch_embers.normalize import now_utc
from torch_embers.store.records import SyncState

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from torch_embers.store.records import Batch


class DamagedFileError(Exception):
    """A file ends early or is not what it should be; what came before is good."""


def damage_report(damaged: Sequence[str]) -> str:
    """One line about damaged files, each given as ``name: reason``."""
    first = "; ".join(damaged[:3]) + (f"; and {len(damaged) - 3} more" if len(damaged) > 3 else "")
    return f"{first} - what came before is kept, the other files were read; replace the file and run the same again"


class Source(Protocol):
    """Something that can be mined."""

    @property
    def name(self) -> str:
        """graphql, rest, archive, jsonl, git or catalog."""

    @property
    def repo(self) -> str:
        """Repository as owner/name."""

    def batches(self, state: Mapping[str, str]) -> Iterator[Batch]:
        """Yield transactions; ``state`` holds the cursors that earlier runs saved, by stream."""
        ...


def sync_state(source: Source, stream: str, **cursor: Any) -> SyncState:
    """The row that saves a cursor of a source."""
    return SyncState(source.repo, source.name, stream, json.dumps(cursor), now_utc())


def read_cursor(text: str | None) -> dict[str, Any]:
    """The fields of a saved cursor; an empty or foreign text has none, which repeats work but loses nothing."""
    try:
        cursor = json.loads(text or "{}")
    except ValueError:
        return {}
    return cursor if isinstance(cursor, dict) else {}
