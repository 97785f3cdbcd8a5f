-- A pull request that PyTorch's bot landed by a commit is merged: the label says so.

.read closings.sql
