"""The builds of a list of places: found, installed where that is wanted, removed after."""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from torch_embers.builds import install
from torch_embers.builds.registry import Build, BuildError, Registry, environment_key, environment_of, environment_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from torch_embers.bisect.places import Place
    from torch_embers.bisect.request import BisectRequest
    from torch_embers.progress import Progress
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
    ) -> None:
        self.registry = Registry(settings.builds_dir)
        self.places = list(places)
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
        return self.places[place].build

    def _instead(self, place: int) -> None:
        """Go on with the next nightly of the same source; a place without one has failed."""
        other = self.places[place].stand_in
        if other is None:
            self._failed.add(place)
        else:
            self.places[place] = other
            self._coming.pop(place, None)

    def environments(self, asked: Iterable[int]) -> list[str]:
        """Where runs of these places were made, in words."""
        builds = [self.places[place].build for place in asked]
        return sorted({environment_text(environment_of(build)) for build in builds if build})

    def environment_keys(self, threads: int) -> list[str]:
        """Of each place the key of where its runs will be made; empty where it has no build yet."""
        builds = [place.build for place in self.places]
        return [environment_key(environment_of(build, threads).items()) if build else "" for build in builds]

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
