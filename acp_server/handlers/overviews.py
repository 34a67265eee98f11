"""Handlers of `_hermes/mcp_servers`, `_hermes/permission_rules` and of their actions.

They are for views of a client: what `/mcp` and the saved answers say, as data.
"""

from anyio import to_thread

from acp_server.jsonrpc.dispatching import Reply
from acp_server.jsonrpc.errors import InternalError, InvalidParamsError
from acp_server.protocol.extensions import (
    ForgetPermissionRuleRequest,
    ForgetPermissionRuleResponse,
    McpServerInfo,
    McpServersRequest,
    McpServersResponse,
    McpToolInfo,
    PermissionRuleInfo,
    PermissionRulesRequest,
    PermissionRulesResponse,
    RestartMcpServerRequest,
    RestartMcpServerResponse,
)
from acp_server.session.ports.mcp import McpServerStatus
from acp_server.session.registry import SessionRegistry


class OverviewHandlers:
    """Handlers of requests for what a client shows beside the conversation."""

    def __init__(self, sessions: SessionRegistry) -> None:
        self._sessions = sessions

    async def mcp_servers(self, request: McpServersRequest) -> Reply:
        """List the MCP servers of a session."""
        toolset = await self._sessions.find(request.session_id).tools.prepare()
        servers = tuple(map(_server_info, toolset.servers.statuses()))
        return Reply(McpServersResponse(servers=servers))

    async def restart_mcp_server(self, request: RestartMcpServerRequest) -> Reply:
        """Connect a server anew."""
        toolset = await self._sessions.find(request.session_id).tools.prepare()
        if not toolset.servers.restart(request.name):
            reason = f"there is no MCP server {request.name!r} that is started"
            raise InvalidParamsError(reason)
        return Reply(RestartMcpServerResponse())

    async def permission_rules(self, request: PermissionRulesRequest) -> Reply:
        """List the "always" answers that hold in a session."""
        toolset = await self._sessions.find(request.session_id).tools.prepare()
        rules = await to_thread.run_sync(toolset.list_rules)
        infos = (
            PermissionRuleInfo(
                id=each.id, text=each.text, allowed=each.rule.is_allowed, saved=each.is_saved
            )
            for each in rules
        )
        return Reply(PermissionRulesResponse(rules=tuple(infos)))

    async def forget_permission_rule(self, request: ForgetPermissionRuleRequest) -> Reply:
        """Forget an answer, in all sessions of the workspace."""
        session = self._sessions.find(request.session_id)
        rules = await to_thread.run_sync((await session.tools.prepare()).list_rules)
        rule = next((each.rule for each in rules if each.id == request.id), None)
        if rule is not None:
            cwd = session.context.workspace.cwd
            # Sessions whose tools are not built yet hold no answers.
            same = [each for each in self._sessions if each.context.workspace.cwd == cwd]
            try:
                for each in same:
                    await to_thread.run_sync(each.tools.current.forget_rule, rule)
            except OSError as error:
                raise InternalError(f"the rule cannot be removed: {error}") from error
        return Reply(ForgetPermissionRuleResponse())


def _server_info(status: McpServerStatus) -> McpServerInfo:
    return McpServerInfo(
        name=status.name,
        address=status.address,
        state=status.state,
        problem=status.problem,
        signed_in=status.is_signed_in,
        tools=tuple(McpToolInfo(name=name, description=text) for name, text in status.tools),
        output=status.output,
    )
