"""The study rebuilt from the database, beside what the paper printed.

For notebooks: ``reading = study.read()`` counts everything once; then ``reading.frame("figure_3")`` is a pandas table,
``reading.picture("figure_3")`` its picture, ``reading.shown("figure_3")`` the table as people read it.
"""

from torch_embers.study.reading import Picture, Reading, Shown, as_shown, newest_day, read

__all__ = ["Picture", "Reading", "Shown", "as_shown", "newest_day", "read"]
