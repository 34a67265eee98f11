"""OpenAI-compatible endpoint: its shared client and its model list."""

from dataclasses import dataclass
from ipaddress import ip_address

import httpx2
from pydantic import JsonValue

from acp_server.models.access import Access, ListedModel
from acp_server.models.failures import Answered, Fault, status_fault
from acp_server.models.families import Price
from acp_server.models.openai_compatible.failures import understand, words_of
from acp_server.models.openai_compatible.wire import Object, object_of, objects_of, text_in
from acp_server.turn.errors import ModelFailedError

LIST_SECONDS = 20.0
MOST_LISTED = 1_000
_MILLION = 1_000_000
_WINDOWS = (
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
class Endpoint:
    """The client of an endpoint, its name in messages, and the advice for a rejected key."""

    client: httpx2.AsyncClient
    name: str
    sign_in_again: str


def connect(access: Access, sign_in_again: str) -> Endpoint:
    """Return an endpoint. Takes tens of milliseconds to read certificate authorities.

    Proxies and certificate authorities are taken from the environment, except for loopback
    addresses, which never use a proxy. Redirects are not followed: the API key must not be sent to
    another host.
    """
    url = httpx2.URL((access.base_url or "").rstrip("/") + "/")
    headers = {"authorization": f"Bearer {access.api_key}"} if access.api_key else {}
    client = httpx2.AsyncClient(
        base_url=url,
        headers=headers,
        timeout=httpx2.Timeout(access.idle_seconds, connect=access.connect_seconds),
        trust_env=not _is_loopback(url.host),
        follow_redirects=False,
    )
    return Endpoint(client, url.host, sign_in_again)


async def list_models(endpoint: Endpoint) -> tuple[ListedModel, ...]:
    """Fetch the models that the endpoint lists, in its order.

    Raises:
        ModelFailedError: The list could not be fetched.
    """
    try:
        answer = await endpoint.client.get("models", timeout=LIST_SECONDS)
        body: JsonValue = answer.json() if answer.is_success else None
    except (httpx2.HTTPError, httpx2.InvalidURL, ValueError) as error:
        fault = understand(error, endpoint.name)
        raise ModelFailedError(fault.reason, fault.kind) from error
    if not answer.is_success:
        fault = _refused(answer, endpoint)
        raise ModelFailedError(fault.reason, fault.kind)
    listed = body if isinstance(body, list) else object_of(body).get("data")
    found = (_model(wire) for wire in objects_of(listed)[:MOST_LISTED])
    return tuple(model for model in found if model.id)


def _refused(answer: httpx2.Response, endpoint: Endpoint) -> Fault:
    answered = Answered(answer.status_code, words_of(answer))
    return status_fault(answered, endpoint.name, endpoint.sign_in_again)


def _model(wire: Object) -> ListedModel:
    model_id = text_in(wire, "id").removeprefix("models/")  # Gemini lists ids with this prefix
    provider = object_of(wire.get("top_provider"))
    parameters = wire.get("supported_parameters")
    return ListedModel(
        id=model_id,
        name=text_in(wire, "name") or text_in(wire, "display_name") or model_id,
        window_tokens=_window(wire) or _window(object_of(wire.get("meta"))),
        output_tokens=_tokens(provider.get("max_completion_tokens")),
        has_efforts="reasoning" in parameters if isinstance(parameters, list) else None,
        price=_price(object_of(wire.get("pricing"))),
    )


def _window(wire: Object) -> int | None:
    return next((found for name in _WINDOWS if (found := _tokens(wire.get(name)))), None)


def _tokens(value: JsonValue) -> int | None:
    return value if isinstance(value, int) and value > 0 else None


def _price(pricing: Object) -> Price | None:
    """Convert a listed price (dollars per token); None if there is none."""
    prompt, answer = _dollars(pricing, "prompt"), _dollars(pricing, "completion")
    if prompt is None or answer is None or prompt < 0:
        return None
    read = _dollars(pricing, "input_cache_read")
    write = _dollars(pricing, "input_cache_write")
    read, write = prompt if read is None else read, prompt if write is None else write
    return Price(prompt, answer, read, write, write)


def _dollars(pricing: Object, name: str) -> float | None:
    value = pricing.get(name)
    try:
        return float(value) * _MILLION if isinstance(value, str | int | float) else None
    except ValueError:
        return None


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")
