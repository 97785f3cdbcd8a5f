"""What `embers research evaluate` prints."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_embers.console import plain, stdout

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch_embers.evaluate.measure import Report


def print_reports(reports: Sequence[Report]) -> None:
    """Print a table per scheme and sample."""
    out = stdout()
    for one in reports:
        best = one.scores[-1]
        out.print(
            f"{plain(one.task)}, {plain(one.sample)}: kappa {best.kappa.value:.3f} of {best.learner} "
            f"on {one.texts:,} texts in {one.groups:,} groups, {len(one.classes)} classes"
        )
        out.print(
            f"  {'learner':<10} {'accuracy':>8} {'kappa [95 %]':>22} {'macro-F1 [95 %]':>22} {'ECE':>6}  "
            f"behind {best.learner}"
        )
        for score in one.scores:
            behind = "" if score.ahead is None else f"{score.ahead}"
            line = f"  {score.learner:<10} {score.accuracy:>8.3f} {score.kappa!s:>22} {score.macro_f1!s:>22} "
            out.print(f"{line}{score.calibration_error:>6.3f}  {behind}", markup=False, no_wrap=True)
