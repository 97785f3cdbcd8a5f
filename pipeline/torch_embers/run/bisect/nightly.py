"""Nightly builds of an index: listed, ordered, and collapsed by the commit that they were built from.

Two nightlies in a row may be the same commit, some days have none, and an index forgets wheels after some weeks.
"""

from __future__ import annotations

import re
import sys
import sysconfig
import urllib.error
import urllib.request
import zipfile
from html.parser import HTMLParser
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote, urldefrag, urljoin

from packaging.utils import InvalidWheelFilename, parse_wheel_filename
from packaging.version import Version

from torch_embers.builds.registry import BuildError
from torch_embers.run.bisect.places import Place

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from torch_embers.run.bisect.replies import AskBatch
    from torch_embers.run.bisect.search import Reply

PATIENCE_SECONDS = 10
LARGEST_PAGE = 32 << 20
_COMMIT = re.compile(r"git_version\s*(?::\s*str\s*)?=\s*['\"]([0-9a-f]{7,40})['\"]")


def listing(index: str, after: str, before: str) -> list[Place]:
    """The nightlies of an index between two releases that this Python can install, oldest first.

    Args:
        index: address of a simple index (PEP 503), or a folder of wheels.
        after: the older release.
        before: the newer one.

    Raises:
        BuildError: the index cannot be read, or has no such nightly.
    """
    folder = Path(index)
    found = _of_folder(folder) if folder.is_dir() else _of_index(index)
    low, high = Version(after), Version(before)
    chosen: dict[Version, Place] = {}
    for name, address in found:
        try:
            project, version, _, tags = parse_wheel_filename(name)
        except InvalidWheelFilename:
            continue
        fits = any(_fits(tag.interpreter, tag.platform) for tag in tags)
        if project == "torch" and version.is_devrelease and fits and low < version < high:
            path = Path(address)
            chosen[version] = Place(version.public, None, address, _commit_of(path) if path.is_file() else "")
    if not chosen:
        raise BuildError(f"{index} has no nightly between {after} and {before} for this Python: give another --index")
    return collapsed([chosen[version] for version in sorted(chosen)])


def collapsed(places: Sequence[Place]) -> list[Place]:
    """Neighbours of the same commit as one place, the first of them; a commit that is not known is its own."""
    groups = groupby(enumerate(places), key=lambda pair: pair[1].commit or pair[0])
    return [next(iter(group))[1] for _, group in groups]


class ByCommit:
    """Asks once per commit: a build whose commit was asked before gets the reply of that build.

    Args:
        ask: asks about a place.
        places: the list; a place that was prepared says its commit there.
        prepare: installs the build of a place where it is missing.
    """

    def __init__(self, ask: AskBatch, places: Sequence[Place], prepare: Callable[[int], object]) -> None:
        self._ask, self._places, self._prepare = ask, places, prepare
        self._replies: dict[str, Reply] = {}
        self._asked: set[int] = set()

    def __call__(self, place: int, /, *, fresh: bool = False) -> Reply:
        """Return the reply of the commit; a second batch is asked anew."""
        self._prepare(place)
        commit = self._places[place].commit_known
        if commit and commit in self._replies and place not in self._asked and not fresh:
            self._asked.add(place)
            return self._replies[commit]
        self._asked.add(place)
        reply = self._ask(place, fresh=fresh)
        if commit:
            self._replies[commit] = reply
        return reply


def _fits(interpreter: str, platform: str) -> bool:
    own = sysconfig.get_platform().replace("-", "_").replace(".", "_")
    system, _, machine = own.partition("_")
    return interpreter == f"cp{sys.version_info.major}{sys.version_info.minor}" and (
        system in platform and platform.endswith(machine.rpartition("_")[2] if system == "macosx" else machine)
    )


def _of_folder(folder: Path) -> Iterable[tuple[str, str]]:
    return [(path.name, str(path)) for path in sorted(folder.rglob("*.whl"))]


def _commit_of(wheel: Path) -> str:
    """The commit that a wheel says it was built from; empty where it does not say."""
    try:
        with zipfile.ZipFile(wheel) as archive:
            text = archive.read("torch/version.py").decode("utf-8", "replace")
    except (OSError, KeyError, zipfile.BadZipFile):
        return ""
    found = _COMMIT.search(text)
    return found[1] if found else ""


def _of_index(index: str) -> Iterable[tuple[str, str]]:
    page = f"{index.rstrip('/')}/torch/"
    if not page.startswith(("https://", "http://")):
        raise BuildError(f"{index} is no folder of wheels and no address of an index")
    try:
        with urllib.request.urlopen(page, timeout=PATIENCE_SECONDS) as answer:  # noqa: S310 - only http and https
            text = answer.read(LARGEST_PAGE).decode("utf-8", "replace")
    except (OSError, urllib.error.URLError, ValueError) as error:
        reason = getattr(error, "reason", error)
        raise BuildError(
            f"the index of nightlies does not answer ({page}: {reason}): download wheels and give their folder with "
            "--index"
        ) from error
    reader = _Links()
    reader.feed(text)
    for link in reader.found:
        address, _ = urldefrag(urljoin(page, link))
        yield unquote(address.rpartition("/")[2]), address


class _Links(HTMLParser):
    """Addresses of the links of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Keep the address of a link."""
        if tag == "a":
            self.found += [value for name, value in attrs if name == "href" and value]
