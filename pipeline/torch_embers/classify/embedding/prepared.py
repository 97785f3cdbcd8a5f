"""Graphs that were prepared for this machine, kept in a folder each; may be deleted at any time.

A graph is kept only where it agrees with sentence-transformers on some probes, and used only while its files are the
ones that were kept.
"""

from __future__ import annotations

import json
import shutil
import tempfile
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import platformdirs

from torch_embers.classify.embedding.graph import GRAPH_FORMAT, build_graph
from torch_embers.classify.embedding.packages import need
from torch_embers.classify.embedding.weights import WEIGHTS, sha256
from torch_embers.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch_embers.classify.embedding.graph import Bert

GRAPH, TOKENS, ABOUT = "graph.onnx", "tokenizer.json", "about.json"
MIN_COSINE = 0.97
"""Least agreement with sentence-transformers on the probes; on real issues it was 0.984 at worst, 0.994 on average."""


@dataclass(frozen=True, slots=True)
class Prepared:
    """What stands beside a prepared graph."""

    format: int
    model_id: str
    dim: int
    max_tokens: int
    least_cosine: float
    graph_sha256: str
    tokens_sha256: str


def default_cache() -> Path:
    """Where prepared graphs are kept; may be deleted at any time."""
    return Path(platformdirs.user_cache_dir("embers")) / "embedders"


def find(place: Path) -> Prepared | None:
    """A graph that was prepared before; ``None`` where it is missing, damaged or of another release."""
    try:
        about = Prepared(**json.loads((place / ABOUT).read_text(encoding="utf-8")))
        whole = about.format == GRAPH_FORMAT and (sha256(place / GRAPH), sha256(place / TOKENS)) == (
            about.graph_sha256,
            about.tokens_sha256,
        )
    except (OSError, ValueError, TypeError, RecursionError):
        return None
    return about if whole else None


def prepare(
    folder: Path, bert: Bert, model_id: str, place: Path, agreement: Callable[[Path], float]
) -> Prepared | None:
    """Make the graph of the model in ``folder`` and keep it in ``place``.

    ``agreement`` gives the least cosine between vectors of a graph and those of sentence-transformers; with 8 bits
    first, then with floats. ``None`` where neither agrees, or the weights are not those of such a model.

    Raises:
        InputError: ``place`` cannot be written.
    """
    try:
        weights = need("safetensors.numpy").load_file(folder / WEIGHTS)
        graphs = {kind: build_graph(bert, weights, quantised=kind == "int8") for kind in ("int8", "float32")}
    except (KeyError, OSError, ValueError):
        return None
    for kind, graph in graphs.items():
        made = _scratch(place.parent)
        try:
            (made / GRAPH).write_bytes(graph)
            shutil.copyfile(folder / TOKENS, made / TOKENS)
            least = agreement(made)
            if least >= MIN_COSINE:
                about = _about(made, bert, f"{model_id}/{kind}-{GRAPH_FORMAT}", least)
                (made / ABOUT).write_text(json.dumps(asdict(about), indent=1), encoding="utf-8")
                _put(made, place)
                return find(place)
        except OSError as error:
            raise InputError(f"the prepared model cannot be kept in {place}: {error.strerror}") from error
        finally:
            shutil.rmtree(made, ignore_errors=True)
    return None


def _scratch(folder: Path) -> Path:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        return Path(tempfile.mkdtemp(prefix=".making-", dir=folder))
    except OSError as error:
        raise InputError(
            f"the prepared model cannot be kept in {folder} ({error.strerror}): "
            "set XDG_CACHE_HOME to a folder that can be written"
        ) from error


def _about(made: Path, bert: Bert, model_id: str, least: float) -> Prepared:
    return Prepared(
        format=GRAPH_FORMAT,
        model_id=model_id,
        dim=bert.width,
        max_tokens=bert.max_tokens,
        least_cosine=round(least, 6),
        graph_sha256=sha256(made / GRAPH),
        tokens_sha256=sha256(made / TOKENS),
    )


def _put(made: Path, place: Path) -> None:
    """Move a finished folder into place; what another process put there meanwhile is as good."""
    with suppress(OSError):
        made.rename(place)
        return
    old = Path(tempfile.mkdtemp(prefix=".old-", dir=place.parent))
    with suppress(OSError):
        place.rename(old / "old")
        made.rename(place)
    shutil.rmtree(old, ignore_errors=True)
