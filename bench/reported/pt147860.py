"""The numbers of the report: is addmv with a bias as near as the product and the sum one after the other?"""

import sys

import torch

bias = torch.tensor([5.8438, -6.3125], dtype=torch.bfloat16)
rows = (
    [4.3125, -6.4375, -3.8125, 4.3125, 8.2500, -5.4062, -3.2656, -5.4688, 6.1562, -2.9062],
    [7.0000, 0.7617, 5.1875, -4.9375, 4.5625, -6.5938, -0.9023, 6.4375, -2.4219, -3.3906],
)
matrix = torch.tensor(rows, dtype=torch.bfloat16)
vector = torch.tensor(
    [5.6875, -8.0000, 8.0625, 5.0000, -4.7812, 7.4375, -1.4766, 3.2344, 1.9688, -3.3125], dtype=torch.bfloat16
)
got = torch.addmv(bias, matrix, vector, alpha=1, beta=1)
print(got.tolist())
# 1.9219 and 2.3125 are due; a step of bfloat16 is 0.0078 and 0.0156 there.
sys.exit(int((got.double() - torch.tensor([1.9219, 2.3125]).double()).abs().max() > 0.05))
