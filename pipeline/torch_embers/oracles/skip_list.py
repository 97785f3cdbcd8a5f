"""The words of the skip ledger, and which issues a source file cites beside its expected failures and skips.

Of a source numbers alone are kept, no text.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from typing import Any, Dict, Iterator, List, Mapping, Sequence, Set, Tuple

FAILURE, SKIP = "expectedFailure", "skip"
FAILS, PASSES, CRASHES = "still fails", "passes", "crashes"
NOTHING, UNDECIDED = "nothing to test", "cannot decide"
STATES = (FAILS, PASSES, CRASHES, NOTHING, UNDECIDED)
Key = Tuple[str, str, str]
"""Operator with its variant, test (empty where the entry names none) and kind."""
_LINK = re.compile(r"github\.com/pytorch/pytorch/(?:issues|pull)/(\d+)|(?<![\w/#])(?:#|gh-)(\d{3,6})\b")


def numbers(text: str) -> Set[int]:
    """The issues and pull requests of PyTorch that a text names: by address, as #12345 or as gh-12345."""
    return {int(link or short) for link, short in _LINK.findall(text)}


def cited(source: str) -> Dict[Key, Set[int]]:
    """The issues that each entry cites in its reason, or in a comment on its lines or directly above them.

    Args:
        source: text of a module that lists operators with ``skips`` or ``decorators``.
    """
    comments, alone = _comments(source)
    found: Dict[Key, Set[int]] = {}
    for operator, call in _entries(ast.parse(source)):
        end = int(getattr(call, "end_lineno", call.lineno))
        lines = [comments[at] for at in range(call.lineno, end + 1) if at in comments]
        above = call.lineno - 1
        while above in alone:
            lines.append(comments[above])
            above -= 1
        texts = [
            node.value for node in ast.walk(call) if isinstance(node, ast.Constant) and isinstance(node.value, str)
        ]
        tests = [text for text in texts if text.startswith("test_")]
        kind = FAILURE if any(_name(node) == FAILURE for node in ast.walk(call)) else SKIP
        key = (operator, tests[0] if tests else "", kind)
        found.setdefault(key, set()).update(*map(numbers, [*lines, *texts]))
    return found


def _comments(source: str) -> Tuple[Dict[int, str], Set[int]]:
    """Comments by line, and the lines that hold nothing else."""
    comments: Dict[int, str] = {}
    alone = set()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            comments[token.start[0]] = token.string
            if not token.line[: token.start[1]].strip():
                alone.add(token.start[0])
    return comments, alone


def _entries(tree: ast.AST) -> Iterator[Tuple[str, ast.Call]]:
    """Each call of DecorateInfo within the record of an operator, with the operator's name and variant."""
    for call in ast.walk(tree):
        given = {word.arg: word.value for word in call.keywords} if isinstance(call, ast.Call) else {}
        if not isinstance(call, ast.Call) or not {"skips", "decorators"} & set(given):
            continue
        name = _text(call.args[:1]) or _text([given.get("name")])
        variant = _text([given.get("variant_test_name")])
        for part in (given.get("skips"), given.get("decorators")) if name else ():
            for one in ast.walk(part) if part is not None else ():
                if isinstance(one, ast.Call) and _name(one.func) == "DecorateInfo":
                    yield full_name(name, variant), one


def full_name(name: str, variant: str) -> str:
    """An operator with its variant, as the hunt names it."""
    return "%s.%s" % (name, variant) if variant else name


def _text(nodes: Sequence[Any]) -> str:
    return "".join(node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str))


def _name(node: Any) -> str:
    return str(getattr(node, "attr", getattr(node, "id", "")))


def merged(parts: Sequence[Mapping[Key, Set[int]]]) -> Dict[Key, List[int]]:
    """The citations of several files, in order."""
    found: Dict[Key, Set[int]] = {}
    for part in parts:
        for key, issues in part.items():
            found.setdefault(key, set()).update(issues)
    return {key: sorted(issues) for key, issues in found.items()}
