"""What `make site` adds to mkdocs: the README as the first page, long lists, and the files that pages link to."""

from __future__ import annotations

import re
from pathlib import Path, PurePosixPath
from typing import Any

from docs import filled
from mkdocs.structure.files import File

ROOT = Path(__file__).resolve().parents[1]
START_SOURCE, START = PurePosixPath("README.md"), "index.md"
COPIES = "files"
"""Folder of the site for files that lie outside of docs/."""
LINK = re.compile(r"(?<=\]\()(?P<path>[\w./-]+?)(?P<anchor>#[\w-]+)?(?=\))")


def on_files(files: Any, config: Any) -> Any:
    """Make the README a page, and add every file outside of docs/ that a page names, and those that these name."""
    waiting = {START_SOURCE} | {PurePosixPath("docs", page.src_uri) for page in files.documentation_pages()}
    added: set[PurePosixPath] = set()
    while waiting:
        source = waiting.pop()
        for target in _targets(source) - added - {START_SOURCE}:
            if not target.is_relative_to("docs"):
                added.add(target)
                waiting |= {target} if target.suffix == ".md" else set()
    for source in sorted({START_SOURCE, *added}):
        uri = str(_uri(source))
        if source.suffix == ".md":
            files.append(File.generated(config, uri, content=moved(_text(source), source)))
        else:
            files.append(File.generated(config, uri, abs_src_path=str(ROOT / source)))
    return files


def on_page_markdown(text: str, page: Any, **_: Any) -> str:
    """Put in what only the site has, and point links out of docs/ to the copies."""
    source = PurePosixPath("docs", page.file.src_uri)
    return moved(_text(source), source) if (ROOT / source).is_file() else text


def moved(text: str, source: PurePosixPath) -> str:
    """Rewrite relative links of a text of the checkout for its place in the site."""
    up = "../" * (len(_uri(source).parts) - 1)

    def link(match: re.Match[str]) -> str:
        target = _target(source, match["path"])
        return match[0] if target is None else f"{up}{_uri(target)}{match['anchor'] or ''}"

    return LINK.sub(link, text)


def _uri(source: PurePosixPath) -> PurePosixPath:
    """Where a file of the checkout lies in the site."""
    if source == START_SOURCE:
        return PurePosixPath(START)
    if source.is_relative_to("docs"):
        return source.relative_to("docs")
    return PurePosixPath(COPIES, str(source).lstrip("."))  # mkdocs leaves out hidden files


def _target(source: PurePosixPath, path: str) -> PurePosixPath | None:
    """The file of the checkout that a link names; None where it names none."""
    resolved = (ROOT / source.parent / path).resolve()
    if not resolved.is_file() or not resolved.is_relative_to(ROOT):
        return None
    return PurePosixPath(resolved.relative_to(ROOT).as_posix())


def _targets(source: PurePosixPath) -> set[PurePosixPath]:
    """The files of the checkout that a page links to."""
    found = {_target(source, match["path"]) for match in LINK.finditer(_text(source))}
    return {target for target in found if target is not None}


def _text(source: PurePosixPath) -> str:
    return filled((ROOT / source).read_text(encoding="utf-8"))
