"""Clients of the fake API server: the real SDK, and plain JSON for requests its types forbid."""

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from ssl import PROTOCOL_TLS_CLIENT, SSLContext

import anthropic
from anthropic import AsyncAnthropic, DefaultAsyncHttpxClient
from anthropic.types import Message
from pydantic import JsonValue

from tests.support.messages_api import (
    KEY,
    VERSION,
    FakeApiServer,
    MessagesServerConfig,
    Script,
    messages_api,
)

Object = dict[str, JsonValue]

NO_AUTHORITIES = SSLContext(PROTOCOL_TLS_CLIENT)
"""For a server without TLS: to read the authorities takes longer than most requests."""

NEWEST = "claude-opus-5-5"
NEW = "claude-opus-5"
OLD = "claude-haiku-4-5"

TOOL: Object = {"name": "read_file", "input_schema": {"type": "object"}}


@asynccontextmanager
async def open_client(api: FakeApiServer, key: str = KEY) -> AsyncGenerator[AsyncAnthropic]:
    """Open the SDK's client with retries turned off."""
    http = DefaultAsyncHttpxClient(verify=NO_AUTHORITIES)
    async with AsyncAnthropic(
        base_url=api.url, api_key=key, max_retries=0, http_client=http
    ) as client:
        yield client


@asynccontextmanager
async def open_api_and_client(
    script: Script = (), endpoint: MessagesServerConfig | None = None
) -> AsyncGenerator[tuple[FakeApiServer, AsyncAnthropic]]:
    """Open a server and a client connected to it."""
    async with (
        messages_api(script, endpoint or MessagesServerConfig()) as api,
        open_client(api) as client,
    ):
        yield api, client


def make_body(model: str = NEWEST, **fields: JsonValue) -> Object:
    """Return a valid request body with these fields; None removes a field."""
    body: Object = {"model": model, "max_tokens": 2_000, "messages": [user("hi")], **fields}
    return {name: value for name, value in body.items() if value is not None}


def user(*content: JsonValue) -> Object:
    """Return a user message with one text or with blocks."""
    return _message("user", content)


def assistant(*content: JsonValue) -> Object:
    """Return an assistant message with one text or with blocks."""
    return _message("assistant", content)


def system(*content: JsonValue) -> Object:
    """Return a system message inside a conversation."""
    return _message("system", content)


def _message(role: str, content: Sequence[JsonValue]) -> Object:
    is_text = len(content) == 1 and isinstance(content[0], str)
    return {"role": role, "content": content[0] if is_text else list(content)}


def text(words: str, **fields: JsonValue) -> Object:
    """Return a text block."""
    return {"type": "text", "text": words, **fields}


def tool_use(id_: str = "toolu_1", **fields: JsonValue) -> Object:
    """Return a tool use block."""
    return {"type": "tool_use", "id": id_, "name": "read_file", "input": {}, **fields}


def tool_result(id_: str = "toolu_1", **fields: JsonValue) -> Object:
    """Return a tool result block."""
    return {"type": "tool_result", "tool_use_id": id_, "content": "ok", **fields}


def cache_control_field(ttl: str = "5m") -> Object:
    """Return the `cache_control` field of a block."""
    return {"cache_control": {"type": "ephemeral", "ttl": ttl}}


async def send(
    client: AsyncAnthropic, body: Mapping[str, JsonValue], headers: Mapping[str, str] | None = None
) -> Message:
    """Send a request body without validation."""
    return await client.post(
        "/v1/messages", cast_to=Message, body=dict(body), options={"headers": dict(headers or {})}
    )


async def get_refusal(
    body: Mapping[str, JsonValue],
    *,
    version: str = VERSION,
    betas: str | None = None,
    endpoint: MessagesServerConfig | None = None,
) -> str | None:
    """Return the message of a refusal with 400, or None if the request is answered."""
    headers = {"anthropic-version": version, **({"anthropic-beta": betas} if betas else {})}
    async with open_api_and_client(["ok"], endpoint) as (api, client):
        with suppress(anthropic.BadRequestError):
            await send(client, body, headers)
        return api.model_requests[0].message or None


class SdkConversation:
    """Growing conversation, sent completely each time, as agents do."""

    def __init__(self, client: AsyncAnthropic, fields: Object | None = None) -> None:
        self.client = client
        self.body: Object = {**make_body(), **(fields or {})}
        self.messages: list[JsonValue] = []

    async def send_user_message(self, *content: JsonValue) -> Message:
        """Append a user message, send the conversation and append the answer."""
        self.messages.append(user(*content))
        return await self.send()

    async def send(self, headers: Mapping[str, str] | None = None) -> Message:
        """Send the conversation and append the answer."""
        body = {**self.body, "messages": self.messages}
        answer = await send(self.client, body, headers)
        self.messages.append(assistant(*_content(answer)))
        return answer


def _content(message: Message) -> list[JsonValue]:
    value: Object = message.model_dump(mode="json", exclude_none=True)
    content = value["content"]
    assert isinstance(content, list)
    return content
