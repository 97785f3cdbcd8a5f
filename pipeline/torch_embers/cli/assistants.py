"""The command mcp."""

from torch_embers import packages
from torch_embers.cli.options import DatabaseOption, RepoOption, settings_at, store_at


def mcp(repo: RepoOption = None, database: DatabaseOption = None) -> None:
    """Answer assistants by the Model Context Protocol.

    On standard input and output; it only reads. Tools: search, show, verdicts, timeline, audit.
    """
    packages.require("mcp", "this server needs")
    from torch_embers import mcp_server

    wanted = settings_at(database, repo)
    mcp_server.server(store_at(wanted.database), wanted.repo).run("stdio")
