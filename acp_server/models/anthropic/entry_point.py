"""Entry point to the Messages API. Importing this module imports the SDK."""

from acp_server.models.access import Access, ListedModel
from acp_server.models.anthropic.adapter import AnthropicModel, Target
from acp_server.models.anthropic.endpoint import (
    Endpoint,
    connect,
    list_models,
    trusted_authorities,
)
from acp_server.models.cache_markers import Mark
from acp_server.models.endpoint_cache import KeptEndpoints
from acp_server.models.families import ModelFamily
from acp_server.models.retry_policy import RetryPolicy


class AnthropicSdk:
    """Entry point to the Messages API; one SDK client per access, so that connections are shared.

    Implements `models.lazy_imports.ProviderEntryPoint`.
    """

    def __init__(self, mark: Mark) -> None:
        """Prepare; blocks while it reads certificate authorities."""
        self._mark = mark
        authorities = trusted_authorities()
        self._kept: KeptEndpoints[Endpoint, Target] = KeptEndpoints(
            lambda access: connect(access, authorities),
            Target,
            lambda endpoint: endpoint.client.close(),
        )

    def model(
        self, access: Access, model_id: str, family: ModelFamily, retry: RetryPolicy
    ) -> AnthropicModel:
        """Return an adapter for one model."""
        return AnthropicModel(self._kept.target(access, model_id), family, self._mark, retry)

    async def list_models(self, access: Access) -> tuple[ListedModel, ...]:
        """Fetch the models that an endpoint lists.

        Raises:
            ModelFailedError: The list could not be fetched.
        """
        return await list_models(self._kept.endpoint(access))

    async def close(self) -> None:
        """Close every connection."""
        await self._kept.close()
