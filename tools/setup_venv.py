"""Make `.venv` and install the project into it: `python3 tools/setup_venv.py [base|classify|study]`; needs no package.

base      the package in editable form with what tests and lint need, at the versions of constraints.txt
classify  what classification needs, first of all PyTorch without CUDA: from PyTorch's own CPU index when that answers
          within seconds (asked once, for torch alone), else from wherever pip is set up to look
study     what pictures and the notebook need, with the same PyTorch
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
CONSTRAINTS = ROOT / "constraints.txt"
OLDEST = (3, 11)
CPU_INDEX = "https://download.pytorch.org/whl/cpu"
PATIENCE_SECONDS = 4
EXTRAS = "cluster,mcp,repro,site,test,lint"
EXTRAS_OF = {"classify": "classify,train", "study": "study"}
CONTENTS = {
    "base": "the package and its tools",
    "classify": "PyTorch for the CPU, ONNX Runtime, scikit-learn, sentence-transformers; the largest part",
    "study": "SciPy, Matplotlib, Jupyter's kernel",
}
WIDTH = 110
"""Columns of a line about what pip does."""


def python_of_venv() -> Path:
    """The interpreter inside `.venv`."""
    return VENV / "bin" / "python"


def run(*arguments: str | Path) -> None:
    """Run a command; a failure ends the set-up with the command's own exit code."""
    done = subprocess.run([str(a) for a in arguments], check=False)
    if done.returncode:
        sys.exit(done.returncode)


def pip(*arguments: str) -> None:
    """Run pip inside `.venv`; a line for each package that it looks at or installs."""
    command = [python_of_venv(), "-m", "pip", "--disable-pip-version-check", "install", "--progress-bar", "off"]
    with subprocess.Popen([*map(str, command), *arguments], stdout=subprocess.PIPE, text=True) as process:
        for line in process.stdout or ():
            if line.startswith(("Collecting ", "Installing ", "Successfully ")):
                print(f"  {line.strip()[:WIDTH]}", flush=True)
    if process.returncode:
        sys.exit(process.returncode)


def size_of_venv() -> float:
    """Gigabytes that `.venv` takes."""
    return sum(path.lstat().st_size for path in VENV.rglob("*") if not path.is_dir()) / 1e9


def make_venv() -> None:
    """Create `.venv` unless it is there and works."""
    if sys.version_info < OLDEST:
        sys.exit(
            f"Python {OLDEST[0]}.{OLDEST[1]} or newer is needed, this is {sys.version.split()[0]}: set PYTHON=python3.x"
        )
    works = python_of_venv().exists() and not subprocess.run([python_of_venv(), "-c", ""], check=False).returncode
    if not works:
        run(sys.executable, "-m", "venv", "--clear", VENV)


def pinned(name: str) -> str:
    """`name==version` as constraints.txt has it."""
    found = re.search(rf"(?mi)^{re.escape(name)}==\S+$", CONSTRAINTS.read_text(encoding="utf-8"))
    if found is None:
        sys.exit(f"constraints.txt does not pin {name}")
    return found[0]


def cpu_index_answers() -> bool:
    """Whether PyTorch's CPU index can be reached now."""
    try:
        with urllib.request.urlopen(f"{CPU_INDEX}/torch/", timeout=PATIENCE_SECONDS) as answer:  # noqa: S310 - fixed https address
            return bool(answer.status == 200)
    except (urllib.error.URLError, OSError, ValueError):
        return False


def has_torch() -> bool:
    """Whether the pinned torch is installed already."""
    wanted = pinned("torch").partition("==")[2]
    check = f"import importlib.metadata as m; assert m.version('torch').partition('+')[0] == '{wanted}'"
    return not subprocess.run([python_of_venv(), "-c", check], check=False, stderr=subprocess.DEVNULL).returncode


def install_torch() -> None:
    """Install torch for the CPU."""
    if has_torch():
        return
    if cpu_index_answers():
        pip("--no-deps", "--index-url", CPU_INDEX, pinned("torch"))
    # installs torch itself where the index did not answer, and in both cases what torch needs
    pip("-c", str(CONSTRAINTS), pinned("torch"))


def main(parts: list[str]) -> None:
    """Do the named parts in order."""
    os.environ.setdefault("PIP_NO_INPUT", "1")
    make_venv()
    for part in parts or ["base"]:
        print(f"setting up {part} in {VENV.name}: {CONTENTS.get(part, '')}", flush=True)
        if part == "base":
            pip("-c", str(CONSTRAINTS), "-e", f"{ROOT}[{EXTRAS}]")
        elif part in EXTRAS_OF:
            install_torch()
            pip("-c", str(CONSTRAINTS), "-e", f"{ROOT}[{EXTRAS},{EXTRAS_OF[part]}]")
        else:
            sys.exit(f"unknown part {part!r}: base, classify or study")
        print(f"{part} is ready; {VENV.name} takes {size_of_venv():.1f} GB", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
