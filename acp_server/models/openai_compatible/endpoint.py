"""OpenAI-compatible endpoint: its shared client and its model list."""

from dataclasses import dataclass
from ssl import PROTOCOL_TLS_CLIENT, SSLContext

import httpx2
from pydantic import JsonValue

from acp_server.models.access import EndpointAccess, ListedModel
from acp_server.models.families import Price
from acp_server.models.openai_compatible.failures import classify_error, classify_response
from acp_server.models.traffic import ModelTraffic
from acp_server.text.json_values import Object, as_object, as_objects, as_text
from acp_server.turn.errors import ModelFailedError

LIST_TIMEOUT_SECONDS = 20.0
MAX_LISTED = 1_000
_MILLION = 1_000_000
_WINDOW_FIELDS = (
    "context_length",  # OpenRouter
    "max_model_len",  # vLLM
    "loaded_context_length",  # LM Studio
    "max_context_length",
    "context_window",  # Groq
    "max_input_tokens",
    "n_ctx",
)
"""Field names of the context window in model lists, most reliable first."""


@dataclass(frozen=True, slots=True)
class OpenAiEndpoint:
    """The client of an endpoint, its name in messages, and the advice for a rejected key."""

    client: httpx2.AsyncClient
    name: str
    sign_in_hint: str


def connect(
    access: EndpointAccess, sign_in_hint: str, traffic: ModelTraffic | None = None
) -> OpenAiEndpoint:
    """Return an endpoint. Takes tens of milliseconds to read certificate authorities, if needed.

    Proxies and certificate authorities are taken from the environment, except for loopback
    addresses, which never use a proxy. Redirects are not followed: neither the key nor the
    conversation may be sent to another origin. `traffic` records the requests or answers them.
    """
    url = httpx2.URL((access.base_url or "").rstrip("/") + "/")
    headers = dict(access.headers)
    if access.api_key:
        headers["authorization"] = f"Bearer {access.api_key}"
    client = httpx2.AsyncClient(
        # Where no certificate is ever seen, a context that trusts nobody is enough.
        verify=True if access.needs_authorities else SSLContext(PROTOCOL_TLS_CLIENT),
        base_url=url,
        headers=headers,
        timeout=httpx2.Timeout(access.read_timeout_seconds, connect=access.connect_timeout_seconds),
        trust_env=not access.is_local,
        follow_redirects=False,
        transport=None if traffic is None else traffic.transport(),
        event_hooks=None if traffic is None else {"response": traffic.response_hooks()},
    )
    name = "" if traffic is None else traffic.endpoint_name
    return OpenAiEndpoint(client, name or url.host, sign_in_hint)


async def list_models(endpoint: OpenAiEndpoint) -> tuple[ListedModel, ...]:
    """Fetch the models that the endpoint lists, in its order.

    Raises:
        ModelFailedError: The list could not be fetched.
    """
    try:
        answer = await endpoint.client.get("models", timeout=LIST_TIMEOUT_SECONDS)
        body: JsonValue = answer.json() if answer.is_success else None
    except (httpx2.HTTPError, httpx2.InvalidURL, ValueError) as error:
        failure = classify_error(error, endpoint.name)
        raise ModelFailedError(failure.reason, failure.kind) from error
    if not answer.is_success:
        failure = classify_response(answer, endpoint.name, endpoint.sign_in_hint)
        raise ModelFailedError(failure.reason, failure.kind)
    wire_models = body if isinstance(body, list) else as_object(body).get("data")
    found = (_parse_model(wire) for wire in as_objects(wire_models)[:MAX_LISTED])
    return tuple(model for model in found if model.id)


def _parse_model(wire: Object) -> ListedModel:
    model_id = as_text(wire.get("id")).removeprefix("models/")  # Gemini lists ids with this prefix
    provider = as_object(wire.get("top_provider"))
    parameters = wire.get("supported_parameters")
    return ListedModel(
        id=model_id,
        name=as_text(wire.get("name")) or as_text(wire.get("display_name")) or model_id,
        window_tokens=_parse_window(wire) or _parse_window(as_object(wire.get("meta"))),
        output_tokens=_parse_tokens(provider.get("max_completion_tokens")),
        has_efforts="reasoning" in parameters if isinstance(parameters, list) else None,
        price=_parse_price(as_object(wire.get("pricing"))),
    )


def _parse_window(wire: Object) -> int | None:
    return next(
        (found for name in _WINDOW_FIELDS if (found := _parse_tokens(wire.get(name)))), None
    )


def _parse_tokens(value: JsonValue) -> int | None:
    return value if isinstance(value, int) and value > 0 else None


def _parse_price(pricing: Object) -> Price | None:
    """Convert a listed price (dollars per token); None if there is none."""
    prompt, answer = _parse_dollars(pricing, "prompt"), _parse_dollars(pricing, "completion")
    if prompt is None or answer is None or prompt < 0:
        return None
    read = _parse_dollars(pricing, "input_cache_read")
    write = _parse_dollars(pricing, "input_cache_write")
    read, write = prompt if read is None else read, prompt if write is None else write
    return Price(prompt, answer, read, write, write)


def _parse_dollars(pricing: Object, name: str) -> float | None:
    value = pricing.get(name)
    try:
        return float(value) * _MILLION if isinstance(value, str | int | float) else None
    except ValueError:
        return None
