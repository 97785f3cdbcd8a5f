"""The history of a clone: commits, the paths that they change, and what their messages say."""
