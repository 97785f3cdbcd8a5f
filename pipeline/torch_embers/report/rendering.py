"""Templates with every value escaped: what comes from outside is text and stays text."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined, pass_context
from markupsafe import Markup

from torch_embers import resources
from torch_embers.atom_output import iso
from torch_embers.escaping import visible
from torch_embers.report import documentation
from torch_embers.taxonomy import Taxonomy
from torch_embers.verdicts.matrix import span
from torch_embers.version import __version__
from torch_embers.views.script_text import MATCHES, ending

if TYPE_CHECKING:
    from datetime import datetime

    from jinja2.runtime import Context

POLICY = "; ".join(
    (
        *("default-src 'none'", "script-src 'self'", "style-src 'self'", "img-src 'self'"),
        *("base-uri 'none'", "form-action 'none'"),
    )
)
"""Nothing is loaded but files of the site, and nothing that stands in a page is run or styles it."""
MARKS = {
    "occurs": "✗",
    "absent": "✓",
    "not_seen": "○",
    "changed": "≠",
    "control_failed": "!",
    "untestable": "–",
    "inconclusive": "?",
    "as_reported": "✗",
    "as_expected": "✓",
    "fails": "✗",
    "passes": "✓",
    "other": "·",
    "gap": "–",
}
"""Marks of what is seen on a release, so that no page relies on colour alone."""
LONGEST_NAME = 40
"""Characters of a cell beyond which it holds a sentence."""
_JOINT = re.compile(r"(?<=[._])(?=\w)")
_NUMBER = re.compile(r"[+-]?[\d,.]+(e[+-]?\d+)?%?")
NAVIGATION = (
    ("index.html", "Start"),
    ("items.html", "Items"),
    ("releases.html", "Releases"),
    ("classes.html", "Classes"),
)
MORE = (
    ("operators.html", "Operators"),
    ("components.html", "Components"),
    ("hunt.html", "Hunt"),
    ("hunt_map.html", "Hunt map"),
    ("study.html", "Study"),
    ("provenance.html", "Provenance"),
)


DOCUMENTATION = (f"{documentation.FOLDER}/{documentation.START}", "Documentation")


def environment(newest: datetime | None, *, has_docs: bool = False) -> Environment:
    """The templates of the report.

    Args:
        newest: the date that the pages state.
        has_docs: whether the documentation is a part of the site.
    """
    made = Environment(
        loader=FileSystemLoader(resources.package_file("report", "templates", "base.html").parent),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        auto_reload=False,
        finalize=_seen,
    )
    made.filters |= {"day": day, "moment": _moment, "iso": iso, "number": _number, "words": words}
    made.filters |= {"breakable": breakable, "cell_class": cell_class}
    made.filters |= {"ending": ending, "span": span}
    made.globals |= {
        "matches": MATCHES,
        "document": _document if has_docs else _named,
        "marks": MARKS,
        "navigation": NAVIGATION,
        "more_pages": (*MORE, DOCUMENTATION) if has_docs else MORE,
        "newest": newest,
        "policy": POLICY,
        "version": __version__,
    }
    return made


@pass_context
def _document(context: Context, name: str) -> Markup:
    """A page of the documentation as a link; it is a part of the site."""
    page = f"{context['root']}{documentation.FOLDER}/{name.removesuffix('.md')}.html"
    return Markup('<a href="{}">docs/{}</a>').format(page, name)


def _named(name: str) -> Markup:
    """A page of the documentation by its place in the repository; it is no part of the site."""
    return Markup("<code>docs/{}</code>").format(name)


def _seen(value: Any) -> Any:
    """A value without characters that nobody sees; marks that turn the direction of text are among them."""
    return visible(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def day(moment: datetime | None) -> str:
    """A day as ISO text; empty where unknown."""
    return moment.strftime("%Y-%m-%d") if moment else ""


def _moment(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%d %H:%M UTC")


def _number(value: int) -> str:
    return f"{value:,}"


def breakable(names: str) -> Markup:
    """Dotted names that a narrow window may break behind their dots and underscores, and not within a word."""
    return Markup("<wbr>").join(_JOINT.split(visible(names)))  # it escapes each part


def cell_class(cell: str) -> str:
    """The class of a cell of a table of the study: a number stays in one line, a sentence gets room."""
    if _NUMBER.fullmatch(cell):
        return "num"
    return "text" if len(cell) > LONGEST_NAME else ""


@cache
def class_name(scheme: str, value: str) -> str:
    """A class with the name by which people look for it, where it has one."""
    aliases = [alias for alias, named in Taxonomy.load().aliases.items() if named == f"{scheme}={value}"]
    return f"{value} ({aliases[0]})" if aliases else value


def words(text: str) -> str:
    """A name of a column or class as words."""
    return text.replace("_", " ")
