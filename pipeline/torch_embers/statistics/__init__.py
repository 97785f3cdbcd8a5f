"""Pure functions over counts, labels and times: intervals, agreement, splits, metrics, survival, trends."""
