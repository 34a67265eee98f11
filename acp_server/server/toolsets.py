"""Builds the tools of sessions, and owns what all sessions' tools share."""

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

import anyio

from acp_server.handlers.client_connection import ClientConnection
from acp_server.handlers.lazy_imports import load_editor_services
from acp_server.mcp.config import McpConfig
from acp_server.mcp.lazy_imports import create_connector, import_binder
from acp_server.session.context import SessionContext
from acp_server.session.ports.mcp_configs import ServerConfig
from acp_server.session.ports.toolset import SessionToolset
from acp_server.startup.lazy_value import Lazy
from acp_server.tools.lazy_imports import create_deferred_toolsets, create_tool_factory
from acp_server.tools.session_editor import SessionEditor
from acp_server.tools.tool_config import ToolConfig

if TYPE_CHECKING:
    from acp_server.mcp.ports import McpConnector
    from acp_server.skills.service import SkillService
    from acp_server.tools.factory import ToolFactory
    from acp_server.tools.session_parts import SessionParts


class ToolsetBuilder:
    """Builds the toolset of each session of one client."""

    def __init__(self, connection: ClientConnection, tools: ToolConfig, mcp: McpConfig) -> None:
        self._connection = connection
        self._mcp_config = mcp
        self._config = tools
        self._deferred = Lazy(partial(create_deferred_toolsets, tools))
        self._factory: Lazy[ToolFactory] | None = None
        self._binder = Lazy(import_binder)
        self._connector = Lazy(self._create_connector)

    async def __call__(
        self, context: SessionContext, servers: Sequence[ServerConfig]
    ) -> SessionToolset:
        """Return the toolset of a session; `servers` are those that the editor named."""
        build = partial(self._build, context, servers)
        is_configured = any(each.enabled for each in self._mcp_config.configured.values())
        toolset = await (await self._deferred.get()).create(
            context,
            build,
            has_servers=bool(servers) or is_configured,
            has_symbols=self._connection.answers_symbols,
        )
        return await build(None) if toolset is None else toolset

    async def _build(
        self, context: SessionContext, servers: Sequence[ServerConfig], parts: "SessionParts | None"
    ) -> SessionToolset:
        """Import and build all tools of a session, around its parts if it has any."""
        if self._factory is None:
            shared = (await self._deferred.get()).shared
            self._factory = Lazy(partial(create_tool_factory, self._config, shared))
        factory = await self._factory.get()
        editor = await load_editor_services(self._connection, context.id)
        bind = await self._binder.get()
        tasks = self._connection.background
        connect_servers = bind(
            self._connector.get,
            self._mcp_config,
            context,
            servers,
            editor.elicitor,
            self._connection.servers,
            tasks,
        )
        session_editor = SessionEditor(editor.workspace, editor.asker, editor.user_asker)
        return factory.create_toolset(context, session_editor, tasks, connect_servers, parts)

    async def skill_service(self) -> "SkillService":
        """Return the skill service that all sessions share."""
        return (await self._deferred.get()).shared.skill_service

    async def close(self) -> None:
        """Close the process watchers and the MCP connector, after all sessions are closed."""
        async with anyio.create_task_group() as closing:
            if self._factory is not None and self._factory.loaded is not None:
                closing.start_soon(self._factory.loaded.close)
            if self._connector.loaded is not None:
                closing.start_soon(self._connector.loaded.close)

    def _create_connector(self) -> "McpConnector":
        # Not in `__init__`: the task group exists only while the connection runs.
        return create_connector(self._connection.background, self._mcp_config)
