"""One typed settings object: ``embers.toml`` < environment (``EMBERS_*``) < command-line flags."""

from __future__ import annotations

import os
import re
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ConfigDict, Field, SecretStr, ValidationError

from torch_embers.errors import SettingsError
from torch_embers.locations import SETTINGS_FILE, default_builds_dir, default_database

if TYPE_CHECKING:
    from collections.abc import Iterable

DEFAULT_REPO = "pytorch/pytorch"
REPOSITORY = r"[\w.-]+/[\w.-]+"
SHIPPED_EMBEDDER = "tracker-encoder"
DEFAULT_EMBEDDER = SHIPPED_EMBEDDER
DEFAULT_API_URL = "https://api.github.com"
TOKEN_VARIABLES = ("EMBERS_TOKENS", "GITHUB_TOKEN", "GH_TOKEN")


class Settings(BaseModel):
    """Everything a run can be told from outside; field names are the keys of ``embers.toml``."""

    model_config = ConfigDict(extra="forbid")

    database: Path = Field(default_factory=default_database, description="The DuckDB file.")
    repo: str = Field(DEFAULT_REPO, pattern=f"^{REPOSITORY}$", description="Repository as owner/name.")
    embedder: str = Field(
        DEFAULT_EMBEDDER, min_length=1, description="Embedding model: the shipped one, a hub name or a folder."
    )
    api_url: str = Field(DEFAULT_API_URL, pattern=r"^https?://", description="Base address of the GitHub API.")
    allow_http: bool = Field(default=False, description="Send tokens over plain http to other machines.")
    tokens: SecretStr = Field(SecretStr(""), description="GitHub tokens, separated by commas; used in turn.")
    max_wait: float | None = Field(
        None, ge=0, description="Longest wait in seconds; by default 3,700 with a token (its hour), 120 without."
    )
    timeout: int = Field(30, ge=1, description="Seconds until one request counts as failed.")
    retries: int = Field(6, ge=0, le=50, description="How often a failed request is tried again.")
    backoff: float = Field(1.0, gt=0, description="First pause in seconds before a retry; it doubles each time.")
    secondary_wait: float = Field(60.0, gt=0, description="Pause after a secondary limit that names no time.")
    builds_dir: Path = Field(default_factory=default_builds_dir, description="Where PyTorch builds are kept.")
    builds_cap: float = Field(40.0, gt=0, description="Room in GB for builds that embers installed.")
    pause: float = Field(0.1, ge=0, description="Least seconds from the start of a request to that of the next.")

    def token_list(self) -> list[str]:
        """All tokens, without blanks or repeats; falls back to ``GITHUB_TOKEN`` and ``GH_TOKEN``."""
        texts = [self.tokens.get_secret_value()]
        if not texts[0]:
            texts = [os.environ.get(name, "") for name in TOKEN_VARIABLES[1:]]
        found = [token.strip() for text in texts for token in text.split(",")]
        return list(dict.fromkeys(token for token in found if token))


def load(**flags: Any) -> Settings:
    """Build the settings; a flag of ``None`` was not given.

    Raises:
        SettingsError: a value is impossible; the message names the field and the reason.
    """
    try:
        stored = tomllib.loads(SETTINGS_FILE.read_text(encoding="utf-8")) if SETTINGS_FILE.is_file() else {}
        outside = {name: os.environ.get(f"EMBERS_{name.upper()}") or None for name in Settings.model_fields}
        given = {name: value for name, value in [*outside.items(), *flags.items()] if value is not None}
        return Settings(**(stored | given))
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(str(part) for part in first["loc"]) or "settings"
        raise SettingsError(f"setting {field!r}: {first['msg']} (from embers.toml, EMBERS_* or a flag)") from error
    except (OSError, ValueError) as error:
        raise SettingsError(f"embers.toml cannot be read: {error}") from error


def only_repository(names: Iterable[str]) -> str:
    """The one repository that is named; PyTorch's where none is, or more than one."""
    found = set(names)
    name = found.pop() if len(found) == 1 else ""
    return name if re.fullmatch(REPOSITORY, name, re.ASCII) else DEFAULT_REPO


def project_of(repo: str) -> str:
    """What a repository is called in titles."""
    return "PyTorch" if repo == DEFAULT_REPO else repo
