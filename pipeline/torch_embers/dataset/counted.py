"""Numbers and tables of the datasheet, counted in the published tables."""

from __future__ import annotations

import re
import tomllib
from collections import Counter, defaultdict
from typing import TYPE_CHECKING, Any

import pyarrow.compute as pc

from torch_embers.dataset import definitions
from torch_embers.statistics import agreement

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    import pyarrow as pa

    from torch_embers.dataset.collect import Content

WATCHED = ("title", "state_reason", "created_at", "closed_at", "labels")
"""Columns of items whose gaps matter to whoever counts."""
NOTHING = "None in this dataset."
IDENTIFIER = re.compile(r"[\w.:+/-]{1,100}", re.ASCII)


def facts(content: Content) -> dict[str, str]:
    """Every number and table of the datasheet by its place in the template."""
    words = tomllib.loads(definitions.read("words.toml"))
    labels = content.rows["labels"]
    return {
        "tables": tables(content),
        "kinds": _kinds(content.rows["items"]),
        "reported": _reported(content.rows["items"]),
        "missing": _missing(content.rows["items"]),
        "classes": _classes(labels),
        "links": _counted(content.rows["links"], ("relation", "evidence")),
        "backends": _backends(content.rows["catalog"]),
        "cases": _cases(content),
        "verdicts": _verdicts(content),
        "left_out": _listed(f"{reason}: {count:,}" for reason, count in content.left_out.items()),
        "withheld": _withheld(content),
        "sources": _named(Counter(content.rows["items"]["source"].to_pylist()), words["sources"], "items"),
        "when": _when(content.rows),
        "annotators": _annotators(labels, words["annotators"]),
        "agreement": _agreement(labels),
        "closings": _annotators_of_closings(content.rows["dispositions"], words["annotators"]),
        "dispositions": _counted(content.rows["dispositions"], ("disposition", "evidence_kind")),
        "predictions": _predictions(content.rows["predictions"]),
        "verdicts_from": _verdicts_from(content),
        "automated": f"{_kinds_of_annotators(labels)['automated']:,}",
        "labels": f"{labels.num_rows:,}",
        "runnable": _runnable(content.rows),
    }


def verdicts(content: Content) -> pa.Table:
    """The rows of the table ``verdicts`` without those of what could not be tested."""
    return content.rows["verdicts"].filter(pc.field("verdict") != "untestable")


def summary(content: Content) -> str:
    """The dataset in one line."""
    told = {**content.rows, "verdicts": verdicts(content)}
    counts = {name: f"{told[name].num_rows:,} {name}" for name in ("items", "labels", "links", "cases", "verdicts")}
    releases = len(set(content.rows["verdicts"]["release"].to_pylist()))
    return f"{', '.join(counts.values())} on {releases} releases."


def tables(content: Content) -> str:
    """The tables with their rows."""
    lines = [(f"`{t.name}`", f"{content.rows[t.name].num_rows:,}", t.description) for t in content.tables]
    return markdown(("table", "rows:", "what a row is"), lines)


# ---- Markdown ------------------------------------------------------------------------------------------------------


def markdown(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table; a heading that ends in ``:`` is of a column of numbers."""
    marks = ["---:" if heading.endswith(":") else "---" for heading in headings]
    lines = [[heading.rstrip(":") for heading in headings], marks, *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def plain(value: object) -> str:
    """Text from outside that stays within its cell and is shown as it is."""
    text = " ".join(str("unknown" if value is None else value).split())
    if IDENTIFIER.fullmatch(text):
        return f"`{text}`" if "_" in text else text
    return "".join(f"&#{ord(c)};" if c in "<>&|*_`[]\\" else c for c in text)


def _listed(lines: Iterable[str]) -> str:
    return "\n".join(f"- {line}" for line in lines) or NOTHING


def _counted(rows: pa.Table, columns: Sequence[str], *, least: int = 1) -> str:
    """How many rows have each combination of values, the most frequent first."""
    counts = Counter(zip(*(rows[name].to_pylist() for name in columns), strict=True))
    ordered = sorted(counts.items(), key=lambda entry: (-entry[1], tuple(map(str, entry[0]))))
    lines = [(*map(plain, values), f"{count:,}") for values, count in ordered if count >= least]
    return markdown((*columns, "rows:"), lines) if lines else NOTHING


def _share(part: int, whole: int) -> str:
    return f"{part / whole:.0%}" if whole else "0%"


def _named(counts: Mapping[Any, int], words: Mapping[str, str], what: str) -> str:
    return _listed(
        f"{plain(name)} ({count:,} {what}): {words.get(name, 'not described.')}"
        for name, count in sorted(counts.items(), key=lambda entry: (-entry[1], str(entry[0])))
    )


# ---- parts of the sheet --------------------------------------------------------------------------------------------


def _kinds(items: pa.Table) -> str:
    counts = Counter(zip(items["kind"].to_pylist(), items["state"].to_pylist(), strict=True))
    words = {"issue": "issues", "pull": "pull requests"}
    kinds = [
        f"{count:,} {plain(state)} {words.get(kind, 'items of unknown kind')}"
        for (kind, state), count in sorted(counts.items(), key=str)
    ]
    repositories = sorted(set(items["repo"].to_pylist()))
    shown = ", ".join(map(plain, repositories[:5])) + (" and others" if len(repositories) > 5 else "")
    return f"{', '.join(kinds)}, of {shown}."


def _reported(items: pa.Table) -> str:
    years = Counter(str(moment.year) if moment else "unknown" for moment in items["created_at"].to_pylist())
    return markdown(("created in", "items:"), [(year, f"{count:,}") for year, count in sorted(years.items())])


def _missing(items: pa.Table) -> str:
    return ", ".join(f"{name} {_share(items[name].null_count, items.num_rows)}" for name in WATCHED)


def _classes(labels: pa.Table) -> str:
    columns = ("scheme", "value", "annotator_kind", "annotator")
    by_class: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    for scheme, value, kind, annotator in zip(*(labels[name].to_pylist() for name in columns), strict=True):
        by_class[scheme, value][f"{annotator} ({kind})"] += 1
    names = sorted({name for counts in by_class.values() for name in counts})
    ordered = sorted(by_class.items(), key=lambda entry: (entry[0][0], -sum(entry[1].values()), entry[0][1]))
    lines = [(plain(s), plain(v), *(f"{counts[name]:,}" for name in names)) for (s, v), counts in ordered]
    return markdown(("scheme", "class", *(f"{plain(name)}:" for name in names)), lines) if lines else NOTHING


def _backends(catalog: pa.Table) -> str:
    counts = Counter(name for names in catalog["backends"].to_pylist() for name in names or ())
    lines = [(plain(name), f"{count:,}") for name, count in sorted(counts.items(), key=lambda e: (-e[1], e[0]))]
    return markdown(("backend", "bugs:"), lines) if lines else NOTHING


def _cases(content: Content) -> str:
    cases = content.rows["cases"]
    needs = Counter(_device(requires) for requires in cases["requires"].to_pylist())
    devices = ", ".join(f"{count:,} for {device}" for device, count in sorted(needs.items()))
    shown = {
        (repo, number) for repo, number in zip(*_columns(content.rows["case_items"], "repo", "number"), strict=True)
    }
    return (
        f"{cases.num_rows:,} cases ({devices}) show {len(shown):,} items.\n\n"
        f"{_counted(cases, ('bug_type', 'consequence'))}"
    )


def _device(requires: Sequence[str] | None) -> str:
    return next((need for need in requires or () if need in ("cuda", "mps")), "cpu")


def _columns(rows: pa.Table, *names: str) -> list[list[Any]]:
    return [rows[name].to_pylist() for name in names]


def _verdicts(content: Content) -> str:
    verdicts, builds = content.rows["verdicts"], content.rows["builds"]
    if not verdicts.num_rows:
        return NOTHING
    releases = builds["release"].to_pylist()
    places = [
        ", ".join(filter(None, (e["device"], e["device_name"], e["processor"], e["capability"], e["system"])))
        for e in content.rows["environments"].to_pylist()
    ]
    flaky = sum(verdicts["flaky"].to_pylist())
    return (
        f"On {builds.num_rows:,} builds, {plain(releases[0])} to {plain(releases[-1])}, in {len(places)} environments "
        f"({plain('; '.join(places))}); {flaky:,} verdicts are flaky.\n\n{_counted(verdicts, ('verdict', 'control'))}"
    )


def _withheld(content: Content) -> str:
    lines = [(f"`{t.source}`", f"`{name}`", reason) for t in content.tables for name, reason in t.withheld.items()]
    return markdown(("table", "column", "why not"), lines)


def _when(rows: Mapping[str, pa.Table]) -> str:
    looked = [day for day in rows["items"]["state_as_of"].to_pylist() if day]
    ran = [moment.date() for moment in rows["verdicts"]["decided_at"].to_pylist() if moment]
    spans = []
    for what, days in (("Facts of the tracker were looked up", looked), ("Cases ran", ran)):
        if days:
            spans.append(f"{what} {_span(min(days), max(days))}.")
    return " ".join(spans) or "Unknown."


def _span(first: object, last: object) -> str:
    return f"on {first}" if first == last else f"from {first} to {last}"


def _annotators(labels: pa.Table, words: Mapping[str, str]) -> str:
    counts = Counter(zip(*_columns(labels, "annotator", "annotator_kind"), strict=True))
    people = {name for name, kind in counts if kind == "human"}
    known = {**words, **dict.fromkeys(people, "A person, with `embers data label`.")}
    lines = [
        f"{plain(name)} ({plain(kind)}; {count:,} labels): {known.get(name, 'not described.')}"
        for (name, kind), count in sorted(counts.items())
    ]
    if not people:
        lines.append("No person labelled anything in this dataset.")
    return _listed(lines)


def _annotators_of_closings(dispositions: pa.Table, words: Mapping[str, str]) -> str:
    counts = Counter(zip(*_columns(dispositions, "annotator", "annotator_kind"), strict=True))
    if not counts:
        return "Nobody read that in this dataset."
    return " ".join(
        f"{plain(name)} ({plain(kind)}; {count:,} issues): {words.get(name, 'not described.')}"
        for (name, kind), count in sorted(counts.items())
    )


def _kinds_of_annotators(labels: pa.Table) -> Counter[str]:
    return Counter(labels["annotator_kind"].to_pylist())


def _agreement(labels: pa.Table) -> str:
    columns = _columns(labels, "scheme", "annotator_kind", "annotator", "repo", "number", "value")
    labelled = [
        (scheme, f"{kind}:{name}", (repo, number), value)
        for scheme, kind, name, repo, number, value in zip(*columns, strict=True)
    ]
    agreements = agreement.between(labelled)
    if not agreements:
        return f"No two annotators labelled the same {agreement.LEAST_SHARED} items, so agreement is unknown."
    lines = [(plain(a.scheme), plain(a.one), plain(a.other), f"{a.items:,}", str(a.kappa)) for a in agreements]
    people = sum(a.one.startswith("human:") and a.other.startswith("human:") for a in agreements)
    note = "" if people else "No two people labelled the same items: none of these is agreement between people. "
    return (
        f"{markdown(('scheme', 'one', 'other', 'items:', 'kappa'), lines)}\n\n{note}"
        "Where one of the two names a single class, kappa says little."
    )


def _predictions(predictions: pa.Table) -> str:
    if not predictions.num_rows:
        return "There are none: nobody ran `embers classify` on the database."
    models = ", ".join(map(plain, sorted(set(predictions["model"].to_pylist()))))
    sure = predictions["confidence"].to_pylist().count("high")
    return (
        f"By {models}, which learned from such labels; {predictions.num_rows:,} of them, {sure:,} of high confidence. "
        "`provenance` says which of them the model made without having seen the item."
    )


def _verdicts_from(content: Content) -> str:
    decided = verdicts(content)
    counts = Counter(decided["provenance"].to_pylist())
    if not counts:
        return NOTHING
    places: dict[str, set[str]] = defaultdict(set)
    for provenance, place in zip(*_columns(decided, "provenance", "environment"), strict=True):
        places[provenance].add(place)
    own, came = counts["own"], counts["shipped"]
    return (
        f"{own:,} rest on runs that the database holds (`provenance` is `own`; {_environments(places['own'])}). "
        f"{came:,} came with embers (`shipped`; {_environments(places['shipped'])}): the project ran them; of their "
        "builds only the release is known, and the failure that was seen has no signature."
    )


def _environments(names: Collection[str]) -> str:
    return f"{len(names):,} environment{'' if len(names) == 1 else 's'}"


def _runnable(rows: Mapping[str, pa.Table]) -> str:
    verdicts = rows["verdicts"]
    kinds = sorted({device for device in verdicts["device"].to_pylist() if device})
    untestable = sum(verdict == "untestable" for verdict in verdicts["verdict"].to_pylist())
    return (
        f"Verdicts are of {', '.join(map(plain, kinds)) or 'no device'}; {untestable:,} more rows of that table are "
        "`untestable`, which is no verdict, mostly because the device or the operator was not there. A bug of another "
        "device, driver or processor can be there and not show."
    )
