"""Which names of torch, and of what else it imports, a Python file uses. Its syntax tree is read, nothing is run.

Names are followed through imports and plain assignments (``F = torch.nn.functional``). The class of an object is not
known, so a method is known by its name alone. What no reading of the text can settle is told: names made at run time,
imports of everything, code in texts.
"""

from __future__ import annotations

import ast
import re
import warnings
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from torch_embers.extract.names import undefined

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = "torch"
MAKING_CODE = frozenset({"eval", "exec", "compile", "__import__"})
"""Built-in functions that run code, or load a module, which the file need not spell out."""
INFINITY = frozenset({"inf", "infinity"})
OPERATOR_NAMESPACES = ("torch.ops.aten.", "torch._C._VariableFunctions.", "torch._C._nn.")
"""Where torch keeps its operators under the same names a second time."""
OFF = "\0off"
"""Stands for a constant argument that says no: False or None."""
ZERO = "0"
"""Stands for the constant zero, which says no unless it is what is asked for."""
MANY = 1_000
LOADERS = frozenset({"import_module", "importorskip"})
"""Functions that return the module whose name they get."""
OTHER_ARRAYS = frozenset({"numpy", "pandas", "jax", "tensorflow", "scipy", "cupy", "polars", "paddle"})
"""Packages whose objects have methods of the same names."""
MODULES = re.compile(r"^torch\.nn\.modules\.(?:\w+\.)?(?=[A-Z]\w*$)")
"""Where the classes of torch.nn are defined."""
Names = dict[str, set[str]]
"""What names stand for; more than one meaning where a file binds a name twice."""
SIGNS: dict[type[ast.operator | ast.cmpop], str] = {
    ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.Div: "truediv", ast.FloorDiv: "floordiv", ast.Mod: "mod",
    ast.Pow: "pow", ast.MatMult: "matmul", ast.BitAnd: "and", ast.BitOr: "or", ast.BitXor: "xor", ast.LShift: "lshift",
    ast.RShift: "rshift", ast.Lt: "lt", ast.LtE: "le", ast.Gt: "gt", ast.GtE: "ge", ast.Eq: "eq", ast.NotEq: "ne",
}  # fmt: skip
"""The method behind a sign, without its underscores."""
OWN = ("self", "cls")
SHARED_METHODS = frozenset(name for kind in (str, bytes, list, dict, set, tuple, int, float) for name in dir(kind))
"""Methods that plain Python objects have as well: by its name alone such a call is no call of a tensor."""


@dataclass(frozen=True, slots=True, order=True)
class Use:
    """One place that uses an imported name or a method.

    Attributes:
        line: in the file, from 1.
        name: dotted, from the package on; ``Tensor.x`` for a method called x of something.
        keywords: arguments given by name, each with its value if that is a text that stands in the file; ``**`` where
            some come from a dictionary.
        texts: texts given by position.
        positional: how many arguments are given by position; many where some come from a list.
        called: false where the name is only handed on.
        plain: whether the operands are numbers that stand in the file, or an index of such numbers and slices.
    """

    line: int
    name: str
    keywords: tuple[tuple[str, str], ...] = ()
    texts: tuple[str, ...] = ()
    positional: int = 0
    called: bool = True
    plain: bool = False

    def gives(self, keyword: str, value: str = "", position: int = MANY) -> bool | None:
        """Whether the call gives an argument; None where the file does not tell.

        Args:
            keyword: its name.
            value: what it must be; empty where any value but a constant "no" counts.
            position: place from which on it can be given without its name.
        """
        if value and value in self.texts:
            return True
        given = dict(self.keywords)
        if keyword in given:
            told = given[keyword]
            if told in (OFF, ZERO) and told != value:
                return False
            return not value or told == value or (None if not told else False)
        return None if "**" in given or not self.called or self.positional >= position else False


@dataclass(frozen=True, slots=True, order=True)
class Dynamic:
    """A place at which the text does not tell which name is used."""

    line: int
    why: str


@dataclass(slots=True)
class Uses:
    """What a file uses.

    Attributes:
        imports_torch: whether it imports torch or a part of it, or uses the name unbound.
        imports_arrays: whether it imports another package whose objects have such methods.
        arguments: names of arguments that some call gives, other than as a constant that says no.
        found: uses in order of lines.
        dynamic: places that cannot be read.
        tree: the file's syntax tree.
    """

    tree: ast.Module
    imports_torch: bool = False
    imports_arrays: bool = False
    arguments: frozenset[str] = frozenset()
    found: list[Use] = field(default_factory=list)
    dynamic: list[Dynamic] = field(default_factory=list)


def uses_of(code: str) -> Uses:
    """Read a file's text.

    Raises:
        SyntaxError: it is not Python of this interpreter's grammar.
        ValueError: it holds null bytes.
        RecursionError: it is nested too deeply.
        MemoryError: likewise.
    """
    text = code.removeprefix("\ufeff")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about escapes in somebody else's strings
        tree = ast.parse(text)
    reader = _Reader(names_of(tree))
    reader.visit(tree)
    if reader.stars and set(undefined(text, tree)) - reader.names.keys():
        reader.dynamic += [Dynamic(line, f"imports everything from {module}") for line, module in reader.stars]
    meant = {meaning.partition(".")[0] for meanings in reader.names.values() for meaning in meanings}
    return Uses(
        tree=tree,
        imports_torch=reader.imports_torch or any(use.name.partition(".")[0] == ROOT for use in reader.found),
        imports_arrays=bool(meant & OTHER_ARRAYS),
        arguments=frozenset(reader.arguments),
        found=sorted(set(reader.found)),
        dynamic=sorted(set(reader.dynamic)),
    )


def names_of(tree: ast.Module) -> Names:
    """What the names that the file binds by imports and plain assignments stand for; one table for the whole file.

    The name torch stands for the package also where the file gets it in some other way.
    """
    names: Names = {ROOT: {ROOT}}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                head = alias.name.partition(".")[0]
                names.setdefault(alias.asname or head, set()).add(alias.name if alias.asname else head)
        elif isinstance(node, ast.ImportFrom):
            module = "." * node.level + (node.module or "")
            for alias in node.names:
                names.setdefault(alias.asname or alias.name, set()).add(f"{module}.{alias.name}")
    for node in ast.walk(tree):
        for target, value in _assignments(node):
            for meaning in _module_loaded(value) or dotted(value, names):
                if meaning == ROOT or meaning.startswith(f"{ROOT}."):
                    names.setdefault(target, set()).add(meaning)
    return names


def _assignments(node: ast.AST) -> Iterator[tuple[str, ast.expr]]:
    """The names that a statement or expression binds, each with its value."""
    if isinstance(node, ast.AnnAssign | ast.NamedExpr) and node.value is not None:
        pairs: list[tuple[ast.expr, ast.expr]] = [(node.target, node.value)]
    elif isinstance(node, ast.Assign):
        pairs = [(target, node.value) for target in node.targets]
    else:
        return
    for target, value in pairs:
        if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple) and len(target.elts) == len(value.elts):
            pairs += zip(target.elts, value.elts, strict=True)
        elif isinstance(target, ast.Name):
            yield target.id, value


def _module_loaded(node: ast.expr) -> set[str]:
    """The module that a call such as ``import_module("torch.nn")`` returns."""
    if not isinstance(node, ast.Call) or not node.args:
        return set()
    called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    return {_text(node.args[0])} - {"", OFF} if called in LOADERS else set()


def dotted(node: ast.expr, names: Names) -> set[str]:
    """The full names that ``a.b.c`` can stand for where ``a`` was imported; none for anything else."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name):
        return set()
    return {".".join([meaning, *reversed(parts)]) for meaning in names.get(node.id, ())}


class _Reader(ast.NodeVisitor):
    """Collects uses; ``names`` says what the file's names stand for."""

    def __init__(self, names: Names) -> None:
        self.names = names
        self.imports_torch = False
        self.arguments: set[str] = set()
        self.stars: list[tuple[int, str]] = []
        self.found: list[Use] = []
        self.dynamic: list[Dynamic] = []

    def visit_Import(self, node: ast.Import) -> None:
        """An import of torch."""
        self.imports_torch |= any(alias.name.partition(".")[0] == ROOT for alias in node.names)

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        """An import of everything hides where names come from."""
        of_torch = not node.level and (node.module or "").partition(".")[0] == ROOT
        self.imports_torch |= of_torch
        if any(alias.name == "*" for alias in node.names):
            module = "." * node.level + (node.module or "")
            if of_torch:
                self.dynamic.append(Dynamic(node.lineno, f"imports everything from {module}"))
            else:
                self.stars.append((node.lineno, module))

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        """A function; what its annotations name is not used."""
        self._function(node)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> None:
        """Likewise."""
        self._function(node)

    def _function(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        defaults = [*node.args.defaults, *(default for default in node.args.kw_defaults if default is not None)]
        for part in (*node.decorator_list, *defaults, *node.body):
            self.visit(part)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        """A value; what its annotation names is not used."""
        if node.value is not None:
            self.visit(node.value)

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        """A class; those that it extends count as called."""
        for base in node.bases:
            self.found += [Use(base.lineno, operator(name)) for name in dotted(base, self.names)]
        self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> None:
        """A call of a known name, of a method, or of something that makes names."""
        keywords = tuple(sorted((word.arg or "**", _text(word.value)) for word in node.keywords))
        self.arguments |= {name for name, text in keywords if text not in (OFF, ZERO)}
        texts = tuple(text for text in map(_text, node.args) if text and text != OFF)
        positional = MANY if any(isinstance(part, ast.Starred) for part in node.args) else len(node.args)
        names = dotted(node.func, self.names)
        parts: list[ast.expr] = list(node.args)
        plain = bool(parts) and all(map(_is_plain, parts))
        use = Use(node.lineno, "", keywords, texts, positional, plain=plain)
        if names:
            self.found += [replace(use, name=operator(name)) for name in names]
        elif isinstance(node.func, ast.Attribute):
            self._method(node.func, use)
        else:
            self._plain(node)
            self.visit(node.func)
            if isinstance(node.func, ast.Name) and node.func.id in ("isinstance", "issubclass"):
                del parts[1:]  # to ask for a class is not to use it
        for part in (*parts, *node.keywords):
            self.visit(part)

    def _plain(self, node: ast.Call) -> None:
        """A call of a bare name that no import made; ``float("-inf")`` is infinity under another name."""
        called = node.func.id if isinstance(node.func, ast.Name) else ""
        if called == "float" and node.args and _text(node.args[0]).strip().lower().lstrip("+-") in INFINITY:
            self.found.append(Use(node.lineno, "math.inf"))
        elif called in MAKING_CODE:
            self.dynamic.append(Dynamic(node.lineno, f"{called}() runs code that is not in the file"))
        elif called == "getattr" and len(node.args) > 1:
            self._getattr(node, dotted(node.args[0], self.names))

    def _getattr(self, node: ast.Call, owners: set[str]) -> None:
        of_torch = [owner for owner in owners if owner.partition(".")[0] == ROOT]
        wanted = _text(node.args[1])
        if wanted and wanted != OFF:
            self.found += [
                Use(node.lineno, operator(f"{owner}.{wanted}"), called=False) for owner in of_torch or ["Tensor"]
            ]
        elif of_torch:
            why = f"getattr({of_torch[0]}, ...) takes a name that is made at run time"
            self.dynamic.append(Dynamic(node.lineno, why))

    def visit_Attribute(self, node: ast.Attribute) -> None:
        """A name, or a method of something, that is handed on."""
        names = dotted(node, self.names)
        self.found += [Use(node.lineno, operator(name), called=False) for name in names]
        if not names:
            self._method(node, Use(node.lineno, "", called=False))

    def _method(self, node: ast.Attribute, use: Use) -> None:
        """A method of something; those of ``self`` and ``cls`` are the class's own."""
        if not isinstance(node.value, ast.Name) or node.value.id not in OWN:
            self.found.append(replace(use, line=node.lineno, name=f"Tensor.{node.attr}"))
        self.visit(node.value)

    def visit_Name(self, node: ast.Name) -> None:
        """A name that is handed on."""
        if isinstance(node.ctx, ast.Load):
            meanings = self.names.get(node.id, ())
            self.found += [Use(node.lineno, operator(name), called=False) for name in meanings if name != ROOT]

    def visit_BinOp(self, node: ast.BinOp) -> None:
        """``a @ b`` calls ``a.__matmul__``."""
        self._sign(node.lineno, node.op, plain=_is_plain(node.left) or _is_plain(node.right))
        self.generic_visit(node)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        """``a += b`` calls ``a.__iadd__``."""
        self._sign(node.lineno, node.op, "i", plain=_is_plain(node.value))
        self.generic_visit(node)

    def visit_Compare(self, node: ast.Compare) -> None:
        """``a < b`` calls ``a.__lt__``."""
        sides = [node.left, *node.comparators]
        for sign, left, right in zip(node.ops, sides[:-1], sides[1:], strict=True):
            self._sign(node.lineno, sign, plain=_is_plain(left) or _is_plain(right))
        self.generic_visit(node)

    def visit_Subscript(self, node: ast.Subscript) -> None:
        """``a[i]`` and ``a[i] = b``."""
        item = "getitem" if isinstance(node.ctx, ast.Load) else "setitem"
        self.found.append(Use(node.lineno, f"Tensor.__{item}__", plain=_is_plain(node.slice)))
        self.generic_visit(node)

    def _sign(self, line: int, sign: ast.operator | ast.cmpop, before: str = "", *, plain: bool) -> None:
        if word := SIGNS.get(type(sign)):
            self.found.append(Use(line, f"Tensor.__{before}{word}__", plain=plain))


def _is_plain(node: ast.expr) -> bool:
    """Whether an operand or index is made of constants and slices, so that it is no tensor, whatever runs."""
    if isinstance(node, ast.Tuple):
        return all(map(_is_plain, node.elts))
    if isinstance(node, ast.UnaryOp):
        return _is_plain(node.operand)
    return isinstance(node, ast.Constant | ast.Slice)


def _text(node: ast.expr) -> str:
    """The text that an expression is, ``OFF`` for a constant that says no, ``ZERO``; empty for anything else."""
    if not isinstance(node, ast.Constant):
        return ""
    if isinstance(node.value, str):
        return node.value
    return "" if node.value else OFF if node.value is None or node.value is False else ZERO


def operator(name: str) -> str:
    """The name under which users know an operator: ``torch.ops.aten.add.out`` is ``torch.add``."""
    for prefix in OPERATOR_NAMESPACES:
        if name.startswith(prefix):
            return f"{ROOT}.{name.removeprefix(prefix).partition('.')[0]}"
    if name.startswith(f"{ROOT}.Tensor."):
        return name.removeprefix(f"{ROOT}.")
    return MODULES.sub(f"{ROOT}.nn.", name)


def spellings(api: str) -> Iterator[str]:
    """The names by which an entry of data/audit.toml is found: a function of torch is a method of tensors as well.

    >>> list(spellings("torch.cumsum"))
    ['torch.cumsum', 'Tensor.cumsum', 'Tensor.cumsum_', 'torch.cumsum_']
    """
    yield api
    head, _, operator = api.rpartition(".")
    if head == ROOT and operator.islower():
        yield f"Tensor.{operator}"
        if not operator.endswith("_"):
            yield f"Tensor.{operator}_"
            yield f"{ROOT}.{operator}_"
