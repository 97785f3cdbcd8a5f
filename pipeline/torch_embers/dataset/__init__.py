"""The citable dataset: facts, labels, links, cases and verdicts as files for other researchers."""
