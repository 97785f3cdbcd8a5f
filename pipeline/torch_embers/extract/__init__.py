"""From the text of a report to its script, taken as it is; executes nothing."""
