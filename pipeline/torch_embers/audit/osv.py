"""Executed advisories as OSV documents (https://ossf.github.io/osv-schema/), a document per advisory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from torch_embers.audit.advisories import Advisories, Executed

SCHEMA_VERSION = "1.7.5"
PREFIX = "x_EMBERS-"
"""Before the identifier: the document is about an execution, and does not replace the advisory that it names.

``x_`` is for databases that are not registered, in the schema after 1.7.5.
"""
_TORCH = {"ecosystem": "PyPI", "name": "torch", "purl": "pkg:pypi/torch"}
CAUTION = "The case is a script of one's own that runs on a CPU. That it fails is not by itself a vulnerability."


def document(done: Executed, about: Advisories) -> dict[str, Any]:
    """The OSV document of an advisory.

    It lists the releases on which the case occurs, and no range: a range would name releases that nobody ran. The
    published ones stand in ``database_specific``.
    """
    advisory = done.advisory
    sources = dict.fromkeys(one.source for one in advisory.published)
    issues = [f"https://github.com/pytorch/pytorch/issues/{number}" for number in advisory.issues]
    return {
        "schema_version": SCHEMA_VERSION,
        "id": f"{PREFIX}{advisory.id}",
        "modified": max((row["day"] for row in done.verdicts.values()), default="1970-01-01") + "T00:00:00Z",
        "related": [advisory.id, *advisory.aliases],
        "summary": advisory.summary,
        "details": f"{CAUTION} {advisory.relation} {advisory.upstream} {about.policy}",
        "affected": [{"package": _TORCH, "versions": list(done.occurs)}] if done.occurs else [],
        "references": [
            *({"type": "ADVISORY", "url": address} for address in sources),
            *({"type": "REPORT", "url": address} for address in issues),
            {"type": "WEB", "url": advisory.upstream_source},
        ],
        "database_specific": {
            "published": [
                {
                    **of.published.model_dump(mode="json"),
                    "end_is_a_version": not of.published.odd_end,
                    "occurs_outside": list(of.unexpected),
                    "absent_inside": list(of.missing),
                }
                for of in done.deviations
            ],
            "status": advisory.status,
            "upstream": advisory.upstream,
            "case": advisory.case,
            "relation": advisory.relation,
            "verdicts": {release: _evidence(row) for release, row in done.verdicts.items()},
        },
    }


def _evidence(row: Any) -> dict[str, Any]:
    return {
        "verdict": row["verdict"],
        "hits": int(row["k"]),
        "runs": int(row["n"]),
        "control": row["control"],
        "control_build": row["control_build"] or None,
        "environment": row["environment"],
        "seen": row["seen"],
    }
