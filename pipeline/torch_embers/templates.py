"""Pages from templates, as Markdown or for a terminal: each value is text from outside and stays text, in one line."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from torch_embers import resources
from torch_embers.escaping import item_link, markdown, markdown_block, visible

_SPACE = re.compile(r"\s+")


def render(package: str, name: str, **values: Any) -> str:
    """The page that a template makes of values.

    In ``NAME.md`` values are escaped for Markdown; in ``NAME.txt``, which ``console.print_page`` prints, they hold
    nothing unseen. A statement on a line of its own begins with ``{%-``: it takes its line end along. Filters beside
    those of Jinja:

    - ``text|upto(n)``: at most n characters; in Markdown it is 300 without this filter;
    - ``text|code``: Python code, as a block that the text cannot leave;
    - ``lines|block``: such a block of lines for a terminal;
    - ``repo|item(number)``: a link in Markdown that leaves no trace at the item.

    Args:
        package: below ``torch_embers``; the template is in its folder ``templates``.
        name: of the template.
        values: plain data.
    """
    return _environment(package, name).get_template(name).render(values)


@cache
def _environment(package: str, name: str) -> Environment:
    escape = markdown if name.endswith(".md") else _in_one_line
    made = Environment(
        loader=FileSystemLoader(resources.package_file(package, "templates", name).parent),
        autoescape=False,  # noqa: S701 - this is no HTML: `finalize` escapes
        undefined=StrictUndefined,
        keep_trailing_newline=True,
        finalize=lambda value: value if isinstance(value, Markup) else escape(str(value)),
    )
    made.filters |= {
        "upto": lambda text, most: Markup(escape(text, most)),  # noqa: S704 - escaped
        "code": lambda text: Markup(markdown_block(text, "python")),  # noqa: S704 - behind a fence
        "block": lambda lines: Markup("\n".join(["```", *(f"  {visible(line)}" for line in lines), "```"])),  # noqa: S704
        "item": lambda repo, number: Markup(item_link(repo, number)),  # noqa: S704 - escaped
    }
    return made


def _in_one_line(text: str, most: int | None = None) -> str:
    shown = _SPACE.sub(" ", visible(text))
    return shown if most is None or len(shown) <= most else f"{shown[:most]}..."
