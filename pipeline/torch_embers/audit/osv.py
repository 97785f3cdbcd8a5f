"""Executed advisories as OSV documents (https://ossf.github.io/osv-schema/), a document per advisory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from packaging.version import Version

if TYPE_CHECKING:
    from torch_embers.audit.advisories import Advisories, Executed

SCHEMA_VERSION = "1.6.7"
PREFIX = "EMBERS-"
"""Before the identifier: the document is about an execution, and does not replace the advisory that it names."""
CAUTION = "The case is a script of one's own that runs on a CPU. That it fails is not by itself a vulnerability."


def document(done: Executed, about: Advisories) -> dict[str, Any]:
    """The OSV document of an advisory.

    Its ranges are those that were executed; the published one stands in ``database_specific``. Releases that were not
    run, or not decided, are in no range.
    """
    advisory = done.advisory
    issues = [f"https://github.com/pytorch/pytorch/issues/{number}" for number in advisory.issues]
    return {
        "schema_version": SCHEMA_VERSION,
        "id": f"{PREFIX}{advisory.id}",
        "modified": max((row["decided_at"] for row in done.verdicts.values()), default="1970-01-01T00:00:00Z"),
        "related": [advisory.id, *advisory.aliases],
        "summary": advisory.summary,
        "details": f"{CAUTION} {advisory.relation} {advisory.upstream} {about.policy}",
        "affected": [_affected(done)] if done.occurs else [],
        "references": [
            {"type": "ADVISORY", "url": advisory.source},
            *({"type": "REPORT", "url": address} for address in issues),
            {"type": "WEB", "url": advisory.upstream_source},
        ],
        "database_specific": {
            "published": advisory.published.model_dump(),
            "status": advisory.status,
            "upstream": advisory.upstream,
            "case": advisory.case,
            "relation": advisory.relation,
            "occurs_outside_published_range": list(done.unexpected),
            "not_seen_inside_published_range": list(done.missing),
            "verdicts": {release: _evidence(row) for release, row in done.verdicts.items()},
        },
    }


def _affected(done: Executed) -> dict[str, Any]:
    return {
        "package": {"ecosystem": "PyPI", "name": "torch", "purl": "pkg:pypi/torch"},
        "ranges": [{"type": "ECOSYSTEM", "events": events} for events in ranges(done)],
        "versions": list(done.occurs),
    }


def ranges(done: Executed) -> list[list[dict[str, str]]]:
    """The two events of each executed range: ``fixed`` only where the next release that was run was clean.

    A range each, because OSV forbids ``fixed`` and ``last_affected`` in one.
    """
    made: list[list[dict[str, str]]] = []
    first = last = ""
    for release in sorted(done.verdicts, key=Version):
        verdict = done.verdicts[release]["verdict"]
        if verdict == "occurs":
            first, last = first or release, release
        elif first:
            made.append([{"introduced": first}, {"fixed": release} if verdict == "absent" else {"last_affected": last}])
            first = ""
    return [*made, [{"introduced": first}, {"last_affected": last}]] if first else made


def _evidence(row: Any) -> dict[str, Any]:
    return {
        "verdict": row["verdict"],
        "hits": int(row["k"]),
        "runs": int(row["n"]),
        "control": row["control"],
        "control_build": row["control_build"] or None,
        "environment": row["environment"],
        "seen": row["detail"],
    }
