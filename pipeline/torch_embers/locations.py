"""Where the user's files are, for settings and for commands that need the database alone."""

from __future__ import annotations

from pathlib import Path

from torch_embers import resources

SETTINGS_FILE = Path("embers.toml")


def user_data_dir() -> Path:
    """The folder for data of embers outside a checkout."""
    import platformdirs  # a checkout does without

    return Path(platformdirs.user_data_dir("embers"))


def default_database() -> Path:
    """``data/embers.duckdb`` in a checkout, the user's data folder otherwise."""
    home = resources.CHECKOUT_DIR / "data" if resources.in_checkout() else user_data_dir()
    return home / "embers.duckdb"


def default_builds_dir() -> Path:
    """Where installed and registered PyTorch builds are kept: the user's data folder."""
    return user_data_dir() / "builds"
