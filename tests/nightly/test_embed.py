"""Embedding: vectors depend on their text alone, and other models than the shipped one are loaded by name or folder."""

from __future__ import annotations

import json
import shutil
import time
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from support import example_count
from torch_embers.classify.embedding import embed, embedder, onnx_embedder
from torch_embers.errors import InputError
from torch_embers.normalize import clean_text
from torch_embers.settings import SHIPPED_EMBEDDER

if TYPE_CHECKING:
    from pathlib import Path


WORDS = [
    *("a", "b", "c", "conv", "grad", "nan", "wrong", "layout", "stride", "[mps]", "torch", "hello", "world"),
    *(".", ",", "#", "(", ")", "##s", "##ed", "é", "结"),
]


def needed() -> None:
    for package in ("torch", "sentence_transformers", "tokenizers", "safetensors"):
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
    shape = BertConfig(
        vocab_size=len(vocabulary), max_position_embeddings=64, hidden_size=32, num_hidden_layers=2,
        num_attention_heads=4, intermediate_size=64,
    )  # fmt: skip
    model = BertModel(shape)
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


@pytest.fixture(scope="session")
def quick() -> embedder.Embedder:
    """The shipped encoder."""
    return embed.load_embedder(threads=1)


@pytest.fixture(scope="session")
def plain(tiny: Path) -> embedder.Embedder:
    return embed.load_embedder(str(tiny), threads=1)


@settings(max_examples=example_count(30))
@given(st.lists(texts, min_size=1, max_size=6), st.randoms())
def test_a_vector_depends_on_its_text_alone(quick: embedder.Embedder, given_texts: list[str], random: Any) -> None:
    together = quick.encode(given_texts)
    order = list(range(len(given_texts)))
    random.shuffle(order)
    assert np.array_equal(quick.encode([given_texts[n] for n in order]), together[order])
    assert np.array_equal(quick.encode(given_texts[:1]), together[:1])


def test_more_threads_give_the_same_bits(quick: embedder.Embedder) -> None:
    many = [f"wrong grad {'nan ' * (n % 17)}" for n in range(100)]
    assert np.array_equal(embed.load_embedder(threads=3).encode(many), quick.encode(many))


def test_changed_weights_in_a_folder_get_another_id(tiny: Path, tmp_path: Path) -> None:
    from safetensors.numpy import load_file, save_file

    other = tmp_path / "other"
    shutil.copytree(tiny, other)
    before = embed.load_embedder(str(other), threads=1)
    tensors = load_file(other / "model.safetensors")
    tensors["encoder.layer.0.output.dense.bias"] = tensors["encoder.layer.0.output.dense.bias"] + 1
    save_file(tensors, other / "model.safetensors", metadata={"format": "pt"})
    assert before.model_id != embed.load_embedder(str(other), threads=1).model_id


def test_the_setting_names_another_model_and_an_argument_outranks_it(
    tiny: Path, plain: embedder.Embedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EMBERS_EMBEDDER", str(tiny))
    assert embed.load_embedder(threads=1).model_id == plain.model_id
    assert embed.load_embedder(SHIPPED_EMBEDDER, threads=1).model_id.startswith(SHIPPED_EMBEDDER)


def test_a_megabyte_is_cut_quickly(quick: embedder.Embedder) -> None:
    started = time.process_time()
    vectors = quick.encode(["conv grad " * 100_000, "x" * 1_000_000, "", " \n", "\x00\ud800"])
    assert time.process_time() - started < 20  # below 1 s; quadratic time would be minutes
    assert np.isfinite(vectors).all()
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)


@given(st.lists(st.integers(0, 600), max_size=80), st.integers(1, 5_000))
def test_batches_hold_every_text_once_within_the_budget(lengths: list[int], budget: int) -> None:
    from torch_embers.classify.embedding import torch_embedder

    made = list(torch_embedder.batches(lengths, budget))
    assert sorted(place for batch in made for place in batch) == list(range(len(lengths)))
    for batch in made:
        assert len(batch) == 1 or max(lengths[place] for place in batch) * len(batch) <= budget


def test_a_model_that_is_not_here_is_one_line() -> None:
    needed()
    with pytest.raises(
        InputError, match=r"no model '\.\./no such model' that sentence-transformers can load"
    ) as refused:
        embed.load_embedder("../no such model")
    assert "\n" not in str(refused.value)


def assert_knows_what_belongs_together(embedder: embedder.Embedder) -> None:
    stride, layout, loader = embedder.encode(
        ["wrong gradient for a strided input", "incorrect grad when the tensor is not contiguous", "DataLoader hangs"]
    )
    assert stride @ layout > stride @ loader + 0.1
    assert np.isclose(np.linalg.norm(stride), 1, atol=1e-5)


def test_the_shipped_encoder_knows_what_belongs_together() -> None:
    embedder = embed.load_embedder(threads=1)
    assert embedder.model_id.startswith(f"{SHIPPED_EMBEDDER}@")
    assert_knows_what_belongs_together(embedder)


@settings(max_examples=example_count(60), suppress_health_check=[HealthCheck.too_slow])
@given(texts.map(lambda text: text * 30))
@example("a" * 5_000)
@example(" " * 5_000 + "conv grad")
@example("c" * 90 + " conv" * 3 + "\t" + "b" * 800)
def test_reading_only_the_head_of_a_long_text_gives_the_same_tokens(tiny: Path, text: str) -> None:
    from tokenizers import Tokenizer

    text = clean_text(text)
    whole = Tokenizer.from_file(str(tiny / "tokenizer.json"))
    whole.enable_truncation(24)
    [ids] = onnx_embedder.Tokens(tiny / "tokenizer.json", 24).ids([text])
    assert ids[0].tolist() == whole.encode(text).ids


def test_no_texts_make_no_vectors_and_parts_keep_their_order(
    quick: embedder.Embedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = [f"conv {n}" for n in range(8)]
    whole = quick.encode(texts)
    monkeypatch.setattr(embedder, "CHUNK", 3)
    assert quick.encode([]).shape == (0, 384)
    assert np.array_equal(quick.encode(texts), whole)
