"""The command that runs tests of merged fixes and says what they are good for."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from torch_embers.cli.options import (
    DatabaseOption,
    JobsOption,
    JsonOption,
    RepoOption,
    ShardOption,
    StateOption,
    builds_option,
    settings_at,
    shard_of,
    store_at,
)
from torch_embers.json_output import print_json

if TYPE_CHECKING:
    from torch_embers.settings import Settings


def fix_tests(
    build: Annotated[list[str] | None, builds_option("run nothing")] = None,
    sample: Annotated[int | None, typer.Option(min=1, help="Run this many tests, drawn at random.")] = None,
    seed: Annotated[int, typer.Option(help="Of the draw.")] = 0,
    since: Annotated[str | None, typer.Option(help="Run only tests of commits from this day on.")] = None,
    until: Annotated[str | None, typer.Option(help="Run only tests of commits before this day.")] = None,
    jobs: JobsOption = 2,
    shard: ShardOption = None,
    state: StateOption = None,
    repo: RepoOption = None,
    json: JsonOption = False,
    database: DatabaseOption = None,
) -> None:
    """Run the tests of merged fixes on builds and print the yield."""
    from dataclasses import asdict

    from torch_embers.builds.registry import Registry
    from torch_embers.builds.work import Machine
    from torch_embers.fixtests.fix_test_yield import print_yield, yield_of
    from torch_embers.fixtests.trial import TrialRequest, run_trials
    from torch_embers.mine.options import moment
    from torch_embers.progress_bar import ProgressBar
    from torch_embers.run.cases import chosen_builds
    from torch_embers.run.state import kept

    wanted = settings_at(database, repo)
    store = store_at(wanted.database)
    if build:
        registry, days = Registry(wanted.builds_dir), (moment(since, "--since"), moment(until, "--until"))
        chosen = chosen_builds(registry, build)
        request = TrialRequest(wanted.repo, chosen, sample, seed, *days, jobs, shard_of(shard))
        with ProgressBar("running", unit="runs") as progress, kept(store, "fix-tests", state) as writer:
            run_trials(store, writer, Machine(registry), request, progress)
    found = yield_of(store, wanted.repo)
    if json:
        print_json(asdict(found))
    else:
        print_yield(found)


def link_fix_tests(settings: "Settings", clone: Path, since: str | None = None) -> None:
    """Read the tests of merged fixes from a clone, and print what became of its commits.

    Raises:
        InputError, StoreError: as of their makers.
    """
    from torch_embers.console import print_table, stdout
    from torch_embers.fixtests import link
    from torch_embers.mine.options import moment
    from torch_embers.progress_bar import ProgressBar

    store, day = store_at(settings.database), moment(since, "--since")
    with ProgressBar("reading commits") as progress:
        done = link.link_fix_tests(store, settings.repo, clone, progress, since=day)
    out = stdout()
    out.print(f"{done.commits:,} commits fix issues; {done.read:,} read now; {done.scripts:,} tests make a script")
    if done.reasons:
        print_table(["no script because", "rows"], done.reasons.items())
