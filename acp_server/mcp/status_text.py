"""Text of `/mcp`: each server's state, features, problems and last output. Contains no secret."""

from collections.abc import Iterator, Sequence

import anyio

from acp_server.mcp.json_values import line_of
from acp_server.mcp.server import Server, State
from acp_server.mcp.server_configs import described
from acp_server.session.ports.mcp import NONE
from acp_server.session.ports.mcp_configs import ServerConfig

MOST_LEFT_OUT = 10
MOST_NAME_CHARACTERS = 100
MOST_OUTPUT_LINES = 8

_STATES: dict[State, str] = {
    "waiting": "not started yet",
    "connecting": "connecting",
    "connected": "connected",
    "reconnecting": "connection lost, reconnecting",
    "failed": "failed",
    "closed": "closed",
}
WITHHELD = "not started: this workspace configures it, and you have not trusted the workspace"


def description_of(servers: Sequence[Server], withheld: Sequence[ServerConfig]) -> str:
    """Describe the servers of a session as Markdown."""
    parts = ["\n".join(_lines(server)) for server in servers]
    parts += [_heading(config, WITHHELD) for config in withheld]
    return "\n\n".join(parts) or NONE


def _lines(server: Server) -> Iterator[str]:
    yield _heading(server.config, f"{_STATES[server.state]}{_waited(server)}")
    offers = server.offers
    if server.state == "connected" or offers.tools:
        yield f"- {_counted(offers.tools, 'tool')}, {_counted(offers.prompts, 'prompt')}"
    if server.problem:
        yield f"- {server.problem}"
    for reason in offers.left_out[:MOST_LEFT_OUT]:
        yield f"- skipped: {reason}"
    if len(offers.left_out) > MOST_LEFT_OUT:
        yield f"- skipped: {len(offers.left_out) - MOST_LEFT_OUT} more"
    if server.output:
        yield "- last output:"
        yield from (f"      {line}" for line in server.output[-MOST_OUTPUT_LINES:])


def _waited(server: Server) -> str:
    """Return how long a server has been connecting, and its timeout; empty in other states."""
    if server.state != "connecting":
        return ""
    seconds = anyio.current_time() - server.since
    return f" for {seconds:.0f} s (timeout: {server.patience_seconds:g} s)"


def _heading(config: ServerConfig, state: str) -> str:
    return f"**{line_of(config.name, MOST_NAME_CHARACTERS)}** ({described(config)}): {state}"


def _counted(things: Sequence[object], noun: str) -> str:
    return f"{len(things)} {noun}{'' if len(things) == 1 else 's'}"
