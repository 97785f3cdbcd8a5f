"""The hunt: every operator of a build through the lattice of layouts, in groups, each operator once, resumable."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass, replace
from hashlib import blake2b
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from torch_embers import resources, toml_models
from torch_embers.builds import samples
from torch_embers.builds.registry import environment_of, environment_text
from torch_embers.builds.work import WHOLE, Machine
from torch_embers.errors import InputError
from torch_embers.hunt import groups
from torch_embers.hunt.journal import Hunted, Journal
from torch_embers.hunt.known_findings import Known
from torch_embers.oracles.cells import GUESSED, MODES
from torch_embers.sandbox import bundle
from torch_embers.sandbox.runner import Attempt

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from torch_embers.builds.registry import Build, Registry
    from torch_embers.builds.work import Shard
    from torch_embers.run.cluster import Cluster
    from torch_embers.sandbox.runner import Runner


class HuntRules(toml_models.Entry):
    """What data/hunt.toml holds."""

    limits: groups.HuntLimits
    known: tuple[Known, ...]


@dataclass(frozen=True, slots=True)
class HuntRequest:
    """What is asked for.

    Attributes:
        ops: names of operators, also without their variant or their module; all where none is given.
        dtypes: of the samples.
        out: folder of the journal; what stands there is not run again.
        modes: forward, backward, inplace, out, kernels.
        jobs: operators at a time on one machine.
        device: on which the operators are called; one that the build can use.
        shard: which of the operators.
    """

    ops: Sequence[str]
    dtypes: Sequence[str]
    out: Path
    modes: Sequence[str] = MODES
    jobs: int = 1
    device: str = "cpu"
    shard: Shard = WHOLE


def rules() -> HuntRules:
    """The numbers and judged findings of data/hunt.toml."""
    return toml_models.load(HuntRules, "hunt.toml")


@dataclass(frozen=True, slots=True)
class HuntPlan:
    """A hunt whose shards the nodes of a cluster make.

    Attributes:
        build: as the driver has it.
        scripts: names of the operators.
        unsandboxed: let them run with the node's rights where it has no sandbox.
    """

    build: Build
    request: HuntRequest
    scripts: Sequence[str]
    unsandboxed: bool
    is_hostile: ClassVar = False

    @property
    def builds(self) -> Sequence[Build]:
        """The one build."""
        return [self.build]

    def make(self, shard: Shard, registry: Registry) -> list[Hunted]:
        """What came of the operators of a shard."""
        [own, *_] = [build for build in registry.installed() if build.identity == self.build.identity]
        with tempfile.TemporaryDirectory(prefix="embers-shard-") as folder:
            request = replace(self.request, ops=self.scripts, out=Path(folder), shard=shard)
            done = list(hunt(own, request, Machine(registry, unsandboxed=self.unsandboxed)))
        for one in done:
            one.build = self.build.name
        return done


def hunt(build: Build, request: HuntRequest, machine: Machine, cluster: Cluster | None = None) -> Iterator[Hunted]:
    """Sweep a build and yield each operator; the journal holds it before it is yielded, and is not run again.

    Args:
        build: whose operators are called.
        request: which of them, and how.
        machine: makes the runs.
        cluster: its nodes make them, where it is given.

    Raises:
        InputError: an operator, dtype, mode or device is unknown, or the folder of the journal cannot be used.
        SandboxError: no sandbox can be had, or the build has no database of samples.
        BuildError: the build is gone, or has become another one.
    """
    if unknown := [mode for mode in request.modes if mode not in MODES]:
        raise InputError(f"no mode {unknown[0]!r}: use {', '.join(MODES)}")
    if request.device not in build.devices:
        raise InputError(
            f"build {build.name} cannot use {request.device} here: use --device {' or '.join(build.devices)}"
        )
    journal = Journal(request.out)
    done = {one.key: one for one in journal.read()}
    with samples.runner_on(build, machine, rules().limits.start) as runner:
        modes = tuple(mode for mode in MODES if mode in request.modes)
        names = samples_of(runner)
        if "kernels" not in modes:
            names = {name: dtypes for name, dtypes in names.items() if not name.startswith(GUESSED)}
        wanted = chosen(names, request.ops, request.dtypes)
        version, where = digest(), environment_text(environment_of(build))
        asked = [
            Hunted(build.name, op, dtype, modes, version, where, build.public_version, request.device)
            for op, dtype in wanted
            if request.shard.has(op)
        ]
        yield from (done[one.key] for one in asked if one.key in done)
        left = [one for one in asked if one.key not in done]
        if cluster is None:
            found = groups.sweep(runner, left, request.jobs, rules().limits)
        else:
            plan = HuntPlan(build, request, list({one.op for one in left}), machine.unsandboxed)
            found = chain.from_iterable(cluster.run(plan, request.jobs))
        for one in found:
            if not one.ended.startswith(groups.NO_EVIDENCE):
                journal.append(one)
            yield one


def digest() -> str:
    """Of the code and the rules that decide what is found: after a change everything is run again."""
    limits = rules().limits
    code = bundle.script("hunt", "main", {"rules": resources.load_toml("oracles.toml"), "samples": limits.samples})
    return blake2b(code.encode(), digest_size=4).hexdigest()


def chosen(known: dict[str, list[str]], ops: Sequence[str], dtypes: Sequence[str]) -> list[tuple[str, str]]:
    """Operators and dtypes to run, by what the build has.

    Raises:
        InputError: an operator is unknown, or no operator has such a dtype.
    """
    ops = [_full_name(op, known) for op in ops]
    for dtype in dtypes:
        if not any(dtype in have for have in known.values()):
            raise InputError(f"no dtype {dtype!r}: use float32, float64, bfloat16, complex64 or int64")
    names = [name for name in known if not ops or name in ops or any(name.startswith(f"{op}.") for op in ops)]
    return [(name, dtype) for name in sorted(names) for dtype in dict.fromkeys(dtypes) if dtype in known[name]]


def _full_name(op: str, known: Iterable[str]) -> str:
    """The name of an operator as the build has it: ``gelu`` is nn.functional.gelu where no other name ends so.

    Raises:
        InputError: it has none, or several; the message names them.
    """
    if any(name == op or name.startswith(f"{op}.") for name in known):
        return op
    parts = [f"{name}.".partition(f".{op}.") for name in known]
    meant = sorted({f"{folder}.{op}" for folder, found, _ in parts if found})
    if len(meant) == 1:
        return meant[0]
    advice = f"did you mean {' or '.join(meant)}?" if meant else "names are as in torch, linalg.qr"
    raise InputError(f"no operator {op!r} among the samples of this build: {advice}")


def samples_of(runner: Runner) -> dict[str, list[str]]:
    """Operators of which a build has samples, with the dtypes of each.

    Raises:
        SandboxError: it tells none, or lacks a package that they import.
    """
    code = bundle.script("hunt", "names", {})
    return dict(samples.told(runner, Attempt("names", code, "hunt_names.py", timeout=rules().limits.timeout)))
