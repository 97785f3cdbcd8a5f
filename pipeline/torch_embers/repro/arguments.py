"""What the variables of a failing line hold, told by the failing process: the other half of ``failing.py``.

The text of a script does not tell values: an index that was negative becomes one that is too large when sizes shrink,
and both are out of range. So a hook before the first statement describes the variables of the innermost frame of the
script, behind the traceback: of a tensor type, axes, layout, and whether it is empty, negative somewhere, NaN somewhere
or contiguous; of a number its sign; of a list what it holds; of an error about a range sizes and values as well. The
script could forge this; a reduction that is led astray by its own script harms nobody.
"""

from __future__ import annotations

import ast
import json

MARK = "embers-arguments "
_LONGEST = 20_000

_HOOK = """
import json, sys
exact = False
def describe(value, depth=0):
    kind = type(value).__name__
    try:
        if exact and isinstance(value, int) or hasattr(value, "named_parameters"):
            return repr(value)[:300] if exact else kind
        if value is None or isinstance(value, (bool, str)):
            return repr(value)[:80]
        if isinstance(value, (int, float)):
            return kind + ("-" if value < 0 else "0" if value == 0 else "nan" if value != value else "+")
        if isinstance(value, (list, tuple, set)) and depth < 3:
            parts = sorted({str(describe(part, depth + 1)) for part in list(value)[:50]})
            return [kind, len(value) if isinstance(value, tuple) else bool(value), parts]
        if hasattr(value, "is_contiguous") and hasattr(value, "dtype"):
            found = [kind, str(value.dtype), value.dim(), value.device.type, str(value.layout), value.numel() == 0]
            if str(value.layout) == "torch.strided" and value.numel() < 1000000:
                plain = value.detach()
                found.append(bool(value.is_contiguous()))
                if exact:
                    found += [list(value.shape), [str(plain.min()), str(plain.max())] if value.numel() else []]
                if not plain.is_complex():
                    found += [bool((plain < 0).any()), bool((plain != plain).any())]
            return found
    except Exception:
        pass
    return kind
def hook(kind, error, trace):
    global exact
    exact = any(words in str(error) for words in ("out of range", "out of bounds"))
    sys.__excepthook__(kind, error, trace)
    frame = None
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == sys.argv[0]:
            frame = trace.tb_frame
        trace = trace.tb_next
    if frame is not None:
        names = [(n, v) for n, v in list(frame.f_locals.items())[-200:] if not n.startswith("__")]
        told = {n: describe(v) for n, v in names if type(v).__name__ not in ("module", "type", "function")}
        sys.stderr.write("\\n" + MARK + json.dumps(told) + "\\n")
sys.excepthook = hook
"""


def with_hook(code: str) -> str:
    """A script that describes the variables of its failing line; the text itself where there is no place for a hook.

    The hook takes an empty first line, so that no line moves.
    """
    try:
        body = ast.parse(code).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return code
    first, _, rest = code.partition("\n")
    late = any(isinstance(node, ast.ImportFrom) and node.module == "__future__" for node in body)
    if late or (first.strip() and not first.startswith("#")):
        return code
    return f"exec({_HOOK!r}, {{'MARK': {MARK!r}}})  {first.strip()}\n{rest}"


def described(stderr: str) -> dict[str, str]:
    """Descriptions by variable, as the hook wrote them; none where it did not."""
    line = next((line for line in reversed(stderr.split("\n")) if line.startswith(MARK)), "")
    try:
        told = json.loads(line[len(MARK) :][:_LONGEST]) if line else {}
    except ValueError:
        return {}
    return {name: json.dumps(value) for name, value in told.items()} if isinstance(told, dict) else {}


def undescribed(stderr: str) -> str:
    """Error output without what the hook wrote."""
    return stderr.rpartition(f"\n{MARK}")[0] if f"\n{MARK}" in stderr else stderr


def names_in(code: str, place: int) -> frozenset[str]:
    """Names that a line of a script uses."""
    try:
        tree = ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return frozenset()
    nodes = (node for node in ast.walk(tree) if isinstance(node, ast.Name))
    return frozenset(node.id for node in nodes if node.lineno == place)
