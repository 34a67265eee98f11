"""Lazy imports of the API clients: in a thread, once, on first use.

Importing the SDK of the Messages API takes seconds, the client of the OpenAI formats a quarter of
a second. The scripted model is also imported only when it is used.
"""

from functools import partial
from typing import TYPE_CHECKING, Protocol

from acp_server.startup.gc_pause import pause_gc_on_first_call
from acp_server.startup.lazy_value import Lazy

if TYPE_CHECKING:
    from acp_server.models.access import EndpointAccess, ListedModel
    from acp_server.models.cache_markers import CacheMarker
    from acp_server.models.families import ModelFamily
    from acp_server.models.openai_compatible.endpoint_profile import EndpointProfile
    from acp_server.models.retry_policy import RetryPolicy
    from acp_server.models.traffic import ModelTraffic
    from acp_server.turn.ports import Model


class ProviderEntryPoint(Protocol):
    """Entry point of an API client once it is imported."""

    def model(
        self, access: "EndpointAccess", model_id: str, family: "ModelFamily", retry: "RetryPolicy"
    ) -> "Model":
        """Return an adapter for one model."""
        ...

    async def list_models(self, access: "EndpointAccess") -> "tuple[ListedModel, ...]":
        """Fetch the models that an endpoint lists."""
        ...

    async def close(self) -> None:
        """Close every connection."""
        ...


def scripted_model(source: str) -> "Model":
    """Return a new scripted model."""
    from acp_server.models.scripted import ScriptedModel

    return ScriptedModel(source)


def lazy_anthropic_client(
    cache_marker: "CacheMarker",
    traffic: "ModelTraffic | None" = None,
    *,
    needs_authorities: bool = True,
) -> Lazy[ProviderEntryPoint]:
    """Return the client of the Messages API; it reads certificate authorities if they are needed.

    They are read in its thread: a client that is then given an address with TLS would read them on
    the event loop.
    """
    return Lazy(
        partial(_open_anthropic, cache_marker, traffic, needs_authorities=needs_authorities)
    )


def lazy_openai_compatible_client(
    profile: "EndpointProfile", traffic: "ModelTraffic | None" = None
) -> Lazy[ProviderEntryPoint]:
    """Return the client of the OpenAI API formats."""
    return Lazy(partial(_open_openai_compatible, profile, traffic))


@pause_gc_on_first_call
def _open_anthropic(
    cache_marker: "CacheMarker",
    traffic: "ModelTraffic | None" = None,
    *,
    needs_authorities: bool = True,
) -> ProviderEntryPoint:
    from acp_server.models.anthropic.packages import open_entry_point

    return open_entry_point(cache_marker, traffic, needs_authorities=needs_authorities)


@pause_gc_on_first_call
def _open_openai_compatible(
    profile: "EndpointProfile", traffic: "ModelTraffic | None"
) -> ProviderEntryPoint:
    from acp_server.models.openai_compatible.entry_point import OpenAiEntryPoint

    return OpenAiEntryPoint(profile, traffic)
