"""Sources that are files: the catalog, JSON Lines, GH Archive."""
