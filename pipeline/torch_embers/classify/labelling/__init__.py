"""Labelling by hand at the terminal: what to ask next, the walk, the journal."""
