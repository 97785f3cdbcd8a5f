"""Tables and figures: one query in analysis/ each, its rows as CSV, its picture."""
