"""Audits a user's code: which of the known bugs of a release its calls can meet."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import json
import os
import re
import subprocess
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from torch_embers.audit.known import INTENDED, SEVERITIES, known_on
from torch_embers.errors import InputError
from torch_embers.repro.torch_names import OFF, SHARED_METHODS, Uses, spellings, uses_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from torch_embers.audit.known import Bug, Known, Severity, Spelling
    from torch_embers.repro.torch_names import Dynamic, Use

Nearness = Literal["calls", "may call", "not narrowed"]
"""How sure it is that the code can meet the bug; ``not narrowed`` where no code was given."""
LARGEST = 4 << 20
"""Bytes of a file that is read: generated code beyond that tells nothing about what a person wrote."""
FORMS = (".py", ".ipynb")
SKIPPED = frozenset({"__pycache__", "node_modules", "site-packages"})
"""Folders in which no code of the user's own lies; hidden ones are left out, too."""
BUILT = frozenset({"build", "dist"})
"""Folders of what was mostly built; that they are left out is told."""
PYTHON_MAGICS = frozenset({"time", "timeit", "capture", "prun"})
"""Magics of a whole cell whose text is Python."""
SWITCHED_OFF = ("enabled", OFF)
"""A context such as autocast with this argument brings nothing that a bug needs."""
_CELL_MAGIC = re.compile(r"\s*%%(\w+)")
_NOTEBOOK_COMMAND = re.compile(r"^(\s*)(?:[%!?].*|[\w.][\w., ]*=\s*[%!].*|[\w.]+\?{1,2}\s*)$")
"""A line that IPython takes: a magic, a command of the shell, also with its output kept, or a question."""
_ASK = "import importlib.metadata as m; print(m.version('torch'))"


@dataclass(frozen=True, slots=True, order=True)
class Place:
    """A line of the audited code."""

    file: Path
    line: int


@dataclass(frozen=True, slots=True)
class Finding:
    """A bug of the release that the audited code can meet.

    Attributes:
        nearness: ``calls``: a function or class of torch by its full name, or a method that plain Python objects lack,
            with what the bug needs in the same file; ``may call``: by a name that other objects have, or without that.
        places: where, in order.
        used: the names that the code uses.
    """

    bug: Bug
    nearness: Nearness
    places: tuple[Place, ...]
    used: tuple[str, ...]

    @property
    def is_shown(self) -> bool:
        """Whether the text shows the call and what the bug needs beside it; the numbers stay open."""
        return self.nearness == "calls" and self.bug.spelling.is_conditional


@dataclass(frozen=True, slots=True)
class Audited:
    """What came of an audit.

    Attributes:
        asked: the version that was asked for.
        subject: what was audited, in words; empty where no code was given.
        known: what was measured on it.
        findings: the worst first.
        not_met: bugs of the release that the code was not seen to use.
        intended: findings that were left out because maintainers call the behaviour intended.
        files: files that were read.
        files_with_torch: of these, those that import torch; in a folder or package without any nothing is found.
        unread: files that could not be, with the reason.
        dynamic: places whose names are made at run time.
    """

    asked: str
    subject: str
    known: Known
    findings: tuple[Finding, ...]
    not_met: tuple[Bug, ...]
    intended: int
    files: int
    files_with_torch: int
    unread: Mapping[Path, str]
    dynamic: Sequence[tuple[Path, Dynamic]]


def audit(targets: Sequence[str], version: str, device: str = "cpu", *, intended: bool = False) -> Audited:
    """Audit code against what was measured on a release.

    Args:
        targets: files, folders or names of installed packages; without any, all bugs of the release are told.
        version: of torch.
        device: cpu, cuda or mps.
        intended: also tell what maintainers call intended or superseded.

    Raises:
        InputError: no such file or package, nothing to read in it, or nothing was measured on the version or device.
    """
    known_on(version, device)  # refused before anything is read
    texts: dict[Path, str] = {}
    unread: dict[Path, str] = {}
    found = {target: _files(target, unread) for target in targets}
    for path in sorted({path for paths in found.values() for path in paths}):
        try:
            texts[path] = _text(path)
        except (SyntaxError, ValueError, OSError, RecursionError, MemoryError) as error:
            unread[path] = _reason(error)
    wholes = [paths for target, paths in found.items() if not Path(target).is_file()]
    done = audit_texts(
        texts if targets else None,
        version,
        device,
        intended=intended,
        unread=unread,
        wholes=wholes,
        subject=", ".join(Path(target).resolve().name for target in targets),
    )
    if targets and not done.files:
        path, why = next(iter(done.unread.items()))
        raise InputError(f"none of {len(done.unread)} files could be read: {path}: {why}")
    return done


def audit_texts(
    texts: Mapping[Path, str] | None,
    version: str,
    device: str = "cpu",
    *,
    intended: bool = False,
    unread: Mapping[Path, str] | None = None,
    wholes: Sequence[Sequence[Path]] = (),
    subject: str = "",
) -> Audited:
    """Audit texts that were read already.

    Args:
        texts: code by its name; None: no code, so all bugs of the release are told.
        version: of torch.
        device: cpu, cuda or mps.
        intended: also tell what maintainers call intended or superseded.
        unread: files that could not be read, with the reason.
        wholes: files that make up a folder or package; where none of its files imports torch, nothing is found in it.
        subject: what the texts are, in words.

    Raises:
        InputError: nothing was measured on the version or device.
    """
    known = known_on(version, device)
    told = [bug for bug in known.bugs if intended or bug.standing not in INTENDED]
    refused = dict(unread or {})
    read: dict[Path, Uses] = {}
    for path, text in (texts or {}).items():
        try:
            uses = uses_of(text)
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            refused[path] = _reason(error)
            continue
        if uses.imports_torch or not uses.imports_arrays:
            read[path] = uses
    if texts is None:
        met = [Finding(bug, "not narrowed", (), ()) for bug in told]
    else:
        # a file that does not import torch may be given tensors, but not within a folder or package without torch
        apart = {
            path
            for whole in wholes
            if not any(_may_have_torch(path, read, refused) for path in whole)
            for path in whole
        }
        index = _index({path: uses for path, uses in read.items() if path not in apart})
        arguments = {path: uses.arguments for path, uses in read.items() if path not in apart}
        met = [finding for bug in told if (finding := _finding(bug, index, arguments)) is not None]
    return Audited(
        asked=version,
        subject="" if texts is None else subject or "code",
        known=known,
        findings=tuple(sorted(met, key=_order)),
        not_met=tuple(bug for bug in told if bug not in [finding.bug for finding in met]),
        intended=len(known.bugs) - len(told),
        files=len([path for path in texts or () if path not in refused]),
        files_with_torch=sum(uses.imports_torch for uses in read.values()),
        unread=refused,
        dynamic=[(path, place) for path, uses in read.items() for place in uses.dynamic],
    )


def _may_have_torch(path: Path, read: Mapping[Path, Uses], unread: Mapping[Path, str]) -> bool:
    return path in unread or (path in read and read[path].imports_torch)


def _reason(error: Exception) -> str:
    """An error in one line."""
    if isinstance(error, RecursionError | MemoryError):
        return "nested too deeply"
    if isinstance(error, SyntaxError) and error.lineno is not None:
        return f"{type(error).__name__}: {error.msg}, line {error.lineno}".splitlines()[0]
    return f"{type(error).__name__}: {error}".splitlines()[0]


def reaches(done: Audited, severity: Severity) -> bool:
    """Whether ordinary inputs can meet a bug this severe: the code shows what it needs, or no code was given."""
    bad = SEVERITIES[: SEVERITIES.index(severity) + 1]
    return any(
        one.bug.severity in bad and (one.is_shown or one.nearness == "not narrowed")
        for one in done.findings
        if one.bug.spelling.input == "ordinary"
    )


def installed_version(python: Path | None = None) -> str:
    """The version of torch beside embers, or in another interpreter; torch is not imported.

    Raises:
        InputError: no torch there, or no such interpreter.
    """
    if python is None:
        try:
            return importlib.metadata.version("torch")
        except importlib.metadata.PackageNotFoundError as error:
            raise InputError(
                "no torch is installed beside embers: name a release by --torch, or an interpreter by --python"
            ) from error
    try:
        asked = subprocess.run([python, "-I", "-c", _ASK], capture_output=True, text=True, check=True, timeout=60)
    except (OSError, subprocess.SubprocessError) as error:
        raise InputError(f"--python {python}: no interpreter with torch") from error
    return asked.stdout.strip()


def _files(target: str, unread: dict[Path, str]) -> list[Path]:
    """The Python files and notebooks that a target stands for; what is not entered goes to ``unread``.

    Raises:
        InputError: there are none.
    """
    path = Path(target)
    if path.is_file():
        return [path]
    if not path.is_dir():
        path = _package(target)
    if path.is_file():
        return [path]
    found: list[Path] = []

    def refused(error: OSError) -> None:
        unread[Path(error.filename)] = _reason(error)

    for folder, below, names in os.walk(path, onerror=refused):
        links = [name for name in below if Path(folder, name).is_symlink()]
        built = [name for name in below if name in BUILT]
        unread.update(dict.fromkeys((Path(folder, name) for name in links), "a link to a folder is not followed"))
        unread.update(dict.fromkeys((Path(folder, name) for name in built), "built files are left out; name it"))
        below[:] = [name for name in below if name not in (*SKIPPED, *BUILT, *links) and not name.startswith(".")]
        found += [Path(folder, name) for name in names if name.endswith(FORMS) and Path(folder, name).is_file()]
    if not found:
        raise InputError(f"{target}: no Python file in it")
    return found


def _package(name: str) -> Path:
    """The folder or file of an installed package; it is not imported."""
    try:
        spec = importlib.util.find_spec(name) if name.isidentifier() else None
    except (ImportError, ValueError):
        spec = None
    if spec is None or not (spec.submodule_search_locations or spec.origin):
        raise InputError(f"{name}: no such file, folder or installed package")
    return Path(spec.submodule_search_locations[0] if spec.submodule_search_locations else str(spec.origin))


def _text(path: Path) -> str:
    """A file's code; of a notebook that of its cells, without commands of the notebook itself.

    Raises:
        SyntaxError: its encoding is unknown.
        ValueError: it is too large, not in its encoding, or no notebook.
        OSError: it cannot be read.
    """
    if path.stat().st_size > LARGEST:
        raise ValueError(f"larger than {LARGEST >> 20} MiB")
    content = path.read_bytes()
    if path.suffix != ".ipynb":
        return importlib.util.decode_source(content)
    try:
        cells = json.loads(content)["cells"]
        codes = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    except (KeyError, TypeError) as error:
        raise ValueError("no notebook of format 4: it has no list of cells with their source") from error
    return "\n".join(line for code in codes for line in _python_of_cell(code))


def _python_of_cell(code: str) -> list[str]:
    """The lines of a notebook's cell; ``pass`` stands for its commands, so that lines keep their numbers."""
    lines = code.splitlines()
    other_language = _CELL_MAGIC.match(code)
    if other_language and other_language[1] not in PYTHON_MAGICS:
        return ["pass"] * len(lines)
    return [_NOTEBOOK_COMMAND.sub(r"\1pass", line) for line in lines]


Index = dict[str, list[tuple["Path", "Use"]]]
"""Uses by name."""


def _index(read: Mapping[Path, Uses]) -> Index:
    index: Index = {}
    for path, uses in read.items():
        for use in uses.found:
            # a file without torch may be given tensors all the same
            known = use if uses.imports_torch else replace(use, called=False)
            index.setdefault(use.name, []).append((path, known))
    return index


def _finding(bug: Bug, index: Index, arguments: Mapping[Path, frozenset[str]]) -> Finding | None:
    """What of the code can meet a bug; None where nothing can."""
    spelling = bug.spelling
    met = [
        (path, use)
        for api in spelling.apis
        for name in spellings(api)
        for path, use in index.get(name, ())
        if _may_meet(use, spelling)
    ]
    near = _files_with(bug.conditions, index, arguments)
    sure = [(path, use) for path, use in met if _is_certain(use, spelling)]
    calls = [(path, use) for path, use in sure if not _taken_away(use, spelling)]
    calls = [(path, use) for path, use in calls if not bug.conditions or path in near]
    # a name that other objects have counts only where what the bug needs is somewhere in the program
    may_call = [(path, use) for path, use in met if (path, use) in sure or not bug.conditions or near]
    shown = calls or may_call
    if not shown:
        return None
    return Finding(
        bug=bug,
        nearness="calls" if calls else "may call",
        places=tuple(sorted({Place(path, use.line) for path, use in shown})),
        used=tuple(sorted({use.name for _, use in shown})),
    )


def _may_meet(use: Use, spelling: Spelling) -> bool:
    """Whether nothing in the file shows that a use cannot be one that the bug needs."""
    if spelling.tensor and use.plain:
        return False
    return not spelling.keyword or use.gives(spelling.keyword, spelling.value, spelling.position) is not False


def _taken_away(use: Use, spelling: Spelling) -> bool:
    """Whether the call shows something that mostly takes the bug away."""
    given = {f"{name}=" for name, _ in use.keywords}
    return any(entry in given or entry == use.operand for entry in spelling.unless)


def _files_with(conditions: Sequence[str], index: Index, arguments: Mapping[Path, frozenset[str]]) -> set[Path]:
    """The files that use one of the names, or a name below one, or give one of the arguments in a call."""
    names = {name for condition in conditions for name in spellings(condition)}
    below = tuple(f"{condition}." for condition in conditions)
    given = {condition.removesuffix("=") for condition in conditions if condition.endswith("=")}
    met = [places for name, places in index.items() if name in names or (below and name.startswith(below))]
    used = {path for places in met for path, use in places if SWITCHED_OFF not in use.keywords}
    return used | {path for path, present in arguments.items() if present & given}


def _is_certain(use: Use, spelling: Spelling) -> bool:
    """Whether a use is torch's (its full name, or a method that plain objects lack), with the argument that counts."""
    head, _, method = use.name.rpartition(".")
    if not use.called or (head == "Tensor" and method in SHARED_METHODS):
        return False
    return not spelling.keyword or use.gives(spelling.keyword, spelling.value, spelling.position) is True


def _order(finding: Finding) -> tuple[bool, int, bool, str]:
    """Bugs that ordinary inputs meet first, then the worst and surest."""
    bug = finding.bug
    is_unusual, is_unsure = bug.spelling.input == "unusual", finding.nearness == "may call"
    return is_unusual, SEVERITIES.index(bug.severity), is_unsure, bug.case.name
