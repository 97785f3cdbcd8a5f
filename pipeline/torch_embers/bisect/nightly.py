"""Nightly builds: listed from an index, ordered, and collapsed by the commit of the main line behind them.

Two nightlies in a row may have the same source, some days have none, and PyTorch's index forgets wheels after some
weeks, while their addresses go on to work. So the days of a clone's branch ``nightly`` that an index does not list are
tried by the address that their wheel has.
"""

from __future__ import annotations

import re
import sys
import sysconfig
import urllib.error
import urllib.request
import zipfile
from dataclasses import replace
from html.parser import HTMLParser
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote, urldefrag, urljoin

from packaging.utils import InvalidWheelFilename, parse_wheel_filename
from packaging.version import Version

from torch_embers.bisect import rules
from torch_embers.bisect.places import Place
from torch_embers.builds.registry import BuildError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from torch_embers.bisect.replies import AskBatch
    from torch_embers.bisect.search import Reply
    from torch_embers.bisect.sources import Sources

PATIENCE_SECONDS = 10
LARGEST_PAGE = 32 << 20
_COMMIT = re.compile(r"git_version\s*(?::\s*str\s*)?=\s*['\"]([0-9a-f]{7,40})['\"]")


def listing(index: str, after: str, before: str, sources: Sources) -> list[Place]:
    """The nightlies between two releases that this Python can install, oldest first, one for each source.

    Args:
        index: address of a simple index (PEP 503), or a folder of wheels.
        after: the older release.
        before: the newer one.
        sources: of the commits; with a clone also of days that an index does not list.

    Raises:
        BuildError: the index cannot be read, or has no such nightly.
    """
    folder, low, high = Path(index), Version(after), Version(before)
    is_folder = folder.is_dir()
    chosen: dict[Version, Place] = {}
    for name, address in _of_folder(folder) if is_folder else _of_index(index):
        try:
            project, version, _, tags = parse_wheel_filename(name)
        except InvalidWheelFilename:
            continue
        fits = any(_fits(tag.interpreter, tag.platform) for tag in tags)
        if project == "torch" and version.is_devrelease and fits and low < version < high:
            commit = _commit_of(Path(address)) if is_folder else ""
            chosen[Version(version.public)] = Place(version.public, None, (address,), commit)
    for day in sources.days.values():
        version = Version(day.version)
        if version in chosen:
            own = chosen[version]
            chosen[version] = replace(own, commit=own.commit or day.commit)
        elif low < version < high and not is_folder:
            chosen[version] = Place(day.version, None, forgotten(index, day.version), day.commit)
    if not chosen:
        raise BuildError(
            f"{index} has no nightly between {after} and {before} for this Python: an index keeps some weeks; give "
            "another --index, or with --commits a clone that has the branch nightly (`git fetch origin nightly`)"
        )
    return collapsed([chosen[version] for version in sorted(chosen)], sources)


def forgotten(index: str, version: str) -> tuple[str, ...]:
    """Addresses that the wheel of a nightly may have where the index does not list it any more."""
    python = f"cp{sys.version_info.major}{sys.version_info.minor}"
    system, _, machine = sysconfig.get_platform().partition("-")
    names = rules.load().nightly.wheels.get(system, ())
    machine = machine.rpartition("-")[2]
    return tuple(
        f"{index.rstrip('/')}/{name.format(version=version, python=python, machine=machine)}" for name in names
    )


def collapsed(places: Sequence[Place], sources: Sources) -> list[Place]:
    """Neighbours of the same source as one place, the first of them; a commit that is not known is its own.

    The others stand in for it: a day may have no wheel for this Python, or one that cannot be imported.
    """
    groups = groupby(enumerate(places), key=lambda pair: sources.of(pair[1].commit) or pair[0])
    made = [[place for _, place in group] for _, group in groups]
    return [replace(first, alike=tuple(others)) for first, *others in made]


class ByCommit:
    """Asks once per source: a build whose source was asked before gets the reply of that build.

    Args:
        ask: asks about a place.
        places: the list; a place that was prepared says its commit there.
        prepare: installs the build of a place where it is missing.
        sources: of the commits.
    """

    def __init__(
        self, ask: AskBatch, places: Sequence[Place], prepare: Callable[[int], object], sources: Sources
    ) -> None:
        self._ask, self._places, self._prepare, self._sources = ask, places, prepare, sources
        self._replies: dict[str, Reply] = {}
        self._asked: set[int] = set()

    def __call__(self, place: int, /, *, fresh: bool = False) -> Reply:
        """Return the reply of the source; a second batch is asked anew."""
        self._prepare(place)
        commit = self._sources.of(self._places[place].commit_known)
        if commit and commit in self._replies and place not in self._asked and not fresh:
            self._asked.add(place)
            return self._replies[commit]
        self._asked.add(place)
        reply = self._ask(place, fresh=fresh)
        if commit and reply.ran:  # another nightly of the source may be there to run
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
        address = urljoin(page, link)  # with the SHA-256 behind it, which pip compares
        yield unquote(urldefrag(address).url.rpartition("/")[2]), address


class _Links(HTMLParser):
    """Addresses of the links of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Keep the address of a link."""
        if tag == "a":
            self.found += [value for name, value in attrs if name == "href" and value]
