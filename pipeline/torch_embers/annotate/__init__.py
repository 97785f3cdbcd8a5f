"""Labelling by hand at the terminal."""
