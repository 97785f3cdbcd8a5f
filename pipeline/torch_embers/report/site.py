"""Writes the pages of the report, one function per part of the site."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from markupsafe import Markup, escape

from torch_embers import resources
from torch_embers.cases.shipped_verdicts import ORDER
from torch_embers.hunt import sweep
from torch_embers.report import (
    badges,
    data_files,
    feed,
    highlight,
    item_page,
    picture,
    places,
    rendering,
    since,
    table_data,
)
from torch_embers.report.joined_facts import counted, cut
from torch_embers.settings import DEFAULT_REPO, only_repository, project_of
from torch_embers.views import answers

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    import pyarrow as pa
    from jinja2 import Environment

    from torch_embers.report.folder import Site
    from torch_embers.report.hunt_map import Map
    from torch_embers.report.joined_facts import ReportFacts, Stretch
    from torch_embers.report.since import ReportComparison
    from torch_embers.report.source import Key
    from torch_embers.report.study_files import Study

ASSETS = ("table.js", "copy.js", "search.js", "icon.svg")
PARTS = "Parts of {} that the items are about, by paths, labels and words."
CALLED = "What the code of the cases calls, read from its syntax; a method of a tensor is not told."


class Writer:
    """Renders templates into a site."""

    def __init__(self, site: Site, facts: ReportFacts, *, has_docs: bool = False) -> None:
        self.site, self.facts = site, facts
        self.environment: Environment = rendering.environment(facts.source.newest, has_docs=has_docs)
        self.paths = {
            "component": _pages("components", facts.by_component),
            "operator": _pages("operators", facts.by_operator),
            "class": _pages("classes", facts.by_class),
            "release": _pages("releases", facts.releases),
        }
        self.project = project_of(only_repository(row["repo"] for row in facts.source.items))
        named = {"paths": self.paths, "class_link": self._class_link, "facts": facts, "project": self.project}
        self.environment.globals |= named

    def page(self, name: str, template: str, **values: Any) -> None:
        """Render a template into a file."""
        depth = name.count("/")
        text = self.environment.get_template(template).render(
            root="../" * depth, here=name, most=self.facts.rules.limits.group_rows, **values
        )
        self.site.write(name, text)

    def _class_link(self, scheme: str, value: str, root: str) -> Markup:
        page, named = self.paths["class"].get(f"{scheme}={value}"), rendering.class_name(scheme, value)
        return Markup('<a href="{}">{}</a>').format(root + page, named) if page else escape(named)


def _pages(folder: str, names: Sequence[str] | Mapping[str, Any]) -> dict[str, str]:
    return {name: f"{folder}/{slug}.html" for name, slug in places.slugs(names).items()}


def write(
    site: Site,
    facts: ReportFacts,
    tables: Mapping[str, pa.Table],
    compared: ReportComparison,
    address: str = "",
    study: Study | None = None,
    hunted: Map | None = None,
    *,
    has_docs: bool = False,
) -> None:
    """Write all pages, badges, data files and what the pages load.

    Args:
        site: where to.
        facts: of the database.
        tables: the data files.
        compared: what changed since the earlier report.
        address: where the site will be on the web; empty where that is not known.
        study: its tables and figures.
        hunted: the coverage map of the hunt.
        has_docs: whether the documentation is a part of the site.
    """
    writer = Writer(site, facts, has_docs=has_docs)
    _assets(site)
    site.write(feed.FILE, feed.feed(facts, address))
    for name, content in data_files.files(tables):
        site.write(name, content)
    rows = [(f"data/{name}.{form}", len(table)) for name, table in tables.items() for form in ("json", "parquet")]
    writer.page("provenance.html", "provenance.html", data_files=rows)
    _overview(writer, compared)
    _table(writer)
    _items(writer)
    _releases(writer)
    _groups(writer)
    _findings(writer, study)
    writer.page("hunt_map.html", "hunt_map.html", map=hunted)


def _assets(site: Site) -> None:
    css = resources.package_file("report", "assets", "site.css").read_text(encoding="utf-8")
    site.write("assets/site.css", css + highlight.style_sheet())
    for name in ASSETS:
        site.write(f"assets/{name}", resources.package_file("report", "assets", name).read_bytes())


# ---- overview ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a list on the start page: a name that leads to a page, what was seen, why it is there."""

    name: str
    page: str
    strip: Sequence[Stretch]
    title: str
    why: str


def _lines(facts: ReportFacts, found: Iterable[tuple[Key, str]]) -> list[Line]:
    return [Line(facts.name(key), facts.page(key), facts.strip(key), facts.title(key), why) for key, why in found]


def _overview(writer: Writer, compared: ReportComparison) -> None:
    facts, limits = writer.facts, writer.facts.rules.limits
    newest = f"torch {facts.reference or '(no release yet)'}"
    closable, again, there = (
        [(key, facts.answers[key].because) for key in facts.issues(*wanted)]
        for wanted in (("open", "yes"), ("closed", "no"), ("open", "no"))
    )
    back = [(key, f"not there on {last}, there since {since}") for key, last, since in facts.regressions]
    hunted = [
        Line(case["name"], item_page.case_file(case["name"]), facts.case_strip(case["name"]), case["summary"] or "", "")
        for case in facts.unreported
    ]
    now = counted(entry for entry in facts.newest.values() if entry.build == facts.reference)
    occur = sum(answer.occurs is True for key, answer in facts.answers.items() if key in facts.items)
    ran = Counter(facts.items[key]["state"] for key in facts.answers if key in facts.items)
    tiles = [
        ("closable", len(closable), f"of {ran['open']} open issues of which something ran", "#closable"),
        ("look again", len(again), f"of {ran['closed']} closed issues of which something ran", "#again"),
        ("open and there", len(there), f"of the same {ran['open']} open issues", "items.html#state=open&closable=no"),
        ("regressions", len(back), f"of {occur} issues whose bug is there", "#regressed"),
        ("cases occur", now["occurs"], f"of {now['occurs'] + now['absent']} decided on {newest}", "releases.html"),
    ]
    writer.page(
        "index.html",
        "overview.html",
        newest_release=newest,
        closable=_lines(facts, closable),
        again=_lines(facts, again),
        regressions=_lines(facts, back),
        hunted=hunted,
        tiles=tiles,
        compared=compared,
        changes={kind: [_changed(facts, row) for row in rows] for kind, rows in compared.by_kind().items()},
        counted=since.counted,
        first=since.FIRST,
        longest=limits.news,
        shown=limits.inbox,
        news=facts.source.announcements[: limits.news],
        history=facts.source.history[: limits.news],
        picture=picture.releases(_counts(facts)),
        answered=answers.counts(facts.source.reports.values()),
        covered=sum(1 for key in facts.items if key in facts.cases_of),
    )


def _changed(facts: ReportFacts, row: Mapping[str, Any]) -> Line:
    """A change since the earlier report."""
    key = (row["repo"], row["number"])
    before, after = (rendering.words(row[name] or "none") for name in ("before", "after"))
    why = ", ".join(filter(None, (f"{before} → {after}", row["backend"])))
    if row["what"] in ("new", "gone"):
        why = row["after"] or row["before"] or ""
    title = cut(row["title"] or "(not mined yet)", facts.rules.limits.title)
    return Line(facts.name(key), facts.page(key), facts.strip(key), title, why)


def _counts(facts: ReportFacts) -> dict[str, dict[str, int]]:
    """By release, oldest first, its cases by verdict: of several environments the deciding one."""
    return {release: counted(entries) for release, entries in facts.by_release.items()}


# ---- items ---------------------------------------------------------------------------------------------------------


def _table(writer: Writer) -> None:
    writer.page("items.html", "items.html")
    writer.page("pages.html", "pages.html", keys=sorted(writer.facts.paged))
    for name, content in table_data.files(writer.facts):
        writer.site.write(name, content)


def _items(writer: Writer) -> None:
    pages = item_page.Pages(writer.facts)
    for key in sorted(writer.facts.paged):
        writer.page(places.item_page(*key), "item.html", **pages.content(key))
        writer.site.write(badges.item_file(key), badges.item(writer.facts, key)[1])
    for name, code in item_page.own_code(writer.facts.source.cases):
        writer.site.write(name, code)


# ---- releases, classes, operators, components ----------------------------------------------------------------------


def _releases(writer: Writer) -> None:
    facts = writer.facts
    of_release = facts.by_release
    commits = {row["release"]: row["git_commit"] for row in facts.source.builds}
    rows = []
    for place, release in enumerate(facts.releases):
        before = facts.releases[place - 1] if place else ""
        was = {entry.case: entry.verdict for entry in of_release.get(before, ())}
        own = of_release[release]
        new = [e for e in own if e.verdict == "occurs" and was.get(e.case) == "absent"]
        gone = [e for e in own if e.verdict == "absent" and was.get(e.case) == "occurs"]
        page = writer.paths["release"][release]
        commit = commits.get(release)
        badge = badges.release_file(places.slug(release))
        said, image = badges.release(facts, release)
        writer.site.write(badge, image)
        counts = counted(own)
        rows.append({"release": release, "page": page, "counts": counts, "gone": len(gone), "new": len(new)})
        writer.page(
            page,
            "release.html",
            release=release,
            commit=commit,
            commit_page=places.github_commit(DEFAULT_REPO, commit) if commit else "",
            before=before,
            new=new,
            gone=gone,
            broken=[e for e in own if e.verdict == "occurs"],
            counts=counts,
            places=sorted({e.place for e in own}),
            badge=badge,
            badge_text=said,
        )
    writer.page(
        "releases.html", "releases.html", rows=rows[::-1], order=ORDER, picture=picture.releases(_counts(facts))
    )


def _groups(writer: Writer) -> None:
    facts = writer.facts
    schemes: dict[str, dict[str, list[Key]]] = {}
    for name, keys in facts.by_class.items():
        schemes.setdefault(name.partition("=")[0], {})[name] = keys
    parts = [(rendering.words(scheme), _rows(writer, "class", groups)) for scheme, groups in sorted(schemes.items())]
    text = "Items by class of the taxonomy: gold labels where there are any, else the classifier's."
    writer.page("classes.html", "groups.html", heading="Classes", text=text, parts=parts)
    for kind, groups, text in (
        ("operator", facts.by_operator, CALLED),
        ("component", facts.by_component, PARTS.format(writer.project)),
    ):
        rows = [("", _rows(writer, kind, groups))]
        writer.page(f"{kind}s.html", "groups.html", heading=f"{kind.capitalize()}s", text=text, parts=rows)


def _rows(writer: Writer, kind: str, groups: Mapping[str, Sequence[Key]]) -> list[dict[str, Any]]:
    """Write the page of each group, and return the rows of their list, the largest first."""
    facts, rows = writer.facts, []
    occurring = {key for key, answer in facts.answers.items() if answer.occurs}
    for name, keys in groups.items():
        writer.page(
            writer.paths[kind][name],
            "group.html",
            heading=f"{kind.capitalize()} {name.replace('=', ': ')}",
            text="",
            keys=facts.ranked(keys),
            query=table_query(kind, name),
        )
        rows.append(
            {
                "name": rendering.class_name(*name.split("=", 1)) if "=" in name else name,
                "page": writer.paths[kind][name],
                "count": len(keys),
                "cases": len(facts.cases_of.keys() & keys),
                "occurs": len(occurring.intersection(keys)),
            }
        )
    return sorted(rows, key=lambda row: (-row["count"], row["name"]))


def table_query(kind: str, name: str) -> str:
    """The part of the table's address behind ``#`` that shows a group."""
    return urlencode({kind: name})


# ---- study, hunt -------------------------------------------------------------------------------------------

JUDGED = ("new", "known_issue", "documented", "false_alarm")
"""How findings of the hunt are judged, in the order of the page."""


def _findings(writer: Writer, study: Study | None) -> None:
    known = [finding.model_dump() | {"key": _key(finding.issue)} for finding in sweep.rules().known]
    groups = [(name, [row for row in known if row["judged"] == name]) for name in JUDGED]
    writer.page("hunt.html", "hunt.html", groups=[(name, rows) for name, rows in groups if rows])
    writer.page("study.html", "study.html", study=study)
    for figure in study.figures if study else ():
        for name, body in figure.files:
            writer.site.write(f"study/{name}", body)


def _key(issue: str) -> Key | None:
    """An item as owner/name#number."""
    repo, found, number = issue.partition("#")
    return (repo, int(number)) if found and number.isdecimal() else None
