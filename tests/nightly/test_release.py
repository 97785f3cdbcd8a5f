"""A release candidate against its predecessor: groups, page, exit code."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from support import assert_clean_error, fake_python, run_embers
from torch_embers.builds.registry import Build, Registry
from torch_embers.store.store import Store

if TYPE_CHECKING:
    import pytest


def build(version: str, **more: Any) -> Build:
    return Build(
        more.pop("name", version), version, "c" * 40, more.pop("channel", "release"), "linux", Path("p"), "3.11"
    )


def test_an_unknown_candidate_or_one_without_predecessor_is_one_clean_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Registry, "_current", lambda _: None)
    store = Store(tmp_path / "e.duckdb")
    with store.writer("test", create=True) as writer, writer.transaction():
        pass
    Registry(tmp_path / "r").register(fake_python(tmp_path / "p", "2.15.0"))
    for version, said in (("9.9.9", "no build '9.9.9'"), ("2.15.0", "no release before 2.15.0")):
        words = ("recheck", "--release-candidate", version, "--database", store.path)
        assert_clean_error(run_embers(*words, EMBERS_BUILDS_DIR=str(tmp_path / "r")), 3, said)
