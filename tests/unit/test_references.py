"""What texts say about other items: forms, traps, the real revert chain, and time linear in hostile text."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support import example_count
from torch_embers import toml_models
from torch_embers.errors import InputError
from torch_embers.link import relations
from torch_embers.link.markdown import blank_unsaid
from torch_embers.link.references import SNIPPET, Reference, parse

REPO = "pytorch/pytorch"
SHA = "5b922918d023126ad1f468c68577c9b599ad202d"


def said(text: str, *, number: int | None = 900_000, title: bool = False, kind: relations.Kind = "pull") -> set[str]:
    """References in short: ``relation target``, with ``<`` before an inverse one."""
    return {short(r) for r in parse(text, repo=REPO, number=number, title=title, kind=kind)}


def short(reference: Reference) -> str:
    target = f"#{reference.target_number}" if reference.target_number else f"@{reference.target_sha}"
    repo = "" if reference.target_repo == REPO else reference.target_repo
    return f"{'<' if reference.inverse else ''}{reference.relation} {repo}{target}"


@pytest.mark.parametrize(
    "word", ["close", "closes", "closed", "fix", "fixes", "fixed", "resolve", "resolves", "resolved"]
)
def test_every_closing_keyword_fixes_in_any_case(word: str) -> None:
    for form in (word, word.upper(), word.capitalize(), f"{word}:"):
        assert said(f"{form} #123") == {"fixes #123"}


@pytest.mark.parametrize(
    ("form", "target"),
    [
        ("#7", "#7"),
        ("GH-7", "#7"),
        ("PyTorch/pytorch#7", "#7"),
        ("meta-pytorch/data#7", "meta-pytorch/data#7"),
        ("https://github.com/pytorch/pytorch/issues/7", "#7"),
        ("https://github.com/pytorch/pytorch/pull/7/files", "#7"),
        ("http://www.github.com/pytorch/pytorch/pull/7#issuecomment-123456", "#7"),
        ("[#7](https://github.com/pytorch/pytorch/issues/7)", "#7"),
        ("[the other one](https://github.com/pytorch/vision/issues/7)", "pytorch/vision#7"),
        ("**#7**", "#7"),
        ("(#7)", "#7"),
    ],
)
def test_every_form_of_a_reference_can_be_fixed(form: str, target: str) -> None:
    assert said(f"Some words.\n\nFixes {form}.") == {f"fixes {target}"}


@pytest.mark.parametrize(
    "text",
    [
        "```\nFixes #1201\n```",
        "- ```py\n  Fixes #1201\n  ```",
        "```\nnever closed\nFixes #1201",
        "`Fixes #1201`",
        "``a ` Fixes #1201``",
        "<!-- Fixes #1201 -->",
        "<!-- never closed\nFixes #1201",
        "> Fixes #1201",
        " > > Fixes #1201",
        "Fixes #ISSUE_NUMBER",
        "Fixes #0",
        "Fixes #0123",
        "Fixes #99999999",
        "Fixes #12ab",
        "Fixes # 1201",
        'color: #123456; background="#222222"',
        "see version #2, GPU #1 and step #3",
        "frame #3: c10::Error::Error() + 0x12",
        "#4  0x00007f in main ()\n#5 main ()\n    #0 0x4d in malloc",
        "joined: #26 0xceeeb9d in parse() #27 0xceeeb9e in {lambda(Tensor*)#1}::operator()",
        "&#123; x#12 v1#3 ##5",
        "https://example.org/page#1201 and https://github.com/pytorch/pytorch/wiki#7",
        "https://github.com/pytorch/pytorch/issues?q=label#12",
        "# 1 heading\n## 2\nPR # and issue #\n#1.2 of the list",
        "D123456 D94545016 deadbeef 1234567",
        "ghstack-source-id: b4adfef49253e51bffbbf40d356188a92c98994d",
    ],
)
def test_code_comments_quotes_and_what_only_looks_like_a_reference_say_nothing(text: str) -> None:
    assert said(text) == set()


STACK = """Stack from [ghstack](https://github.com/ezyang/ghstack):
* #1203 A title that says fixes #1210
* __->__ #900000
* **#1201 Another title**

Fixes #1211, see #1212"""
BASE = "https://github.com/pytorch/pytorch/pull"
REVERT = f"""Stack from [ghstack](https://github.com/ezyang/ghstack/tree/0.14.0) (oldest at bottom):
* __->__ #900000

Reverting for now before the culprit behind {BASE}/177703 is known. Will become obsolete  once {BASE}/170571 is merged,
for nobody knows why {BASE}/174594 breaks.

Differential revision: D101842780"""


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # one target or several
        ("Fixes #1201, fixes #1202 and closes #1203", {"fixes #1201", "fixes #1202", "fixes #1203"}),
        (
            "Resolves #1201, #1202 and #1203; see #1204",
            {"fixes #1201", "fixes #1202", "fixes #1203", "mentions #1204"},
        ),
        (
            "```\nx\n```\n`a` Fixes #1201 <!-- no --> `unclosed, fixes #1202\n\nfixes #1203 ` <!-- ` -->",
            {"fixes #1201", "fixes #1202", "fixes #1203"},
        ),
        ("\u0130\u0130 \ue000\ue001 Fixes #1201", {"fixes #1201"}),  # letters that grow when lowered move nothing
        ("this does not fix issue #1201", {"mentions #1201"}),
        ("No longer needed when #5 lands", {"<supersedes #5"}),
        ("Re-applied #5", {"relands #5"}),
        ("Superseding #5", {"supersedes #5"}),
        # what a change undoes, brings back or replaces
        (f"This reverts commit {SHA}.", {f"reverts @{SHA}"}),
        ("Reverts pytorch/pytorch#129478", {"reverts #129478"}),
        (
            "Reverted https://github.com/pytorch/pytorch/pull/31 on behalf of https://github.com/x due to a break",
            {"reverts #31"},
        ),
        ("Reverting for now before the culprit behind #1301 is found", {"mentions #1301"}),
        ("We should not revert #1301", {"mentions #1301"}),
        ("Reverted in #1301.", {"<reverts #1301"}),
        ("Original commit changeset: 9875964c3b32", {"backs_out @9875964c3b32"}),
        ("Backs out #1301", {"backs_out #1301"}),
        ("Reland of https://github.com/pytorch/pytorch/pull/31 and #1302", {"relands #31", "relands #1302"}),
        ("This is a resubmit of #30573, which got reverted.", {"relands #30573"}),
        ("Cherry picks revert of #1301 and #1302", {"reverts #1301", "reverts #1302"}),
        ("Cherry-picked from #1301", {"cherry_picks #1301"}),
        (f"(cherry picked from commit {SHA})", {f"cherry_picks @{SHA}"}),
        ("Duplicate of #3542", {"duplicates #3542"}),
        ("Dup of https://github.com/pytorch/pytorch/issues/31", {"duplicates #31"}),
        ("This is not a duplicate of #1301; maybe a dup of #1302", {"mentions #1301", "mentions #1302"}),
        ("#1303 is a duplicate of #1304.", {"mentions #1303", "mentions #1304"}),
        ("I closed it as duplicate of #1305 by mistake", {"mentions #1305"}),
        ("Unlike the duplicate of #1306, this one crashes", {"mentions #1306"}),
        ("This PR supersedes https://github.com/pytorch/pytorch/pull/30425.", {"supersedes #30425"}),
        ("Superseded by #1301", {"<supersedes #1301"}),
        ("Closing in favor of #1301", {"<supersedes #1301"}),
        ("This reverts D94545016.", set()),
        # other repositories keep their name, and an address counts once
        (
            "pytorch/vision#31 and PR#1233 and issue #1234",
            {"mentions pytorch/vision#31", "mentions #1233", "mentions #1234"},
        ),
        ("https://github.com/pytorch/xla/pull/32#issuecomment-99", {"mentions pytorch/xla#32"}),
        (f"https://github.com/pytorch/pytorch/commit/{SHA}", {f"mentions @{SHA}"}),
        # the body of the real revert names its successor and the changes it waits for; a stack is linked and not mentioned
        (REVERT, {"mentions #177703", "<supersedes #170571", "mentions #174594"}),
        (STACK, {"stacked_with #1203", "stacked_with #1201", "fixes #1211", "mentions #1212"}),
        ("#900000 is this. See #1201. Fixes #1201. #1201 again.", {"fixes #1201"}),
    ],
)
def test_bodies_tell_what_a_change_is_to_others(text: str, expected: set[str]) -> None:
    assert said(text) == expected


@pytest.mark.parametrize(
    ("title", "expected"),
    [
        ("revert https://github.com/pytorch/pytorch/pull/172340", {"reverts #172340"}),
        ('Revert "Some title (#123)"', {"reverts #123"}),
        ('Revert "Some title (#123)" (#900000)', {"reverts #123"}),
        ('Revert "Revert "Some title (#121)" (#122)" (#900000)', {"relands #121", "reverts #122"}),
        ('Revert "Revert "Some title (#121)"" (#900000)', {"relands #121"}),
        ('Revert "[reland] Some title (#121) (#122)" (#900000)', {"mentions #121", "reverts #122"}),
        (
            'Revert "Re-land it (#121) (#122) (#123) (#124)"',
            {"mentions #121", "mentions #122", "mentions #123", "reverts #124"},
        ),
        ('Revert "Some title (#121) (#900000)', {"reverts #121"}),
        ("Revert #1301 and #1302", {"reverts #1301", "reverts #1302"}),
        ("Revert #1301 #1302 #1303", {"reverts #1301", "reverts #1302", "reverts #1303"}),
        ('Back out "[CUDA] Lt by default (#174594)" (#177703)', {"backs_out #174594", "mentions #177703"}),
        ('Back out "a simple fix for #172231 (#172340)"', {"backs_out #172340", "mentions #172231"}),
        ('Revert "Cherry pick #1301, #1302 into release/2.4"', {"mentions #1301", "mentions #1302"}),
        ("[reland] Some title (#123)", {"relands #123"}),
        ("Re-land #1301", {"relands #1301"}),
        ("[GH1] Relanding #80064 after a fix", {"relands #80064"}),
        ("[v1.7 cherry-pick] Some title (#123)", {"cherry_picks #123"}),
        ("[release/1.10] Some title (#66031)", {"cherry_picks #66031"}),
        ("Release branch cherry-pick of #96009", {"cherry_picks #96009"}),
        ("[cherry pick] revert #155412 (#156757)", {"reverts #155412", "cherry_picks #156757"}),
        ("[reland] Some title", set()),
    ],
)
def test_titles_of_changes_tell_what_they_undo_or_bring_back(title: str, expected: set[str]) -> None:
    assert said(title, title=True) == expected


LANDS = "Pull Request resolved: https://github.com/pytorch/pytorch/pull/21617"
DIFF = f"Differential Revision: D27855386 (https://github.com/pytorch/pytorch/commit/{SHA})"


@pytest.mark.parametrize(
    ("kind", "title", "text", "expected"),
    [
        ("pull", True, "a simple fix for #172231", {"fixes #172231"}),
        ("commit", False, "Fixes issue #1201", {"fixes #1201"}),
        ("commit", False, "Includes fixing issue #1201.", {"fixes #1201"}),
        ("issue", False, "Fixes #1201", {"mentions #1201"}),
        ("commit", True, "Fixes type annotations for named tensors #1201 (#1202)", {"fixes #1201", "lands #1202"}),
        ("commit", True, "Fix the build after #1201 (#1202)", {"mentions #1201", "lands #1202"}),
        ("commit", False, DIFF, {f"backs_out @{SHA}"}),
        ("commit", False, "Differential Revision: D27855386", set()),
        ("comment", False, "This was fixed by #1201.", {"<fixes #1201"}),
        ("comment", False, "Should be fixed in https://github.com/pytorch/pytorch/pull/1201", {"mentions #1201"}),
        ("issue", False, "fixed in #5?", {"mentions #5"}),
        ("issue", False, "I thought it was fixed by #5 but no", {"mentions #5"}),
        ("issue", False, "supposedly fixed in #5", {"mentions #5"}),
        ("commit", False, LANDS, {"lands #21617"}),
        ("pull", False, LANDS, {"mentions #21617"}),
        ("commit", True, "Some title (#123)", {"lands #123"}),
        ("pull", True, "Some title (#123)", {"mentions #123"}),
        ("commit", True, 'Revert "Some title (#121)" (#123)', {"reverts #121", "lands #123"}),
        ("commit", True, "[release/1.10] Some title (#121) (#123)", {"cherry_picks #121", "lands #123"}),
    ],
)
def test_what_words_mean_depends_on_speakers(kind: relations.Kind, title: bool, text: str, expected: set[str]) -> None:
    assert said(text, title=title, kind=kind, number=None if kind == "commit" else 900_000) == expected


def test_a_snippet_shows_the_place_in_one_short_line() -> None:
    (reference,) = parse("x " * 200 + "\r\n\r\nFixes  #1201 at\tonce" + " y" * 200, repo=REPO, number=1)
    assert "Fixes #1201 at once" in reference.snippet
    assert len(reference.snippet) <= SNIPPET


UNITS = (
    *("#", "#1", "#1 ", "fix ", "fixes #1 ", 'revert "', 'revert "\n', 'back out "', "`", "` `` ``` ", "```\n"),
    *("<!--", "<!-- -->", ">\n", "http://", "https://github.com/", "a/b#1 ", "[", "[1.7] (", "abc1234 revert "),
    *("stack from x\n* #1\n", "* #1\n", "reland of the ", "#1 and ", " ", "not ", "cherry pick ", "\n \n", "a/", "1"),
)


TOKENS = st.sampled_from(
    [
        *UNITS,
        "#123456",
        "fixes",
        "closes: ",
        "revert ",
        "pytorch/vision#3",
        "GH-4",
        "\n",
        "\n\n",
        "(",
        ")",
        "[x](",
        "]",
        "> ",
    ]
)


@settings(max_examples=example_count(150))
@given(st.lists(TOKENS | st.text(max_size=8), max_size=40).map("".join))
def test_any_text_gives_unique_well_formed_references(text: str) -> None:
    references = parse(text, repo=REPO, number=123456)
    keys = [(r.relation, r.target_repo.lower(), r.target_number, r.target_sha, r.inverse) for r in references]
    assert len(keys) == len(set(keys))
    strong = {(r.target_repo.lower(), r.target_number, r.target_sha) for r in references if r.relation != "mentions"}
    for r in references:
        assert (r.target_number is None) != (r.target_sha is None)
        assert r.target_number is None or 0 < r.target_number <= 9_999_999
        assert (r.target_repo, r.target_number) != (REPO, 123456)
        assert len(r.snippet) <= SNIPPET
        assert "\n" not in r.snippet
        if r.relation == "mentions":
            assert (r.target_repo.lower(), r.target_number, r.target_sha) not in strong


@settings(max_examples=example_count(150))
@given(st.lists(TOKENS | st.text(max_size=8), max_size=40).map("".join))
def test_blanking_keeps_every_place_and_changes_nothing_but_to_spaces(text: str) -> None:
    blanked = blank_unsaid(text)
    assert len(blanked) == len(text)
    assert all(new in (old, " ") for new, old in zip(blanked, text, strict=True))


@pytest.mark.parametrize(
    ("pattern", "complaint"),
    [
        ("x+ {target}", "upper bound"),
        ("x{2,} {target}", "upper bound"),
        ("(?:a|b)* {target}", "upper bound"),
        ("{nothing} {target}", "no fragment"),
        ("( {target}", "unterminated subpattern"),
        ("no place for a reference", "needs"),
    ],
)
def test_a_bad_pattern_is_refused_with_its_name(pattern: str, complaint: str) -> None:
    relation = {"name": "mentions", "rank": 1, "strength": "weak", "turning": False}
    data = {
        "limits": {"text_chars": 1_000, "references": 10},
        "relation": [relation | {"forward": "f", "backward": "b", "meaning": "m"}],
        "rule": [{"id": "mine", "relation": "mentions", "pattern": pattern, "reason": "r"}],
    }
    with pytest.raises(InputError, match=complaint) as caught:
        toml_models.validate(relations.Rulebook, data, relations.FILE)
    assert str(caught.value).startswith('data/relations.toml: rule "mine": pattern: ')


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Addresses #1201.", {"fixes #1201"}),
        ("This PR addresses issues #1201 and #1202", {"fixes #1201", "fixes #1202"}),
        ("This addresses the missing feature indicated in #1201", {"fixes #1201"}),
        ("Addresses issue described in #1201", {"fixes #1201"}),
        ("Addresses some of the issues mentioned in #1201", {"mentions #1201"}),
        ("Addresses one issue in #1201", {"mentions #1201"}),
        ("Addressing an issue seen in GitHub #1201", {"fixes #1201"}),
        ("Addresses the comments in #1201", {"mentions #1201"}),
        ("It does not address #1201", {"mentions #1201"}),
        ("A later change should address #1201", {"mentions #1201"}),
    ],
)
def test_a_change_that_addresses_an_issue_fixes_it(text: str, found: set[str]) -> None:
    assert said(text, number=None, kind="commit") == found
    assert said(text, kind="comment") == {f"mentions {name.split()[1]}" for name in found}


def test_what_addresses_a_review_or_nothing_is_no_fix() -> None:
    for text in (
        "Addressed PR #5 comments",
        "addresses #5's review",
        "This addresses the change requests in #5",
        "It cannot address #5",
        "Does this address #5?",
        "Address #5 in a follow-up",
        "To some extent, addresses #5",
        "This mostly addresses #5",
        "This change is part of a stack that addresses #5",
        "This is a sub-task for addressing: #5",
    ):
        assert not any(name.startswith("fixes") for name in said(text)), text
