"""The layer and the mask of the report: with and without weights the output should be the same."""

import sys

import torch

torch.manual_seed(0)
tokens = torch.randn(1, 5, 3)
mask = torch.tensor([False, False, True]).view(-1, 1, 1).expand(-1, 5, 5)
layer = torch.nn.MultiheadAttention(3, 3, batch_first=True)
output, _ = layer(tokens, tokens, tokens, attn_mask=mask, average_attn_weights=False, need_weights=True)
print("%d of %d numbers are NaN" % (output.isnan().sum(), output.numel()))
sys.exit(int(output.isnan().any()))
