"""The list that a bisection searches: releases or nightlies in order, with their builds."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from packaging.version import InvalidVersion, Version

from torch_embers.builds import install
from torch_embers.builds.registry import CURRENT, Build, BuildError, Registry, environment_of, environment_text

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from torch_embers.bisect.request import BisectRequest
    from torch_embers.progress import Progress
    from torch_embers.settings import Settings


@dataclass(frozen=True, slots=True)
class Place:
    """One build of the list.

    Attributes:
        version: its public version, as people name it.
        build: the installed build; None where there is none.
        addresses: of a nightly, where its wheel may be: a file, or addresses of which the first that answers counts.
        commit: commit that it was built from, where that is known before it is installed.
    """

    version: str
    build: Build | None = None
    addresses: tuple[str, ...] = ()
    commit: str = ""

    @property
    def commit_known(self) -> str:
        """The commit, as the build or the clone says."""
        return self.build.git_commit if self.build is not None else self.commit


def releases(installed: Sequence[Build], known: Collection[str] = ()) -> list[Place]:
    """The installed releases and those of which something is known, oldest first, one build for each.

    A nightly or a local build stands in no order among releases and is left out, and so is the torch of this
    environment where its release is registered beside it.
    """
    own: dict[str, Build] = {}
    for build in sorted(installed, key=lambda b: (b.name != CURRENT, b.used_at)):
        if build.channel == "release":
            own[build.public_version] = build
    versions = {text for text in (*own, *known) if _is_release(text)}
    return [Place(version, own.get(version)) for version in sorted(versions, key=Version)]


def _is_release(text: str) -> bool:
    try:
        return not Version(text).is_devrelease
    except InvalidVersion:
        return False


def place_of(places: Sequence[Place], version: str) -> int:
    """Where a version stands in the list.

    Raises:
        BuildError: nowhere; the message names those there are.
    """
    for position, place in enumerate(places):
        names = (place.build.name, place.build.version) if place.build else ()
        if version in (place.version, *names):
            return position
    known = ", ".join(place.version for place in places) or "none"
    raise BuildError(f"no build {version!r} to search: there are {known} (`embers builds add {version}` adds one)")


class BuildList:
    """The builds of a list of places: finds them, installs what is missing where that is wanted, removes it after.

    Args:
        index: of nightlies, for what their wheels need.
    """

    def __init__(
        self, settings: Settings, places: Sequence[Place], request: BisectRequest, index: str, progress: Progress
    ) -> None:
        self.registry = Registry(settings.builds_dir)
        self.places = list(places)
        self._settings, self._request, self._index = settings, request, index
        self._progress = progress
        self._made: list[str] = []
        self._failed: set[int] = set()

    def of(self, place: int) -> Build | None:
        """The build of a place; None where there is none and none may, or can, be installed."""
        own = self.places[place]
        if own.build is None and place not in self._failed and (self._request.install or own.addresses):
            try:
                self.places[place] = replace(own, build=self._installed(own))
            except BuildError as error:
                self._progress.said(f"{own.version} cannot be installed: {error}")
                self._failed.add(place)
        return self.places[place].build

    def _installed(self, own: Place) -> Build:
        with suppress(BuildError):
            return self.registry.find(own.version)
        made = install.add_for(self._settings, own.version, own.addresses, self._index, self._progress)
        self._made.append(made.name)
        return made

    def environments(self, asked: Iterable[int]) -> list[str]:
        """Where runs of these places were made, in words."""
        builds = [self.places[place].build for place in asked]
        return sorted({environment_text(environment_of(build)) for build in builds if build})

    def evict(self) -> None:
        """Remove what was installed here, where that is wanted."""
        for name in self._made if self._request.evict else ():
            with suppress(BuildError):  # in use elsewhere: it stays
                self.registry.remove(name)
                self._progress.said(f"removed {name}")
