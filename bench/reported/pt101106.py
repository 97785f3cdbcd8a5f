"""The call of the report: which type does the result have?"""

import sys

import torch

base = torch.rand([3], dtype=torch.complex128)
try:
    got = torch.addmv(base, torch.rand([3, 2], dtype=torch.float64), torch.rand([2], dtype=torch.float64))
except RuntimeError as error:
    print("refused: %s" % error)
    sys.exit(0)
print(got.dtype)
sys.exit(int(got.dtype != torch.complex128))
