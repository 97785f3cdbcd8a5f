"""Whether the stand-in servers can run here, and their one-time installation from npm."""

from __future__ import annotations

import fcntl
import functools
import hashlib
import os
import shutil
import subprocess
from pathlib import Path

HERE = Path(__file__).parent
MODULES = HERE / "node_modules"
OPENAPI = MODULES / "@octokit" / "openapi" / "generated" / "api.github.com.json"
"""GitHub's own description of its REST API."""
STAMP = MODULES / ".installed"
OLDEST_NODE = 20
INSTALL_SECONDS = 300
REQUIRE = "EMBERS_REQUIRE_SERVERS"
"""Set to 1 where a missing server is a failure and not a reason to skip (CI)."""


def node_ready() -> str | None:
    """Install the Node packages if needed; return why they cannot be used, or ``None``.

    Raises AssertionError instead of returning a reason when EMBERS_REQUIRE_SERVERS=1.
    """
    return _strict(_node_reason())


def java_ready() -> str | None:
    """Like ``node_ready`` for WireMock, which needs a Java runtime as well."""
    return _strict(_node_reason() or _java_reason())


def wiremock_jar() -> Path:
    """Return the installed WireMock jar. Raises FileNotFoundError when there is none."""
    jars = sorted((MODULES / "wiremock" / "build").glob("*.jar"))
    if not jars:
        raise FileNotFoundError("WireMock's jar is not installed; call java_ready() first")
    return jars[-1]


def _strict(reason: str | None) -> str | None:
    if reason is not None and os.environ.get(REQUIRE) == "1":
        raise AssertionError(f"stand-in servers are required here: {reason}")
    return reason


@functools.cache
def _node_reason() -> str | None:
    if shutil.which("node") is None or shutil.which("npm") is None:
        return "node not found"
    answer = subprocess.run(["node", "--version"], capture_output=True, text=True, timeout=30, check=False)
    major = answer.stdout.strip().lstrip("v").split(".")[0]
    if not major.isdigit() or int(major) < OLDEST_NODE:
        return f"node {answer.stdout.strip() or '?'} is older than {OLDEST_NODE}"
    return _install()


@functools.cache
def _java_reason() -> str | None:
    if shutil.which("java") is None:
        return "java not found"
    answer = subprocess.run(["java", "-version"], capture_output=True, text=True, timeout=30, check=False)
    return None if answer.returncode == 0 else f"java does not run: {answer.stderr.strip()[:200]}"


def _install() -> str | None:
    inputs = (HERE / "package.json").read_bytes() + (HERE / "package-lock.json").read_bytes()
    wanted = hashlib.sha256(inputs).hexdigest()
    with (HERE / ".install.lock").open("w") as lock:
        # Several test processes may start at once; the first installs, the others wait.
        fcntl.flock(lock, fcntl.LOCK_EX)
        if STAMP.is_file() and STAMP.read_text() == wanted:
            return None
        # `ci` installs exactly the lock file and never rewrites it. No install script of these packages is
        # needed, and one of them only reports usage to its maker.
        # One retry: a machine without a network should skip these tests soon.
        quiet = ["--no-audit", "--no-fund", "--loglevel=error"]
        command = ["npm", "ci", "--ignore-scripts", "--fetch-retries=1", *quiet]
        try:
            done = subprocess.run(
                command, cwd=HERE, capture_output=True, text=True, timeout=INSTALL_SECONDS, check=False
            )
        except subprocess.TimeoutExpired:
            return f"npm ci failed: no end after {INSTALL_SECONDS} s"
        if done.returncode != 0:
            return f"npm ci failed: {(done.stderr or done.stdout).strip()[-300:]}"
        _drop_unread_documents()
        STAMP.write_text(wanted)
        return None


def _drop_unread_documents() -> None:
    # 400 MB of the installed packages are OpenAPI documents of GitHub Enterprise that nothing here reads.
    for path in OPENAPI.parent.glob("*.json"):
        if path != OPENAPI:
            path.unlink()
