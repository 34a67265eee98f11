"""Entry point to the Messages API. Importing this module imports the SDK."""

from acp_server.models.access import EndpointAccess, ListedModel
from acp_server.models.anthropic.adapter import AnthropicModel, AnthropicTarget
from acp_server.models.anthropic.endpoint import (
    AnthropicEndpoint,
    connect,
    list_models,
    load_certificate_authorities,
)
from acp_server.models.cache_markers import CacheMarker
from acp_server.models.endpoint_cache import EndpointCache
from acp_server.models.families import ModelFamily
from acp_server.models.retry_policy import RetryPolicy
from acp_server.models.traffic import ModelTraffic


class AnthropicEntryPoint(EndpointCache[AnthropicEndpoint, AnthropicTarget]):
    """Entry point to the Messages API; one SDK client per access, so that connections are shared.

    Implements `models.lazy_imports.ProviderEntryPoint`.
    """

    def __init__(
        self,
        cache_marker: CacheMarker,
        traffic: ModelTraffic | None = None,
        *,
        needs_authorities: bool = True,
    ) -> None:
        """Prepare; blocks while it reads certificate authorities, if they are needed."""
        self._cache_marker = cache_marker
        if needs_authorities:
            load_certificate_authorities()
        super().__init__(
            lambda access: connect(access, traffic),
            AnthropicTarget,
            lambda endpoint: endpoint.client.close(),
        )

    def model(
        self, access: EndpointAccess, model_id: str, family: ModelFamily, retry: RetryPolicy
    ) -> AnthropicModel:
        """Return an adapter for one model."""
        return AnthropicModel(self.target(access, model_id), family, self._cache_marker, retry)

    async def list_models(self, access: EndpointAccess) -> tuple[ListedModel, ...]:
        """Fetch the models that an endpoint lists.

        Raises:
            ModelFailedError: The list could not be fetched.
        """
        return await list_models(self.endpoint(access))
