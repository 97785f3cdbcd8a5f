"""The report: what is in it, that nothing from outside runs in it, and that it is put in place as a whole."""

from __future__ import annotations

import re
from pathlib import Path
from unittest.mock import MagicMock

import numpy as np
import pyarrow as pa
import pytest

from support import assert_clean_error, run_embers
from torch_embers.errors import InputError
from torch_embers.report import badges, folder, places, rendering, report_rules, serve, write_report
from torch_embers.report.operators import operators
from torch_embers.report.similar import similar
from torch_embers.store.store import Store


def test_a_folder_of_something_else_is_refused(catalog_template: Path, tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("x")
    done = run_embers("report", "--database", catalog_template, "--out", tmp_path)
    assert_clean_error(done, 3, "no earlier report")
    assert (tmp_path / "mine").read_text() == "x"
    assert_clean_error(run_embers("report", "--database", catalog_template, "--out", tmp_path / "mine"), 3, "a file")


@pytest.mark.parametrize("mark", ['{"entries": ["index.html"]}', "{}", "[]", "not JSON", "[" * 100_000])
def test_a_file_that_somebody_added_to_a_report_is_kept(catalog_template: Path, tmp_path: Path, mark: str) -> None:
    out = tmp_path / "site"
    out.mkdir()
    (out / folder.MARK).write_text(mark)
    (out / "CNAME").write_text("example.org")
    done = run_embers("report", "--database", catalog_template, "--out", out)
    assert_clean_error(done, 3, "'CNAME' is no part of the report there")
    assert (out / "CNAME").read_text() == "example.org"


@pytest.mark.parametrize(("failure", "told"), [(RuntimeError(), RuntimeError), (OSError(28, "No space"), InputError)])
def test_a_failure_leaves_the_earlier_report(tmp_path: Path, failure: Exception, told: type[Exception]) -> None:
    place = tmp_path / "site"
    with folder.replaced(place) as made:
        made.write("a", "old")
    with (
        pytest.raises(told, match="nothing was changed" if told is InputError else None),
        folder.replaced(place) as made,
    ):
        made.write("a", "new")
        raise failure
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
        ("import torch\nn = torch.nested\nn.nested_tensor([])", ["nested.nested_tensor"]),
        ("import torch\ntorch.ones(1, dtype=torch.float8_e4m3fn).sigmoid()", []),
    ],
)
def test_operators_are_read_from_the_syntax(code: str, found: list[str]) -> None:
    told = report_rules.load().operators
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


def test_a_badge_holds_its_text_escaped() -> None:
    assert "&lt;script&gt;" in badges.svg("<script>", "x", badges.GREY)
    assert "<script>" not in badges.svg("<script>", "x", badges.GREY)


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
    request = write_report.Request(tmp_path / "site", docs=tmp_path)
    with pytest.raises(InputError, match="`make site` writes the documentation"):
        write_report.report(Store(tmp_path / "nothing.duckdb"), request)


def test_serving_needs_a_report(tmp_path: Path) -> None:
    assert_clean_error(run_embers("report", "--serve-existing", tmp_path), 3, "no report there")


def test_a_report_can_be_shown_as_soon_as_it_is_written(
    catalog_template: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    served = MagicMock()
    monkeypatch.setattr(write_report, "report", lambda store, request: served.wrote(request.out))
    monkeypatch.setattr(write_report, "lines", lambda done: [])
    monkeypatch.setattr(serve, "server", served.server)
    served.server.return_value.__enter__.return_value.server_port = 5
    done = run_embers("report", "--serve", "--port", 0, "--out", tmp_path, "--database", catalog_template)
    assert done.stdout == "http://127.0.0.1:5/ (Ctrl-C ends it)\n"
    assert [name for name, *_ in served.mock_calls[:2]] == ["wrote", "server"]
    assert served.server.call_args.args == (tmp_path, 0)
    served.server.return_value.__enter__.return_value.serve_forever.assert_called_once_with()


def test_similar_items_are_those_of_the_nearest_vectors() -> None:
    vectors = np.eye(4, dtype=np.float32)
    vectors[1] = [0.8, 0.6, 0, 0]
    vectors[2] = [0.6, 0.8, 0, 0]
    column = pa.FixedSizeListArray.from_arrays(pa.array(vectors.ravel()), 4)
    rows = pa.table({"repo": ["a/b"] * 4, "number": [1, 2, 3, 4], "vector": column})
    found = similar(rows, {("a/b", 1), ("a/b", 4)}, 5, 0.5)
    assert found == {("a/b", 1): [(("a/b", 2), pytest.approx(0.8)), (("a/b", 3), pytest.approx(0.6))], ("a/b", 4): []}
    assert similar(rows.slice(0, 0), set(), 5, 0.5) == {}
