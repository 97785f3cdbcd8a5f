"""Audits a user's code: which of the known bugs of a release its calls can meet."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import json
import os
import re
import subprocess
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from torch_embers.audit import ignores
from torch_embers.audit.call_facts import shown_in
from torch_embers.audit.ignores import Ignored, Place
from torch_embers.audit.known import INTENDED, SEVERITIES, known_on
from torch_embers.errors import InputError
from torch_embers.torch_names import OFF, SHARED_METHODS, Uses, spellings, uses_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from torch_embers.audit.call_facts import Facts, Shown
    from torch_embers.audit.known import AuditRule, Bug, Known, Severity
    from torch_embers.torch_names import Dynamic, Use

Confidence = Literal["high", "possible", "not narrowed"]
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
OPTION = "--ignore"
_CELL_MAGIC = re.compile(r"\s*%%(\w+)")
_NOTEBOOK_COMMAND = re.compile(r"^(\s*)(?:[%!?].*|[\w.][\w., ]*=\s*[%!].*|[\w.]+\?{1,2}\s*)$")
"""A line that IPython takes: a magic, a command of the shell, also with its output kept, or a question."""
_ASK = "import importlib.metadata as m; print(m.version('torch'))"


@dataclass(frozen=True, slots=True)
class AuditFinding:
    """A bug of the release that the audited code can meet; one bug has a finding per confidence.

    Attributes:
        confidence: ``high``: the arguments in the text can meet the bug; ``possible``: it depends on what no text
            shows, or the called object is not known.
        places: where, in order.
        used: the names that the code uses.
    """

    bug: Bug
    confidence: Confidence
    places: tuple[Place, ...]
    used: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Audited:
    """What came of an audit.

    Attributes:
        asked: the version that was asked for.
        subject: what was audited, in words; empty where no code was given.
        known: what was measured on it.
        findings: high ones first, of each kind the worst first.
        ignored: places that do not count, with the reason.
        expired: comments whose day is over, each with what it was about.
        not_met: bugs of the release that the code was not seen to use.
        intended: findings that were left out because maintainers call the behaviour intended.
        files: files that were read.
        files_with_torch: of these, those that import torch; in a folder or package without any nothing is found.
        unread: files that could not be, with the reason.
        dynamic: places whose names are made at run time.
        lines: the text of the files with findings.
    """

    asked: str
    subject: str
    known: Known
    findings: tuple[AuditFinding, ...]
    ignored: tuple[Ignored, ...]
    expired: tuple[str, ...]
    not_met: tuple[Bug, ...]
    intended: int
    files: int
    files_with_torch: int
    unread: Mapping[Path, str]
    dynamic: Sequence[tuple[Path, Dynamic]]
    lines: Mapping[Path, Sequence[str]]

    @property
    def high(self) -> list[AuditFinding]:
        """The findings that the text shows."""
        return [finding for finding in self.findings if finding.confidence == "high"]


@dataclass(frozen=True, slots=True)
class Accepted:
    """What a project has accepted, and the day of the audit.

    Attributes:
        cases: names of cases that count nowhere, as ``--ignore`` gave them.
        baseline: file with findings that do not count.
        today: the day on which comments hold or are over; None: the present one.
    """

    cases: frozenset[str] = frozenset()
    baseline: Path | None = None
    today: date | None = None


def audit(
    targets: Sequence[str],
    version: str,
    device: str = "cpu",
    *,
    intended: bool = False,
    accepted: Accepted | None = None,
) -> Audited:
    """Audit code against what was measured on a release.

    Args:
        targets: files, folders or names of installed packages; without any, all bugs of the release are told.
        version: of torch.
        device: cpu, cuda or mps.
        intended: also tell what maintainers call intended or superseded.
        accepted: what does not count.

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
        accepted=accepted,
        unread=unread,
        wholes=wholes,
        subject=", ".join(Path(target).resolve().name for target in targets),
    )
    if targets and not done.files:
        path, why = next(iter(done.unread.items()))
        if not any(path.suffix in FORMS for path in done.unread):
            raise InputError(f"nothing to read here: {path} is no Python: {why}")
        raise InputError(f"none of {len(done.unread)} files could be read: {path}: {why}")
    return done


def audit_texts(
    texts: Mapping[Path, str] | None,
    version: str,
    device: str = "cpu",
    *,
    intended: bool = False,
    accepted: Accepted | None = None,
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
        accepted: what does not count.
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
    shown: list[tuple[Path, Shown]] = []
    for path, text in (texts or {}).items():
        try:
            uses = uses_of(text)
            calls = shown_in(uses.tree) if uses.imports_torch else []
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            refused[path] = _reason(error)
            continue
        if uses.imports_torch or not uses.imports_arrays:
            read[path] = uses
            shown += [(path, call) for call in calls]
    if texts is None:
        met = [AuditFinding(bug, "not narrowed", (), ()) for bug in told]
    else:
        # a file that does not import torch may be given tensors, but not within a folder or package without torch
        apart = {
            path
            for whole in wholes
            if not any(path in refused or (path in read and read[path].imports_torch) for path in whole)
            for path in whole
        }
        index = _index({path: uses for path, uses in read.items() if path not in apart})
        arguments = {path: uses.arguments for path, uses in read.items() if path not in apart}
        by_name: dict[str, list[tuple[Path, Shown]]] = {}
        for path, call in shown:
            if path not in apart:
                by_name.setdefault(call.name, []).append((path, call))
        met = [finding for bug in told for finding in _findings(bug, index, arguments, by_name)]
    lines = {path: text.split("\n") for path, text in (texts or {}).items()}
    counted, ignored, expired = _accepted(met, texts or {}, lines, accepted or Accepted())
    return Audited(
        asked=version,
        subject="" if texts is None else subject or "code",
        known=known,
        findings=tuple(sorted(counted, key=_order)),
        ignored=tuple(sorted(ignored)),
        expired=tuple(expired),
        not_met=tuple(bug for bug in told if bug not in [finding.bug for finding in met]),
        intended=len(known.bugs) - len(told),
        files=len([path for path in texts or () if path not in refused]),
        files_with_torch=sum(uses.imports_torch for uses in read.values()),
        unread=refused,
        dynamic=[(path, place) for path, uses in read.items() for place in uses.dynamic],
        lines=lines,
    )


def _accepted(
    met: Sequence[AuditFinding], texts: Mapping[Path, str], lines: Mapping[Path, Sequence[str]], accepted: Accepted
) -> tuple[list[AuditFinding], list[Ignored], list[str]]:
    """The findings that count, the places that do not, and comments that are over."""
    today = accepted.today or datetime.now(UTC).date()
    comments = {path: ignores.comments(path, texts[path]) for path in {at.file for one in met for at in one.places}}
    known = ignores.read_baseline(accepted.baseline) if accepted.baseline else None
    counted, ignored, expired = [], [], []
    for finding in met:
        case, kept = finding.bug.case.name, []
        for place in finding.places:
            comment = comments[place.file].get(place.line)
            reason = OPTION if case in accepted.cases else ""
            if comment and case in comment.cases:
                if comment.until is None or comment.until >= today:
                    reason = comment.reason
                else:
                    expired.append(f"{place.file}:{place.line}: the comment that ignores {case} ended {comment.until}")
            in_source = bool(reason) and reason != OPTION
            if not reason and known is not None and accepted.baseline:
                found = ignores.key(case, finding.confidence, place, lines, accepted.baseline)
                if known[found] > 0:
                    known[found] -= 1
                    reason = f"in {accepted.baseline.name}"
            if reason:
                ignored.append(Ignored(case, finding.confidence, place, reason, in_source))
            else:
                kept.append(place)
        if kept or not finding.places:
            counted.append(replace(finding, places=tuple(kept)))
    return counted, ignored, expired


def write_baseline(done: Audited, path: Path) -> int:
    """Write what was found, and what an older baseline accepted, as a baseline; the number of places.

    Raises:
        InputError: the file cannot be written.
    """
    places: list[tuple[str, str, Place]]
    places = [(one.bug.case.name, one.confidence, place) for one in done.findings for place in one.places]
    accepted = [one for one in done.ignored if not one.in_source and one.reason != OPTION]
    places += [(one.case, one.confidence, one.place) for one in accepted]
    return ignores.write_baseline(path, (ignores.key(*found, done.lines, path) for found in places))


def _reason(error: Exception) -> str:
    """An error in one line."""
    if isinstance(error, RecursionError | MemoryError):
        return "nested too deeply"
    if isinstance(error, SyntaxError) and error.lineno is not None:
        return f"{type(error).__name__}: {error.msg}, line {error.lineno}".splitlines()[0]
    return f"{type(error).__name__}: {error}".splitlines()[0]


def reaches(done: Audited, severity: Severity) -> bool:
    """Whether a finding is high and its bug this severe."""
    bad = SEVERITIES[: SEVERITIES.index(severity) + 1]
    return any(finding.bug.severity in bad for finding in done.high)


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
    if not target or not path.is_dir():
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
        raise InputError(f"{target}: nothing to read here: it holds no Python file and no notebook")
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
        try:
            return importlib.util.decode_source(content)
        except LookupError as error:  # `# coding: hex` and its kind encode no text
            raise ValueError(str(error)) from error
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


def _findings(
    bug: Bug,
    index: Index,
    arguments: Mapping[Path, frozenset[str]],
    shown: Mapping[str, Sequence[tuple[Path, Shown]]],
) -> list[AuditFinding]:
    """What of the code can meet a bug: what the arguments show, and what else is possible."""
    names = sorted({name for api in bug.apis for name in spellings(api)})
    high = [
        (Place(path, call.line), call.name.removesuffix("()"))
        for name in names
        for form in (name, f"{name}()")
        for path, call in shown.get(form, ())
        if shows(call, bug.rule)
    ]
    sure = {place for place, _ in high}
    sure |= {
        Place(path, call.line) for name in names for path, call in shown.get(name, ()) if _excludes(call, bug.rule)
    }
    near = not bug.conditions or _is_used(bug.conditions, index, arguments)
    possible = [
        (Place(path, use.line), name)
        for name in names
        for path, use in index.get(name, ())
        # a name that other objects have counts only where what the bug needs is somewhere in the program
        if (near or _is_torch(use)) and _may_meet(use, bug.rule) and Place(path, use.line) not in sure
    ]
    kinds: list[tuple[Confidence, list[tuple[Place, str]]]] = [("high", high), ("possible", possible)]
    return [
        AuditFinding(
            bug, confidence, tuple(sorted({place for place, _ in met})), tuple(sorted({name for _, name in met}))
        )
        for confidence, met in kinds
        if met
    ]


def shows(call: Shown, rule: AuditRule) -> bool:
    """Whether the text shows that the arguments of a call can meet a bug."""
    if (rule.gradient and not call.tracked) or any(call.of(name) for name in rule.unless):
        return False
    given = frozenset().union(*(facts for _, facts in call.arguments))
    return "cuda" not in given and any(_has(call, needed) for needed in rule.needs)


def _excludes(call: Shown, rule: AuditRule) -> bool:
    """Whether a constant of the call is not the one that a bug needs."""
    return bool(rule.needs) and all(
        any(_is_another_constant(call.of(place) or frozenset(), wanted) for place, wanted in needed.items())
        for needed in rule.needs
    )


def _is_another_constant(facts: Facts, wanted: Sequence[str]) -> bool:
    constants = {fact for fact in wanted if fact.startswith("=")}
    given = {fact for fact in facts if fact.startswith("=")}
    return bool(constants and given) and not given & constants


def _has(call: Shown, needed: Mapping[str, Sequence[str]]) -> bool:
    return all(_meets(call.of(place) or frozenset(), wanted) for place, wanted in needed.items())


def _meets(facts: Facts, wanted: Sequence[str]) -> bool:
    """Whether an argument has one of some facts, and none that must be missing.

    Half of a causal mask is open, so it hides no row.
    """
    missing = {fact.removeprefix("not ") for fact in wanted if fact.startswith("not ")}
    needed = {fact for fact in wanted if not fact.startswith("not ")}
    met = facts & needed - ({"-inf", "added -inf", "bool"} if "triangular" in facts else set())
    return not facts & missing and (bool(met) or not needed)


def _may_meet(use: Use, rule: AuditRule) -> bool:
    """Whether nothing in the file shows that a use cannot be one that the bug needs."""
    if rule.tensor and use.plain:
        return False
    return not rule.keyword or use.gives(rule.keyword, rule.value, rule.position) is not False


def _is_torch(use: Use) -> bool:
    """Whether a call is one of torch: by its full name, or of a method that plain Python objects lack."""
    head, _, method = use.name.rpartition(".")
    return use.called and not (head == "Tensor" and method in SHARED_METHODS)


def _is_used(conditions: Sequence[str], index: Index, arguments: Mapping[Path, frozenset[str]]) -> bool:
    """Whether the program uses one of the names, or a name below one, or gives one of the arguments in a call."""
    names = {name for condition in conditions for name in spellings(condition)}
    below = tuple(f"{condition}." for condition in conditions)
    given = {condition.removesuffix("=") for condition in conditions if condition.endswith("=")}
    met = [places for name, places in index.items() if name in names or (below and name.startswith(below))]
    return any(SWITCHED_OFF not in use.keywords for places in met for _, use in places) or any(
        present & given for present in arguments.values()
    )


def _order(finding: AuditFinding) -> tuple[bool, int, str]:
    """High findings first, then the worst."""
    return finding.confidence == "possible", SEVERITIES.index(finding.bug.severity), finding.bug.case.name
