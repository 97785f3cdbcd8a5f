"""Makes scripts small that show a bug."""
