"""Case files: what is read, what is refused, what the hash covers; and every case that ships."""

from __future__ import annotations

import ast
import tomllib
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support import CASE_CODE, case_of, case_text, example_count
from torch_embers import judgements
from torch_embers.cases import case as cases
from torch_embers.cases.case import CaseError, load, metadata_lines, parse, shipped
from unit.test_catalog import CITED

if TYPE_CHECKING:
    from pathlib import Path

REPO = "pytorch/pytorch"


def test_a_case_tells_what_it_needs_and_what_counts() -> None:
    made = case_of(
        issues=["pytorch/pytorch#99638", "o/r#2"],
        bug_type="memory",
        memory_type="non_contiguous",
        consequence="silent_correctness",
        requires=["cuda", "memory>=16GiB", "torch>=2.1", "package:scipy", "threads>=2"],
        known_bad=["2.0.1"],
        fixed_in="2.1.0",
        signature=["mismatch", "SIGSEGV"],
        timeout=5,
    )
    assert made.issues == (("pytorch/pytorch", 99638), ("o/r", 2))
    assert made.labels == {
        "bug_type": "memory",
        "memory_type": "non_contiguous",
        "consequence": "silent_correctness",
    }
    assert (made.device, made.memory, made.threads) == ("cuda", 16 << 30, 2)
    assert [str(need) for need in made.needs] == ["cuda", "memory>=16GiB", "torch>=2.1", "package:scipy", "threads>=2"]
    assert (made.runs_on_version("2.0.1"), made.runs_on_version("2.1.0+cu121")) == (False, True)
    assert len(made.signature) == 2


BAD_META = [
    (
        {"relation": "cousin"},
        r"pt1_example: line \d+: .*relation.pytorch/pytorch#1: Input should be 'same', 'sibling' or",
    ),
    ({"relation": 5}, r"line \d+: .*relation: Input should be a valid dictionary"),
    ({"requires": ["cpu", f"threads>={'9' * 5000}"]}, "is none of cpu"),
    ({"requires": ["cpu", "memory>=lots"]}, "is none of cpu"),
    ({"requires": ["cpu", "threads<2"]}, "is none of cpu"),
    ({"requires": ["cpu", "torch>=x"]}, "Invalid specifier"),
    ({"requires": []}, "at least one of cpu"),
    ({"requires": [5]}, "5 is none of cpu"),
    ({"issues": ["99638"]}, "owner/name#123"),
    ({"issues": ["pytorch/pytorch#1", "pytorch/pytorch#1"]}, "issues names one of them twice"),
    ({"bug_type": "no such type"}, "bug_type"),
    ({"bug_type": "indexing", "memory_type": "non_contiguous"}, "applies only under bug_type 'memory'"),
    ({"known_bad": ["one"]}, "known_bad.0: Invalid version: 'one'"),
    ({"fixed_in": "soon"}, "fixed_in: Invalid version: 'soon'"),
    ({"fixed_in": 0}, "fixed_in: Input should be a valid string"),
    ({"known_bad": ["2.5.0"], "fixed_in": "2.1.0"}, r"fixed_in: it is 2.1.0, but known_bad has 2.5.0"),
    ({"finalise": "yes"}, "finalise: Input should be a valid boolean"),
    ({"signature": "wrong"}, "no signature"),
    ({"oracle": "magic"}, "oracle: Input should be 'self'"),
    ({"timeout": 0}, "timeout: Input should be greater than 0"),
    ({"timeout": True}, "timeout: Input should be a valid number"),
    ({"known_good": ["2.1.0"]}, r"line \d+: tool.embers.known_good: Extra inputs are not permitted"),
]


@pytest.mark.parametrize(("meta", "message"), BAD_META)
def test_metadata_without_meaning_is_refused_with_the_reason(meta: dict[str, object], message: str) -> None:
    with pytest.raises(CaseError, match=message):
        case_of(**meta)


BAD_TEXT = [
    ("print(1)", "no metadata block"),
    (case_text() + "\n" + "\n".join(metadata_lines({})), "2 metadata block"),
    ("# /// script\n# dependencies = [\n# ///\n", "metadata block"),
    ("# /// script\n# dependencies = []\n# ///\n", "dependencies"),
    ('# /// script\n# dependencies = ["torch"]\n# ///\n', "tool: Field required"),
    ('# /// script\n# tool = 5\n# dependencies = ["torch"]\n# ///\n', "tool: Input should be a valid dictionary"),
    ('# /// script\n# dependencies = ["torch"]\n# [tool.embers]\n# relation = "same\n# ///\n', "line 4"),
    ("# /// script\n# x = " + "[" * 5000 + "\n# ///\n", "nested too deeply"),
    ("# /// script\n# x" + ".x" * 7000 + " = 1\n# ///\n", "metadata block: 7,000 dots in one line, at most 250"),
    ("# /// script\n# x" + "x" * 16_384 + " = 1\n# ///\n", "metadata block: 16,390 characters, at most 16,384"),
    ("# /// script\n# x = " + "9" * 5000 + "\n# ///\n", "metadata block: Exceeds the limit"),
    (case_text("def f(:"), "line"),
    (case_text(summary=" "), "docstring"),
    (case_text("x = '" + "a" * (1 << 20) + "'"), "no small repro"),
    (case_text("x = 1\0"), "null bytes"),
    (case_text("x = " + "(" * 5000 + ")" * 5000), "pt1_bad: "),
]


@pytest.mark.parametrize(("text", "message"), BAD_TEXT, ids=range(len(BAD_TEXT)))
def test_a_file_that_is_no_case_is_refused_with_the_reason(text: str, message: str) -> None:
    with pytest.raises(CaseError, match=message):
        parse(text, "pt1_bad")


@pytest.mark.parametrize("line", ["# /// a", "# /// script", "# x", "# /// a\n# x\n# ///\n"])
def test_the_largest_text_is_searched_for_its_block_in_one_pass(line: str) -> None:
    """Where each line is compared with those behind it this takes hours."""
    with pytest.raises(CaseError, match="no metadata block"):
        parse(f"{line}\n" * (cases.LARGEST // (len(line) + 1)), "pt1_long")


def test_a_file_that_is_not_utf_8_or_not_there_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "pt1_latin.py"
    path.write_bytes(case_text().encode() + b"# caf\xe9\n")
    with pytest.raises(CaseError, match="UTF-8"):
        load(path)
    with pytest.raises(CaseError, match="No such file"):
        load(tmp_path / "pt2_missing.py")


def test_prose_measurements_and_items_do_not_make_another_case() -> None:
    one = case_of()
    assert case_of(known_bad=["2.0.1"], fixed_in="2.1.0").hash == one.hash
    assert one.hash == case_of(issues=[]).hash == case_of(relation="sibling").hash
    assert case_of(CASE_CODE + "\n# a remark\n").hash == one.hash
    assert parse(case_text(summary="Other words for it."), "pt1_example").hash == one.hash


@pytest.mark.parametrize("other", [{"signature": "SIGSEGV"}, {"requires": ["cuda"]}, {"timeout": 5}, {"code": "x = 1"}])
def test_what_decides_a_verdict_makes_another_case(other: dict[str, object]) -> None:
    code = str(other.pop("code", CASE_CODE))
    assert case_of(code, **other).hash != case_of().hash


# ---- the cases that ship -------------------------------------------------------------------------------------------

SHIPPED = shipped()


def imported(code: str) -> set[str]:
    """Top-level modules that a script imports; the code keeps to Python 3.8."""
    nodes = list(ast.walk(ast.parse(code, feature_version=(3, 8))))
    names = [alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names]
    names += [node.module or "" for node in nodes if isinstance(node, ast.ImportFrom)]
    return {name.partition(".")[0] for name in names}


def test_shipped_cases_stand_alone() -> None:
    for made in SHIPPED:
        assert "torch_embers" not in imported(made.code), made.name
        assert "EMBERS_PLANT" in made.code, made.name
        assert made.oracle == "self", made.name
        assert made.labels.keys() >= {"bug_type", "consequence"}, made.name
        assert not made.issues or made.name.startswith(f"pt{made.issues[0][1]}_")
        assert set(made.relations) == set(made.issues), made.name


def test_a_relation_is_given_for_all_items_or_by_item() -> None:
    both = ["pytorch/pytorch#1", "pytorch/pytorch#2"]
    assert case_of(issues=both, relation="same").relations == dict.fromkeys([(REPO, 1), (REPO, 2)], "same")
    text = case_text(issues=both).replace("# requires", '# relation."pytorch/pytorch#2" = "sibling"\n# requires')
    assert parse(text, "pt1_example").relations == {(REPO, 2): "sibling"}
    assert case_of(relation="unknown").relations == {(REPO, 1): "unknown"}
    with pytest.raises(CaseError, match="none of its issues"):
        parse(text.replace('relation."pytorch/pytorch#2"', 'relation."pytorch/pytorch#3"'), "pt1_example")


def test_the_bank_covers_what_it_promises() -> None:
    types = [made.labels.get("memory_type") for made in SHIPPED]
    consequences = [made.labels["consequence"] for made in SHIPPED]
    indexing = sum(made.labels["bug_type"] == "indexing" for made in SHIPPED)
    assert len(SHIPPED) >= 70
    assert sum(made.device == "cpu" for made in SHIPPED) >= 45
    for family in ("non_contiguous", "segment_fault", "memory_format"):
        assert types.count(family) >= 8, family
    assert types.count("indexing") + indexing >= 8
    for family in ("silent_correctness", "nan_inf"):
        assert consequences.count(family) >= 8, family


def test_every_issue_that_the_study_cites_has_a_case_or_a_reason() -> None:
    covered = {key for made in SHIPPED for key in made.issues}
    reasons = cases.uncovered()
    assert not [key for key in CITED if ("pytorch/pytorch", key) not in {*covered, *reasons}]
    assert sum(("pytorch/pytorch", key) in covered for key in CITED) >= 18


def test_every_pair_that_was_read_blind_has_an_earlier_reading_by_another_reader_and_gives_a_reason() -> None:
    blind = judgements.ask("FROM judgements WHERE question = 'faithful' AND blind")
    earlier = judgements.ask("""
        FROM judgements b WHERE question = 'faithful' AND blind AND EXISTS (FROM judgements e WHERE NOT e.blind
            AND e.subject = b.subject AND e.item = b.item AND e.question = b.question AND e.reader <> b.reader)""")
    assert len({(row["subject"], row["item"]) for row in blind}) == len(earlier) == len(blind) > 0


@given(st.text(max_size=300))
def test_any_text_is_a_case_or_is_refused(text: str) -> None:
    for candidate in (text, case_text(text)):
        try:
            parse(candidate, "pt1_any")
        except CaseError:
            continue


@given(
    st.dictionaries(
        st.from_regex(r"[a-z]{1,8}", fullmatch=True),
        st.one_of(st.text(max_size=20), st.booleans(), st.integers(-5, 5), st.lists(st.text(max_size=8), max_size=3)),
        max_size=4,
    )
)
@settings(max_examples=example_count(60))
def test_written_metadata_is_read_as_it_was(entries: dict[str, object]) -> None:
    lines = list(metadata_lines(entries))
    assert all(line.startswith("#") and "\n" not in line for line in lines)
    table = tomllib.loads("\n".join(line[2:] for line in lines[1:-1]))
    read = table.get("tool", {}).get("embers", {})
    assert read == entries
