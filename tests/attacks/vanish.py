"""Abort in native code.

Ends: signalled 6.
"""

import ctypes

ctypes.CDLL(None).abort()
