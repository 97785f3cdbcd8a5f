"""Markdown from templates: each value is text from outside and is escaped, unless a filter made Markdown of it."""

from __future__ import annotations

from functools import cache
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from torch_embers import resources
from torch_embers.escaping import item_link, markdown, markdown_block


def render(package: str, name: str, **values: Any) -> str:
    """The page that a template makes of values.

    Its filters beside those of Jinja: ``text|upto(n)`` escapes at most n characters (without it 300), ``text|code`` is
    a block of Python code that the text cannot leave, ``repo|item(number)`` a link that leaves no trace at the item.

    Args:
        package: below ``torch_embers``; the template is in its folder ``templates``.
        name: of the template.
        values: plain data.
    """
    return _environment(package, name).get_template(name).render(values)


@cache
def _environment(package: str, name: str) -> Environment:
    made = Environment(
        loader=FileSystemLoader(resources.package_file(package, "templates", name).parent),
        autoescape=False,  # noqa: S701 - this is no HTML: `finalize` escapes for Markdown
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        finalize=lambda value: value if isinstance(value, Markup) else markdown(str(value)),
    )
    made.filters |= {
        "upto": lambda text, most: Markup(markdown(text, most)),  # noqa: S704 - escaped
        "code": lambda text: Markup(markdown_block(text, "python")),  # noqa: S704 - behind a fence
        "item": lambda repo, number: Markup(item_link(repo, number)),  # noqa: S704 - escaped
    }
    return made
