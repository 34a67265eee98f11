"""Entry point to the OpenAI API formats. Importing this module imports httpx2."""

from acp_server.models.access import Access, ListedModel
from acp_server.models.endpoint_cache import KeptEndpoints
from acp_server.models.families import ModelFamily
from acp_server.models.openai_compatible.adapter import OpenAiModel, Target
from acp_server.models.openai_compatible.endpoint import Endpoint, connect, list_models
from acp_server.models.openai_compatible.endpoint_profile import Quirks
from acp_server.models.retry_policy import RetryPolicy


class OpenAiDoor:
    """Entry point to one provider; one client per access, so that connections are shared.

    Implements `models.lazy_imports.ProviderEntryPoint`.
    """

    def __init__(self, quirks: Quirks) -> None:
        self._kept: KeptEndpoints[Endpoint, Target] = KeptEndpoints(
            lambda access: connect(access, quirks.sign_in_again),
            lambda endpoint, model_id: Target(endpoint, model_id, quirks),
            lambda endpoint: endpoint.client.aclose(),
        )

    def model(
        self, access: Access, model_id: str, family: ModelFamily, retry: RetryPolicy
    ) -> OpenAiModel:
        """Return an adapter for one model."""
        return OpenAiModel(self._kept.target(access, model_id), family, retry)

    async def list_models(self, access: Access) -> tuple[ListedModel, ...]:
        """Fetch the models that an endpoint lists.

        Raises:
            ModelFailedError: The list could not be fetched.
        """
        return await list_models(self._kept.endpoint(access))

    async def close(self) -> None:
        """Close every connection."""
        await self._kept.close()
