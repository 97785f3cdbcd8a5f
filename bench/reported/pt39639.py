"""The first call of the report, beside the function that is not in place."""

import sys

import torch

mask = torch.BoolTensor([[False, True, False, False], [False, False, False, False]])
expected = torch.LongTensor([[0], [1]]).expand(2, 4).masked_fill(mask, 3).tolist()
try:
    got = torch.LongTensor([[0], [1]]).expand(2, 4).masked_fill_(mask, 3).tolist()
except RuntimeError as error:
    print("refused: %s" % error)
    sys.exit(0)
print(got)
sys.exit(int(got != expected))
