"""Imports the prompt engine in a thread, when a session's facts are gathered: it takes a while."""

from collections.abc import Callable, Mapping, Sequence

import anyio
from anyio import to_thread
from pydantic import JsonValue

from acp_server.session.briefing import Briefing, Delivery, Subject
from acp_server.session.prompt_settings import PromptSettings
from acp_server.session.session import Workspace
from acp_server.turn.conversation import Conversation


class LazyBriefing:
    """A session's briefing, from the first time that somebody needs it."""

    def __init__(self, settings: PromptSettings, workspace: Workspace) -> None:
        self._make: Callable[[], Briefing] = lambda: _import(settings, workspace)
        self._lock = anyio.Lock()
        self._briefing: Briefing | None = None

    async def gather(self) -> None:
        """Import the engine and read the facts."""
        await (await self._load()).gather()

    async def write(self, subject: Subject) -> str:
        """Return the system prompt."""
        return await (await self._load()).write(subject)

    def notices(self) -> Sequence[str]:
        """Return what the user is to know of it, once."""
        return () if self._briefing is None else self._briefing.notices()

    def description(self) -> str:
        """Return what the prompt holds, as Markdown."""
        if self._briefing is None:
            return "The system prompt is written at the first prompt."
        return self._briefing.description()

    def project_settings(self) -> Mapping[str, JsonValue]:
        """Return what the project asks for."""
        return {} if self._briefing is None else self._briefing.project_settings()

    async def instructions(
        self, conversation: Conversation, touched: Mapping[str, Sequence[str]]
    ) -> Mapping[str, Delivery]:
        """Return what is new for touched paths."""
        return await (await self._load()).instructions(conversation, touched)

    async def _load(self) -> Briefing:
        async with self._lock:
            if self._briefing is None:
                self._briefing = await to_thread.run_sync(self._make)
        return self._briefing


def _import(settings: PromptSettings, workspace: Workspace) -> Briefing:
    from acp_server.session.context import ProjectBriefing

    return ProjectBriefing(settings, workspace)
