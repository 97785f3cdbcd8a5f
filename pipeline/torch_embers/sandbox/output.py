"""What a hostile script printed, made safe to show: no escape code reaches a terminal, no trick reorders text."""

from __future__ import annotations

import re

INVISIBLE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2064\u2066-\u206f\ufeff\ufff9-\ufffb\U000e0000-\U000e007f\ud800-\udfff]"
)
"""Control characters but newline and tab, direction marks, separators and tags that do not show, lone surrogates."""


def harmless(data: bytes) -> str:
    """Return ``data`` as text in which every control or invisible character is written out by its number.

    Bytes that are not UTF-8 are written out, too; a carriage return before a newline is dropped. Pure; never fails.
    """
    text = data.decode("utf-8", errors="backslashreplace").replace("\r\n", "\n")
    return INVISIBLE.sub(_written_out, text)


def _written_out(match: re.Match[str]) -> str:
    code = ord(match[0])
    if code <= 0xFF:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"
