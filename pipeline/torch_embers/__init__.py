"""embers: mine PyTorch's tracker, link bugs to fixes and repros, and keep re-checking them."""

from importlib.metadata import PackageNotFoundError, version

try:
    __version__ = version("torch-embers")
except PackageNotFoundError:  # a source tree on sys.path, never installed
    __version__ = "0.0.0+source"
