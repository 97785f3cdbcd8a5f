"""What `embers bisect` does: search what is asked for, then list the commits of the last change."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from torch_embers.bisect import rules, sessions
from torch_embers.bisect.commits import commit_range
from torch_embers.bisect.request import check
from torch_embers.bisect.searching import Bisector
from torch_embers.bisect.sources import Sources
from torch_embers.bisect.subjects import subject_of
from torch_embers.builds.registry import Registry
from torch_embers.builds.work import Machine
from torch_embers.errors import InputError
from torch_embers.mine.git.gitrepo import Clone
from torch_embers.verdicts import shipped

if TYPE_CHECKING:
    from torch_embers.bisect.commits import CommitRange
    from torch_embers.bisect.report import Bisection
    from torch_embers.bisect.request import BisectRequest
    from torch_embers.bisect.subjects import Subject
    from torch_embers.progress import Progress
    from torch_embers.settings import Settings
    from torch_embers.store.store import Store

ANSWERED, CANNOT_TELL = 0, 11
"""Exit codes of `embers bisect`: there is an answer, or it cannot be told."""


def bisect(store: Store, settings: Settings, request: BisectRequest, progress: Progress) -> Bisection:
    """Search, keep each step and the commits of the last change, and return the answer.

    Raises:
        InputError, BuildError: the request cannot be carried out, or its ends do not differ.
        SandboxError, StoreError: as of their makers.
    """
    check(request)
    clone = Clone(request.clone) if request.clone is not None else None
    sources = Sources(clone)
    machine = Machine(Registry(settings.builds_dir), request.unsandboxed, progress)
    with store.writer("bisect") as writer:
        if request.name:
            shipped.load(writer)
        subject = subject_of(store, settings, request)
        made = Bisector(store, writer, settings, subject, request, progress, machine, sources).run()
        if clone is None or not made.innermost.last_change:
            return made
        try:
            found = _commits(clone, settings.repo, made, subject, sources)
        except InputError as error:  # what the builds showed is worth printing without the commits
            progress.said(f"no commits: {error}")
            return made
        sessions.keep_commits(writer, *made.innermost.session, found)
        return replace(made, commits=found)


def _commits(clone: Clone, repo: str, made: Bisection, subject: Subject, sources: Sources) -> CommitRange:
    ends = made.innermost.last_change
    if ends is None:
        raise AssertionError("no change to list commits of")
    code, how = subject.code, rules.load().commits
    if subject.speed and subject.speed.call:  # the call is the subject, however common its name is
        code, how = subject.speed.call.call, how.model_copy(update={"ignored": ()})
    return commit_range(clone, repo, ends, code, [number for _, number in made.items], how, sources)
