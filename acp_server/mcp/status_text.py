"""Text of `/mcp`: each server's state, features, problems and last output. Contains no secret."""

from collections.abc import Iterator, Sequence

import anyio

from acp_server.mcp.server import Server, ServerState
from acp_server.mcp.server_configs import describe_transport
from acp_server.session.ports.mcp import NO_SERVERS, McpServerStatus
from acp_server.session.ports.mcp_configs import ServerConfig
from acp_server.text.lines import to_single_line

MAX_SKIPPED = 10
MAX_NAME_CHARACTERS = 100
MAX_OUTPUT_LINES = 8

_STATES: dict[ServerState, str] = {
    "connecting": "connecting",
    "connected": "connected",
    "reconnecting": "connection lost, reconnecting",
    "signed_out": "waiting for you to sign in",
    "failed": "failed",
    "closed": "closed",
}
WITHHELD = "not started: this workspace configures it, and you have not agreed to use it"


def describe_servers(servers: Sequence[Server], withheld: Sequence[ServerConfig]) -> str:
    """Describe the servers of a session as Markdown."""
    parts = ["\n".join(_lines(server)) for server in servers]
    parts += [_heading(config, WITHHELD) for config in withheld]
    return "\n\n".join(parts) or NO_SERVERS


def server_statuses(
    servers: Sequence[Server], withheld: Sequence[ServerConfig]
) -> tuple[McpServerStatus, ...]:
    """Return the servers of a session as a client shows them."""
    return (
        *(_status(server) for server in servers),
        *(
            McpServerStatus(_name(config), describe_transport(config), "withheld", WITHHELD)
            for config in withheld
        ),
    )


def _status(server: Server) -> McpServerStatus:
    return McpServerStatus(
        name=_name(server.config),
        address=describe_transport(server.config),
        state=server.state,
        problem=server.problem,
        is_signed_in=server.is_signed_in,
        tools=tuple((each.name, each.model_description) for each in server.features.tools),
        output=server.output,
    )


def _name(config: ServerConfig) -> str:
    return to_single_line(config.name, MAX_NAME_CHARACTERS)


def _lines(server: Server) -> Iterator[str]:
    yield _heading(server.config, _state_text(server))
    features = server.features
    if server.state == "connected" or features.tools:
        counts = f"{_count_text(features.tools, 'tool')}, {_count_text(features.prompts, 'prompt')}"
        yield f"- {counts}, resources" if features.has_resources else f"- {counts}"
    if server.problem:
        yield f"- {server.problem}"
    for reason in features.skipped[:MAX_SKIPPED]:
        yield f"- skipped: {reason}"
    if len(features.skipped) > MAX_SKIPPED:
        yield f"- skipped: {len(features.skipped) - MAX_SKIPPED} more"
    if server.left_out:
        names = ", ".join(server.left_out[:MAX_SKIPPED])
        count = len(server.left_out)
        yield f"- left out, because all tools together are too long: {names} ({count} in all)"
    suspicious = [each.title for each in features.tools if each.warning]
    if suspicious:
        names = ", ".join(suspicious[:MAX_SKIPPED])
        yield f"- looks like instructions to the model, and is marked as data: {names}"
    if server.output:
        yield "- last output:"
        yield from (f"      {line}" for line in server.output[-MAX_OUTPUT_LINES:])


def _state_text(server: Server) -> str:
    state = _STATES[server.state]
    if server.state == "connecting":
        seconds = anyio.current_time() - server.state_since
        return f"{state} for {seconds:.0f} s (timeout: {server.connect_seconds:g} s)"
    if server.state == "signed_out":
        return f"{state} (`/mcp sign-in {_name(server.config)}`)"
    return f"{state}, signed in" if server.is_signed_in else state


def _heading(config: ServerConfig, state: str) -> str:
    return f"**{_name(config)}** ({describe_transport(config)}): {state}"


def _count_text(items: Sequence[object], noun: str) -> str:
    return f"{len(items)} {noun}{'' if len(items) == 1 else 's'}"
