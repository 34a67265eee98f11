"""Imports what speaks a form, which takes a while, in a thread, once, and only when it is needed.

The SDK of the Messages API takes seconds; what speaks the other forms takes a quarter of one. A
model that plays a script is imported when there is one to be played.
"""

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Protocol

import anyio
from anyio import to_thread

from acp_server.uncollected import uncollected

if TYPE_CHECKING:
    from acp_server.models.access import Access, ListedModel
    from acp_server.models.families import ModelFamily
    from acp_server.models.marking import Mark
    from acp_server.models.openai_compatible.quirks import Quirks
    from acp_server.models.retry import RetryPolicy
    from acp_server.turn.ports import Model


class Sdk(Protocol):
    """What can be done once it is imported."""

    def model(
        self, access: "Access", model_id: str, family: "ModelFamily", retry: "RetryPolicy"
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
    """What speaks a form, from the first time that somebody asks for it."""

    def __init__(self, open_sdk: Callable[[], Sdk]) -> None:
        self._open = open_sdk
        self._lock = anyio.Lock()
        self._sdk: Sdk | None = None

    async def load(self) -> Sdk:
        """Return it; the first call imports it, later ones wait for that."""
        async with self._lock:
            if self._sdk is None:
                self._sdk = await to_thread.run_sync(self._open)
        return self._sdk

    async def close(self) -> None:
        """Close every connection that was opened."""
        if self._sdk is not None:
            await self._sdk.close()


def scripted_model(source: str) -> "Model":
    """Return a new model that plays a script."""
    from acp_server.models.scripted import ScriptedModel

    return ScriptedModel(source)


def messages_loader(mark: "Mark") -> SdkLoader:
    """Return what imports the SDK of the Messages API."""
    return SdkLoader(partial(_open_anthropic, mark))


def openai_compatible_loader(quirks: "Quirks") -> SdkLoader:
    """Return what imports the forms of OpenAI."""
    return SdkLoader(partial(_open_openai_compatible, quirks))


@uncollected
def _open_anthropic(mark: "Mark") -> Sdk:
    from acp_server.models.anthropic.packages import enter_packages

    enter_packages()
    from acp_server.models.anthropic.sdk import AnthropicSdk

    return AnthropicSdk(mark)


@uncollected
def _open_openai_compatible(quirks: "Quirks") -> Sdk:
    from acp_server.models.openai_compatible.door import OpenAiDoor

    return OpenAiDoor(quirks)
