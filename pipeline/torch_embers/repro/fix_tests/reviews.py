"""``data/fix_test_reviews.jsonl``: second readers' answers to whether a fix test shows the bug of its issue."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from pydantic import Field, ValidationError

from torch_embers import resources
from torch_embers.errors import InputError
from torch_embers.toml_models import Entry, wrong

if TYPE_CHECKING:
    from collections.abc import Iterable

FILE = "fix_test_reviews.jsonl"

Verdict = Literal["right", "wrong", "unclear"]
Failure = Literal["before", "after"]


class Review(Entry):
    """One reader's answer about one test.

    Attributes:
        case: name of the test's case.
        failure: the failure that was judged: ``before`` the fix, or ``after`` it.
        annotator: who answered; automated annotators are named as such.
        verdict: of a failure before the fix, whether it shows the bug that the issue or the message of the commit
            describes; of one after the fix, whether it shows that bug again.
        why: the reason, in the reader's words.
        by_run: what was run, and where, if the answer rests on that and not on reading alone; such an answer settles
            what readings left open.
    """

    case: str = Field(min_length=1)
    failure: Failure
    annotator: str = Field(min_length=1)
    annotator_kind: Literal["person", "automated"] = "automated"
    verdict: Verdict
    why: str = Field(min_length=1)
    by_run: str | None = Field(default=None, min_length=1)


def load() -> tuple[Review, ...]:
    """The shipped answers.

    Raises:
        InputError: a line is wrong; the message names it.
    """
    return parse(resources.data_file(FILE).read_text(encoding="utf-8"))


def parse(text: str) -> tuple[Review, ...]:
    """Answers from JSON Lines; of an annotator who answered twice about a failure the last line counts.

    Raises:
        InputError: a line is wrong; the message names it.
    """
    found: dict[tuple[str, str, str], Review] = {}
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        try:
            review = Review.model_validate_json(line)
        except ValidationError as error:
            raise InputError(f"data/{FILE}, line {number}: {wrong(error)}") from error
        found[review.case, review.failure, review.annotator] = review
    return tuple(found.values())


def answers(reviews: Iterable[Review], failure: Failure) -> dict[str, Verdict]:
    """One answer per case about its failure before or after the fix; ``unclear`` where annotators differ.

    Answers that rest on a run count alone where there are any.
    """
    told = [review for review in reviews if review.failure == failure]
    settled = {review.case for review in told if review.by_run}
    said: dict[str, set[Verdict]] = {}
    for review in told:
        if review.by_run or review.case not in settled:
            said.setdefault(review.case, set()).add(review.verdict)
    return {case: next(iter(verdicts)) if len(verdicts) == 1 else "unclear" for case, verdicts in said.items()}


def answered(reviews: Iterable[Review], failure: Failure, verdict: Verdict) -> list[str]:
    """Names of the tests of which this is the answer about that failure, sorted."""
    return sorted(case for case, answer in answers(reviews, failure).items() if answer == verdict)


def agreement(reviews: Iterable[Review], failure: Failure) -> tuple[int, int]:
    """On how many cases that several annotators read all say the same, and how many such cases there are."""
    said: dict[str, list[Verdict]] = {}
    for review in reviews:
        if review.failure == failure and not review.by_run:
            said.setdefault(review.case, []).append(review.verdict)
    several = [verdicts for verdicts in said.values() if len(verdicts) > 1]
    return sum(len(set(verdicts)) == 1 for verdicts in several), len(several)
