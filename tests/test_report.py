"""The report: what is in it, that nothing from outside runs in it, and that it is put in place as a whole."""

from __future__ import annotations

import json
import re
import shutil
from html.parser import HTMLParser
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote

import duckdb
import pytest

from support import assert_clean_error, run_embers
from torch_embers.report import badges, folder, highlight, places, rules, table_data
from torch_embers.report.facts import Facts, chosen
from torch_embers.report.operators import operators
from torch_embers.report.rendering import POLICY
from torch_embers.report.source import read
from torch_embers.store.store import Store

if TYPE_CHECKING:
    from collections.abc import Iterator

HOSTILE = (
    "<script>globalThis.hit = 1</script>",
    '"><img src=x onerror="globalThis.hit = 1">',
    "</style><style>* { display: none }</style>",
    "\u202egnp.exe\u202c javascript:alert(1) {{ 7 * 7 }} '); alert(1); ('",
)
NUMBER = 84577
FEW = """CREATE TABLE few AS
SELECT ? AS number UNION SELECT number FROM (
    SELECT DISTINCT number FROM items SEMI JOIN case_items USING (repo, number) ORDER BY number DESC LIMIT 25)"""
"""Items of the small database: a report of the whole catalog takes seconds."""


@pytest.fixture(scope="session")
def hostile_database(tmp_path_factory: pytest.TempPathFactory, catalog_template: Path) -> Path:
    """The catalog with texts that want to be more than text, in every column that a tracker fills."""
    path = tmp_path_factory.mktemp("hostile") / "e.duckdb"
    shutil.copy(catalog_template, path)
    with duckdb.connect(path) as connection:
        connection.execute(FEW, [NUMBER])
        for table in ("items", "links", "gold_labels", "components"):
            connection.execute(f"DELETE FROM {table} WHERE number NOT IN (SELECT number FROM few)")
        connection.execute(
            "DELETE FROM cases WHERE case_hash NOT IN (SELECT case_hash FROM case_items SEMI JOIN few USING (number))"
        )
        connection.execute("DROP TABLE few")
        for place, text in enumerate(HOSTILE):
            connection.execute(
                "UPDATE items SET title = $t, body = $t, author = $t, labels = [$t], state_reason = $t "
                "WHERE number = (SELECT number FROM items SEMI JOIN case_items USING (repo, number) "
                "ORDER BY number DESC LIMIT 1 OFFSET $n)",
                {"t": text, "n": place},
            )
            connection.execute(
                "UPDATE gold_labels SET evidence = $t, annotator = $t WHERE number = $n", {"t": text, "n": NUMBER}
            )
            connection.execute(
                "UPDATE dispositions SET evidence = $t, evidence_ref = $t WHERE number = $n", {"t": text, "n": NUMBER}
            )
            connection.execute("UPDATE verdicts SET detail = $t WHERE k > 0", {"t": text})
    return path


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory, hostile_database: Path) -> Path:
    """A report of it."""
    out = tmp_path_factory.mktemp("report") / "site"
    done = run_embers("report", "--database", hostile_database, "--out", out)
    assert done.returncode == 0, done.stderr
    return out


class _Page(HTMLParser):
    """Elements and attributes of a page."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))


@pytest.fixture(scope="session")
def pages(site: Path) -> dict[Path, _Page]:
    """All pages, parsed."""
    return {path: _Page(path) for path in sorted(site.rglob("*.html"))}


def facts_of(database: Path) -> Facts:
    """The facts of a database without pages of items."""
    return Facts(read(Store(database), lambda source: [], 100), rules.load(), frozenset())


def inline(pages: dict[Path, _Page]) -> Iterator[str]:
    """What could run or style something although it stands in a page."""
    for path, page in pages.items():
        for tag, attributes in page.elements:
            if tag == "style" or (tag == "script" and "src" not in attributes):
                yield f"{path.name}: <{tag}>"
            yield from (f"{path.name}: {name}" for name in attributes if name.startswith("on") or name == "style")
            for name in ("href", "src", "action"):
                value = (attributes.get(name) or "").strip().lower()
                if re.match(r"[a-z]+:", value) and not value.startswith("https://github.com/"):
                    yield f"{path.name}: {name}={value}"


def test_nothing_of_an_item_runs_styles_or_leads_elsewhere(pages: dict[Path, _Page]) -> None:
    assert list(inline(pages)) == []


def test_every_page_has_the_policy_before_anything_is_loaded(pages: dict[Path, _Page]) -> None:
    for path, page in pages.items():
        loaded = [tag for tag, _ in page.elements if tag in ("link", "script", "img")]
        metas = [a for tag, a in page.elements if tag == "meta"]
        assert metas[1] == {"http-equiv": "Content-Security-Policy", "content": POLICY}, path
        first = next(i for i, (tag, _) in enumerate(page.elements) if tag in loaded)
        assert [tag for tag, _ in page.elements[:first]].count("meta") >= 2


def test_hostile_text_is_shown_as_text(site: Path) -> None:
    text = "".join(path.read_text(encoding="utf-8") for path in site.rglob("*.html"))
    assert "&lt;script&gt;globalThis.hit" in text
    assert "<script>globalThis" not in text
    assert "<img src=x" not in text
    assert "{{ 7 * 7 }}" in text  # templates are not made of data
    assert "\u202e" not in text


def test_every_link_within_the_site_leads_somewhere(site: Path, pages: dict[Path, _Page]) -> None:
    broken = []
    for path, page in pages.items():
        anchors = {a["id"] for _, a in page.elements if a.get("id")}
        for _, attributes in page.elements:
            for name in ("href", "src"):
                address, _, anchor = (attributes.get(name) or "").partition("#")
                if address.startswith("https:") or name not in attributes:
                    continue
                if address and not (path.parent / unquote(address)).is_file():
                    broken.append(f"{path.relative_to(site)}: {address}")
                if not address and anchor and anchor not in anchors:
                    broken.append(f"{path.relative_to(site)}: #{anchor}")
    assert broken == []


def test_the_table_holds_every_item_as_text_that_a_script_cannot_leave(site: Path, hostile_database: Path) -> None:
    script = (site / "data" / "table-0.js").read_text(encoding="utf-8")
    call, quoted = script.split("(", 1)
    assert call == table_data.CALL
    assert "<" not in script
    assert re.fullmatch(r"'(?:[^'\\]|\\.)*'\);\n", quoted, re.DOTALL)
    content = json.loads(re.sub(r"\\(x3c|.)", lambda m: "<" if m[1] == "x3c" else m[1], quoted[1:-4]))
    with duckdb.connect(hostile_database, read_only=True) as connection:
        numbers = {row[0] for row in connection.execute("SELECT number FROM items").fetchall()}
    assert set(content["number"]) == numbers
    assert content["total"] == len(numbers)
    assert {len(content[name]) for name in table_data.COLUMNS} == {len(numbers)}
    assert HOSTILE[0] in content["title"]


def test_a_page_tells_facts_verdicts_with_control_and_the_command(site: Path) -> None:
    text = (site / places.item_page("pytorch/pytorch", NUMBER)).read_text(encoding="utf-8")
    for words in (
        "pt84577_avg_pool3d_strided_out",
        "10/10 on 1.13.1",
        "uv run pt84577_avg_pool3d_strided_out.py",
        "2022-09-06",
    ):
        assert words in text
    assert (site / "cases" / "pt84577_avg_pool3d_strided_out.py").read_bytes().startswith(b"# /// script")


def test_texts_and_scripts_of_reports_are_shown_as_a_whole_only_when_asked(
    hostile_database: Path, tmp_path: Path
) -> None:
    database = shutil.copy(hostile_database, tmp_path / "e.duckdb")
    body = "the beginning " + "of a long text " * 60 + "the end"
    with duckdb.connect(database) as connection:
        connection.execute("UPDATE items SET body = ? WHERE number = ?", [body, NUMBER])
        connection.execute(
            "UPDATE cases SET origin = 'extracted', code = ? WHERE name = 'pt84577_avg_pool3d_strided_out'",
            ["\n".join(f"x = {n}" for n in range(40)) + "\n# the last line of the script"],
        )
    page = places.item_page("pytorch/pytorch", NUMBER)
    for words, is_whole in (((), False), (("--bodies",), True)):
        done = run_embers("report", "--database", database, "--out", tmp_path / "site", *words)
        assert done.returncode == 0, done.stderr
        text = (tmp_path / "site" / page).read_text(encoding="utf-8")
        assert "the beginning" in text
        assert ("the end" in text) is is_whole
        assert ("the last line of the script" in text) is is_whole
        assert not (tmp_path / "site" / "cases" / "pt84577_avg_pool3d_strided_out.py").exists()


def test_equal_data_give_equal_bytes_and_an_earlier_report_is_replaced(
    site: Path, hostile_database: Path, tmp_path: Path
) -> None:
    out = tmp_path / "site"
    out.mkdir()
    (out / folder.MARK).write_text("{}")
    (out / "old.html").write_text("")
    done = run_embers("report", "--database", hostile_database, "--out", out)
    assert done.returncode == 0, done.stderr
    files = {path.relative_to(out): path.read_bytes() for path in out.rglob("*") if path.is_file()}
    assert files == {path.relative_to(site): path.read_bytes() for path in site.rglob("*") if path.is_file()}
    assert [path.name for path in tmp_path.iterdir() if path.name != "site"] == []


def test_a_folder_of_something_else_is_refused(catalog_template: Path, tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("x")
    done = run_embers("report", "--database", catalog_template, "--out", tmp_path)
    assert_clean_error(done, 3, "no earlier report")
    assert (tmp_path / "mine").read_text() == "x"
    assert_clean_error(run_embers("report", "--database", catalog_template, "--out", tmp_path / "mine"), 3, "a file")


def test_a_failure_leaves_the_earlier_report(tmp_path: Path) -> None:
    place = tmp_path / "site"
    with folder.replaced(place) as made:
        made.write("a", "old")
    with pytest.raises(RuntimeError), folder.replaced(place) as made:
        made.write("a", "new")
        raise RuntimeError
    assert (place / "a").read_text() == "old"
    assert list(tmp_path.iterdir()) == [place]


def test_a_database_without_verdicts_gives_a_report_that_says_so(tmp_path: Path, catalog_database: Path) -> None:
    with duckdb.connect(catalog_database) as connection:
        for table in ("verdicts", "status_history", "builds", "cases", "case_items", "items", "links", "components"):
            connection.execute(f"DELETE FROM {table}")
    done = run_embers("report", "--database", catalog_database, "--out", tmp_path / "site")
    assert done.returncode == 0, done.stderr
    assert "No verdicts yet" in (tmp_path / "site" / "index.html").read_text(encoding="utf-8")


def test_only_issues_closed_as_fixed_with_a_case_of_their_own_count(catalog_template: Path) -> None:
    decided, alive, _ = facts_of(catalog_template).fixed_counts
    page = (Path(__file__).parent.parent / "docs" / "still-occurring.md").read_text(encoding="utf-8")
    assert f"Of {decided} issues that were closed as fixed" in page
    assert (alive == 0) == ("**none still occurs**" in page)


def test_items_with_a_case_get_their_page_first(catalog_template: Path) -> None:
    facts = facts_of(catalog_template)
    assert all(key in facts.cases_of for key in chosen(facts.source, 20))
    assert len(chosen(facts.source, 20)) == 20


@pytest.mark.parametrize(
    ("code", "found"),
    [
        ("import torch\ntorch.addmm(a, b, c)", ["addmm"]),
        ("import torch.nn.functional as F\nF.pad(x)", ["nn.functional.pad"]),
        ("from torch import nn\nnn.Conv2d(1, 1, 1)", ["nn.Conv2d"]),
        ("from torch.nn.functional import gelu as g\ng(x)", ["nn.functional.gelu"]),
        ("import torch as t\nt.tensor(1).sum(); t.linalg.svd(x)", ["linalg.svd"]),
        ("import numpy as torch2\ntorch2.sum(x)", []),
        ("x = (", []),
    ],
)
def test_operators_are_read_from_the_syntax(code: str, found: list[str]) -> None:
    assert operators(code, rules.load().operators.leave_out) == found


def test_file_names_differ_where_case_is_ignored_and_never_leave_the_folder() -> None:
    made = places.slugs(["nn.Conv2d", "nn.conv2d", "../../etc/passwd", "a/b", ""])
    assert len({name.lower() for name in made.values()}) == 5
    assert all(re.fullmatch(r"[\w.-]+", name) and not name.startswith(".") for name in made.values())
    assert places.item_page("../..", 1).count("/") == 1


@pytest.mark.parametrize(
    "text", ["javascript:alert(1)", "https://github.com.evil.example/", "//x", 'https://github.com/a"b', ""]
)
def test_a_reference_that_is_no_address_on_github_becomes_no_link(text: str) -> None:
    assert places.reference(text, "pytorch/pytorch") == ""


def test_highlighted_code_is_the_code() -> None:
    code = "x = '<b>'  # ünï\n\n\tdef f(): pass"
    assert "".join(text for _, text in highlight.python(code)).rstrip("\n") == code


def test_a_badge_holds_its_text_escaped() -> None:
    assert "&lt;script&gt;" in badges.svg("<script>", "x", badges.GREY)
    assert "<script>" not in badges.svg("<script>", "x", badges.GREY)
