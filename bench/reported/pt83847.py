"""The call of the pull request: an image of ones enlarged to twice its size."""

import sys

import torch

image = torch.ones(1, 3, 320, 480).bfloat16().to(memory_format=torch.channels_last)
wrong = torch.nn.functional.interpolate(image, size=(640, 960), mode="bilinear", align_corners=False) != 1
print("%d numbers are not one" % wrong.sum())
sys.exit(int(wrong.any()))
