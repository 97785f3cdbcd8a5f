"""The study rebuilt from the database, beside what the paper printed."""
