"""Lazy imports of the API clients: in a thread, once, on first use.

Importing the SDK of the Messages API takes seconds, the client of the OpenAI formats a quarter of
a second. The scripted model is also imported only when it is used.
"""

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Protocol

import anyio
from anyio import to_thread

from acp_server.startup.gc_pause import uncollected

if TYPE_CHECKING:
    from acp_server.models.access import Access, ListedModel
    from acp_server.models.cache_markers import Mark
    from acp_server.models.families import ModelFamily
    from acp_server.models.openai_compatible.endpoint_profile import Quirks
    from acp_server.models.retry_policy import RetryPolicy
    from acp_server.turn.ports import Model


class Sdk(Protocol):
    """Entry point of an API client once it is imported."""

    def model(
        self, access: "Access", model_id: str, family: "ModelFamily", retry: "RetryPolicy"
    ) -> "Model":
        """Return an adapter for one model."""
        ...

    async def list_models(self, access: "Access") -> "tuple[ListedModel, ...]":
        """Fetch the models that an endpoint lists."""
        ...

    async def close(self) -> None:
        """Close every connection."""
        ...


class SdkLoader:
    """Loads an API client on first use."""

    def __init__(self, open_sdk: Callable[[], Sdk]) -> None:
        self._open = open_sdk
        self._lock = anyio.Lock()
        self._sdk: Sdk | None = None

    async def load(self) -> Sdk:
        """Return the entry point; the first call imports it, concurrent calls wait for that."""
        async with self._lock:  # one entry point only: it owns the shared connections
            if self._sdk is None:
                self._sdk = await to_thread.run_sync(self._open)
        return self._sdk

    async def close(self) -> None:
        """Close every connection that was opened."""
        if self._sdk is not None:
            await self._sdk.close()


def scripted_model(source: str) -> "Model":
    """Return a new scripted model."""
    from acp_server.models.scripted import ScriptedModel

    return ScriptedModel(source)


def messages_loader(mark: "Mark") -> SdkLoader:
    """Return a loader for the Messages API."""
    return SdkLoader(partial(_open_anthropic, mark))


def openai_compatible_loader(quirks: "Quirks") -> SdkLoader:
    """Return a loader for the OpenAI API formats."""
    return SdkLoader(partial(_open_openai_compatible, quirks))


@uncollected
def _open_anthropic(mark: "Mark") -> Sdk:
    from acp_server.models.anthropic.packages import enter_packages

    enter_packages()  # must precede the import: it makes the SDK's submodules lazy
    from acp_server.models.anthropic.entry_point import AnthropicSdk

    return AnthropicSdk(mark)


@uncollected
def _open_openai_compatible(quirks: "Quirks") -> Sdk:
    from acp_server.models.openai_compatible.entry_point import OpenAiDoor

    return OpenAiDoor(quirks)
