"""Embedding on the nodes of a Ray cluster: texts out, vectors back. What is kept where, the caller knows.

A node loads the encoder itself, from its own installation, and refuses where it is another one than the driver's: its
name holds the digest of its weights. So equal names mean equal bytes; to be embedded a text needs nothing but itself.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from torch_embers import packages
from torch_embers.classify.embedding.embedder import Embedder
from torch_embers.errors import InputError
from torch_embers.run.cluster.jobs import Asked, Job, asked
from torch_embers.run.cluster.limits import limits
from torch_embers.run.cluster.worker import RefusedError, code_here

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from torch_embers.classify.embedding.embedder import Vectors
    from torch_embers.run.cluster.crew import Crew
    from torch_embers.run.cluster.limits import Limits
    from torch_embers.run.cluster.nodes import Node


@dataclass(frozen=True, slots=True)
class Encode:
    """Texts to embed.

    Attributes:
        model: name of the encoder, with the digest of its weights.
    """

    code: str
    model: str
    texts: tuple[str, ...]

    def make(self, lines: list[str]) -> tuple[Vectors, Mapping[str, object]]:
        """The vectors, float32 [texts, dim]."""
        del lines
        try:
            embedder = _encoder(self.model)
        except InputError as error:
            raise RefusedError("encoder", str(error)) from error
        if embedder.model_id != self.model:
            raise RefusedError("encoder", f"its encoder is {embedder.model_id}, not {self.model}: install the same")
        return embedder.encode(self.texts), {}


@cache
def _encoder(model: str) -> Embedder:
    """The encoder of this node, for all tasks of a process."""
    packages.require("classify", "embedding needs")
    from torch_embers.classify.embedding.embed import load_matching

    return load_matching(model, threads=1)


@dataclass(slots=True)
class Texts(Job):
    """Some texts of a batch, embedded by one task.

    Attributes:
        batch: its number.
        part: its number among the parts of the batch.
    """

    batch: int
    part: int
    texts: Sequence[str]
    model: str

    @property
    def kinds(self) -> tuple[tuple[str, str], ...]:
        """Code and encoder."""
        return ("code", ""), ("encoder", self.model)

    @property
    def size(self) -> int:
        """Texts."""
        return len(self.texts)

    def asks(self, nodes: Sequence[Node], limits: Limits) -> Asked:
        """One processor."""
        return asked(nodes, 1, limits.memory)

    def task(self) -> Encode | None:
        """All texts, once."""
        return None if self.turn else Encode(code_here(), self.model, tuple(self.texts))


class ClusterEmbedder(Embedder):
    """Embeds many texts on the nodes of a cluster, and a few at once here.

    Args:
        own: the same embedder on this machine.
        crew: the nodes.
    """

    def __init__(self, own: Embedder, crew: Crew) -> None:
        self.model_id, self.dim = own.model_id, own.dim
        self._own, self._crew = own, crew

    def _encode(self, texts: Sequence[str]) -> Vectors:
        return self._own.encode(texts)

    def encode_many(self, batches: Iterable[Sequence[str]]) -> Iterator[Vectors]:
        """Embed batches on all nodes at once; in order, and no more of them ahead than keep the nodes busy.

        Raises:
            ClusterError: no node can do it.
        """
        parts: list[int] = []
        came: dict[int, dict[int, Vectors]] = defaultdict(dict)
        given = 0

        def jobs() -> Iterator[Texts]:
            for texts in batches:
                size = limits().texts
                starts = range(0, len(texts), size)
                parts.append(len(starts))
                number = len(parts) - 1
                for part, at in enumerate(starts):
                    yield Texts(number, part, texts[at : at + size], self.model_id)

        def ready() -> Iterator[Vectors]:
            nonlocal given
            while given < len(parts) and len(came[given]) == parts[given]:
                own = came.pop(given)
                given += 1
                yield np.concatenate([np.empty((0, self.dim), np.float32), *(own[part] for part in sorted(own))])

        for job, done in self._crew.work(jobs(), lazily=True):
            came[job.batch][job.part] = done.made
            yield from ready()
        yield from ready()
