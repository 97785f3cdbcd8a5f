"""Which repository a name stands for: an id that GitHub gives decides, so that a new name makes no second copy."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from torch_embers.errors import SourceError
from torch_embers.mine import readers
from torch_embers.mine.github.replies import GoneError, NotFoundError
from torch_embers.store import renames

if TYPE_CHECKING:
    from torch_embers.mine.github.client import GitHubClient
    from torch_embers.mine.github.live import LiveSource
    from torch_embers.store.records import Page
    from torch_embers.store.store import Store
    from torch_embers.store.writer import Writer


def settle(store: Store, writer: Writer, source: LiveSource) -> None:
    """Look the repository up, and give what is stored of it its present name.

    Raises:
        SourceError: the name stands for another repository now, and GitHub no longer has the stored one.
    """
    if not source.full_name:
        source.resolve()
    if source.repo_id is None:
        return
    known = _known(store)
    name, asked_as = source.full_name, source.scope.repo
    pages = [
        _note(source, other, _name_of(source.client, other, name), name)
        for other, held in known.items()
        if held == name and other != source.repo_id
    ]
    if known.get(source.repo_id) != name or (asked_as != name and _has_items(store, asked_as)):
        pages.append(_note(source, source.repo_id, name, asked_as))
    for page in pages:
        batch = readers.read(page)
        batch.pages.append(page)
        writer.commit(batch)


def place_of(address: str) -> tuple[int, int] | None:
    """Repository id and item number of an address like ``.../repositories/1/issues/2``."""
    match = re.search(r"/repositories/(\d+)/issues/(\d+)$", address)
    return (int(match[1]), int(match[2])) if match else None


def named(client: GitHubClient, address: str) -> str:
    """An item's address with its repository's name in the place of its id, where GitHub tells the name."""
    place = place_of(address)
    name = name_of(client, place[0]) if place else None
    return f"{client.api_url}/repos/{name}/issues/{place[1]}" if place and name else address


def name_of(client: GitHubClient, repo_id: int) -> str | None:
    """Present name of the repository with an id; ``None`` where GitHub has none."""
    try:
        answer = client.get(f"/repositories/{repo_id}").data
    except (NotFoundError, GoneError):
        return None
    name = answer.get("full_name") if isinstance(answer, dict) else None
    return name if isinstance(name, str) else None


def _name_of(client: GitHubClient, repo_id: int, taken: str) -> str:
    name = name_of(client, repo_id)
    if name is None or name == taken:
        raise SourceError(
            f"{taken} is another repository now: the database holds the one with the id {repo_id}, which GitHub no "
            "longer shows. Mine the new one into another database (--database)"
        )
    return name


def _note(source: LiveSource, repo_id: int, name: str, asked_as: str) -> Page:
    """What is kept as raw page, so that a replay renames at the same place."""
    note = json.dumps({"id": repo_id, "full_name": name, "asked_as": asked_as}).encode()
    return source.page("github.repository", f"repository {repo_id}", note, name)


def _known(store: Store) -> dict[int, str]:
    with store.read() as connection:
        return renames.present(connection)


def _has_items(store: Store, repo: str) -> bool:
    with store.read() as connection:
        [(found,)] = connection.execute("SELECT EXISTS (FROM items WHERE repo = ?)", [repo]).fetchall()
    return bool(found)
