"""Everything that needs the SDK, behind one door: importing this module imports it."""

from acp_server.models.access import Access, ListedModel
from acp_server.models.anthropic.adapter import AnthropicModel, Target
from acp_server.models.anthropic.endpoint import Endpoint, connect, list_models
from acp_server.models.anthropic.requests import Mark
from acp_server.models.families import ModelFamily
from acp_server.models.retry import RetryPolicy


class AnthropicSdk:
    """The SDK's clients, one for each way of access, so that connections are shared."""

    def __init__(self, mark: Mark) -> None:
        self._mark = mark
        self._endpoints: dict[Access, Endpoint] = {}
        self._targets: dict[tuple[Access, str], Target] = {}

    def model(
        self, access: Access, model_id: str, family: ModelFamily, retry: RetryPolicy
    ) -> AnthropicModel:
        """Return the adapter of one model."""
        key = (access, model_id)
        if key not in self._targets:
            self._targets[key] = Target(self._endpoint(access), model_id)
        return AnthropicModel(self._targets[key], family, self._mark, retry)

    async def list_models(self, access: Access) -> tuple[ListedModel, ...]:
        """Return what an endpoint offers.

        Raises:
            ModelFailedError: it does not tell.
        """
        return await list_models(self._endpoint(access))

    async def close(self) -> None:
        """Close every connection."""
        for endpoint in self._endpoints.values():
            await endpoint.client.close()
        self._endpoints.clear()
        self._targets.clear()

    def _endpoint(self, access: Access) -> Endpoint:
        if access not in self._endpoints:
            self._endpoints[access] = connect(access)
        return self._endpoints[access]
