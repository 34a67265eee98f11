"""Everything that needs httpx2, behind one door: importing this module imports it."""

from acp_server.models.access import Access, ListedModel
from acp_server.models.families import ModelFamily
from acp_server.models.openai_compatible.adapter import OpenAiModel, Target
from acp_server.models.openai_compatible.endpoint import Endpoint, connect, list_models
from acp_server.models.openai_compatible.quirks import Quirks
from acp_server.models.retry import RetryPolicy


class OpenAiDoor:
    """The clients of one provider, one for each way of access, so that connections are shared."""

    def __init__(self, quirks: Quirks) -> None:
        self._quirks = quirks
        self._endpoints: dict[Access, Endpoint] = {}
        self._targets: dict[tuple[Access, str], Target] = {}

    def model(
        self, access: Access, model_id: str, family: ModelFamily, retry: RetryPolicy
    ) -> OpenAiModel:
        """Return the adapter of one model."""
        key = (access, model_id)
        if key not in self._targets:
            self._targets[key] = Target(self._endpoint(access), model_id, self._quirks)
        return OpenAiModel(self._targets[key], family, retry)

    async def list_models(self, access: Access) -> tuple[ListedModel, ...]:
        """Return what an endpoint offers.

        Raises:
            ModelFailedError: it does not tell.
        """
        return await list_models(self._endpoint(access))

    async def close(self) -> None:
        """Close every connection."""
        for endpoint in self._endpoints.values():
            await endpoint.client.aclose()
        self._endpoints.clear()
        self._targets.clear()

    def _endpoint(self, access: Access) -> Endpoint:
        if access not in self._endpoints:
            self._endpoints[access] = connect(access, self._quirks.sign_in_again)
        return self._endpoints[access]
