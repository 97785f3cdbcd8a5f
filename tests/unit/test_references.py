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


def said(
    text: str, *, number: int | None = 900_000, title: bool = False, kind: relations.Kind | None = "pull"
) -> set[str]:
    """References in short: ``relation target``, with ``<`` before an inverse one."""
    return {short(r) for r in parse(text, repo=REPO, number=number, title=title, kind=kind)}


def short(reference: Reference) -> str:
    target = f"#{reference.target_number}" if reference.target_number else f"@{reference.target_sha}"
    repo = "" if reference.target_repo == REPO else reference.target_repo
    return f"{'<' if reference.inverse else ''}{reference.relation} {repo}{target}"


@pytest.mark.parametrize(
    "word", ["close", "closes", "closed", "fix", "fixes", "fixed", "resolve", "resolves", "resolved"]
)
@pytest.mark.parametrize("colon", ["", ":"])
def test_every_closing_keyword_fixes_in_any_case(word: str, colon: str) -> None:
    for form in (word, word.upper(), word.capitalize()):
        assert said(f"{form}{colon} #123") == {"fixes #123"}


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


def test_several_keywords_and_lists_name_several_targets() -> None:
    assert said("Fixes #1201, fixes #1202 and closes #1203") == {f"fixes #{n}" for n in (1201, 1202, 1203)}
    assert said("Resolves #1201, #1202 and #1203; see #1204") == {
        *(f"fixes #{n}" for n in (1201, 1202, 1203)),
        "mentions #1204",
    }


def test_a_fix_stated_in_prose_counts_for_changes_only() -> None:
    assert said("a simple fix for #172231", title=True) == {"fixes #172231"}
    assert said("Fixes issue #1201", kind="commit", number=None) == {"fixes #1201"}
    assert said("Includes fixing issue #1201.", kind="commit", number=None) == {"fixes #1201"}
    assert said("Fixes #1201", kind="issue") == {"mentions #1201"}


def test_the_number_that_ends_a_title_of_a_fix_is_fixed_unless_it_says_where_the_fault_came_from() -> None:
    def of_commit(title: str) -> set[str]:
        return said(title, title=True, kind="commit", number=None)

    assert of_commit("Fixes type annotations for named tensors #1201 (#1202)") == {"fixes #1201", "lands #1202"}
    assert of_commit("Fix the build after #1201 (#1202)") == {"mentions #1201", "lands #1202"}


def test_a_diff_with_the_address_of_its_commit_is_backed_out() -> None:
    text = "Differential Revision: D27855386 (https://github.com/pytorch/pytorch/commit/40483acc512ff1964f2416b2bdf0e8f5a8157885)"
    assert said(text, kind="commit", number=None) == {"backs_out @40483acc512ff1964f2416b2bdf0e8f5a8157885"}
    assert said("Differential Revision: D27855386", kind="commit", number=None) == set()
    assert said("this does not fix issue #1201") == {"mentions #1201"}


def test_a_maintainer_names_the_fix_in_a_comment() -> None:
    assert said("This was fixed by #1201.", kind="comment") == {"<fixes #1201"}
    assert said("Should be fixed in https://github.com/pytorch/pytorch/pull/1201", kind="comment") == {"mentions #1201"}


@pytest.mark.parametrize(
    "text",
    [
        "```\nFixes #1201\n```",
        "~~~~ text\nFixes #1201\n~~~~",
        "- ```py\n  Fixes #1201\n  ```",
        "```\nnever closed\nFixes #1201",
        "`Fixes #1201`",
        "``a ` Fixes #1201``",
        "<!-- Fixes #1201 -->",
        "<!-- never closed\nFixes #1201",
        "> Fixes #1201",
        " > > Fixes #1201",
        "Fixes #ISSUE_NUMBER",
        "Fixes #",
        "Fixes #0",
        "Fixes #0123",
        "Fixes #99999999",
        "Fixes #12ab",
        "Fixes # 1201",
    ],
)
def test_what_is_code_comment_quote_or_no_number_says_nothing(text: str) -> None:
    assert said(text) == set()


def test_text_after_code_and_comments_still_counts() -> None:
    text = "```\nx\n```\n`a` Fixes #1201 <!-- no --> `unclosed, fixes #1202\n\nfixes #1203 ` <!-- ` -->"
    assert said(text) == {"fixes #1201", "fixes #1202", "fixes #1203"}


@pytest.mark.parametrize(
    "text",
    [
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
def test_things_that_only_look_like_references_are_left_alone(text: str) -> None:
    assert said(text) == set()


def test_other_repositories_keep_their_name_and_addresses_count_once() -> None:
    text = "pytorch/vision#31, https://github.com/pytorch/xla/pull/32#issuecomment-99, PR#1233 and issue #1234"
    assert said(text) == {
        "mentions pytorch/vision#31",
        "mentions pytorch/xla#32",
        "mentions #1233",
        "mentions #1234",
    }
    assert said(f"https://github.com/pytorch/pytorch/commit/{SHA}") == {f"mentions @{SHA}"}


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
        ("[RESUBMIT] Some title (#123)", {"relands #123"}),
        ("Re-land #1301", {"relands #1301"}),
        ('Reland "Some title (#123)"', {"relands #123"}),
        ("[GH1] Relanding #80064 after a fix", {"relands #80064"}),
        ("[v1.7 cherry-pick] Some title (#123)", {"cherry_picks #123"}),
        ("[release/1.10] Some title (#66031)", {"cherry_picks #66031"}),
        ("[1.7] Work around a bug (#46001)", {"cherry_picks #46001"}),
        ("Release branch cherry-pick of #96009", {"cherry_picks #96009"}),
        ("[cherry pick] revert #155412 (#156757)", {"reverts #155412", "cherry_picks #156757"}),
        ("[reland] Some title", set()),
    ],
)
def test_titles_of_changes_tell_what_they_undo_or_bring_back(title: str, expected: set[str]) -> None:
    assert said(title, title=True) == expected


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (f"This reverts commit {SHA}.", {f"reverts @{SHA}"}),
        ("Reverts pytorch/pytorch#129478", {"reverts #129478"}),
        (
            "Reverted https://github.com/pytorch/pytorch/pull/31 on behalf of https://github.com/x due to a break",
            {"reverts #31"},
        ),
        ("Reverting #1301", {"reverts #1301"}),
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
        ("This PR supersedes https://github.com/pytorch/pytorch/pull/30425.", {"supersedes #30425"}),
        ("Replaces #1301", {"supersedes #1301"}),
        ("Superseded by #1301", {"<supersedes #1301"}),
        ("Closing in favor of #1301", {"<supersedes #1301"}),
        ("This reverts D94545016.", set()),
    ],
)
def test_bodies_tell_what_they_undo_bring_back_or_replace(body: str, expected: set[str]) -> None:
    assert said(body) == expected


def test_the_body_of_the_real_revert_names_its_successor_and_the_changes_it_waits_for() -> None:
    base = "https://github.com/pytorch/pytorch/pull"
    body = (
        "Stack from [ghstack](https://github.com/ezyang/ghstack/tree/0.14.0) (oldest at bottom):\n* __->__ #179151\n\n"
        f"Reverting for now before the culprit behind {base}/177703 is known. Will become obsolete  once {base}/170571"
        f" is merged, for nobody knows why {base}/174594 breaks.\n\nDifferential revision: D101842780"
    )
    assert said(body, number=179151) == {"mentions #177703", "<supersedes #170571", "mentions #174594"}


def test_a_ghstack_body_links_the_stack_and_mentions_none_of_it() -> None:
    body = (
        "Stack from [ghstack](https://github.com/ezyang/ghstack):\n"
        "* #1203 A title that says fixes #1210\n* __->__ #1202\n* **#1201 Another title**\n\nFixes #1211, see #1212"
    )
    assert said(body, number=1202) == {
        "stacked_with #1203",
        "stacked_with #1201",
        "fixes #1211",
        "mentions #1212",
    }


def test_a_commit_lands_its_pull_request_and_an_item_does_not() -> None:
    line = "Pull Request resolved: https://github.com/pytorch/pytorch/pull/21617"
    assert said(line, kind="commit", number=None) == {"lands #21617"}
    assert said(line) == {"mentions #21617"}

    def subject(text: str) -> set[str]:
        return said(text, number=None, kind="commit", title=True)

    assert subject("Some title (#123)") == {"lands #123"}
    assert subject('Revert "Some title (#121)" (#123)') == {"reverts #121", "lands #123"}
    assert subject("[release/1.10] Some title (#121) (#123)") == {"cherry_picks #121", "lands #123"}
    assert said("Some title (#123)", title=True) == {"mentions #123"}


def test_self_references_are_dropped_and_the_strongest_relation_replaces_a_mention() -> None:
    assert said("#900000 is this. See #1201. Fixes #1201. #1201 again.") == {"fixes #1201"}
    assert len(parse("#1201 #1201 pytorch/pytorch#1201", repo=REPO, number=1)) == 1


def test_a_snippet_shows_the_place_in_one_short_line() -> None:
    (reference,) = parse("x " * 200 + "\r\n\r\nFixes  #1201 at\tonce" + " y" * 200, repo=REPO, number=1)
    assert "Fixes #1201 at once" in reference.snippet
    assert len(reference.snippet) <= SNIPPET


def test_letters_that_grow_when_lowered_and_private_characters_move_nothing() -> None:
    assert said("İİİ \ue000\ue001 Fixes #1201 İ vs/\u0130x#5") >= {"fixes #1201"}


UNITS = (
    *("#", "#1", "#1 ", "fix ", "fixes #1 ", 'revert "', 'revert "\n', 'back out "', "`", "` `` ``` ", "```\n"),
    *("<!--", "<!-- -->", ">\n", "http://", "https://github.com/", "a/b#1 ", "[", "[1.7] (", "abc1234 revert "),
    *("stack from x\n* #1\n", "* #1\n", "reland of the ", "#1 and ", " ", "not ", "cherry pick ", "\n \n", "a/", "1"),
)


tokens = st.sampled_from(
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
@given(st.lists(tokens | st.text(max_size=8), max_size=40).map("".join))
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
@given(st.lists(tokens | st.text(max_size=8), max_size=40).map("".join))
def test_blanking_keeps_every_place_and_changes_nothing_but_to_spaces(text: str) -> None:
    blanked = blank_unsaid(text)
    assert len(blanked) == len(text)
    assert all(new in (old, " ") for new, old in zip(blanked, text, strict=True))


@given(st.integers(1, 9_999_999), st.sampled_from(["Fixes", "closes", "Resolved:"]))
def test_every_number_is_found_again(number: int, word: str) -> None:
    assert {(r.relation, r.target_number) for r in parse(f"{word} #{number}", repo=REPO, kind="pull", number=None)} == {
        ("fixes", number)
    }


def test_every_shipped_rule_has_a_reason_and_an_own_id() -> None:
    from torch_embers import resources

    data = resources.load_toml("relations.toml")
    entries = [*data["rule"], *data["ignore"], *data["block"]]
    ids = [entry["id"] for entry in entries]
    assert len(ids) == len(set(ids))
    assert all(entry["reason"] for entry in entries)
    assert all(entry["meaning"] for entry in data["relation"])


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
    data = {
        "limits": {"text_chars": 1_000, "references": 10},
        "relation": [
            {
                "name": "mentions",
                "rank": 1,
                "strength": "weak",
                "turning": False,
                "forward": "f",
                "backward": "b",
                "meaning": "m",
            }
        ],
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
        ("Addresses missing ROCm feature indicated in #1201", {"fixes #1201"}),
        ("Addresses issue described in #1201", {"fixes #1201"}),
        ("Address issues highlighted in #1201", {"fixes #1201"}),
        ("Addresses some of the issues mentioned in #1201", {"mentions #1201"}),
        ("Addresses one issue in #1201", {"mentions #1201"}),
        ("Addressing an issue seen in GitHub #1201", {"fixes #1201"}),
        ("Addresses the comments in #1201", {"mentions #1201"}),
        ("Addresses the problem that was introduced in #1201", {"mentions #1201"}),
        ("It does not address #1201", {"mentions #1201"}),
        ("A later change should address #1201", {"mentions #1201"}),
    ],
)
def test_a_change_that_addresses_an_issue_fixes_it(text: str, found: set[str]) -> None:
    assert said(text, number=None, kind="commit") == found
    assert said(text, kind="comment") == {f"mentions {name.split()[1]}" for name in found}


@pytest.mark.parametrize(
    "text",
    [
        "Addressed PR #5 comments",
        "addresses #5's review",
        "This addresses the change requests in #5",
        "It cannot address #5",
        "Does this address #5?",
        "Address #5 in a follow-up",
        "this does not fully or completely address #5",
        "This partially addresses #5",
        "To some extent, addresses #5",
        "It improves the comment (somewhat addressing #5)",
        "This mostly addresses #5",
        "This change is part of a stack that addresses #5",
        "This is a sub-task for addressing: #5",
    ],
)
def test_what_addresses_a_review_or_nothing_is_no_fix(text: str) -> None:
    assert "fixes" not in {name.split()[0] for name in said(text, kind="pull")}


@pytest.mark.parametrize("text", ["fixed in #5?", "I thought it was fixed by #5 but no", "supposedly fixed in #5"])
def test_a_doubted_repair_is_no_fix(text: str) -> None:
    assert "fixes" not in {name.split()[0] for name in said(text, kind="issue")}


@pytest.mark.parametrize(
    ("text", "relation"),
    [("No longer needed when #5 lands", "<supersedes"), ("Re-applied #5", "relands"), ("Superseding #5", "supersedes")],
)
def test_a_word_that_a_rule_needs_is_in_every_form_of_it(text: str, relation: str) -> None:
    assert relation in {name.split()[0] for name in said(text, kind="pull")}
