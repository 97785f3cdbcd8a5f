"""What refers to what, and which part of PyTorch an item is about."""
