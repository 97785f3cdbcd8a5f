"""Timelines: what the script of a report does on each build, compared, and looked for in the report's text."""
