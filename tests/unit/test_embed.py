"""Embedding: the quick path equals the plain one, vectors depend on their text alone, and missing things are said clearly."""

from __future__ import annotations

import importlib.util
from typing import TYPE_CHECKING

import pytest
import requests
from hypothesis import given
from hypothesis import strategies as st

from torch_embers import cli
from torch_embers.classify.embedding import embed, graph, weights
from torch_embers.errors import InputError

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(autouse=True)
def _no_hub(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")


@given(st.binary(max_size=40))
def test_any_rubbish_in_a_model_folder_is_no_shape(tmp_path_factory: pytest.TempPathFactory, content: bytes) -> None:
    folder = tmp_path_factory.mktemp("m")
    for name in ("config.json", "modules.json", "sentence_bert_config.json"):
        (folder / name).write_bytes(content)
    assert graph.bert_of(folder) is None


def test_an_impossible_name_is_refused() -> None:
    with pytest.raises(InputError, match="neither a folder nor the name"):
        embed.load_embedder("../no such model")


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[float | None]:
    """How long each question to the hub may take; nobody answers."""
    patience: list[float | None] = []

    def refuse(address: str, timeout: float | None = None) -> None:
        patience.append(timeout)
        raise requests.ConnectionError(address)

    monkeypatch.setattr(weights.requests, "get", refuse)
    return patience


def test_an_unknown_model_offline_is_a_clear_error_and_asks_nobody(tmp_path: Path, asked: list[float | None]) -> None:
    pytest.importorskip("huggingface_hub")
    with pytest.raises(InputError, match=r"no model 'nobody/nothing': no copy .* switched off"):
        embed.load_embedder("nobody/nothing", cache=tmp_path)
    assert asked == []


def test_a_silent_hub_costs_seconds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, asked: list[float | None]) -> None:
    pytest.importorskip("huggingface_hub")
    monkeypatch.delenv("HF_HUB_OFFLINE")
    with pytest.raises(InputError, match="cannot be reached"):
        embed.load_embedder("nobody/nothing", cache=tmp_path)
    assert asked == [weights.HUB_PATIENCE]


@pytest.mark.parametrize("missing", ["onnxruntime", "sentence_transformers", "accelerate"])
def test_a_missing_package_names_the_command_that_installs_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, missing: str, capsys: pytest.CaptureFixture[str]
) -> None:
    known = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name, *rest: None if name == missing else known(name, *rest)
    )
    extra, commands = "classify", [["classify"], ["research", "evaluate"], ["data", "label", "--errors"]]
    if missing == "accelerate":
        extra, commands = "tune", [["research", "evaluate", "--tune"]]
    for command in commands:
        with pytest.raises(SystemExit) as end:
            cli.main([*command, "--database", str(tmp_path / "e.duckdb")])
        assert end.value.code == 3
        said = " ".join(capsys.readouterr().err.split())
        assert f"{missing}: pip install 'torch-embers[{extra}]'" in said


def test_where_no_hub_answers_the_package_is_used(monkeypatch: pytest.MonkeyPatch, asked: list[float | None]) -> None:
    pytest.importorskip("huggingface_hub")
    try:
        expected = weights._packaged(weights.DEFAULT_MODEL)
    except InputError as error:  # without the package with the default model, nothing can be tested
        pytest.skip(str(error))

    def not_here(name: str) -> Path:
        raise InputError(f"no copy of {name} on this machine")

    assert weights.sha256(expected / "model.safetensors") == weights.DEFAULT_SHA256
    monkeypatch.setattr(weights, "_stored", not_here)
    monkeypatch.delenv("HF_HUB_OFFLINE")
    assert weights.model_folder() == expected
    assert asked == [weights.HUB_PATIENCE]


@pytest.mark.parametrize("place", ["_stored", "_fetched", "_packaged"])
def test_a_place_with_other_weights_is_passed_over(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, place: str) -> None:
    good, bad = tmp_path / "good", tmp_path / "bad"
    for folder, content in ((good, b"these"), (bad, b"others")):
        folder.mkdir()
        (folder / "model.safetensors").write_bytes(content)
    monkeypatch.setattr(weights, "DEFAULT_SHA256", weights.sha256(good / "model.safetensors"))
    places = ("_stored", "_fetched", "_packaged")
    for name in places:
        monkeypatch.setattr(weights, name, lambda _, said=bad if name == place else good: said)
    assert weights.model_folder() == good
    for name in places:
        monkeypatch.setattr(weights, name, lambda _: bad)
    with pytest.raises(InputError, match="does not hold the weights"):
        weights.model_folder()
