"""Imports the SDK, which takes seconds, in a thread, once, and only when it is needed.

A model that plays a script is imported when there is one to be played.
"""

from typing import TYPE_CHECKING, Protocol

import anyio
from anyio import to_thread

if TYPE_CHECKING:
    from acp_server.models.anthropic.access import Access, ListedModel
    from acp_server.models.anthropic.requests import Mark
    from acp_server.models.families import ModelFamily
    from acp_server.models.retry import RetryPolicy
    from acp_server.turn.ports import Model


class Sdk(Protocol):
    """What can be done once the SDK is there."""

    def model(
        self,
        access: "Access",
        model_id: str,
        family: "ModelFamily",
        mark: "Mark",
        retry: "RetryPolicy",
    ) -> "Model":
        """Return the adapter of one model."""
        ...

    async def list_models(self, access: "Access") -> "tuple[ListedModel, ...]":
        """Return what an endpoint offers."""
        ...

    async def close(self) -> None:
        """Close every connection."""
        ...


class SdkLoader:
    """The SDK, from the first time that somebody asks for it."""

    def __init__(self) -> None:
        self._lock = anyio.Lock()
        self._sdk: Sdk | None = None

    async def load(self) -> Sdk:
        """Return the SDK; the first call imports it, later ones wait for that."""
        async with self._lock:
            if self._sdk is None:
                self._sdk = await to_thread.run_sync(_import)
        return self._sdk

    async def close(self) -> None:
        """Close every connection that was opened."""
        if self._sdk is not None:
            await self._sdk.close()


def scripted_model(source: str) -> "Model":
    """Return a new model that plays a script."""
    from acp_server.models.scripted import ScriptedModel

    return ScriptedModel(source)


def _import() -> Sdk:
    from acp_server.models.anthropic.sdk import AnthropicSdk

    return AnthropicSdk()
