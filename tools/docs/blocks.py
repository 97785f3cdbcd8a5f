"""Every generated block and the function that makes it, page by page. A block that is not here is made by nobody."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from . import (
    advisories,
    bisection,
    cases,
    catalog,
    claims,
    cluster,
    commands,
    evaluation,
    examples,
    extraction,
    fix_tests,
    headline,
    hunt,
    judged,
    links,
    minimised,
    perf,
    protocols,
    readme,
    report,
    reported,
    reviews,
    running,
    second_opinion,
    sql,
    still_occurring,
    store,
    study,
    wild,
)

if TYPE_CHECKING:
    from collections.abc import Callable


def blocks() -> dict[str, Callable[[], str]]:
    """What makes each block: its name in the mark on the page, and a function that returns the Markdown."""
    return {
        # README.md
        "readme-counted": readme.counted,
        "readme-still-occurring": readme.still_occurring,
        "readme-list": partial(examples.example, "list", "--status", "declined_occurs", "--limit", "5"),
        "readme-cases": partial(
            examples.example, "cases", "--class", "non_contiguous", "--occurs-on", "2.15.0", "--limit", "3"
        ),
        "readme-chain": partial(examples.example, "chain", "172340"),
        # commands.md, commands/*.md
        **{f"options-{name.replace(' ', '-')}": partial(commands.options_table, name) for name in commands.commands()},
        "commands": commands.command_list,
        "settings": commands.settings_table,
        "errors": commands.errors_table,
        # commands/*.md
        "example-chain": partial(examples.example, "chain", "172340"),
        "example-status": examples.status,
        "example-funnel": partial(examples.example, "funnel"),
        # advisories.md
        "advisories": advisories.overview,
        "advisories-evidence": advisories.evidence,
        "advisories-not-executed": advisories.not_executed,
        # hunt-coverage.md
        "hunt-modes": hunt.modes,
        "hunt-layouts": hunt.layouts,
        "hunt-destinations": hunt.destinations,
        "hunt-reasons": hunt.reasons,
        "hunt-dispatcher": hunt.dispatcher,
        "hunt-own": hunt.own,
        "hunt-worst": hunt.worst,
        # catalog.md
        "wild-samples": wild.samples,
        "wild-classes": wild.classes,
        "wild-agreement": wild.agreement,
        "catalog-facts": catalog.facts,
        "catalog-sources": catalog.sources,
        "catalog-classes": catalog.classes,
        "catalog-agreement": catalog.agreement,
        "mps-status": catalog.mps_status,
        # cases.md
        "case-example": cases.case_example,
        "cases": cases.case_list,
        "cases-counted": cases.counted,
        "uncovered": cases.uncovered,
        # case-reviews.md
        "reviews-counted": reviews.counted,
        "dispositions-counted": reviews.dispositions_counted,
        "headline-left": headline.left,
        "reviews": reviews.by_case,
        "reported-scripts": reported.beside,
        # claims.md
        "claims-counted": claims.counted,
        "claims-rules": claims.rules,
        "claims-verdicts": claims.by_section,
        # evaluation.md
        "evaluation-wild": wild.scores,
        "evaluation-wild-given": wild.given,
        "evaluation-wild-classes": wild.by_class,
        "evaluation-wild-shares": wild.shares,
        "evaluation-wild-tried": wild.tried,
        "evaluation-wild-labels": wild.labels,
        "evaluation-gold": evaluation.gold,
        "evaluation-others": evaluation.others,
        "evaluation-tags": evaluation.tags,
        "evaluation-time": evaluation.by_time,
        "evaluation-classes": evaluation.classes,
        "evaluation-agreement": evaluation.agreement,
        "evaluation-aims": protocols.aims,
        "evaluation-labelled": protocols.labelled,
        "evaluation-chosen": protocols.chosen,
        "evaluation-mhnurf": protocols.mhnurf_protocol,
        # fix-tests.md
        "fix-test-reasons": fix_tests.reasons,
        "fix-tests-by-class": fix_tests.by_class,
        "fix-tests-by-year": fix_tests.by_year,
        "fix-tests-by-folder": fix_tests.by_folder,
        "fix-tests-speed": fix_tests.speed,
        "fix-tests-merged": fix_tests.merged,
        "fix-tests-share": fix_tests.share,
        "fix-tests-reviewed": fix_tests.reviewed,
        "fix-tests-together": fix_tests.together,
        "fix-tests-readings": fix_tests.readings,
        "fix-tests-failing": fix_tests.failing,
        "fix-tests-validated": fix_tests.validated,
        # commands/perf.md
        "perf-cases": perf.cases,
        # fix-tests-earlier.md
        "fix-tests-earlier-share": partial(fix_tests.share, fix_tests.EARLIER),
        "fix-tests-earlier-by-class": partial(fix_tests.by_class, fix_tests.EARLIER),
        "fix-tests-earlier-by-year": partial(fix_tests.by_year, fix_tests.EARLIER),
        "fix-tests-earlier-by-folder": partial(fix_tests.by_folder, fix_tests.EARLIER),
        "fix-tests-earlier-merged": partial(fix_tests.merged, fix_tests.EARLIER),
        "fix-tests-earlier-frozen": fix_tests.frozen,
        "fix-tests-earlier-reviewed": partial(fix_tests.reviewed, fix_tests.EARLIER),
        "fix-tests-earlier-readings": partial(fix_tests.readings, fix_tests.EARLIER),
        "fix-tests-earlier-failing": partial(fix_tests.failing, fix_tests.EARLIER),
        "fix-tests-earlier-validated": partial(fix_tests.validated, fix_tests.EARLIER),
        # extraction.md, commands/link-repros.md
        "extraction-reasons": extraction.reasons,
        "extraction-edits": extraction.edits,
        "extraction-shares": extraction.shares,
        "extraction-measured": extraction.reasons_counted,
        "extraction-edits-counted": extraction.edits_counted,
        "extraction-outcomes": extraction.outcomes,
        "extraction-silent": extraction.silent,
        "judged-summary": judged.summary,
        "judged-aims": judged.aims,
        "judged-answers": judged.answers,
        "judged-second": judged.second,
        "extraction-blind": judged.blind,
        "judged-each": judged.each,
        "judged-reduced": judged.reduced,
        "minimised-scripts": minimised.sizes,
        "minimised-summary": minimised.summary,
        "minimised-ways": minimised.other_ways,
        # howto/bisect.md
        "bisection-accuracy": bisection.accuracy,
        "bisection-returning": bisection.returning,
        # howto/sql.md
        **{f"sql-{name}": partial(sql.answered, name) for name in sql.QUERIES},
        # links.md
        "relations": links.relations_table,
        "phrases": links.phrases,
        "ignored": links.ignored,
        "subcomponents": links.subcomponents,
        "strict-paths": links.strict_paths,
        "candidate": links.candidate,
        "signals": links.signals,
        "funnel-stages": links.funnel_stages,
        # howto/cluster.md
        "cluster-limits": cluster.limits,
        "cluster-cost": cluster.cost,
        # running.md, commands/builds.md
        "verdict-numbers": running.verdict_numbers,
        "verdict-runs": running.verdict_runs,
        "starts": running.starts,
        "starts-ways": running.starts_ways,
        "excuses": running.excuses,
        "sandbox-limits": running.sandbox_limits,
        "sandbox-environment": running.sandbox_environment,
        "sandbox-calls": running.sandbox_calls,
        "companions": running.companions,
        "pinned-wheels": running.pinned_wheels,
        # report.md
        "report-kinds": report.kinds,
        "report-tables": report.tables,
        # still-occurring.md
        "matrix-counts": still_occurring.verdict_counts,
        "matrix-changes": still_occurring.changes,
        "still-fixed": still_occurring.fixed_and_there,
        "matrix-capability": still_occurring.capability,
        "still-declined": still_occurring.declined,
        "still-duplicate": still_occurring.duplicates,
        "still-not-in-catalog": still_occurring.not_in_catalog,
        "still-undecided": still_occurring.undecided,
        "still-gone": still_occurring.open_and_gone,
        "still-open": still_occurring.still_open,
        "still-without-report": still_occurring.without_report,
        # second-opinion.md
        "second-opinion-counts": second_opinion.counts,
        "second-opinion-contradicted": second_opinion.contradicted,
        "second-opinion-confirmed": second_opinion.confirmed,
        # store.md
        "tables": store.tables,
        "views": store.view_list,
        # study.md
        "study-samples": study.samples,
        "study-frames": study.frames,
        "study-lead": study.lead,
        "study-claims": study.claims,
        "study-findings": study.findings,
        "study-withdrawn": study.withdrawn,
        "study-census": study.census,
        "study-paper": study.of_paper,
        "study-experiments": study.experiments,
        "study-executed": study.executed,
        "study-wider": study.wider,
        "study-more": study.more,
    }
