"""What embers writes, read by the programs that it is written for: DuckDB, Datasette, mlcroissant, datasets, pre-commit.

And embers itself with the oldest and the newest DuckDB that it allows.

They are no part of the set-up: `.ci/run` installs `tests/consumers.txt` into an environment of its own and names its
interpreter in CONSUMERS_PYTHON.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path

import duckdb
import pytest
import yaml
from packaging.requirements import Requirement

from helpers.gitlog import Repository
from report_data import NUMBER, hostile
from support import run_embers

PYTHON = os.environ.get("CONSUMERS_PYTHON", "")
ROOT = Path(__file__).resolve().parents[2]
pytestmark = [pytest.mark.skipif(not PYTHON, reason="CONSUMERS_PYTHON names no interpreter with tests/consumers.txt")]
RECORDS = """
import json, sys, mlcroissant
dataset = mlcroissant.Dataset(jsonld=sys.argv[1])
print(json.dumps({one.name: sum(1 for _ in dataset.records(one.id)) for one in dataset.metadata.record_sets}))
"""
ROWS = """
import json, sys, datasets
names = datasets.get_dataset_config_names(sys.argv[1])
loaded = {name: datasets.load_dataset(sys.argv[1], name, split="train") for name in names}
print(json.dumps({name: [len(table), table.column_names] for name, table in loaded.items()}))
"""
READ = """
import json, sys, duckdb
named = "SELECT table_name FROM duckdb_tables() UNION SELECT view_name FROM duckdb_views() WHERE NOT internal"
with duckdb.connect(sys.argv[1], read_only=True) as database:
    database.execute("SET enable_progress_bar = false")  # a slow query prints one
    names = [name for (name,) in database.execute(named).fetchall()]
    print(json.dumps({name: len(database.execute(f"FROM {name}").fetchall()) for name in names}))
"""


def asked(*words: object, folder: Path, code: int = 0, **more: str) -> str:
    """What a program of that environment prints; its caches lie in a folder, and it reaches no network."""
    surroundings = os.environ | {"HF_HOME": str(folder / "hub"), "HF_HUB_OFFLINE": "1", "HOME": str(folder)} | more
    command = [PYTHON, *map(str, words)]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=240, cwd=folder, env=surroundings, check=False
    )
    assert done.returncode == code, done.stdout[-2000:] + done.stderr[-2000:]
    return done.stdout


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory, catalog_template: Path) -> Path:
    """Some items of the catalog, with hostile texts."""
    return hostile(catalog_template, tmp_path_factory.mktemp("consumers") / "e.duckdb")


@pytest.fixture(scope="module")
def dataset(database: Path) -> Path:
    """The dataset of them."""
    place = database.parent / "dataset"
    done = run_embers("data", "export", "--dataset", place, "--database", database)
    assert done.returncode == 0, done.stderr
    return place


def rows_of(dataset: Path) -> dict[str, int]:
    """Rows of each table of a dataset."""
    with duckdb.connect() as connection:
        files = sorted((dataset / "data").glob("*.parquet"))
        return {path.stem: connection.read_parquet(str(path)).count("*").fetchall()[0][0] for path in files}


def test_datasette_serves_the_tables_with_their_descriptions(database: Path, tmp_path: Path) -> None:
    path = tmp_path / "embers.sqlite"
    done = run_embers("report", "--database", database, "--out", tmp_path / "site", "--sqlite", path)
    assert done.returncode == 0, done.stderr
    words = ("-m", "datasette", path, "--metadata", tmp_path / "embers.metadata.json", "--get")
    (row,) = json.loads(asked(*words, f"/embers/items.json?number={NUMBER}&_shape=array", folder=tmp_path))
    assert row["number"] == NUMBER
    page = asked(*words, "/embers/verdicts", folder=tmp_path)
    described = json.loads((tmp_path / "embers.metadata.json").read_text())["databases"]["embers"]["tables"]["verdicts"]
    assert described["description"].split(".")[0] in page
    assert "<script>globalThis.hit" not in asked(*words, "/embers/items", folder=tmp_path)


def test_mlcroissant_takes_the_description_and_reads_every_table(dataset: Path, tmp_path: Path) -> None:
    read = json.loads(asked("-c", RECORDS, dataset / "croissant.json", folder=tmp_path).splitlines()[-1])
    assert read == rows_of(dataset)


def test_the_datasets_library_loads_every_table_of_the_card(dataset: Path, tmp_path: Path) -> None:
    read = json.loads(asked("-c", ROWS, dataset, folder=tmp_path).splitlines()[-1])
    assert {name: count for name, (count, _) in read.items()} == {n: c for n, c in rows_of(dataset).items() if c}
    assert all(columns for _, columns in read.values())


@pytest.mark.parametrize(
    ("line", "code", "said"),
    [
        ("loss = torch.logsumexp(x + y.masked_fill(mask, -torch.inf), 1)", 1, "train.py:2"),
        ("torch.logsumexp(x, 1)", 0, "No high finding in 1 file"),
    ],
)
def test_the_pre_commit_hook_reads_the_commit_and_fails_by_its_threshold(
    tmp_path: Path, line: str, code: int, said: str
) -> None:
    work = tmp_path / "work"
    git = Repository(work)
    (work / "train.py").write_text(f"import torch\n{line}\n", encoding="utf-8")
    git("add", "train.py")
    (declared,) = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))
    # The hook of the checkout, in the environment of the tests: pre-commit would install the whole package from the network.
    program = f"{sys.executable} -m torch_embers {declared['entry'].partition(' ')[2]} --torch 2.6.0"
    local = declared | {"language": "system", "entry": program}
    config = {"repos": [{"repo": "local", "hooks": [local]}]}
    (work / ".pre-commit-config.yaml").write_text(json.dumps(config), encoding="utf-8")  # JSON is YAML
    words = ("-m", "pre_commit", "run", "--verbose", "embers-audit")
    outside = {"PRE_COMMIT_HOME": str(tmp_path / "home"), "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    assert said in asked(*words, folder=work, code=code, **outside)


@pytest.mark.parametrize("version", ["==1.2.*", "==1.4.*", ""])
def test_every_duckdb_from_1_2_on_reads_every_table_and_view(
    catalog_template: Path, tmp_path: Path, version: str
) -> None:
    subprocess.run([sys.executable, "-m", "venv", tmp_path / "environment"], check=True)
    python = tmp_path / "environment" / "bin" / "python"
    subprocess.run([python, "-m", "pip", "install", "--quiet", f"duckdb{version}"], check=True, timeout=240)
    read = [
        subprocess.check_output([one, "-c", READ, catalog_template], timeout=240) for one in (python, sys.executable)
    ]
    theirs, ours = map(json.loads, read)
    assert theirs == ours
    assert ours["items"] > 0


@pytest.mark.parametrize("wanted", ["oldest", "newest"])
def test_embers_works_with_each_duckdb_that_it_allows(tmp_path: Path, wanted: str) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    [allowed] = [one for one in map(Requirement, project["dependencies"]) if one.name == "duckdb"]
    [oldest] = [one.version for one in allowed.specifier if one.operator == ">="]
    install = ("-m", "pip", "install", "--quiet", "--no-deps", "--target", tmp_path / "duckdb")
    chosen = f"duckdb=={oldest}" if wanted == "oldest" else str(allowed)
    subprocess.run([sys.executable, *install, chosen], check=True, timeout=240)
    paths = os.pathsep.join([str(tmp_path / "duckdb"), *filter(None, sys.path)])
    outside = os.environ | {"PYTHONPATH": paths, "EMBERS_DATABASE": str(tmp_path / "e.duckdb")}

    def said(*words: str) -> str:
        return subprocess.check_output([sys.executable, *words], env=outside, text=True, timeout=240, cwd=tmp_path)

    place = Path(said("-c", "import duckdb; print(duckdb.__file__)").strip())
    assert place.is_relative_to(tmp_path)
    said("-m", "torch_embers", "mine", "--source", "catalog")
    said("-m", "torch_embers", "mine", "--replay")
    items = json.loads(said("-m", "torch_embers", "list", "--json"))
    assert NUMBER in {item["number"] for item in items}
    assert str(NUMBER) in said("-m", "torch_embers", "show", str(NUMBER))
    assert json.loads(said("-m", "torch_embers", "search", "nan", "--json"))
