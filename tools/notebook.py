"""Execute notebooks/study.ipynb in a fresh kernel: `make notebook`.

Usage: python tools/notebook.py [--check]

Without options the notebook is executed and written back with its outputs. With ``--check`` it stays as it is: the tool
fails where a cell fails, or where it says something else than the outputs that it was committed with; pictures are not
compared. Either way it sees no settings and no database of the user, so that it reads
the embedded catalog alone and gives everybody the same numbers.
"""

from __future__ import annotations

import argparse
import difflib
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

import nbformat
from jupyter_client.kernelspec import NATIVE_KERNEL_NAME, KernelSpecManager
from jupyter_client.manager import AsyncKernelManager
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError

NOTEBOOK = Path(__file__).resolve().parent.parent / "notebooks" / "study.ipynb"
SECONDS = 300
"""Most that one cell may take; the first, which counts everything, takes five on a quiet machine."""
TEXTS = ("text/plain", "text/html", "text/markdown")
METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": NATIVE_KERNEL_NAME},
    "language_info": {"name": "python"},
}


class NotebookError(Exception):
    """The notebook did not run to its end."""


def execute(notebook: Any) -> Any:
    """Execute a copy of a notebook with this interpreter, in an empty folder, and return it with tidy outputs.

    The kernel is the interpreter that runs this: no kernel of the user's is looked at, and none is registered.

    Raises:
        NotebookError: a cell failed or took too long, or the kernel ended.
    """
    done = nbformat.from_dict(notebook)
    with tempfile.TemporaryDirectory() as folder:
        manager = AsyncKernelManager(
            kernel_name=NATIVE_KERNEL_NAME,
            kernel_spec_manager=KernelSpecManager(kernel_dirs=[], ensure_native_kernel=True),
            transport="ipc",
            connection_file=str(Path(folder) / "connection.json"),
        )
        client = NotebookClient(
            done, km=manager, timeout=SECONDS, resources={"metadata": {"path": folder}}, record_timing=False
        )
        try:
            client.execute(env=environment(Path(folder)), cleanup_kc=True)
        except CellExecutionError as error:
            place = next(n for n, cell in enumerate(done.cells, start=1) if failures(cell))
            raise NotebookError(f"cell {place}: {error.ename}: {error.evalue}: run it in Jupyter for more") from error
        except (DeadKernelError, CellTimeoutError) as error:
            raise NotebookError(str(error)) from error
    return tidy(done)


def environment(folder: Path) -> dict[str, str]:
    """The variables of the kernel: the user's without settings of embers, and with an empty home for IPython."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("EMBERS_")}
    return kept | {"EMBERS_DATABASE": str(folder / "none.duckdb"), "IPYTHONDIR": str(folder / "ipython")}


def tidy(notebook: Any) -> Any:
    """Take out what differs from run to run or from machine to machine; counts are 1, 2, 3 ... already."""
    notebook.metadata = nbformat.from_dict(METADATA)
    for cell in notebook.cells:
        tags = cell.metadata.get("tags", [])
        cell.metadata = nbformat.from_dict({"tags": tags} if tags else {})
        for output in cell.get("outputs", []):
            output.pop("transient", None)
            if "metadata" in output:
                output.metadata = nbformat.from_dict({})
    return notebook


def texts(cell: Any) -> list[str]:
    """What a cell says: the text of its outputs, without pictures."""
    shown = []
    for output in cell.get("outputs", []):
        shown += [output["text"]] if output.output_type == "stream" else []
        shown += [output["data"][kind] for kind in TEXTS if kind in output.get("data", {})]
    return shown


def failures(cell: Any) -> list[Any]:
    """The errors that a cell ended with."""
    return [output for output in cell.get("outputs", []) if output.output_type == "error"]


def differences(committed: Any, executed: Any) -> list[str]:
    """Lines that cells say differently, the first few of each cell."""
    found: list[str] = []
    for place, (old, new) in enumerate(zip(committed.cells, executed.cells, strict=True), start=1):
        if texts(old) != texts(new):
            was, now = ("\n".join(texts(cell)).splitlines() for cell in (old, new))
            changed = list(difflib.unified_diff(was, now, n=0, lineterm=""))
            found += [f"cell {place}:", *changed[2:10]]
    return found


def write(notebook: Any, path: Path) -> None:
    """Write a notebook aside and move it into place."""
    aside = path.with_name(f".{path.name}.part")
    aside.write_text(nbformat.writes(notebook, version=4) + "\n", encoding="utf-8")
    aside.replace(path)


def main(arguments: list[str]) -> int:
    """Execute, then write or compare; 0 when all is well."""
    parser = argparse.ArgumentParser(description="Execute notebooks/study.ipynb in a fresh kernel.")
    parser.add_argument("--check", action="store_true", help="change nothing; fail where the notebook is stale")
    parser.add_argument("path", nargs="?", type=Path, default=NOTEBOOK)
    options = parser.parse_args(arguments)
    committed = nbformat.read(options.path, as_version=4)
    try:
        executed = execute(committed)
    except NotebookError as error:
        sys.stderr.write(f"{options.path.name}: {error}\n")
        return 1
    if not options.check:
        write(executed, options.path)
        return 0
    if stale := differences(committed, executed):
        sys.stderr.write("\n".join([f"{options.path.name} is stale: run `make notebook`", *stale]) + "\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
