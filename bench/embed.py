"""Measure ways to embed the same texts: `python bench/embed.py --texts FILE.csv.gz [--rows 752] [--threads 2]`.

The file needs the columns Title, Body and class (the mhnurf data has them). Every way gets the same texts, cut at the model's
own 256 tokens, with nothing cached; loading is not counted. Rounds go through all ways in turn, so that a busy machine hits
all of them; the best round counts, in texts per second and in texts per second of processor time. Agreement is with
plain `SentenceTransformer.encode(list)`: the least cosine of a text's two vectors, and the largest change of the cosine between
two texts. Macro-F1 is that of a logistic regression on the vectors alone, mean of the data's 30 splits.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score
from sklearn.model_selection import train_test_split

from torch_embers.classify.embedding import graph, onnx_embedder, torch_embedder, weights
from torch_embers.classify.embedding.embed import usable_cores
from torch_embers.classify.text import model_text

if TYPE_CHECKING:
    from collections.abc import Callable

SPLITS = 30
PLAIN = "plain encode(list), float32"


@dataclass
class Way:
    """One way to embed, and how it did."""

    name: str
    encode: Callable[[list[str]], Any]
    wall: float = float("inf")
    cpu: float = float("inf")
    vectors: Any = None


def load(path: Path, rows: int | None) -> pd.DataFrame:
    """Texts and classes; the shuffling of the published protocol."""
    frame = pd.read_csv(path).sample(frac=1, random_state=999)
    body = frame["Body"].fillna("")
    frame["text"] = [model_text(str(t), str(b)) for t, b in zip(frame["Title"], body, strict=True)]
    return frame.head(rows) if rows else frame


def torch_ways(folder: Path, threads: int) -> list[Way]:
    """What sentence-transformers and torch offer without another runtime."""
    import torch
    from sentence_transformers import SentenceTransformer

    torch.set_num_threads(threads)
    quiet: dict[str, Any] = {"show_progress_bar": False}
    plain = SentenceTransformer(str(folder), device="cpu")
    half = SentenceTransformer(str(folder), device="cpu", model_kwargs={"torch_dtype": torch.bfloat16})
    eight = SentenceTransformer(str(folder), device="cpu")
    # by name, as newer releases of torch warn of its removal or have removed it
    quantize = getattr(getattr(torch.ao, "quantization", None), "quantize_dynamic", None)
    grouped = torch_embedder.TorchEmbedder(plain, "grouped")
    ways = [
        Way(PLAIN, lambda texts: plain.encode(texts, **quiet)),
        Way("batches by length and tokens, float32", grouped.encode),
        Way("plain, bfloat16", lambda texts: half.encode(texts, **quiet)),
    ]
    if quantize:
        quantize(eight, {torch.nn.Linear}, dtype=torch.qint8, inplace=True)
        ways.append(Way("plain, torch dynamic int8", lambda texts: eight.encode(texts, **quiet)))
    return ways


def graph_ways(folder: Path, work: Path, threads: int) -> list[Way]:
    """The graphs of this package."""
    from safetensors.numpy import load_file

    bert = graph.bert_of(folder)
    assert bert is not None
    tensors = load_file(folder / "model.safetensors")
    tokens = onnx_embedder.Tokens(folder / "tokenizer.json", bert.max_tokens)
    ways = []
    for name, quantised in (("ONNX Runtime, own graph, float32", False), ("ONNX Runtime, own graph, int8", True)):
        path = work / f"{quantised}.onnx"
        path.write_bytes(graph.build_graph(bert, tensors, quantised=quantised))
        ways.append(Way(name, onnx_embedder.GraphEmbedder(path, tokens, name, bert.width, threads).encode))
    return ways


def export_ways(folder: Path, work: Path, threads: int) -> list[Way]:
    """Exported by torch and quantised by ONNX Runtime's own tool, as most guides have it: padded batches of 32."""
    import onnxruntime
    import torch
    from onnxruntime.quantization import QuantType, quantize_dynamic
    from transformers import AutoModel, AutoTokenizer

    model = AutoModel.from_pretrained(folder, attn_implementation="eager").eval()
    tokenizer = AutoTokenizer.from_pretrained(folder)
    example = tokenizer(["one text", "another, longer text"], padding=True, return_tensors="pt")
    names = list(example)
    axes = {name: {0: "batch", 1: "tokens"} for name in names}
    path = work / "exported.onnx"
    torch.onnx.export(
        model,
        kwargs=dict(example),
        f=str(path),
        input_names=names,
        output_names=["out"],
        dynamic_shapes={name: {0: torch.export.Dim.DYNAMIC, 1: torch.export.Dim.DYNAMIC} for name in axes},
        dynamo=True,
        external_data=False,
    )
    quantize_dynamic(path, work / "exported8.onnx", weight_type=QuantType.QInt8, per_channel=True, reduce_range=True)

    def encoder(file: Path) -> Callable[[list[str]], Any]:
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        session = onnxruntime.InferenceSession(str(file), options, providers=["CPUExecutionProvider"])
        wanted = {one.name for one in session.get_inputs()}

        def encode(texts: list[str]) -> Any:
            order = sorted(range(len(texts)), key=lambda n: -len(texts[n]))
            made = np.empty((len(texts), 384), np.float32)
            for start in range(0, len(order), 32):
                places = order[start : start + 32]
                fed = tokenizer(
                    [texts[n] for n in places], padding=True, truncation=True, max_length=256, return_tensors="np"
                )
                mask = fed["attention_mask"][:, :, None].astype(np.float32)
                out = session.run(None, {k: v.astype(np.int64) for k, v in fed.items() if k in wanted})[0]
                mean = (out * mask).sum(axis=1) / mask.sum(axis=1)
                made[places] = mean / np.linalg.norm(mean, axis=1, keepdims=True)
            return made

        return encode

    return [
        Way("ONNX Runtime, torch export, float32", encoder(path)),
        Way("ONNX Runtime, torch export, int8", encoder(work / "exported8.onnx")),
    ]


def measure(ways: list[Way], texts: list[str], rounds: int) -> None:
    for way in ways:
        way.encode(texts[:8])
    for _ in range(rounds):
        for way in ways:
            wall, cpu = time.perf_counter(), time.process_time()
            way.vectors = np.asarray(way.encode(texts), np.float32)
            way.wall = min(way.wall, time.perf_counter() - wall)
            way.cpu = min(way.cpu, time.process_time() - cpu)
            way.vectors /= np.linalg.norm(way.vectors, axis=1, keepdims=True)


def macro_f1(vectors: Any, classes: Any) -> float:
    scores = []
    for split in range(SPLITS):
        x, y, known, truth = train_test_split(vectors, classes, test_size=0.2, random_state=split)
        model = LogisticRegression(C=10, class_weight="balanced", max_iter=1_000).fit(x, known)
        scores.append(f1_score(truth, model.predict(y), average="macro"))
    return float(np.mean(scores))


def report(ways: list[Way], classes: Any, count: int) -> None:
    base = next(way for way in ways if way.name == PLAIN)
    print("| way | texts/s | ratio | texts/cpu-s | ratio | least cosine | largest change | macro-F1 |")
    print("|---|---:|---:|---:|---:|---:|---:|---:|")
    inner = base.vectors @ base.vectors.T
    for way in ways:
        least = (way.vectors * base.vectors).sum(axis=1).min()
        change = np.abs(way.vectors @ way.vectors.T - inner).max()
        speed = (
            f"{count / way.wall:.1f} | {base.wall / way.wall:.1f} | {count / way.cpu:.1f} | {base.cpu / way.cpu:.1f}"
        )
        print(
            f"| {way.name} | {speed} | {least:.4f} | {change:.4f} | {macro_f1(way.vectors, classes):.4f} |", flush=True
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--texts", type=Path, required=True)
    parser.add_argument("--rows", type=int)
    parser.add_argument("--threads", type=int, default=usable_cores())
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--export", action="store_true", help="also measure torch's own export (needs onnxscript)")
    options = parser.parse_args()
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "true" if options.threads > 1 else "false")
    frame = load(options.texts, options.rows)
    folder = weights.model_folder()
    with tempfile.TemporaryDirectory(prefix="embers-bench-") as name:
        ways = torch_ways(folder, options.threads) + graph_ways(folder, Path(name), options.threads)
        if options.export:
            ways += export_ways(folder, Path(name), options.threads)
        measure(ways, frame["text"].tolist(), options.rounds)
    print(f"{len(frame)} texts, {options.threads} threads, best of {options.rounds} rounds\n")
    report(ways, frame["class"].to_numpy(), len(frame))


if __name__ == "__main__":
    main()
