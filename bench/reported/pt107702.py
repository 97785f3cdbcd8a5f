"""The first call of the report: three, or a refusal, is due."""

import sys

import torch

values = torch.tensor([3], dtype=torch.uint8)
try:
    got = torch.ops.aten.clamp.out(values, -129, None, out=torch.tensor([], dtype=torch.uint8)).tolist()
except RuntimeError as error:
    print("refused: %s" % error)
    sys.exit(0)
print(got)
sys.exit(int(got != [3]))
