"""Bisections over builds: predicates, scripts, cases, nightlies, commits; what they keep, print and refuse."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
import sysconfig
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from helpers.gitlog import Repository
from helpers.verdicts import registered
from support import assert_clean_error, case_of, eventually, fake_python, rows, run_embers
from torch_embers.bisect import bisection, bisector, nightly, sessions
from torch_embers.bisect import predicate as commands
from torch_embers.bisect.commits import CommitRange, commit_range
from torch_embers.bisect.places import BuildList, Place
from torch_embers.bisect.replies import NOT_INSTALLED
from torch_embers.bisect.request import BisectRequest
from torch_embers.bisect.search import Reply
from torch_embers.builds import install
from torch_embers.builds.registry import Build, BuildError, Registry
from torch_embers.cases import bank
from torch_embers.errors import InputError
from torch_embers.mine.git.gitrepo import Clone
from torch_embers.progress import Silent
from torch_embers.settings import Settings
from torch_embers.store.store import Store

if TYPE_CHECKING:
    from collections.abc import Sequence


VERSIONS = ("2.0.1", "2.1.2", "2.2.2", "2.3.1")


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four registered builds."""
    return registered(tmp_path_factory.mktemp("builds"), *VERSIONS).folder


@pytest.fixture(autouse=True)
def _nothing_but_these_builds_and_cases(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever torch the tests run beside is no build of theirs, and the shipped cases take seconds to load."""
    monkeypatch.setattr(Registry, "_current", lambda _: None)
    monkeypatch.setattr(bisector.shipped, "load", lambda _: 0)


@pytest.fixture
def database(tmp_path: Path) -> Path:
    path = tmp_path / "e.duckdb"
    with Store(path).writer("test", create=True) as writer, writer.transaction():
        pass
    return path


def predicate(bad: Sequence[str], log: Path | None = None, skip: Sequence[str] = ()) -> str:
    """A command that ends with 1 on these versions and with 125 on those, and notes where it ran."""
    code = (
        "import os, sys; v = os.environ['EMBERS_VERSION']; "
        + (f"open({str(log)!r}, 'a').write(v + chr(10)); " if log else "")
        + f"print('seen on', v); sys.exit(125 if v in {tuple(skip)!r} else v in {tuple(bad)!r})"
    )
    return f"{{python}} -c {shlex.quote(code)}"


def embers(home: Path, database: Path, *words: object) -> Any:
    return run_embers("bisect", *words, "--database", database, EMBERS_BUILDS_DIR=str(home))


History = tuple[Path, dict[str, str], dict[str, str]]
"""A clone, and its commits: of the main line by letter, of the branch nightly by day."""
DAYS = (("01", "a"), ("02", "a"), ("03", "b"), ("05", "b"), ("06", "c"))
"""Days of August 2025 and the commits of the main line whose snapshots they are; the fourth had no nightly."""


@pytest.fixture(scope="module")
def history(tmp_path_factory: pytest.TempPathFactory) -> History:
    """PyTorch's form of the branch nightly."""
    git = Repository(tmp_path_factory.mktemp("clone"))
    main, days, tip = {}, {}, list[str]()
    for number, letter in enumerate("abc"):
        files = {"version.txt": "2.2.0a0\n", f"{letter}.cpp": ""}
        main[letter] = git.commit(f"Change {letter} (#9200{number})\n\nFixes #{number}7", **files)
    for day, letter in DAYS:
        subject = f"2025-08-{day} nightly release ({main[letter]})"
        days[day] = git("commit-tree", f"{main[letter]}^{{tree}}", *tip, "-m", subject)
        tip = ["-p", days[day]]
    git("update-ref", "refs/remotes/origin/nightly", days["06"])
    return git.path, main, days


@pytest.fixture
def wheels(tmp_path: Path) -> Path:
    """Nightlies of the days, and wheels that are none, or for others."""
    python = f"cp{sys.version_info.major}{sys.version_info.minor}"
    tag = f"{python}-{python}-{sysconfig.get_platform().replace('-', '_').replace('.', '_')}"
    folder = tmp_path / "index"
    folder.mkdir()
    for name in (
        *(f"torch-2.2.0.dev202508{day}-{tag}.whl" for day, _ in DAYS),
        f"torch-2.1.2-{tag}.whl",
        f"torch-2.11.0.dev20260101-{tag}.whl",
        "torch-2.2.0.dev20250804-cp27-cp27m-win32.whl",
        "x.whl",
    ):
        (folder / name).write_bytes(b"")
    return folder


def table(home: Path, database: Path, *words: object) -> dict[str, Any]:
    done = embers(home, database, *words, "--json")
    assert done.returncode in (0, 11), done.stderr
    made: dict[str, Any] = json.loads(done.stdout)
    return made


def test_a_predicate_is_bisected_by_its_exit_codes_and_an_interrupted_search_goes_on(
    home: Path, database: Path, tmp_path: Path
) -> None:
    log = tmp_path / "log"
    command = predicate(["2.0.1", "2.1.2"], log)
    made = table(home, database, "--predicate", command, "--runs", 3, "--out", tmp_path / "r.md")
    assert (made["answer"], made["changes"]) == (
        "fixed",
        [{"kind": "fixed", "before": "2.1.2", "after": "2.2.2", "untestable": []}],
    )
    assert "gone since 2.2.2" in (tmp_path / "r.md").read_text(encoding="utf-8")
    asked = log.read_text(encoding="utf-8")
    assert rows(database, "SELECT kind, count(*) FROM bisections GROUP BY kind") == [("fixed", 1)]
    assert len(rows(database, "FROM bisection_steps")) == len(made["steps"])
    # what a kill left: some steps, no answer
    store = Store(database)
    with store.writer("test") as writer, writer.transaction() as connection:
        connection.execute("UPDATE bisections SET finished_at = NULL, kind = NULL")
        connection.execute("DELETE FROM bisection_steps WHERE version = '2.2.2'")
    resumed = table(home, database, "--predicate", command, "--runs", 3)
    assert resumed["changes"] == made["changes"]
    assert {build["version"] for build in resumed["builds"] if build["asked_on"]} == set(VERSIONS) - {"2.2.2"}
    again = log.read_text(encoding="utf-8")[len(asked) :].split()
    assert set(again) == {"2.2.2"}
    finished = table(home, database, "--predicate", command, "--runs", 3)
    assert not any(build["asked_on"] for build in finished["builds"]), "a finished search of a command is not reused"


def test_a_build_that_goes_while_a_predicate_is_bisected_is_left_out(tmp_path: Path, database: Path) -> None:
    registry = registered(tmp_path, *VERSIONS)
    away = [str(tmp_path / version) for version in ("2.1.2", "2.2.2")]
    code = (
        f"import os, shutil, sys; v = os.environ['EMBERS_VERSION']; "
        f"[shutil.rmtree(path, ignore_errors=True) for path in {away!r}]; sys.exit(v == '2.0.1')"
    )
    command = f"{sys.executable} -c {shlex.quote(code)}"
    [change] = table(registry.folder, database, "--predicate", command, "--runs", 1)["changes"]
    assert (change["before"], change["after"]) == ("2.0.1", "2.3.1")


def test_a_search_that_cannot_tell_ends_with_its_own_code(home: Path, database: Path) -> None:
    done = embers(home, database, "--predicate", predicate([], skip=VERSIONS), "--runs", 1)
    assert done.returncode == bisector.CANNOT_TELL
    assert "no build could be tested" in done.stdout


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["--predicate", "exit 0", "--good", "2.0.1", "--bad", "2.0.1"], 3, "are the same build"),
        (["--predicate", "true", "--bad", "2.3.1", "--runs", "1"], 3, "was said to be bad, but it is clean"),
        (["--predicate", "no-such-program-here"], 3, "no-such-program-here"),
        (["--predicate", "'"], 3, "--predicate"),
        (["--predicate", "sh -c 'exit 130'"], 3, "128 and above stop"),
        (["--script", "nowhere.py"], 3, "no script nowhere.py"),
        (["nothing_of_this_name", "--hang-is", "bad"], 3, "give it with --script or --predicate"),
        ([], 3, "give one thing to bisect"),
        (["--predicate", "true", "--commits", "nowhere"], 3, "no such folder"),
    ],
)
def test_bad_input_is_one_clean_line(home: Path, database: Path, words: list[str], code: int, said: str) -> None:
    assert_clean_error(embers(home, database, *words), code, said)


def test_without_any_build_there_is_nothing_to_search(database: Path, tmp_path: Path) -> None:
    assert_clean_error(embers(tmp_path / "none", database, "--predicate", "true"), 3, "no build here")


def test_a_script_runs_sandboxed_and_a_missing_package_is_no_bug(home: Path, database: Path, tmp_path: Path) -> None:
    script = tmp_path / "check.py"
    script.write_text(
        "import torch\n"
        "if torch.__version__ == '2.0.1': import no_such_package\n"
        "if torch.__version__ == '2.1.2': import os; os.kill(os.getpid(), 11)\n"
        "assert torch.__version__ == '2.3.1' or torch.__version__ == '2.1.2'\n"
    )
    made = table(home, database, "--script", script, "--runs", 3)
    answers = {build["version"]: build["answer"] for build in made["builds"]}
    assert answers == {"2.0.1": "unknown", "2.1.2": "yes", "2.2.2": "yes", "2.3.1": "no"}
    assert made["sentence"].startswith("The bug is gone since 2.3.1")


def test_a_case_is_bisected_by_sweeps_with_controls_and_from_known_verdicts(home: Path, tmp_path: Path) -> None:
    code = """
import os, sys, torch
bad = torch.__version__ < "2.2" or os.environ.get("EMBERS_PLANT") == "1"
print("off" if bad else "equal")
sys.exit(1 if bad else 0)
"""
    store, wanted = Store(tmp_path / "e.duckdb"), Settings(database=tmp_path / "e.duckdb", builds_dir=home)
    with store.writer("test", create=True) as writer, writer.transaction() as connection:
        bank.save(connection, [case_of(code, known_bad=["2.0.1"])])
    made = bisector.bisect(store, wanted, BisectRequest("pt1_example"), Silent())
    assert made.sentence == "The bug is gone since 2.2.2 (2.1.2 is the last build with it)."
    runs = rows(store.path, "SELECT count(*) FROM runs")
    assert bisector.bisect(store, wanted, BisectRequest("pt1_example"), Silent()).sentence == made.sentence
    assert rows(store.path, "SELECT count(*) FROM runs") == runs
    assert "Environment: cpu" in bisection.markdown(made, "o/r")


@pytest.mark.parametrize("how", ["script", "predicate"])
def test_a_hang_is_the_bug_where_that_is_said(home: Path, database: Path, tmp_path: Path, how: str) -> None:
    script = tmp_path / "check.py"
    script.write_text("import time, torch\ntime.sleep(60 * (torch.__version__ < '2.2'))\n")
    words = ["--script", script] if how == "script" else ["--predicate", f"{{python}} {script}"]
    words += ["--good", "2.2.2", "--bad", "2.1.2", "--runs", 1, "--timeout", 5]
    made = table(home, database, *words, "--hang-is", "bad")
    assert [(one["before"], one["after"]) for one in made["changes"]] == [("2.1.2", "2.2.2")]
    assert_clean_error(embers(home, database, *words), 3, "said to be bad, but it cannot be tested here")


def is_gone(note: Path) -> bool:
    """Whether the process that wrote its number there has ended."""
    try:
        return Path(f"/proc/{int(note.read_text())}/stat").read_text().rpartition(") ")[2][0] == "Z"
    except (FileNotFoundError, ProcessLookupError):
        return True


@pytest.mark.parametrize(
    ("script", "limit", "on_hang", "outcome"),
    [
        ("echo $$ >{note}; sleep 600", 0.3, "skip", "timeout"),
        ("echo $$ >{note}; sleep 600", 0.3, "bad", "reproduced"),
        ("sleep 600 & echo $! >{note}; exit 3", 60, "skip", "reproduced"),
    ],
)
def test_a_command_ends_with_its_children_and_one_in_the_background_is_no_timeout(
    tmp_path: Path, script: str, limit: float, on_hang: str, outcome: str
) -> None:
    note = tmp_path / "pid"
    call = ["sh", "-c", script.format(note=shlex.quote(str(note)))]
    assert commands._predicate_run(call, dict(os.environ), limit, on_hang).outcome == outcome
    eventually(lambda: is_gone(note))


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_an_ended_bisection_leaves_no_command_running(home: Path, database: Path, tmp_path: Path, number: int) -> None:
    note = tmp_path / "pid"
    command = f"sh -c 'echo $$ >{note}; sleep 600'"
    words = ["bisect", "--predicate", command, "--runs", "1", "--database", str(database)]
    surroundings = {**os.environ, "EMBERS_BUILDS_DIR": str(home), "NO_COLOR": "1"}
    program = [sys.executable, "-m", "torch_embers", *words]
    with subprocess.Popen(program, env=surroundings, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        eventually(lambda: note.exists() and note.read_text())
        process.send_signal(number)
        _, said = process.communicate(timeout=60)
    assert process.returncode == 130, said
    assert b"Traceback" not in said
    eventually(lambda: is_gone(note))


def test_a_search_over_nightlies_goes_on_between_the_two_releases_and_ends_with_their_commits(
    home: Path, database: Path, wheels: Path, history: History, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    clone, _, days = history

    def installed(_: Settings, version: str, *__: object) -> Build:
        return Registry(home).register(fake_python(tmp_path / version, version, days[version[-2:]]), version)

    monkeypatch.setattr(install, "add_for", installed)
    command = predicate(["2.0.1", "2.1.2", "2.2.0.dev20250801", "2.2.0.dev20250802"])
    store, wanted = Store(database), Settings(database=database, builds_dir=home)
    request = BisectRequest(predicate=command, runs=1, index=str(wheels), evict=True, clone=clone)
    made = bisector.bisect(store, wanted, request, Silent())
    assert made.nightlies is not None
    assert [place.version[-4:] for place in made.nightlies.places][1:-1] == ["0801", "0803", "0806"]
    assert [place.version[-4:] for place in made.nightlies.last_change or ()] == ["0801", "0803"]
    assert made.commits is not None
    assert (made.commits.before, made.commits.total) == ("2.2.0.dev20250801", 1)
    assert rows(database, "SELECT kind, commits_total FROM bisections ORDER BY finished_at") == [
        ("fixed", None),
        ("fixed", 1),
    ]
    assert not [b for b in Registry(home).installed() if b.channel == "nightly"]


def test_a_resumed_second_batch_is_made_of_new_runs_and_a_missing_build_is_asked_again(database: Path) -> None:
    store, asked = Store(database), []
    places = [Place("2.0.1"), Place("2.1.2")]

    def ask(place: int, /, *, fresh: bool = False) -> Reply:
        asked.append((place, fresh))
        return NOT_INSTALLED if place else Reply("no", 0, 4, 0.99)

    with store.writer("test") as writer:
        for _ in range(2):
            session = sessions.begun(store, writer, "key", "subject", 0, fresh=False)
            remembering = sessions.Remembering(session, writer, places, ask)
            for place in (0, 1):
                remembering(place)
        remembering(0)
    assert asked == [(0, False), (1, False), (1, False), (0, True)]


def test_nightlies_of_one_source_are_one_place(wheels: Path, history: History) -> None:
    folder, main, days = history
    clone = Clone(folder)
    places = nightly.listing(str(wheels), "2.1.2", "2.2.2", clone)
    assert [(place.version[-2:], place.commit, nightly.source_of(clone, place.commit)) for place in places] == [
        ("01", days["01"], main["a"]),
        ("03", days["03"], main["b"]),
        ("06", days["06"], main["c"]),
    ]
    alone = nightly.listing(str(wheels), "2.1.2", "2.2.2", None)
    assert [place.version[-2:] for place in alone] == ["01", "02", "03", "05", "06"], "without a clone nobody can tell"


def test_days_that_the_index_forgot_are_tried_by_their_wheel(history: History, monkeypatch: pytest.MonkeyPatch) -> None:
    clone, _, days = history
    python = f"cp{sys.version_info.major}{sys.version_info.minor}"
    index = "https://index.example/nightly/cpu"
    monkeypatch.setattr(nightly, "_of_index", lambda _: [])
    monkeypatch.setattr(nightly.sys, "platform", "linux")
    monkeypatch.setattr(nightly.platform, "machine", lambda: "x86_64")
    places = nightly.listing(index, "2.1.2", "2.2.2", Clone(clone))
    assert [(place.version, place.commit) for place in places] == [
        (f"2.2.0.dev202508{day}", days[day]) for day in ("01", "03", "06")
    ]
    first = f"{index}/torch-2.2.0.dev20250801%2Bcpu-{python}-{python}"
    assert places[0].addresses == (f"{first}-manylinux_2_28_x86_64.whl", f"{first}-linux_x86_64.whl")
    plans: list[Any] = []
    add = partial(install.add_for, Settings(builds_dir=Path("none")), places[0].version, places[0].addresses, index)
    monkeypatch.setattr(install, "_answers", lambda page, _: "manylinux" not in page.full_url)
    monkeypatch.setattr(install, "_install", lambda _, plan, *__: plans.append(plan))
    add(Silent())
    assert plans == [install.PipInstall(f"torch @ {first}-linux_x86_64.whl", index, pre=True)]
    monkeypatch.setattr(install, "_answers", lambda *_: False)
    with pytest.raises(BuildError, match=r"no wheel at .*manylinux.* nor at .*-linux_"):
        add(Silent())
    with pytest.raises(BuildError, match="an index keeps some weeks"):
        nightly.listing(index, "2.1.2", "2.2.2", None)


def test_the_commits_between_nightlies_are_those_between_their_sources(history: History) -> None:
    folder, main, days = history
    clone, first = Clone(folder), Place("2.2.0.dev20250801", commit=days["01"])

    def until(last: Place) -> CommitRange:
        return commit_range(clone, "pytorch/pytorch", (first, last), "", [17])

    made = until(Place("2.2.0.dev20250803", commit=main["b"]))
    assert (made.total, made.basis) == (1, "by tags or commits of the builds")
    assert [(one.sha, one.files) for one in made.likeliest] == [(main["b"], ("b.cpp",))]
    for commit, said in (
        ("d" * 40, "lacks commit dddddddddddd of 2.2.0.dev20250806: fetch it"),
        ("", "2.2.0.dev20250806 does not say its commit"),
    ):
        with pytest.raises(InputError, match=said):
            until(Place("2.2.0.dev20250806", commit=commit))


@pytest.mark.parametrize(
    ("index", "said"),
    [("https://127.0.0.1:1", "no index answers at https"), ("nowhere", "nowhere is no folder of wheels")],
)
def test_an_index_that_is_not_there_is_refused_plainly(index: str, said: str) -> None:
    with pytest.raises(BuildError, match=said):
        nightly.listing(index, "2.8.0", "2.9.0", None)


@pytest.mark.parametrize("evict", [True, False])
def test_what_is_missing_is_installed_once_where_that_is_wanted_and_removed_where_that_is(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, evict: bool
) -> None:
    home, begun = tmp_path / "registry", list[str]()

    def installed(_: Settings, version: str, *__: object) -> Build:
        begun.append(version)
        if version == "2.9.1":
            raise BuildError("no such wheel")
        return Registry(home).register(fake_python(tmp_path / version, version), version)

    monkeypatch.setattr(install, "add_for", installed)
    places, wanted = [Place("2.9.0"), Place("2.9.1")], Settings(builds_dir=home)
    assert BuildList(wanted, places, BisectRequest("x"), "", Silent()).of(0) is None
    builds = BuildList(wanted, places, BisectRequest("x", install=True, evict=evict), "", Silent())
    for _ in range(2):
        assert [build.version if build else None for build in map(builds.of, range(2))] == ["2.9.0", None]
    assert begun == ["2.9.0", "2.9.1"]
    builds.evict()
    assert [build.name for build in Registry(home).installed()] == ([] if evict else ["2.9.0"])


@pytest.mark.parametrize("missing", ["", "2.1.2", "2.2.2"])
def test_a_range_is_named_only_where_the_clone_has_both_of_its_ends(tmp_path: Path, missing: str) -> None:
    git = Repository(tmp_path)
    for number, (subject, version) in enumerate(
        [
            ("Start (#92001)", ""),
            ("Old (#92002)", "2.1.2"),
            ("Mend pool (#92003)\n\nFixes #7", ""),
            ("New (#92004)", "2.2.2"),
        ]
    ):
        git.commit(subject, **{"version.txt": "2.2.0a0\n", f"pool{number}.cpp": ""})
        if version not in ("", missing):
            git("tag", f"v{version}")
    asked = (Clone(tmp_path), "pytorch/pytorch", (Place("2.1.2"), Place("2.2.2")), "t.max_pool(x)", [7])
    if missing:
        with pytest.raises(InputError, match=f"lacks the tag v{missing}: fetch it .`git fetch --tags origin`"):
            commit_range(*asked)
        return
    made = commit_range(*asked)
    assert made.likeliest[0].subject == "Mend pool (#92003)"
    assert (made.likeliest[0].pull, made.likeliest[0].fixes) == (92003, (7,))
    assert made.likeliest[0].names_the_issue
    assert made.total == 2


def test_an_index_that_fails_after_the_search_leaves_the_answer_over_releases(home: Path, database: Path) -> None:
    command = predicate(["2.0.1", "2.1.2"])
    done = embers(home, database, "--predicate", command, "--runs", 1, "--index", "nowhere")
    assert done.returncode == 0, done.stderr
    assert "gone since 2.2.2" in done.stdout
    assert "no nightlies: nowhere is no folder" in done.stderr


def test_a_page_of_an_index_is_read_like_a_folder(wheels: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names = sorted(path.name for path in wheels.iterdir())
    page = "".join(f'<a href="../{name.replace("+", "%2B")}#sha256=0">{name}</a>\n' for name in names)
    answer = SimpleNamespace(text=page, raise_for_status=lambda: None)
    monkeypatch.setattr(nightly.requests, "get", lambda *_, **__: answer)
    places = nightly.listing("https://index.example/nightly", "2.1.2", "2.2.2", None)
    assert len(places) == 5, "without a clone nobody knows their commits"
    assert places[0].addresses[0].startswith("https://index.example/nightly/torch-2.2.0.dev20250801")
