"""The builds of a list of places: found, installed where that is wanted, brought to where they run, removed after."""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from torch_embers.builds import install
from torch_embers.builds.registry import Build, BuildError, Registry, environment_key, environment_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from torch_embers.progress import Progress
    from torch_embers.run.bisect.places import Place
    from torch_embers.run.bisect.request import BisectRequest
    from torch_embers.run.dispatch import Dispatcher
    from torch_embers.settings import Settings


class BuildList:
    """The builds of a list of places: finds them, installs what is missing where that is wanted, removes it after.

    What may be asked next is installed while the place before is measured. One thread does all installing, so that
    two installations never stand in each other's way.
    """

    def __init__(
        self,
        settings: Settings,
        places: Sequence[Place],
        request: BisectRequest,
        index: str,
        progress: Progress,
        dispatcher: Dispatcher,
    ) -> None:
        self.registry = Registry(settings.builds_dir)
        self.places = list(places)
        self._dispatcher = dispatcher
        self._where: dict[str, Mapping[str, object]] = {}
        self._nowhere: set[str] = set()
        self._settings, self._request, self._index = settings, request, index
        self._progress = progress
        self._made: dict[str, int] = {}
        self._failed: set[int] = set()
        self._asked: set[int] = set()
        self._pool = ThreadPoolExecutor(max_workers=1, thread_name_prefix="install")
        self._coming: dict[int, Future[Build]] = {}

    def of(self, place: int) -> Build | None:
        """The build of a place; None where there is none and none may be installed."""
        self._asked.add(place)
        while self._missing(place):
            own = self.places[place]
            try:
                self.places[place] = replace(own, build=self._begun(place).result())
            except BuildError as error:
                self._progress.said(f"{own.version} cannot be installed: {error}")
                self._instead(place)
        return self._there(self.places[place].build)

    def _instead(self, place: int) -> None:
        """Go on with the next nightly of the same source; a place without one has failed."""
        other = self.places[place].stand_in
        if other is None:
            self._failed.add(place)
        else:
            self.places[place] = other
            self._coming.pop(place, None)

    def ready(self, place: int) -> Build | None:
        """The build of a place that can be asked at once."""
        build = self.places[place].build
        return build if build is not None and self._placed(build) else None

    def note(self, build: Build, where: Mapping[str, object]) -> None:
        """Take note of where runs of a build were made."""
        self._where[build.identity] = where

    def environments(self, asked: Iterable[int]) -> list[str]:
        """Where runs of these places were made, in words."""
        builds = [self.places[place].build for place in asked]
        return sorted({environment_text(self._where[b.identity]) for b in builds if b and b.identity in self._where})

    def environment_keys(self, threads: int) -> list[str]:
        """Of each place the key of where its runs will be made; empty where that is not known yet."""
        found = [self._placed(place.build) if place.build else None for place in self.places]
        return ["" if where is None else environment_key({**where, "threads": threads}.items()) for where in found]

    def _placed(self, build: Build) -> Mapping[str, object] | None:
        """Where runs of a build are made; None where it would have to be brought there first."""
        if build.identity not in self._where and (found := self._dispatcher.survey([build])):
            self._where[build.identity] = found[0].where
        return self._where.get(build.identity)

    def _there(self, build: Build | None) -> Build | None:
        """The build, brought to where its runs are made; None where it cannot be had there."""
        if build is None or build.identity in self._nowhere:
            return None
        if self._placed(build) is None:
            try:
                self.note(build, self._dispatcher.prepare(build).where)
            except BuildError as error:
                self._nowhere.add(build.identity)
                self._progress.said(str(error))
                return None
        return build

    def prefetch(self, places: Sequence[int]) -> None:
        """Begin to install what may be asked soon, in this order; drop what is no longer likely and has not begun."""
        for place, future in list(self._coming.items()):
            if place not in places and future.cancel():
                del self._coming[place]
        for place in places:
            if self._missing(place):
                self._begun(place)

    def _missing(self, place: int) -> bool:
        own = self.places[place]
        return own.build is None and place not in self._failed and bool(self._request.install or own.addresses)

    def _begun(self, place: int) -> Future[Build]:
        if place not in self._coming:
            self._coming[place] = self._pool.submit(self._installed, place)
        return self._coming[place]

    def _installed(self, place: int) -> Build:
        own = self.places[place]
        with suppress(BuildError):
            return self.registry.find(own.version)
        made = install.add_for(self._settings, own.version, own.addresses, self._index, self._progress)
        self._made[made.name] = place
        return made

    def evict(self) -> None:
        """Remove what was installed here, where that is wanted, and what was installed ahead and never asked."""
        self._pool.shutdown(wait=True, cancel_futures=True)
        for name, place in self._made.items():
            if not self._request.evict and place in self._asked:
                continue
            with suppress(BuildError):
                self.registry.remove(name)
                self._progress.said(f"removed {name}")
