"""Endpoint of the Messages API: its shared client and its model list."""

from collections.abc import AsyncGenerator
from functools import cache
from ssl import PROTOCOL_TLS_CLIENT, SSLContext
from typing import TYPE_CHECKING, cast

import httpx2
from anthropic import AnthropicError, AsyncAnthropic, DefaultAsyncHttpxClient

from acp_server.models.access import EndpointAccess, ListedModel
from acp_server.models.anthropic.failures import classify_error
from acp_server.models.anthropic.platforms import connect_platform
from acp_server.models.traffic import ModelTraffic
from acp_server.startup.fast_dataclass import frozen_dataclass
from acp_server.text.json_values import Object, as_object, as_objects, as_text
from acp_server.turn.errors import ModelFailedError, ModelUnavailableError

if TYPE_CHECKING:
    from anthropic.lib.bedrock import AsyncAnthropicBedrock
    from anthropic.lib.vertex import AsyncAnthropicVertex

MAX_LISTED = 1_000
"""The models of one page."""
MAX_PAGES = 20
NO_PLATFORM_TRAFFIC = (
    "requests to Amazon Bedrock and Google Vertex AI are signed by the clouds' own packages and "
    "cannot be recorded or replayed; use another provider with --record and --replay"
)


@frozen_dataclass
class AnthropicEndpoint:
    """The SDK's client of an endpoint, and the endpoint's name in messages (its host)."""

    client: "AsyncAnthropic | AsyncAnthropicBedrock | AsyncAnthropicVertex"
    name: str
    platform: str = ""
    """The cloud provider, if it is not an endpoint by an address of its own."""


@cache
def load_certificate_authorities() -> SSLContext:
    """Read the certificate authorities of the system or the environment, at the first call. Slow.

    A client that does not get them passed in reads them again for itself and for each proxy.
    """
    return httpx2.create_ssl_context()


def connect(access: EndpointAccess, traffic: ModelTraffic | None = None) -> AnthropicEndpoint:
    """Return an endpoint; proxies are taken from the environment.

    Loopback addresses never use a proxy. Where no certificate is ever seen, a context that trusts
    nobody is enough, and saves reading the authorities.

    Raises `ModelUnavailableError` if a cloud provider's package is not installed.

    The SDK's retries are off: `Retrier` announces retries to the user and can be cancelled. The
    SDK's tracing is off too: conversations must go to the endpoint only. For the same reason,
    redirects are not followed. `traffic` records the requests or answers them.
    """
    timeout = httpx2.Timeout(access.read_timeout_seconds, connect=access.connect_timeout_seconds)
    if access.platform and traffic is not None:
        raise ModelUnavailableError(NO_PLATFORM_TRAFFIC)
    if access.platform:
        platform_client = connect_platform(access, load_certificate_authorities(), timeout)
        return AnthropicEndpoint(platform_client, platform_client.base_url.host, access.platform)
    authorities = (
        load_certificate_authorities()
        if access.needs_authorities
        else SSLContext(PROTOCOL_TLS_CLIENT)
    )
    client = AsyncAnthropic(
        api_key=access.api_key,
        auth_token=None if access.api_key else access.auth_token,
        base_url=access.base_url,
        default_headers=dict(access.headers),
        timeout=timeout,
        # Security: a redirect must not take the conversation to an origin that was not configured.
        http_client=DefaultAsyncHttpxClient(
            verify=authorities,
            timeout=timeout,
            trust_env=not access.is_local,
            follow_redirects=False,
            transport=None if traffic is None else traffic.transport(),
            event_hooks=None if traffic is None else {"response": traffic.response_hooks()},
        ),
        max_retries=0,
        open_telemetry=False,
    )
    name = "" if traffic is None else traffic.endpoint_name
    return AnthropicEndpoint(client, name or client.base_url.host)


async def list_models(endpoint: AnthropicEndpoint) -> tuple[ListedModel, ...]:
    """Fetch the models that the endpoint lists, in its order.

    Raises:
        ModelFailedError: The list could not be fetched.
    """
    if endpoint.platform:
        return ()  # cloud providers list no models of the Messages API
    found: list[ListedModel] = []
    try:
        async for page in _list_pages(cast("AsyncAnthropic", endpoint.client)):
            found += map(_parse_model, as_objects(page.get("data")))
    except (AnthropicError, httpx2.HTTPError, ValueError) as error:
        failure = classify_error(error, endpoint.name)
        raise ModelFailedError(failure.reason, failure.kind) from error
    return tuple(model for model in found if model.id)


async def _list_pages(client: AsyncAnthropic) -> AsyncGenerator[Object]:
    """Yield the pages of the list, as JSON.

    The SDK's own types of pages and models are not used: a first prompt may wait for the list, and
    they take as long to import as its request takes.
    """
    parameters: dict[str, object] = {"limit": MAX_LISTED}
    for _ in range(MAX_PAGES):
        answer = await client.get(
            "/v1/models", cast_to=httpx2.Response, options={"params": parameters}
        )
        page = as_object(answer.json())
        yield page
        last_id = as_text(page.get("last_id"))
        if page.get("has_more") is not True or not last_id:
            return
        parameters["after_id"] = last_id


def _parse_model(wire: Object) -> ListedModel:
    id_ = as_text(wire.get("id"))
    window, output = wire.get("max_input_tokens"), wire.get("max_tokens")
    return ListedModel(
        id_,
        as_text(wire.get("display_name")) or id_,
        window if type(window) is int else None,
        output if type(output) is int else None,
    )
