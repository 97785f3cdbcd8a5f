"""One mine as a whole: however it ends, what is stored is linked, and the reason comes out."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pyarrow as pa

from torch_embers.mine import runner
from torch_embers.store.writer import Prepared

if TYPE_CHECKING:
    from collections.abc import Iterator


def test_small_batches_that_come_soon_are_written_together() -> None:
    def slowly() -> Iterator[Prepared]:
        for number in range(1, 4):
            yield Prepared({"items": [pa.table({"number": [number]})]})
            time.sleep(0.05)

    [together] = runner.ahead(slowly())
    assert together.size() == 3
