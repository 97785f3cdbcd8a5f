"""``python -m torch_embers`` is ``embers``."""

from torch_embers.cli import main

if __name__ == "__main__":
    main()
