"""What a hostile script printed, made safe to show: no escape code reaches a terminal, no trick reorders text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_embers.escaping import WRITTEN_OUT

if TYPE_CHECKING:
    import re


def harmless(data: bytes) -> str:
    """Return ``data`` as text in which every control or invisible character is written out by its number.

    Bytes that are not UTF-8 are written out, too; a carriage return before a newline is dropped. Pure; never fails.
    """
    text = data.decode("utf-8", errors="backslashreplace").replace("\r\n", "\n")
    return WRITTEN_OUT.sub(_written_out, text)


def _written_out(match: re.Match[str]) -> str:
    code = ord(match[0])
    if code <= 0xFF:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"
