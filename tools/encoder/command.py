"""The three steps from a mined database to the encoder in models/.

    python tools/encoder pairs --database DATABASE --benchmarks FOLDER pairs.json
    python tools/encoder train pairs.json '{"most": {"fix": 600, ...}}' FOLDER     (extra encoder)
    python tools/encoder export FOLDER SHARE models/tracker-encoder

The database holds merged pull requests (`embers mine --source git` or `--source jsonl`), issues and maintainers'
labels, after `embers classify`. FOLDER of the benchmarks holds mhnurf_pytorch.csv.gz, which is excluded.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from torch_embers.store.store import Store

from . import weights
from .excluded import measured_numbers
from .export import export
from .pairs import make

if TYPE_CHECKING:
    from collections.abc import Sequence


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")


def _pairs(options: argparse.Namespace) -> None:
    store = Store(options.database)
    made = make(store, options.benchmarks, measured_numbers())
    options.out.write_text(json.dumps(made, ensure_ascii=False) + "\n", encoding="utf-8")
    _say(json.dumps({name: len(rows) for name, rows in made["learn"].items()} | made["counts"]))


def _train(options: argparse.Namespace) -> None:
    from .train import Recipe, train  # packages that nothing else here needs

    made = json.loads(options.pairs.read_text(encoding="utf-8"))
    base = weights.model_folder(weights.DEFAULT_MODEL)
    _say(f"{train(base, made, Recipe(**json.loads(options.recipe)), options.out, options.threads):.0f} s")


def _export(options: argparse.Namespace) -> None:
    base = weights.model_folder(weights.DEFAULT_MODEL)
    about = export(base, options.tuned, options.share, options.out)
    _say(f"{about.model_id}: least cosine with float32 {about.least_cosine:.4f}")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    steps = parser.add_subparsers(required=True)
    step = steps.add_parser("pairs", help="pairs of texts to learn from and to choose by")
    step.add_argument("--database", type=Path, required=True)
    step.add_argument("--benchmarks", type=Path, required=True)
    step.add_argument("out", type=Path)
    step.set_defaults(do=_pairs)
    step = steps.add_parser("train", help="tune the weights on pairs")
    step.add_argument("pairs", type=Path)
    step.add_argument("recipe", help="a Recipe as JSON")
    step.add_argument("out", type=Path)
    step.add_argument("--threads", type=int, default=1)
    step.set_defaults(do=_train)
    step = steps.add_parser("export", help="write the graph that is shipped")
    step.add_argument("tuned", type=Path)
    step.add_argument("share", type=float, help="weight of the tuned weights; the rest is that of the first ones")
    step.add_argument("out", type=Path)
    step.set_defaults(do=_export)
    options = parser.parse_args(arguments)
    options.do(options)
    return 0
