"""Cases: one standalone Python file that shows one bug, with its facts as PEP 723 inline metadata.

Parsing is pure and executes nothing. The hash of a case covers its code and what decides a verdict; prose (docstring,
comments) and ``known_bad``, ``fixed_in`` are left out: writing down a measurement does not make it another case.

Source of the block's format: https://packaging.python.org/en/latest/specifications/inline-script-metadata/
"""

from __future__ import annotations

import ast
import json
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from hashlib import blake2b
from itertools import groupby
from typing import TYPE_CHECKING, Annotated, Any, Literal

from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.version import Version
from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, field_validator

from torch_embers import resources, toml_models
from torch_embers.errors import InputError
from torch_embers.signature import Family, parse_family
from torch_embers.taxonomy import Taxonomy

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pydantic import ValidationInfo

FAULT = "EMBERS_PLANT"
"""Variable of the environment that asks a case to inject its fault: 1."""
SPOIL = "spoil"
"""Function in the header of a case that injects it."""
Origin = Literal["curated", "fix_test", "report", "own"]
"""``own``: of a user's folder, see `embers run --cases`."""

Kind = Literal["bug", "timing", "advisory", "closing"]
"""What a shipped case is for: a bug of the catalog; a slow way beside a quick one, for `embers research perf`; the
proof of a security advisory; the call of an issue that was closed with "cannot reproduce"."""
DEVICES = ("cpu", "cuda", "mps")
SCHEMES = ("bug_type", "memory_type", "memory_subtype", "consequence")
UNHASHED = ("kind", "issues", "relation", "known_bad", "fixed_in")
"""What does not decide a verdict: what a case is for, which items it belongs to, and what was measured."""
LARGEST = 1 << 20
"""Bytes of a case: more is data, not a small repro."""
LARGEST_BLOCK = 16 << 10
"""Characters of a metadata block."""
MOST_DOTS = 250
"""In a line of it: tomllib takes time that grows with the square of the parts of a key."""
UNCOVERED = "cases/uncovered.toml"

BLOCK_START = "# /// script\n"
_OPENING = re.compile(r"# /// ([a-zA-Z0-9-]+)")
_CLOSING = "# ///"
_ISSUE = re.compile(r"([\w.-]{1,100}/[\w.-]{1,100})#([1-9]\d{0,8})")
_NEED = re.compile(
    rf"(?P<device>{'|'.join(DEVICES)})|package:(?P<package>[\w.-]+)|torch(?P<torch>[<>=!~].+)"
    r"|memory>=(?P<memory>[0-9]{1,6}[GM]iB)|threads>=(?P<threads>[0-9]{1,6})"
)
_TOML_LINE = re.compile(r"line (\d{1,6})")


class CaseError(InputError):
    """A file is no case: its metadata or its code cannot be used."""


@dataclass(frozen=True, slots=True)
class Need:
    """One thing that a case requires.

    Attributes:
        text: as the case file has it.
        what: device, memory, torch, threads or package.
        value: name of the device or package, specifier of versions, bytes or number of threads, as text.
    """

    text: str
    what: str
    value: str

    def __str__(self) -> str:
        """The requirement as the case file has it."""
        return self.text


@dataclass(frozen=True, slots=True)
class Case:
    """One case.

    Attributes:
        kind: what it is for.
        issues: (repository, number) of every item it shows.
        relations: how closely it shows an item, ``same`` or ``sibling``, or ``unknown`` where the report could not be
            read; items that nobody compared are left out.
        labels: class by scheme of data/taxonomy.toml.
        known_bad: versions on which it was measured to occur, oldest first.
        signature: failures that count; one of them is enough.
        timeout: seconds until a run is stopped.
        finalise: whether the interpreter must be ended in full, for crashes at exit.
        hash: of everything that decides a verdict.
    """

    name: str
    kind: Kind
    origin: Origin
    code: str
    summary: str
    issues: tuple[tuple[str, int], ...]
    relations: Mapping[tuple[str, int], str]
    labels: Mapping[str, str]
    needs: tuple[Need, ...]
    known_bad: tuple[str, ...]
    fixed_in: str | None
    signature_texts: tuple[str, ...]
    signature: Family
    oracle: str
    timeout: float
    finalise: bool
    hash: str

    @property
    def device(self) -> str:
        """The backend it is about: the accelerator it needs, else cpu."""
        return next((n.value for n in self.needs if n.what == "device" and n.value != "cpu"), "cpu")

    @property
    def threads(self) -> int:
        """Threads a run must have."""
        return max([1, *(int(n.value) for n in self.needs if n.what == "threads")])

    @property
    def memory(self) -> int:
        """Bytes of memory it needs at least; 0 where it does not say."""
        return max([0, *(int(n.value) for n in self.needs if n.what == "memory")])

    @property
    def injects(self) -> bool:
        """Whether it has a fault to inject into what it observes; a case of a user's own may have none."""
        return FAULT in self.code

    def runs_on_version(self, version: str) -> bool:
        """Whether its requirements on torch admit a version."""
        wanted = [SpecifierSet(need.value) for need in self.needs if need.what == "torch"]
        return all(one.contains(version, prereleases=True) for one in wanted)


def _issue(text: object) -> tuple[str, int]:
    match = _ISSUE.fullmatch(str(text))
    if match is None:
        raise ValueError(f"{text!r} is not of the form owner/name#123")
    return match[1], int(match[2])


def _need(text: object) -> Need:
    match = _NEED.fullmatch(str(text))
    if match is None:
        raise ValueError(
            f"{text!r} is none of {', '.join(DEVICES)}, memory>=16GiB, torch>=2.1, package:scipy, threads>=2"
        )
    what = str(match.lastgroup)
    value = match[what]
    if what == "torch":
        value = str(SpecifierSet(value))
    elif what == "memory":
        value = str(int(value[:-3]) << (30 if value.endswith("GiB") else 20))
    return Need(match[0], what, value)


def _version(text: str) -> str:
    return str(Version(text))


def _signature(value: Any) -> tuple[tuple[str, ...], Family]:
    family = parse_family(value)
    return ((value,) if isinstance(value, str) else tuple(value)), family


_Issue = Annotated[tuple[str, int], BeforeValidator(_issue)]
_Version = Annotated[str, AfterValidator(_version)]


class _Facts(BaseModel):
    """The table ``[tool.embers]``; docs/cases.md says what each key means."""

    model_config = ConfigDict(extra="forbid", strict=True)

    kind: Kind = "bug"
    issues: list[_Issue] = Field(default_factory=list)
    relation: dict[_Issue, Literal["same", "sibling", "unknown"]] = Field(default_factory=dict)
    bug_type: str | None = None
    memory_type: str | None = None
    memory_subtype: str | None = None
    consequence: str | None = None
    requires: list[Annotated[Need, BeforeValidator(_need)]]
    known_bad: list[_Version] = Field(default_factory=list)
    fixed_in: _Version | None = None
    signature: Annotated[Any, AfterValidator(_signature)]
    oracle: Literal["self", "exception", "signal", "test"] = "self"
    timeout: float = Field(60.0, gt=0, le=3_600)
    finalise: bool = False
    evidence: str = ""

    @field_validator("relation", mode="before")
    @classmethod
    def _of_all(cls, value: object, info: ValidationInfo) -> object:
        """One word stands for all items."""
        named = (f"{repo}#{number}" for repo, number in info.data.get("issues", ()))
        return dict.fromkeys(named, value) if isinstance(value, str) else value

    @field_validator("relation")
    @classmethod
    def _of_issues(cls, value: Mapping[tuple[str, int], str], info: ValidationInfo) -> Mapping[tuple[str, int], str]:
        if strange := [f"{repo}#{number}" for repo, number in value.keys() - set(info.data.get("issues", ()))]:
            raise ValueError(f"it names {strange[0]!r}, which is none of its issues")
        return value

    @field_validator("requires")
    @classmethod
    def _device(cls, value: list[Need]) -> list[Need]:
        if not any(need.what == "device" for need in value):
            raise ValueError(f"it must name at least one of {', '.join(DEVICES)}")
        return value

    @field_validator("fixed_in")
    @classmethod
    def _after_the_bad(cls, value: str | None, info: ValidationInfo) -> str | None:
        if value and (later := [bad for bad in info.data.get("known_bad", ()) if Version(bad) >= Version(value)]):
            raise ValueError(f"it is {value}, but known_bad has {later[0]}")
        return value


class _Tool(BaseModel):
    embers: _Facts


class _Block(BaseModel):
    """A metadata block."""

    dependencies: list[str]
    tool: _Tool

    @field_validator("dependencies")
    @classmethod
    def _torch(cls, value: list[str]) -> list[str]:
        if "torch" not in [Requirement(one).name for one in value]:
            raise ValueError('it must name "torch"')
        return value


def parse(text: str, name: str, origin: Origin = "curated") -> Case:
    """Read one case.

    Args:
        text: the whole file.
        name: its file name without ``.py``.
        origin: where it comes from.

    Raises:
        CaseError: metadata missing, doubled or with unknown keys or classes; no docstring; syntax errors.
    """
    if len(text) > LARGEST:
        raise CaseError(f"{name}: {len(text):,} characters are no small repro, at most {LARGEST:,} are taken")
    try:
        return _parse(text, name, origin)
    except ValidationError as error:
        raise CaseError(f"{name}: {_line_of(text, error)}{toml_models.wrong(error)}") from error
    except (RecursionError, MemoryError) as error:
        raise CaseError(f"{name}: nested too deeply") from error


def _parse(text: str, name: str, origin: Origin) -> Case:
    meta = _metadata(text, name)
    try:
        tree = ast.parse(text)
    except SyntaxError as error:
        raise CaseError(f"{name}: line {error.lineno}: {error.msg}") from error
    except ValueError as error:
        raise CaseError(f"{name}: not Python: {error}") from error
    facts = _Block.model_validate(meta).tool.embers
    summary = (ast.get_docstring(tree) or "").strip()
    if not summary:
        raise CaseError(f"{name}: no docstring: one paragraph must say what is done, what should happen, what happens")
    labels = {scheme: value for scheme in SCHEMES if (value := getattr(facts, scheme)) is not None}
    if problems := Taxonomy.load().problems(list(labels.items())):
        raise CaseError(f"{name}: {problems[0]}")
    if origin == "curated" and len(set(facts.issues)) < len(facts.issues):
        raise CaseError(f"{name}: issues names one of them twice")
    return Case(
        name=name,
        kind=facts.kind,
        origin=origin,
        code=text,
        summary=summary,
        issues=tuple(facts.issues),
        relations=facts.relation,
        labels=labels,
        needs=tuple(facts.requires),
        known_bad=tuple(facts.known_bad),
        fixed_in=facts.fixed_in,
        signature_texts=facts.signature[0],
        signature=facts.signature[1],
        oracle=facts.oracle,
        timeout=facts.timeout,
        finalise=facts.finalise,
        hash=case_hash(text, tree, meta, origin),
    )


def case_hash(text: str, tree: ast.Module, meta: Mapping[str, Any], origin: Origin) -> str:
    """Hash of the code without prose and fault, and of the metadata without what was measured; 32 hexadecimal digits.

    Another fault to inject does not make it another case, but in a user's own folder, where no review sees it. Where
    the code is not plain enough to be unparsed (deep nesting), its text is hashed as it stands.
    """
    kept = {k: v for k, v in meta.get("tool", {}).get("embers", {}).items() if k not in UNHASHED}
    try:
        body = tree.body[1:] if ast.get_docstring(tree) is not None else tree.body
        program = ast.Module(body=body, type_ignores=[])
        code = ast.unparse(program if origin == "own" else _WithoutFault().visit(program))
    except RecursionError:
        code = text
    digest = blake2b(digest_size=16)
    for part in (repr(sorted(kept.items())), repr(meta.get("dependencies")), code):
        digest.update(part.encode("utf-8", "surrogatepass") + b"\0")
    return digest.hexdigest()


def is_fault(node: ast.AST) -> bool:
    """Whether a statement injects the fault: ``x = spoil(x)``, or ``spoil(None)`` where the fault ends the process."""
    call = node.value if isinstance(node, ast.Assign | ast.Expr) else None
    if not (isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == SPOIL) or call.keywords:
        return False
    given = [ast.unparse(argument) for argument in call.args]
    return given == ([ast.unparse(one) for one in node.targets] if isinstance(node, ast.Assign) else ["None"])


class _WithoutFault(ast.NodeTransformer):
    """Takes the injected fault out of a case: the function, and the line that calls it."""

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        return ast.Pass() if node.name == SPOIL else self.generic_visit(node)

    def visit(self, node: ast.AST) -> Any:
        if isinstance(node, ast.expr):  # holds no statement
            return node
        return ast.Pass() if is_fault(node) else super().visit(node)


def load(path: Path, origin: Origin = "curated") -> Case:
    """Read a case file.

    Raises:
        CaseError: not readable, not UTF-8, or no case.
    """
    try:
        text = path.read_bytes().decode("utf-8")
    except UnicodeDecodeError as error:
        raise CaseError(f"{path}: not UTF-8 (byte {error.start}): save it as UTF-8") from error
    except OSError as error:
        raise CaseError(f"{path}: {error.strerror}") from error
    return parse(text.replace("\r\n", "\n"), path.stem, origin)


def shipped(kind: Kind | None = "bug") -> list[Case]:
    """The cases of one kind, or of all, in ``data/cases``, by name; a process reads the folder once.

    Raises:
        CaseError: one of them cannot be used.
    """
    return [case for case in _loaded(_folder()) if kind in (None, case.kind)]


@cache
def _loaded(folder: Path) -> tuple[Case, ...]:
    return tuple(load(path) for path in sorted(folder.glob("*.py")))


def uncovered() -> dict[tuple[str, int], str]:
    """Why an item that one would expect a case for has none: reason by (repository, number)."""
    entries = resources.load_toml(UNCOVERED).get("issue", [])
    return {(e["repo"], int(e["number"])): str(e["reason"]) for e in entries}


def _folder() -> Path:
    return resources.data_file(UNCOVERED).parent


def _metadata(text: str, name: str) -> dict[str, Any]:
    blocks = list(_blocks(text))
    if len(blocks) != 1:
        what = len(blocks) or "no"
        raise CaseError(f"{name}: {what} metadata block: exactly one `# /// script` ... `# ///` is needed (PEP 723)")
    [(first, lines)] = blocks
    content = "".join(f"{line[2:]}\n" for line in lines)
    if len(content) > LARGEST_BLOCK:
        raise CaseError(f"{name}: metadata block: {len(content):,} characters, at most {LARGEST_BLOCK:,} are taken")
    if (most := max(line.count(".") for line in lines)) > MOST_DOTS:
        raise CaseError(f"{name}: metadata block: {most:,} dots in one line, at most {MOST_DOTS} are taken")
    try:
        return tomllib.loads(content)
    except ValueError as error:
        said = _TOML_LINE.sub(lambda match: f"line {first + int(match[1])}", str(error))
        raise CaseError(f"{name}: metadata block: {said}") from error


def _blocks(text: str) -> Iterator[tuple[int, list[str]]]:
    """The blocks of the type ``script``, each with the line of its opening, from 1.

    A block ends at the last closing line among the comments that follow without a gap, so these hold one block at most.
    """
    place = 1
    for _, run in groupby(text.split("\n"), key=lambda line: line == "#" or line.startswith("# ")):
        lines = list(run)
        first = next((at for at, line in enumerate(lines) if _OPENING.fullmatch(line)), len(lines))
        last = max((at for at, line in enumerate(lines) if line == _CLOSING), default=0)
        if last > first + 1 and lines[first] == BLOCK_START.rstrip():
            yield place + first, lines[first + 1 : last]
        place += len(lines)


def _line_of(text: str, error: ValidationError) -> str:
    """The line of the key of ``[tool.embers]`` that an error is about; empty where no line begins with it."""
    way = error.errors(include_url=False)[0]["loc"]
    key = re.escape(str(way[2])) if len(way) > 2 else ""
    named = re.compile(rf"#\s*[\"']?{key}[\"']?\s*[.=]|#\s*\[tool\.embers\.{key}\]")
    lines = enumerate(text.split("\n"), start=1)
    return next((f"line {place}: " for place, line in lines if key and named.match(line)), "")


def metadata_lines(entries: Mapping[str, object]) -> Iterator[str]:
    """Lines of a metadata block for ``[tool.embers]`` with these entries (texts, numbers, booleans, lists, tables)."""
    yield BLOCK_START.rstrip()
    yield '# dependencies = ["torch"]'
    yield "# [tool.embers]"
    for key, value in entries.items():
        yield f"# {key} = {_toml(value)}"
    yield _CLOSING


def _toml(value: object) -> str:
    """A value as TOML, which has the texts of JSON but for the character 7F and lone surrogates."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{_toml(key)} = {_toml(part)}" for key, part in value.items()) + "}"
    text = json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    return text.encode("utf-8", "replace").decode("utf-8")
