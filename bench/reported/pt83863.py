"""The product of the report, without the vendor's library."""

import sys

import torch

ones = torch.ones(1024, 1024).to(torch.bfloat16)
with torch.backends.mkldnn.flags(enabled=False):
    got = torch.matmul(ones, ones)
print("numbers between %g and %g" % (got.min(), got.max()))
sys.exit(int((got != 1024).any()))
