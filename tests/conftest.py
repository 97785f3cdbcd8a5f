"""Fixtures: scratch databases, the shared data, and stand-in GitHub servers (started once a session)."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

from servers import stand_ins

if TYPE_CHECKING:
    from collections.abc import Iterator

SHARED = Path(__file__).resolve().parent.parent.parent / "shared"
REQUIRE = os.environ.get("EMBERS_REQUIRE_SERVERS") == "1"

# who is started in the background of a script inherits an ignored SIGINT, and so would the programs under test
signal.signal(signal.SIGINT, signal.default_int_handler)
settings.register_profile("embers", deadline=None)
settings.load_profile("embers")
"""A machine that is busy is no defect: time is limited per test by pytest-timeout, not per example."""


def needed(*reasons: str | None) -> None:
    """Skip with the first reason; fail instead where the servers are required (CI)."""
    for reason in reasons:
        if reason:
            if REQUIRE and "beside this checkout" not in reason:
                pytest.fail(reason)
            pytest.skip(reason)


@pytest.fixture(autouse=True)
def _no_outside_settings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No test sees the user's tokens, settings or database."""
    for name in list(os.environ):
        if name.startswith("EMBERS_") and name != "EMBERS_REQUIRE_SERVERS":
            monkeypatch.delenv(name)
    for name in ("GITHUB_TOKEN", "GH_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("EMBERS_DATABASE", str(tmp_path / "default.duckdb"))


@pytest.fixture
def database(tmp_path: Path) -> Path:
    """Path of a database that does not exist yet."""
    return tmp_path / "e.duckdb"


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """Folder of the real data, where it lies beside the checkout."""
    folder = SHARED / "data"
    if not folder.is_dir():
        pytest.skip("the shared data is not beside this checkout")
    return folder


@pytest.fixture(scope="session")
def emulate() -> Iterator[tuple[stand_ins.Emulate, stand_ins.Seeded]]:
    """A stateful GitHub REST server and what it holds: 2,250 issues and 250 pull requests in alice/bugs."""
    needed(stand_ins.node_ready())
    with stand_ins.Emulate() as server:
        yield server, server.seed(2_500)


@pytest.fixture(scope="session")
def recorded() -> Iterator[stand_ins.Recorded]:
    """606 real items of another repository, recorded from GitHub."""
    needed(stand_ins.java_ready(), stand_ins.recorded_reason())
    with stand_ins.Recorded() as server:
        yield server


@pytest.fixture(scope="session")
def faulty() -> Iterator[stand_ins.FaultyGitHub]:
    """A REST server with 400 items behind a proxy that can inject faults."""
    needed(stand_ins.node_ready(), stand_ins.java_ready())
    with stand_ins.FaultyGitHub() as server:
        server.seed(400)
        yield server


@pytest.fixture(scope="session")
def prism() -> Iterator[stand_ins.Prism]:
    """GitHub's OpenAPI document as a server that refuses requests the document does not allow."""
    needed(stand_ins.node_ready(), stand_ins.java_ready())
    with stand_ins.Prism() as server:
        yield server


@pytest.fixture(scope="session")
def graphql_server() -> Iterator[stand_ins.GraphQLStandIn]:
    """GitHub's published GraphQL schema over a synthetic dataset that has long lists of everything."""
    needed(stand_ins.node_ready())
    with stand_ins.GraphQLStandIn(stand_ins.synthetic_dataset(300)) as server:
        yield server


@pytest.fixture(scope="session")
def shared_graphql() -> Iterator[stand_ins.GraphQLStandIn]:
    """GitHub's published GraphQL schema over the real texts."""
    needed(stand_ins.node_ready(), stand_ins.shared_reason())
    with stand_ins.GraphQLStandIn(stand_ins.dataset_from_shared()) as server:
        yield server


@pytest.fixture
def token(tmp_path: Path) -> str:
    """A token that no other test uses: emulate counts 5,000 requests for each."""
    return f"fresh-{tmp_path.parent.name}-{tmp_path.name}"
