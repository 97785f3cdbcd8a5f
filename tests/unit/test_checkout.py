"""Files of the checkout that agree with each other: versions, the oldest Python, workflows."""

from __future__ import annotations

import re
import tomllib

from documented import PAGES, ROOT
from torch_embers.version import __version__


def test_changelog_and_names_of_wheels_are_of_this_version() -> None:
    assert re.findall(r"(?m)^## ([\w.]+) ", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"))[0] == __version__
    names = {name for path in PAGES for name in re.findall(r"torch_embers-([\d.]+)-", path.read_text(encoding="utf-8"))}
    assert names <= {__version__}


def test_ruff_reads_the_package_as_the_oldest_python_that_is_promised() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    oldest = project["project"]["requires-python"].removeprefix(">=3.")
    assert project["tool"]["ruff"]["target-version"] == f"py3{oldest}"


def test_workflows_pin_each_action_by_commit_and_ask_for_read_access_only() -> None:
    for path in sorted((ROOT / ".github" / "workflows").glob("*.yml")):
        text = path.read_text(encoding="utf-8")
        used = re.findall(r"(?m)^ *(?:- )?uses: (.+)$", text)
        assert used, path.name
        for use in used:
            assert re.fullmatch(r"[\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", use), (path.name, use)
        assert re.findall(r"(?m)^permissions:\n((?: +.+\n)+)", text) == ["  contents: read\n"], path.name
        wanted = ["issues: write"] if path.stem == "recheck" else []
        assert re.findall(r"[a-z-]+: write", text) == wanted, "one job, off by default"


def test_the_package_names_its_author_as_the_citation_does_and_an_address() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    (author,) = project["authors"]
    assert f'authors:\n  - name: "{author["name"]}"' in (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert all(address.startswith("https://") for address in project["urls"].values())
