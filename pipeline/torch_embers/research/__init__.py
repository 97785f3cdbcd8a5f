"""Questions to installed builds that nobody else asks: the skip ledger of PyTorch's own tests."""
