"""Rules in code have a version: stored results are made anew when it is raised, and it must be raised when they change."""

from __future__ import annotations

import ast
from hashlib import blake2b

import pytest

from torch_embers import resources
from torch_embers.classify import text
from torch_embers.classify.labels import weak

CLEANING = ("text.py", "cleaning/blocks.py", "cleaning/reading.py", "cleaning/rules.py")
LABELLING = ("labels/weak.py", "labels/labelling_file.py")


def code_digest(files: tuple[str, ...]) -> str:
    """Hash of the code of some files of classify/, without comments and docstrings."""
    digest = blake2b(digest_size=8)
    for name in files:
        tree = ast.parse(resources.package_file("classify", *name.split("/")).read_bytes())
        for node in ast.walk(tree):
            if isinstance(body := getattr(node, "body", None), list):
                body[:] = [part for part in body if not _is_text(part)]
        digest.update(ast.dump(tree).encode())
    return digest.hexdigest()


def _is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


@pytest.mark.parametrize(
    ("version", "files", "known"),
    [
        (text.RULES_VERSION, CLEANING, (2, "e381245c12f688c7")),
        (weak.RULES_VERSION, LABELLING, (2, "89247223addef4e4")),
    ],
    ids=["cleaning", "labelling"],
)
def test_changed_rules_raise_their_version(version: int, files: tuple[str, ...], known: tuple[int, str]) -> None:
    assert (version, code_digest(files)) == known, (
        "the code changed: raise RULES_VERSION if a text or a vote can come out differently, then record both here"
    )
