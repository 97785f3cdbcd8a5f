"""An item's texts -> the script that shows its bug, its edits and the failure to expect, or one reason why not.

The body is read first; comments only where it gives nothing that runs. Blocks that build on each other are joined
into one candidate script. Several of them compete; the one that the report's own traceback, title and words point to
wins. Nothing is executed here: a script from an issue is only ever run in a sandbox.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Literal, NamedTuple

from torch_embers.repro import rules
from torch_embers.repro.blocks import Block, blocks
from torch_embers.repro.budget import OverBudgetError, limited
from torch_embers.repro.complete import Completed, complete, from_session
from torch_embers.repro.doubt import doubt_of_device, doubt_of_edits
from torch_embers.repro.expectation import Expectation, infer
from torch_embers.repro.markup import prose
from torch_embers.extract.names import bound, undefined
from torch_embers.repro.repair import repair
from torch_embers.repro.values import PrintedOutput, introduction

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from torch_embers.repro.rules import Edit

Status = Literal["runnable", "not_possible"]

_USER_FRAME = re.compile(
    r'^[ \t]{0,8}File "(?!.{0,200}(?:site|dist)-packages|.{0,200}/torch/)[^"\n]{1,200}", line \d{1,6}.{0,120}\n'
    r"[ \t]{1,12}(\S.{3,200})$",
    re.MULTILINE,
)
_IPYTHON_FRAME = re.compile(r"^-{2,8}> ?\d{1,6} (.{4,200})$", re.MULTILINE)
_IDENTIFIER = re.compile(r"[A-Za-z_][\w.]{3,80}")
_KEPT = 128
"""Outputs whose quoted lines are kept: each candidate script of an item is held against the same ones."""
_EXTENSION = re.compile(
    r"cpp_extension|load_inline|CUDAExtension|CppExtension|torch/extension\.h|PYBIND11_MODULE|TORCH_LIBRARY"
)
_PRINTED = frozenset({"traceback", "output", "broken", "graph", "shell"})
_MAY_SHOW_ERROR = frozenset({"config", "cpp", "other"})
"""Kinds of blocks that are taken for an output where they end in an error: its advice looks like settings or code."""
_NOT_CODE = {
    "cpp": "not_python",
    "other": "not_python",
    "broken": "syntax",
    "traceback": "traceback_only",
    "graph": "no_code",
    "shell": "no_code",
    "diff": "no_code",
    "config": "no_code",
    "output": "no_code",
    "empty": "no_code",
    "python": "too_large",
    "session": "fragment",
}
_SAYS_MOST = (
    "cpp_extension",
    "distributed_cluster",
    "model_zoo",
    "other_device",
    "external_data",
    "external_package",
    "interactive",
    "gui_or_notebook",
    "too_large",
    "fragment",
    "install_or_build",
    "syntax",
)
"""Of several candidate scripts that cannot run, the reason that says most about the report."""


@dataclass(frozen=True, slots=True)
class ItemText:
    """The texts of an item."""

    repo: str
    number: int
    title: str
    body: str
    comments: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Extraction:
    """What could be made of an item.

    Attributes:
        status: runnable (perhaps only on a device or with a package, see ``requires``) or not_possible.
        reason: of ``[[reason]]`` in data/extraction.toml; empty where runnable.
        detail: which name, package or file stands in the way.
        verbatim: the blocks as they stand in the report.
        script: standalone Python; empty where there is none.
        edits: everything between verbatim and script, in order.
        requires: cuda, mps, package:numpy, torch<1.8; empty means that any CPU build will do.
        expectation: the failure that the report tells of.
        lines: first lines of the blocks used, in their text.
        found_in: body, or comment n (from 1); empty where there is no code.
    """

    repo: str
    number: int
    status: Status
    reason: str = ""
    detail: str = ""
    verbatim: str = ""
    script: str = ""
    edits: tuple[Edit, ...] = ()
    requires: tuple[str, ...] = ()
    expectation: Expectation = field(default_factory=Expectation)
    lines: tuple[int, ...] = ()
    found_in: str = ""


class _Part(NamedTuple):
    block: Block
    place: int
    code: str
    edits: tuple[Edit, ...]
    binds: frozenset[str]
    free: frozenset[str]


@dataclass(slots=True)
class _CandidateScript:
    parts: list[_Part]
    replaces: bool = False

    @property
    def binds(self) -> frozenset[str]:
        return frozenset().union(*(part.binds for part in self.parts))

    @property
    def free(self) -> frozenset[str]:
        return frozenset().union(*(part.free for part in self.parts)) - self.binds


class _Ranked(NamedTuple):
    rank: tuple[float, ...]
    script: _CandidateScript
    completed: Completed
    expectation: Expectation


def extract(item: ItemText) -> Extraction:
    """Find the script in an item.

    Args:
        item: title, body and comments as they came; anything may stand in them.

    Returns:
        One extraction, whatever the text: every item is either runnable or has a reason.
    """
    own = rules.load()
    try:
        with limited(own.limits.work_chars, own.limits.work_seconds):
            found = _extract(item)
    except OverBudgetError as error:
        return Extraction(item.repo, item.number, "not_possible", own.reason("over_budget"), str(error))
    if found.status == "not_possible" and len(item.body) > own.limits.text_chars:
        unread = f"only the first {own.limits.text_chars:,} of {len(item.body):,} characters were read"
        return replace(found, reason=own.reason("over_budget"), detail=unread)
    return found


def _extract(item: ItemText) -> Extraction:
    limits = rules.load().limits
    left = limits.item_chars
    all_blocks = blocks(item.body)
    parts = _parts(all_blocks)
    best = _best(item, all_blocks, parts, item.body)
    where = "body"
    if best is None or not best.completed.runnable:
        for number, comment in enumerate(list(item.comments)[: limits.comments], 1):
            left -= len(comment)
            other = _in_comment(item, all_blocks, parts, comment) if left > 0 else None
            if other is not None:
                best, where = other, f"comment {number}"
                break
    if best is None:
        return _without_code(item, all_blocks)
    return _extraction(item, best, where)


def _in_comment(item: ItemText, all_blocks: Sequence[Block], parts: Sequence[_Part], comment: str) -> _Ranked | None:
    """A script that runs, in a comment alone or together with the body's blocks."""
    if "torch" not in comment:
        return None
    own = blocks(comment)
    added = _parts(own)
    if not added:
        return None
    alone = _best(item, own, added, comment)
    if alone is not None and alone.completed.runnable and _tells(alone, comment):
        return alone
    if not parts:
        return None
    shifted = [part._replace(place=part.place + len(all_blocks)) for part in added]
    both = _best(item, [*all_blocks, *own], [*parts, *shifted], f"{item.body}\n{comment}", joined_only=True)
    return both if both is not None and both.completed.runnable else None


def _tells(candidate: _Ranked, comment: str) -> bool:
    """Whether a comment offers its script as a reproduction, not as advice: it says so, or shows the failure."""
    own = rules.load().prefer
    first = candidate.script.parts[0].block
    if own.less.search(first.before) or first.source == "inline":
        return False
    shown = candidate.expectation.where in ("output", "code") and candidate.expectation.kind != "mismatch"
    return shown or bool(own.reproduces.search(prose(comment)[:4000]))


# --- candidate scripts -------------------------------------------------------------------------------------------


def _parts(all_blocks: Sequence[Block]) -> list[_Part]:
    parts = []
    for place, block in enumerate(all_blocks):
        if not block.code.strip():
            continue
        code, edits = block.code, block.edits
        if block.chunks:
            code, more = from_session(block.chunks)
            edits = (*edits, *more)
        binds, free = _names(code)
        parts.append(_Part(block, place, code, edits, binds, free))
    return parts


def _names(code: str) -> tuple[frozenset[str], frozenset[str]]:
    repaired = repair(code)
    if repaired.tree is None:
        return frozenset(), frozenset()
    try:
        return bound(repaired.tree), frozenset(undefined(repaired.text, repaired.tree))
    except SyntaxError:
        return bound(repaired.tree), frozenset()


def _candidate_scripts(parts: Sequence[_Part]) -> list[_CandidateScript]:
    """Join what builds on each other, in the order of the text; definitions that come later are put first."""
    usual = frozenset(rules.load().imports)
    less = rules.load().prefer.less
    scripts: list[_CandidateScript] = []
    for part in parts:
        if less.search(part.block.before):  # a workaround uses the names of what it works around
            scripts.append(_CandidateScript([part]))
            continue
        user = next((s for s in reversed(scripts) if (part.free - usual) & s.binds), None)
        lacking = next((s for s in reversed(scripts) if (s.free - usual) & part.binds), None)
        if user is not None:
            user.parts.append(part)
        elif lacking is not None and not part.binds & lacking.binds - usual:
            lacking.parts.insert(0, part)
        else:
            again = bool(scripts) and bool(part.binds) and scripts[-1].binds <= part.binds
            scripts.append(_CandidateScript([part], replaces=again))
    return scripts


def _with_singles(scripts: Sequence[_CandidateScript]) -> Iterator[_CandidateScript]:
    """Stories, and the blocks of a joined one by themselves, in case the joint does not hold."""
    for script in scripts:
        yield script
        if len(script.parts) > 1:
            yield from (
                _CandidateScript([part]) for part in script.parts if not part.free - frozenset(rules.load().imports)
            )


def _best(
    item: ItemText, all_blocks: Sequence[Block], parts: Sequence[_Part], text: str, *, joined_only: bool = False
) -> _Ranked | None:
    said = prose(text)
    limit = rules.load().limits.candidate_chars
    candidates: list[_Ranked] = []
    spent = 0
    for script in _with_singles(_candidate_scripts(parts)):
        spent += sum(len(part.code) for part in script.parts)
        if spent > limit and candidates:
            break
        if joined_only and len({id(part.block) for part in script.parts}) < 2:
            continue
        candidates.append(_ranked(item, all_blocks, script, said, len(candidates)))
    return max(candidates, key=lambda c: c.rank, default=None)


def _ranked(item: ItemText, all_blocks: Sequence[Block], script: _CandidateScript, said: str, order: int) -> _Ranked:
    code = "\n".join(part.code.rstrip("\n") for part in script.parts) + "\n"
    outputs = _outputs(all_blocks, script)
    expectation = infer(outputs, code, said, item.title)
    completed = complete(code, title=item.title, evidence=expectation.evidence)
    if not expectation.doubt:
        changed = doubt_of_edits(expectation.kind, expectation.actual, completed.edits)
        expectation = replace(expectation, doubt=changed or _of_place(item, script, completed))
    return _Ranked(_rank(item, script, completed, outputs, order), script, completed, expectation)


def _of_place(item: ItemText, script: _CandidateScript, completed: Completed) -> str:
    """Doubts about where a script stands or runs."""
    heading = introduction(script.parts[0].block.before)
    if len(script.parts) == 1 and rules.load().values.aside.search(heading):
        return "the script stands under words about what works, or a fix"
    return doubt_of_device(item.title[:400], completed.requires)


def _rank(
    item: ItemText, script: _CandidateScript, completed: Completed, outputs: Sequence[PrintedOutput], order: int
) -> tuple[float, ...]:
    own = rules.load().prefer
    quoted = _quoted_lines(shown.text for shown in outputs)
    code = {line.strip() for line in completed.script.split("\n")}
    before = " ".join(part.block.before for part in script.parts[:1])
    told = bool(own.more.search(before)) - 2 * bool(own.less.search(before)) + script.replaces
    guesses = sum(1 for edit in completed.edits if edit.action in ("default_added", "call_added", "prose_commented"))
    named = _identifiers(item.title) & _identifiers(completed.script)
    reason = _SAYS_MOST.index(completed.reason) if completed.reason in _SAYS_MOST else 0
    inline = all(part.block.source == "inline" for part in script.parts)
    return (
        float(completed.runnable),
        -float(reason),
        float(bool(quoted & code)),
        -float(inline),
        float(told),
        float(bool(named)),
        float(len(script.parts) > 1),
        -float(guesses),
        -float(order),
    )


def _quoted_lines(outputs: Iterable[str]) -> set[str]:
    """Lines of the reporter's own program that tracebacks quote."""
    longest = rules.load().limits.output_chars
    return {line for text in outputs for line in _lines_of_frames(text[:longest])}


@lru_cache(maxsize=_KEPT)
def _lines_of_frames(text: str) -> frozenset[str]:
    return frozenset(match[1].strip() for pattern in (_USER_FRAME, _IPYTHON_FRAME) for match in pattern.finditer(text))


def _identifiers(text: str) -> set[str]:
    """Last parts of the longer names in a text, lower case."""
    return {
        name.rpartition(".")[2].lower() for name in _IDENTIFIER.findall(text[:20_000]) if "_" in name or "." in name
    }


def _outputs(all_blocks: Sequence[Block], script: _CandidateScript) -> tuple[PrintedOutput, ...]:
    """What was printed: by the script's own blocks, then in the blocks behind it, then anywhere in the text."""
    used = {part.place for part in script.parts}
    shown = [
        PrintedOutput(text, own=True, after=part.block.after) for part in script.parts for text in part.block.outputs
    ]
    last = max(used)
    printed = [place for place, block in enumerate(all_blocks) if place not in used and _is_printed(block)]
    behind = [place for place in printed if place > last]
    ahead = [place for place in printed if place < last]
    for place in [*behind, *ahead]:
        block = all_blocks[place]
        shown.extend(PrintedOutput(text, block.before, after=block.after) for text in block.outputs)
    return tuple(shown)


def _is_printed(block: Block) -> bool:
    if block.kind in _PRINTED:
        return True
    error = rules.load().exception.line
    return block.kind in _MAY_SHOW_ERROR and any(error.search(text[:20_000]) for text in block.outputs)


# --- results ------------------------------------------------------------------------------------------------------


def _extraction(item: ItemText, best: _Ranked, where: str) -> Extraction:
    own = rules.load()
    parts = best.script.parts
    edits = [edit for part in parts for edit in part.edits]
    if len(parts) > 1:
        edits.append(own.edit("blocks_joined", 1, "", f"{len(parts)} blocks"))
    edits.extend(best.completed.edits)
    status: Status = "runnable" if best.completed.runnable else "not_possible"
    reason, detail = best.completed.reason, best.completed.detail
    aside = reason in ("fragment", "syntax") and "torch." not in best.completed.script.replace("import torch.", "")
    if aside and own.prefer.installing.search(item.title[:400]):
        reason, detail = "install_or_build", ""
    return Extraction(
        item.repo,
        item.number,
        status,
        own.reason(reason) if reason else "",
        detail,
        "\n\n".join(part.block.text for part in parts),
        best.completed.script if best.completed.runnable else "",
        tuple(edits),
        best.completed.requires,
        _of_comment(item, best.expectation) if where != "body" else best.expectation,
        tuple(part.block.line for part in parts),
        where,
    )


def _of_comment(item: ItemText, expectation: Expectation) -> Expectation:
    """What a comment shows is the report's failure only where title or body name it: it may be what now happens."""
    named = expectation.signature[0].type if expectation.signature else ""
    told = bool(named) and named in f"{item.title}\n{prose(item.body)}"
    if expectation.doubt or expectation.kind in ("signal", "hang") or told:
        return expectation
    return replace(expectation, doubt="a comment shows it, title and body do not name it")


def _without_code(item: ItemText, all_blocks: Sequence[Block]) -> Extraction:
    """The reason for an item in which no block is Python."""
    own = rules.load()
    outputs = [
        PrintedOutput(text, block.before, after=block.after)
        for block in all_blocks
        for text in block.outputs
        if block.kind in _PRINTED
    ]
    expectation = infer(outputs, "", prose(item.body), item.title)
    kinds = Counter(block.kind for block in all_blocks)
    reason, detail = "prose_only", ""
    if kinds:
        kind = next((k for k in ("cpp", "other", "broken", "traceback") if kinds[k]), kinds.most_common(1)[0][0])
        reason, detail = _NOT_CODE[kind], kind
        if kind == "broken":
            detail = next(block.reason for block in all_blocks if block.kind == "broken")
        if any(block.kind == "python" and not block.code for block in all_blocks):
            reason, detail = "too_large", "a block too long to parse"
    if own.prefer.installing.search(item.title[:400]) and reason not in ("syntax", "too_large"):
        reason, detail = "install_or_build", ""
    elif reason == "not_python" and _EXTENSION.search(item.body[:200_000]):
        reason = "cpp_extension"
    text = "\n\n".join(block.text for block in all_blocks if block.kind in ("cpp", "other", "broken"))
    limit = own.limits.block_chars
    return Extraction(
        item.repo, item.number, "not_possible", own.reason(reason), detail, text[:limit], expectation=expectation
    )
