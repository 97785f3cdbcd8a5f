"""Prism over GitHub's OpenAPI document: refuses requests that GitHub's own description does not allow."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Self

from servers.openapi import trim
from servers.process import Server
from servers.wiremock import WireMock

if TYPE_CHECKING:
    from servers.wiremock import Json


class PrismServer(Server):
    """One Prism process: mock, or validating proxy when ``upstream`` is given."""

    name = "prism"
    ready_path = "/zen"

    def __init__(self, upstream: str | None = None) -> None:
        """``upstream``: base address that good requests are sent on to; bad ones get 422."""
        super().__init__()
        self.upstream = upstream
        self.advertised_url: str | None = None

    def prepare(self) -> None:
        """Write the trimmed document."""
        trim(self.directory / "github.json", self.advertised_url or self.url)

    def command(self) -> list[str]:
        """Return the Node command line."""
        document = str(self.directory / "github.json")
        place = ["--host", "127.0.0.1", "--port", str(self.port)]
        base = ["node", "node_modules/@stoplight/prism-cli/dist/index.js"]
        if self.upstream is None:
            # Not with --errors: Prism would refuse the document's own examples.
            return [*base, "mock", *place, document]
        return [*base, "proxy", "--errors", *place, document, self.upstream]


class Prism:
    """GitHub's OpenAPI on Prism, behind a WireMock that turns PyGithub's old preview media types into JSON.

    A request against the document is answered 422 with the reason; ``violations()`` lists those of this run.
    A list holds one example item whatever the filters say.
    """

    def __init__(self) -> None:
        self.front = WireMock()
        self.prism = PrismServer()

    @property
    def url(self) -> str:
        """Base address for clients."""
        return self.front.url

    def start(self) -> Self:
        """Start both processes; raises StandInError when one does not start."""
        self.front.start()
        try:
            self.prism.advertised_url = self.front.url
            self.prism.start()
            self.front.add(
                {
                    "priority": 10,
                    "request": {"method": "ANY", "urlPattern": ".*"},
                    "response": {
                        "proxyBaseUrl": self.prism.url,
                        "additionalProxyRequestHeaders": {"Accept": "application/json"},
                    },
                }
            )
        except BaseException:
            self.stop()
            raise
        return self

    def stop(self) -> None:
        """Stop both processes."""
        self.prism.stop()
        self.front.stop()

    def violations(self) -> list[str]:
        """Return ``METHOD url: reason`` for each request that broke the contract, oldest first."""
        entries: list[Json] = self.front.admin("GET", "requests")["requests"]
        return [
            f"{entry['request']['method']} {entry['request']['url']}: {_reason(entry['response'])}"
            for entry in reversed(entries)
            if entry["response"]["status"] == 422
        ]

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_exc: object) -> None:
        self.stop()


def _reason(response: Json) -> str:
    headers = {name.lower(): value for name, value in response.get("headers", {}).items()}
    problems = json.loads(headers.get("sl-violations", "[]"))
    return "; ".join(problem["message"] for problem in problems) or "422 without a reason"


def validating_proxy(upstream: str) -> PrismServer:
    """Return a Prism (not yet started) that lets only requests of GitHub's description through to ``upstream``."""
    return PrismServer(upstream)
