"""The second call of the report: 1 and 4, or a refusal, is due."""

import sys

import torch

source = torch.tensor([[1, 2], [3, 4]], dtype=torch.int)
mask = torch.tensor([[True, False], [False, True]], dtype=torch.bool)
try:
    got = torch.ops.aten.index.Tensor_out(source, [mask], out=torch.tensor([0, 0], dtype=torch.long)).tolist()
except RuntimeError as error:
    print("refused: %s" % error)
    sys.exit(0)
print(got)
sys.exit(int(got != [1, 4]))
