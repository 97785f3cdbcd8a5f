"""`embers research advisories`: published ranges of torch's security advisories beside the releases on which their cases occur."""

from __future__ import annotations

import json
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError
from typer.testing import CliRunner

from support import assert_clean_error, run_embers
from torch_embers.audit import advisories, osv, ranges
from torch_embers.audit.advisories import Advisory, Executed, Published
from torch_embers.cases import case as cases
from torch_embers.cli import app

FROM: Any = {"database": "PyPA", "source": "https://example.org/advisory", "day": date(2026, 1, 2)}
ADVISORY = Advisory(
    id="CVE-2025-0001",
    aliases=("PYSEC-2025-1",),
    summary="A stride of zero.",
    issues=(1,),
    published=(Published(last_affected="2.6.0", **FROM),),
    upstream="Nothing.",
    upstream_source="https://example.org/upstream",
    case="one",
    relation="The call of the report.",
)


def row(build: str, verdict: str) -> dict[str, str]:
    given = {"case": "one", "k": "3", "n": "3", "control": "build", "control_build": "2.5.1", "environment": "cpu"}
    day = f"2026-11-{20 + len(build)}"
    return {**given, "build": build, "verdict": verdict, "seen": "died", "day": day}


def executed(*published: Published, **verdicts: str) -> Executed:
    advisory = ADVISORY.model_copy(update={"published": published}) if published else ADVISORY
    rows = [row(name[1:].replace("_", "."), verdict) for name, verdict in verdicts.items()]
    return advisories.compare(advisory, rows)


def told(done: Executed) -> list[str]:
    return [ranges.deviation(done, of) for of in done.deviations]


def test_releases_outside_and_inside_the_published_range_are_told_apart() -> None:
    verdicts = {"v2_5_1": "not_seen", "v2_4_1": "control_failed", "v2_2_2": "absent"}
    done = executed(v2_10_0="absent", v2_9_1="occurs", v2_6_0="occurs", **verdicts)
    assert list(done.verdicts) == ["2.2.2", "2.4.1", "2.5.1", "2.6.0", "2.9.1", "2.10.0"]
    assert done.occurs == ("2.6.0", "2.9.1")
    [of] = done.deviations
    assert (of.unexpected, of.missing, done.undecided) == (("2.9.1",), ("2.2.2",), ("2.4.1", "2.5.1"))
    assert told(done) == ["occurs outside it: 2.9.1; absent inside it: 2.2.2"]


def test_releases_on_which_a_case_cannot_run_are_not_counted_as_run() -> None:
    done = executed(v2_0_1="untestable", v2_1_2="inconclusive", v2_6_0="occurs")
    assert done.run == ("2.1.2", "2.6.0")
    assert ranges.coverage(done) == "run on 2 releases; cannot run on 2.0.1; not decided on 2.1.2"
    assert any("run on 2 releases; cannot run on 2.0.1" in line for line in ranges.lines([done], advisories.load()))


def test_a_range_of_which_nothing_was_run_is_not_told_as_confirmed() -> None:
    assert told(executed(v2_7_1="absent", v2_8_0="absent")) == ["no release inside it was run"]
    assert told(executed()) == ["not run"]
    assert osv.document(executed(), advisories.load())["affected"] == []
    made = osv.document(executed(v2_5_1="occurs", v2_6_0="inconclusive", v2_9_1="occurs"), advisories.load())
    [affected] = made["affected"]
    assert affected["versions"] == ["2.5.1", "2.9.1"]
    assert "ranges" not in affected, "a range would name releases that were not run"


def test_each_published_range_has_its_own_deviation() -> None:
    early, late = Published(last_affected="2.6.0", **FROM), Published(fixed="2.10.0", **FROM | {"database": "GitHub"})
    done = executed(early, late, v2_6_0="occurs", v2_9_1="occurs", v2_10_0="absent")
    assert told(done) == ["occurs outside it: 2.9.1", "none"]
    made = osv.document(done, advisories.load())["database_specific"]["published"]
    assert [(one["database"], one["occurs_outside"]) for one in made] == [("PyPA", ["2.9.1"]), ("GitHub", [])]


@pytest.mark.parametrize(
    ("end", "listed", "found"),
    [
        ("2.6.0-NA", 0, "its end 2.6.0-NA is no version, and the record lists no release"),
        ("2.6.0-cu124", 3, "its end 2.6.0-cu124 is no version"),
        ("2.6.0+cu124", 3, "none"),
    ],
)
def test_an_end_that_is_no_version_is_told_and_read_without_its_suffix(end: str, listed: int, found: str) -> None:
    done = executed(Published(last_affected=end, listed=listed, **FROM), v2_6_0="occurs", v2_7_1="absent")
    assert told(done) == [found]
    [one] = osv.document(done, advisories.load())["database_specific"]["published"]
    assert one["end_is_a_version"] == (found == "none")


@pytest.mark.parametrize(
    ("published", "inside", "outside"),
    [
        (Published(fixed="2.10.0", **FROM), "2.9.1", "2.10.0"),
        (Published(last_affected="2.6.0", **FROM), "2.6.0", "2.7.1"),
        (Published(introduced="2.6.0", fixed="2.7.0", **FROM), "2.6.0", "2.5.1"),
        (Published(versions=("2.5", "2.7.1"), **FROM), "2.5.1", "2.6.0"),
        (Published(versions=("2.5", "2.7.1"), **FROM), "2.7.1", "2.7.0"),
    ],
)
def test_a_published_range_holds_releases_by_version_not_text(published: Published, inside: str, outside: str) -> None:
    assert published.holds(inside)
    assert not published.holds(outside)


def test_a_published_range_has_one_end() -> None:
    for ends in ({"fixed": "2.6.0", "last_affected": "2.5.1"}, {"fixed": "2.6.0", "versions": ("2.5",)}, {}):
        with pytest.raises(ValidationError, match="one of them"):
            Published.model_validate(ends | FROM)


def test_neighbours_among_the_measured_releases_are_told_as_one_range() -> None:
    measured = ["2.5.1", "2.6.0", "2.7.1", "2.8.0"]
    assert ranges.spans(["2.5.1", "2.6.0", "2.8.0"], measured) == "2.5.1 to 2.6.0, 2.8.0"
    assert ranges.spans([], measured) == "none"


def test_every_shipped_advisory_has_a_case_whose_text_was_the_one_that_ran() -> None:
    bank = {case.name: case for case in cases.shipped("advisory")}
    done = advisories.executed()
    assert {one.advisory.case for one in done} == set(bank)
    for one in done:
        assert {verdict["case"] for verdict in one.verdicts.values()} == {one.advisory.case}


def test_documents_have_what_the_osv_schema_requires_and_are_written_as_files(tmp_path: Path) -> None:
    import jsonschema  # its grammars of addresses take seconds to import

    text = (Path(__file__).parents[1] / "osv_schema.json").read_text(encoding="utf-8")
    schema = jsonschema.Draft202012Validator(json.loads(text))
    printed = CliRunner().invoke(app, ["research", "advisories", "--json", "--osv", str(tmp_path / "osv")])
    assert printed.exit_code == 0, printed.output
    documents = json.loads(printed.output)
    assert len(documents) == len(advisories.load().advisory)
    for made in documents:
        schema.validate(made)
        assert json.loads((tmp_path / "osv" / f"{made['id']}.json").read_text()) == made
    (tmp_path / "file").write_text("mine")
    assert_clean_error(run_embers("research", "advisories", "--osv", tmp_path / "file"), 3, "cannot be written")
    assert (tmp_path / "file").read_text() == "mine"
    text = run_embers("research", "advisories").stdout
    about = advisories.load()
    assert all(one.id in text for one in (*about.advisory, *about.not_executed))
    assert "not by itself a vulnerability" in text
