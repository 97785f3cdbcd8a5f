"""Which known silent bugs the oracles find in a script without a check, on which release: bench/silent.json.

python bench/silent.py [NAME ...], where the releases that tests/silent_scripts.toml names are registered. Each script
runs under its oracle in the sandbox, by `embers run --oracle`, on the releases that have its bug and on the one that
has not. With names, those scripts alone are run, and their rows replace the old ones.
"""

import json
import subprocess
import sys
import tempfile
import tomllib
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SCRIPTS = ROOT / "tests" / "silent_scripts.toml"
RESULT = ROOT / "bench" / "silent.json"


def wanted(names):
    """Names of scripts by oracle and release."""
    found = defaultdict(list)
    for script in tomllib.loads(SCRIPTS.read_text(encoding="utf-8"))["script"]:
        if not names or script["name"] in names:
            for release in (*script["bad"], *([script["good"]] if "good" in script else [])):
                found[script["oracle"], release].append(script)
    return found


def ran(oracle, release, scripts, folder):
    """A row for each script on one release."""
    for script in scripts:
        (folder / f"{script['name']}.py").write_text(script["code"], encoding="utf-8")
    files = [str(folder / f"{script['name']}.py") for script in scripts]
    command = [sys.executable, "-m", "torch_embers", "run", *files, "--oracle", oracle, "--build", release]
    done = subprocess.run([*command, "--json"], capture_output=True, text=True, check=False, cwd=folder)
    if not done.stdout.startswith("["):
        sys.exit(f"{release}: {done.stderr[-500:]}")
    for row in json.loads(done.stdout):
        found = [[one["op"], one["severity"], one["source"]] for one in row["findings"]]
        about = {"script": row["case"], "release": release, "oracle": oracle, "result": row["result"]}
        yield about | {"found": found, "looked": row["looked"].get(oracle, {}), "environment": row["environment"]}


def main(names):
    made = []
    with tempfile.TemporaryDirectory() as folder:
        for (oracle, release), scripts in sorted(wanted(names).items(), key=lambda item: item[0]):
            made += ran(oracle, release, scripts, Path(folder))
    old = json.loads(RESULT.read_text(encoding="utf-8"))["runs"] if names else []
    kept = [row for row in old if row["script"] not in names]
    runs = sorted([*kept, *made], key=lambda row: (row["script"], row["release"]))
    lines = ",\n ".join(json.dumps(row) for row in runs)
    RESULT.write_text(f'{{"command": "python bench/silent.py", "runs": [\n {lines}\n]}}\n', encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
