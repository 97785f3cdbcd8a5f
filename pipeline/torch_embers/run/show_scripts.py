"""What `embers run` prints of the scripts of reports. Text from outside is always escaped."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_embers.console import plain, stdout
from torch_embers.escaping import visible
from torch_embers.timeline.sentence import sentence, strip

if TYPE_CHECKING:
    from collections import Counter

    from torch_embers.run.report_scripts import Summary, Told


def print_told(told: Told) -> None:
    """Print what the script of a report does: the sentence, then its releases in a line."""
    out = stdout()
    if told.timeline is None:
        out.print(plain(f"#{told.number}: {visible(told.why) or 'no run of its script is known here'}"))
        return
    out.print(plain(f"#{told.number}: {visible(sentence(told.timeline))}."), soft_wrap=True)
    out.print(plain(visible(strip(told.timeline))), soft_wrap=True)


def print_summary(done: Summary) -> None:
    """Print what came of the scripts of all reports."""
    out = stdout()
    out.print(f"{done.scripts} of {done.reports} reports have a script, {done.runnable} run on one of these builds")
    out.print(f"on the newest build that can run each: {_counted(done.endings)}")
    out.print(f"found in the report: {_counted(done.matches)}")
    out.print(f"{done.flips} change their behaviour between two builds")


def _counted(counts: Counter[str]) -> str:
    return ", ".join(f"{count} {name}" for name, count in counts.most_common()) or "none"
