"""The Python API: a database as pandas frames, one case run, texts classified.

Everything here is public and stable within a minor version; what other modules of the package offer may change.
"""

from torch_embers.api.database import Database, open_database
from torch_embers.api.labelling import classify
from torch_embers.api.running import CaseRun, run_case
from torch_embers.errors import EmbersError

__all__ = ["CaseRun", "Database", "EmbersError", "classify", "open_database", "run_case"]
