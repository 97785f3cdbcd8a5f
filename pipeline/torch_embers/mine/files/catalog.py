"""The embedded catalog data/catalog.jsonl: real bugs with facts, taxonomy labels and summaries in our own words.

A first run without access to GitHub ends with it, and its labels are gold labels for later stages. Its facts never
overwrite those of a live source, because catalog items have no time of last change. What readers say of the items,
further labels and why issues were closed, is read from data/judgements.jsonl.
"""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any

from torch_embers import judgements, resources
from torch_embers.errors import InputError
from torch_embers.mine.pages import make_page, reject
from torch_embers.mine.records.rest_records import BadRecordError, labels_of, number_of, text, whole
from torch_embers.mine.source import read_cursor, sync_state
from torch_embers.normalize import iso_utc
from torch_embers.store.records import (
    Batch,
    CatalogEntry,
    Disposition,
    GoldLabel,
    Item,
    Page,
    PullFile,
    StatedLink,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

FILE = "catalog.jsonl"
KIND = "catalog.entries"
JUDGED_KIND = "catalog.judgements"
DISPOSITIONS_KIND = "catalog.dispositions"
"""Kind of pages that older databases hold."""
STREAM = "catalog"


def read_catalog(page: Page) -> Batch:
    """Turn catalog lines into items, gold labels, summaries and links."""
    batch = Batch()
    for place, line in enumerate(page.body.splitlines(), start=1):
        if not line.strip():
            continue
        try:
            entry = json.loads(line)
            if not isinstance(entry, dict):
                raise BadRecordError("not an object")
            read = Batch()
            _read_entry(entry, page, read)
            batch.extend(read)  # an entry counts whole or not at all
        except (ValueError, KeyError, TypeError) as error:
            batch.rejects.append(reject(page, place, f"catalog entry: {error!r}", line))
    return batch


def _read_entry(entry: dict[str, Any], page: Page, batch: Batch) -> None:
    repo, number = str(entry["repo"]), number_of(entry)
    made = page.stamp
    batch.items.append(
        Item(
            repo=repo,
            number=number,
            kind=entry["kind"],
            title=text(entry["title"]),
            state=entry["state"],
            state_reason=entry.get("state_reason"),
            created_at=iso_utc(entry.get("created_at")),
            closed_at=iso_utc(entry.get("closed_at")),
            labels=labels_of(entry.get("labels")) or None,
            **made,
        )
    )
    batch.catalog.append(
        CatalogEntry(
            repo,
            number,
            entry["summary"],
            backends=tuple(entry.get("backends") or ()),
            affected_versions=tuple(entry.get("affected_versions") or ()),
            fixed_versions=tuple(entry.get("fixed_versions") or ()),
            facts_as_of=entry.get("facts_as_of"),
            **made,
        )
    )
    for label in entry["taxonomy"]:
        batch.gold_labels.append(
            GoldLabel(
                repo,
                number,
                label["scheme"],
                label["value"],
                label["annotator_kind"],
                label["annotator"],
                label.get("evidence"),
                iso_utc(entry.get("facts_as_of")),
                **made,
            )
        )
    _read_links(entry, repo, number, made, batch)


def _read_links(entry: dict[str, Any], repo: str, number: int, made: dict[str, Any], batch: Batch) -> None:
    fixes = [n for n in map(whole, entry.get("fix_prs") or ()) if n and n != number]
    for pull in fixes:
        batch.stated_links.append(StatedLink(repo, pull, "fixes", repo, number, "catalog", **made))
    # files belong to the one fix; with several fixes nobody recorded which file belongs to which
    owner = number if entry["kind"] == "pull" else fixes[0] if len(fixes) == 1 else None
    for path in (entry.get("fix_files") or ()) if owner else ():
        batch.pull_files.append(PullFile(repo, owner or number, path, **made))
    for other in entry.get("related") or ():
        if (target := whole(other["number"])) and target != number:
            batch.stated_links.append(StatedLink(repo, number, other["relation"], repo, target, "catalog", **made))


def read_judgements(page: Page) -> Batch:
    """Turn what readers say of items into gold labels and dispositions."""
    batch = Batch()
    for line in page.body.splitlines():
        row = judgements.Judgement.model_validate_json(line)
        kind, _, annotator = row.reader.partition(":")
        said = {"repo": judgements.REPO, "annotator_kind": kind, "annotator": annotator, **page.stamp}
        if row.question == "disposition":
            closing = judgements.closing_of(row).model_dump(exclude={"read_on", "thread_read"})
            batch.dispositions.append(Disposition(**closing, **said))
        else:
            label = GoldLabel(
                number=row.item,
                scheme=row.question.removeprefix("label:"),
                value=row.answer,
                evidence=row.reason,
                labelled_at=iso_utc(row.day),
                **said,
            )
            batch.gold_labels.append(label)
    return batch


def read_dispositions(page: Page) -> Batch:
    """Turn the lines of a page of an older database into dispositions."""
    lines = [json.loads(line) for line in page.body.splitlines()]
    kept = [{key: value for key, value in line.items() if key not in ("thread_read", "read_on")} for line in lines]
    return Batch(dispositions=[Disposition(**line, **page.stamp) for line in kept])


class CatalogSource:
    """Mines the embedded catalog; an unchanged file is not read twice."""

    name = "catalog"

    def __init__(self, repo: str) -> None:
        self.repo = repo

    def batches(self, state: Mapping[str, str]) -> Iterator[Batch]:
        """Yield the whole catalog as one batch, or nothing where it is already stored."""
        entries, said = (resources.data_file(name).read_bytes() for name in (FILE, judgements.FILE))
        for name, found in ((FILE, entries), (judgements.FILE, said)):
            if not found.strip():  # nothing would be read, and what was read before would stay
                raise InputError(
                    f"data/{name} is empty: install torch-embers anew, or take the file from the repository"
                )
        of_items = [row.line() for row in judgements.read(said) if row.subject.startswith("item:")]
        judged = "\n".join(of_items).encode()
        digest = hashlib.sha256(entries + judged).hexdigest()
        if read_cursor(state.get(STREAM)) == {"sha256": digest}:
            return
        pages = [
            make_page(self.repo, self.name, KIND, FILE, entries),
            make_page(self.repo, self.name, JUDGED_KIND, judgements.FILE, judged),
        ]
        batch = read_catalog(pages[0])
        batch.extend(read_judgements(pages[1]))
        batch.pages += pages
        batch.cursors.append(sync_state(self, STREAM, sha256=digest))
        yield batch
