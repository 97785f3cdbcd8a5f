"""The report: what is in it, that nothing from outside runs in it, and that it is put in place as a whole."""

from __future__ import annotations

import contextlib
import html
import http.client
import json
import re
import shutil
import socket
import sqlite3
import threading
import xml.etree.ElementTree as ET
from dataclasses import replace
from pathlib import Path
from urllib.parse import unquote

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import requests

from report_data import HOSTILE, NUMBER, WORKED, Page, filled, hostile_database  # noqa: F401 - a fixture
from support import assert_clean_error, run_embers
from torch_embers import atom_output
from torch_embers.escaping import visible
from torch_embers.report import (
    data_files,
    feed,
    folder,
    hunt_map,
    places,
    report_rules,
    serve,
    table_data,
    write_report,
)
from torch_embers.report.joined_facts import ReportFacts
from torch_embers.report.rendering import POLICY
from torch_embers.report.serve import server
from torch_embers.report.source import read
from torch_embers.report.tables import TYPES
from torch_embers.store.store import Store
from torch_embers.views import answers, paste
from torch_embers.views.item_evidence import answered, report_of


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory, hostile_database: Path) -> Path:
    """A report of it."""
    return reported(hostile_database, tmp_path_factory.mktemp("report") / "site")


@pytest.fixture(scope="module")
def pages(site: Path) -> dict[Path, Page]:
    """All pages, parsed."""
    return {path: Page(path) for path in sorted(site.rglob("*.html"))}


def reported(database: Path, out: Path, *words: object) -> Path:
    """A report of a database."""
    done = run_embers("report", "--database", database, "--out", out, *words)
    assert done.returncode == 0, done.stderr
    return out


def test_every_page_has_the_policy_before_anything_is_loaded(pages: dict[Path, Page]) -> None:
    for path, page in pages.items():
        loaded = [tag for tag, _ in page.elements if tag in ("link", "script", "img")]
        metas = [a for tag, a in page.elements if tag == "meta"]
        assert metas[1] == {"http-equiv": "Content-Security-Policy", "content": POLICY}, path
        first = next(i for i, (tag, _) in enumerate(page.elements) if tag in loaded)
        assert [tag for tag, _ in page.elements[:first]].count("meta") >= 2


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
    for words in ("10/10 on 1.13.1", "uv run pt84577_avg_pool3d_strided_out.py", "2022-09-06"):
        assert words in text
    assert (site / "cases" / "pt84577_avg_pool3d_strided_out.py").read_bytes().startswith(b"# /// script")


def test_a_page_tells_below_the_verdict_of_a_case_what_the_script_of_the_report_does(site: Path) -> None:
    text = (site / places.item_page("pytorch/pytorch", NUMBER)).read_text(encoding="utf-8")
    first, _, block = text.partition("What the report's script does")
    assert "(10/10 runs of pt84577" in first
    assert block.index("SIGSEGV") < block.index("ValueError") < block.index("torch.compile") < block.index("<details>")
    for said in (
        "11, confirmed",
        "as reported: its signal: body",
        "the device is a variable:\n- x = torch.ones(3).cuda()",
    ):
        assert said in block.replace("&#34;", '"'), said


def test_a_page_opens_with_the_answer_and_holds_the_text_that_show_prints_to_paste(
    site: Path, hostile_database: Path
) -> None:
    text = (site / places.item_page("pytorch/pytorch", NUMBER)).read_text(encoding="utf-8")
    order = [
        "The bug occurs on torch",
        "closable: no, because it still occurs on 2.15.0",
        'class="marks"',
        "Text to paste",
        "What the report",
        "<h2 id",
    ]
    found = [text.index(words) for words in order]
    assert found[:5] == sorted(found[:5])
    assert text.index('id="cases"') < text.index('id="facts"') < text.index('id="labels"')
    pasted = re.search(r'data-copy="Copy the text to paste">(.*?)</pre>', text, re.DOTALL)
    assert pasted
    known = replace(report_of(Store(hostile_database), "pytorch/pytorch", NUMBER), script=None)
    assert html.unescape(pasted[1]) == visible(paste.text(known))


def test_tests_of_fixes_are_on_the_page_of_their_issue_and_in_the_data(hostile_database: Path, tmp_path: Path) -> None:
    database = shutil.copy(hostile_database, tmp_path / "e.duckdb")
    with duckdb.connect(database) as connection:
        [(name,)] = connection.execute(
            "UPDATE fix_tests SET issues = [$n], same = [$n], test = '<b>' WHERE name = "
            "(SELECT min(name) FROM fix_test_classes WHERE class = 'validated') RETURNING name",
            {"n": str(NUMBER)},
        ).fetchall()
        [(passed,)] = connection.execute("SELECT passed FROM fix_test_classes WHERE name = ?", [name]).fetchall()
    site = reported(database, tmp_path / "site")
    text = (site / places.item_page("pytorch/pytorch", NUMBER)).read_text(encoding="utf-8")
    assert ".&lt;b&gt;</code>: validated, fails on" in text
    assert f"passes on {', '.join(passed)}." in text
    assert "All tests, one run per release (1)" in text
    rows = json.loads((site / "data" / "fix_tests.json").read_bytes())
    assert [row["passed"] for row in rows if row["number"] == NUMBER] == [passed]
    assert len({row["number"] for row in rows}) > 100, "also of issues of which nothing else is known"


def test_a_number_of_issues_is_the_same_on_the_start_page_and_in_lists(catalog_template: Path, tmp_path: Path) -> None:
    text = (reported(catalog_template, tmp_path / "site") / "index.html").read_text(encoding="utf-8")
    for name, state, closable in (
        ("closable", "open", "yes"),
        ("look again", "closed", "no"),
        ("open and there", "open", "no"),
    ):
        done = run_embers("list", "--state", state, "--closable", closable, "--json", "--database", catalog_template)
        count = len(json.loads(done.stdout))
        assert count > report_rules.load().limits.inbox
        assert f"<strong>{count}</strong> <span>{name}</span>" in text, name
    table = answers.counts(answered(Store(catalog_template)).values())
    for row in table:
        values = [row[key] for key in ("closable", "not_closable", "unknown", "decided", "still_occurs")]
        cells = "".join(f'<td class="num">{value:,}</td>' for value in values)
        assert f"<td>{row['issues']}</td>{cells}" in text
    opened = next(row for row in table if row["issues"] == "open")
    first, _, folded = text.partition('<section aria-labelledby="again">')[0].partition(
        f"<summary>All {opened['closable']}"
    )
    assert (first.count('<li><a class="num"'), folded.count('<li><a class="num"')) == (
        report_rules.load().limits.inbox,
        opened["closable"] - report_rules.load().limits.inbox,
    )


def test_the_data_files_hold_the_documented_columns_and_the_same_rows(site: Path) -> None:
    for table in report_rules.columns().table:
        rows = pq.read_table(site / "data" / f"{table.name}.parquet")
        assert rows.column_names == [column.name for column in table.column]
        assert rows.schema.types == [TYPES[column.kind] for column in table.column]
        read_again = json.loads((site / "data" / f"{table.name}.json").read_bytes())
        assert len(read_again) == rows.num_rows
        if read_again:
            assert list(read_again[0]) == rows.column_names


def test_every_link_within_the_site_leads_somewhere(site: Path, pages: dict[Path, Page]) -> None:
    broken = []
    anchors = {path: {a["id"] for _, a in page.elements if a.get("id")} for path, page in pages.items()}
    for path, page in pages.items():
        for _, attributes in page.elements:
            for name in ("href", "src"):
                address, _, anchor = (attributes.get(name) or "").partition("#")
                if address.startswith("https:") or name not in attributes:
                    continue
                target = (path.parent / unquote(address)).resolve() if address else path
                if not target.is_file():
                    broken.append(f"{path.relative_to(site)}: {address}")
                elif anchor and target.name != "items.html" and anchor not in anchors[target]:
                    broken.append(f"{path.relative_to(site)}: {address}#{anchor}")
    assert broken == []


def test_texts_and_scripts_are_shown_as_a_whole_only_when_asked(hostile_database: Path, tmp_path: Path) -> None:
    database = shutil.copy(hostile_database, tmp_path / "e.duckdb")
    body = "the beginning " + "of a long text " * 60 + "the end"
    with duckdb.connect(database) as connection:
        connection.execute("UPDATE items SET body = ? WHERE number = ?", [body, NUMBER])
        code = "\n".join(f"x = {n}" for n in range(40)) + "\n# the last line of the script"
        connection.execute("UPDATE scripts SET code = ? WHERE number = ?", [code, NUMBER])
    page = places.item_page("pytorch/pytorch", NUMBER)
    for words, is_whole in (((), False), (("--bodies",), True)):
        text = (reported(database, tmp_path / "site", *words) / page).read_text(encoding="utf-8")
        assert "the beginning" in text
        assert ("the end" in text) is is_whole
        assert ("the last line of the script" in text) is is_whole


def test_equal_data_give_equal_bytes_in_place_of_old_ones(site: Path, hostile_database: Path, tmp_path: Path) -> None:
    out = tmp_path / "site"
    out.mkdir()
    (out / folder.MARK).write_text('{"entries": ["old.html"]}')
    (out / "old.html").write_text("")
    done = run_embers("report", "--database", hostile_database, "--out", out)
    assert "not compared with the report that was there: it has no data/items.parquet" in done.stdout
    files, others = (
        {path.relative_to(place): path.read_bytes() for path in place.rglob("*") if path.is_file()}
        for place in (out, site)
    )
    assert {str(name) for name in files.keys() | others if files.get(name) != others.get(name)} == {
        "index.html",
        folder.MARK,
    }
    assert [path.name for path in tmp_path.iterdir()] == ["site"]


def test_the_sqlite_file_holds_the_tables_with_their_meaning(hostile_database: Path, tmp_path: Path) -> None:
    path = tmp_path / "out" / "embers.sqlite"
    reported(hostile_database, tmp_path / "site", "--sqlite", path)
    with sqlite3.connect(path) as connection:
        found = connection.execute(f"SELECT json_array_length(operators) FROM items WHERE number = {NUMBER}").fetchall()
    assert found == [(2,)]
    about = json.loads(data_files.metadata_path(path).read_text())
    assert "case" in about["databases"]["embers"]["tables"]["verdicts"]["columns"]
    assert sorted(entry.name for entry in path.parent.iterdir()) == ["embers.metadata.json", "embers.sqlite"]
    words = ("report", "--database", hostile_database, "--out", tmp_path / "site", "--sqlite", tmp_path)
    assert_clean_error(run_embers(*words), 3, "--sqlite")


def test_the_feed_is_well_formed_and_leads_to_the_site_if_known(site: Path, hostile_database: Path) -> None:
    space = {"a": atom_output.SPACE}
    root = ET.fromstring((site / feed.FILE).read_bytes())
    entries = root.findall("a:entry", space)
    assert entries
    assert len({entry.findtext("a:id", None, space) for entry in entries}) == len(entries)
    facts = ReportFacts(read(Store(hostile_database), lambda source: [], 100, 100), report_rules.load(), frozenset())
    addressed = ET.fromstring(feed.feed(facts, "https://bugs.example"))
    assert next(link.get("href") for link in addressed.findall("a:link", space)) == "https://bugs.example/feed.xml"


def test_serving_answers_this_machine_alone_with_the_policy_and_lists_nothing(site: Path) -> None:
    with server(site, 0) as running:
        threading.Thread(target=running.serve_forever, args=(0.02,), daemon=True).start()
        address = f"http://127.0.0.1:{running.server_port}"
        page = requests.get(f"{address}/index.html", timeout=60)
        assert page.status_code == 200
        assert "frame-ancestors 'none'" in page.headers["Content-Security-Policy"]
        assert requests.get(f"{address}/items/", timeout=60).status_code == 404
        assert requests.get(f"{address}/..%2f..%2fetc/passwd", timeout=60).status_code == 404
        assert requests.get(f"{address}/", headers={"Host": "evil.example"}, timeout=60).status_code == 421
        assert requests.get(f"{address}/%00", timeout=60).status_code == 404
        for name in ("localhost", "LOCALHOST:80", "127.0.0.1"):
            assert requests.get(f"{address}/index.html", headers={"Host": name}, timeout=60).status_code == 200
        running.shutdown()


def test_serving_follows_no_link_and_bounds_connections_in_number_and_time(
    site: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = shutil.copytree(site, tmp_path / "site")
    (tmp_path / "secret").write_text("x", encoding="utf-8")
    (copy / "leads.html").symlink_to(tmp_path / "secret")
    (copy / "up").symlink_to(tmp_path)
    monkeypatch.setattr(serve, "MOST", 2)
    monkeypatch.setattr(serve, "LONGEST", 0.5)
    with server(copy, 0) as running:
        threading.Thread(target=running.serve_forever, args=(0.02,), daemon=True).start()
        for name in ("leads.html", "up/secret"):
            assert requests.get(f"http://127.0.0.1:{running.server_port}/{name}", timeout=60).status_code == 404
        idle = [socket.create_connection(("127.0.0.1", running.server_port), 60) for _ in range(3)]
        with contextlib.ExitStack() as stack:
            for one in idle:
                stack.enter_context(one)
                assert one.recv(1) == b""  # the last at once, the others when their time is over
        assert requests.get(f"http://127.0.0.1:{running.server_port}/index.html", timeout=60).status_code == 200
        running.shutdown()


def test_the_documentation_becomes_a_part_of_the_site(hostile_database: Path, site: Path, tmp_path: Path) -> None:
    docs, out = tmp_path / "built", tmp_path / "site"
    (docs / "commands").mkdir(parents=True)
    (docs / "index.html").write_text("<h1>embers</h1><script>1</script>", encoding="utf-8")
    (docs / "commands" / "run.html").write_text("run", encoding="utf-8")
    (docs / "elsewhere").symlink_to(site / "index.html")
    write_report.report(Store(hostile_database), write_report.Request(out, docs=docs))
    assert sorted(path.relative_to(out).as_posix() for path in (out / "docs").rglob("*.*")) == [
        "docs/commands/run.html",
        "docs/index.html",
    ]
    page = out / places.item_page("pytorch/pytorch", NUMBER)
    assert '<a href="../docs/index.html">Documentation</a>' in page.read_text(encoding="utf-8")
    assert '<a href="docs/report.html">docs/report.md</a>' in (out / "provenance.html").read_text(encoding="utf-8")
    assert "<code>docs/report.md</code>" in (site / "provenance.html").read_text(encoding="utf-8")
    assert "docs/index.html" not in (site / "index.html").read_text(encoding="utf-8")
    write_report.report(Store(hostile_database), write_report.Request(out))
    assert not (out / "docs").exists()


def test_served_documentation_alone_may_run_its_own_scripts(site: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(site, tmp_path / "site")
    (copy / "docs").mkdir()
    (copy / "docs" / "index.html").write_text("<script>1</script>", encoding="utf-8")
    with server(copy, 0) as running:
        threading.Thread(target=running.serve_forever, args=(0.02,), daemon=True).start()
        connection = http.client.HTTPConnection("127.0.0.1", running.server_port, timeout=60)
        policies = {}
        for name in ("/docs/index.html", "/docs/../index.html", "/docs/%2e%2e/index.html", "/docsx", "/index.html"):
            connection.request("GET", name)
            answer = connection.getresponse()
            answer.read()
            policies[name] = "unsafe-inline" in (answer.headers["Content-Security-Policy"] or "")
        running.shutdown()
    assert [name for name, is_lax in policies.items() if is_lax] == ["/docs/index.html"]


def test_what_changed_and_what_runs_printed_is_shown(hostile_database: Path, tmp_path: Path) -> None:
    database = filled(Path(shutil.copy(hostile_database, tmp_path / "e.duckdb")), WORKED)
    reported(database, tmp_path / "site")
    text = (tmp_path / "site" / "index.html").read_text(encoding="utf-8")
    assert '<time datetime="2026-11-20T10:00:00Z">2026-11-20</time> <span class="status s-open_but_absent">' in text
    page = (tmp_path / "site" / places.item_page("pytorch/pytorch", NUMBER)).read_text(encoding="utf-8")
    for shown in (
        "two &lt;b&gt;",
        "answer 2 &lt;b&gt; <small>confidence 0.990",
        "Commits between 2.0.1 and 2.1.2 (7; none was built)",
        '<td>9</td><td class="text">Mend &lt;i&gt;</td><td class="text">a.cpp</td><td>pool</td>',
        '<td>2.0.1</td><td class="v-occurs">yes</td><td class="num">3/3</td><td class="text">off &lt;i&gt;</td>',
    ):
        assert shown in page, shown
    assert "answer 1" not in page
    updated = ET.parse(tmp_path / "site" / feed.FILE).findall("a:entry/a:updated", {"a": atom_output.SPACE})
    assert [element.text for element in updated] == ["2026-11-20T10:00:00Z"]


def test_figures_of_a_study_and_the_map_of_the_hunt_are_taken_over(hostile_database: Path, tmp_path: Path) -> None:
    study, out = tmp_path / "study", tmp_path / "site"
    study.mkdir()
    figure = {"id": "figure_1", "heading": "<b>First</b>", "notes": ["n = 3"]}
    table = {"id": "table_1", "heading": "Second", "notes": []}
    samples = [{"name": "paper", "label": "patched bugs <i>to</i> July 2024"}]
    claim = {
        "section": "III",
        "place": "table",
        "states": "<i>Many</i>",
        "printed": 101.0,
        "ours": None,
        "unit": "bugs",
    }
    claim |= {"verdict": "cannot_be_compared", "why": "missing"}
    for name, content in {
        "study.json": {"as_of": "2026-11-22", "items": 3, "figures": [figure, table], "samples": samples},
        "experiments.json": {"finding": ["Figure 8: <b>slower</b>", "cpu: no"], "notes": []},
        "claims.json": {"claims": [claim], "verdicts": {"agrees": 0}},
    }.items():
        (study / name).write_text(json.dumps(content))
    for name in ("figure_1.svg", "figure_8.svg"):
        (study / name).write_text("<svg xmlns='http://www.w3.org/2000/svg'/>")
    (study / "table_1.csv").write_text("class,definition,sample,items\n<i>memory</i>,a long sentence,paper,3\n")
    call = {"build": "2.15.0", "op": "<b>add", "mode": "forward", "layout": "sliced", "reason": ""}
    call |= {"wrong": 0, "outside": 0, "died": 0, "refused": 0, "undecided": 0}
    rows = [
        call | {"tested": 1200},
        call | {"tested": 30, "layout": "offset", "mode": "out", "wrong": 1, "outside": 1},
        call | {"tested": 0, "layout": "", "mode": "", "reason": "no gradient"},
        call | {"tested": 7, "build": "2.9.1", "op": "older"},
    ]
    pq.write_table(pa.Table.from_pylist(rows), study / hunt_map.FILE)
    reported(hostile_database, out, "--study", study)
    covered = (out / "hunt_map.html").read_text(encoding="utf-8")
    assert (
        '<code>&lt;b&gt;add</code></td><td class="num v-absent">✓ 1,200</td><td class="num v-occurs">✗ 2 of 30</td>'
        '<td class="text"><small>no gradient</small>'
    ) in covered
    assert "older" not in covered
    text = (out / "study.html").read_text(encoding="utf-8")
    for shown in (
        'src="study/figure_1.svg"',
        "&lt;b&gt;First",
        '<td>&lt;i&gt;memory&lt;/i&gt;</td><td>patched bugs &lt;i&gt;to&lt;/i&gt; July 2024</td><td class="num">3</td>',
        '<a href="#f-table_1">Second</a>',
        'src="study/figure_8.svg"',
        "Figure 8: &lt;b&gt;slower&lt;/b&gt;",
        '<td class="text">&lt;i&gt;Many&lt;/i&gt; <small>III, table</small></td><td class="num">101 bugs</td>',
    ):
        assert shown in text, shown
    assert "a long sentence" not in text
    assert "cpu: no" not in text
    assert "a long sentence" in (out / "study" / "table_1.csv").read_text()
    assert (out / "study" / "figure_1.svg").is_file()
    for name, broken, said in (("claims.json", "{}", "embers study claims"), ("study.json", "[", "study.json")):
        (study / name).write_text(broken)
        done = run_embers("report", "--database", hostile_database, "--out", out, "--study", study)
        assert_clean_error(done, 3, said)
        (study / name).unlink()
