"""Run the published protocols and the gold standard: `python bench/protocols.py --data FOLDER [mhnurf] [nlbse] [gold] [--tuned]`.

FOLDER holds mhnurf_pytorch.csv.gz and nlbse2024_train.csv.gz. Vectors are kept in a scratch file, so that a second run is quick.
`--tuned` also fine-tunes the embedder on the training half of each fold (contrastive, in the manner of SetFit) and lets it vote
with the hybrid, half and half; that takes about a minute and a half per fold and repository on one core.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from torch_embers.classify import protocols
from torch_embers.classify.embed import load_embedder, model_folder
from torch_embers.classify.evaluate import Answers, Hybrid, TfidfBaseline
from torch_embers.classify.protocols import MHNURF_PUBLISHED, MHNURF_SETTINGS, NLBSE_PUBLISHED, NLBSE_SETTINGS
from torch_embers.resources import data_file

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Sequence

    from torch_embers.classify.features import Inputs

    Embed = Callable[[Sequence[str]], np.ndarray]

CUT = datetime(2023, 1, 1, tzinfo=UTC)
SCHEMES = ("bug_type", "memory_type", "consequence")
ANNOTATOR = "embers-guide-1"


@dataclass(frozen=True)
class Tuned:
    """The hybrid and a logistic regression on an embedder that was tuned on the same training half, averaged."""

    hybrid: Hybrid
    share: float = 0.5
    """Weight of the tuned embedder's vote; set before any result was seen."""
    epochs: int = 5
    tokens: int = 128
    batch: int = 32
    rate: float = 5e-5
    frozen: int = 2
    """Lowest layers that stay as they are: half the time, and a few hundred texts do not need them to change."""

    @property
    def name(self) -> str:
        return f"{self.hybrid.name}+tuned"

    def answer(self, train: Inputs, labels: Sequence[str], groups: Sequence[Hashable], test: Inputs) -> Answers:
        from sklearn.linear_model import LogisticRegression

        plain = self.hybrid.answer(train, labels, groups, test)
        field = "plain" if "plain" in train.fields else "text"
        known, unseen = tuned_vectors(self, list(train.fields[field]), list(labels), list(test.fields[field]))
        head = LogisticRegression(class_weight="balanced", max_iter=1_000).fit(known, list(labels))
        both = (1 - self.share) * plain.probabilities + self.share * head.predict_proba(unseen)
        return Answers(plain.classes, both)


def tuned_vectors(how: Tuned, texts: list[str], labels: list[str], unseen: list[str]) -> tuple[np.ndarray, np.ndarray]:
    """Fine-tune a copy of the default embedder so that texts of one class come to lie together; embed both lists with it."""
    import torch
    from torch.nn import functional
    from transformers import AutoModel, AutoTokenizer

    torch.manual_seed(0)
    rng = np.random.default_rng(0)
    folder = str(model_folder())
    tokens, model = AutoTokenizer.from_pretrained(folder), AutoModel.from_pretrained(folder)
    for part in (model.embeddings, *model.encoder.layer[: how.frozen]):
        part.requires_grad_(requires_grad=False)
    classes = sorted(set(labels))
    truth = np.array([classes.index(label) for label in labels])
    head = torch.nn.Linear(model.config.hidden_size, len(classes))
    learned = [one for one in model.parameters() if one.requires_grad]
    steps = how.epochs * -(-len(texts) // how.batch)
    optimizer = torch.optim.AdamW(
        [{"params": learned, "lr": how.rate}, {"params": head.parameters(), "lr": 1e-2}], weight_decay=0.01
    )
    warm = 0.1 * steps + 1
    pace = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda step: min((step + 1) / warm, (steps - step) / (0.9 * steps))
    )

    def unit(batch: list[str]) -> Any:
        ready = tokens(batch, truncation=True, max_length=how.tokens, padding=True, return_tensors="pt")
        with torch.autocast("cpu", torch.bfloat16):
            hidden = model(**ready).last_hidden_state
        mask = ready["attention_mask"].unsqueeze(-1)
        return functional.normalize((hidden.float() * mask).sum(1) / mask.sum(1), dim=1)

    model.train()
    members = [np.flatnonzero(truth == number) for number in range(len(classes))]
    per_class = how.batch // len(classes)
    for _ in range(steps):
        rows = np.concatenate([rng.choice(one, per_class, replace=len(one) < per_class) for one in members])
        target = torch.tensor(truth[rows])
        vectors = unit([texts[row] for row in rows])
        alike = (target[:, None] == target[None]).float().fill_diagonal_(0)
        nearness = (vectors @ vectors.T / 0.1).masked_fill(torch.eye(len(rows), dtype=torch.bool), -1e9)
        contrast = -((functional.log_softmax(nearness, 1) * alike).sum(1) / alike.sum(1).clamp(min=1)).mean()
        loss = contrast + functional.cross_entropy(head(vectors) * 5, target)
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(learned, 1.0)
        optimizer.step()
        pace.step()
    model.eval()
    with torch.inference_mode():
        found = [
            np.vstack([unit(part[at : at + 32]).numpy() for at in range(0, len(part), 32)]) for part in (texts, unseen)
        ]
    return found[0], found[1]


def kept(scratch: Path) -> Embed:
    """The default embedder, with vectors kept in a file by the hash of their text."""
    embedder = load_embedder()
    known: dict[str, np.ndarray] = {}
    if scratch.is_file():
        with np.load(scratch, allow_pickle=False) as stored:
            known = dict(zip(stored["keys"].tolist(), stored["vectors"], strict=True))

    def embed(texts: Sequence[str]) -> np.ndarray:
        keys = [hashlib.sha256(f"{embedder.model_id}\n{text}".encode("utf-8", "replace")).hexdigest() for text in texts]
        missing = {key: text for key, text in zip(keys, texts, strict=True) if key not in known}
        if missing:
            known.update(zip(missing, embedder.encode(list(missing.values())), strict=True))
            np.savez(scratch, keys=np.array(list(known)), vectors=np.array(list(known.values())))
        return np.array([known[key] for key in keys], dtype=np.float32)

    return embed


def table(path: Path) -> pd.DataFrame:
    return pd.read_csv(path, dtype=str, keep_default_na=False)


def run_mhnurf(data: Path, embed: Embed) -> dict[str, Any]:
    frame = table(data / "mhnurf_pytorch.csv.gz")
    found = {}
    for learner in (TfidfBaseline(), Hybrid(MHNURF_SETTINGS)):
        result = protocols.mhnurf(frame, embed, learner)
        print(
            f"mhnurf  {learner.name:20} {result.mean:.4f} (spread of splits {result.spread:.4f}; published {MHNURF_PUBLISHED})"
        )
        found[learner.name] = {"mean": result.mean, "spread": result.spread, "scores": result.scores}
    return found


def run_nlbse(data: Path, embed: Embed, *, tuned: bool, folds: int, repeats: int) -> dict[str, Any]:
    frame = table(data / "nlbse2024_train.csv.gz")
    plain = Hybrid(NLBSE_SETTINGS)
    found: dict[str, Any] = {}
    ways = [(TfidfBaseline(), False), (plain, False), (plain, True)]
    ways += [(Tuned(plain), False), (Tuned(plain), True)] if tuned else []
    for learner, grouped in ways:
        result = protocols.nlbse(frame, embed, learner, folds, repeats, grouped=grouped)
        mean = float(np.mean([one.mean for one in result.values()]))
        name = f"{learner.name}{' grouped' if grouped else ''}"
        each = " ".join(f"{repo.split('/')[-1]} {one.mean:.3f}" for repo, one in result.items())
        print(
            f"nlbse   {name:20} {mean:.4f} ({folds} folds x {repeats}; published on the hidden test half {NLBSE_PUBLISHED}) {each}",
            flush=True,
        )
        found[name] = {"mean": mean, **{repo: one.scores for repo, one in result.items()}}
    return found


def run_gold(embed: Embed, bodies: dict[int, str]) -> dict[str, Any]:
    catalog = [json.loads(line) for line in data_file("catalog.jsonl").read_text(encoding="utf-8").splitlines()]
    related = {row["number"]: [*(one["number"] for one in row["related"] or ()), *row["fix_prs"]] for row in catalog}
    found = {}
    for scheme in SCHEMES:
        for tags in (True, False):
            for cut in (None, CUT) if scheme == "consequence" else (None,):
                items = protocols.gold_items(catalog, scheme, ANNOTATOR, bodies, tags=tags, titles_only=cut is not None)
                report = protocols.gold(scheme, items, embed, protocols.gold_groups(items, related), cut=cut)
                name = f"{scheme}{'' if tags else ' without tags'}{' by time' if cut else ''}"
                print(
                    f"\n{name}: {report.texts} items in {report.groups} groups\n{report.table().to_string(index=False)}"
                )
                for other, difference in report.score("hybrid").differences.items():
                    print(f"  hybrid minus {other}: {difference}")
                found[name] = report.as_dict()
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", nargs="*", choices=["mhnurf", "nlbse", "gold"], help="which ones; all when left out")
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--tuned", action="store_true")
    parser.add_argument("--folds", type=int, default=10)
    parser.add_argument("--repeats", type=int, default=1)
    parser.add_argument("--bodies", type=Path, help="JSON: number -> body of mined catalog items")
    parser.add_argument("--scratch", type=Path, default=Path("protocol-vectors.npz"))
    parser.add_argument("--out", type=Path, help="write everything as JSON")
    given = parser.parse_args()
    embed, what = kept(given.scratch), given.what or ["mhnurf", "nlbse", "gold"]
    found: dict[str, Any] = {}
    if "mhnurf" in what:
        found["mhnurf"] = run_mhnurf(given.data, embed)
    if "nlbse" in what:
        found["nlbse"] = run_nlbse(given.data, embed, tuned=given.tuned, folds=given.folds, repeats=given.repeats)
    if "gold" in what:
        bodies = (
            {int(number): body for number, body in json.loads(given.bodies.read_text()).items()} if given.bodies else {}
        )
        found["gold"] = run_gold(embed, bodies)
    if given.out:
        given.out.write_text(json.dumps(found, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
