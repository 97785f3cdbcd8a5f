"""docs/fix-tests.md: validated tests drawn at random over all parts, as an independent reader judged them."""

from __future__ import annotations

from collections import Counter
from typing import Any

from torch_embers.repro.fix_tests import reviews

from .fix_tests import REPO, tests
from .judged import share
from .markdown import cell, code, table
from .places import measured

FACTS = "fix_tests_drawn.json"
UNREAD = "fix_tests_unread.json"
"""A draw from tests that nobody had read."""
CONFIRMED = "fix_tests_confirmed.json"
"""A draw from tests that readers had judged, for another one."""
AIM = 38
"""Of 40 tests: right."""
CAUSES = {
    "new_check": "the test waits for an error or a warning that the fix introduced; the reported symptom is not there",
    "other_change": "the commit changes something beside the fix, and the test is about that",
    "earlier_fix": "what fails was mended by another commit between the release and this one",
    "counts_calls": "the test counts internal calls",
    "request": "the issue asks for something new; nothing that was promised fails",
    "later_bug": "the reported bug came in after the release on which the test fails",
}
"""Why a failure before a fix was not the reported bug."""


def _readings() -> tuple[dict[str, reviews.Review], dict[str, set[str]]]:
    """The answers of the reader of the draw, and those of the readers before it, by case."""
    facts, later = measured(FACTS), measured(CONFIRMED)["annotator"]
    own: dict[str, reviews.Review] = {}
    earlier: dict[str, set[str]] = {}
    for review in reviews.load():
        if review.failure == "before" and review.case in facts["drawn"]:
            if review.annotator == facts["annotator"]:
                own[review.case] = review
            elif review.annotator != later:
                earlier.setdefault(review.case, set()).add(review.verdict)
    return own, earlier


def drawn() -> str:
    """How the tests were drawn, how many show the reported bug, and how far the readers agree."""
    facts = measured(FACTS)
    own, earlier = _readings()
    population = facts["population"]
    total = sum(map(len, population.values()))
    verdicts = Counter(review.verdict for review in own.values())
    right = {case for case, review in own.items() if review.verdict == "right"}
    told = verdicts["right"] + verdicts["wrong"]
    by_message = right | {again["case"] for again in facts["again"] if again["by_message"] == "right"}
    kept = [case for case in own if earlier.get(case, {"right"}) == {"right"}]
    same = sum(earlier[case] == {own[case].verdict} for case in earlier)
    parts = ", ".join(f"{len(names)} of bench/{part}" for part, names in population.items())
    missed = "met" if verdicts["right"] >= AIM else "missed"
    lines = [
        f"Population: the {total} tests that were `validated` at commit `{facts['facts_of'][:10]}` ({parts}). Drawn: "
        f"{len(facts['drawn'])}, by the order of a digest of seed {facts['seed']} and name.",
        f"{share(verdicts['right'], len(own))} show the bug of the issue that the case is linked to; "
        f"{verdicts['wrong']} do not, {verdicts['unclear']} could not be told. Of those that could be told: "
        f"{share(verdicts['right'], told)}. The aim, {AIM} of 40, is {missed}.",
    ]
    rules = facts["rules"]
    for version in sorted(set(rules.values())):
        cases = [case for part, names in population.items() if rules[part] == version for case in names if case in own]
        lines.append(f"Classed by version {version} of the rules: {share(len(right & set(cases)), len(cases))}.")
    lines += [
        f"Where the message of the commit may say what the bug is, as in the question that the readers before had, "
        f"after a second look: {share(len(by_message), len(own))}.",
        f"Of the {len(kept)} that readers before had called right or not read, and that so count for the share: "
        f"{share(len(right & set(kept)), len(kept))}.",
        f"Both readings give the same answer on {share(same, len(earlier))} tests that had been read before.",
    ]
    return "\n".join(f"- {line}" for line in lines)


def causes() -> str:
    """Why drawn tests do not show the bug of their issue."""
    return _causes(FACTS)


def unread() -> str:
    """What a reader says of validated tests that nobody had read."""
    facts = measured(UNREAD)
    mine = [review for review in reviews.load() if review.annotator == facts["annotator"]]
    said = Counter(review.verdict for review in mine if review.case in facts["drawn"])
    population = sum(map(len, facts["population"].values()))
    issues = {case.split("_")[0] for case in facts["drawn"]}
    return (
        f"Of the {population} tests that were `validated` at commit `{facts['facts_of'][:10]}` and that nobody had "
        f"read, {len(facts['drawn'])} were drawn (seed {facts['seed']}); they are of {len(issues)} issues. "
        f"{_of_a_draw(said['right'], said.total(), population)} show the bug of the issue; {said['wrong']} do not, "
        f"{said['unclear']} could not be told. The aim, {AIM} of 40, is missed."
    )


def _of_a_draw(part: int, drawn: int, population: int) -> str:
    """A share, with an interval where not all were drawn: a count of all has none."""
    return share(part, drawn) if drawn < population else f"{part} of {drawn} ({100 * part / drawn:.0f} %)"


def unread_causes() -> str:
    """Why those of them that do not show it do not."""
    return _causes(UNREAD)


def _causes(file: str) -> str:
    counts = Counter(measured(file)["causes"].values())
    rows = [(code(name), text, str(counts[name])) for name, text in CAUSES.items() if counts[name]]
    return table(("cause", "what it says", "tests:"), rows)


def again() -> str:
    """Tests on which the readings differ, after a second look at both reasons."""
    own, earlier = _readings()
    rows = [(_test(entry["case"]), *_answers(entry, own, earlier)) for entry in measured(FACTS)["again"]]
    headings = ("test", "answers before", "independent answer", "by the issue", "by the message", "why")
    return table(headings, rows)


def confirmed() -> str:
    """What another reader says of tests that readers had found to show their bug, and of some found not to."""
    facts = measured(CONFIRMED)
    said = _of_the_second_reader()
    right, wrong = facts["drawn_right"], facts["drawn_wrong"]
    same = [
        sum(said[case].verdict == verdict for case in cases) for cases, verdict in ((right, "right"), (wrong, "wrong"))
    ]
    missed = "met" if same[0] >= AIM else "missed"
    lines = [
        f"Population: the {len(facts['right'])} tests of class `validated` that every reader before had found to show "
        f"the bug of their issue; drawn: {len(right)} (seed {facts['seed']}). {share(same[0], len(right))} show it by "
        f"the answer of the new reader, too. The aim, {AIM} of 40, is {missed}.",
        f"Beside them, so that the reader could not take one answer for granted, {len(wrong)} of the "
        f"{len(facts['wrong'])} that every reader before had found not to: {share(same[1], len(wrong))} do not show it "
        "by the new answer either.",
    ]
    return "\n".join(f"- {line}" for line in lines)


def confirmed_not() -> str:
    """Tests of that draw whose answers differ."""
    facts = measured(CONFIRMED)
    rows = [
        (_test(case), before, review.verdict, cell(review.why))
        for case, review in sorted(_of_the_second_reader().items())
        for before in ("right" if case in facts["drawn_right"] else "wrong",)
        if review.verdict != before
    ]
    return table(("test", "answers before", "new answer", "why"), rows) if rows else "None."


def _of_the_second_reader() -> dict[str, reviews.Review]:
    facts = measured(CONFIRMED)
    cases = {*facts["drawn_right"], *facts["drawn_wrong"]}
    told = [review for review in reviews.load() if review.failure == "before" and review.case in cases]
    return {review.case: review for review in told if review.annotator == facts["annotator"]}


def _answers(
    entry: dict[str, Any], own: dict[str, reviews.Review], earlier: dict[str, set[str]]
) -> tuple[str, str, str, str, str]:
    case = entry["case"]
    before = ", ".join(sorted(earlier.get(case, ())))
    return before, own[case].verdict, entry["by_issue"], entry["by_message"], cell(entry["why"])


def _test(case: str) -> str:
    """A drawn test; one of a commit that turned out to be taken back later has its name alone."""
    for test in tests():
        if test["name"] == case:
            issues = ", ".join(f"[#{number}]({REPO}/issues/{number})" for number in test["issues"])
            return f"{cell(test['test'])} ({issues})"
    number, _, _, name = case.removeprefix("fix").split("_", 3)
    return f"{cell(name)} ([#{number}]({REPO}/issues/{number}); the fix was taken back later)"
