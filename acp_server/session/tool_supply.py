"""The tools of a session: made when somebody first needs them, and ready once its servers are.

Knows no tool; what makes them comes with the equipment.
"""

from collections.abc import Callable, Collection
from typing import TYPE_CHECKING

import anyio

from acp_server.session.equipment import Equipment
from acp_server.session.narrow_toolbox import NarrowToolbox
from acp_server.turn.ports import Toolbox

if TYPE_CHECKING:
    from acp_server.session.session import Session


class ToolSupply:
    """Provides one session's tools."""

    def __init__(
        self,
        session: "Session",
        equipment: Equipment,
        allowed: Callable[[], Collection[str] | None],
    ) -> None:
        """Prepare; `allowed` says to which tools the project narrows them, if it does."""
        self._session = session
        self._equipment = equipment
        self._allowed = allowed
        self._making = anyio.Lock()
        self._made: Toolbox | None = None
        self._has_skills = equipment.skills is None
        self._is_closed = False

    async def prepare(self) -> Toolbox:
        """Return the tools, made at the first call; the session's skills come with them."""
        async with self._making:
            if self._made is None:
                self._made = await self._equipment.toolbox(self._session)
                if self._is_closed:  # they were still being made
                    await self._made.close()
            if not self._has_skills and self._equipment.skills is not None:
                self._session.skills.take(await self._equipment.skills(self._session))
                self._has_skills = True
        return self._made

    async def ready(self) -> Toolbox:
        """Return the tools that a turn works with, those of servers among them."""
        toolbox = await self.prepare()
        await self._session.servers.ready()
        allowed = self._allowed()
        return toolbox if allowed is None else NarrowToolbox(toolbox, allowed)

    async def names(self) -> frozenset[str]:
        """Return the names of the tools that a turn works with."""
        return frozenset(spec.name for spec in (await self.ready()).specs)

    async def close(self) -> None:
        """End what the tools left running; those that are made yet end then."""
        self._is_closed = True
        if self._made is not None:
            await self._made.close()
