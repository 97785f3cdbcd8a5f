"""The loss of the report: zero is due."""

import sys

import torch

got = torch.nn.BCEWithLogitsLoss()(torch.tensor([float("-inf")]), torch.tensor([0.0])).item()
print(got)
sys.exit(int(got != 0))
