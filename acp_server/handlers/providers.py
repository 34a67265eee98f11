"""Handlers of `providers/list`, `providers/set` and `providers/disable` (drafts).

A client may send the requests to a provider to another address, such as a company's gateway, for
as long as this process runs. The headers that it gives may be secret and are never sent back.
"""

from collections.abc import Mapping, Sequence
from typing import Protocol

from acp_server.jsonrpc.dispatching import Reply
from acp_server.jsonrpc.errors import InvalidParamsError
from acp_server.protocol.extensions import (
    DisableProviderRequest,
    DisableProviderResponse,
    ListProvidersRequest,
    ListProvidersResponse,
    ProviderInfo,
    ProviderRouting,
    SetProviderRequest,
    SetProviderResponse,
)
from acp_server.startup.fast_dataclass import frozen_dataclass


class RouteError(Exception):
    """A route cannot be set; the message says why."""


@frozen_dataclass
class ProviderRoute:
    """Where the requests to a provider go."""

    name: str
    api_types: tuple[str, ...]
    is_required: bool
    base_url: str | None
    """None while the provider is disabled."""


class ProviderRoutes(Protocol):
    """The providers whose requests the client may route."""

    def routes(self) -> Sequence[ProviderRoute]:
        """Return all of them, the main one first."""
        ...

    def set_route(
        self, name: str, api_type: str, base_url: str, headers: Mapping[str, str]
    ) -> None:
        """Send a provider's requests to this address, with these headers alone.

        Raises:
            RouteError: it is unknown, or does not fit.
        """
        ...

    def disable(self, name: str) -> None:
        """Send a provider no more requests; an unknown one is ignored.

        Raises:
            RouteError: it is required.
        """
        ...


class ProviderHandlers:
    """Handlers of the methods about providers."""

    def __init__(self, routes: ProviderRoutes | None = None) -> None:
        self._routes = routes

    async def list_providers(self, request: ListProvidersRequest) -> Reply:
        """List the providers, without anything secret."""
        del request
        found = self._routes.routes() if self._routes else ()
        return Reply(ListProvidersResponse(providers=tuple(map(_info, found))))

    async def set_provider(self, request: SetProviderRequest) -> Reply:
        """Route a provider's requests; those that run go on."""
        try:
            if self._routes is None:
                raise RouteError(f"unknown provider {request.provider_id!r}")
            self._routes.set_route(
                request.provider_id, request.api_type, request.base_url, request.headers
            )
        except RouteError as error:
            raise InvalidParamsError(str(error)) from error
        return Reply(SetProviderResponse())

    async def disable_provider(self, request: DisableProviderRequest) -> Reply:
        """Disable a provider until the client sets it again."""
        try:
            if self._routes is not None:
                self._routes.disable(request.provider_id)
        except RouteError as error:
            raise InvalidParamsError(str(error)) from error
        return Reply(DisableProviderResponse())


def _info(route: ProviderRoute) -> ProviderInfo:
    current = None
    if route.base_url is not None:
        current = ProviderRouting(api_type=route.api_types[0], base_url=route.base_url)
    return ProviderInfo(
        provider_id=route.name,
        supported=route.api_types,
        required=route.is_required,
        current=current,
    )
