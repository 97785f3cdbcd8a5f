"""Which names of torch, and of what else it imports, a Python file uses. Its syntax tree is read, nothing is executed.

Names are followed through imports and plain assignments (``F = torch.nn.functional``). The class of an object is not
known, so a method is known by its name alone. What no reading of the text can settle is told: names made at run time,
imports of everything, code in texts.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = "torch"
MAKING_CODE = frozenset({"eval", "exec", "compile", "__import__"})
"""Built-in functions that run code, or load a module, which the file need not spell out."""
OPERATOR_NAMESPACES = ("torch.ops.aten.", "torch._C._VariableFunctions.", "torch._C._nn.")
"""Where torch keeps its operators under the same names a second time."""
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
    """

    line: int
    name: str
    keywords: tuple[tuple[str, str], ...] = ()
    texts: tuple[str, ...] = ()

    def gives(self, keyword: str, value: str = "") -> bool | None:
        """Whether the call gives an argument, with a value where one is wanted; None where the file does not tell."""
        if value and value in self.texts:
            return True
        given = dict(self.keywords)
        if keyword in given:
            return not value or given[keyword] == value or (None if not given[keyword] else False)
        return None if "**" in given else False


@dataclass(frozen=True, slots=True, order=True)
class Dynamic:
    """A place at which the text does not tell which name is used."""

    line: int
    why: str


@dataclass(slots=True)
class Uses:
    """What a file uses.

    Attributes:
        imports_torch: whether it imports torch or a part of it.
        found: uses in order of lines.
        dynamic: places that cannot be read.
    """

    imports_torch: bool = False
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
    tree = ast.parse(code)
    reader = _Reader(_names(tree))
    reader.visit(tree)
    return Uses(
        imports_torch=any(name == ROOT or name.startswith(f"{ROOT}.") for name in reader.names.values()) or reader.star,
        found=sorted(set(reader.found)),
        dynamic=sorted(set(reader.dynamic)),
    )


def _names(tree: ast.Module) -> dict[str, str]:
    """What the names that the file binds by imports and plain assignments stand for.

    One table for the whole file: a name that two functions bind differently stands for the last.
    """
    names: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                names[alias.asname or alias.name.partition(".")[0]] = (
                    alias.name if alias.asname else alias.name.partition(".")[0]
                )
        elif isinstance(node, ast.ImportFrom):
            module = "." * node.level + (node.module or "")
            names |= {alias.asname or alias.name: f"{module}.{alias.name}" for alias in node.names}
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Attribute | ast.Name):
            stands_for = dotted(node.value, names)
            if stands_for and stands_for.startswith(f"{ROOT}."):
                names |= {target.id: stands_for for target in node.targets if isinstance(target, ast.Name)}
    return names


def dotted(node: ast.expr, names: dict[str, str]) -> str | None:
    """The full name of ``a.b.c`` where ``a`` was imported; None for anything else."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name) or node.id not in names:
        return None
    return ".".join([names[node.id], *reversed(parts)])


class _Reader(ast.NodeVisitor):
    """Collects uses; ``names`` says what the file's names stand for."""

    def __init__(self, names: dict[str, str]) -> None:
        self.names = names
        self.star = False
        self.found: list[Use] = []
        self.dynamic: list[Dynamic] = []

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        """An import of everything hides which names are torch's."""
        module = node.module or ""
        if module.partition(".")[0] == ROOT and any(alias.name == "*" for alias in node.names):
            self.star = True
            self.dynamic.append(Dynamic(node.lineno, f"imports everything from {module}"))

    def visit_Call(self, node: ast.Call) -> None:
        """A call of a known name, of a method, or of something that makes names."""
        keywords = tuple(sorted((word.arg or "**", _text(word.value)) for word in node.keywords))
        texts = tuple(text for text in map(_text, node.args) if text)
        name = dotted(node.func, self.names)
        if name is not None:
            self.found.append(Use(node.lineno, _operator(name), keywords, texts))
        elif isinstance(node.func, ast.Attribute):
            self._method(node.func, keywords, texts)
        else:
            self._plain(node)
            self.visit(node.func)
        for part in (*node.args, *node.keywords):
            self.visit(part)

    def _plain(self, node: ast.Call) -> None:
        """A call of a bare name that no import made."""
        called = node.func.id if isinstance(node.func, ast.Name) else ""
        if called in MAKING_CODE:
            self.dynamic.append(Dynamic(node.lineno, f"{called}() runs code that is not in the file"))
        elif called == "getattr" and len(node.args) > 1:
            owner = dotted(node.args[0], self.names) or ""
            if owner.partition(".")[0] == ROOT:
                self._getattr(node, owner)

    def _getattr(self, node: ast.Call, owner: str) -> None:
        wanted = node.args[1]
        if isinstance(wanted, ast.Constant) and isinstance(wanted.value, str):
            self.found.append(Use(node.lineno, f"{owner}.{wanted.value}"))
        else:
            self.dynamic.append(Dynamic(node.lineno, f"getattr({owner}, ...) takes a name that is made at run time"))

    def visit_Attribute(self, node: ast.Attribute) -> None:
        """An imported name that is handed on; an attribute of something else tells nothing."""
        name = dotted(node, self.names)
        if name is not None:
            self.found.append(Use(node.lineno, _operator(name)))
        else:
            self.visit(node.value)

    def _method(self, node: ast.Attribute, keywords: tuple[tuple[str, str], ...], texts: tuple[str, ...]) -> None:
        """A method of something; those of ``self`` and ``cls`` are the class's own."""
        if not isinstance(node.value, ast.Name) or node.value.id not in OWN:
            self.found.append(Use(node.lineno, f"Tensor.{node.attr}", keywords, texts))
        self.visit(node.value)

    def visit_Name(self, node: ast.Name) -> None:
        """A name that was imported by itself."""
        if isinstance(node.ctx, ast.Load) and node.id in self.names:
            self.found.append(Use(node.lineno, _operator(self.names[node.id])))

    def visit_BinOp(self, node: ast.BinOp) -> None:
        """``a @ b`` calls ``a.__matmul__``."""
        self._sign(node.lineno, node.op)
        self.generic_visit(node)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        """``a += b`` calls ``a.__iadd__``."""
        self._sign(node.lineno, node.op, "i")
        self.generic_visit(node)

    def visit_Compare(self, node: ast.Compare) -> None:
        """``a < b`` calls ``a.__lt__``."""
        for sign in node.ops:
            self._sign(node.lineno, sign)
        self.generic_visit(node)

    def visit_Subscript(self, node: ast.Subscript) -> None:
        """``a[i]`` and ``a[i] = b``."""
        item = "getitem" if isinstance(node.ctx, ast.Load) else "setitem"
        self.found.append(Use(node.lineno, f"Tensor.__{item}__"))
        self.generic_visit(node)

    def _sign(self, line: int, sign: ast.operator | ast.cmpop, before: str = "") -> None:
        if word := SIGNS.get(type(sign)):
            self.found.append(Use(line, f"Tensor.__{before}{word}__"))


def _text(node: ast.expr) -> str:
    """The text that an expression is; empty for anything else."""
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


def _operator(name: str) -> str:
    """The name under which users know an operator: ``torch.ops.aten.add.out`` is ``torch.add``."""
    for prefix in OPERATOR_NAMESPACES:
        if name.startswith(prefix):
            return f"{ROOT}.{name.removeprefix(prefix).partition('.')[0]}"
    return name


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
