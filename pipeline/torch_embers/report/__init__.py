"""The report: a static site of what the database holds, with data files, a feed and badges beside it.

``source.py`` reads the database once, ``facts.py`` joins what belongs to an item, pure modules turn that into pages and
files, and ``folder.py`` puts all of them in place at once. All text from outside is escaped by the templates.
"""
