"""The quotient of the report: zero is due."""

import sys

import torch

got = (torch.tensor(0.0 + 0.0j) / torch.tensor(1e-36 + 0.0j)).item()
print(got)
sys.exit(int(got != 0))
