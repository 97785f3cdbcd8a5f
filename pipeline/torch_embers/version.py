"""The version of this package, as installed."""

from importlib.metadata import PackageNotFoundError, version

try:
    __version__ = version("torch-embers")
except PackageNotFoundError:  # a source tree on sys.path, never installed
    __version__ = "0.0.0+source"
