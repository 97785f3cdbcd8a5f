"""Text from outside on its way out: to a terminal, into a CSV file, into Markdown. One function for each.

Titles, bodies, labels and outputs are untrusted text. A terminal obeys escape sequences, an editor shows text
under U+202E backwards, a spreadsheet runs what begins with ``=``, and GitHub notifies whoever a pasted comment names.
Parquet and JSON keep texts as they came: they are data, and programs read them.
"""

from __future__ import annotations

import re
from urllib.parse import quote

_RANGES = (
    *((0x00, 0x08), (0x0B, 0x0C), (0x0E, 0x1F), (0x7F, 0x9F)),  # controls, but for tabs and line ends
    *((0xAD, 0xAD), (0x34F, 0x34F), (0x61C, 0x61C), (0x115F, 0x1160), (0x17B4, 0x17B5), (0x180B, 0x180F)),
    *((0x200B, 0x200F), (0x202A, 0x202E), (0x2060, 0x206F)),  # of no width, and what turns the direction of text
    *((0x3164, 0x3164), (0xFE00, 0xFE0F), (0xFEFF, 0xFEFF), (0xFFA0, 0xFFA0), (0xFFF0, 0xFFFB)),
    # the last: tags and variation selectors, hidden alphabets
    *((0x1BCA0, 0x1BCA3), (0x1D173, 0x1D17A), (0xE0000, 0xE0FFF)),
)
UNSEEN = "[{}]".format("".join(rf"\x{{{first:x}}}-\x{{{last:x}}}" for first, last in _RANGES))
"""Characters that nobody sees, as a class of RE2, for the database; ``visible`` takes out the same ones."""
SEPARATORS = r"[\x{2028}-\x{2029}]"
"""Line and paragraph separators, for the database; a blank stands for them."""
FORMULA = r"^'*[=+\-@\t\r\n＝＋－＠]"
"""How a text begins that a spreadsheet may execute, also with full-width signs (OWASP, CSV injection)."""
NUMBER = r"^[+-]?[0-9]{1,40}(\.[0-9]{1,40})?([eE][+-]?[0-9]{1,3})?$"
"""A number is no formula, also with a sign."""

_CLASS = "".join(f"{chr(first)}-{chr(last)}" for first, last in _RANGES)
WRITTEN_OUT = re.compile(f"[{_CLASS}\r\u2028\u2029\ud800-\udfff]")
"""What ``visible`` takes out or changes, one character a match."""
_UNSEEN = re.compile(f"[{_CLASS}]")
_SEPARATORS = re.compile("[\u2028\u2029]")
_SURROGATES = re.compile("[\ud800-\udfff]")
_FORMULA = re.compile(FORMULA)
_NUMBER = re.compile(NUMBER)

_MARKS = re.compile(r"[\\`|<>\[\]*_#~&$]")
_BREAK = "&#8203;"
"""A place of no width: GitHub makes no link and notifies nobody across it. Written out, so that the source shows it."""
_LINKED = re.compile(r"@|(?<=#)(?=\d)|(?<=\bgh-)(?=\d)|(?<=:)(?=//)|(?<=\bwww)(?=\.)", re.IGNORECASE)


def visible(text: str) -> str:
    """The text without what nobody sees: controls, escape sequences' beginnings, direction marks, no-width characters.

    Tabs and line feeds stay, other line ends become line feeds, and lone surrogates become U+FFFD.
    """
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    return _seen(text)


def _seen(text: str) -> str:
    if text.isascii() and text.isprintable():
        return text
    return _SURROGATES.sub("\ufffd", _SEPARATORS.sub(" ", _UNSEEN.sub("", text)))


def csv_text(text: str) -> str:
    """Text for a cell of a CSV file: nothing unseen, and no formula; line ends stay as they are."""
    return guarded(_seen(text))


def csv_cell(value: object) -> object:
    """A value for a cell of a CSV file; only texts are changed."""
    return csv_text(value) if isinstance(value, str) else value


def csv_sql(expression: str) -> str:
    """SQL of DuckDB that does to a text what ``csv_text`` does."""
    seen = f"regexp_replace(regexp_replace({expression}, '{UNSEEN}', '', 'g'), '{SEPARATORS}', ' ', 'g')"
    formula, number = (pattern.replace("'", "''") for pattern in (FORMULA, NUMBER))
    return (
        f"CASE WHEN regexp_matches({seen}, '{formula}') AND NOT regexp_matches({seen}, '{number}') "
        f"THEN '''' || {seen} ELSE {seen} END"
    )


def guarded(text: str) -> str:
    """The text, with an apostrophe in front where a spreadsheet may take it for a formula.

    So that this can be undone, a text that begins with apostrophes and would be taken for one without them gets one
    more.
    """
    return f"'{text}" if _FORMULA.match(text) and not _NUMBER.match(text) else text


def unguarded(text: str) -> str:
    """The text that ``guarded`` was given."""
    return text[1:] if text.startswith("'") and _FORMULA.match(text) else text


def markdown(text: str, longest: int = 300) -> str:
    """Text that stays text in Markdown, in one line: no cell is left, nobody is notified, nothing becomes a link."""
    kept = " ".join(visible(text).split())[:longest]
    broken = _LINKED.sub(lambda found: f"{found[0]}\0", kept)
    return _MARKS.sub(r"\\\g<0>", broken).replace("\0", _BREAK)


def markdown_block(text: str, language: str = "") -> str:
    """Text as a block of code of Markdown, behind a fence that is longer than any in it; nothing in it is obeyed."""
    shown = visible(text)  # first: what is taken out could have parted back-ticks
    longest = max((len(run) for run in re.findall("`+", shown)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{shown}\n{fence}"


def github_data(text: str, longest: int = 1_000) -> str:
    """Text as the message of a workflow command of GitHub Actions: one line, which ends no command and begins none."""
    return " ".join(visible(text).split())[:longest].replace("%", "%25")


def github_property(text: str, longest: int = 200) -> str:
    """Text as a property of such a command, where colon and comma mean something, too."""
    return github_data(text, longest).replace(":", "%3A").replace(",", "%2C")


def xml_text(text: str) -> str:
    """Text without what XML 1.0 cannot hold, and without what nobody sees."""
    return "".join(c for c in visible(text) if c in "\t\n" or 0x20 <= ord(c) < 0xD800 or 0xE000 <= ord(c) < 0xFFFE)


def item_link(repo: str, number: int) -> str:
    """A link to an item that leaves no trace there: GitHub counts addresses of its redirect service as no mention."""
    return f"[{markdown(f'{repo}#{number}')}](https://redirect.github.com/{quote(repo)}/issues/{number})"
