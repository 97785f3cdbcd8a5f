"""The second call of the report: ones are due."""

import sys

import torch

ones = torch.ones(5, 5)
try:
    got = torch.addmm(torch.zeros(5, 5), ones, torch.eye(5), out=ones)
except RuntimeError as error:
    print("refused: %s" % error)
    sys.exit(0)
print("numbers between %g and %g" % (got.min(), got.max()))
sys.exit(int((got != 1).any()))
