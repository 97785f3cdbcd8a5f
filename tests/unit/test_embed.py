"""Encoders: missing things are said clearly."""

from __future__ import annotations

import importlib.util
from typing import TYPE_CHECKING

import pytest

from torch_embers import cli
from torch_embers.classify.embedding import embed
from torch_embers.errors import InputError

if TYPE_CHECKING:
    from pathlib import Path


def test_a_model_that_is_not_here_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("sentence_transformers")
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(
        InputError, match=r"no model '\.\./no such model' that sentence-transformers can load"
    ) as refused:
        embed.load_embedder("../no such model")
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("missing", "extra", "command"),
    [
        ("onnxruntime", "classify", ["classify"]),
        ("sklearn", "train", ["classify", "--train"]),
        ("sentence_transformers", "train", ["research", "evaluate"]),
    ],
)
def test_a_missing_package_names_the_command_that_installs_it(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    missing: str,
    extra: str,
    command: list[str],
) -> None:
    known = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name, *rest: None if name == missing else known(name, *rest)
    )
    with pytest.raises(SystemExit) as end:
        cli.main([*command, "--database", str(tmp_path / "e.duckdb")])
    assert end.value.code == 3
    said = " ".join(capsys.readouterr().err.split())
    assert f"{missing}: pip install 'torch-embers[{extra}]'" in said
