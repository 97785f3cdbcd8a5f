"""Bisections, hunts and embedding on the nodes of a Ray cluster: what one machine finds, whoever dies meanwhile."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from torch_embers.classify.embedding.embedder import Embedder
from torch_embers.run.cluster import embedding as far_embedding
from torch_embers.run.cluster.embedding import ClusterEmbedder
from torch_embers.run.cluster.worker import Done

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import pytest

    from torch_embers.classify.embedding.embedder import Vectors


class Near(Embedder):
    """A vector that says how long the text is."""

    model_id, dim = "near@0/none", 2

    def _encode(self, texts: Sequence[str]) -> Vectors:
        return np.array([[1.0, len(text)] for text in texts], np.float32).reshape(-1, 2)


class Backwards:
    """A crew that does all jobs, the last first."""

    def work(self, jobs: Any, *, lazily: bool) -> Iterator[tuple[Any, Done]]:
        assert lazily
        for job in reversed(list(jobs)):
            yield job, Done("here", Near().encode(job.texts))


def test_batches_come_in_order_however_their_parts_come(monkeypatch: pytest.MonkeyPatch) -> None:
    small = far_embedding.limits().model_copy(update={"texts": 2})
    monkeypatch.setattr(far_embedding, "limits", lambda: small)
    batches = [[], ["a", "bb", "ccc", "dddd", "eeeee"], [], ["ffffff"], []]
    crew: Any = Backwards()
    found = list(ClusterEmbedder(Near(), crew).encode_many(batches))
    assert [len(one) for one in found] == [len(batch) for batch in batches]
    for one, batch in zip(found, batches, strict=True):
        assert np.array_equal(one, Near().encode(batch))
