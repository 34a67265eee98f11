"""Deferred imports of modules that a session does not need at its start.

Slow imports (the prompt engine, the file watcher) run in a thread. The rest of the package is
imported here for type checking only.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import anyio
from anyio import to_thread

from acp_server.startup.gc_pause import pause_gc_on_first_call

if TYPE_CHECKING:
    from pydantic import JsonValue

    from acp_server.session.prompting.file_watch import EventSource, FileWatch
    from acp_server.session.prompting.prompt_config import PromptConfig
    from acp_server.session.prompting.provider import (
        InstructionDelivery,
        LoadedFile,
        PromptProvider,
        SystemPromptRequest,
    )
    from acp_server.session.prompting.single_flight import SharedReads
    from acp_server.session.session import SessionWorkspace
    from acp_server.turn.conversation import Conversation


class LazyPromptProvider:
    """A prompt provider that is imported and created on first use."""

    def __init__(
        self,
        config: "PromptConfig",
        workspace: "SessionWorkspace",
        watch: "FileWatch | None" = None,
        shared_reads: "SharedReads | None" = None,
    ) -> None:
        self._create: Callable[[], PromptProvider] = lambda: _import_provider(
            config, workspace, watch, shared_reads
        )
        self._lock = anyio.Lock()
        self._provider: PromptProvider | None = None
        self._on_notice: Callable[[str], bool] | None = None

    async def gather_facts(self) -> None:
        """Import the engine and read the facts."""
        await (await self._load()).gather_facts()

    async def write_prompt(self, request: "SystemPromptRequest") -> str:
        """Return the system prompt."""
        return await (await self._load()).write_prompt(request)

    def take_notices(self) -> Sequence[str]:
        """Return notices for the user, once."""
        return () if self._provider is None else self._provider.take_notices()

    def describe(self) -> str:
        """Describe the prompt's contents as Markdown."""
        if self._provider is None:
            return "The system prompt is written at the first prompt."
        return self._provider.describe()

    def loaded_files(self) -> "Sequence[LoadedFile]":
        """Return the instruction files delivered to the model."""
        return () if self._provider is None else self._provider.loaded_files()

    async def workspace_facts(self) -> str:
        """Return the detected facts of the workspace."""
        return await (await self._load()).workspace_facts()

    def project_settings(self) -> "Mapping[str, JsonValue]":
        """Return the project's settings."""
        return {} if self._provider is None else self._provider.project_settings()

    def prompt_remarks(self, conversation: "Conversation") -> Sequence[str]:
        """Return the remarks for the next prompt."""
        return () if self._provider is None else self._provider.prompt_remarks(conversation)

    def state(self) -> "Mapping[str, JsonValue]":
        """Return the state that another process needs to continue with the prompt."""
        return {} if self._provider is None else self._provider.state()

    async def restore(self, text: str, state: "Mapping[str, JsonValue]") -> bool:
        """Continue with a previous process's prompt if it is still valid."""
        return await (await self._load()).restore(text, state)

    async def find_instructions(
        self, conversation: "Conversation", touched: Mapping[str, Sequence[str]]
    ) -> "Mapping[str, InstructionDelivery]":
        """Return new instructions for touched paths."""
        return await (await self._load()).find_instructions(conversation, touched)

    def on_notice(self, show: Callable[[str], bool]) -> None:
        """Register `show` for changes; it takes effect once the provider is loaded."""
        self._on_notice = show
        if self._provider is not None:
            self._provider.on_notice(show)

    def close(self) -> None:
        """Stop reporting changes."""
        if self._provider is not None:
            self._provider.close()

    async def _load(self) -> "PromptProvider":
        # Two tasks may need the provider at once; without the lock each would create its own.
        async with self._lock:
            if self._provider is None:
                # In a thread: the import takes long, and the event loop must go on.
                self._provider = await to_thread.run_sync(self._create)
                if self._on_notice is not None:
                    self._provider.on_notice(self._on_notice)
        return self._provider


def open_directory_events() -> "EventSource":
    """Return the event source for a `FileWatch`; blocks for the import."""
    from acp_server.session.prompting.directory_events import DirectoryEvents

    return DirectoryEvents()


def find_similar_names(name: str, names: Iterable[str]) -> Sequence[str]:
    """Return up to three names that are most similar to an unknown one."""
    from difflib import get_close_matches

    return get_close_matches(name, list(names), n=3, cutoff=0.5)


@pause_gc_on_first_call
def _import_provider(
    config: "PromptConfig",
    workspace: "SessionWorkspace",
    watch: "FileWatch | None",
    shared_reads: "SharedReads | None",
) -> "PromptProvider":
    from acp_server.session.prompting.workspace_prompt import WorkspacePromptProvider

    return WorkspacePromptProvider(config, workspace, watch, shared_reads=shared_reads)
