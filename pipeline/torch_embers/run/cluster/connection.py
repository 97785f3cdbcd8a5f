"""The connection to Ray: a cluster that is there, or a Ray of embers' own on this machine that ends with the block."""

from __future__ import annotations

import os
import secrets
import socket
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING

from torch_embers.errors import ClusterError
from torch_embers.run.cluster.limits import limits

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

DEFAULTS = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_worker_niceness": "0"}
"""Ray reports its use to its makers unless it is told not to, and gives its workers the niceness 15, with which runs
wait for a processor on a busy machine. A variable that the user has set stays."""
LOOPBACK = {"RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0"}
"""With this a Ray of our own listens on the loopback address alone. Ray reads it when it is imported: it keeps Ray to
one machine where it supports no cluster, and is the only way to tell it so; an address given to it is replaced."""
MODE, TOKEN = "RAY_AUTH_MODE", "RAY_AUTH_TOKEN"


@contextmanager
def connected(address: str | None, cpus: int, builds: Path) -> Iterator[None]:
    """Be connected while the block runs.

    Args:
        address: HOST:PORT of a cluster or ``auto``; None for a Ray of our own, which asks for a random token and
            listens on the loopback address alone, unless this process has imported Ray before.
        cpus: of a Ray of our own.
        builds: where the builds of a Ray of our own are kept.

    Raises:
        ClusterError: nothing answers there, or Ray cannot be started.
    """
    for name, value in DEFAULTS.items():
        os.environ.setdefault(name, value)
    own = {"EMBERS_BUILDS_DIR": str(builds.absolute())} if address is None else {}
    if address is None:
        own |= LOOPBACK | {TOKEN: os.environ.get(TOKEN) or own_token()}  # Ray asks for it where there is one
    kept = {name: os.environ.get(name) for name in (*own, MODE)}
    os.environ.update(own)
    import ray

    try:
        _connect(address, cpus)
        yield
    finally:
        ray.shutdown()
        for name, before in kept.items():
            os.environ.pop(name, None)
            if before is not None:
                os.environ[name] = before


@cache
def own_token() -> str:
    """A random token, one for all Rays of this process: Ray reads it once and then keeps it."""
    return secrets.token_hex(32)


def _answers(address: str) -> None:
    """Look whether anybody listens there: Ray itself tries for many minutes.

    Raises:
        OSError: nobody does.
    """
    host, colon, port = address.rpartition(":")
    if colon and port.isdecimal() and "/" not in host:
        socket.create_connection((host.strip("[]"), int(port)), limits().answer_seconds).close()


def _connect(address: str | None, cpus: int) -> None:
    import ray

    common = {"logging_level": "ERROR", "log_to_driver": False}
    try:
        if address is None:
            ray.init(
                address="local",
                num_cpus=cpus,
                include_dashboard=False,
                object_store_memory=limits().object_store,
                **common,
            )
        else:
            _answers(address)
            ray.init(address=address, **common)
    except Exception as error:  # Ray raises a bare one where its node is slow to start
        first = (str(error).strip().splitlines() or [type(error).__name__])[0]
        where = f"no Ray cluster at {address} can be used" if address else "Ray cannot be started here"
        advice = "`ray start --head` starts one, see docs/howto/cluster.md"
        raise ClusterError(f"{where}: {first[:300]} ({advice})") from error
