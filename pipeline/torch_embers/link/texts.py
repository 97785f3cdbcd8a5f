"""From texts to rows: what each item, comment and commit says of other items, and of parts of PyTorch.

Pure: the same texts give the same rows in any process.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from torch_embers.link import relations
from torch_embers.link.components import Components
from torch_embers.link.messages import own_part
from torch_embers.link.references import SIGNS, Parsed, Reference, read

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

Row = dict[str, Any]
RAW_KEPT = 2_000
"""Characters that a reject keeps of a text."""
REJECTED_BY = "link"
"""The source of rejects that this stage writes: texts that cost more than one text may."""
_ELSEWHERE = "another/repository"
"""What ``#1`` means in a commit that came with the history of another repository."""


@dataclass(slots=True)
class Rows:
    """Rows of three tables, in the order of their texts."""

    links: list[Row] = field(default_factory=list)
    components: list[Row] = field(default_factory=list)
    rejects: list[Row] = field(default_factory=list)

    def add(self, origin: str, texts: Iterable[tuple[Any, ...]]) -> None:
        """Add what some texts say.

        Args:
            origin: item, comment or commit.
            texts: with what belongs to each, as the query of that origin in ``stage.py`` gives them.
        """
        {"item": _add_items, "comment": _add_comments, "commit": _add_commits}[origin](texts, self)

    def references(self, parsed: Parsed, origin: str, text: str) -> list[Reference]:
        """The references of a text; what of it was not read becomes a reject."""
        if parsed.unread:
            row = {"source": REJECTED_BY, "origin": origin, "reason": parsed.unread, "raw": text[:RAW_KEPT]}
            self.rejects.append(row)
        return parsed.references


def signs() -> str:
    """A pattern for DuckDB: a body or comment without it that is not too long gives no row.

    Python makes an ``i`` of the Turkish capital, DuckDB does not.
    """
    return "(?i)" + "|".join([*Components.load().signs, *SIGNS, "\u0130"])


_ENDS = ("repo", "number", "sha", "target_repo", "target_number", "target_sha")


def _links(references: Iterable[Reference], number: int | None, sha: str | None, **place: Any) -> Iterator[Row]:
    """Rows of ``links`` for the references of one text; ``place`` holds the columns about the text itself."""
    for reference in references:
        own = (place["repo"], number, sha)
        other = (reference.target_repo, reference.target_number, reference.target_sha)
        ends = (*other, *own) if reference.inverse else (*own, *other)
        statement = {"relation": reference.relation, "rule": reference.rule, "snippet": reference.snippet}
        yield {**place, **statement, **dict(zip(_ENDS, ends, strict=True))}


def _add_items(records: Iterable[tuple[Any, ...]], rows: Rows) -> None:
    parts = Components.load()
    for repo, number, kind, title, created_at, body in records:
        origin = {"repo": repo, "found_id": str(number), "stated_at": created_at}
        for place, text in (("title", title), ("body", body)):
            parsed = read(text or "", repo=repo, number=number, title=place == "title", kind=kind or None)
            references = rows.references(parsed, f"{repo} item {number}", text)
            rows.links += _links(references, number, None, evidence="text", found_in=place, **origin)
        for part, evidence, detail in parts.by_text(title, body):
            rows.components.append(
                {"repo": repo, "number": number, "evidence": evidence, "detail": detail} | part._asdict()
            )


def _add_comments(records: Iterable[tuple[Any, ...]], rows: Rows) -> None:
    for repo, number, comment_id, body, created_at in records:
        origin = {"repo": repo, "found_id": comment_id, "stated_at": created_at}
        parsed = read(body or "", repo=repo, number=number, kind="comment")
        references = rows.references(parsed, f"{repo} comment {comment_id}", body)
        rows.links += _links(references, number, None, evidence="text", found_in="comment", **origin)


def _add_commits(records: Iterable[tuple[Any, ...]], rows: Rows) -> None:
    for repo, sha, subject, message, line, pull, committed_at in records:
        first, _, rest = own_part(message or "").partition("\n")
        name = f"{repo} commit {sha}"
        home = _ELSEWHERE if line == "foreign" else repo
        title = read(subject or first, repo=home, title=True, kind="commit")
        references = rows.references(title, name, subject or first)
        known = {_key(reference) for reference in references}
        more = rows.references(read(rest, repo=home, kind="commit"), name, rest)
        references += [reference for reference in more if _key(reference) not in known]
        references = [r for r in references if r.target_repo != _ELSEWHERE and _is_landing_or_other(r, repo, pull)]
        origin = {"repo": repo, "found_id": sha, "stated_at": committed_at}
        rows.links += _links(references, None, sha, evidence="commit", found_in="message", **origin)


def _is_landing_or_other(reference: Reference, repo: str, pull: int | None) -> bool:
    """Whether a reference may stand: which pull request a commit landed was decided when the commit was read.

    Beside that a commit says nothing of its own pull request: the import tool of 2018 let it close that, and the number
    behind the quoted title of a back-out is that of the back-out.
    """
    is_own = pull is not None and (reference.target_repo, reference.target_number) == (repo, pull)
    return is_own == (reference.relation == relations.LANDS)


def _key(said: Reference) -> tuple[object, ...]:
    return (said.relation, said.target_repo, said.target_number, said.target_sha, said.inverse)
