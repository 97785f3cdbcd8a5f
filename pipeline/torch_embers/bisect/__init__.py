"""Since which build a bug is there, or gone: a search over builds, its evidence, and reports to paste."""
