"""The live tracker: client, listings and their cursors, what no listing shows."""
