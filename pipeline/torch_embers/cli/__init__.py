"""The command `embers`: parse, call, print. Everything else lives in the rooms.

A module per room; functions import their room when they are called, so that `embers --help` and light commands need no
heavy package. Modules of commands lack ``from __future__ import annotations``: Typer reads the annotations as objects.
"""

import os

try:
    from torch_embers.cli.application import app
    from torch_embers.cli.entry import main
except KeyboardInterrupt:
    os.write(2, b"interrupted before anything was begun\n")
    os._exit(130)

__all__ = ["app", "main"]
