"""What `embers hunt` does around the sweep: builds, progress, the summary, the draft of a report."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from packaging.version import InvalidVersion, Version

from torch_embers import settings
from torch_embers.builds.registry import Registry
from torch_embers.errors import InputError
from torch_embers.escaping import visible
from torch_embers.oracles.cells import ALL_MODES
from torch_embers.oracles.finding import SEVERITIES
from torch_embers.progress_bar import ProgressBar
from torch_embers.run import hunt, hunt_coverage
from torch_embers.run.command import chosen_builds
from torch_embers.run.hunt_rows import ident
from torch_embers.run.where import HERE, opened

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from torch_embers.oracles.finding import Finding
    from torch_embers.run.hunt_rows import Hunted
    from torch_embers.run.where import Where

NEWS = 10
"""Exit code with findings that nobody has judged."""


@dataclass(slots=True)
class Reached:
    """What a hunt came to."""

    done: list[Hunted] = field(default_factory=list)
    known: Sequence[hunt.Known] = ()

    def news(self) -> list[tuple[str, Finding]]:
        """Findings that nobody has judged, the worst first, one per operator, mode and severity."""
        found: dict[tuple[str, str], tuple[str, Finding]] = {}
        for one in self.done:
            for finding in one.all_findings():
                if hunt.is_known(finding, self.known) is None:
                    found.setdefault((one.build, ident(finding)), (one.build, finding))
        return sorted(found.values(), key=lambda pair: (SEVERITIES.index(pair[1].severity), pair[1].op))

    @property
    def exit_code(self) -> int:
        """Of the command."""
        return NEWS if self.news() else 0

    def rows(self) -> list[dict[str, Any]]:
        """As plain data."""
        return [one.row() for one in self.done]

    def lines(self) -> list[str]:
        """The summary for a terminal."""
        lines = []
        for build, finding in self.news():
            worst = finding.difference
            size = f"; got {worst.got}, expected {worst.expected}" if worst is not None else ""
            lines.append(f"{ident(finding)} {build} {finding.severity}: {visible(finding.message)}{size}")
        lines += [f"{one.build} {one.op} was not finished: {visible(one.ended)}" for one in self.done if one.ended]
        counts = Counter[str]()
        for one in self.done:
            counts.update(one.counts())
        judged = sum(1 for one in self.done for f in one.all_findings() if hunt.is_known(f, self.known))
        lines.append(
            f"{len(self.done)} operators, {counts['tested']} calls compared, {counts['refused']} refused, "
            f"{counts['undecided']} undecided, {len(self.news())} new findings, {judged} judged before"
        )
        return lines


def run(
    builds: Sequence[str],
    ops: str,
    dtypes: str,
    modes: str,
    out: Path,
    jobs: int,
    *,
    unsandboxed: bool,
    where: Where = HERE,
) -> Reached:
    """Hunt on builds.

    Raises:
        InputError: an operator, dtype, mode or build is unknown.
        SandboxError: no sandbox can be had.
        ClusterError: the cluster cannot be used.
    """
    wanted = modes.split(",")
    if unknown := [mode for mode in wanted if mode not in ALL_MODES]:
        raise InputError(f"no mode {unknown[0]!r}: use {', '.join(ALL_MODES)}")
    request = hunt.HuntRequest([op for op in ops.split(",") if op], dtypes.split(","), out, wanted, jobs)
    reached = Reached(known=hunt.rules().known)
    registry = Registry(settings.load().builds_dir)
    with (
        ProgressBar("hunting") as progress,
        opened(where, registry, progress, jobs=jobs, unsandboxed=unsandboxed) as dispatcher,
    ):
        for build in chosen_builds(registry, builds):
            for one in hunt.hunt(build, request, dispatcher):
                reached.done.append(one)
                progress.advanced(1)
    return reached


def act(action: Sequence[str], out: Path) -> str:
    """What ``report ID`` and ``coverage FILE`` print.

    Raises:
        InputError: the words are none of these, there is no such finding, or no journal.
    """
    if len(action) == 2 and action[0] == "report":
        return draft(action[1], out)
    if len(action) == 2 and action[0] == "coverage":
        return f"{action[1]}: {hunt_coverage.write(out, Path(action[1]))} rows"
    raise InputError("use `embers hunt`, `embers hunt report ID` or `embers hunt coverage FILE`")


def draft(name: str, out: Path) -> str:
    """The draft of a report for one finding, in the order of PyTorch's form. It is never posted.

    Raises:
        InputError: there is no such finding.
    """
    rows = hunt.journal_in(out)
    having = {row.build: row for row in rows if any(ident(found) == name for found in row.all_findings())}
    if not having:
        raise InputError(f"no finding {name} in {out}: `embers hunt --out {out}` prints their names")
    found = [(row.build, one) for row in having.values() for one in row.all_findings() if ident(one) == name]
    build, first = next(((b, f) for b, f in found if f.reproducer), found[0])
    calls = {(row.op, row.dtype) for row in having.values()}
    clean = {row.build for row in rows if (row.op, row.dtype) in calls and not row.ended} - set(having)
    worst = first.difference
    seen = f"At {list(worst.index)} it gives {worst.got}; {worst.expected} is expected.\n" if worst is not None else ""
    return DRAFT.format(
        title=first.message,
        seen=seen,
        layouts="\n".join(f"- `{layout}`" for layout in first.layouts),
        script=scripts(first),
        versions=", ".join(by_version(having)),
        clean=f" Not with the same samples on: {', '.join(by_version(clean))}." if clean else "",
        environment=environment(build),
    )


def scripts(found: Finding) -> str:
    """The part of a draft that shows the fault: the few lines first, where there are some."""
    if not found.reproducer:
        return "No script could be made of this call.\n"
    whole = WHOLE.format(said=DIES if found.severity == "crash" else COMPARED, script=found.reproducer)
    return SHORT.format(short=found.short, whole=whole) if found.short else whole


def by_version(names: Iterable[str]) -> list[str]:
    """Builds in the order of their versions; those that are named otherwise come last."""

    def key(name: str) -> tuple[bool, Version | str]:
        try:
            return False, Version(name)
        except InvalidVersion:
            return True, name

    return sorted(names, key=key)


def environment(build: str) -> str:
    """What PyTorch's form asks for, of a registered build."""
    known = {one.name: one for one in Registry(settings.load().builds_dir).installed()}
    if build not in known:
        return f"Build {build}, CPU; it is not registered here any more."
    one = known[build]
    return (
        f"PyTorch {one.version} (commit {one.git_commit}), Python {one.python_version}, {one.platform}, "
        f"CPU, capability {one.capability or 'unknown'}."
    )


DRAFT = """<!-- Made by a tool (embers hunt). To be read, run and signed by a person before it is posted. -->
### Describe the bug

{title}

{seen}
{layouts}

{script}
### Versions

It occurs on: {versions}.{clean}

{environment}
"""

SHORT = """In short, with an AssertionError where the fault is there:

```python
{short}```

<details><summary>The whole script</summary>

{whole}
</details>
"""

WHOLE = """{said}

```python
{script}```
"""

COMPARED = """The expected values are those of the same call on dense copies, checked in double precision. The script
exits with 1 where the fault is there, with 0 where it is not, with 125 where it cannot be told."""

DIES = "The process ends, or does not come back, where the fault is there."
