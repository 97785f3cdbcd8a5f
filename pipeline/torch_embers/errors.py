"""Errors a user can act on. The command line prints one clean line and exits with ``exit_code``.

Exit codes (documented in docs/commands.md): 0 done, 1 unexpected failure, 2 wrong usage (Typer's own),
3 input or data refused, 4 the GitHub side failed or refused, 5 the database cannot be used now,
6 runs refused because the sandbox is not available, 7 the cluster cannot be used,
130 interrupted. A message says what happened, where, and what to do next.
"""

from __future__ import annotations

from typing import ClassVar


class EmbersError(Exception):
    """Base of every error that embers raises on purpose."""

    exit_code: ClassVar[int] = 1


class InputError(EmbersError):
    """A file, option or record that the user gave cannot be used."""

    exit_code: ClassVar[int] = 3


class MissingPackageError(InputError):
    """A package of an extra is not installed; the message names the extra."""


class SettingsError(InputError):
    """A setting from embers.toml, the environment or a flag has an impossible value."""


class SourceError(EmbersError):
    """The place that is mined refused, failed, or answered something that cannot be trusted."""

    exit_code: ClassVar[int] = 4


class NotReachableError(SourceError):
    """No connection to the API at all (as opposed to an answer that is an error)."""


class AuthenticationError(SourceError):
    """The token is wrong, expired, or lacks a permission."""


class UnknownRepositoryError(SourceError):
    """The repository does not exist, or the token cannot see it."""


class RateLimitError(SourceError):
    """GitHub asks for a longer wait than ``--max-wait`` allows.

    ``wait_seconds`` is how long GitHub asked for.
    """

    def __init__(self, message: str, wait_seconds: float) -> None:
        super().__init__(message)
        self.wait_seconds = wait_seconds


class ShortListingError(SourceError):
    """A listing ended with fewer records than its source says it has: a silent loss if accepted."""


class IncompleteItemsError(SourceError):
    """Parts of some items were not answered: they wait to be read again."""


class StoreError(EmbersError):
    """The database file cannot be used."""

    exit_code: ClassVar[int] = 5


class StoreBusyError(StoreError):
    """Another process holds the database or the writer's lock."""


class StoreCorruptError(StoreError):
    """The file is damaged or no DuckDB database."""


class StoreVersionError(StoreError):
    """The database was written by a newer embers."""


class StoreMissingError(StoreError):
    """There is no database yet."""


class StoreFullError(StoreError):
    """The disk has no room for the batch; nothing of it was kept."""


class SandboxError(EmbersError):
    """Scripts cannot be run, or not with the guarantees that their profile demands."""

    exit_code: ClassVar[int] = 6


class ClusterError(EmbersError):
    """The machines that should do the work cannot be reached, or were lost."""

    exit_code: ClassVar[int] = 7
