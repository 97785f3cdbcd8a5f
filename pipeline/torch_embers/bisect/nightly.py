"""Nightly builds: listed from an index or a folder, with the commits that a clone says they were built from.

A nightly is built from the branch ``nightly``. It has a commit a day, a snapshot of a commit of the main line that the
subject names: "2025-08-01 nightly release (SHA)". A build calls either of the two its commit. Two days on which the
main line stood still have two commits of the branch and one source.

PyTorch's index forgets wheels after some weeks, while their addresses go on to work: days of a clone that an index
does not list are tried by the address of their wheel.
"""

from __future__ import annotations

import html
import platform
import re
import sys
from dataclasses import replace
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import unquote, urljoin, urlsplit

import requests
from packaging.tags import sys_tags
from packaging.utils import InvalidWheelFilename, parse_wheel_filename
from packaging.version import Version

from torch_embers.bisect import thresholds
from torch_embers.bisect.places import Place
from torch_embers.builds.registry import BuildError
from torch_embers.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from torch_embers.mine.git.gitrepo import Clone

PATIENCE_SECONDS = 10
_SUBJECT = re.compile(r"(\d{4})-(\d\d)-(\d\d) nightly release \(([0-9a-f]{7,40})\)")
_BRANCHES = ("refs/heads/nightly", "refs/remotes/*/nightly")
_NUMBER = re.compile(rb"\d{1,4}\.\d{1,6}\.\d{1,6}")
_LINK = re.compile(r'<a\s[^>]*?href="([^"]+)"')


def listing(index: str, after: str, before: str, clone: Clone | None) -> list[Place]:
    """The nightlies between two releases that this Python can install, oldest first, one for each source.

    Args:
        index: address of a simple index (PEP 503), or a folder of wheels.
        after: the older release.
        before: the newer one.
        clone: says what days were built from, and those that an index does not list; None where there is none.

    Raises:
        BuildError: the index cannot be read, or has no such nightly.
    """
    folder, low, high, own_tags = Path(index), Version(after), Version(before), frozenset(sys_tags())
    wheels = ((path.name, str(path)) for path in folder.rglob("*.whl")) if folder.is_dir() else _of_index(index)
    found: dict[str, Place] = {}
    for name, address in wheels:
        try:
            project, version, _, tags = parse_wheel_filename(name)
        except InvalidWheelFilename:
            continue
        if project == "torch" and version.is_devrelease and low < version < high and not own_tags.isdisjoint(tags):
            found[version.public] = Place(version.public, addresses=(address,))
    days = days_of(clone) if clone else {}
    for text in () if folder.is_dir() else days:
        if text not in found and low < Version(text) < high:
            found[text] = Place(text, addresses=_forgotten(index, text))
    if not found:
        raise BuildError(
            f"{index} has no nightly between {after} and {before} for this Python: an index keeps some weeks; give "
            "another --index, or with --commits a clone that has the branch nightly (`git fetch origin nightly`)"
        )
    own_days = {text: days.get(text, Day("", text)) for text in found}  # one that the clone lacks is its own source
    ordered = sorted(found.values(), key=lambda place: Version(place.version))
    firsts = [next(places) for _, places in groupby(ordered, lambda place: own_days[place.version].source)]
    return [replace(place, commit=own_days[place.version].commit) for place in firsts]


def _of_index(index: str) -> Iterator[tuple[str, str]]:
    """File name and address of each wheel of torch; the SHA-256 behind an address is compared by pip."""
    page = f"{index.rstrip('/')}/torch/"
    try:
        answer = requests.get(page, timeout=PATIENCE_SECONDS)
        answer.raise_for_status()
    except requests.RequestException as error:
        raise BuildError(
            f"{index} is no folder of wheels, and no index answers at {page} ({type(error).__name__}): download "
            "wheels and give their folder with --index"
        ) from error
    for link in _LINK.findall(answer.text):
        address = urljoin(page, html.unescape(link))
        yield unquote(urlsplit(address).path.rpartition("/")[2]), address


def _forgotten(index: str, version: str) -> tuple[str, ...]:
    """Addresses that the wheel of a nightly may have where the index does not list it any more."""
    own = {"version": version, "python": f"cp{sys.version_info.major}{sys.version_info.minor}"}
    names = thresholds.load().nightly.wheels.get(sys.platform, ())
    return tuple(f"{index.rstrip('/')}/{name.format(**own, machine=platform.machine())}" for name in names)


class Day(NamedTuple):
    """A commit of the branch nightly, and the commit of the main line that it is a snapshot of."""

    commit: str
    source: str


def source_of(clone: Clone, commit: str) -> str:
    """The commit of the main line behind a build's commit; the commit itself where the clone does not say."""
    if not re.fullmatch("[0-9a-f]{7,40}", commit):
        return commit
    try:
        subject = clone.run("log", "-1", "--no-color", "--format=%s", commit, "--").decode("utf-8", "replace")
    except InputError:  # not in the clone
        return commit
    found = _SUBJECT.search(subject)
    return found[4] if found else commit


def days_of(clone: Clone) -> Mapping[str, Day]:
    """By version, the days of the branch nightly whose tree names a release; the newest commit of a day counts."""
    refs = clone.ask("for-each-ref", "--format=%(objectname)", *_BRANCHES).decode("ascii").split()
    log = ("log", "--stdin", "--fixed-strings", "--grep=nightly release (", "--no-color", "--format=tformat:%H %s")
    lines = clone.run(*log, lines=refs).decode("utf-8", "replace").splitlines() if refs else []
    dated = [(line.partition(" ")[0], found) for line in lines if (found := _SUBJECT.search(line))]
    made: dict[str, Day] = {}
    for (commit, found), release in zip(dated, _releases(clone, [commit for commit, _ in dated]), strict=True):
        if release:
            made.setdefault(f"{release}.dev{found[1]}{found[2]}{found[3]}", Day(commit, found[4]))
    return made


def _releases(clone: Clone, commits: list[str]) -> Iterator[str]:
    """The release that version.txt of each commit names; empty where the clone lacks the file."""
    output = clone.run("cat-file", "--batch", lines=[f"{commit}:version.txt" for commit in commits])
    for _ in commits:
        head, _, output = output.partition(b"\n")
        size = head.rpartition(b" ")[2]
        if not size.isdigit():  # "NAME missing"
            yield ""
            continue
        named = _NUMBER.match(output[: int(size)])
        yield named[0].decode("ascii") if named else ""
        output = output[int(size) + 1 :]
