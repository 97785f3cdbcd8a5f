"""The steps of the Containerfile, checked without a builder."""

from __future__ import annotations

import fnmatch
import json
import re
import shlex
import shutil
import tomllib
from pathlib import Path

import pytest
from packaging.specifiers import SpecifierSet

from documented import parse

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
BASE = re.compile(r"docker\.io/library/python:(\d+\.\d+\.\d+)-slim-[a-z]+(?:@sha256:[0-9a-f]{64})?")


def instructions() -> list[tuple[str, str]]:
    """Instruction and arguments, continued lines joined, without comments."""
    text = re.sub(r"(?m)^#.*\n", "", (ROOT / "Containerfile").read_text(encoding="utf-8")).replace("\\\n", " ")
    lines = [line.split(maxsplit=1) for line in text.splitlines() if line.strip()]
    return [(name, " ".join(rest.split())) for name, rest in lines]


def of(wanted: str) -> list[str]:
    return [rest for name, rest in instructions() if name == wanted]


def copied() -> set[str]:
    """Paths of the checkout that are copied into the image that builds."""
    return {path for rest in of("COPY") if "--from=" not in rest for path in rest.split()[:-1]}


def test_every_stage_has_the_same_base_pinned_to_a_python_that_is_supported() -> None:
    assert {rest.split()[0] for rest in of("FROM")} == {"${BASE}"}
    [stated] = of("ARG")
    pinned = BASE.fullmatch(stated.removeprefix("BASE="))
    assert pinned
    assert pinned[1] in SpecifierSet(PROJECT["project"]["requires-python"])


def test_what_is_copied_exists_and_is_all_that_the_wheel_is_made_of() -> None:
    assert [path for path in copied() if not (ROOT / path).exists()] == []
    build = PROJECT["tool"]["hatch"]["build"]["targets"]["wheel"]
    project = PROJECT["project"]
    needed = {
        *build["packages"],
        *build["force-include"],
        project["readme"],
        *project["license-files"],
        "pyproject.toml",
    }
    assert {path for path in needed if not copied() & {path, *map(str, Path(path).parents)}} == set()


def test_what_is_taken_from_the_first_stage_was_made_there() -> None:
    taken = [rest.split()[1] for rest in of("COPY") if "--from=build" in rest]
    assert taken
    assert of("FROM")[0].endswith(" AS build")
    assert all(f"python -m venv {path} " in of("RUN")[0] for path in taken)


@pytest.mark.skipif(shutil.which("apt-get") is None, reason="the base image is Debian, this machine is not")
def test_commands_of_each_step_exist_on_debian() -> None:
    commands = [shlex.split(part)[0] for step in of("RUN") for part in step.split("&&")]
    absolute = [name for name in commands if name.startswith("/")]
    assert absolute == ["/opt/embers/bin/pip"], "made by the step before it"
    assert [name for name in commands if name not in absolute and shutil.which(name) is None] == []


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
    names = [name for name, _ in instructions()]
    assert names.index("USER") > max(number for number, name in enumerate(names) if name == "RUN")
    [user], [volume] = of("USER"), of("VOLUME")
    assert f"useradd --create-home --uid 1000 {user}" in of("RUN")[-1]
    assert any(f'EMBERS_DATABASE="{volume}/' in rest for rest in of("ENV"))


@pytest.mark.parametrize("path", ["data/embers.duckdb", "data/embers.duckdb.wal", "data/gold.jsonl", ".venv", ".git"])
def test_what_is_the_users_stays_out_of_the_image(path: str) -> None:
    lines = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    patterns = [line for line in lines if line and not line.startswith("#")]
    assert any(fnmatch.fnmatch(path, pattern) for pattern in patterns)
