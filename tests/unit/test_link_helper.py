"""The second process that finds links: equal tables whatever happens to it, and nothing of it is left behind."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

from torch_embers.link import helper

if TYPE_CHECKING:
    import pytest


def test_no_process_is_started_for_few_texts_on_one_core_or_without_an_interpreter(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def refused(*_: object, **__: object) -> None:
        raise OSError("too many processes")

    monkeypatch.setattr(subprocess, "Popen", refused)
    monkeypatch.setattr(helper, "cores", lambda: 2)
    with helper.helper_for(helper.LEAST) as none:
        assert none is None
    assert "too many processes" in caplog.text
    caplog.clear()
    with helper.helper_for(helper.LEAST - 1) as none:
        assert none is None
    with monkeypatch.context() as patch, helper.helper_for(0):
        patch.setattr(sys, "executable", "")
        with helper.helper_for(helper.LEAST) as none:
            assert none is None
    monkeypatch.setattr(helper, "cores", lambda: 1)
    with helper.helper_for(helper.LEAST) as none:
        assert none is None
    assert caplog.records == []
