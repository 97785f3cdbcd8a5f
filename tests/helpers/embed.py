"""What the tests in test_embed.py share."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import strategies as st

if TYPE_CHECKING:
    from pathlib import Path

PACKAGES = ("torch", "sentence_transformers", "onnx", "onnxruntime", "tokenizers", "safetensors")
WORDS = [
    "a",
    "b",
    "c",
    "conv",
    "grad",
    "nan",
    "wrong",
    "layout",
    "stride",
    "[mps]",
    "torch",
    ".",
    ",",
    "#",
    "(",
    ")",
    "##s",
    "##ed",
    "é",
    "结",
    "hello",
    "world",
]


def needed(*packages: str) -> None:
    for package in packages or PACKAGES:
        pytest.importorskip(package)


@pytest.fixture(autouse=True)
def _no_hub(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")


@pytest.fixture(scope="session")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A sentence-transformers model of the default's shape, but small and with random weights."""
    needed()
    import torch
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
    from transformers import BertConfig, BertModel

    folder = tmp_path_factory.mktemp("tiny")
    torch.manual_seed(0)
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    vocabulary = {word: place for place, word in enumerate([*special, *WORDS])}
    shape: dict[str, Any] = {
        "hidden_size": 32,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "intermediate_size": 64,
    }
    model = BertModel(BertConfig(vocab_size=len(vocabulary), max_position_embeddings=64, **shape))
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(1.5).add_(0.01 * torch.randn_like(parameter))
    model.save_pretrained(folder)
    tokenizer = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]", max_input_chars_per_word=100))
    tokenizer.normalizer = normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    tokenizer.save(str(folder / "tokenizer.json"))
    (folder / "vocab.txt").write_text("\n".join(vocabulary), encoding="utf-8")
    kinds = ["Transformer", "Pooling", "Normalize"]
    paths = ["", "1_Pooling", "2_Normalize"]
    modules = [
        {"idx": n, "name": str(n), "path": path, "type": f"sentence_transformers.models.{kind}"}
        for n, (kind, path) in enumerate(zip(kinds, paths, strict=True))
    ]
    pooling = {"word_embedding_dimension": 32, "pooling_mode_mean_tokens": True, "pooling_mode_cls_token": False}
    names = {"tokenizer_class": "BertTokenizer", "do_lower_case": True, "model_max_length": 64}
    for name, content in {
        "modules.json": modules,
        "sentence_bert_config.json": {"max_seq_length": 24, "do_lower_case": False},
        "1_Pooling/config.json": pooling,
        "tokenizer_config.json": names,
    }.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(json.dumps(content), encoding="utf-8")
    (folder / "2_Normalize").mkdir(exist_ok=True)
    return folder


PIECES = [*"abcs .#([é结\n\t\x00\ud800🐛", "conv ", "torch "]
texts = st.lists(st.sampled_from(PIECES), max_size=150).map("".join)
