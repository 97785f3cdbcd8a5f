"""Labels by hand: sheets that go out and come back, rules that are tried, and labels that look wrong."""

from __future__ import annotations

import csv
import shutil
from typing import TYPE_CHECKING, Any

import pytest

from helpers.rows import GoldLabel, Item, Row, put, replace, store_of
from support import Ended, rows, run_embers
from torch_embers.store.store import Store

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

REPO = "pytorch/pytorch"
NOON = "2024-01-23T12:00:00Z"
TITLES = {
    1: "median of an expanded tensor is wrong",
    2: "sort crashes on a channels_last tensor",
    3: "Sort crashes on a channels_last tensor!",
    4: '=HYPERLINK("http://evil") hangs; "quoted", comma',
    5: "DataLoader leaks descriptors",
}
ADDRESS = f"https://github.com/{REPO}/issues"


@pytest.fixture(scope="session")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Five issues and a pull request; the classifier is sure of 1, unsure of 2 to 4, and has not seen 5."""
    items = [
        Item(REPO, n, "issue", title, updated_at=f"2024-01-0{n}T00:00:00Z", source="jsonl")
        for n, title in TITLES.items()
    ]
    items.append(Item(REPO, 6, "pull", "a pull request", updated_at=NOON, source="jsonl"))
    path = tmp_path_factory.mktemp("label") / "filled.duckdb"
    said = Row(repo=REPO, scheme="bug_type", confidence="low", provenance="out_of_fold", model="m", text_hash="h")
    said = replace(said, votes_hash="", predicted_at=NOON)
    sure = ((1, "memory", 0.99), (2, "memory", 0.42), (3, "memory", 0.4), (4, "logical", 0.6))
    store_of(path, items, predictions=[replace(said, number=n, value=value, probability=p) for n, value, p in sure])
    return path


@pytest.fixture
def store(template: Path, database: Path) -> Store:
    shutil.copy(template, database)
    return Store(database)


def label(store: Store, *words: object) -> Ended:
    return run_embers("data", "label", *words, "--database", store.path)


def exported(store: Store, path: Path, *words: object) -> list[dict[str, str]]:
    done = label(store, "export", path, *words)
    assert done.returncode == 0, done.stderr
    with path.open(newline="", encoding="utf-8-sig") as file:
        return list(csv.DictReader(file))


def numbers(sheet: Sequence[dict[str, str]]) -> list[int]:
    return [int(row["number"]) for row in sheet]


def gold(store: Store) -> list[tuple[Any, ...]]:
    return rows(
        store.path,
        "SELECT number, scheme, value, annotator FROM gold_labels WHERE annotator_kind = 'human' ORDER BY ALL",
    )


def by_machine(store: Store, number: int) -> None:
    said = GoldLabel(REPO, number, "bug_type", "memory", "automated", "guide-1", labelled_at=NOON, source="catalog")
    with store.writer("test") as writer:
        put(writer, gold_labels=[said])


HEAD = "address,bug_type,memory_type,memory_subtype,consequence,backend"


def sheet(path: Path, *answers: tuple[int, str], head: str = HEAD) -> Path:
    """A filled sheet in the columns of ``head``."""
    path.write_text("\n".join([head, *(f"{ADDRESS}/{number},{said}" for number, said in answers)]), encoding="utf-8")
    return path


def imported(store: Store, path: Path) -> Ended:
    return label(store, "import", path, "--annotator", "ann")


# ---- out -----------------------------------------------------------------------------------------------------------


def test_the_least_sure_come_first_then_what_nobody_classified_and_one_of_two_alike(
    store: Store, tmp_path: Path
) -> None:
    found = exported(store, tmp_path / "s.csv")
    assert numbers(found) == [3, 4, 1, 5]
    assert list(found[0])[:4] == ["number", "address", "title", "classifier"]
    assert found[0]["address"] == f"{ADDRESS}/3"
    assert found[0]["classifier"] == "bug_type memory 40 %"
    assert found[0]["bug_type"] == found[0]["backend"] == found[0]["note"] == ""
    assert found[1]["title"].startswith("'=HYPERLINK"), "a spreadsheet runs no title"


def test_what_is_like_a_labelled_item_is_left_out_and_a_labelled_one_is_not(store: Store, tmp_path: Path) -> None:
    by_machine(store, 2)
    by_machine(store, 6)
    assert numbers(exported(store, tmp_path / "s.csv")) == [2, 4, 1, 6, 5]


def test_answers_of_one_class_do_not_fill_the_sheet(store: Store, tmp_path: Path) -> None:
    many = [Item(REPO, n, "issue", f"{n:b} {chr(n) * 12}", source="jsonl") for n in range(100, 140)]
    with store.writer("test") as writer:
        put(writer, items=many)
        with writer.transaction() as connection:
            connection.execute(
                "INSERT INTO predictions SELECT p.* REPLACE (i AS number, 0.5 AS probability) FROM predictions p, range(100, 140) r(i) WHERE number = 1"
            )
    assert numbers(exported(store, tmp_path / "s.csv"))[:20].count(4) == 1, (
        "0.60 of another class, beside forty of 0.50"
    )


def test_who_labelled_an_item_is_not_asked_again_and_others_are(store: Store, tmp_path: Path) -> None:
    assert imported(store, sheet(tmp_path / "in.csv", (4, "logical"), head="address,bug_type")).returncode == 0
    assert 4 not in numbers(exported(store, tmp_path / "nobody.csv"))
    assert 4 not in numbers(exported(store, tmp_path / "ann.csv", "--annotator", "ann"))
    assert 4 in numbers(exported(store, tmp_path / "ben.csv", "--annotator", "ben"))
    assert 4 in numbers(exported(store, tmp_path / "other.csv", "--annotator", "ann", "--scheme", "consequence"))


def test_a_scheme_brings_its_parents_and_a_blind_sheet_has_no_answers(store: Store, tmp_path: Path) -> None:
    found = exported(store, tmp_path / "s.csv", "--scheme", "memory_subtype", "--blind", "--limit", 1)
    assert [list(row) for row in found] == [
        ["number", "address", "title", "bug_type", "memory_type", "memory_subtype", "note"]
    ]
    assert "no scheme 'colour'" in label(store, "export", tmp_path / "t.csv", "--scheme", "colour").stderr


def test_answers_in_a_sheet_are_never_written_over(store: Store, tmp_path: Path) -> None:
    kept = sheet(tmp_path / "s.csv", (1, "logical"))
    before = kept.read_bytes()
    assert "is there already" in label(store, "export", kept).stderr
    assert kept.read_bytes() == before
    assert "cannot be written" in label(store, "export", tmp_path / "no" / "s.csv").stderr


# ---- in ------------------------------------------------------------------------------------------------------------


def test_a_filled_sheet_becomes_gold_labels_of_its_annotator(store: Store, tmp_path: Path) -> None:
    exported(store, path := tmp_path / "s.csv")
    text = path.read_text(encoding="utf-8-sig").replace(
        "40 %,,,,,,", '40 %,Memory,non-contiguous,information_loss,crash,"cpu, CUDA",seen in a run'
    )
    path.write_text(text.replace("60 %,,,,,,", "60 %,logical,,,?,?,"), encoding="utf-8")
    done = imported(store, path)
    assert "7 labels of 2 items by ann; rows without an answer: 2" in done.stdout
    assert gold(store) == [
        (3, "backend", "cpu", "ann"),
        (3, "backend", "cuda", "ann"),
        (3, "bug_type", "memory", "ann"),
        (3, "consequence", "crash", "ann"),
        (3, "memory_subtype", "information_loss", "ann"),
        (3, "memory_type", "non_contiguous", "ann"),
        (4, "bug_type", "logical", "ann"),
    ]
    assert rows(store.path, "SELECT DISTINCT source, evidence FROM gold_labels WHERE number = 3") == [
        ("label", "seen in a run")
    ]


def test_an_unfilled_sheet_writes_nothing_and_says_so(store: Store, tmp_path: Path) -> None:
    exported(store, tmp_path / "s.csv")
    done = imported(store, tmp_path / "s.csv")
    assert (done.returncode, done.stdout.split(":")[-1].strip()) == (0, "nothing was written")
    assert gold(store) == []


def test_all_mistakes_of_a_sheet_are_told_at_once_and_nothing_is_written(store: Store, tmp_path: Path) -> None:
    path = sheet(
        tmp_path / "s.csv",
        (1, "logical,,,crash,cpu"),
        (2, "memry,non_contiguous,,,"),
        (3, "memory,checking,overflow,crash,cpu"),
        (4, "logical,checking,,explosion,cpu"),
        (5, "memory,,,crash,\"cpu;gpu\""),
        (77, "logical,,,crash,cpu"),
        (1, "onnx,,,crash,cpu"),
        (6, "logical,,,crash,cpu,more"),
    )  # fmt: skip
    path.write_text(path.read_text(encoding="utf-8") + "\nhttps://example.com,logical,,,crash,?\n", encoding="utf-8")
    done = imported(store, path)
    assert done.returncode == 3
    said = done.stderr.splitlines()
    assert said[0].endswith("nothing was written, 12 to mend:")
    for line, words in [
        (3, "bug_type 'memry' is no class: write one of not_a_bug, onnx"),
        (3, "consequence is empty: write one of crash"),
        (3, "backend is empty"),
        (4, "'overflow' is no class of memory_subtype under 'checking' (known: input_checking)"),
        (5, "memory_type 'checking' applies only under bug_type 'memory'"),
        (5, "consequence 'explosion' is no class: write one of crash"),
        (6, "memory_type is empty: write one of checking"),
        (6, "backend 'gpu' is no class"),
        (7, f"{REPO}#77 is not in this database"),
        (8, f"{REPO}#1 was answered in line 2 already"),
        (9, "7 cells under 6 columns"),
        (10, "address 'https://example.com': write https://github.com/OWNER/NAME/issues/NUMBER"),
    ]:
        assert any(one.startswith(f"  line {line}: ") and words in one for one in said), words
    assert gold(store) == []


@pytest.mark.parametrize(
    ("head", "words"),
    [
        (
            "number,title",
            "2 to mend:\n  line 1: column address is missing, which says what item a row is of\n  line 1: no column has answers: name one",
        ),
        ("address,memory_type", "column bug_type is missing, under which memory_type stands"),
        ("address,bug_type,Bug_Type", "column bug_type stands twice"),
    ],
)
def test_columns_that_are_missing_or_twice_there_are_told(store: Store, tmp_path: Path, head: str, words: str) -> None:
    assert words in imported(store, sheet(tmp_path / "s.csv", head=head)).stderr


def test_any_spreadsheet_may_have_saved_it(store: Store, tmp_path: Path) -> None:
    text = f'Note;bug_type;mine;address\r\n;;;\r\n\'=1+1;onnx;x;{ADDRESS}/1\r\n"two\r\nlines";other;;{ADDRESS}/2\r\n'
    (path := tmp_path / "s.csv").write_bytes(text.encode("utf-8-sig"))
    assert "columns that are not read: mine" in imported(store, path).stdout
    assert gold(store) == [(1, "bug_type", "onnx", "ann"), (2, "bug_type", "other", "ann")]
    assert rows(store.path, "SELECT evidence FROM gold_labels ORDER BY number") == [("=1+1",), ("two\r\nlines",)]
    path.write_text(text.replace("other", "others").replace(";", "\t"), encoding="utf-8")
    assert "line 4: bug_type 'others'" in imported(store, path).stderr


def test_a_sheet_whose_columns_were_sorted_apart_is_refused(store: Store, tmp_path: Path) -> None:
    (path := tmp_path / "s.csv").write_text(f"number,address,bug_type\n2,{ADDRESS}/1,onnx", encoding="utf-8")
    assert "number 2 beside the address of 1" in imported(store, path).stderr


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "is empty"),
        (b"\xef\xbb\xbf\r\n,,\r\n", "is empty"),
        ("address,bug_type\n".encode("utf-16"), "is not in UTF-8"),
        (b'address,bug_type\n"open', "from line 2 on, is no CSV"),
        (None, "cannot be read"),
    ],
)
def test_what_is_no_sheet_is_refused_in_one_line(store: Store, tmp_path: Path, data: bytes | None, words: str) -> None:
    path = tmp_path / "s.csv"
    if data is not None:
        path.write_bytes(data)
    done = imported(store, path)
    assert done.returncode == 3
    assert words in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_a_later_sheet_replaces_what_its_annotator_said_and_what_no_longer_applies(
    store: Store, tmp_path: Path
) -> None:
    imported(
        store,
        sheet(tmp_path / "a.csv", (1, "memory,checking,input_checking,crash,cpu"), (2, "memory,checking,?,crash,?")),
    )
    label(store, "import", sheet(tmp_path / "b.csv", (1, "onnx"), head="address,bug_type"), "--annotator", "ben")
    imported(store, sheet(tmp_path / "c.csv", (1, "logical"), (2, "memory"), head="address,bug_type"))
    assert gold(store) == [
        (1, "backend", "cpu", "ann"),
        (1, "bug_type", "logical", "ann"),
        (1, "bug_type", "onnx", "ben"),
        (1, "consequence", "crash", "ann"),
        (2, "bug_type", "memory", "ann"),
        (2, "consequence", "crash", "ann"),
        (2, "memory_type", "checking", "ann"),
    ]
    imported(store, sheet(tmp_path / "d.csv", (1, "?"), head="address,bug_type"))
    assert (1, "bug_type", "logical", "ann") not in gold(store)


def test_a_person_has_a_printable_name_that_is_no_machines(store: Store, tmp_path: Path) -> None:
    by_machine(store, 4)
    path = sheet(tmp_path / "s.csv", (4, "logical"), head="address,bug_type")
    for name, words in [
        ("guide-1", "no person"),
        (" ", "printable"),
        ("a\x1b[31m", "printable"),
        ("x" * 61, "printable"),
    ]:
        assert words in label(store, "import", path, "--annotator", name).stderr
    assert "--annotator" in label(store, "import", path).stderr
    assert gold(store) == []


# ---- rules ---------------------------------------------------------------------------------------------------------

RULE = """
[[function]]
id = "sort-hangs"
scheme = "consequence"
value = "hang"
kind = "keyword"
where = "title"
pattern = "sort crashes|hangs"
needs = ["sort", "hangs"]
reason = "a test"
"""


def checked(store: Store, path: Path, text: str) -> Ended:
    path.write_text(text, encoding="utf-8")
    return label(store, "check-rule", path)


def test_a_rule_is_told_by_coverage_precision_and_conflicts(store: Store, tmp_path: Path) -> None:
    imported(store, sheet(tmp_path / "s.csv", (2, "crash"), (4, "hang"), (5, "hang"), head="address,consequence"))
    done = checked(store, tmp_path / "r.toml", RULE)
    assert done.stdout.splitlines() == [
        "sort-hangs (consequence hang) speaks of 3 of 6 items",
        "  right on 1 of 2 with a gold label (50%, 95 % interval 9% to 91%); 62% of all gold labels of this scheme are hang",
        "  existing rules vote on 3 of them, and say otherwise on 2",
        f"    {REPO}#2, crash by title-crash: {TITLES[2]}",
        f"    {REPO}#3, crash by title-crash: {TITLES[3]}",
    ]
    again = checked(store, tmp_path / "r.toml", RULE.replace("sort-hangs", "title-crash"))
    assert "vote on 1 of them, and say otherwise on 0" in again.stdout, "the rule takes the place of one of its name"


def test_a_rule_for_a_memory_type_also_votes_for_memory_and_backends_contradict_nothing(
    store: Store, tmp_path: Path
) -> None:
    memory = RULE.replace('"consequence"', '"memory_type"').replace('"hang"', '"checking"', 1)
    backend = RULE.replace('"consequence"', '"backend"').replace('"hang"', '"cpu"', 1).replace("sort-hangs", "b")
    done = checked(store, tmp_path / "r.toml", memory + backend)
    assert "sort-hangs/bug_type (bug_type memory) speaks of 3" in done.stdout
    assert "none of them has a gold label" in done.stdout
    assert "several classes of backend may hold" in done.stdout


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "no rule is here"),
        ("function = 1", "valid tuple"),
        ("a = [", "Invalid value"),
        (f"rules = 1\n{RULE}", "r.toml: rules: Extra inputs are not permitted"),
        (
            RULE.replace("sort crashes|hangs", "(?=x)"),
            'r.toml: function "sort-hangs": keyword: pattern: no look-around',
        ),
        (RULE.replace('"hang"', '"hung"', 1), "r.toml: function \"sort-hangs\": 'hung' is no class of consequence"),
        (RULE.replace('id = "sort-hangs"', ""), "r.toml: function number 1: keyword: id: Field required"),
        (f"{RULE}{RULE}", "r.toml: more than one entry is called sort-hangs"),
    ],
)
def test_what_is_wrong_with_a_rule_file_is_named(store: Store, tmp_path: Path, text: str, words: str) -> None:
    done = checked(store, tmp_path / "r.toml", text)
    assert done.returncode == 3
    assert words in done.stderr


def test_the_shipped_rules_can_be_checked_as_they_are(store: Store) -> None:
    from torch_embers import resources

    done = label(store, "check-rule", resources.data_file("labelling.toml"))
    assert done.returncode == 0, done.stderr
    assert "title-crash (consequence crash) speaks of 2 of 6 items" in done.stdout


# ---- likely errors -------------------------------------------------------------------------------------------------


def test_what_does_not_go_together_is_refused(store: Store) -> None:
    for words in ((), ("export",), ("import", "x.csv", "--blind")):
        assert label(store, *words).returncode == 3


def test_labels_that_a_model_which_had_not_seen_the_item_denies_are_listed(store: Store) -> None:
    with store.writer("test") as writer:
        said = [(1, "logical"), (2, "logical"), (4, "logical"), (2, "memory")]
        labels = [GoldLabel(REPO, n, "bug_type", value, "human", f"h{place}") for place, (n, value) in enumerate(said)]
        put(writer, gold_labels=labels)
    done = label(store, "--errors")
    assert done.stdout.splitlines() == [
        f"{REPO}#1 bug_type: logical (human:h0), suggested memory (0.99): {TITLES[1]}",
        "1 of 1 gold labels that are probably wrong",
    ], "somebody agrees on 2, and the model on 4"
    assert label(store, "--errors", "--scheme", "consequence").stdout == "0 of 0 gold labels that are probably wrong\n"
    assert label(store, "--errors", "--scheme", "colour").returncode == 3
