"""End-to-end tests of what embers promises: each test states one promise in its docstring and looks from outside only.

No change may weaken them; a change of a promise needs a line in CHANGELOG.md that says why.
"""
