"""List the bug fixes that worksheets of PyTorch's release notes name, and draw from them (docs/fixed-in.md).

`python tools/fixed_in.py CLONE [--notes 2.14.0=FILE ...] [--titles FILE]` reads the newest commit of a clone of
torch-release-notes, with or without a work tree. A worksheet is RELEASE/done/result_AREA.md or RELEASE/todo/...; every
pull request under its heading "bug fixes" counts. `--notes` gives the final notes of a release that the clone
lacks: a file with a heading "# Bug fixes", "## Area" below it, and numbers as #123.

Areas of other devices, several machines, builds and exports to other programs are listed, but not drawn: a CPU build
decides nothing about them. The others come in the order of the digest of seed and number, so a longer list keeps the
order of what it shares with a shorter one. A pull request that two releases name counts for the older one.

Written are numbers and places only: analysis/results/fixed_in_list.csv. Titles, which help to look a pull request up,
go to the file of `--titles`, which stays out of the checkout.
"""

from __future__ import annotations

import argparse
import csv
import re
import subprocess
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

LIST = Path(__file__).resolve().parent.parent / "analysis" / "results" / "fixed_in_list.csv"
SEED = "fixed-in-1"
WORKSHEET = re.compile(r"(?P<release>\d+\.\d+\.\d+)/(?:done|todo)/result_(?P<area>.+)\.md")
NUMBER = re.compile(r"(?:pull/|#)(?P<number>\d{5,6})\b")
COMMIT = re.compile(r"\((?P<commit>[0-9a-f]{9,40})\)")
SAME_AREA = {
    "ahead-of-time inductor (aoti)": "inductor (aoti)",
    "linear algebra": "linalg",
    "linear algebra frontend": "linalg",
    "torch.nn": "nn",
    "torch.fx": "fx",
    "torch.export": "export",
    "optimizer": "optim",
    "torch.func": "functorch",
}
NOT_DRAWN = re.compile(
    r"mps|cuda|cudnn|rocm|xpu|intel|vulkan|mobile|distributed|dtensor|fsdp|devicemesh|onnx|build|releng|release eng"
    r"|devx|caffe2|cpp|c\+\+|package|skip|not needed|aarch64|benchmark"
)


class Named(NamedTuple):
    """A pull request under "bug fixes"."""

    pull: int
    release: str
    area: str
    commit: str
    title: str


def fixes(text: str, release: str, area: str) -> Iterator[Named]:
    """What a worksheet, or final notes with an area under each heading, names as bug fixes."""
    inside = level = 0
    for line in text.splitlines():
        if heading := re.match(r"(#+)\s*(.*)", line):
            if heading[1] == "#" and heading[2][:1].isdigit():
                continue
            if heading[2].strip().lower().rstrip(":") in {"bug fixes", "bug fix"}:
                inside, level = 1, len(heading[1])
            elif len(heading[1]) <= level:
                inside = 0
            elif inside:
                area = heading[2].strip()
        elif inside:
            commit = COMMIT.search(line)
            for number in dict.fromkeys(int(found["number"]) for found in NUMBER.finditer(line)):
                name = area.lower().removesuffix("_frontend").removesuffix(" frontend")
                kept = commit["commit"] if commit else ""
                yield Named(number, release, SAME_AREA.get(name, name), kept, line.strip("- "))


def worksheets(clone: Path) -> Iterator[Named]:
    """The fixes of all worksheets of the clone's newest commit."""

    def git(*words: str) -> str:
        return subprocess.run(["git", "-C", str(clone), *words], check=True, capture_output=True, text=True).stdout

    for path in git("ls-tree", "-rz", "--name-only", "HEAD").split("\0"):
        if sheet := WORKSHEET.fullmatch(path):
            yield from fixes(git("show", f"HEAD:{path}"), sheet["release"], sheet["area"])


def main() -> None:
    """Write the list and the draw."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("clone", type=Path)
    parser.add_argument("--notes", nargs="*", default=[], metavar="RELEASE=FILE")
    parser.add_argument("--titles", type=Path)
    given = parser.parse_args()
    found = list(worksheets(given.clone))
    for release, _, path in (one.partition("=") for one in given.notes):
        found += fixes(Path(path).read_text(encoding="utf-8"), release, "")
    first = {}
    for one in sorted(found, key=lambda one: [int(part) for part in one.release.split(".")]):
        first.setdefault(one.pull, one)
    order = sorted(first.values(), key=lambda one: sha256(f"{SEED}:{one.pull}".encode()).hexdigest())
    drawn = [one for one in order if not NOT_DRAWN.search(one.area)]
    left = [one for one in order if NOT_DRAWN.search(one.area)]
    with LIST.open("w", encoding="utf-8", newline="") as file:
        rows = csv.writer(file, lineterminator="\n")
        rows.writerow(("draw", "pull", "release", "area", "commit"))
        rows.writerows((draw, *one[:4]) for draw, one in enumerate(drawn, 1))
        rows.writerows(("", *one[:4]) for one in left)
    if given.titles:
        lines = (f"{draw}\t{one.pull}\t{one.release}\t{one.area}\t{one.title}\n" for draw, one in enumerate(drawn, 1))
        given.titles.write_text("".join(lines), encoding="utf-8")
    print(f"{len(order)} bug fixes, {len(drawn)} of areas that a CPU build may decide")  # noqa: T201


if __name__ == "__main__":
    main()
