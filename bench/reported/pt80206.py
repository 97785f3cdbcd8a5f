"""The gradient check of the report."""

import sys

import torch

target = torch.tensor([0, 0, 1, 1], dtype=torch.uint8)
scores = torch.tensor([[0.9707, 0.2672, 0.2389, 0.6876]], dtype=torch.float64, requires_grad=True)
try:
    torch.autograd.gradcheck(lambda s: torch.nn.functional.soft_margin_loss(s, target), (scores,), atol=0.01, rtol=0.01)
except Exception as error:
    print(" ".join(str(error).split())[:150])
    sys.exit(1)
print("the gradient is right")
