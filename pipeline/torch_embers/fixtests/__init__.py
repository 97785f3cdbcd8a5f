"""Fix tests in the database: scripts from a clone, trial runs over builds, and what these say."""
