"""Reading a local clone: what a commit says, what a hostile clone must not do, and where a run goes on."""

from __future__ import annotations

import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest

from helpers.gitlog import REPO, Repository, mine, plain_components, remove_blob, repository  # noqa: F401 - fixtures
from torch_embers.mine.git import gitlog
from torch_embers.mine.git.gitlog import GitSource

if TYPE_CHECKING:
    from pathlib import Path
pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")


def test_an_interrupted_run_goes_on_from_its_last_page(repository: Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gitlog, "COMMITS_PER_PAGE", 2)
    repository.commit("0")
    repository("checkout", "-q", "-b", "topic")
    shas = {repository.commit(f"topic {n}") for n in range(3)}
    repository("checkout", "-q", "main")
    shas |= {repository.commit(f"main {n}") for n in range(3)}
    repository("merge", "-q", "--no-ff", "-m", "join", "topic")
    whole, _ = mine(repository.path)
    for pages in range(1, 5):
        seen: list[str] = []
        state = {}
        for batch, _ in zip(GitSource(REPO, repository.path).batches({}), range(pages), strict=False):
            seen += [commit.sha for commit in batch.commits]
            state.update({cursor.stream: cursor.cursor for cursor in batch.cursors})
        rest, _ = mine(repository.path, state)
        seen += [commit.sha for commit in rest.commits]
        assert sorted(seen) == sorted(commit.sha for commit in whole.commits)


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
    batch, _ = mine(repository.path)
    assert len(batch.commits) == 3
    assert batch.code_sizes
    assert not marker.exists()
    remove_blob(repository, "c10/a.py")
    mine(repository.path)
    assert not marker.exists()
    subprocess.run(["git", "-C", repository.path, "log", "-p"], capture_output=True)
    assert marker.exists(), "the traps of this test do not work"
