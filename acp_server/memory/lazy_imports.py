"""Imports the memory when somebody looks at it, or if an external one is configured."""

from collections.abc import Callable, Mapping
from dataclasses import field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from acp_server.memory.config import MemoryConfig
from acp_server.memory.errors import MemoryStoreError
from acp_server.memory.pages import MemoryPage
from acp_server.memory.provider import MemoryContext, MemoryProvider
from acp_server.startup.fast_dataclass import frozen_dataclass
from prompt_engine.memory_entries import StoreName

if TYPE_CHECKING:
    from acp_server.memory.providers import ExternalMemory, MemoryTask


def _do_not_spawn(task: "MemoryTask") -> None:
    raise RuntimeError(task)


@frozen_dataclass
class ExternalMemoryOpener:
    """Opens the external memory of each session; nothing is imported before."""

    config: MemoryConfig
    home: Path
    keys: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    spawn: "Callable[[MemoryTask], object]" = _do_not_spawn

    def __call__(self, session_id: str, workspace: Path) -> "ExternalMemory | None":
        """Return the memory of a session, not loaded yet; None if none is configured.

        If the provider is not installed, the first prompt reports that, like any failure.
        """
        if not self.config.provider:
            return None
        from acp_server.memory.providers import ExternalMemory, ProviderLimits

        load = partial(self._load, session_id, workspace)
        limits = ProviderLimits(wait=self.config.provider_wait)
        return ExternalMemory(self.config.provider, load, self.spawn, limits)

    def _load(self, session_id: str, workspace: Path) -> "MemoryProvider":
        from acp_server.memory.providers import load_provider
        from acp_server.memory.stored_keys import user_name, with_stored_keys

        name = self.config.provider
        context = MemoryContext(
            session_id,
            workspace,
            user_name(),
            self.home,
            with_stored_keys(name, self.home, self.keys),
            self.config.provider_settings,
        )
        return load_provider(name, context)


def read_memory_pages(home: Path, limits: Mapping[StoreName, int]) -> tuple[MemoryPage, ...]:
    """Return the stores under HERMES_HOME that have a limit, in characters. Blocks."""
    from acp_server.memory.store import MemoryStores
    from prompt_engine.threats import scan

    memory = MemoryStores(home, limits, scan)

    def page(name: StoreName) -> MemoryPage:
        path = memory.path(name)
        try:
            contents = memory.contents(name)
        except MemoryStoreError as error:
            return MemoryPage(name, path, (), frozenset(), "", error.reason)
        entries = contents.entries
        blocked = frozenset(n for n, entry in enumerate(entries) if scan(entry, "strict"))
        return MemoryPage(name, path, entries, blocked, contents.usage)

    return tuple(map(page, memory.names))
