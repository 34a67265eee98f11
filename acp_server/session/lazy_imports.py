"""Deferred imports of modules that a session does not need at its start.

Slow imports (the prompt engine, the file watcher) run in a thread. The rest of the package is
imported here for type checking only.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import anyio
from anyio import to_thread

from acp_server.startup.gc_pause import uncollected

if TYPE_CHECKING:
    from pydantic import JsonValue

    from acp_server.session.prompting.file_watch import EventSource, FolderWatch
    from acp_server.session.prompting.prompt_config import PromptSettings
    from acp_server.session.prompting.provider import Briefing, Delivery, LoadedFile, Subject
    from acp_server.session.prompting.single_flight import BriefingReadings
    from acp_server.session.session import Workspace
    from acp_server.turn.conversation import Conversation


class LazyBriefing:
    """A prompt provider that is imported and created on first use."""

    def __init__(
        self,
        settings: "PromptSettings",
        workspace: "Workspace",
        watch: "FolderWatch | None" = None,
        readings: "BriefingReadings | None" = None,
    ) -> None:
        self._make: Callable[[], Briefing] = lambda: _import(settings, workspace, watch, readings)
        self._lock = anyio.Lock()
        self._briefing: Briefing | None = None
        self._show: Callable[[str], bool] | None = None

    async def gather(self) -> None:
        """Import the engine and read the facts."""
        await (await self._load()).gather()

    async def write(self, subject: "Subject") -> str:
        """Return the system prompt."""
        return await (await self._load()).write(subject)

    def notices(self) -> Sequence[str]:
        """Return notices for the user, once."""
        return () if self._briefing is None else self._briefing.notices()

    def description(self) -> str:
        """Describe the prompt's contents as Markdown."""
        if self._briefing is None:
            return "The system prompt is written at the first prompt."
        return self._briefing.description()

    def loaded(self) -> "Sequence[LoadedFile]":
        """Return the instruction files delivered to the model."""
        return () if self._briefing is None else self._briefing.loaded()

    async def findings(self) -> str:
        """Return the detected facts of the workspace."""
        return await (await self._load()).findings()

    def project_settings(self) -> "Mapping[str, JsonValue]":
        """Return the project's settings."""
        return {} if self._briefing is None else self._briefing.project_settings()

    def remarks(self, conversation: "Conversation") -> Sequence[str]:
        """Return the remarks for the next prompt."""
        return () if self._briefing is None else self._briefing.remarks(conversation)

    def state(self) -> "Mapping[str, JsonValue]":
        """Return the state that another process needs to continue with the prompt."""
        return {} if self._briefing is None else self._briefing.state()

    async def restore(self, text: str, state: "Mapping[str, JsonValue]") -> bool:
        """Continue with a previous process's prompt if it is still valid."""
        return await (await self._load()).restore(text, state)

    async def instructions(
        self, conversation: "Conversation", touched: Mapping[str, Sequence[str]]
    ) -> "Mapping[str, Delivery]":
        """Return new instructions for touched paths."""
        return await (await self._load()).instructions(conversation, touched)

    def listen(self, show: Callable[[str], bool]) -> None:
        """Register `show` for changes; it takes effect once the provider is loaded."""
        self._show = show
        if self._briefing is not None:
            self._briefing.listen(show)

    def close(self) -> None:
        """Stop reporting changes."""
        if self._briefing is not None:
            self._briefing.close()

    async def _load(self) -> "Briefing":
        # Two tasks may need the provider at once; without the lock each would create its own.
        async with self._lock:
            if self._briefing is None:
                self._briefing = await to_thread.run_sync(self._make)
                if self._show is not None:
                    self._briefing.listen(self._show)
        return self._briefing


def open_folder_events() -> "EventSource":
    """Return the event source for a `FileWatch`; blocks for the import."""
    from acp_server.session.prompting.directory_events import FolderEvents

    return FolderEvents()


def near_names(name: str, names: Iterable[str]) -> Sequence[str]:
    """Return up to three names that are most similar to an unknown one."""
    from difflib import get_close_matches

    return get_close_matches(name, list(names), n=3, cutoff=0.5)


@uncollected
def _import(
    settings: "PromptSettings",
    workspace: "Workspace",
    watch: "FolderWatch | None",
    readings: "BriefingReadings | None",
) -> "Briefing":
    from acp_server.session.prompting.workspace_prompt import ProjectBriefing

    return ProjectBriefing(settings, workspace, watch, readings=readings)
