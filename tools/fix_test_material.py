"""Write what second readers of fix tests need: `python tools/fix_test_material.py CLONE OUT --database FILE --seed 14`.

OUT gets `tests.jsonl`, a line per test (40 that fail before their fix, drawn at random; all that fail after it), and
`scripts/`. With `--package 16` the same stands in `package_1.md` and so on, 16 tests each, to be read as it is; with
`--unread` tests are left out of which data/fix_test_reviews.jsonl has an answer. A reader adds a line per test to
that file, as docs/fix-tests.md says. The texts come from the clone and the database; they are for reading here, and not
to be shipped.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from torch_embers.mine.git.fix_commits import revision_of
from torch_embers.mine.git.gitrepo import Clone
from torch_embers.repro.fix_tests import reviews
from torch_embers.run.fix_tests.material import material_of
from torch_embers.settings import DEFAULT_REPO
from torch_embers.store.store import Store

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

FENCE = "`````"
"""Longer than what messages of commits hold."""


def main(arguments: list[str] | None = None) -> None:
    """Read the database and the clone, write the files."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("clone", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--database", type=Path, required=True)
    parser.add_argument("--revision", default="HEAD", help="end of the history in which later commits are looked for")
    parser.add_argument("--sample", type=int, default=40, help="how many validated or doubtful tests")
    parser.add_argument("--seed", type=int, required=True, help="of the draw")
    parser.add_argument("--unread", action="store_true", help="leave out tests of which there is an answer")
    parser.add_argument("--package", type=int, help="write texts to read with so many tests each, too")
    given = parser.parse_args(arguments)
    clone = Clone(given.clone)
    tip = revision_of(clone, given.revision)
    read = {(review.case, review.failure) for review in reviews.load()} if given.unread else ()
    found = material_of(Store(given.database), clone, DEFAULT_REPO, tip, given.sample, given.seed, read)
    (given.out / "scripts").mkdir(parents=True, exist_ok=True)
    for test in found:
        (given.out / test.row["script"]).write_text(test.code, encoding="utf-8")
    lines = "".join(json.dumps(test.row, ensure_ascii=False) + "\n" for test in found)
    (given.out / "tests.jsonl").write_text(lines, encoding="utf-8")
    if given.package:
        for start in range(0, len(found), given.package):
            text = "\n".join(line for test in found[start : start + given.package] for line in page(test.row))
            (given.out / f"package_{start // given.package + 1}.md").write_text(text + "\n", encoding="utf-8")


def page(row: Mapping[str, Any]) -> Iterator[str]:
    """One test as lines of text to read."""
    yield f"# {row['case']}\n\nQuestion: {row['question']}\n"
    for issue in row["issues"]:
        title = issue["title"] or "(title not at hand)"
        yield f"- issue #{issue['number']}, relation {issue['relation']}: {title}"
        yield from (f"  {issue[key]}" for key in ("summary", "body") if issue[key])
    yield f"- commit {row['commit']} of {row['committed']}, pull request {row['pull']}; test {row['change']} by it"
    yield f"- test {row['path']} {row['test']}; script {row['script']}"
    yield f"- first release with the fix: {row['first_release']} (by {row['first_release_by']})"
    yield f"- fails on {row['failed']}, passes on {row['passed']}, says nothing on {row['unusable']}"
    yield f"- known bad: {row['validated_before']}, first good: {row['validated_after']}\n"
    yield from _fenced("Message of the commit", row["message"])
    yield from _fenced("The test", row["text"])
    if row["text_before"] is not None:
        yield from _fenced("The test before the commit", row["text_before"])
    for version, error in row["failures"].items():
        place = row["fails_at"][version]
        yield f"Fails on {version}" + (f" at line {place['line']} of the test: `{place['text']}`" if place else "")
        if place and place["helper"]:
            yield f"from there at: `{place['helper']}`"
        if place and not place["changed_up_to_there"]:
            yield "(the commit changed nothing up to that line)"
        if row["failure"] == "after" or version == row["validated_before"] or not row["validated_before"]:
            yield from _fenced(f"Failure on {version}", error)
    for later in row["later"]:
        yield f"- later: {later['change']} by {later['commit'][:10]} of {later['committed']}: {later['subject']}"


def _fenced(title: str, text: str | None) -> Iterator[str]:
    yield f"## {title}\n\n{FENCE}\n{(text or '(none)').strip()}\n{FENCE}\n"


if __name__ == "__main__":
    main()
