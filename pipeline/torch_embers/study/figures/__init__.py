"""The study's tables and figures, both called figures here: a query in analysis/ each, its rows as CSV, its picture."""
