"""What the tests in test_cluster.py share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

import raylets
from support import case_of, case_text, fake_python
from torch_embers.builds.registry import Registry
from torch_embers.progress import Silent
from torch_embers.repro import bank
from torch_embers.repro.case import parse
from torch_embers.run.executor import Executor, SweepRequest
from torch_embers.run.where import Where, opened

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from torch_embers.repro.case import Case
    from torch_embers.store.store import Store

BAD, GOOD = "2.0.1", "2.1.2"


# ---- what a node does ----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Two builds, 2.0.1 and 2.1.2, in the registry that nodes look into, too."""
    folder = tmp_path_factory.mktemp("builds")
    registry = Registry(folder / "registry")
    for version in (BAD, GOOD):
        registry.register(fake_python(folder / version, version))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("EMBERS_BUILDS_DIR", str(registry.folder))
        yield folder


@pytest.fixture
def registry(home: Path) -> Registry:
    return Registry(home / "registry")


FIXED = """
import os
import sys
import time
import torch

time.sleep({sleep})
bad = torch.__version__ == "2.0.1" or os.environ.get("EMBERS_PLANT") == "1"
print("off by {number}" if bad else "equal")
sys.exit(1 if bad else 0)
"""


def cases(count: int = 3, sleep: float = 0.0) -> list[Case]:
    """Cases whose bug is in 2.0.1 alone."""
    return [
        case_of(FIXED.format(number=number, sleep=sleep), f"pt{number}_example", known_bad=[BAD])
        for number in range(count)
    ]


def hostile() -> Case:
    code = "import torch\nif torch.__version__ == '2.0.1':\n    raise ValueError('reported')\n"
    return parse(case_text(code, signature="ValueError: reported", oracle="exception"), "x1", "extracted")


# ---- a cluster of raylets on this machine --------------------------------------------------------------------------


@pytest.fixture(scope="module")
def cluster(home: Path) -> Iterator[Any]:
    """Its nodes find the builds of ``home``."""
    with raylets.head() as made:
        yield made


def sweep(
    store: Store, registry: Registry, wanted: Sequence[Case], where: Where, progress: Any = None
) -> Iterator[Any]:
    builds = [registry.find(version) for version in (BAD, GOOD)]
    progress = progress or Silent()
    with opened(where, registry, progress, jobs=1) as dispatcher, store.writer("test", create=True) as writer:
        with writer.transaction() as connection:
            bank.save(connection, wanted)
        executor = Executor(store, writer, dispatcher, progress)
        yield from executor.sweep(SweepRequest(wanted, builds, builds))
