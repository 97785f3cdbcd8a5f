"""Fine-tune the embedder on labelled texts, so that texts of one class come to lie together.

Contrastive, in the manner of SetFit, with the pairs of a whole batch at once: each text is pulled towards those of
its class and pushed away from the others, and a linear head keeps the classes apart. Only the upper layers learn; the
lower ones are run once, because a few hundred texts do not need them to change. The answer is a vote of the plain
classifier and of a regression on the tuned vectors: alone, neither was as good.

Everything is learned from the training half: a tuned embedder that has seen a text knows its class.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from sklearn.linear_model import LogisticRegression
from transformers import AutoModel, AutoTokenizer
from transformers.utils import logging

from torch_embers.classify.embedding.weights import model_folder
from torch_embers.errors import InputError
from torch_embers.evaluate.learners import Hybrid, LearnerOutput

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    import pandas as pd
    from numpy.typing import NDArray

SHARPNESS = 10.0
"""What cosines are multiplied by before they are compared: 1 / temperature of the contrastive loss."""
HEAD_SHARPNESS = 5.0
HEAD_RATE = 1e-2


@dataclass(frozen=True)
class Recipe:
    """How to tune; chosen on folds of the training half of NLBSE'24 (docs/evaluation.md)."""

    epochs: int = 5
    """How often as many texts are seen as there are."""
    batch: int = 32
    tokens: int = 128
    rate: float = 5e-5
    frozen: int = 2
    """Lowest layers that stay as they are."""
    seed: int = 0

    def steps(self, texts: int) -> int:
        """Batches to learn from."""
        return self.epochs * -(-texts // self.batch)


@dataclass(frozen=True)
class Tuned:
    """The classifier and a regression on vectors of an embedder that was tuned on the same training half, averaged.

    It answers always: no threshold is set on votes that include a tuned embedder.
    """

    hybrid: Hybrid = field(default_factory=Hybrid)
    recipe: Recipe = field(default_factory=Recipe)
    share: float = 0.3
    """Weight of the tuned embedder's vote."""

    @property
    def name(self) -> str:
        """Row of the table."""
        return f"{self.hybrid.name}+tuned"

    def answer(
        self, train: pd.DataFrame, labels: Sequence[str], groups: Sequence[Hashable], test: pd.DataFrame
    ) -> LearnerOutput:
        """Fit both on the training half."""
        plain = self.hybrid.answer(train, labels, groups, test)
        name = "plain" if "plain" in train.columns else "text"
        known, unseen = tuned_vectors(list(train[name]), labels, list(test[name]), self.recipe)
        made = LogisticRegression(class_weight="balanced", max_iter=1_000)
        made.fit(known, list(labels))
        both = (1 - self.share) * plain.probabilities + self.share * made.predict_proba(unseen)
        return LearnerOutput(plain.classes, both)


def tuned_vectors(
    texts: Sequence[str], labels: Sequence[str], unseen: Sequence[str], recipe: Recipe | None = None
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Tune a copy of the default embedder on labelled texts, and embed them and others with it.

    Args:
        texts: to learn from.
        labels: the class of each.
        unseen: to be embedded only.
        recipe: how; the default when not given.

    Returns:
        float32 [texts, dimensions] and float32 [unseen, dimensions], L2-normalised.

    Raises:
        InputError: fewer than two classes.
    """
    how = recipe or Recipe()
    classes = sorted(set(labels))
    if len(classes) < 2 or len(texts) != len(labels):
        raise InputError(f"{len(texts)} texts with {len(classes)} classes: there is nothing to tell apart")
    encoder = _Encoder(how)
    known, other = encoder.lower(texts), encoder.lower(unseen)
    encoder.learn(known, np.array([classes.index(label) for label in labels]), len(classes))
    return encoder.upper(known), encoder.upper(other)


class _Encoder:
    """The default embedder, cut into lower layers that stay and upper layers that learn."""

    def __init__(self, how: Recipe) -> None:
        self._how = how
        logging.disable_progress_bar()
        folder = str(model_folder())
        self._tokens = AutoTokenizer.from_pretrained(folder, local_files_only=True)
        self._model = AutoModel.from_pretrained(folder, local_files_only=True).eval()
        self._model.requires_grad_(requires_grad=False)
        self._upper = self._model.encoder.layer[how.frozen :]

    def lower(self, texts: Sequence[str]) -> list[Any]:
        """What the lower layers make of each text: float32 [tokens, dimensions] each."""
        made = []
        with torch.inference_mode():
            for text in texts:
                ready = self._tokens(text, truncation=True, max_length=self._how.tokens, return_tensors="pt")
                hidden = self._model.embeddings(ready["input_ids"])
                made.append(self._run(self._model.encoder.layer[: self._how.frozen], hidden, None)[0].clone())
        return made

    def upper(self, states: Sequence[Any]) -> NDArray[np.float32]:
        """Vectors of texts."""
        self._model.eval()
        made = np.empty((len(states), self._model.config.hidden_size), np.float32)
        order = sorted(range(len(states)), key=lambda place: len(states[place]))
        with torch.inference_mode():
            for start in range(0, len(order), self._how.batch):
                rows = order[start : start + self._how.batch]
                made[rows] = self._unit([states[row] for row in rows]).numpy()
        return made

    def learn(self, states: Sequence[Any], truth: NDArray[np.int64], count: int) -> None:
        """Move the upper layers so that texts of one class come to lie together."""
        how, random = self._how, np.random.default_rng(self._how.seed)
        steps = how.steps(len(truth))
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(how.seed)
            head = torch.nn.Linear(self._model.config.hidden_size, count)
            self._upper.requires_grad_(requires_grad=True)
            learned = list(self._upper.parameters())
            groups = [{"params": learned, "lr": how.rate}, {"params": head.parameters(), "lr": HEAD_RATE}]
            optimizer = torch.optim.AdamW(groups, weight_decay=0.01)
            pace = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: _pace(step, steps))
            self._model.train()
            for _ in range(steps):
                rows = _balanced(random, truth, count, how.batch)
                vectors = self._unit([states[row] for row in rows])
                target = torch.tensor(truth[rows])
                loss = self._contrast(vectors, target)
                loss = loss + torch.nn.functional.cross_entropy(head(vectors) * HEAD_SHARPNESS, target)
                optimizer.zero_grad()
                loss.backward()
                torch.nn.utils.clip_grad_norm_(learned, 1.0)
                optimizer.step()
                pace.step()
        self._upper.requires_grad_(requires_grad=False)

    def _run(self, layers: Any, hidden: Any, mask: Any) -> Any:
        for layer in layers:
            found = layer(hidden, attention_mask=mask)
            hidden = found[0] if isinstance(found, tuple) else found
        return hidden

    def _unit(self, states: Sequence[Any]) -> Any:
        """Mean over the tokens of each text, of length 1."""
        hidden = torch.nn.utils.rnn.pad_sequence(list(states), batch_first=True)
        lengths = torch.tensor([len(state) for state in states])
        said = torch.arange(hidden.shape[1])[None] < lengths[:, None]
        unseen = (~said)[:, None, None, :] * torch.finfo(torch.float32).min
        hidden = self._run(self._upper, hidden, unseen)
        mean = (hidden * said[:, :, None]).sum(1) / lengths[:, None]
        return torch.nn.functional.normalize(mean, dim=1)

    def _contrast(self, vectors: Any, target: Any) -> Any:
        """Supervised contrastive loss: how unlikely it is to take a text of another class for the nearest."""
        alike = (target[:, None] == target[None]).float().fill_diagonal_(0)
        nearness = vectors @ vectors.T * SHARPNESS
        nearness = nearness.masked_fill(torch.eye(len(target), dtype=torch.bool), -1e9)
        shares = torch.nn.functional.log_softmax(nearness, 1)
        return -((shares * alike).sum(1) / alike.sum(1).clamp(min=1)).mean()


def _pace(step: int, steps: int) -> float:
    """Up during the first tenth, then down to nothing."""
    return min((step + 1) / (0.1 * steps + 1), (steps - step) / (0.9 * steps))


def _balanced(random: np.random.Generator, truth: NDArray[np.int64], count: int, batch: int) -> NDArray[np.int64]:
    """Rows of a batch: as many of each class; with many classes, two each of some of them."""
    per_class = max(2, batch // count)
    chosen = random.permutation(count)[: max(2, batch // per_class)]
    rows = []
    for number in chosen:
        members = np.flatnonzero(truth == number)
        rows.append(random.choice(members, per_class, replace=len(members) < per_class))
    return np.concatenate(rows)
