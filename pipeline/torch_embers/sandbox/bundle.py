"""One script that holds the oracles, their rules and what to do: it runs in any build, which has nothing of embers."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from torch_embers import resources

if TYPE_CHECKING:
    from collections.abc import Mapping

PACKAGE = "torch_embers.oracles"


def script(module: str, function: str, options: Mapping[str, Any]) -> str:
    """The text of a script that calls a function of ``oracles/`` with options.

    Args:
        module: file in ``oracles/`` without its ending.
        function: of that module; takes the options.
        options: plain data; goes along as JSON.
    """
    folder = resources.package_file("oracles", "__init__.py").parent
    sources = {
        f"{PACKAGE}.{path.stem}": path.read_text(encoding="utf-8")
        for path in sorted(folder.glob("*.py"))
        if path.stem != "__init__"
    }
    return TEMPLATE.format(
        sources=json.dumps(json.dumps(sources)),
        options=json.dumps(json.dumps(dict(options))),
        module=f"{PACKAGE}.{module}",
        function=function,
    )


TEMPLATE = """import importlib
import importlib.abc
import importlib.util
import json
import sys
import types

SOURCES = json.loads({sources})


class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    carries_embers = True

    def find_spec(self, name, path, target=None):
        return importlib.util.spec_from_loader(name, self) if name in SOURCES else None

    def exec_module(self, module):
        name = module.__name__
        module.__file__ = "<embers %s>" % name
        exec(compile(SOURCES[name], module.__file__, "exec", dont_inherit=True), module.__dict__)


for name in ("torch_embers", "torch_embers.oracles"):
    sys.modules[name] = types.ModuleType(name)
    sys.modules[name].__path__ = []
sys.meta_path.insert(0, Finder())
importlib.import_module("{module}").{function}(json.loads({options}))
"""
