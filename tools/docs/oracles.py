"""docs/oracles.md, docs/oracles-precision.md: scripts without a check, LayerNorm, samples, what oracles cost."""

from __future__ import annotations

import tomllib
from typing import Any

from .markdown import PYTORCH, cell, code, issue_link, table
from .places import ROOT, measured


def scripts() -> list[dict[str, Any]]:
    """The scripts of tests/silent_scripts.toml, each with what bench/silent.json has of it, by release."""
    found: list[dict[str, Any]] = tomllib.loads((ROOT / "tests" / "silent_scripts.toml").read_text(encoding="utf-8"))[
        "script"
    ]
    runs = measured("silent.json")["runs"]
    for script in found:
        script["runs"] = {row["release"]: row for row in runs if row["script"] == script["name"]}
    return found


def is_found(script: dict[str, Any]) -> bool:
    """Whether the first finding on every release that has the bug is of the operator that is at fault."""
    rows = [script["runs"].get(release) for release in script["bad"]]
    return bool(script["op"]) and all(row and row["found"] and row["found"][0][0] == script["op"] for row in rows)


def silent_counted() -> str:
    """How many are found, and what is known of releases without the bug."""
    known = scripts()
    found = [script for script in known if is_found(script)]
    issues = {script["issue"] for script in known if "issue" in script}
    seen = {script["issue"] for script in found if "issue" in script}
    good = [script for script in found if "good" in script]
    loud = [script["name"] for script in good if script["runs"][script["good"]]["found"]]
    quiet = f"On that release {', '.join(loud)} has a finding, too." if loud else "None has a finding there."
    return (
        f"{len(found)} of {len(known)} are found at the operator and the line, among them {len(seen)} of {len(issues)} "
        f"issues. Of these {len(found)}, {len(good)} were also run on a release that is free of the bug; for the other "
        f"{len(found) - len(good)} there is none at hand. {quiet}"
    )


def silent_table() -> str:
    """A row per script."""
    head = ["issue", "script", "oracle", "found on", "nothing on", "operator"]
    return table(head, [_row(script) for script in scripts()])


def _row(script: dict[str, Any]) -> list[str]:
    what = (
        code(script["op"]) if is_found(script) else f"not found: {cell(script.get('reason', 'see bench/silent.json'))}"
    )
    return [
        issue_link(PYTORCH, script["issue"]) if "issue" in script else "none",
        code(script["name"]),
        script["oracle"],
        ", ".join(script["bad"]),
        script.get("good", "-"),
        what,
    ]


def synthesis() -> list[dict[str, Any]]:
    """What synthesis found from each title, with what a person says of it.

    Raises:
        ValueError: a report is not judged, or one that is called rediscovered has no finding.
    """
    asked: list[dict[str, Any]] = measured("synthesis.json")["asked"]
    text = (ROOT / "bench" / "synthesis.toml").read_text(encoding="utf-8")
    judged = {one["issue"]: one for one in tomllib.loads(text)["judged"]}
    if judged.keys() != {row["issue"] for row in asked}:
        raise ValueError("bench/synthesis.toml: judged are not the issues of bench/synthesis.json")
    rows = [row | judged[row["issue"]] for row in asked]
    for row in rows:
        if row["rediscovered"] and not row["findings"]:
            raise ValueError(f"bench/synthesis.toml: #{row['issue']} has no finding in bench/synthesis.json")
    return rows


def synthesis_counted() -> str:
    """How many titles name an operator, and how many bugs are found again."""
    asked = synthesis()
    naming = [row for row in asked if row["operators"]]
    yes = [row for row in naming if row["rediscovered"]]
    other = [row for row in naming if row["findings"] and not row["rediscovered"]]
    return (
        f"Of {len(asked)} titles {len(naming)} name an operator that can be called. **{len(yes)} bugs are "
        f"rediscovered**; for {len(other)} more titles the finding is another bug of the same operator than the one "
        f"asked for, {len(naming) - len(yes) - len(other)} give nothing."
    )


def synthesis_table() -> str:
    """A row per title."""
    rows = [
        [
            issue_link(PYTORCH, row["issue"]),
            row["build"],
            ", ".join(map(code, row["operators"])) or "-",
            f"{'**yes**' if row['rediscovered'] else 'no'}: {cell(row['why'])}",
        ]
        for row in synthesis()
    ]
    return table(["issue", "build", "operators tried", "rediscovered"], rows)


def layer_norm() -> str:
    """Errors of a LayerNorm's gradients by type and number of rows."""
    rows = [row for row in measured("layer_norm.json")["measured"] if row["gradients"] == "uniform"]
    head = [
        "inputs",
        "rows:",
        "weight:",
        "bias:",
        "honest, weight:",
        "honest, bias:",
        "an element of the bias's gradient",
        "exact:",
    ]
    names = ("operator, weight", "operator, bias", "honest, weight", "honest, bias")
    return table(
        head,
        [
            [
                row["type"],
                f"{row['rows']:,}",
                *(f"{100 * row[name]:.2g} %" for name in names),
                f"{row['first of the bias'][0]:,.6g}",
                f"{row['first of the bias'][1]:,.6g}",
            ]
            for row in rows
        ],
    )


def cost() -> str:
    """Processor time of a training step under the oracles, in units of one without."""
    made = measured("oracles.json")
    sizes = {"tiny": "1 layer, width 128, batch 8, length 64", "small": "4 layers, width 256, batch 8, length 128"}
    ways = list(next(made[size]["ratios"] for size in sizes if size in made))
    rows = [
        [sizes[size], f"{made[size]['seconds per step']:.3f}"]
        + [f"{ratio:.2f} ({low:.2f} to {high:.2f})" for ratio, low, high in (made[size]["ratios"][way] for way in ways)]
        for size in sizes
        if size in made
    ]
    told = (
        f"`{made['command']}` on {made['day']}: PyTorch {made['torch']}, one thread, load "
        f"{made['load at the beginning']} at the beginning, {made['rounds']} rounds in which the ways take turns."
    )
    return f"{told}\n\n{table(['model', 's per step:', *(f'{way}:' for way in ways)], rows)}"


def samples() -> str:
    """What the precision oracle says of PyTorch's samples in bfloat16."""
    made = measured("precision_samples.json")
    rows = [
        [
            code(row["op"]),
            row["place"],
            "inf" if row["ulps"] == "inf" else f"{row['ulps']:,.3g}",
            "yes" if "accumulates in low precision" in row["message"] else "",
            code(row["sample of"]),
        ]
        for row in made["findings"]
    ]
    counts, ops = made["counts"], {row["op"] for row in made["findings"]}
    told = (
        f"`{made['command']}`, PyTorch {made['torch']}: {counts['operators']} operators, {counts['samples']:,} "
        f"samples, {counts['compared calls']:,} compared calls, findings for {len(ops)} operators of the dispatcher."
    )
    head = ["operator", "place", "ulps:", "grows with the count", "reached by the samples of"]
    return f"{told}\n\n{table(head, rows)}"
