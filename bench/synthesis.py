"""What synthesis finds from titles alone in the non_contiguous family: bench/synthesis.json.

python bench/synthesis.py FOLDER, where the releases are registered; FOLDER keeps the journals, so that an interrupted run
goes on. Asked are the items of the catalog with the class non_contiguous that have a case for the CPU; each on the
newest release on which one of its cases was measured to occur. The text is the title, as the catalog has it. Runs are
made in the sandbox. Whether a finding is the bug of the report, a person says (docs/oracles.md).
"""

import json
import sys
from collections import defaultdict
from pathlib import Path

from packaging.version import Version

from torch_embers import resources, settings
from torch_embers.builds.registry import Registry
from torch_embers.oracles.finding import describe
from torch_embers.progress import Silent
from torch_embers.repro import case
from torch_embers.run import synthesis
from torch_embers.run.command import chosen_builds
from torch_embers.run.dispatch import LocalDispatcher

RESULT = Path(__file__).parent / "synthesis.json"
CLASS = {"scheme": "memory_type", "value": "non_contiguous"}


def asked():
    """Reports by the release on which they are looked for."""
    bad = defaultdict(set)
    for one in case.shipped():
        if one.device == "cpu":
            for repo, number in one.issues:
                bad[repo, number] |= set(one.known_bad)
    found = defaultdict(list)
    for line in resources.data_file("catalog.jsonl").read_text(encoding="utf-8").splitlines():
        item = json.loads(line)
        key = (item["repo"], item["number"])
        family = any(label | CLASS == label for label in item["taxonomy"])
        if family and bad.get(key):
            release = str(max(map(Version, bad[key])))
            found[release].append(synthesis.Report(*key, item["title"]))
    return found


def row(made):
    kinds = {(one.op, one.overload, one.severity): describe(one).splitlines()[0] for one in reversed(made.findings)}
    return {
        "issue": made.report.number,
        "title": made.report.text,
        "build": made.build.public_version,
        "operators": list(made.operators),
        "findings": [[*key, first] for key, first in sorted(kinds.items())],
        "case": bool(made.case),
    }


def main(folder):
    registry = Registry(settings.load().builds_dir)
    dispatcher = LocalDispatcher(registry, Silent())
    rows = []
    for release, reports in sorted(asked().items(), key=lambda pair: Version(pair[0])):
        (build,) = chosen_builds(registry, [release])
        rows += map(row, synthesis.synthesize(reports, build, folder / release, 2, Silent(), dispatcher))
    lines = ",\n ".join(json.dumps(one) for one in sorted(rows, key=lambda one: one["issue"]))
    RESULT.write_text(f'{{"command": "python bench/synthesis.py FOLDER", "asked": [\n {lines}\n]}}\n', encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
