"""Where the pages are, as paths below the site's folder; no name leads out of the folder."""

from __future__ import annotations

import re
from hashlib import sha256
from typing import TYPE_CHECKING
from urllib.parse import quote

if TYPE_CHECKING:
    from collections.abc import Iterable

_PLAIN = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,90}")
_COMMIT = re.compile(r"[0-9a-f]{7,40}")
_REPO = re.compile(r"[A-Za-z0-9_.-]{1,100}/[A-Za-z0-9_.-]{1,100}")
GITHUB = "https://github.com/"


def slug(text: str) -> str:
    """A file name for a text; one that is no plain name gets its hash."""
    text = text.replace("=", "--")
    return text if _PLAIN.fullmatch(text) else f"x-{_hash(text)}"


def is_plain(repo: str) -> bool:
    """Whether a repository has a name that GitHub can have."""
    return bool(_REPO.fullmatch(repo)) and repo[0] != "."


def item_slug(repo: str, number: int) -> str:
    """A file name for an item."""
    owner, _, name = repo.partition("/")
    return f"{owner}--{name}-{number}" if is_plain(repo) else f"x-{_hash(repo)}-{number}"


def item_page(repo: str, number: int) -> str:
    """The page of an item."""
    return f"items/{item_slug(repo, number)}.html"


def slugs(names: Iterable[str]) -> dict[str, str]:
    """File names that differ also where upper and lower case are the same, as on macOS and Windows."""
    made: dict[str, str] = {}
    taken: set[str] = set()
    for name in sorted(set(names)):
        own = slug(name)
        if own.lower() in taken:
            own = f"{own}-{_hash(name)}"
        taken.add(own.lower())
        made[name] = own
    return made


def github_item(repo: str, number: int) -> str:
    """The address of an item on GitHub; empty for a name that GitHub cannot have."""
    return f"{GITHUB}{quote(repo)}/issues/{number}" if _REPO.fullmatch(repo) else ""


def github_commit(repo: str, sha: str) -> str:
    """The address of a commit on GitHub."""
    return f"{GITHUB}{quote(repo)}/commit/{sha}" if _REPO.fullmatch(repo) and _COMMIT.fullmatch(sha) else ""


def reference(text: str | None, repo: str) -> str:
    """The address of a stated reference: ``#12``, a commit, or an address on GitHub; empty for all else."""
    text = (text or "").strip()
    if re.fullmatch(r"#\d{1,9}", text):
        return github_item(repo, int(text[1:]))
    if _COMMIT.fullmatch(text):
        return github_commit(repo, text)
    plain = re.fullmatch(r"https://github\.com/[A-Za-z0-9_.\-/#?=&%]{1,300}", text)
    return text if plain else ""


def _hash(text: str) -> str:
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:12]
