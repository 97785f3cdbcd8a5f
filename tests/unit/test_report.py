"""The report: what is in it, that nothing from outside runs in it, and that it is put in place as a whole."""

from __future__ import annotations

import json
import re
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from helpers.report import hostile_database, pages, site  # noqa: F401 - fixtures
from report_data import HOSTILE, NUMBER, Page
from support import assert_clean_error, run_embers
from torch_embers.errors import InputError
from torch_embers.link.chain import Link, Node
from torch_embers.report import (
    badges,
    command,
    evaluation,
    folder,
    highlight,
    hunt_map,
    links_graph,
    places,
    rendering,
    rules,
    table_data,
)
from torch_embers.report.operators import operators
from torch_embers.report.rendering import POLICY
from torch_embers.report.similar import similar
from torch_embers.report.tables import TYPES
from torch_embers.store.store import Store


def test_every_page_has_the_policy_before_anything_is_loaded(pages: dict[Path, Page]) -> None:
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


def test_a_folder_of_something_else_is_refused(catalog_template: Path, tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("x")
    done = run_embers("report", "--database", catalog_template, "--out", tmp_path)
    assert_clean_error(done, 3, "no earlier report")
    assert (tmp_path / "mine").read_text() == "x"
    assert_clean_error(run_embers("report", "--database", catalog_template, "--out", tmp_path / "mine"), 3, "a file")


@pytest.mark.parametrize("mark", ['{"entries": ["index.html"]}', "{}", "[]", "not JSON"])
def test_a_file_that_somebody_put_into_a_report_is_not_removed(
    catalog_template: Path, tmp_path: Path, mark: str
) -> None:
    out = tmp_path / "site"
    out.mkdir()
    (out / folder.MARK).write_text(mark)
    (out / "CNAME").write_text("example.org")
    done = run_embers("report", "--database", catalog_template, "--out", out)
    assert_clean_error(done, 3, "'CNAME' is no part of the report there")
    assert (out / "CNAME").read_text() == "example.org"


def test_a_failure_leaves_the_earlier_report(tmp_path: Path) -> None:
    place = tmp_path / "site"
    with folder.replaced(place) as made:
        made.write("a", "old")
    with pytest.raises(RuntimeError), folder.replaced(place) as made:
        made.write("a", "new")
        raise RuntimeError
    assert (place / "a").read_text() == "old"
    assert list(tmp_path.iterdir()) == [place]


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
        ("import torch.nn.functional as F\nF.gelu(x)", ["nn.functional.gelu"]),
        ("import torch\nn = torch.nested\nn.nested_tensor([])", ["nested.nested_tensor"]),
        ("import torch\ntorch.ones(1, dtype=torch.float8_e4m3fn).sigmoid()", []),
    ],
)
def test_operators_are_read_from_the_syntax(code: str, found: list[str]) -> None:
    told = rules.load().operators
    assert operators(code, told.leave_out, told.modules) == found


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


def test_verdicts_that_came_with_embers_say_that_runs_and_bisections_did_not(site: Path) -> None:
    page = (site / places.item_page("pytorch/pytorch", NUMBER)).read_text(encoding="utf-8")
    assert "came with embers, without what the runs printed and without bisections" in page


def test_each_linked_item_is_one_box_however_many_links_lead_to_it() -> None:
    nodes = [Node("o/r", number) for number in (1, 2, 3)]
    links = [Link(nodes[a], "reverts", nodes[b], "text") for a, b in ((0, 1), (1, 2), (2, 0))]
    drawing = links_graph.draw(nodes[0], links_graph.Neighbours(links), {}, 9)
    assert drawing is not None
    assert sorted(box.node for box in drawing.boxes) == nodes
    assert len(drawing.lines) == 3
    middles = {
        (box.x + side, box.y + links_graph.HEIGHT / 2) for box in drawing.boxes for side in (0, links_graph.WIDTH)
    }
    assert {end for line in drawing.lines for end in ((line.x1, line.y1), (line.x2, line.y2))} <= middles
    assert [line.is_back for line in drawing.lines].count(True) == 1
    assert max(line.label[0] for line in drawing.lines) < drawing.width


def test_a_box_of_the_drawing_leads_to_the_page_of_its_item(site: Path) -> None:
    texts = [path.read_text(encoding="utf-8") for path in (site / "items").glob("*.html")]
    drawings = [svg for text in texts for svg in re.findall(r'<svg class="graph".*?</svg>', text, re.DOTALL)]
    assert drawings
    led = [set(re.findall(r'<a href="([^"]+)"', svg)) for svg in drawings]
    own = {path.name for path in (site / "items").glob("*.html")}
    assert all(addresses & own for addresses in led)  # at least the item itself
    assert all(address in own or address.startswith("https://github.com/") for some in led for address in some)


def test_a_badge_of_a_release_counts_and_does_not_alarm(site: Path) -> None:
    text = (site / badges.release_file("2.15.0")).read_text(encoding="utf-8")
    assert re.search(r"\d+ of \d+ cases occur", text)
    assert badges.RED not in text


def test_a_badge_holds_its_text_escaped() -> None:
    assert "&lt;script&gt;" in badges.svg("<script>", "x", badges.GREY)
    assert "<script>" not in badges.svg("<script>", "x", badges.GREY)


def test_the_data_files_hold_the_documented_columns_and_the_same_rows(site: Path) -> None:
    for table in rules.columns().table:
        rows = pq.read_table(site / "data" / f"{table.name}.parquet")
        assert rows.column_names == [column.name for column in table.column]
        assert rows.schema.types == [TYPES[column.kind] for column in table.column]
        read_again = json.loads((site / "data" / f"{table.name}.json").read_bytes())
        assert len(read_again) == rows.num_rows
        if read_again:
            assert list(read_again[0]) == rows.column_names


def test_pages_of_the_documentation_that_templates_name_exist_and_are_in_its_navigation() -> None:
    templates = Path(rendering.__file__).with_name("templates")
    named = {
        name for path in templates.glob("*.html") for name in re.findall(r"document\('([^']+)'\)", path.read_text())
    }
    assert len(named) >= 4
    root = Path(__file__).parents[2]
    assert {name for name in named if not (root / "docs" / name).is_file()} == set()
    assert {name for name in named if f": {name}\n" not in (root / "mkdocs.yml").read_text(encoding="utf-8")} == set()


def test_a_folder_without_documentation_is_refused_before_anything_is_read(tmp_path: Path) -> None:
    request = command.Request(tmp_path / "site", docs=tmp_path)
    with pytest.raises(InputError, match="`make site` writes the documentation"):
        command.report(Store(tmp_path / "nothing.duckdb"), request)


def test_serving_needs_a_report(tmp_path: Path) -> None:
    assert_clean_error(run_embers("serve", tmp_path), 3, "no report there")


def test_similar_items_are_those_of_the_nearest_vectors() -> None:
    vectors = np.eye(4, dtype=np.float32)
    vectors[1] = [0.8, 0.6, 0, 0]
    vectors[2] = [0.6, 0.8, 0, 0]
    column = pa.FixedSizeListArray.from_arrays(pa.array(vectors.ravel()), 4)
    rows = pa.table({"repo": ["a/b"] * 4, "number": [1, 2, 3, 4], "vector": column})
    found = similar(rows, {("a/b", 1), ("a/b", 4)}, 5, 0.5)
    assert found == {("a/b", 1): [(("a/b", 2), pytest.approx(0.8)), (("a/b", 3), pytest.approx(0.6))], ("a/b", 4): []}
    assert similar(rows.slice(0, 0), set(), 5, 0.5) == {}


def test_labels_are_measured_only_where_the_model_did_not_see_the_item() -> None:
    gold = [{"repo": "a/b", "number": n, "scheme": "bug_type", "value": "memory"} for n in (1, 2, 3)]
    given = (("out_of_fold", "memory"), ("model", "logical"), ("out_of_fold+votes", None))
    predictions = [
        {"repo": "a/b", "number": n, "scheme": "bug_type", "value": value, "provenance": provenance}
        for n, (provenance, value) in enumerate(given, 1)
    ]
    (one,) = evaluation.evaluations(gold, predictions)
    assert (one.items, one.coverage, one.precision) == (2, evaluation.Share(1, 2), evaluation.Share(1, 1))
    assert one.classes[0].recall == evaluation.Share(1, 2)


def test_a_coverage_map_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    assert hunt_map.read(tmp_path) is None
    (tmp_path / hunt_map.FILE).write_text("no table")
    with pytest.raises(InputError, match="embers hunt coverage"):
        hunt_map.read(tmp_path)
