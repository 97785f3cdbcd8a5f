"""The classifier: what it reads, how it is fitted, how it is kept."""
