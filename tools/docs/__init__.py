"""Writes the generated parts of README.md and docs/: `python tools/docs` (`--check`: only name the stale files).

A generated part stands between ``<!-- generated: NAME -->`` and ``<!-- end -->``; everything else is written by hand
and left alone. ``blocks.py`` names the function behind every NAME. It lies in the module of its page and takes the
facts from the place that decides them: options from the command line's own declarations, tables from the schema,
relations and signals from data/*.toml, counts from data/catalog.jsonl, figures from what the programs in bench/ wrote,
and examples from commands that are run on a database of the catalog alone.

To add a part: a function that returns Markdown, in the module of its page (or a new module), made of the pieces in
``markdown.py``; a line in ``blocks.py``; the two marks on the page.
"""
