"""Training on gold and votes, and what decides a label: text, votes, runs."""

from __future__ import annotations

import pytest

from torch_embers.classify.labels.weak import Labeller


@pytest.mark.parametrize(
    ("title", "named"),
    [
        ("CUDNN_STATUS_INTERNAL_ERROR in conv2d", {"cuda"}),
        ("cudnn_convolution_add_relu fails", {"cuda"}),
        ("wrong inverse by cuSOLVER on A100", {"cuda"}),
        ("ProcessGroupGloo hangs", {"distributed"}),
        ("dist.barrier never returns", {"distributed"}),
        ("torch.distance of nothing, barracuda and rtx", set()),
        ("wrong result of processing", set()),
    ],
)
def test_libraries_error_codes_and_cards_name_their_backend(title: str, named: set[str]) -> None:
    assert {vote.value for vote in Labeller.load().votes(title, None, None) if vote.scheme == "backend"} == named
