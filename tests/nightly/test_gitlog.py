"""Reading a local clone: what a commit says, what a hostile clone must not do, and where a run goes on."""

from __future__ import annotations

import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest

from helpers.gitlog import REPO, Repository, mine, plain_components, remove_blob, repository  # noqa: F401 - fixtures

if TYPE_CHECKING:
    from pathlib import Path
pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")


def test_nothing_that_a_hostile_clone_brings_along_is_run(repository: Repository, tmp_path: Path) -> None:
    marker = tmp_path / "marker"
    script = tmp_path / "evil"
    script.write_text(f"#!/bin/sh\necho ran >> {marker}\nexit 0\n")
    script.chmod(0o755)
    repository.commit("One", c10__a_py="1\n")
    repository.commit("Two (#2)", _gitattributes="x", c10__a_py="2\n")
    (repository.path / ".gitattributes").write_text("*.py diff=evil filter=evil\n")
    repository.commit("Three", c10__a_py="3\n")
    repository("tag", "v1.0.0")
    (repository.path / ".git/info/attributes").write_text("* diff=evil filter=evil\n")
    hooks = repository.path / ".git/hooks"
    hooks.mkdir(exist_ok=True)
    for hook in ("post-checkout", "post-index-change", "reference-transaction", "fsmonitor-watchman", "pre-auto-gc"):
        shutil.copy(script, hooks / hook)
    command = str(script)
    evil = {
        "core.fsmonitor": command,
        "core.hooksPath": str(hooks),
        "core.pager": command,
        "pager.log": command,
        "core.sshCommand": command,
        "core.editor": command,
        "core.alternateRefsCommand": command,
        "diff.external": command,
        "diff.evil.textconv": command,
        "diff.evil.command": command,
        "filter.evil.clean": command,
        "filter.evil.smudge": command,
        "filter.evil.process": command,
        "log.showSignature": "true",
        "gpg.program": command,
        "credential.helper": f"!{command}",
        "alias.log": f"!{command}",
        "remote.origin.promisor": "true",
        "remote.origin.url": f"ext::{command}",
        "remote.origin.uploadpack": command,
        "remote.origin.vcs": "ext",
        "extensions.partialClone": "origin",
        "protocol.allow": "always",
        "protocol.ext.allow": "always",
    }
    for name, value in evil.items():
        repository("config", name, value)
    batch = mine(repository.path)
    assert len(batch.commits) == 3
    assert batch.code_sizes
    assert not marker.exists()
    remove_blob(repository, "c10/a.py")
    mine(repository.path, tmp_path / "again.duckdb")
    assert not marker.exists()
    subprocess.run(["git", "-C", repository.path, "log", "-p"], capture_output=True)
    assert marker.exists(), "the traps of this test do not work"
