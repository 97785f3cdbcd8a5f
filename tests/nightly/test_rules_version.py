"""The rules of extraction and their version: items are read again when rules change, and only then."""

from __future__ import annotations

import ast
from hashlib import blake2b
from typing import Any

from torch_embers import resources
from torch_embers.repro import rules
from torch_embers.repro.rules_version import RULES_DIGEST

UNDECIDING = {
    "__init__",
    "bank",
    "arguments",
    "failing",
    "minimize",
    "named_operators",
    "rules_version",
    "shortcuts",
    "shrink",
    "case_rules",
    "shipped_verdicts",
    "torch_names",
}
"""Files of repro/ that no extraction depends on."""
FORM = {"annotation", "returns", "type_comment", "type_params", "kind", "ctx"}
"""Fields of the syntax tree that change nothing of what is done, or are not the same in every Python."""


def is_prose(node: Any) -> bool:
    """Docstrings, and imports for type checkers."""
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
        return True
    return isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"


def normal(node: Any) -> Any:
    """A syntax tree as plain lists, without places, prose and annotations."""
    if isinstance(node, ast.AST):
        fields = [(name, normal(value)) for name, value in ast.iter_fields(node) if name not in FORM]
        return [type(node).__name__, *((name, value) for name, value in fields if value not in ("None", []))]
    if isinstance(node, list):
        return [normal(part) for part in node if not is_prose(part)]
    return repr(node)


def digest(sources: list[str]) -> str:
    found = blake2b(digest_size=8)
    for source in sources:
        found.update(repr(normal(ast.parse(source))).encode())
    return found.hexdigest()


def deciding_sources() -> list[str]:
    repro = resources.PACKAGE_DIR / "repro"
    paths = [path for path in sorted(repro.glob("*.py")) if path.stem not in UNDECIDING]
    paths += [resources.PACKAGE_DIR / "oracles" / "signature.py", resources.PACKAGE_DIR / "link" / "markdown.py"]
    return [path.read_text(encoding="utf-8") for path in paths]


def test_rules_do_not_change_without_their_version() -> None:
    now = digest([*deciding_sources(), repr(resources.load_toml(rules.FILE))])
    assert now == RULES_DIGEST, (
        f"the rules of extraction changed: in repro/rules_version.py set RULES_DIGEST to {now!r}, and raise "
        "RULES_VERSION unless no extraction can come out otherwise"
    )
