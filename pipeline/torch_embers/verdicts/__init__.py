"""Cases on builds: runs, verdicts, the statuses of items, and what comes with embers of these."""
