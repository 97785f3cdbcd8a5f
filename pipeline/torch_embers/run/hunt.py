"""The hunt: every operator of a build through the lattice of layouts, each in a fork of its own, resumable."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

from torch_embers import resources, toml_models
from torch_embers.errors import InputError, SandboxError
from torch_embers.oracles import finding
from torch_embers.sandbox import bundle, doctor
from torch_embers.sandbox.runner import PRELOAD, Attempt, Runner

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from torch_embers.builds.registry import Build
    from torch_embers.oracles.finding import Finding
    from torch_embers.sandbox.runner import RunResult

SAMPLES = "torch.testing._internal.common_methods_invocations"
"""PyTorch's database of operators and samples; the zygote imports it once."""
CELLS = "embers-cells "
FILE = "hunt.jsonl"
MODES = ("forward", "backward", "inplace", "out", "kernels")


class Limits(toml_models.Explained):
    """Numbers of a hunt; reasons stand in the file."""

    samples: int
    seconds: float
    timeout: float
    crashes: int
    memory: int


class Known(toml_models.Entry):
    """A finding that a person has judged."""

    op: str
    mode: str
    severity: str
    judged: str
    """known_issue, new, documented, or false_alarm that no rule can tell."""
    reason: str
    issue: str = ""


class Rules(toml_models.Entry):
    """What data/hunt.toml holds."""

    limits: Limits
    known: tuple[Known, ...] = ()


@dataclass(frozen=True, slots=True)
class HuntRequest:
    """What is asked for.

    Attributes:
        ops: names of operators, also without their variant; all where none is given.
        dtypes: of the samples.
        out: folder of the journal; what stands there is not run again.
        modes: forward, backward, inplace, out, kernels.
        jobs: operators at a time.
        unsandboxed: run with this user's rights where no sandbox can be had.
    """

    ops: Sequence[str]
    dtypes: Sequence[str]
    out: Path
    modes: Sequence[str] = MODES
    jobs: int = 1
    unsandboxed: bool = False


@dataclass(slots=True)
class Hunted:
    """What came of one operator and dtype on one build."""

    build: str
    op: str
    dtype: str
    ended: str = ""
    findings: list[Finding] = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=dict)
    crashes: list[tuple[str, int]] = field(default_factory=list)
    """Calls that ended the process, and by which signal."""

    def row(self) -> dict[str, Any]:
        """As plain data."""
        rows = [{**found.row(), "id": ident(found)} for found in self.findings]
        return {name: getattr(self, name) for name in ("build", "op", "dtype", "ended", "counts", "crashes")} | {
            "findings": rows
        }


def ident(found: Finding) -> str:
    """Short name of a defect: the same on every build."""
    return blake2b(f"{found.op} {found.overload} {found.severity}".encode(), digest_size=4).hexdigest()


def rules() -> Rules:
    """The numbers and judged findings of data/hunt.toml."""
    return toml_models.load(Rules, "hunt.toml")


def hunt(build: Build, request: HuntRequest) -> Iterator[Hunted]:
    """Sweep a build and yield each operator as it is done; the journal holds it before it is yielded.

    Raises:
        InputError: an operator or dtype is unknown.
        SandboxError: no sandbox can be had, or the build has no database of samples.
    """
    request.out.mkdir(parents=True, exist_ok=True)
    journal = request.out / FILE
    done = {(row["build"], row["op"], row["dtype"]) for row in _lines(journal)}
    with Runner(
        build.python,
        "reviewed",
        doctor.prove(),
        preload=(*PRELOAD, SAMPLES),
        unsandboxed=request.unsandboxed,
    ) as runner:
        wanted = chosen(_names(runner), request.ops, request.dtypes)
        left = [Hunted(build.name, op, dtype) for op, dtype in wanted if (build.name, op, dtype) not in done]
        for reached in _sweep(runner, left, request):
            with journal.open("a", encoding="utf-8") as file:
                file.write(json.dumps(reached.row()) + "\n")
            yield reached


def chosen(known: dict[str, list[str]], ops: Sequence[str], dtypes: Sequence[str]) -> list[tuple[str, str]]:
    """Operators and dtypes to run, by what the build has.

    Raises:
        InputError: an operator is unknown, or no operator has such a dtype.
    """
    for op in ops:
        if not any(name == op or name.startswith(f"{op}.") for name in known):
            raise InputError(f"no operator {op!r} among the samples of this build: names are as in torch, linalg.qr")
    for dtype in dtypes:
        if not any(dtype in have for have in known.values()):
            raise InputError(f"no dtype {dtype!r}: use float32, float64, bfloat16, complex64 or int64")
    names = [name for name in known if not ops or name in ops or any(name.startswith(f"{op}.") for op in ops)]
    return [(name, dtype) for name in sorted(names) for dtype in dtypes if dtype in known[name]]


def _names(runner: Runner) -> dict[str, list[str]]:
    code = bundle.script("hunt", "names", {})
    for result in runner.run([Attempt("names", code, "hunt_names.py", timeout=rules().limits.timeout)]):
        for line in result.stdout.splitlines():
            if line.startswith(CELLS):
                names: dict[str, list[str]] = json.loads(line[len(CELLS) :])
                return names
        raise SandboxError(f"this build tells no operators: {result.detail} {result.stderr[-300:]}")
    raise SandboxError("this build tells no operators")


def _sweep(runner: Runner, left: Iterable[Hunted], request: HuntRequest) -> Iterator[Hunted]:
    """Run operators; one that ends its process is begun again behind the call that did."""
    waiting = {f"{one.op} {one.dtype}": one for one in left}
    for _ in range(rules().limits.crashes + 1):
        again: dict[str, Hunted] = {}
        for result in runner.run([_attempt(key, one, request.modes) for key, one in waiting.items()], request.jobs):
            one = waiting[result.key]
            if _note(one, result):
                again[result.key] = one
            else:
                yield one
        waiting = again
    yield from waiting.values()


def _attempt(key: str, one: Hunted, modes: Sequence[str]) -> Attempt:
    limits = rules().limits
    options = {
        "op": one.op,
        "dtype": one.dtype,
        "rules": resources.load_toml("oracles.toml"),
        "skip": [cell for cell, _ in one.crashes],
        "seconds": limits.seconds,
        "samples": limits.samples,
        "modes": list(modes),
    }
    code = bundle.script("hunt", "main", options)
    return Attempt(key, code, "hunt.py", timeout=limits.timeout, memory=limits.memory)


def _note(one: Hunted, result: RunResult) -> bool:
    """Take over what a run found; whether it must go on behind a call that ended the process."""
    seen = {ident(found) + found.message for found in one.findings}
    one.findings += [found for found in finding.read(result.stdout) if ident(found) + found.message not in seen]
    for line in result.stdout.splitlines():
        if line.startswith(CELLS):
            one.counts = json.loads(line[len(CELLS) :])["counts"]
    one.ended = result.ended
    if result.signal is None:
        return False
    cell = (result.stderr.strip().splitlines() or [""])[-1]
    if not cell or cell in {known for known, _ in one.crashes}:
        return False
    one.crashes.append((cell, result.signal))
    return True


def _lines(journal: Path) -> list[dict[str, Any]]:
    if not journal.is_file():
        return []
    return [json.loads(line) for line in journal.read_text(encoding="utf-8").splitlines() if line.strip()]


def findings_in(out: Path) -> list[tuple[str, Finding]]:
    """The findings of a journal with the build of each.

    Raises:
        InputError: there is no journal.
    """
    if not (out / FILE).is_file():
        raise InputError(f"no journal {out / FILE}: run `embers hunt --out {out}` first")
    found = []
    for row in _lines(out / FILE):
        for entry in row["findings"]:
            entry.pop("id", None)
            found.append((row["build"], finding.parse(entry)))
    return found


def is_known(found: Finding, known: Sequence[Known]) -> Known | None:
    """The judged entry of a finding, if there is one."""
    for entry in known:
        if (entry.op, entry.mode, entry.severity) == (found.op, found.overload, found.severity):
            return entry
    return None
