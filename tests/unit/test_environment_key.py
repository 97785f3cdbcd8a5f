"""The key of an environment has no release of the kernel: an update of the kernel voids no verdict."""

from __future__ import annotations

import platform
from typing import TYPE_CHECKING, Any

from helpers.verdicts import build_of
from torch_embers.builds.registry import environment_key, environment_of

if TYPE_CHECKING:
    import pytest

BUILD = build_of("2.2.2", capability="AVX2")


def test_another_kernel_is_the_same_environment_and_another_capability_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    def key(release: str, **more: Any) -> str:
        monkeypatch.setattr(platform, "release", lambda: release)
        return environment_key({**environment_of(BUILD), **more}.items())

    assert key("6.1.0") == key("6.2.0-generic")
    assert key("6.1.0") != key("6.1.0", capability="AVX512")
