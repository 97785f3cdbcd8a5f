"""Runs on the nodes of a Ray cluster: what a node does, which nodes take part, and who gives them work."""
