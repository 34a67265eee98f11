"""Entry point to the OpenAI API formats. Importing this module imports httpx2."""

from acp_server.models.access import EndpointAccess, ListedModel
from acp_server.models.endpoint_cache import EndpointCache
from acp_server.models.families import ModelFamily
from acp_server.models.openai_compatible.adapter import OpenAiModel, OpenAiTarget
from acp_server.models.openai_compatible.endpoint import OpenAiEndpoint, connect, list_models
from acp_server.models.openai_compatible.endpoint_profile import EndpointProfile
from acp_server.models.retry_policy import RetryPolicy
from acp_server.models.traffic import ModelTraffic


class OpenAiEntryPoint(EndpointCache[OpenAiEndpoint, OpenAiTarget]):
    """Entry point to one provider; one client per access, so that connections are shared.

    Implements `models.lazy_imports.ProviderEntryPoint`.
    """

    def __init__(self, profile: EndpointProfile, traffic: ModelTraffic | None = None) -> None:
        super().__init__(
            lambda access: connect(access, profile.sign_in_hint, traffic),
            lambda endpoint, model_id: OpenAiTarget(endpoint, model_id, profile),
            lambda endpoint: endpoint.client.aclose(),
        )

    def model(
        self, access: EndpointAccess, model_id: str, family: ModelFamily, retry: RetryPolicy
    ) -> OpenAiModel:
        """Return an adapter for one model."""
        return OpenAiModel(self.target(access, model_id), family, retry)

    async def list_models(self, access: EndpointAccess) -> tuple[ListedModel, ...]:
        """Fetch the models that an endpoint lists.

        Raises:
            ModelFailedError: The list could not be fetched.
        """
        return await list_models(self.endpoint(access))
