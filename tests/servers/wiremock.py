"""WireMock: recorded GitHub answers, and faults in front of a stateful server."""

from __future__ import annotations

import json
import shutil
import tomllib
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Self, cast

from servers.emulate import Emulate
from servers.install import HERE, wiremock_jar
from servers.process import Server, StandInError, http_call

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from servers.emulate import Seeded

Json = dict[str, Any]

SHARED = HERE.parents[2] / "shared"
"""Reference material beside the checkout; not part of the project and absent on most machines."""
RECORDED = SHARED / "github-api" / "wiremock-recorded"
RECORDED_REPO = "hub4j/github-api"
RECORDED_HOST = "http://127.0.0.1:8089"
"""The address that the recordings carry in their links."""
FAULTS: Mapping[str, Json] = tomllib.loads((HERE / "faults.toml").read_text("utf-8"))
"""The faults by name, see faults.toml."""
ISSUE_LIST = r"/repos/[^/]+/[^/]+/issues|/repositories/\d+/issues"
OVERLAP_SECONDS = 2
"""A careful miner asks again for the last second before its cursor."""
JAVA_FLAGS = ("-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto")
"""Short start and little memory matter more here than peak speed."""


class WireMock(Server):
    """WireMock with the stubs of any number of mapping directories; more can be added while it runs."""

    name = "wiremock"
    ready_path = "/__admin/health"

    def __init__(self, mappings_dirs: Sequence[Path] = (), files_dirs: Sequence[Path] = ()) -> None:
        """Copy stubs and bodies on start; addresses of RECORDED_HOST in them become this server's own."""
        super().__init__()
        self.mappings_dirs = tuple(mappings_dirs)
        self.files_dirs = tuple(files_dirs)

    def prepare(self) -> None:
        """Lay out WireMock's root directory."""
        for target, sources in (("mappings", self.mappings_dirs), ("__files", self.files_dirs)):
            (self.directory / target).mkdir(exist_ok=True)
            for source in sources:
                self._copy(source, self.directory / target)

    def command(self) -> list[str]:
        """Return the Java command line."""
        # Without --disable-gzip an answer that is shorter than announced gets repaired on its way out.
        flags = ["--preserve-host-header", "--disable-gzip", "--disable-banner", "--bind-address", "127.0.0.1"]
        jar = str(wiremock_jar())
        place = ["--port", str(self.port), "--root-dir", str(self.directory)]
        return ["java", *JAVA_FLAGS, "-jar", jar, *place, *flags]

    def add(self, stub: Json) -> str:
        """Add one stub mapping; return its id."""
        return str(self.admin("POST", "mappings", stub)["id"])

    def requests(self) -> list[Json]:
        """Return the requests received so far, oldest first (``method``, ``url``, ``headers``, ...)."""
        journal = self.admin("GET", "requests")["requests"]
        return [cast("Json", entry["request"]) for entry in reversed(journal)]

    def forget_requests(self) -> None:
        """Empty the journal."""
        self.admin("DELETE", "requests")

    def admin(self, method: str, path: str, payload: Json | None = None) -> Json:
        """Call WireMock's admin API. Raises StandInError when it refuses."""
        body = None if payload is None else json.dumps(payload).encode()
        headers = {"Content-Type": "application/json"}
        status, answer = http_call(f"{self.url}/__admin/{path}", method, body, headers)
        if status >= 400:
            raise StandInError(f"wiremock {method} {path}: {status} {answer[:500]!r}")
        return cast("Json", json.loads(answer)) if answer else {}

    def _copy(self, source: Path, target: Path) -> None:
        for path in sorted(source.rglob("*")):
            if path.is_dir():
                continue
            copy = target / path.relative_to(source)
            copy.parent.mkdir(parents=True, exist_ok=True)
            if path.suffix == ".json":
                copy.write_bytes(self.rewrite(path.read_bytes()))
            else:
                shutil.copyfile(path, copy)

    def rewrite(self, text: bytes) -> bytes:
        """Change a stub or body on its way in; here: point recorded addresses at this server."""
        return text.replace(RECORDED_HOST.encode(), self.url.encode())


class Recorded(WireMock):
    """The 606 recorded real items (243 issues, 363 pull requests) of ``hub4j/github-api``, in 21 pages.

    The recordings match any ``state`` here, because the recorded items are all the server has: 606 closed ones.
    A request with ``since`` gets the items updated at or after it where that is the newest second, and else the
    whole list, as a superset.
    """

    name = "wiremock-recorded"

    def __init__(self, root: Path = RECORDED) -> None:
        """Serve the recordings under ``root``; see ``recorded_reason`` for whether they are there."""
        super().__init__([root / "mappings"], [root / "__files"])

    def rewrite(self, text: bytes) -> bytes:
        """Point addresses here and drop the ``state`` matcher of the request side."""
        text = super().rewrite(text)
        if not text.startswith(b"{"):
            return text
        stub = json.loads(text)
        query = stub.get("request", {}).get("queryParameters", {})
        if query.get("state") is None:
            return text
        del query["state"]
        return json.dumps(stub).encode()

    def started(self) -> None:
        """Add the answer to "what changed since the end"."""
        items = self.items()
        newest = max(item["updated_at"] for item in items)
        last = [item for item in items if item["updated_at"] == newest]
        path = f"/repos/{RECORDED_REPO}/issues"
        self.add(
            {
                "priority": 1,
                "request": {
                    "method": "GET",
                    "urlPathPattern": f"{path}|/repositories/\\d+/issues",
                    "queryParameters": {"since": {"after": _earlier(newest, OVERLAP_SECONDS)}},
                },
                "response": {
                    "status": 200,
                    "headers": {"Content-Type": "application/json; charset=utf-8"},
                    "jsonBody": last,
                },
            }
        )

    def items(self) -> list[Json]:
        """Return the recorded items as GitHub sent them, addresses rewritten."""
        found: list[Json] = []
        for page in sorted((self.directory / "__files" / "AppTest.testListIssues").glob("*issues.json")):
            found.extend(json.loads(page.read_bytes()))
        return found


def _earlier(moment: str, seconds: int) -> str:
    value = datetime.fromisoformat(moment) - timedelta(seconds=seconds)
    return value.isoformat().replace("+00:00", "Z")


def recorded_reason(root: Path = RECORDED) -> str | None:
    """Return why the recordings cannot be served, or ``None``."""
    return None if (root / "mappings").is_dir() else "the recorded answers are not beside this checkout"


class FaultProxy(WireMock):
    """WireMock in front of an Emulate that advertises this proxy; one armed fault at a time.

    Start the proxy, then an ``Emulate(advertised_url=proxy.url)``, then ``attach`` it; or use ``fault_proxy``.
    """

    name = "wiremock-faults"

    def __init__(self) -> None:
        super().__init__()
        self._armed: list[str] = []
        self._repo_id = 0
        self._target = ""

    def attach(self, emulate: Emulate, repo: str = "alice/bugs") -> None:
        """Send everything on to ``emulate``; ``/repositories/ID`` becomes another address of ``repo``."""
        self._target = emulate.url
        everything = {"method": "ANY", "urlPattern": ".*"}
        self.add({"priority": 10, "request": everything, "response": {"proxyBaseUrl": emulate.url}})
        status, answer = http_call(f"{emulate.url}/repos/{repo}")
        if status != 200:
            raise StandInError(f"{repo}: {status} {answer[:200]!r}")
        self._repo_id = json.loads(answer)["id"]
        by_id = f"/repositories/{self._repo_id}"
        self.add(
            {
                "priority": 9,
                "request": {"method": "ANY", "urlPattern": f"{by_id}([/?].*)?"},
                "response": {
                    "proxyBaseUrl": f"{emulate.url}/repos/{repo}",
                    "proxyUrlPrefixToRemove": by_id,
                },
            }
        )

    def arm(
        self,
        fault: str,
        page: int = 2,
        times: int | None = None,
        delay_ms: int | None = None,
        query: Json | None = None,
    ) -> None:
        """Let the next ``times`` requests for ``page`` of the issue list meet ``fault`` (a name of FAULTS).

        ``page=1`` also meets the first request, which has no page number. ``delay_ms`` replaces the delay of
        ``slow_timeout``. ``query`` (WireMock's matchers by parameter) chooses the requests by other parameters than
        the page number. A fault that was armed before is removed. Raises KeyError for an unknown name.
        """
        entry = FAULTS[fault]
        self.disarm()
        if query is None:
            number: Json = {"equalTo": str(page)}
            query = {"page": {"or": [{"absent": True}, number]} if page == 1 else number}
        response = self._response(entry, delay_ms)
        count = times if times is not None else int(entry.get("times", 1))
        for k in range(count):
            self._armed.append(self.add(_fault_stub(fault, query, k, response)))
        self.admin("POST", "scenarios/reset")

    def disarm(self) -> None:
        """Let everything pass again."""
        for stub in self._armed:
            self.admin("DELETE", f"mappings/{stub}")
        self._armed.clear()

    def hits(self) -> int:
        """Return how many requests the armed fault has answered."""
        entries = self.admin("GET", "requests")["requests"]
        return sum(entry.get("stubMapping", {}).get("id") in self._armed for entry in entries)

    def _response(self, entry: Json, delay_ms: int | None) -> Json:
        response: Json = json.loads(
            json.dumps(entry["response"]).replace("ADVERTISED", self.url).replace("REPO_ID", str(self._repo_id))
        )
        if entry.get("proxy"):
            response["proxyBaseUrl"] = self._target
        if delay_ms is not None:
            response["fixedDelayMilliseconds"] = delay_ms
        return response


def _fault_stub(fault: str, query: Json, step: int, response: Json) -> Json:
    return {
        "priority": 1,
        "scenarioName": fault,
        "requiredScenarioState": "Started" if step == 0 else f"answered {step}",
        "newScenarioState": f"answered {step + 1}",
        "request": {"method": "GET", "urlPathPattern": ISSUE_LIST, "queryParameters": query},
        "response": response,
    }


class FaultyGitHub:
    """A FaultProxy and the Emulate behind it, started and stopped together."""

    def __init__(self) -> None:
        self.proxy = FaultProxy()
        self.emulate = Emulate()

    @property
    def url(self) -> str:
        """Address of the proxy: the only one that a client should know."""
        return self.proxy.url

    def start(self) -> Self:
        """Start both; raises StandInError when one does not start."""
        self.proxy.start()
        try:
            self.emulate.advertised_url = self.proxy.url
            self.emulate.start()
            self.proxy.attach(self.emulate)
        except BaseException:
            self.stop()
            raise
        return self

    def stop(self) -> None:
        """Stop both."""
        self.emulate.stop()
        self.proxy.stop()

    def seed(self, n: int, repo: str = "alice/bugs") -> Seeded:
        """Write ``n`` items past the proxy, so that its journal holds only the client's requests."""
        return self.emulate.seed(n, repo)

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_exc: object) -> None:
        self.stop()
