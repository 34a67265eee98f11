"""The tools of a session: built on first use, and ready once its MCP servers are."""

from collections.abc import Callable, Collection
from typing import TYPE_CHECKING

import anyio

from acp_server.session.filtered_toolbox import FilteredToolbox
from acp_server.session.services import SessionServices
from acp_server.turn.ports import Toolbox

if TYPE_CHECKING:
    from acp_server.session.session import Session


class SessionTools:
    """Builds and provides one session's tools."""

    def __init__(
        self,
        session: "Session",
        services: SessionServices,
        allowed: Callable[[], Collection[str] | None],
    ) -> None:
        """Prepare; `allowed` returns the tools that the project allows, or None for all."""
        self._session = session
        self._services = services
        self._allowed = allowed
        self._build_lock = anyio.Lock()
        self._toolbox: Toolbox | None = None
        self._has_skills = services.skills is None
        self._is_closed = False

    async def get_toolbox(self) -> Toolbox:
        """Return the tools, built at the first call together with the session's skills."""
        # The warm-up and a first prompt may both come here; only one may build the tools.
        async with self._build_lock:
            if self._toolbox is None:
                self._toolbox = await self._services.toolbox(self._session)
                if self._is_closed:  # `close` ran during the build and saw no toolbox to close
                    await self._toolbox.close()
            # Skills come second: if loading them fails, the tools are not built again by the retry.
            if not self._has_skills and self._services.skills is not None:
                self._session.skills.set_skills(await self._services.skills(self._session))
                self._has_skills = True
        return self._toolbox

    async def turn_toolbox(self) -> Toolbox:
        """Return the tools for a turn, including those of MCP servers."""
        toolbox = await self.get_toolbox()
        # Only before a request, not in `get_toolbox`: slow servers must not delay the warm-up.
        await self._session.servers.wait_ready()
        allowed = self._allowed()
        return toolbox if allowed is None else FilteredToolbox(toolbox, allowed)

    async def names(self) -> frozenset[str]:
        """Return the names of the tools for a turn."""
        return frozenset(spec.name for spec in (await self.turn_toolbox()).specs)

    async def close(self) -> None:
        """Stop everything that the tools left running; tools being built are closed afterwards."""
        self._is_closed = True
        if self._toolbox is not None:
            await self._toolbox.close()
