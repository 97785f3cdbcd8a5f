"""The rules of extraction and their version: items are read again when rules change, and only then."""

from __future__ import annotations

from helpers.rules_version import digest
from torch_embers import resources
from torch_embers.repro import rules
from torch_embers.repro.rules_version import RULES_DIGEST

UNDECIDING = {
    "__init__",
    "bank",
    "arguments",
    "failing",
    "minimize",
    "named_operators",
    "rules_version",
    "shortcuts",
    "shrink",
    "torch_names",
}
"""Files of repro/ that no extraction depends on."""


def deciding_sources() -> list[str]:
    repro = resources.PACKAGE_DIR / "repro"
    paths = [path for path in sorted(repro.glob("*.py")) if path.stem not in UNDECIDING]
    paths += [resources.PACKAGE_DIR / "oracles" / "signature.py", resources.PACKAGE_DIR / "link" / "markdown.py"]
    return [path.read_text(encoding="utf-8") for path in paths]


def test_rules_do_not_change_without_their_version() -> None:
    now = digest([*deciding_sources(), repr(resources.load_toml(rules.FILE))])
    assert now == RULES_DIGEST, (
        f"the rules of extraction changed: in repro/rules_version.py set RULES_DIGEST to {now!r}, and raise "
        "RULES_VERSION unless no extraction can come out otherwise"
    )
