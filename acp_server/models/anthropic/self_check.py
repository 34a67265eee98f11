"""Uses the imported SDK against answers from memory, as the first prompt of a session does."""

import json

import anyio
import httpx2
from anthropic import AsyncAnthropic, DefaultAsyncHttpxClient

from acp_server.models.anthropic.adapter import AnthropicModel, AnthropicTarget
from acp_server.models.anthropic.endpoint import AnthropicEndpoint, list_models
from acp_server.models.cache_markers import CacheMarker
from acp_server.models.families import UNKNOWN_FAMILY
from acp_server.models.retry_policy import RetryPolicy
from acp_server.startup.fallback import FastWayError
from acp_server.turn.conversation import Text, UserMessage
from acp_server.turn.ports import ModelEvent, ModelRequest, TextDelta

_MODEL_ID = "model"
_TEXT = "text"
_USAGE = {"input_tokens": 1, "output_tokens": 1}
_EVENTS = (
    {"type": "message_start", "message": {"id": "m", "role": "assistant", "usage": _USAGE}},
    {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": _TEXT}},
    {"type": "content_block_stop", "index": 0},
    {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": _USAGE},
    {"type": "message_stop"},
)
_MODELS = {
    "data": [{"type": "model", "id": _MODEL_ID, "display_name": "", "created_at": "2026-01-01"}],
    "has_more": False,
}


def check_sdk(cache_marker: CacheMarker) -> None:
    """Receive a streamed answer and a list of models; blocks.

    Errors of an endpoint are not tried: the SDK imports a hundred modules for the first one.

    Raises:
        FastWayError: The result is wrong; and whatever the SDK raises.
    """
    anyio.run(_check, cache_marker)


async def _check(cache_marker: CacheMarker) -> None:
    client = AsyncAnthropic(
        api_key="none",
        base_url="http://memory.invalid",
        http_client=DefaultAsyncHttpxClient(transport=httpx2.MockTransport(_answer)),
        max_retries=0,
        open_telemetry=False,
    )
    async with client:
        endpoint = AnthropicEndpoint(client, "memory")
        received = list[ModelEvent]()

        async def receive(event: ModelEvent) -> None:
            received.append(event)

        target = AnthropicTarget(endpoint, _MODEL_ID)
        model = AnthropicModel(target, UNKNOWN_FAMILY, cache_marker, RetryPolicy(max_retries=0))
        stop = await model.respond(ModelRequest([UserMessage((Text(_TEXT),))]), receive)
        text = "".join(event.text for event in received if isinstance(event, TextDelta))
        if (stop, text) != ("end_turn", _TEXT):
            raise FastWayError(f"an answer was received as {text!r}, {stop}")
        listed = [model.id for model in await list_models(endpoint)]
        if listed != [_MODEL_ID]:
            raise FastWayError(f"a list of models was received as {listed}")


def _answer(request: httpx2.Request) -> httpx2.Response:
    if request.method == "GET":
        return httpx2.Response(200, json=_MODELS)
    lines = (f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in _EVENTS)
    headers = {"content-type": "text/event-stream"}
    return httpx2.Response(200, headers=headers, content="".join(lines).encode())
