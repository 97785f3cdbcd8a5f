"""Ground: what was said, object by object, and the tables that are derived from it in SQL."""
