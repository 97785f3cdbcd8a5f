"""GitHub servers for tests, written by others and started here; one import for all of them.

Ask ``node_ready()`` (``java_ready()`` for WireMock and Prism) for a reason to skip first. Each class has ``start()``
and ``stop()`` for session fixtures and is a context manager; ``url`` is the base address for PyGithub.
"""

from __future__ import annotations

from servers.dataset import Dataset, dataset_from_shared, shared_reason, synthetic_dataset
from servers.emulate import Emulate, Seeded, SeededItem
from servers.graphql import GraphQLStandIn, validate_queries
from servers.install import java_ready, node_ready
from servers.prism import Prism, PrismServer, validating_proxy
from servers.process import Server, StandInError
from servers.wiremock import FAULTS, FaultProxy, FaultyGitHub, Recorded, WireMock, recorded_reason

__all__ = [
    "FAULTS",
    "Dataset",
    "Emulate",
    "FaultProxy",
    "FaultyGitHub",
    "GraphQLStandIn",
    "Prism",
    "PrismServer",
    "Recorded",
    "Seeded",
    "SeededItem",
    "Server",
    "StandInError",
    "WireMock",
    "dataset_from_shared",
    "java_ready",
    "node_ready",
    "recorded_reason",
    "shared_reason",
    "synthetic_dataset",
    "validate_queries",
    "validating_proxy",
]
