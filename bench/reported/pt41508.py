"""The layer and the masks of the report."""

import sys

import torch

torch.manual_seed(0)
layer = torch.nn.MultiheadAttention(embed_dim=1, num_heads=1)
steps = torch.rand(3, 2, 1)
padding = torch.as_tensor([[False, False, False], [False, True, True]])
hidden = float("-inf")
window = torch.as_tensor([[0.0, hidden, hidden], [0.0, 0.0, hidden], [hidden, 0.0, 0.0]])
output, _ = layer(steps, steps, steps, key_padding_mask=padding, attn_mask=window)
output[0, :].sum().backward()
wrong = [name for name, weight in layer.named_parameters() if weight.grad.isnan().any()]
print("NaN in the gradients of %s" % wrong)
sys.exit(int(bool(wrong)))
