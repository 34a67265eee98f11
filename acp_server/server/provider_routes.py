"""Routes of the configured providers, which a client may change while the process runs.

Security: the keys of the configuration belong to the configured addresses. A routed provider gets
the client's headers and nothing else.
"""

from collections.abc import Mapping, Sequence
from urllib.parse import urlsplit

from acp_server.handlers.providers import ProviderRoute, RouteError
from acp_server.models.endpoint_catalog import EndpointCatalog
from acp_server.server.providers import ConfiguredProvider
from acp_server.startup.fast_dataclass import frozen_dataclass


@frozen_dataclass
class EndpointRoutes:
    """Routes of endpoints; implements `handlers.providers.ProviderRoutes`.

    Without those of cloud providers, whose address follows from region and project.
    """

    endpoints: Sequence[tuple[ConfiguredProvider, EndpointCatalog]]

    def routes(self) -> Sequence[ProviderRoute]:
        """Return all routes; see the port."""
        return [
            ProviderRoute(
                provider.profile.name,
                _api_types(provider),
                provider.is_main,
                None if catalog.is_disabled else catalog.base_url or provider.address,
            )
            for provider, catalog in self._routable().values()
        ]

    def set_route(
        self, name: str, api_type: str, base_url: str, headers: Mapping[str, str]
    ) -> None:
        """Route a provider; see the port."""
        found = self._routable().get(name)
        if found is None:
            raise RouteError(f"providerId: unknown provider {name!r}")
        provider, catalog = found
        if api_type not in _api_types(provider):
            supported = ", ".join(_api_types(provider))
            raise RouteError(f"apiType: {name} speaks {supported}, not {api_type!r}")
        if not _is_address(base_url):
            raise RouteError("baseUrl: expected http:// or https://, a host, and no user or query")
        catalog.set_route(base_url.rstrip("/"), headers)

    def disable(self, name: str) -> None:
        """Disable a provider; see the port."""
        found = self._routable().get(name)
        if found is not None and found[0].is_main:
            raise RouteError(f"providerId: {name} is the main provider and cannot be disabled")
        if found is not None:
            found[1].disable()

    def _routable(self) -> Mapping[str, tuple[ConfiguredProvider, EndpointCatalog]]:
        return {each[0].profile.name: each for each in self.endpoints if not each[0].profile.extra}


def _api_types(provider: ConfiguredProvider) -> tuple[str, ...]:
    return ("anthropic",) if provider.profile.api_format == "messages" else ("openai",)


def _is_address(url: str) -> bool:
    try:
        parts = urlsplit(url)
        _ = parts.port  # raises if it is none
    except ValueError:
        return False
    is_plain = not (parts.username or parts.password or parts.query or parts.fragment)
    return parts.scheme in {"http", "https"} and bool(parts.hostname) and is_plain
