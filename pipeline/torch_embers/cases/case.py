"""Cases: one standalone Python file that shows one bug, with its facts as PEP 723 inline metadata.

Parsing is pure and executes nothing. The hash of a case covers its code and what decides a verdict; prose (docstring,
comments) and ``known_bad``, ``fixed_in`` are left out: writing down a measurement does not make it another case.

Source of the block's format: https://packaging.python.org/en/latest/specifications/inline-script-metadata/
"""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, Literal, get_args

from packaging.version import InvalidVersion, Version

from torch_embers import resources
from torch_embers.errors import InputError
from torch_embers.signature import Family, SignatureError, parse_family
from torch_embers.taxonomy import Taxonomy, TaxonomyError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

FAULT = "EMBERS_PLANT"
"""Variable of the environment that asks a case to inject its fault: 1."""
SPOIL = "spoil"
"""Function in the header of a case that injects it."""
Origin = Literal["curated", "fix_test", "report", "own"]
"""``own``: of a user's folder, see `embers run --cases`."""

Kind = Literal["bug", "timing", "advisory", "closing"]
"""What a shipped case is for: a bug of the catalog; a slow way beside a quick one, for `embers research perf`; the
proof of a security advisory; the call of an issue that was closed with "cannot reproduce"."""
KINDS: tuple[Kind, ...] = get_args(Kind)

ORACLES = ("self", "exception", "signal", "test")
DEVICES = ("cpu", "cuda", "mps")
SCHEMES = ("bug_type", "memory_type", "memory_subtype", "consequence")
KEYS = frozenset(
    {
        "kind",
        "issues",
        "relation",
        "requires",
        "known_bad",
        "fixed_in",
        "signature",
        "oracle",
        "timeout",
        "finalise",
        "evidence",
        *SCHEMES,
    }
)
UNHASHED = ("kind", "issues", "relation", "known_bad", "fixed_in")
"""What does not decide a verdict: what a case is for, which items it belongs to, and what was measured."""
RELATIONS = ("same", "sibling", "unknown")
"""``unknown``: the report could not be read, so nobody could compare; it counts as no relation."""
DEFAULT_TIMEOUT = 60.0
LONGEST_TIMEOUT = 3_600.0
LARGEST = 1 << 20
"""Bytes of a case: more is data, not a small repro."""
UNCOVERED = "cases/uncovered.toml"

BLOCK_START = "# /// script\n"
_BLOCK = re.compile(r"(?m)^# /// (?P<type>[a-zA-Z0-9-]+)$\s(?P<content>(^#(| .*)$\s)+)^# ///$")
_ISSUE = re.compile(r"([\w.-]{1,100}/[\w.-]{1,100})#([1-9]\d{0,8})")
_NEED = re.compile(
    r"(?P<what>memory|torch|threads)(?P<sign>>=|==|<=|<|>)(?P<value>[\w.+]+)|package:(?P<package>[\w.-]+)"
)
_TOML_LINE = re.compile(r"line (\d{1,6})")
_BYTES = re.compile(r"(\d{1,6})(GiB|MiB)")


class CaseError(InputError):
    """A file is no case: its metadata or its code cannot be used."""


class CaseKeyError(CaseError):
    """A key of the metadata is wrong; the message gets the line of the key where it is caught."""

    def __init__(self, key: str, message: str) -> None:
        super().__init__(message)
        self.key = key


@dataclass(frozen=True, slots=True)
class Need:
    """One thing that a case requires.

    Attributes:
        what: device, memory, torch, threads or package.
        sign: comparison, empty for device and package.
        value: device or package name, version, bytes or number of threads as text.
    """

    what: str
    sign: str
    value: str

    def __str__(self) -> str:
        """The requirement as a case file has it."""
        if self.what == "device":
            return self.value
        if self.what == "package":
            return f"package:{self.value}"
        shown = f"{int(self.value) / (1 << 30):g}GiB" if self.what == "memory" else self.value
        return f"{self.what}{self.sign}{shown}"


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

    @property
    def packages(self) -> tuple[str, ...]:
        """Packages it needs beside torch."""
        return tuple(n.value for n in self.needs if n.what == "package")

    def runs_on_version(self, version: str) -> bool:
        """Whether its requirements on torch admit a version."""
        own = Version(version.partition("+")[0])
        wanted = [n for n in self.needs if n.what == "torch"]
        return all(_compare(own, need.sign, Version(need.value)) for need in wanted)


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
    except CaseKeyError as error:
        raise CaseError(f"{name}: {_line_of(text, error.key)}{error}") from error


def _parse(text: str, name: str, origin: Origin) -> Case:
    meta = _metadata(text, name)
    tree = _tree(text, name)
    if "torch" not in [re.split(r"[ <>=!~\[;]", d)[0] for d in _texts(meta, "dependencies", name)]:
        raise CaseError(f'{name}: dependencies must name "torch"')
    tool = meta.get("tool")
    embers = tool.get("embers") if isinstance(tool, dict) else None
    if not isinstance(embers, dict):
        raise CaseError(f"{name}: the metadata has no [tool.embers] table")
    if unknown := sorted(set(embers) - KEYS):
        known = ", ".join(sorted(KEYS))
        raise CaseKeyError(unknown[0], f"unknown key {unknown[0]!r} in [tool.embers]; known are {known}")
    summary = (ast.get_docstring(tree) or "").strip()
    if not summary:
        raise CaseError(f"{name}: no docstring: one paragraph must say what is done, what should happen, what happens")
    oracle = embers.get("oracle", "self")
    if oracle not in ORACLES:
        raise CaseError(f"{name}: oracle {oracle!r} is none of {', '.join(ORACLES)}")
    kind = embers.get("kind", "bug")
    if kind not in KINDS:
        raise CaseKeyError("kind", f"kind {kind!r} is none of {', '.join(KINDS)}")
    declared = _signature(embers, name)
    issues = _issues(embers, name)
    if origin == "curated" and len(set(issues)) < len(issues):
        raise CaseError(f"{name}: issues names one of them twice")
    known_bad = tuple(_version(v, name) for v in _texts(embers, "known_bad", name))
    fixed_in = _version(_text(embers, "fixed_in", name), name) if "fixed_in" in embers else None
    if fixed_in and (later := [v for v in known_bad if Version(v) >= Version(fixed_in)]):
        raise CaseError(f"{name}: fixed_in {fixed_in}, but known_bad has {later[0]}")
    if not isinstance(embers.get("finalise", False), bool):
        raise CaseError(f"{name}: finalise must be true or false")
    case = Case(
        name=name,
        kind=kind,
        origin=origin,
        code=text,
        summary=summary,
        issues=issues,
        relations=_relations(embers, issues),
        labels=_labels(embers, name),
        needs=tuple(_need(text, name) for text in _texts(embers, "requires", name)),
        known_bad=known_bad,
        fixed_in=fixed_in,
        signature_texts=declared[0],
        signature=declared[1],
        oracle=oracle,
        timeout=_timeout(embers, name),
        finalise=embers.get("finalise", False) is True,
        hash=case_hash(text, tree, meta, origin),
    )
    if not any(need.what == "device" for need in case.needs):
        raise CaseError(f"{name}: requires must name at least one of {', '.join(DEVICES)}")
    return case


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
    blocks = [m for m in _BLOCK.finditer(text) if m["type"] == "script"]
    if len(blocks) != 1:
        what = "no" if not blocks else f"{len(blocks)}"
        raise CaseError(f"{name}: {what} metadata block: exactly one `# /// script` ... `# ///` is needed (PEP 723)")
    lines = blocks[0]["content"].splitlines(keepends=True)
    content = "".join(line[2:] if line.startswith("# ") else line[1:] for line in lines)
    try:
        return tomllib.loads(content)
    except tomllib.TOMLDecodeError as error:
        first = text.count("\n", 0, blocks[0].start()) + 1
        said = _TOML_LINE.sub(lambda match: f"line {first + int(match[1])}", str(error))
        raise CaseError(f"{name}: metadata block: {said}") from error
    except RecursionError as error:
        raise CaseError(f"{name}: metadata block: nested too deeply") from error


def _tree(text: str, name: str) -> ast.Module:
    try:
        return ast.parse(text)
    except SyntaxError as error:
        raise CaseError(f"{name}: line {error.lineno}: {error.msg}") from error
    except (ValueError, RecursionError, MemoryError) as error:
        raise CaseError(f"{name}: not Python: {error}") from error


def _text(table: Mapping[str, Any], key: str, name: str) -> str:
    text = table.get(key, "")
    if not isinstance(text, str):
        raise CaseError(f"{name}: {key} must be a text")
    return text


def _texts(table: Mapping[str, Any], key: str, name: str) -> list[str]:
    texts = table.get(key, [])
    if not isinstance(texts, list) or not all(isinstance(part, str) for part in texts):
        raise CaseError(f"{name}: {key} must be a list of texts")
    return texts


def _issues(table: Mapping[str, Any], name: str) -> tuple[tuple[str, int], ...]:
    issues = []
    for text in _texts(table, "issues", name):
        match = _ISSUE.fullmatch(text)
        if match is None:
            raise CaseError(f"{name}: issue {text!r} is not of the form owner/name#123")
        issues.append((match[1], int(match[2])))
    return tuple(issues)


def _relations(table: Mapping[str, Any], issues: tuple[tuple[str, int], ...]) -> dict[tuple[str, int], str]:
    """How closely the case shows each of its items: one word for all, or a table by item."""
    value = table.get("relation", {})
    by_item = dict.fromkeys((f"{repo}#{number}" for repo, number in issues), value) if isinstance(value, str) else value
    if not isinstance(by_item, dict):
        raise CaseKeyError("relation", "relation must be a word or a table by item")
    relations = {}
    for text, relation in by_item.items():
        match = _ISSUE.fullmatch(text)
        if match is None or (match[1], int(match[2])) not in issues:
            raise CaseKeyError("relation", f"relation names {text!r}, which is none of its issues")
        if relation not in RELATIONS:
            raise CaseKeyError("relation", f"relation {relation!r} to {text} is none of {', '.join(RELATIONS)}")
        relations[match[1], int(match[2])] = relation
    return relations


def _line_of(text: str, key: str) -> str:
    """The line of a key of the metadata, for a message; empty where it does not begin one."""
    named = re.compile(rf"#\s*[\"']?{re.escape(key)}[\"']?\s*[.=]|#\s*\[tool\.embers\.{re.escape(key)}\]")
    lines = enumerate(text.split("\n"), start=1)
    return next((f"line {place}: " for place, line in lines if named.match(line)), "")


def _labels(table: Mapping[str, Any], name: str) -> dict[str, str]:
    taxonomy = Taxonomy.load()
    labels: dict[str, str] = {}
    for scheme in SCHEMES:
        value = table.get(scheme)
        if value is None:
            continue
        if not taxonomy.applies(scheme, labels):
            raise CaseError(f"{name}: {scheme} does not apply here (bug_type is {labels.get('bug_type')!r})")
        parent = taxonomy.scheme(scheme).parent
        try:
            taxonomy.scheme(scheme).find(str(value), labels.get(parent[0]) if parent else None)
        except TaxonomyError as error:
            raise CaseError(f"{name}: {error}") from error
        labels[scheme] = str(value)
    return labels


def _need(text: str, name: str) -> Need:
    if text in DEVICES:
        return Need("device", "", text)
    match = _NEED.fullmatch(text)
    if match is None:
        raise CaseError(
            f"{name}: requirement {text!r} is none of "
            "cpu, cuda, mps, memory>=16GiB, torch>=2.1, package:scipy, threads>=2"
        )
    if match["package"]:
        return Need("package", "", match["package"])
    what, sign, value = match["what"], match["sign"], match["value"]
    if what == "torch":
        return Need(what, sign, _version(value, name))
    if sign != ">=":
        raise CaseError(f"{name}: requirement {text!r}: only >= has a meaning for {what}")
    if what == "threads" and re.fullmatch(r"[0-9]{1,6}", value):
        return Need(what, sign, value)
    size = _BYTES.fullmatch(value)
    if what == "memory" and size:
        return Need(what, sign, str(int(size[1]) << (30 if size[2] == "GiB" else 20)))
    raise CaseError(f"{name}: requirement {text!r}: {value!r} is no amount")


def _version(text: object, name: str) -> str:
    try:
        return str(Version(str(text)))
    except InvalidVersion as error:
        raise CaseError(f"{name}: {text!r} is no version") from error


def _compare(own: Version, sign: str, other: Version) -> bool:
    return {">=": own >= other, "==": own == other, "<=": own <= other, "<": own < other, ">": own > other}[sign]


def _signature(table: Mapping[str, Any], name: str) -> tuple[tuple[str, ...], Family]:
    value = table.get("signature", "")
    try:
        family = parse_family(value)
    except (SignatureError, TypeError) as error:
        raise CaseError(f"{name}: signature: {error}") from error
    return ((value,) if isinstance(value, str) else tuple(value)), family


def _timeout(table: Mapping[str, Any], name: str) -> float:
    value = table.get("timeout", DEFAULT_TIMEOUT)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= LONGEST_TIMEOUT:
        raise CaseError(f"{name}: timeout must be between 0 and {LONGEST_TIMEOUT:g} seconds")
    return float(value)


def metadata_lines(entries: Mapping[str, object]) -> Iterator[str]:
    """Lines of a metadata block for ``[tool.embers]`` with these entries (texts, numbers, booleans, lists, tables)."""
    yield "# /// script"
    yield '# dependencies = ["torch"]'
    yield "# [tool.embers]"
    for key, value in entries.items():
        yield f"# {key} = {_toml(value)}"
    yield "# ///"


def _toml(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, list | tuple):
        return "[" + ", ".join(_toml(part) for part in value) + "]"
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{_toml(key)} = {_toml(part)}" for key, part in value.items()) + "}"
    return '"' + "".join(map(_escaped, str(value))) + '"'


def _escaped(character: str) -> str:
    """A character within a TOML text; a lone surrogate, which TOML cannot hold, becomes a question mark."""
    if character in '"\\':
        return "\\" + character
    if 0xD800 <= ord(character) < 0xE000:
        return "?"
    if character.isprintable():
        return character
    return f"\\u{ord(character):04x}" if ord(character) <= 0xFFFF else f"\\U{ord(character):08x}"
