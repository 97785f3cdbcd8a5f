"""Several raylets on this machine, for tests of what is done on the nodes of a cluster."""

from __future__ import annotations

import secrets
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


STARTS = 3
TOKEN = secrets.token_hex(32)
"""One for all clusters of this process: Ray reads it once and then keeps it."""


@contextmanager
def head() -> Iterator[Any]:
    """A head without processors; tests add the nodes that work. Variables that the nodes need are set before."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAY_USAGE_STATS_ENABLED", "0")
        patch.setenv("RAY_worker_niceness", "0")
        patch.setenv("RAY_AUTH_MODE", "token")  # read by Ray when it is imported
        patch.setenv("RAY_AUTH_TOKEN", TOKEN)
        cluster_utils = pytest.importorskip("ray.cluster_utils")
        first = {"num_cpus": 0, "include_dashboard": False}
        made = _started(lambda: cluster_utils.Cluster(initialize_head=True, head_node_args=first))
        yield made
        made.shutdown()


def _started(start: Callable[[], Any]) -> Any:
    """What starts a node, tried again: Ray gives it 30 seconds, which a busy machine may need."""
    for left in reversed(range(STARTS)):
        try:
            return start()
        except Exception as error:
            if not left or "timed out during startup" not in str(error):
                raise
    raise AssertionError


@contextmanager
def nodes_of(cluster: Any, *environments: dict[str, str]) -> Iterator[list[Any]]:
    """Nodes with one processor each, with these variables."""
    added = [_started(partial(cluster.add_node, num_cpus=1, env_vars=environment)) for environment in environments]
    try:
        yield added
    finally:
        for one in added:
            if one in cluster.worker_nodes:
                cluster.remove_node(one, allow_graceful=False)
