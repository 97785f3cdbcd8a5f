"""Both comparisons of the report, beside the answer of wider integers."""

import sys

import torch

values = torch.tensor([1, 2, 3, 4], dtype=torch.uint8)
other = torch.tensor(-19, dtype=torch.int8)
got = torch.le(values, other).tolist() + torch.ge(other, values).tolist()
print(got)
sys.exit(int(any(got)))
