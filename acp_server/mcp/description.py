"""What `/mcp` shows: each server's state, tools, troubles and last words. Holds no secret."""

from collections.abc import Iterator, Sequence

import anyio

from acp_server.mcp.configuration import described
from acp_server.mcp.reading import line_of
from acp_server.mcp.server import Server, State
from acp_server.session.server_configs import ServerConfig
from acp_server.session.servers import NONE

MOST_LEFT_OUT = 10
MOST_NAME_CHARACTERS = 100
MOST_OUTPUT_LINES = 8

_STATES: dict[State, str] = {
    "waiting": "not started yet",
    "connecting": "connecting",
    "connected": "connected",
    "reconnecting": "lost, being reconnected",
    "failed": "failed",
    "closed": "closed",
}
WITHHELD = "not started: it comes from this workspace, which is not trusted"


def description_of(servers: Sequence[Server], withheld: Sequence[ServerConfig]) -> str:
    """Return the servers of a session as Markdown."""
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
        yield f"- left out: {reason}"
    if len(offers.left_out) > MOST_LEFT_OUT:
        yield f"- left out: {len(offers.left_out) - MOST_LEFT_OUT} more"
    if server.output:
        yield "- its last words:"
        yield from (f"      {line}" for line in server.output[-MOST_OUTPUT_LINES:])


def _waited(server: Server) -> str:
    """Return how long a server has let us wait for its introduction, and how long it may."""
    if server.state != "connecting":
        return ""
    seconds = anyio.current_time() - server.since
    return f" for {seconds:.0f} s, given up after {server.patience_seconds:g} s"


def _heading(config: ServerConfig, state: str) -> str:
    return f"**{line_of(config.name, MOST_NAME_CHARACTERS)}** ({described(config)}): {state}"


def _counted(things: Sequence[object], noun: str) -> str:
    return f"{len(things)} {noun}{'' if len(things) == 1 else 's'}"
