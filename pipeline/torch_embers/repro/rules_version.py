"""The version of the rules of extraction: items are read again when it is raised, and only then.

A test compares ``RULES_DIGEST`` with the code and the data that decide an extraction. When it fails, set the digest to
the one that it prints. Raise ``RULES_VERSION`` as well, unless the change can alter no extraction.
"""

RULES_VERSION = 9
RULES_DIGEST = "6f78f393ca7bafde"
