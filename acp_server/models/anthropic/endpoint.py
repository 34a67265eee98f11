"""An endpoint of the Messages API: its client, made once, and the models that it offers."""

from ssl import SSLContext

import httpx2
from anthropic import AnthropicError, AsyncAnthropic, DefaultAsyncHttpxClient

from acp_server.frozen import frozen
from acp_server.models.access import Access, ListedModel
from acp_server.models.anthropic.faults import understand
from acp_server.turn.errors import ModelFailedError

LONGEST_LIST = 1_000


@frozen
class Endpoint:
    """Where calls go: the SDK's client, and the name that messages call it by."""

    client: AsyncAnthropic
    name: str


def trusted_authorities() -> SSLContext:
    """Read the certificate authorities of the system, or of the environment: takes a while.

    Without them given, a client would read them once for each proxy and once for itself.
    """
    return httpx2.create_ssl_context()


def connect(access: Access, authorities: SSLContext) -> Endpoint:
    """Return an endpoint. Proxies are those of the environment.

    The SDK's own retries are off: ours are told to the user and can be cancelled. Its traces are:
    what is said goes to the endpoint, and nowhere else.
    """
    timeout = httpx2.Timeout(access.idle_seconds, connect=access.connect_seconds)
    client = AsyncAnthropic(
        api_key=access.api_key,
        auth_token=None if access.api_key else access.auth_token,
        base_url=access.base_url,
        timeout=timeout,
        http_client=DefaultAsyncHttpxClient(verify=authorities, timeout=timeout),
        max_retries=0,
        open_telemetry=False,
    )
    return Endpoint(client, client.base_url.host)


async def list_models(endpoint: Endpoint) -> tuple[ListedModel, ...]:
    """Return the models that the endpoint offers, in its order.

    Raises:
        ModelFailedError: it does not tell.
    """
    found: list[ListedModel] = []
    try:
        async for model in endpoint.client.models.list(limit=LONGEST_LIST):
            name = model.display_name or model.id
            found.append(ListedModel(model.id, name, model.max_input_tokens, model.max_tokens))
    except (AnthropicError, httpx2.HTTPError, ValueError) as error:
        fault = understand(error, endpoint.name)
        raise ModelFailedError(fault.reason, fault.kind) from error
    return tuple(found)
