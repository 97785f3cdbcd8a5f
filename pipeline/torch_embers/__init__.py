"""embers: mine PyTorch's issues and pull requests, link bugs to fixes and repros, and keep re-checking them."""

from torch_embers.version import __version__

__all__ = ["__version__"]
