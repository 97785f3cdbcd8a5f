"""The steps of the Containerfile, checked without a builder."""

from __future__ import annotations

import fnmatch
import json
import re
import tomllib
from pathlib import Path

import pytest
from packaging.specifiers import SpecifierSet

from documented import parse

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
BASE = re.compile(r"docker\.io/library/python:(\d+\.\d+\.\d+)-slim-[a-z]+(?:@sha256:[0-9a-f]{64})?")
TEXT = re.sub(r"(?m)^#.*\n", "", (ROOT / "Containerfile").read_text(encoding="utf-8")).replace("\\\n", " ")
STEPS = [(line.split()[0], " ".join(line.split()[1:])) for line in TEXT.splitlines() if line.strip()]
"""Instruction and arguments, continued lines joined, without comments."""


def of(wanted: str) -> list[str]:
    return [rest for name, rest in STEPS if name == wanted]


COPIED = {path for rest in of("COPY") if "--from=" not in rest for path in rest.split()[:-1]}
"""Paths of the checkout that are copied into the image that builds."""


def test_every_stage_has_the_same_base_pinned_to_a_python_that_is_supported() -> None:
    assert {rest.split()[0] for rest in of("FROM")} == {"${BASE}"}
    [stated] = of("ARG")
    pinned = BASE.fullmatch(stated.removeprefix("BASE="))
    assert pinned
    assert pinned[1] in SpecifierSet(PROJECT["project"]["requires-python"])


def test_what_is_copied_exists_and_is_all_that_the_wheel_is_made_of() -> None:
    assert [path for path in COPIED if not (ROOT / path).exists()] == []
    build, project = PROJECT["tool"]["hatch"]["build"]["targets"]["wheel"], PROJECT["project"]
    texts = {project["readme"], *project["license-files"], "pyproject.toml"}
    needed = {*build["packages"], *build["force-include"], *texts}
    assert {path for path in needed if not COPIED & {path, *map(str, Path(path).parents)}} == set()
    taken = [rest.split()[1] for rest in of("COPY") if "--from=build" in rest]
    assert taken
    assert all(f"python -m venv {path} " in of("RUN")[0] for path in taken), "made in the first stage"


def test_extras_constraints_and_the_entry_point_exist() -> None:
    [install] = [part for step in of("RUN") for part in step.split("&&") if "pip install" in part]
    extras = re.search(r"\[([a-z,]+)\]", install)
    assert extras
    assert set(extras[1].split(",")) <= set(PROJECT["project"]["optional-dependencies"])
    assert "--constraint constraints.txt" in install
    [entry], [default] = of("ENTRYPOINT"), of("CMD")
    assert json.loads(entry) == ["embers"]
    assert "embers" in PROJECT["project"]["scripts"]
    parse(json.loads(default))


def test_commands_do_not_run_as_root_and_the_database_lies_in_the_volume() -> None:
    names = [name for name, _ in STEPS]
    assert names.index("USER") > max(number for number, name in enumerate(names) if name == "RUN")
    [user], [volume] = of("USER"), of("VOLUME")
    assert f"useradd --create-home --uid 1000 {user}" in of("RUN")[-1]
    assert any(f'EMBERS_DATABASE="{volume}/' in rest for rest in of("ENV"))


@pytest.mark.parametrize("path", ["data/embers.duckdb", "data/embers.duckdb.wal", ".venv", ".git"])
def test_what_is_the_users_stays_out_of_the_image(path: str) -> None:
    patterns = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    assert any(fnmatch.fnmatch(path, pattern) for pattern in patterns if not pattern.startswith("#"))
