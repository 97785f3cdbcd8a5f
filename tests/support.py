"""What several tests share: the command line in process, fast patience, snapshots of tables, cases, builds."""

from __future__ import annotations

import fcntl
import importlib.util
import io
import os
import shutil
import subprocess
import sys
import tempfile
import time
import venv
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest
from hypothesis import settings

from torch_embers.builds.registry import environment_text, machine_here
from torch_embers.cases.case import Case, metadata_lines, parse
from torch_embers.cases.shipped_verdicts import matrix
from torch_embers.cli.entry import main
from torch_embers.progress import Silent
from torch_embers.sandbox import program
from torch_embers.store.store import Store

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from types import ModuleType

ROOT = Path(__file__).resolve().parent.parent
CATALOG = len((ROOT / "data/catalog.jsonl").read_text(encoding="utf-8").splitlines())
"""Items of the catalog."""

REWRITING = os.environ.get("EMBERS_SNAPSHOTS") == "1"  # read here: no test sees the variables of embers
COMPARED = (
    "items",
    "events",
    "comments",
    "pull_files",
    "commits",
    "commit_files",
    "code_sizes",
    "gold_labels",
    "catalog",
    "stated_links",
    "rejects",
    "links",
    "components",
)
FETCHED = {"fetched_at", "page_id"}
"""When and in which answer a row came: the only columns in which two equal mines may differ."""


needs_bubblewrap = pytest.mark.skipif(
    program.find() is None and os.environ.get("EMBERS_REQUIRE_SANDBOX") != "1", reason="bubblewrap is not installed"
)
"""For tests of the real sandbox; .ci/run requires one."""


def example_count(count: int) -> int:
    """How many examples to try where the default of 100 is not right; in the quick profile as much fewer as all are."""
    return max(3, count * settings().max_examples // 100)


def eventually(holds: Callable[[], object], seconds: float = 120) -> None:
    """Wait until something holds; the limit is for a test that would wait for ever, not a measure of speed."""
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline, "it did not come about"
        time.sleep(0.02)


def is_measured_here(release: str, capability: str) -> bool:
    """Whether the shipped verdicts on a release (its first two numbers) come from this kind of processor and CPU capability.

    Elsewhere a kernel of that release may be right that is wrong there.
    """
    system, processor = machine_here()
    where = {"device": "cpu", "processor": processor, "capability": capability, "system": system}
    here, line = environment_text(where), release.split(".")[:2]
    return any(row["build"].split(".")[:2] == line and row["environment"] == here for row in matrix())


class Ended(NamedTuple):
    """How a command ended."""

    returncode: int
    stdout: str
    stderr: str


def assert_snapshot(name: str, text: str) -> None:
    """Compare a text with tests/snapshots/NAME; with EMBERS_SNAPSHOTS=1 write it there, to be read before it is committed."""
    path = ROOT / "tests" / "snapshots" / name
    if REWRITING:
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    assert text == path.read_text(encoding="utf-8")


def run_embers(*arguments: object, **environment: str) -> Ended:
    """Run the command line in this process, as a user with a pipe behind it would."""
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True) for _ in range(2))
    words = [str(argument) for argument in arguments]
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(out), redirect_stderr(err):
        patch.setattr(sys, "argv", ["embers", *words])
        for name, value in {"NO_COLOR": "1", "COLUMNS": "160", **environment}.items():
            patch.setenv(name, value)
        with pytest.raises(SystemExit) as stop:
            main(words)
    said = [stream.detach().getvalue().decode() for stream in (out, err)]
    return Ended(int(stop.value.code or 0), *said)


def assert_clean_error(done: Ended, code: int, *words: str) -> None:
    """Exit code, exactly one line on standard error, no traceback."""
    assert done.returncode == code, done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    lines = [line for line in done.stderr.splitlines() if line.strip()]
    assert len(lines) == 1, done.stderr
    assert lines[0].startswith("error: ")
    for word in words:
        assert word in lines[0]


class Recorded(Silent):
    """Progress that keeps its lines."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def said(self, text: str) -> None:
        """Keep a line."""
        self.lines.append(text)


def rows(database: Path, sql: str, *values: object) -> list[tuple[Any, ...]]:
    """Rows of a query."""
    with Store(database).read() as connection:
        return connection.execute(sql, values or None).fetchall()


def execute(database: Path, *statements: str) -> None:
    """Run statements in one transaction; the database is made where it is missing."""
    with Store(database).writer("test", create=True) as writer, writer.transaction() as connection:
        for statement in statements:
            connection.execute(statement)


@contextmanager
def small_disk(size: str) -> Iterator[Path]:
    """A file system of so many bytes; the test is skipped where it cannot be mounted."""
    with tempfile.TemporaryDirectory() as folder:
        command = ["mount", "-t", "tmpfs", "-o", f"size={size}", "embers-test", folder]
        if not shutil.which("mount") or subprocess.run(command, capture_output=True, timeout=10).returncode:
            pytest.skip("mounting is not permitted here")
        try:
            yield Path(folder)
        finally:
            subprocess.run(["umount", folder], check=True, timeout=10)


def made_once(factory: pytest.TempPathFactory, name: str, make: Callable[[Path], None]) -> Path:
    """A file or folder that the first process of the test session makes and the others (pytest-xdist) wait for."""
    base = factory.getbasetemp()
    folder = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    path = folder / name
    with (folder / f"{name}.flock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not path.exists():
            unfinished = folder / f"unfinished-{name}"
            make(unfinished)
            unfinished.rename(path)
    return path


def snapshot(database: Path, tables: Iterable[str] = COMPARED, without: Iterable[str] = ()) -> dict[str, list[Any]]:
    """Rows of every table, sorted, without the columns that say when they were fetched."""
    found: dict[str, list[Any]] = {}
    with Store(database).read() as connection:
        for table in tables:
            names = [
                name
                for (name,) in connection.execute(
                    "SELECT column_name FROM duckdb_columns() WHERE table_name = ? ORDER BY column_index", [table]
                ).fetchall()
                if name not in FETCHED and name not in without
            ]
            found[table] = sorted(connection.execute(f"SELECT {', '.join(names)} FROM {table}").fetchall(), key=repr)
    return found


CASE_CODE = """
import os
import sys


def spoil(observed):
    if os.environ.get("EMBERS_PLANT") == "1":
        observed = observed + 3
    return observed


off = sum([1, -1])
off = spoil(off)
print("off by 3" if off else "equal")
sys.exit(1 if off else 0)
"""
"""A case that behaves right everywhere, and wrong when told to."""


def case_text(code: str = CASE_CODE, summary: str = "Does one thing, which should happen.", **meta: object) -> str:
    """The text of a valid case; keys of the metadata can be given."""
    entries: dict[str, object] = {
        "issues": ["pytorch/pytorch#1"],
        "requires": ["cpu"],
        "known_bad": [],
        "signature": "mismatch",
        "oracle": "self",
        **meta,
    }
    return "\n".join([*metadata_lines(entries), f'"""{summary}"""', code])


def case_of(code: str = CASE_CODE, name: str = "pt1_example", **meta: object) -> Case:
    """A valid case."""
    return parse(case_text(code, **meta), name)


FAKE_TORCH = """
class _Nothing:
    def __getattr__(self, name):
        return _Nothing()
    def __call__(self, *a, **k):
        return False

from types import SimpleNamespace
__version__ = "{version}"
version = SimpleNamespace(git_version="{commit}", cuda=None, debug=False)
cuda = SimpleNamespace(is_available=lambda: False)
set_num_threads = manual_seed = lambda number: None
backends = SimpleNamespace()
"""
"""A torch that can say what it is and nothing else."""


def fake_python(
    folder: Path, version: str = "2.5.1", commit: str = "a1b2c3d4e5f60718", torch: str = FAKE_TORCH, **more: object
) -> Path:
    """An interpreter with a torch of its own; quick to make. ``more`` is what the text of another torch needs."""
    venv.EnvBuilder(with_pip=False, symlinks=True).create(folder)
    site = next((folder / "lib").glob("python3*")) / "site-packages" / "torch"
    site.mkdir()
    (site / "__init__.py").write_text(torch.format(version=version, commit=commit, **more), encoding="utf-8")
    return folder / "bin" / "python"


def tool(name: str) -> ModuleType:
    """A file or folder of tools/ as the module ``embers_NAME``."""
    folder = ROOT / "tools" / name
    is_folder = folder.is_dir()
    path = folder / "__init__.py" if is_folder else folder.with_suffix(".py")
    inside = [str(folder)] if is_folder else None
    spec = importlib.util.spec_from_file_location(f"embers_{name}", path, submodule_search_locations=inside)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module
