"""What `--verbose` logs, as a terminal may show it."""

from __future__ import annotations

import logging

from torch_embers.escaping import visible


class VisibleFormatter(logging.Formatter):
    """Log lines as a terminal may show them: servers and repositories put their own words into them."""

    def format(self, record: logging.LogRecord) -> str:
        """The line without what nobody sees."""
        return visible(super().format(record))
